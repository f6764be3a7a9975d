"""The view of a day: sessions, summary and memories; and a person's edits of the lines in a day's note."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from itertools import pairwise

from kept.core.document import DAY_LINE, Edits
from kept.core.errors import UsageError
from kept.core.fold import find_undone_passes
from kept.core.memory import Memory, Status
from kept.core.operation import Add, Reword
from kept.core.summary import Passage, PassageForm, Summary, SummaryPart
from kept.core.value import dataclass, replace
from kept.days.coverage_report import CoverageReport, report_coverage
from kept.days.day_notes import build_summary, bullet_key, notes_of_day, reword_line
from kept.days.llm_summaries import load_day_summaries
from kept.days.summaries import drop_held_bullets
from kept.memories.person import clean_memory_text
from kept.memories.waiting import collect_pending
from kept.store.values import SessionActivity
from kept.workspace import Workspace

LASTING = (Status.ACTIVE, Status.RESOLVED, Status.SUPERSEDED, Status.RETIRED)
"""The statuses of memories that count on the day when they were first said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DayView:
    """A day, or the days from ``day`` to ``last``: the sessions with events on it, what was worked on, the memories ``learnt`` or
    ``confirmed`` on it, those learnt on it that are no longer active (``ended``), and the proposals of it that are ``held``.

    The summary omits requests that only repeat a held memory. ``covered`` says which of the day's topics these memories cover.
    ``reworded`` are memories that were known before and got other words, by id: when, and the words before.
    """

    day: date
    last: date
    summary: Summary
    sessions: tuple[SessionActivity, ...]
    learnt: tuple[Memory, ...]
    confirmed: tuple[Memory, ...]
    ended: tuple[Memory, ...]
    held: tuple[Memory, ...]
    covered: CoverageReport
    reworded: Mapping[str, tuple[datetime, str]]


def list_said(
    workspace: Workspace, start: datetime, stop: datetime, scopes: frozenset[str] = frozenset()
) -> Iterator[tuple[datetime, Memory, str]]:
    """The memories first said or reworded in [start, stop): when, the memory, and the words before (empty: it was first said).

    A memory counts whatever became of it since, unless it was moved or split: its successors have the same dates.
    """
    undone = find_undone_passes(workspace.store.log.undo_redo_passes())
    for memory in workspace.store.log.memories_between(start, stop):
        counts = memory.content and memory.status in LASTING and memory.outcome not in ("moved", "split")
        if not counts or (scopes and memory.scope not in scopes):
            continue
        if memory.first_seen is not None and start <= memory.first_seen < stop:
            yield memory.first_seen, memory, ""
        if memory.first_seen != memory.last_seen:
            wordings = list(_list_wordings(workspace, memory, undone))
            for (_, before), (at, words) in pairwise(wordings):
                if words != before and start <= at < stop:
                    yield at, memory, before


def load_day_view(workspace: Workspace, which: date, last: date | None = None, *, scopes: frozenset[str] = frozenset()) -> DayView:
    """The view of a local day, or of the days from it to ``last``, by the events' own times; restricted to ``scopes`` if given."""
    last = last or which
    start, stop = workspace.day_bounds(which)[0], workspace.day_bounds(last)[1]
    wordings = list(list_said(workspace, start, stop, scopes))
    said = {memory.id: memory for _, memory, _ in wordings}
    learnt = tuple(memory for memory in said.values() if memory.status is Status.ACTIVE)
    confirmed = tuple(
        memory
        for memory in workspace.store.log.memories_between(start, stop)
        if memory.content
        and memory.status is Status.ACTIVE
        and memory.id not in said
        and (not scopes or memory.scope in scopes)
        and any(item.at is not None and start <= item.at < stop for item in memory.evidence)
    )
    ended = tuple(memory for memory in said.values() if memory.status is not Status.ACTIVE)
    sessions = tuple(
        activity
        for activity in workspace.store.archive.session_activity(start, stop)
        if not scopes or workspace.scope(activity.project, activity.path) in scopes
    )
    listed = {(activity.source, activity.path, activity.session) for activity in sessions}
    threads = [thread for thread in workspace.store.archive.threads() if (thread.source, thread.path, thread.session) in listed]
    covered = report_coverage(workspace, threads, (start, stop))
    held = tuple(
        memory
        for memory, _ in (collect_pending(workspace) if sessions else ())
        if memory.first_seen and start <= memory.first_seen < stop and (not scopes or memory.scope in scopes)
    )
    summary = build_summary(workspace, which, last, scopes=scopes)
    return DayView(
        day=which,
        last=last,
        summary=replace(
            summary,
            detailed=drop_held_bullets(summary.detailed, held),
            condensed=drop_held_bullets(summary.condensed, held),
        ),
        sessions=sessions,
        learnt=learnt,
        confirmed=confirmed,
        ended=ended,
        held=held,
        covered=covered,
        reworded={memory.id: (at, before) for at, memory, before in wordings if before},
    )


