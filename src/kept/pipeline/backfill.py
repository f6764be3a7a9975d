"""Backfill: read an archive of transcripts with several processes; one process commits the results.

The memories are the same as with one process. What was committed before an interruption stays.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kept.local.progress import Progress, ignore_progress
from kept.local.workers import Workers, join_cluster, start_processes
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.sources.stat_cache import readers_version
from kept.workspace import Workspace


def backfill(
    workspace: Workspace,
    paths: Sequence[Path],
    options: RunOptions,
    *,
    scheduler: str = "",
    processes: int = 1,
    progress: Progress = ignore_progress,
) -> RunReport:
    """Run the main job over paths, with the workers of a Dask scheduler or with ``processes`` processes of
    this machine.

    Questions that can wait go to the provider's batch interface regardless of the settings: half the price, within the same budget.
    With ``llm.base_url`` set the settings decide: a person's own server may have no batch interface.

    Raises ConfigError if the scheduler cannot be used, and what :func:`run_pipeline` raises.
    """
    if workspace.llm is not None and not workspace.settings.llm.base_url:
        workspace.llm.batch = True
    with _open_workers(scheduler, processes) as workers:
        return run_pipeline(workspace, paths, replace(options, workers=workers), progress=progress)


def _open_workers(scheduler: str, processes: int) -> AbstractContextManager[Workers]:
    return join_cluster(scheduler, readers_version) if scheduler else start_processes(processes)
