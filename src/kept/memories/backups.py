"""Backups: verified copies of the store, made on request or automatically.

A damaged backup never causes an intact one to be deleted.
"""

import os
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path

from kept.core.errors import StoreError, UsageError
from kept.core.times import format_day
from kept.core.value import replace
from kept.local.files.walking import MACHINERY
from kept.paths import Paths
from kept.store.backups import add_backup, is_copy, list_backups, rotate
from kept.store.log import Log
from kept.store.sqlite import SqliteStore
from kept.workspace import Workspace

KEEP = 7  # number of intact automatic backups that are kept, one for each day with changes


def create_backup(workspace: Workspace, path: Path) -> Path:
    """Write a verified copy of the whole store to a new file.

    Raises UsageError if the file exists, StoreError if it cannot be written.
    """
    target = path.absolute()
    if target.exists() or target.is_symlink():
        raise UsageError(
            "there is a file of that name already", where=str(target), hint="a backup overwrites nothing: choose another name"
        )
    workspace.store.copy_to(target)
    record_backup(workspace.store, target, workspace.clock())
    return target


def record_backup(store: SqliteStore, path: Path, moment: datetime) -> None:
    """Record the path of a backup in the log, so that ``kept forget`` can erase words in it. Raises StoreError."""
    run = store.log.start_run("backup", moment)
    store.log.end_run(run, moment, {"path": str(path)})


def recorded_backups(log: Log) -> frozenset[Path]:
    """The paths of all backups recorded in a log, including those that no longer exist."""
    return frozenset(Path(str(run.report["path"])) for run in log.runs(command="backup") if "path" in run.report)


def make_daily_backup(workspace: Workspace) -> Path | None:
    """Back up the store before something changes memories, unless there is already a backup of today. Delete old automatic backups.

    Returns the path of the new backup. Returns None if there is one of today, or if the store has no memories. Raises StoreError.
    """
    folder = workspace.paths.backups
    if _has_backup_of_today(workspace, folder) or not workspace.store.log.memory_ids():
        return None
    return _add_backup(workspace, folder)


def back_up_elsewhere(workspace: Workspace) -> str:
    """Back up the store in the folder that the settings name, unless there is a backup of today in it. Delete old backups there.

    Returns a clause for the nightly report; empty if the settings name no folder or the store has no memories. Raises StoreError if
    the folder does not exist or the copy cannot be made.
    """
    folder = find_backup_folder(workspace)
    if folder is None or not workspace.store.log.memory_ids():
        return ""
    if not folder.is_dir():
        raise StoreError(
            "the folder for backups is not there", where=str(folder), hint="connect its disk; kept config get backup.folder"
        )
    if not _has_backup_of_today(workspace, folder):
        _add_backup(workspace, folder)
    return f"; also in {folder}"


def find_backup_folder(workspace: Workspace) -> Path | None:
    """The folder that the settings name for an additional nightly backup; None if they name none."""
    name = workspace.settings.backup.folder
    return Path(name).expanduser() if name else None


def back_up_now(workspace: Workspace) -> Path:
    """Make another backup of today in the folder of automatic backups, and delete old ones there. Returns its path.

    Raises StoreError.
    """
    return _add_backup(workspace, workspace.paths.backups)


def _has_backup_of_today(workspace: Workspace, folder: Path) -> bool:
    today = format_day(workspace.clock(), workspace.zone)
    return any(backup.name.startswith(f"kept-{today}.") for backup in list_backups(folder))


def _add_backup(workspace: Workspace, folder: Path) -> Path:
    today = format_day(workspace.clock(), workspace.zone)
    backup = add_backup(workspace.store, folder, today)
    rotate(folder, KEEP, today)
    return backup


def find_backups(workspace: Workspace) -> tuple[Path, ...]:
    """The files of all existing copies of the store: automatic backups, copies from before a migration or restore, backups on
    request.

    A backup on request is also found if it was moved or copied to another place below the home. Backups in another home are
    omitted.
    """
    home, recorded = workspace.paths, recorded_backups(workspace.store.log)
    own = {*home.backups.glob("*.db"), *(home.state / "aside").glob("*.db*")}
    own |= {*elsewhere.glob("kept-*.db")} if (elsewhere := find_backup_folder(workspace)) else set()
    of_this_home = {path for path in recorded if find_other_home(home, path) is None}
    names = {path.name for path in recorded - own}
    moved = {path for path in _find_stores(home.root, names) if is_copy(path, workspace.store)}
    return tuple(sorted(path for path in own | of_this_home | moved if path.is_file()))


def _find_stores(root: Path, names: Collection[str]) -> Iterator[Path]:
    """The files below a folder that may be backups: they have one of ``names``, or the suffix ``.db``. Hidden folders are skipped.

    Yields nothing if ``names`` is empty.
    """
    for folder, below, files in os.walk(root) if names else ():
        below[:] = [name for name in below if not name.startswith(".") and name not in MACHINERY]
        yield from (Path(folder, name) for name in files if name in names or name.endswith(".db"))


def find_other_home(home: Paths, path: Path) -> Path | None:
    """The root of the other home that contains the file ``path``; None if there is none.

    This happens after a store was copied to a new home, because its log still names the backups of the old home.
    """
    homes = (replace(home, root=folder) for folder in path.parents if not path.is_relative_to(home.root))
    return next((other.root for other in homes if other.root != home.root and other.store.exists()), None)


def list_unreachable_backups(workspace: Workspace) -> Iterator[str]:
    """A message for each backup that ``kept forget`` cannot reach, because its file or disk is missing or because it is in another
    home.
    """
    folder = find_backup_folder(workspace)
    if folder is not None and not folder.is_dir():
        yield f"{folder} is not connected: the nightly backups in it may still contain it"
    recorded = recorded_backups(workspace.store.log)
    names = {path.name for path in find_backups(workspace) if path not in recorded}
    for path in sorted(recorded):
        if other := find_other_home(workspace.paths, path):
            yield f"{path} is a backup in another home of kept and stays as it is; forget the words there with --home {other}"
        elif path.is_absolute() and path.name not in names and not (path.exists() or path.is_relative_to(workspace.paths.state)):
            yield f"{path} is not there: kept made a backup there, which may still contain it, wherever it is now"
