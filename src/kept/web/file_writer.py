"""Writes the files of kept after the page has answered: one writer in a thread of its own, which tells what it could not write."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Condition, Thread

from kept.changes import apply_person_change
from kept.core.errors import KeptError
from kept.install.error_log import error_line, note_error
from kept.paths import Paths
from kept.workspace import Workspace


class FileWriter:
    """Brings the files up to date when asked; several changes that come while it writes are written together."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._wanted: tuple[Paths, Callable[[], AbstractContextManager[Workspace]]] | None = None
        self._busy = False
        self._problems: tuple[str, ...] = ()

    @property
    def busy(self) -> bool:
        """Whether changes are still to be written."""
        return self._busy

    @property
    def problems(self) -> tuple[str, ...]:
        """What the last writing could not do, in words; the next run does it."""
        return self._problems

    def write_soon(self, home: Paths, open_desk: Callable[[], AbstractContextManager[Workspace]]) -> None:
        """Write the files of a workspace in the background; ``home`` is where an unexpected error is logged."""
        with self._changed:
            self._wanted = (home, open_desk)
            if not self._busy:
                self._busy = True
                Thread(target=self._write_all, daemon=True, name="kept-files").start()

    def wait(self, seconds: float) -> bool:
        """Wait until everything is written, at most so long. Returns whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, seconds)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                wanted, self._wanted = self._wanted, None
                if wanted is None:
                    self._busy = False
                    self._changed.notify_all()
                    return
            self._problems = self._write_files(*wanted)

    def _write_files(self, home: Paths, open_desk: Callable[[], AbstractContextManager[Workspace]]) -> tuple[str, ...]:
        try:
            with open_desk() as workspace:
                return tuple(apply_person_change(workspace, lambda: None)[1].problems)
        except (KeptError, OSError) as error:
            return (f"the files are not up to date: {error}; the next run writes them",)
        except Exception as error:  # noqa: BLE001 - the end of a thread is a front door: nobody else would hear of it
            log = note_error(home, "files written from the page", error)
            return (error_line(error) + (f"; the trace is in {log}" if log else ""),)
