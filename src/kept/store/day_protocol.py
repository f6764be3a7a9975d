"""The protocol of a store's day data: notes of what was worked on, and passages about days by a model or a person."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Protocol

from kept.core.summary import Passage, WorkNote
from kept.store.values import ThreadNote, ThreadPoint


class Days(Protocol):
    """Notes of each thread, which are derived from the archive, and passages by a model or a person, which cannot be derived."""

    def list_threads_without_notes(self) -> tuple[tuple[int, int], ...]:
        """The threads with events not covered by notes: (number, count of covered events), in the order of their first events."""
        ...

    def save_notes(self, thread: int, start: int, notes: Sequence[tuple[WorkNote, str]], events: int) -> None:
        """Replace a thread's notes from ordinal ``start`` on by these, each with its line of text; they cover ``events`` events."""
        ...

    def notes_between(self, start: datetime, stop: datetime) -> tuple[ThreadNote, ...]:
        """The notes with times in [start, stop), in order of time."""
        ...

    def drop_notes(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        """Erase the notes of every thread that contains one of the events or belongs to one of the sessions; they are made again.

        Passages that rest on any of these events or sessions are erased permanently.
        """
        ...

    def clear_notes(self) -> None:
        """Erase all notes, so that they are made again. Passages stay."""
        ...

    def save_points(self, thread: int, start: int, stop: int, points: Sequence[Passage]) -> None:
        """Replace the points of a thread with ordinals in [start, stop) by these."""
        ...

    def points_between(self, start: datetime, stop: datetime) -> tuple[ThreadPoint, ...]:
        """The points with times in [start, stop), in order of time."""
        ...

    def save_day_lines(self, day: date, scope: str, lines: Sequence[Passage]) -> None:
        """Replace the lines of a day and scope by these; a person's own words stay."""
        ...

    def own(self, passage: Passage) -> None:
        """Store a person's words; they replace a passage with the same id."""
        ...

    def passages_of_days(self, first: date, last: date) -> tuple[Passage, ...]:
        """The lines and a person's words of the days from ``first`` to ``last``, by day, scope and place."""
        ...

    def passages(self) -> tuple[Passage, ...]:
        """All passages, in order of time."""
        ...

    def erase_passages(self, ids: Collection[str]) -> None:
        """Erase passages permanently."""
        ...
