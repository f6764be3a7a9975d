"""What a store must do about days: notes of what was worked on, and passages that a model or a person wrote of them."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Protocol

from kept.core.summary import Note, Passage
from kept.store.values import Noted, Pointed


class Days(Protocol):
    """What days were: notes of each thread, derived from the archive; and passages, which are canonical: what a model wrote and a
    person.
    """

    def unnoted(self) -> tuple[tuple[int, int], ...]:
        """Threads of which events were not looked at yet: their numbers, and how many were; in the order of their first events."""
        ...

    def put(self, thread: int, start: int, notes: Sequence[tuple[Note, str]], events: int) -> None:
        """Have these notes, each with its line of text, in place of a thread's from ordinal ``start`` on; ``events`` were looked
        at.
        """
        ...

    def between(self, start: datetime, stop: datetime) -> tuple[Noted, ...]:
        """The notes in [start, stop), in the order of their times."""
        ...

    def drop(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        """Erase the notes of every thread that tells one of the events, or of the sessions; they are to be made again.

        Passages that rest on any of them are erased for good.
        """
        ...

    def clear(self) -> None:
        """Erase all notes; they are to be made again. Passages stay."""
        ...

    def note_points(self, thread: int, start: int, stop: int, points: Sequence[Passage]) -> None:
        """Have these points in the place of those of a thread with ordinals in [start, stop)."""
        ...

    def points(self, start: datetime, stop: datetime) -> tuple[Pointed, ...]:
        """The points in [start, stop), in the order of their times."""
        ...

    def write(self, day: date, scope: str, lines: Sequence[Passage]) -> None:
        """Have these lines in the place of those of a day and scope. A person's words stay."""
        ...

    def own(self, passage: Passage) -> None:
        """Have a person's words, in the place of those of the same id."""
        ...

    def written(self, first: date, last: date) -> tuple[Passage, ...]:
        """The lines and a person's words of some days, by day, scope and place."""
        ...

    def passages(self) -> tuple[Passage, ...]:
        """Every passage, in the order of their times."""
        ...

    def erase(self, ids: Collection[str]) -> None:
        """Erase passages for good."""
        ...
