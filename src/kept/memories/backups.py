"""Backups: verified copies of the store, made by hand and by themselves.

An older good one never goes for a newer bad one, and nothing is ever overwritten.
"""

from pathlib import Path

from kept.core.errors import UsageError
from kept.store.backups import add_backup, list_backups, rotate
from kept.store.protocol import Log
from kept.workspace import Workspace

KEEP = 7  # intact backups made by themselves; as many days of work


def create_backup(workspace: Workspace, path: Path) -> Path:
    """Copy the whole store as of one moment into a new file, verified. Raises UsageError where there is one already, StoreError."""
    target = path.absolute()
    if target.exists() or target.is_symlink():
        raise UsageError(
            "there is a file of that name already", where=str(target), hint="a backup overwrites nothing: choose another name"
        )
    workspace.store.copy_to(target)
    record_backup(workspace, target)
    return target


def record_backup(workspace: Workspace, path: Path) -> None:
    """Note in the log that a copy of the store lies at a path, so that forgetting reaches it. Raises StoreError."""
    run = workspace.store.log.start_run("backup", workspace.clock())
    workspace.store.log.end_run(run, workspace.clock(), {"path": str(path)})


def recorded_backups(log: Log) -> frozenset[Path]:
    """The copies that a log notes, also those that are gone."""
    return frozenset(Path(str(run.report.get("path", ""))) for run in log.runs() if run.command == "backup" and run.report)


def make_daily_backup(workspace: Workspace) -> Path | None:
    """Make the backup of the day before something changes memories, if there is none yet; prune old ones. Returns what was made.

    A store without memories has nothing to lose. Raises StoreError where no backup can be made.
    """
    today = workspace.clock().astimezone(workspace.zone).date().isoformat()
    place = workspace.paths.backups
    if any(backup.name.startswith(f"kept-{today}.") for backup in list_backups(place)) or not workspace.store.log.memory_ids():
        return None
    made = add_backup(workspace.store, place, today)
    rotate(place, KEEP)
    return made


def back_up_now(workspace: Workspace) -> Path:
    """Make one more backup of today beside those made by themselves; prune old ones. Raises StoreError where none can be made."""
    made = add_backup(workspace.store, workspace.paths.backups, workspace.clock().astimezone(workspace.zone).date().isoformat())
    rotate(workspace.paths.backups, KEEP)
    return made


def find_backups(workspace: Workspace) -> tuple[Path, ...]:
    """Every copy of the store that is still there: kept's own, made by hand, before a migration, put aside."""
    own = (*workspace.paths.backups.glob("*.db"), *(workspace.paths.state / "aside").glob("*.db*"))
    found = (*own, *recorded_backups(workspace.store.log))
    return tuple(sorted({path for path in found if path.is_file()}))
