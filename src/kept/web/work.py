"""Work beside the page: the one run that it may have under way, and the files that are written after it has answered.

A run is started by a person, followed while it goes, stopped, and told of when it is over. One that is stopped is one that was cut
short: what was done is done, and the next run goes on from there.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any

from kept.changes import apply_person_change
from kept.core.errors import BusyError, KeptError
from kept.core.value import dataclass, field, replace
from kept.local.error_log import error_line, note_error
from kept.paths import Paths
from kept.pipeline.run import RunOptions, run_pipeline
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
            log = note_error(home.state, "files written from the page", error)
            return (error_line(error) + (f"; the trace is in {log}" if log else ""),)


STAGES: Mapping[str, str] = {
    "": "beginning",
    "discovering": "looking for transcripts",
    "reading": "reading transcripts",
    "extracting": "finding what is worth remembering",
    "asking": "asking the model",
    "hearing": "asking the model",
    "curating": "curating",
    "covering": "looking at what is covered",
    "summarising": "noting what was worked on",
    "embedding": "indexing for search by meaning",
    "writing": "writing the files",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """How it stands. ``number`` counts the runs this page has started; ``done`` of ``total`` (0: unknown) is in the stage's own
    unit.

    ``new`` and ``held`` are the sentences that a run remembered and had a person decide on.

    ``told`` are sentences for the person; ``report`` is that of ``kept run --json`` and ``problem`` what ended it, once it is over.
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
        """How long it has been under way."""
        return monotonic() - self.since


class BackgroundRun:
    """Runs, one at a time, each in a thread and at a workspace of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = RunState()
        self._stop = False
        self._thread: Thread | None = None
        self._options = RunOptions()

    @property
    def now(self) -> RunState:
        """How the run stands that is under way, or that was last."""
        return self._now

    def start(
        self, home: Paths, open_desk: Callable[[], AbstractContextManager[Workspace]], options: RunOptions | None = None
    ) -> RunState:
        """Begin a run, without ``options`` as the last one; ``home`` is where an unexpected error of it is logged. Raises BusyError
        where one is under way here.
        """
        with self._lock:
            if self._now.running:
                raise BusyError("a run is under way", hint="wait for it, or stop it")
            self._stop = False
            self._options = options = options or self._options
            self._now = RunState(number=self._now.number + 1, running=True, since=monotonic(), dry=options.dry)
            self._thread = Thread(target=self._run_job, args=(home, open_desk, options), daemon=True, name="kept-run")
            self._thread.start()
            return self._now

    def stop(self) -> RunState:
        """Ask the run to end at its next step."""
        self._stop = True
        return self._now

    def wait(self, seconds: float) -> RunState:
        """Wait for the end of the run, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._now

    def _report_progress(self, stage: str, done: int, total: int) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._now = replace(self._now, stage=stage, done=done, total=total)

    def _set_message(self, sentence: str) -> None:
        self._now = replace(self._now, told=(*self._now.told, sentence))

    def _run_job(self, home: Paths, open_desk: Callable[[], AbstractContextManager[Workspace]], options: RunOptions) -> None:
        ended: dict[str, Any] = {"running": False}
        try:
            with open_desk() as workspace:
                if workspace.llm is not None:
                    workspace.llm.tell = self._set_message
                done = run_pipeline(workspace, [], replace(options, tell=self._set_message), progress=self._report_progress)
                ended["report"] = done.body()
                ended |= {"new": tuple(memory.content for memory in done.new)}
                ended |= {"held": tuple(memory.content for memory in done.asked_about)}
        except KeyboardInterrupt:
            ended |= {"stopped": True, "problem": "it was stopped; what it had done stays, and the next run continues from there"}
        except KeptError as error:
            ended["problem"] = str(error)
        except Exception as error:  # noqa: BLE001 - the end of a thread is a front door: nobody else would hear of it
            log = note_error(home.state, "run started from the page", error)
            ended["problem"] = error_line(error) + (f"; the trace is in {log}" if log else "")
        finally:
            self._now = replace(self._now, **ended)
