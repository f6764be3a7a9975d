"""What was worked on, in a store in memory."""
# ruff: noqa: D102 - the protocol says what each of them does

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from kept.adapters.store.in_memory_state import Now
from kept.adapters.store.values import Noted, ThreadRow
from kept.model.summary import Note

_FIRST = datetime.min.replace(tzinfo=UTC)


class InMemoryDays:
    """The notes of a store in memory."""

    def __init__(self, now: Now) -> None:
        self._now = now

    def unnoted(self) -> tuple[tuple[int, int], ...]:
        noted = self._now().noted
        rows = (each for each in self._now().threads if len(each.events) != noted.get(each.id, 0))
        return tuple((each.id, noted.get(each.id, 0)) for each in sorted(rows, key=lambda each: (self._first(each), each.id)))

    def _first(self, row: ThreadRow) -> datetime:
        events = self._now().events
        return min((at for key in row.events if (at := events[key].event.at) is not None), default=_FIRST)

    def put(self, thread: int, start: int, notes: Sequence[tuple[Note, str]], events: int) -> None:
        state = self._now()
        earlier = (each for each in state.notes.get(thread, ()) if each.ordinal < start)
        state.notes[thread] = (*earlier, *(note for note, _ in notes))
        state.noted[thread] = events

    def between(self, start: datetime, stop: datetime) -> tuple[Noted, ...]:
        state = self._now()
        found = [
            Noted(note=note, thread=row.id, session=row.session, project=row.project, path=row.path)
            for row in state.threads
            for note in state.notes.get(row.id, ())
            if start <= note.at < stop
        ]
        return tuple(sorted(found, key=lambda each: (each.note.at, each.thread, each.note.ordinal)))

    def drop(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        for row in self._now().threads:
            if row.session in sessions or not set(events).isdisjoint(row.events):
                self._now().notes.pop(row.id, None)
                self._now().noted.pop(row.id, None)

    def clear(self) -> None:
        self._now().notes.clear()
        self._now().noted.clear()
