"""The night's job: run, sleep, index, check, backup; each step its own result, none stops the rest. What failed is told until it is seen."""

import json
import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from logging.handlers import RotatingFileHandler

from kept.adapters import files
from kept.app.backups import safeguard
from kept.app.desk import Desk, Home
from kept.app.indexing import bring_up_to_date
from kept.app.running import Options, run
from kept.app.safety import check
from kept.app.sleeping import sleep
from kept.model.codec import canonical, dump, load
from kept.model.errors import BusyError, KeptError
from kept.model.times import to_text

_LOG_BYTES = 500_000
_LOGS = 2
_INDEX_SECONDS = 1_800.0  # what making vectors may take of a night


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step: whether all of it was done, and what there is to say."""

    name: str
    done: bool
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """One night's job: when it began and its steps. ``busy`` means that another run did the work."""

    at: datetime
    steps: tuple[Step, ...]
    busy: bool = False

    @property
    def failed(self) -> tuple[Step, ...]:
        """The steps that were not done, or not all of it."""
        return tuple(each for each in self.steps if not each.done)


def nightly(desk: Desk) -> Night:
    """Do the night's job and note how it went. Where a run is under way, that run does the work and nothing is noted."""
    at = desk.clock()
    try:
        steps = [_step("run", lambda: _run(desk))]
    except BusyError:
        return Night(at=at, steps=(), busy=True)
    steps += [
        _step("sleep", lambda: _sleep(desk)),
        _step("index", lambda: _index(desk)),
        _step("check", lambda: _check(desk)),
        _step("backup", lambda: _backup(desk)),
    ]
    night = Night(at=at, steps=tuple(steps))
    _note(desk.home, night)
    return night


def _step(name: str, act: Callable[[], str]) -> Step:
    """A step; its text says what went wrong, if anything. Only that another run is under way ends the night."""
    try:
        wrong = act()
    except BusyError:
        raise
    except (KeptError, OSError) as error:
        wrong = str(error)
    return Step(name=name, done=not wrong, detail=wrong[:1_000])


def _run(desk: Desk) -> str:
    report = run(desk, [], Options())
    wrong = [f"{len(report.reading.skipped)} files were not read"] if report.reading.skipped else []
    wrong += [f"a guard stopped {each}" for each in report.curated.stopped]
    return "; ".join([*wrong, *report.written.problems] or (["only partly done"] if report.partly else []))


def _sleep(desk: Desk) -> str:
    done = sleep(desk)
    return "; ".join([*(f"a guard stopped {each}" for each in done.stopped), *done.written.problems])


def _index(desk: Desk) -> str:
    bring_up_to_date(desk, _INDEX_SECONDS)
    return ""


def _check(desk: Desk) -> str:
    found = check(desk).damage
    return f"{found[0]}; {len(found)} in all → kept check" if found else ""


def _backup(desk: Desk) -> str:
    safeguard(desk)
    return ""


def _note(home: Home, night: Night) -> None:
    place = home.state / "night.json"
    files.write(place, canonical(dump(night)).encode(), expect=files.read(place).stamp, root=home.root)
    handler = RotatingFileHandler(home.state / "night.log", maxBytes=_LOG_BYTES, backupCount=_LOGS, encoding="utf-8")
    with closing(handler):
        for each in night.steps:
            line = f"{to_text(night.at)} {each.name}: {each.detail or 'done'}"
            handler.emit(logging.LogRecord("kept", logging.INFO, "", 0, line, (), None))


def last_night(home: Home) -> Night | None:
    """How the last night's job went; None where there was none, or nobody can tell."""
    try:
        night: Night = load(Night, json.loads(files.read(home.state / "night.json").data or b"null"))
    except (KeptError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return night