def list_active_days(workspace: Workspace) -> tuple[date, ...]:
    """All local days with events."""
    return tuple(dict.fromkeys(minute.astimezone(workspace.zone).date() for minute in workspace.store.archive.active_minutes()))


def reword_lines(workspace: Workspace, day: date, edits: Edits) -> Iterator[Reword]:
    """The operations that store a person's edits of a day's lines: reworded or deleted lines. Raises StoreError."""
    own = {
        passage.id: passage.text for passage in workspace.store.days.passages_of_days(day, day) if passage.form is PassageForm.OWN
    }
    for key, words in {**edits.revised, **dict.fromkeys(edits.removed, "")}.items():
        line = _find_line(workspace, day, key.removeprefix(DAY_LINE)) if key.startswith(DAY_LINE) else None
        if line is not None:
            if line.form is PassageForm.OWN and workspace.store.log.operations_on(line.id):
                line = replace(line, text="")  # the log has these words already
            with suppress(UsageError):
                operation = reword_line(line, clean_memory_text(workspace, words) if words else "", workspace.clock())
                if own.get(operation.memory) != operation.content:
                    yield operation


def _find_line(workspace: Workspace, day: date, key: str) -> Passage | None:
    page = load_day_summaries(workspace, day, day).get(day)
    known = {passage.id: passage for lines in (page.lines.values() if page else ()) for passage in lines}
    if key in known:
        return known[key]
    for note, bullet in notes_of_day(workspace, day):
        if bullet_key(bullet) == key:
            return Passage(
                id=bullet.source,
                form=PassageForm.LINE,
                kind={SummaryPart.OPEN: "questions", SummaryPart.DECIDED: "decisions"}.get(bullet.part, "solutions"),
                text=bullet.text,
                at=note.note.at,
                events=(note.note.event,),
                sessions=(note.session,),
                day=day,
                scope=bullet.scope,
            )
    return None


def find_wordings_at(workspace: Workspace, memories: Iterable[Memory], moment: datetime) -> dict[str, str]:
    """The words of memories at a past moment (by event time), by id, for those whose words differ now."""
    undone = find_undone_passes(workspace.store.log.undo_redo_passes())
    earlier = {}
    for memory in memories:
        words = ""
        for at, content in _list_wordings(workspace, memory, undone):
            if not words or at < moment:
                words = content
        if words and words != memory.content:
            earlier[memory.id] = words
    return earlier


def _list_wordings(workspace: Workspace, memory: Memory, undone: Collection[int]) -> Iterator[tuple[datetime, str]]:
    """The words of a memory, each with the time since when it had them; undone changes are left out."""
    for made, operation in workspace.store.log.operations_on(memory.id):
        facts = operation.value if isinstance(operation, Add) else getattr(operation, "facts", None)
        if facts is not None and operation.memory == memory.id and made.id not in undone:
            yield operation.at or made.recorded_at, facts.content
