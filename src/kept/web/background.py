"""Background threads of the page: a run that a person started, and file writes that follow a response.

The page shows the progress of the run and its result, and can stop it. The results of a stopped run are kept, and the next run
continues from there.
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
    """Writes the output files in a background thread; changes that arrive while it writes are written together."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._pending: tuple[Paths, OpenWorkspace] | None = None
        self._busy = False
        self._problems: tuple[str, ...] = ()

    @property
    def busy(self) -> bool:
        """Whether changes are still to be written."""
        return self._busy

    @property
    def problems(self) -> tuple[str, ...]:
        """The failures of the last write, as text; the next run repeats these writes."""
        return self._problems

    def write_soon(self, home: Paths, open_workspace: OpenWorkspace) -> None:
        """Write the files of a workspace in the background; ``home`` is where an unexpected error is logged."""
        with self._changed:
            self._pending = (home, open_workspace)
            if not self._busy:
                self._busy = True
                Thread(target=self._write_all, daemon=True, name="kept-files").start()

    def wait(self, seconds: float) -> bool:
        """Wait until everything is written, at most ``seconds``. Returns whether it is."""
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
        except Exception as error:  # noqa: BLE001 - the last handler of the thread: the error would be lost
            log = log_error(home.state, "files written from the page", error)
            return (error_line(error) + (f"; the trace is in {log}" if log else ""),)


STAGES: Mapping[str, str] = {
    "": "beginning",
    "discovering": "looking for transcripts",
    "reading": "reading transcripts",
    "extracting": "finding what is worth remembering",
    "asking": "asking the model",
    "curating": "curating",
    "summarising": "noting what was worked on",
    "embedding": "indexing for search by meaning",
    "writing": "writing the files",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """The state of a run. ``number`` counts the runs that this page has started; ``done`` and ``total`` (0: unknown) are in the
    unit of the stage.

    ``new`` are the sentences that the run remembered, ``held`` those that it left for the person to decide. ``told`` are messages
    for the person. Once the run is over, ``report`` is the output of ``kept run --json``, and ``problem`` the error that ended it
    early (empty: none).
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
        """The seconds since the run was started."""
        return monotonic() - self.since


class BackgroundRun:
    """Executes runs, one at a time, each in its own thread and with its own workspace."""

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
        """Start a run; without ``options``, with those of the last one. ``home`` is where an unexpected error is logged.

        Raises BusyError if a run started here is still running.
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
        """Ask the run to end at its next step."""
        self._stop = True
        return self._now

    def wait(self, seconds: float) -> RunState:
        """Wait for the end of the run, at most ``seconds``. Returns its state."""
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
        except Exception as error:  # noqa: BLE001 - the last handler of the thread: the error would be lost
            log = log_error(home.state, "run started from the page", error)
            ended["problem"] = error_line(error) + (f"; the trace is in {log}" if log else "")
        finally:
            self._now = replace(self._now, **ended)
