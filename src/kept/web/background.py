"""Background threads of the page: one for a run that a person started, one that writes files after a response was sent.

The page shows the progress and result of the run and can stop it. The results of a stopped run are kept, and the next run continues
from there.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any

from kept.changes import apply_person_change
from kept.core.errors import BusyError, KeptError
from kept.core.value import dataclass, field, replace
from kept.local.error_log import error_line, log_error
from kept.paths import Paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import Workspace

OpenWorkspace = Callable[[], AbstractContextManager[Workspace]]


class FileWriter:
    """Writes the output files in a background thread. Changes that arrive during a write are combined into one more write."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._pending: tuple[Paths, OpenWorkspace] | None = None
        self._busy = False
        self._problems: tuple[str, ...] = ()

    @property
    def busy(self) -> bool:
        """True while changes remain to be written."""
        return self._busy

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages about the files that the last write could not write. The next run writes them."""
        return self._problems

    def write_soon(self, home: Paths, open_workspace: OpenWorkspace) -> None:
        """Write the files of a workspace in the background. Unexpected errors are logged in ``home``."""
        with self._changed:
            self._pending = (home, open_workspace)
            if not self._busy:
                self._busy = True
                Thread(target=self._write_all, daemon=True, name="kept-files").start()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until everything is written. Returns True if it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, seconds)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                pending, self._pending = self._pending, None
                if pending is None:
                    self._busy = False
                    self._changed.notify_all()
                    return
            self._problems = self._write_files(*pending)

    def _write_files(self, home: Paths, open_workspace: OpenWorkspace) -> tuple[str, ...]:
        try:
            with open_workspace() as workspace:
                return tuple(apply_person_change(workspace, lambda: None)[1].problems)
        except (KeptError, OSError) as error:
            return (f"the files are not up to date: {error}; the next run writes them",)
        except Exception as error:  # noqa: BLE001 - nothing else would report an error in this thread
            log = log_error(home.state, "files written from the page", error)
            return (error_line(error) + (f"; the trace is in {log}" if log else ""),)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """The state of a run. ``number`` is how many runs this page has started.

    ``done`` and ``total`` (0: unknown) are in the unit of the stage. ``since`` is the start on the monotonic clock. ``told`` has
    messages for the person. When the run has ended, ``new`` has the sentences that it remembered, ``held`` those that it left for
    the person to decide, ``report`` the output of ``kept run --json``, and ``problem`` the error that ended it early (empty: none).
    """

    number: int = 0
    running: bool = False
    stage: str = ""
    done: int = 0
    total: int = 0
    since: float = 0.0
    dry: bool = False
    told: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    new: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    problem: str = ""
    stopped: bool = False

    @property
    def seconds(self) -> float:
        """The time since the run was started, in seconds."""
        return monotonic() - self.since


class BackgroundRun:
    """Executes runs one at a time, each in a thread and a workspace of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = RunState()
        self._stop = False
        self._thread: Thread | None = None
        self._options = RunOptions()

    @property
    def now(self) -> RunState:
        """The state of the current run, or of the last one."""
        return self._now

    def start(self, home: Paths, open_workspace: OpenWorkspace, options: RunOptions | None = None) -> RunState:
        """Start a run. Without ``options``, it gets those of the last run. Unexpected errors are logged in ``home``.

        Raises BusyError if a run that was started here has not ended.
        """
        with self._lock:
            if self._now.running:
                raise BusyError("a run is under way", hint="wait for it, or stop it")
            self._stop = False
            self._options = options = options or self._options
            self._now = RunState(number=self._now.number + 1, running=True, since=monotonic(), dry=options.dry)
            self._thread = Thread(target=self._run_job, args=(home, open_workspace, options), daemon=True, name="kept-run")
            self._thread.start()
            return self._now

    def stop(self) -> RunState:
        """Ask the run to stop at its next step. Returns its state."""
        self._stop = True
        return self._now

    def wait(self, seconds: float) -> RunState:
        """Wait at most ``seconds`` for the end of the run. Returns its state."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._now

    def _report_progress(self, stage: str, done: int, total: int) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._now = replace(self._now, stage=stage, done=done, total=total)

    def _add_message(self, sentence: str) -> None:
        self._now = replace(self._now, told=(*self._now.told, sentence))

    def _run_job(self, home: Paths, open_workspace: OpenWorkspace, options: RunOptions) -> None:
        ended: dict[str, Any] = {"running": False}
        try:
            with open_workspace() as workspace:
                if workspace.llm is not None:
                    workspace.llm.tell = self._add_message
                done = run_pipeline(workspace, [], replace(options, tell=self._add_message), progress=self._report_progress)
                ended["report"] = done.body()
                ended["new"] = tuple(memory.content for memory in done.new)
                ended["held"] = tuple(memory.content for memory in done.asked_about)
        except KeyboardInterrupt:
            ended |= {"stopped": True, "problem": "it was stopped; its results so far stay, and the next run continues from there"}
        except KeptError as error:
            ended["problem"] = str(error)
        except Exception as error:  # noqa: BLE001 - nothing else would report an error in this thread
            log = log_error(home.state, "run started from the page", error)
            ended["problem"] = error_line(error) + (f"; the trace is in {log}" if log else "")
        finally:
            self._now = replace(self._now, **ended)
