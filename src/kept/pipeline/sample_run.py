"""The bundled sample: transcripts that come with kept, remembered in a home of their own below the state. Touches nothing of the
user's.
"""

from importlib.resources import files
from pathlib import Path

from kept.local.progress import Progress, ignore_progress
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.workspace import Workspace


def sample_files() -> list[Path]:
    """The transcripts of the sample; none where kept was built without them."""
    return sorted((Path(str(files("kept"))) / "sample").rglob("*.jsonl"))


def run_sample(workspace: Workspace, options: RunOptions, *, progress: Progress = ignore_progress) -> RunReport:
    """Read the sample at a workspace in :func:`kept.paths.sample_home`. Raises StoreError, BusyError."""
    return run_pipeline(workspace, sample_files(), options, sample=True, progress=progress)
