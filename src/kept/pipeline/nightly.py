"""The nightly job: discover, read, extract, curate, sleep, render, index, check, backup. No step stops the next.

What failed is noted until a night goes well, and told (:mod:`kept.local.job_failures`).
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from logging.handlers import RotatingFileHandler

from kept.core.codec import canonical, dump, load
from kept.core.errors import BusyError, KeptError
from kept.core.isolation import contained
from kept.core.times import to_text
from kept.local import files, job_failures
from kept.local.job_failures import standing_failures
from kept.memories.backups import safeguard
from kept.paths import Paths
from kept.pipeline.run import Options, Report, run
from kept.pipeline.safety import check
from kept.pipeline.sleep import sleep
from kept.recall.indexing import bring_up_to_date
from kept.workspace import Workspace

NIGHT, SESSION = "night", "session"  # whose failures are noted: the night's job, the run at a session's end
_LOG_BYTES = 500_000
_LOGS = 2
_INDEX_SECONDS = 1_800.0  # what making vectors may take of a night


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step: whether all of it was done, and what there is to say: what it came to, or what went wrong."""

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


def nightly(workspace: Workspace) -> Night:
    """Do the night's job and note how it went. Where a run is under way, that run does the work and nothing is noted."""
    at = workspace.clock()
    try:
        first = list(_main(workspace))
    except BusyError:
        return Night(at=at, steps=(), busy=True)
    render = [each for each in first if each.name == RENDER]
    steps = (
        *(each for each in first if each.name != RENDER),
        *_run_step("sleep", lambda: _sleep(workspace)),
        *render,
        *_run_step("index", lambda: _index(workspace)),
        *_run_step("check", lambda: _check(workspace)),
        *_run_step("backup", lambda: _backup(workspace)),
    )
    night = Night(at=at, steps=steps)
    _store_night(workspace.paths, night)
    return night


def not_begun(home: Paths, at: datetime, error: KeptError | OSError) -> None:
    """Note a night whose job could not even open the store or the settings."""
    home.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    _store_night(home, Night(at=at, steps=(Step(name="open", done=False, detail=str(error)[:1_000]),)))


RENDER = "render"
# What a run calls its stages, and which step of the night that is; in the order of a run.
_STEPS = {
    "discovering": "discover",
    "reading": "read",
    "moving": "read",
    "extracting": "extract",
    "asking": "ask",
    "curating": "curate",
    "summarising": "curate",
    "writing": RENDER,
}


def _main(workspace: Workspace) -> Iterator[Step]:
    """The steps of a run, each with its result. Where one raises, those after it were not reached, and the night goes on all the
    same.
    """
    names = [each for each in dict.fromkeys(_STEPS.values()) if each != "ask" or workspace.llm is not None]
    reached = [names[0]]
    try:
        with contained("something unexpected went wrong", ""):
            report = run(
                workspace,
                [],
                Options(seconds=workspace.settings.night_minutes * 60.0),
                progress=lambda stage, _, __: reached.append(_STEPS.get(stage, reached[-1])),
            )
    except BusyError:
        raise
    except (KeptError, OSError) as error:
        place = names.index(reached[-1])
        yield from (Step(name=each, done=True) for each in names[:place])
        yield Step(name=names[place], done=False, detail=str(error)[:1_000])
        yield from (Step(name=each, done=False, detail=_NOT_REACHED) for each in names[place + 1 :])
        return
    told = _results(report)
    yield from (_result(each, *told[each]) for each in names)


_NOT_REACHED = "not reached"


