"""Notes about the work, and passages about days, in SQLite."""

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from typing import Any

from kept.core.codec import dump, json_fields, load, to_canonical_json
from kept.core.summary import Passage, PassageForm, WorkNote
from kept.core.text import index_words
from kept.core.times import format_instant
from kept.store.archive.blocks import Blocks
from kept.store.database import Database
from kept.store.redaction import redact_value
from kept.store.rows import UNREADABLE, read_row
from kept.store.values import ThreadNote, ThreadPoint

_PASSAGES = 2**62  # first row number of passages; they share a full-text index with notes


class Days:
    """Notes of threads, and passages about days. Notes are derived from the archive; passages by a model or a person are not."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_threads_without_notes(self) -> tuple[tuple[int, int], ...]:
        """The threads with events that no note covers: (number, count of covered events), in the order of their first events."""
        return tuple((row["id"], row["noted"]) for row in self._database.run("threads_without_notes"))

    def save_notes(self, thread: int, start: int, notes: Sequence[tuple[WorkNote, str]], events: int) -> None:
        """Replace a thread's notes from ordinal ``start`` on. Each comes with its line of text. Together they cover ``events``
        events.
        """
        with self._database.transaction():
            self._drop_thread_notes(thread, start)
            for note, text in notes:
                number = thread * 2**32 + note.ordinal  # derived from thread and ordinal, so a rebuilt table has the same ids
                self._database.run(
                    "add_note",
                    id=number,
                    thread=thread,
                    ordinal=note.ordinal,
                    event=note.event,
                    at=format_instant(note.at),
                    body=zlib.compress(to_canonical_json([text, dump(note)]).encode()),
                )
                self._database.run("index_note", id=number, words=index_words(text))
                self._database.run("queue_embedding", kind="summary", item=number)
            self._database.run("put_noted", thread=thread, events=events)

    def _drop_thread_notes(self, thread: int, start: int) -> None:
        for row in self._database.run("notes_from", thread=thread, start=start).fetchall():
            self._database.run("unindex_note", id=row["id"], words=index_words(_unpack_note(row["body"])[0]))
            self._database.run("queue_embedding", kind="summary", item=row["id"])
        self._database.run("drop_notes", thread=thread, start=start)

    def notes_between(self, start: datetime, stop: datetime) -> tuple[ThreadNote, ...]:
        """The notes with times in [start, stop), in order of time."""
        rows = self._database.run("notes_between", start=format_instant(start), stop=format_instant(stop))
        return tuple(read_row(ThreadNote, row, note=load(WorkNote, _unpack_note(row["body"])[1])) for row in rows)

    def drop_notes(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        """Erase the notes of every thread that contains one of the events or belongs to one of the sessions. They are made again
        later.

        Passages based on any of these events or sessions are erased permanently.
        """
        with self._database.transaction():
            self.erase_passages(
                [
                    passage.id
                    for passage in self.passages()
                    if not set(events).isdisjoint(passage.events) or not set(sessions).isdisjoint(passage.sessions)
                ]
            )
            numbers = Blocks(self._database).find(events)
            rows = self._database.run(
                "threads_with", events=to_canonical_json(sorted(numbers.values())), sessions=to_canonical_json(sorted(sessions))
            )
            for row in rows.fetchall():
                self._drop_thread_notes(row["thread"], 0)
                self._database.run("drop_noted", thread=row["thread"])

    def find_damaged_rows(self) -> Iterator[str]:
        """A message for each note or passage that cannot be read or whose columns differ from its body."""
        for row in self._database.run("passages"):
            try:
                whole = _columns(_parse_passage(row["body"])) == {
                    name: value for name, value in dict(row).items() if name != "body"
                }
            except UNREADABLE:
                whole = False
            if not whole:
                yield f"summary {row['id']}: damaged"
        for row in self._database.run("all_notes"):
            try:
                note = load(WorkNote, _unpack_note(row["body"])[1])
            except (*UNREADABLE, zlib.error):
                note = None
            number = row["thread"] * 2**32 + row["ordinal"]
            if note is None or (number, note.ordinal, note.event, format_instant(note.at)) != tuple(row)[:4]:
                yield f"note {row['ordinal']} of thread {row['thread']}: damaged"

    def clear_notes(self) -> None:
        """Erase all notes, so that they are made again, and rebuild the index of passages."""
        with self._database.transaction():
            for row in self._database.run("noted_threads").fetchall():
                self._drop_thread_notes(row["thread"], 0)
                self._database.run("drop_noted", thread=row["thread"])
            self._database.run("drop_all_notes")  # notes of threads that have no progress row
            self._database.run("recount_notes")
            self._database.run("clear_note_index")
            for passage in self.passages():
                self._index_passage(passage)

    def save_points(self, thread: int, start: int, stop: int, points: Sequence[Passage]) -> None:
        """Replace the points of a thread with ordinals in [start, stop)."""
        with self._database.transaction():
            for row in self._database.run("points_from", thread=thread, start=start, stop=stop).fetchall():
                self._database.run("drop_passage", row=row["row"])
            for passage in points:
                self._store_passage(redact_value(passage, self._database.safe))

    def points_between(self, start: datetime, stop: datetime) -> tuple[ThreadPoint, ...]:
        """The points with times in [start, stop), in order of time."""
        rows = self._database.run("points_between", start=format_instant(start), stop=format_instant(stop))
        return tuple(read_row(ThreadPoint, row, passage=_parse_passage(row["body"])) for row in rows)

    def save_day_lines(self, day: date, scope: str, lines: Sequence[Passage]) -> None:
        """Replace the lines of a day and scope. A person's own words stay."""
        with self._database.transaction():
            for row in self._database.run("lines_of", day=day.isoformat(), scope=scope).fetchall():
                self._delete_passage(row)
            for passage in lines:
                self.save_passage(passage)

    def save_passage(self, passage: Passage) -> None:
        """Store a passage about a day. It replaces a passage with the same id."""
        passage = redact_value(passage, self._database.safe)
        with self._database.transaction():
            for row in self._database.run("passage", id=passage.id).fetchall():
                self._delete_passage(row)
            self._store_passage(passage)
            self._index_passage(passage)

    def passages_of_days(self, first: date, last: date) -> tuple[Passage, ...]:
        """The lines and a person's words for the days from ``first`` to ``last``, by day, scope and place."""
        rows = self._database.run("passages_of_days", first=first.isoformat(), last=last.isoformat())
        return tuple(_parse_passage(row["body"]) for row in rows)

    def passages(self) -> tuple[Passage, ...]:
        """All passages, in order of time."""
        return tuple(_parse_passage(row["body"]) for row in self._database.run("passages").fetchall())

    def erase_passages(self, ids: Collection[str]) -> None:
        """Erase passages permanently."""
        with self._database.transaction():
            for item in ids:
                for row in self._database.run("passage", id=item).fetchall():
                    self._delete_passage(row)

    def load_passage(self, passage: Passage) -> None:
        """Add a passage from an export that is being loaded."""
        self._store_passage(passage)
        self._index_passage(passage)

    def _store_passage(self, passage: Passage) -> None:
        self._database.run("put_passage", body=to_canonical_json(dump(passage)), **_columns(passage))

    def _index_passage(self, passage: Passage, statement: str = "index_note") -> None:
        """Index a passage by its words, unless it is a point. Points are details of the day's lines, and are read only by day."""
        if passage.form is not PassageForm.POINT and passage.text:
            self._database.run(statement, id=_passage_row(passage), words=index_words(passage.text))
            self._database.run("queue_embedding", kind="summary", item=_passage_row(passage))

    def _delete_passage(self, row: Any) -> None:
        self._index_passage(_parse_passage(row["body"]), "unindex_note")
        self._database.run("drop_passage", row=row["row"])


def _passage_row(passage: Passage) -> int:
    """The row number of a passage. It is derived from the passage's id, so every store that loads the passage uses it."""
    return _PASSAGES + int(passage.id, 16)


def _columns(passage: Passage) -> dict[str, Any]:
    day = passage.day.isoformat() if passage.day else ""
    return json_fields(passage, "id", "form", "scope", "thread", "ordinal", "at") | {"row": _passage_row(passage), "day": day}


def _parse_passage(body: str) -> Passage:
    passage: Passage = load(Passage, json.loads(body))
    return passage


def _unpack_note(body: bytes) -> tuple[str, Any]:
    text, note = json.loads(zlib.decompress(body))
    return text, note
