"""What was worked on, in a store in memory."""
# ruff: noqa: D102 - the protocol says what each of them does

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime

from kept.core.summary import Form, Note, Passage
from kept.store.in_memory_state import Now
from kept.store.values import Noted, Pointed, ThreadRow

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
        gone, left = set(events), set(sessions)
        self.erase([each.id for each in self.passages() if gone & set(each.events) or left & set(each.sessions)])
        for row in self._now().threads:
            if row.session in sessions or not set(events).isdisjoint(row.events):
                self._now().notes.pop(row.id, None)
                self._now().noted.pop(row.id, None)

    def clear(self) -> None:
        self._now().notes.clear()
        self._now().noted.clear()

    def note_points(self, thread: int, start: int, stop: int, points: Sequence[Passage]) -> None:
        passages = self._now().passages
        for each in self.passages():
            if each.form is Form.POINT and each.thread == thread and start <= each.ordinal < stop:
                del passages[each.id]
        passages.update({each.id: each for each in points})

    def points(self, start: datetime, stop: datetime) -> tuple[Pointed, ...]:
        threads = {each.id: each for each in self._now().threads}
        found = [each for each in self.passages() if each.form is Form.POINT and start <= each.at < stop]
        return tuple(
            Pointed(passage=each, session=row.session, project=row.project, path=row.path)
            for each in sorted(found, key=lambda one: (one.at, one.thread, one.ordinal, int(one.id, 16)))
            if (row := threads.get(each.thread)) is not None
        )

    def write(self, day: date, scope: str, lines: Sequence[Passage]) -> None:
        here = (each for each in self.passages() if (each.form, each.day, each.scope) == (Form.LINE, day, scope))
        self.erase([each.id for each in here])
        self._now().passages.update({each.id: each for each in lines})

    def own(self, passage: Passage) -> None:
        self._now().passages[passage.id] = passage

    def written(self, first: date, last: date) -> tuple[Passage, ...]:
        found = [each for each in self.passages() if each.form is not Form.POINT and each.day and first <= each.day <= last]
        return tuple(sorted(found, key=lambda each: (each.day or first, each.scope, each.ordinal, int(each.id, 16))))

    def passages(self) -> tuple[Passage, ...]:
        return tuple(sorted(self._now().passages.values(), key=lambda each: (each.at, int(each.id, 16))))

    def erase(self, ids: Collection[str]) -> None:
        for each in ids:
            self._now().passages.pop(each, None)
