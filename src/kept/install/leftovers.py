"""What a command that was killed left unfinished: found and deleted by the next one."""

from contextlib import suppress
from pathlib import Path

from kept.core.errors import BusyError
from kept.local import files
from kept.workspace import Desk


def sweep(desk: Desk) -> None:
    """Delete what a command that was killed left unfinished beside kept's own files and beside those it writes for people."""
    folders = {desk.home.state, desk.home.settings.parent, *(Path(each).parent for each in desk.store.outputs())}
    for folder in folders:
        files.sweep(folder)
    unfinished = [
        each for each in (desk.home.backups / "fresh.db", desk.home.store.with_name("kept.db.restoring")) if each.exists()
    ]
    if unfinished:
        with suppress(BusyError), files.locked(desk.home.lock):
            for each in unfinished:
                each.unlink(missing_ok=True)
