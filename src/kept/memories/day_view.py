"""What a day was, put together from what is kept of it."""

from dataclasses import dataclass
from datetime import date

from kept.core.memory import Memory, Status
from kept.core.summary import Summary
from kept.days.coverage_report import CoverageReport, report_coverage
from kept.days.day_notes import build_summary
from kept.store.values import SessionActivity
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class DayView:
    """What a day was, or the days from ``day`` to ``last``: sessions with events on it, what was worked on, the memories learnt or
    confirmed on it, and what they cover of its topics.
    """

    day: date
    last: date
    summary: Summary
    sittings: tuple[SessionActivity, ...]
    learnt: tuple[Memory, ...]
    confirmed: tuple[Memory, ...]
    covered: CoverageReport


def load_day_view(workspace: Workspace, which: date, last: date | None = None) -> DayView:
    """A local day, by the events' own times; or the days from it to ``last``."""
    last = last or which
    start, stop = workspace.day_bounds(which)[0], workspace.day_bounds(last)[1]
    active = [memory for memory in workspace.store.log.memories_between(start, stop) if memory.status is Status.ACTIVE]
    learnt = tuple(memory for memory in active if memory.first_seen is not None and start <= memory.first_seen < stop)
    confirmed = tuple(
        memory
        for memory in active
        if memory not in learnt and any(item.at is not None and start <= item.at < stop for item in memory.evidence)
    )
    sittings = workspace.store.archive.sittings(start, stop)
    told = {(sitting.source, sitting.path, sitting.session) for sitting in sittings}
    threads = [thread for thread in workspace.store.archive.threads() if (thread.source, thread.path, thread.session) in told]
    covered = report_coverage(workspace, threads, (start, stop))
    found = build_summary(workspace, which, last)
    return DayView(day=which, last=last, summary=found, sittings=sittings, learnt=learnt, confirmed=confirmed, covered=covered)


def list_active_days(workspace: Workspace) -> tuple[date, ...]:
    """Every local day on which something happened."""
    return tuple(dict.fromkeys(minute.astimezone(workspace.zone).date() for minute in workspace.store.archive.active_minutes()))
