"""The nightly job: discover, read, extract, ask, curate, sleep, render, index, check, backup. A failed step stops no other step.

Failures are stored until a night succeeds, and hooks report them (:mod:`kept.local.queue`).
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime

from kept.core.codec import dump, load, to_canonical_json
from kept.core.errors import BusyError, KeptError
from kept.core.text import format_count
from kept.core.times import format_instant
from kept.core.value import dataclass
from kept.local import files, queue
from kept.local.error_log import PrivateLog
from kept.local.progress import isolate_errors
from kept.local.queue import NIGHT, load_failures
from kept.local.workers import count_processors
from kept.memories.backups import back_up_elsewhere, make_daily_backup
from kept.memories.history import describe_counts
from kept.memories.waiting import describe_set_aside
from kept.paths import Paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.pipeline.safety import check_home
from kept.pipeline.sleep import run_sleep
from kept.recall.indexing import update_index
from kept.workspace import Workspace

_LOG_BYTES = 500_000
_LOGS = 2
_INDEX_SECONDS = 1_800.0  # seconds that a night may spend on vectors


RENDER = "render"
TITLES = {
    "open": "open the store and the settings",
    "discover": "look for transcripts",
    "read": "read what is new",
    "extract": "find what is worth remembering",
    "ask": "ask the model",
    "curate": "compare with what is remembered",
    "sleep": "retire what faded",
    RENDER: "write the files",
    "index": "prepare search by meaning",
    "check": "check the store",
    "backup": "back up",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class NightStep:
    """One step of a night. ``done`` means that it succeeded completely. ``detail`` is its result or its error."""

    name: str
    done: bool
    detail: str = ""

    @property
    def title(self) -> str:
        """A description of the step for a person."""
        return TITLES.get(self.name, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class NightReport:
    """One nightly job: the time of its start, and its steps. ``busy`` means that another run was active and did the work."""

    at: datetime
    steps: tuple[NightStep, ...]
    busy: bool = False

    @property
    def failed(self) -> tuple[NightStep, ...]:
        """The steps that failed or succeeded only in part."""
        return tuple(night_step for night_step in self.steps if not night_step.done)


def run_nightly(workspace: Workspace) -> NightReport:
    """Do the nightly job and store the result. If a run is active, that run does the work and nothing is stored."""
    at = workspace.clock()
    try:
        first = list(_run_main_steps(workspace))
    except BusyError:
        return NightReport(at=at, steps=(), busy=True)
    render = [night_step for night_step in first if night_step.name == RENDER]
    steps = (
        *(night_step for night_step in first if night_step.name != RENDER),
        *_run_step("sleep", lambda: _run_sleep(workspace)),
        *render,
        *_run_step("index", lambda: ("", f"{format_count(update_index(workspace, _INDEX_SECONDS), 'text')} added")),
        *_run_step("check", lambda: _run_check(workspace)),
        *_run_step("backup", lambda: _run_backup(workspace)),
    )
    night = NightReport(at=at, steps=steps)
    with suppress(KeptError):  # a step above already reported a store that cannot be written
        workspace.store.log.end_run(workspace.store.log.start_run(NIGHT, at), workspace.clock(), dump(night))
    _store_night(workspace.paths, night)
    return night


def record_failed_start(home: Paths, at: datetime, error: KeptError | OSError) -> None:
    """Record a night that could not even open the store or the settings."""
    home.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    _store_night(home, NightReport(at=at, steps=(NightStep(name="open", done=False, detail=str(error)[:1_000]),)))


# The step of the night for each stage that a run reports, in the order of a run.
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


def _run_main_steps(workspace: Workspace) -> Iterator[NightStep]:
    """Yield the steps of a run with their results. If a step raises, later ones count as not reached and the night goes on."""
    names = [step for step in dict.fromkeys(_STEPS.values()) if step != "ask" or workspace.llm is not None]
    reached = [names[0]]
    try:
        with isolate_errors("something unexpected went wrong", ""):
            report = run_pipeline(
                workspace,
                [],
                RunOptions(seconds=workspace.settings.night_minutes * 60.0, processes=count_processors()),
                progress=lambda stage, _, __: reached.append(_STEPS.get(stage, reached[-1])),
            )
    except BusyError:
        raise
    except (KeptError, OSError) as error:
        place = names.index(reached[-1])
        yield from (NightStep(name=item, done=True) for item in names[:place])
        yield NightStep(name=names[place], done=False, detail=str(error)[:1_000])
        yield from (NightStep(name=item, done=False, detail=_NOT_REACHED) for item in names[place + 1 :])
        return
    results = _step_results(report)
    yield from (_make_step(name, *results[name]) for name in names)


_NOT_REACHED = "not reached"


def _step_results(report: RunReport) -> dict[str, tuple[str, str]]:
    """For each step of a run, its error (empty: none) and its result."""
    reading, extracted, asked = report.reading, report.extracted, report.asked
    cut = "; the time limit was reached, the next night continues" if report.cut else ""
    # The person set this limit, so reaching it is not a failure.
    spent = "; the budget is used up, the next night continues" if asked.unaffordable else ""
    found = [f"{extracted.accepted:,} to remember", f"{extracted.held:,} to hold for you", describe_set_aside(extracted.refused)]
    left = f"{format_count(report.llm_extraction.left, 'session')} left without a reply"
    questions = (
        f"{format_count(asked.usage.calls, 'question')} about {format_count(report.llm_extraction.chunks, 'part')} of sessions"
    )
    operations = report.curated.operations + report.llm_curation.operations
    again = extracted.accepted + extracted.held - operations["add"] - operations["hold"]
    same = f"; {again:,} of them were known already" if again > 0 else ""
    return {
        "discover": ("", ", ".join(f"{count:,} of {name}" for name, count in sorted(report.sources.items())) or "no transcripts"),
        "read": (_describe_unread(reading.skipped, "read"), f"{format_count(reading.files, 'file')} with something new{cut}"),
        "extract": (
            _describe_unread(extracted.broken, "analysed"),
            f"{format_count(extracted.threads, 'session')}: {', '.join(filter(None, found))}{cut}",
        ),
        "ask": (f"{left}; the next night asks again" if asked.unreadable or asked.unreachable else "", f"{questions}{spent}{cut}"),
        "curate": (
            "; ".join(f"a guard stopped {item}" for item in (*report.curated.stopped, *report.llm_curation.stopped)),
            f"{describe_counts(operations) or 'nothing to change'}{same}",
        ),
        RENDER: ("; ".join(report.written.problems), f"{format_count(len(report.written.files), 'file')} written"),
    }


def _describe_unread(skipped: list[tuple[str, str]], what: str) -> str:
    if not skipped:
        return ""
    path, reason = skipped[0]
    return f"{format_count(len(skipped), 'file')} not {what}; the first, {path}: {reason}"


def _run_step(name: str, act: Callable[[], tuple[str, str]]) -> Iterator[NightStep]:
    """Run one step. If another run has become active, that run does the work."""
    try:
        with isolate_errors("something unexpected went wrong", ""):
            wrong, detail = act()
    except BusyError:
        wrong, detail = "", "another run is doing it"
    except (KeptError, OSError) as error:
        wrong, detail = str(error), ""
    yield _make_step(name, wrong, detail)


def _make_step(name: str, wrong: str, detail: str) -> NightStep:
    return NightStep(name=name, done=not wrong, detail=(wrong or detail)[:1_000])


def _run_sleep(workspace: Workspace) -> tuple[str, str]:
    done = run_sleep(workspace)
    wrong = "; ".join([*(f"a guard stopped {item}" for item in done.stopped), *done.written.problems])
    return (
        wrong,
        f"{len(done.retired):,} no longer mentioned; {done.lingering:,} that may be outdated are left to you (kept review --stale)",
    )


def _run_check(workspace: Workspace) -> tuple[str, str]:
    found = check_home(workspace).damage
    return (f"{found[0]}; {format_count(len(found), 'fault')} in all → kept check" if found else ""), "the store is whole"


def _run_backup(workspace: Workspace) -> tuple[str, str]:
    made = make_daily_backup(workspace)
    return "", (made.name if made else "today's backup is there already") + back_up_elsewhere(workspace)


def _store_night(home: Paths, night: NightReport) -> None:
    place = home.state / "night.json"
    files.write_if_unchanged(place, to_canonical_json(dump(night)).encode(), expect=files.read_file(place).stamp, root=home.root)
    record_failures(
        home,
        NIGHT,
        {night_step.name: night_step.detail for night_step in night.failed if night_step.detail != _NOT_REACHED},
        night.at,
    )
    with closing(PrivateLog(home.state / "night.log", most=_LOG_BYTES, older=_LOGS)) as handler:
        for step in night.steps:
            line = f"{format_instant(night.at)} {step.name}: {'' if step.done else 'FAILED: '}{step.detail or 'done'}"
            handler.emit(logging.LogRecord("kept", logging.INFO, "", 0, line, (), None))


def record_failures(home: Paths, runner: str, found: dict[str, str], at: datetime) -> None:
    """Record the failures of a run by ``runner``. Drops earlier failures of ``runner`` that did not occur again."""
    state, place = str(home.state), home.state / queue.FAILURES_FILE
    before = load_failures(state)
    if not (found or before):
        return
    text = queue.format_failures_note(
        before, runner, {f"{runner} {name}": detail for name, detail in found.items()}, format_instant(at)
    )
    files.write_if_unchanged(place, text.encode(), expect=files.read_file(place).stamp, root=home.root)
    queue.forget_reported_failures(state)


def load_last_night(home: Paths) -> NightReport | None:
    """The report of the last night. None if there was none, or if it cannot be read."""
    try:
        night: NightReport = load(NightReport, json.loads(files.read_file(home.state / "night.json").data or b"null"))
    except (KeptError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return night
