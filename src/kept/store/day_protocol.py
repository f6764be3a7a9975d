"""What a store must do about days: notes of what was worked on, and passages that a model or a person wrote of them."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Protocol

from kept.core.summary import Passage, WorkNote
from kept.store.values import ThreadNote, ThreadPoint


class Days(Protocol):
    """What days were: notes of each thread, derived from the archive; and passages, which are canonical: what a model wrote and a
    person.
    """

    def list_threads_without_notes(self) -> tuple[tuple[int, int], ...]:
        """Threads of which events were not looked at yet: their numbers, and how many were; in the order of their first events."""
        ...

    def save_notes(self, thread: int, start: int, notes: Sequence[tuple[WorkNote, str]], events: int) -> None:
        """Have these notes, each with its line of text, in place of a thread's from ordinal ``start`` on; ``events`` were looked
        at.
        """
        ...

    def notes_between(self, start: datetime, stop: datetime) -> tuple[ThreadNote, ...]:
        """The notes in [start, stop), in the order of their times."""
        ...

    def drop_notes(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        """Erase the notes of every thread that tells one of the events, or of the sessions; they are to be made again.

        Passages that rest on any of them are erased for good.
        """
        ...

    def clear_notes(self) -> None:
        """Erase all notes; they are to be made again. Passages stay."""
        ...

    def save_points(self, thread: int, start: int, stop: int, points: Sequence[Passage]) -> None:
        """Have these points in the place of those of a thread with ordinals in [start, stop)."""
        ...

    def points_between(self, start: datetime, stop: datetime) -> tuple[ThreadPoint, ...]:
        """The points in [start, stop), in the order of their times."""
        ...

    def save_day_lines(self, day: date, scope: str, lines: Sequence[Passage]) -> None:
        """Have these lines in the place of those of a day and scope. A person's words stay."""
        ...

    def own(self, passage: Passage) -> None:
        """Have a person's words, in the place of those of the same id."""
        ...

    def passages_of_days(self, first: date, last: date) -> tuple[Passage, ...]:
        """The lines and a person's words of some days, by day, scope and place."""
        ...

    def passages(self) -> tuple[Passage, ...]:
        """Every passage, in the order of their times."""
        ...

    def erase_passages(self, ids: Collection[str]) -> None:
        """Erase passages for good."""
        ...