def _results(report: Report) -> dict[str, tuple[str, str]]:
    """Of each step of a run what went wrong (empty: nothing) and what it came to."""
    reading, extracted, asked = report.reading, report.extracted, report.asked
    cut = "; the time of the night was up, the next goes on" if report.cut else ""
    spent = "; the budget is spent, the next night goes on" if asked.unaffordable else ""  # as it was set: no failure
    candidates = f"{extracted.accepted:,} accepted, {extracted.held:,} held, {extracted.refused.total():,} refused"
    return {
        "discover": ("", ", ".join(f"{count:,} of {name}" for name, count in sorted(report.sources.items())) or "no transcripts"),
        "read": (_unread(reading.skipped, "read"), f"{reading.files:,} with something new{cut}"),
        "extract": (_unread(extracted.broken, "analysed"), f"{extracted.threads:,} sessions: {candidates}{cut}"),
        "ask": (
            f"{report.heard.left:,} sessions wait for a reply" if asked.unreadable or asked.unreachable else "",
            f"{asked.usage.calls:,} questions, {report.heard.chunks:,} parts read{spent}{cut}",
        ),
        "curate": (
            "; ".join(f"a guard stopped {each}" for each in (*report.curated.stopped, *report.advised.stopped)),
            _counts(report.curated.operations + report.advised.operations),
        ),
        RENDER: ("; ".join(report.written.problems), f"{len(report.written.files):,} files written"),
    }


def _unread(skipped: list[tuple[str, str]], what: str) -> str:
    if not skipped:
        return ""
    path, reason = skipped[0]
    return f"{len(skipped):,} files were not {what}, the first {path}: {reason}"


def _counts(operations: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(operations.items())) or "nothing to change"


def _run_step(name: str, act: Callable[[], tuple[str, str]]) -> Iterator[Step]:
    """A step by itself. Where another run took over meanwhile, that one does it."""
    try:
        with contained("something unexpected went wrong", ""):
            wrong, told = act()
    except BusyError:
        wrong, told = "", "another run does it"
    except (KeptError, OSError) as error:
        wrong, told = str(error), ""
    yield _result(name, wrong, told)


def _result(name: str, wrong: str, told: str) -> Step:
    return Step(name=name, done=not wrong, detail=(wrong or told)[:1_000])


def _sleep(workspace: Workspace) -> tuple[str, str]:
    done = sleep(workspace)
    wrong = "; ".join([*(f"a guard stopped {each}" for each in done.stopped), *done.written.problems])
    return wrong, f"{len(done.retired):,} faded, {done.lingering:,} linger"


def _index(workspace: Workspace) -> tuple[str, str]:
    return "", f"{bring_up_to_date(workspace, _INDEX_SECONDS):,} new vectors"


def _check(workspace: Workspace) -> tuple[str, str]:
    found = check(workspace).damage
    return (f"{found[0]}; {len(found)} in all → kept check" if found else ""), "the store is whole"


def _backup(workspace: Workspace) -> tuple[str, str]:
    made = safeguard(workspace)
    return "", made.name if made else "today's is there"


def _store_night(home: Paths, night: Night) -> None:
    place = home.state / "night.json"
    files.write(place, canonical(dump(night)).encode(), expect=files.read(place).stamp, root=home.root)
    note_failures(home, NIGHT, {each.name: each.detail for each in night.failed if each.detail != _NOT_REACHED}, night.at)
    handler = RotatingFileHandler(home.state / "night.log", maxBytes=_LOG_BYTES, backupCount=_LOGS, encoding="utf-8")
    with closing(handler):
        for each in night.steps:
            line = f"{to_text(night.at)} {each.name}: {'' if each.done else 'FAILED: '}{each.detail or 'done'}"
            handler.emit(logging.LogRecord("kept", logging.INFO, "", 0, line, (), None))


def note_failures(home: Paths, runner: str, found: dict[str, str], at: datetime) -> None:
    """Note what failed in a run of ``runner``; what failed before and did not now is no more told."""
    state, place = str(home.state), home.state / job_failures.FILE
    before = standing_failures(state)
    if not (found or before):
        return
    text = job_failures.written(before, runner, {f"{runner} {name}": detail for name, detail in found.items()}, to_text(at))
    files.write(place, text.encode(), expect=files.read(place).stamp, root=home.root)
    job_failures.forget_told(state)


def last_night(home: Paths) -> Night | None:
    """How the last night's job went; None where there was none, or nobody can tell."""
    try:
        night: Night = load(Night, json.loads(files.read(home.state / "night.json").data or b"null"))
    except (KeptError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return night
