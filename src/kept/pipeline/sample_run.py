"""The bundled sample: transcripts that ship with kept, processed in a home of their own below the state folder. Does not touch the
user's own data.
"""

from pathlib import Path

from kept.local.progress import Progress, ignore_progress
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.workspace import Workspace


def sample_files() -> list[Path]:
    """The transcripts of the sample; empty if kept was built without them."""
    return sorted((Path(__file__).parents[1] / "sample").rglob("*.jsonl"))


def run_sample(workspace: Workspace, options: RunOptions, *, progress: Progress = ignore_progress) -> RunReport:
    """Process the sample in a workspace at :func:`kept.paths.sample_home`. Raises StoreError, BusyError."""
    return run_pipeline(workspace, sample_files(), options, sample=True, progress=progress)
