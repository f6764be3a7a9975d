"""Load the view of a day (sessions, summary and memories), and store a person's edits of the lines in a day's note."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from itertools import pairwise

from kept.core.document import DAY_LINE, Edits
from kept.core.errors import UsageError
from kept.core.memory import Memory, Status
from kept.core.operation import Reword, find_undone_passes, stated_facts
from kept.core.summary import Passage, PassageForm, Summary, SummaryPart
from kept.core.value import dataclass, replace
from kept.days.coverage_report import CoverageReport, report_coverage
from kept.days.day_notes import build_summary, bullet_key, notes_of_day, reword_line
from kept.days.llm_summaries import load_day_summaries
from kept.days.summaries import drop_held_bullets
from kept.memories.waiting import collect_pending
from kept.memories.wording import clean_memory_text
from kept.sources.base import ENTRY
from kept.store.values import SessionActivity
from kept.workspace import Workspace

LASTING = (Status.ACTIVE, Status.RESOLVED, Status.SUPERSEDED, Status.RETIRED)
"""The statuses of memories that count on the day when they were first said. Held and rejected memories do not count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DayView:
    """The view of a day, or of the days from ``day`` to ``last``.

    ``sessions`` have events in this span (kept's own journal entries are left out). Memories first said or reworded in it are in
    ``learnt`` if they are active, else in ``ended``. ``confirmed`` has the other active memories with evidence from this span.
    ``held`` has the pending proposals first said in it. The summary omits requests that only repeat one of these proposals.
    ``covered`` reports which topics of the span have a memory. ``reworded`` maps the id of a memory to the time when it was
    reworded, and to the words before.
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
    """The memories first said or reworded from ``start`` to before ``stop``: the time, the memory, and its previous words.

    The previous words are empty if the memory was first said then. Memories that ended later are included. Memories that were moved
    or split are not, because their successors have the same dates.
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
    """Load the view of a local day, or of the days from ``which`` to ``last``, restricted to ``scopes`` if there are any.

    The times of the events decide on which day something happened.
    """
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
        if activity.source != ENTRY and (not scopes or workspace.scope(activity.project, activity.path) in scopes)
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
            summary, detailed=drop_held_bullets(summary.detailed, held), condensed=drop_held_bullets(summary.condensed, held)
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
    """All local days that have events, each once."""
    return tuple(dict.fromkeys(minute.astimezone(workspace.zone).date() for minute in workspace.store.archive.active_minutes()))


def reword_lines(workspace: Workspace, day: date, edits: Edits) -> Iterator[Reword]:
    """The operations that store a person's edits of a day's note. They change or delete lines. Raises StoreError."""
    own = {
        passage.id: passage.text for passage in workspace.store.days.passages_of_days(day, day) if passage.form is PassageForm.OWN
    }
    for key, words in {**edits.revised, **dict.fromkeys(edits.removed, "")}.items():
        line = _find_line(workspace, day, key.removeprefix(DAY_LINE)) if key.startswith(DAY_LINE) else None
        if line is not None:
            if line.form is PassageForm.OWN and workspace.store.log.operations_on(line.id):
                line = replace(line, text="")  # the log already has these words
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
    """The words that memories had at a past moment, by memory id. Memories that have the same words today are omitted.

    A change counts from its event time, not from when it was recorded.
    """
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
    """Each wording of a memory with the time from which it applied. Wordings of undone passes are omitted."""
    for made, operation in workspace.store.log.operations_on(memory.id):
        facts = stated_facts(operation)
        if facts is not None and operation.memory == memory.id and made.id not in undone:
            yield operation.at or made.recorded_at, facts.content
