"""Backfill: an archive of transcripts, read by several processes and remembered by one. What is remembered is what one process
would remember; what was done before a run is cut short stays done.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kept.local.progress import Progress, ignore_progress
from kept.local.workers import Workers, join_cluster, start_processes
from kept.pipeline.run import RunOptions, RunReport, run_pipeline
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
    """Do the main job over the given paths with the workers of a Dask scheduler, or with so many processes of this machine.

    Raises ConfigError where the scheduler cannot be used, and what :func:`run_pipeline` raises.
    """
    with _open_workers(scheduler, processes) as workers:
        return run_pipeline(workspace, paths, replace(options, workers=workers), progress=progress)


def _open_workers(scheduler: str, processes: int) -> AbstractContextManager[Workers]:
    return join_cluster(scheduler, readers_version) if scheduler else start_processes(processes)
