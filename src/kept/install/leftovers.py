"""Find and delete what a killed command left unfinished."""

from contextlib import suppress
from pathlib import Path

from kept.core.errors import BusyError
from kept.local import files
from kept.workspace import Workspace


def delete_leftovers(workspace: Workspace) -> None:
    """Delete what a command that was killed left unfinished beside kept's own files and beside those it writes for people."""
    folders = {
        workspace.paths.state,
        workspace.paths.settings.parent,
        *(Path(output).parent for output in workspace.store.outputs()),
    }
    for folder in folders:
        files.delete_temp_files(folder)
    unfinished = [
        path
        for path in (workspace.paths.backups / "fresh.db", workspace.paths.store.with_name("kept.db.restoring"))
        if path.exists()
    ]
    if unfinished:
        with suppress(BusyError), files.hold_lock(workspace.paths.lock):
            for item in unfinished:
                item.unlink(missing_ok=True)
