"""What was worked on, kept for reading it by day: notes of each thread, made of the archive and never the only place of anything."""

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from kept.adapters.store.database import Database
from kept.adapters.store.rows import UNREADABLE
from kept.adapters.store.values import Noted
from kept.model.codec import canonical, dump, load
from kept.model.summary import Note
from kept.model.text import index_words
from kept.model.times import to_text


class SqliteDays:
    """The notes of an SQLite store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unnoted(self) -> tuple[tuple[int, int], ...]:
        """Threads of which events were not looked at yet: their numbers, and how many were; in the order of their first events."""
        return tuple((row["id"], row["noted"]) for row in self._database.run("unnoted"))

    def put(self, thread: int, start: int, notes: Sequence[tuple[Note, str]], events: int) -> None:
        """Have these notes, each with its line of text, in place of a thread's from ordinal ``start`` on; ``events`` were looked at."""
        with self._database.transaction():
            self._drop(thread, start)
            for note, text in notes:
                number = thread * 2**32 + note.ordinal  # made of what it stands for, so that a rebuilt table is the same
                self._database.run(
                    "add_note", id=number, thread=thread, ordinal=note.ordinal, event=note.event, at=to_text(note.at),
                    body=zlib.compress(canonical([text, dump(note)]).encode()),
                )  # fmt: skip
                self._database.run("index_note", id=number, words=index_words(text))
                self._database.run("unembed", kind="summary", item=number)
            self._database.run("put_noted", thread=thread, events=events)

    def _drop(self, thread: int, start: int) -> None:
        for row in self._database.run("notes_from", thread=thread, start=start).fetchall():
            self._database.run("unindex_note", id=row["id"], words=index_words(_read(row["body"])[0]))
            self._database.run("unembed", kind="summary", item=row["id"])
        self._database.run("drop_notes", thread=thread, start=start)

    def between(self, start: datetime, stop: datetime) -> tuple[Noted, ...]:
        """The notes in [start, stop), in the order of their times."""
        rows = self._database.run("notes_between", start=to_text(start), stop=to_text(stop))
        return tuple(
            Noted(
                note=load(Note, _read(row["body"])[1]), thread=row["thread"], session=row["session"], project=row["project"],
                path=row["path"],
            )
            for row in rows
        )  # fmt: skip

    def drop(self, *, events: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        """Erase the notes of every thread that tells one of the events, or of the sessions; they are to be made again."""
        with self._database.transaction():
            rows = self._database.run("threads_telling", keys=canonical(sorted(events)), sessions=canonical(sorted(sessions)))
            for row in rows.fetchall():
                self._drop(row["thread"], 0)
                self._database.run("drop_noted", thread=row["thread"])

    def damage(self) -> Iterator[str]:
        """Every note that cannot be read or lies in another place than it says."""
        for row in self._database.run("all_notes"):
            try:
                note = load(Note, _read(row["body"])[1])
            except (*UNREADABLE, zlib.error):
                note = None
            number = row["thread"] * 2**32 + row["ordinal"]
            if note is None or (number, note.ordinal, note.event, to_text(note.at)) != tuple(row)[:4]:
                yield f"note {row['ordinal']} of thread {row['thread']}: damaged"

    def clear(self) -> None:
        """Erase all notes; they are to be made again."""
        with self._database.transaction():
            for row in self._database.run("noted_threads").fetchall():
                self._drop(row["thread"], 0)
                self._database.run("drop_noted", thread=row["thread"])
            self._database.run("drop_all_notes")  # of threads that nothing notes any more
            self._database.run("clear_note_index")
            self._database.run("recount_notes")


def _read(body: bytes) -> tuple[str, Any]:
    text, note = json.loads(zlib.decompress(body))
    return text, note
