"""Backfill: read an archive of transcripts with several processes. One process commits the results.

The memories are the same as with a single process. After an interruption, committed results stay.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kept.core.digest import digest
from kept.core.errors import ConfigError
from kept.local.progress import Progress, ignore_progress
from kept.local.workers import Workers, join_cluster, start_processes
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.sources.stat_cache import readers_version
from kept.workspace import Workspace


def backfill(
    workspace: Workspace,
    addresses: Sequence[str | Path],
    options: RunOptions,
    *,
    scheduler: str = "",
    processes: int = 1,
    progress: Progress = ignore_progress,
) -> RunReport:
    """Run the main job over paths and addresses, with the workers of a Dask scheduler or with ``processes`` processes of this
    machine.

    Questions that can wait go to the provider's batch interface, for half the price and within the same budget, whatever the
    settings. But if ``llm.base_url`` is set, the settings decide, because a person's own server may have no batch interface.

    Raises ConfigError if the scheduler or an address cannot be used, and the errors of :func:`run_pipeline`.
    """
    if workspace.llm is not None and not workspace.settings.llm.base_url:
        workspace.llm.batch = True
    with _fetched(workspace, addresses) as paths, _open_workers(scheduler, processes) as workers:
        return run_pipeline(workspace, paths, replace(options, workers=workers), progress=progress)


def _open_workers(scheduler: str, processes: int) -> AbstractContextManager[Workers]:
    return join_cluster(scheduler, readers_version) if scheduler else start_processes(processes)


@contextmanager
def _fetched(workspace: Workspace, addresses: Sequence[str | Path]) -> Iterator[list[Path]]:
    """Yield local paths for ``addresses``. Files at fsspec addresses (``s3://…``) are copied, and the copies deleted at the end."""
    place = workspace.paths.state / "fetched"
    try:
        yield [_fetch(place, str(each)) if "://" in str(each) else Path(each) for each in addresses]
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _fetch(place: Path, address: str) -> Path:
    """Copy the files at an address with their modification times, so that unchanged files are skipped later. Raises ConfigError."""
    try:
        import fsspec  # noqa: PLC0415 - few need it
    except ImportError as error:
        raise ConfigError(f"{address} needs fsspec", hint="pip install 'kept[dask]'") from error
    folder = place / digest(address, size=8)
    try:
        system, root = fsspec.url_to_fs(address)
        for name in system.find(root):
            below = PurePosixPath(name.removeprefix(root.rstrip("/")).lstrip("/") or PurePosixPath(name).name)
            if ".." not in below.parts:
                target = folder / below
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                system.get_file(name, str(target))
                with suppress(NotImplementedError, KeyError):  # an HTTP server may name no modification time
                    at = system.modified(name).timestamp()
                    os.utime(target, (at, at))
    except (ImportError, ValueError, OSError) as error:  # also for an unknown protocol, and for a protocol whose package is missing
        raise ConfigError(f"{address} cannot be read: {error}") from error
    if not folder.is_dir():
        raise ConfigError(f"{address} cannot be read: there is no file")
    return folder
