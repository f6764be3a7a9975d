"""Summarising: what was worked on in each thread that grew → notes in the store; and what a day was, read off notes and memories."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType

from kept.adapters.store import Noted, Thread
from kept.app.batches import batches
from kept.app.desk import Desk
from kept.app.progress import Progress, silent
from kept.model.event import Event
from kept.model.markup import sentence
from kept.model.memory import Memory, Status
from kept.model.summary import Bullet, Note, Summary
from kept.stages.coverage import Topic, topics
from kept.stages.summarise import condense, notes, ordered, part_of, remembered, worked

_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
_LINE = 400  # characters of a line in the note of a day
WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session; windows begin at its multiples


Take = Callable[[Thread, Sequence[Event], Sequence[Topic]], None]


def summarise(
    desk: Desk, grown: Mapping[int, int] = MappingProxyType({}), take: Take | None = None, *, progress: Progress = silent
) -> int:
    """Note what was worked on in the threads of ``grown``, and in all that were not looked at yet.

    ``grown`` says from which ordinal on the episodes of a thread were open, for what it tells may have changed from there on.
    ``take`` is told the topics of each of them from its start, as they are found. Returns how many threads were looked at. Raises
    StoreError.
    """
    noted = dict(desk.store.days.unnoted())
    pending = dict.fromkeys((*grown, *noted))
    number = 0
    for batch in batches(desk.store.archive.each(pending), lambda each: each.events, WINDOW):
        with desk.store.transaction():
            for thread in batch:
                progress("summarising", number, len(pending))
                number += 1
                reach = [each[thread.id] for each in (noted, grown) if thread.id in each]
                start = 0 if desk.store.archive.forks(thread.id) else min(reach) // WINDOW * WINDOW
                found = tuple(
                    (note, worked(note, "").text) for note in _notes(desk, thread, start, take if thread.id in grown else None)
                )
                desk.store.days.put(thread.id, start, found, thread.events)
    progress("summarising", len(pending), len(pending))
    return len(pending)


def _notes(desk: Desk, thread: Thread, start: int, take: Take | None) -> Iterator[Note]:
    for base in range(0 if take else start, thread.events, WINDOW):
        events = desk.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
        found = topics(events, lexicon=desk.lexicon)
        if take:
            take(thread, events, found)
        if base >= start:
            runs = [(each.start, each.stop) for each in found]
            yield from notes(events, runs, lambda at: at.astimezone(desk.zone).date(), base=base)


def summary(desk: Desk, first: date, last: date | None = None, *, scopes: frozenset[str] = frozenset()) -> Summary:
    """What a day was, or the days from ``first`` to ``last``; of some projects only where ``scopes`` are given. Changes nothing.

    What was decided, learnt and is open are the memories of those days as they stand now; a question that was answered since is told
    by its answer.
    """
    last = last or first
    start, stop = desk.span(first)[0], desk.span(last)[1]
    told = [
        worked(each.note, scope)
        for each in _once(desk.store.days.between(start, stop))
        if (scope := _scope(desk, each)) in scopes or not scopes
    ]
    told += [
        remembered(each)
        for each in _learnt(desk, desk.store.log.memories_between(start, stop))
        if not scopes or each.scope in scopes
    ]
    within = [each for each in told if each.at is not None and start <= each.at < stop]
    bullets = ordered(within)
    return Summary(first=first, last=last, detailed=bullets, condensed=condense(bullets))


def told(desk: Desk) -> dict[date, tuple[str, ...]]:
    """What was worked on each day, in short, as the lines of its note."""
    days: dict[date, list[Bullet]] = {}
    for each in _once(desk.store.days.between(_FIRST, _LAST)):
        days.setdefault(each.note.at.astimezone(desk.zone).date(), []).append(worked(each.note, _scope(desk, each)))
    return {
        day: ("Worked on:", *(f"- {sentence(each.text, _LINE)}" for each in condense(ordered(bullets))))
        for day, bullets in days.items()
    }


def week(day: date) -> tuple[date, date]:
    """The Monday and Sunday of the week of a day."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def _once(found: Iterable[Noted]) -> Iterator[Noted]:
    """What copies of a session tell twice, once."""
    seen: set[str] = set()
    for each in found:
        if each.note.event not in seen:
            seen.add(each.note.event)
            yield each


def _scope(desk: Desk, noted: Noted) -> str:
    return desk.scope(noted.project, noted.path)


def _learnt(desk: Desk, memories: Iterable[Memory]) -> Iterator[Memory]:
    now = desk.clock()
    return (each for each in memories if each.content and each.status_at(now) is Status.ACTIVE and part_of(each.category))
