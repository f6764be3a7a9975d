"""Stored replies of language models and their costs, in a SQLite file of their own. Independent of models and budgets.

Each write commits at once. Like the store, the file uses a rollback journal and ``synchronous=FULL``. Deleted text is overwritten.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from kept.core.codec import json_fields
from kept.core.errors import StoreError
from kept.core.times import format_instant, parse_stored_instant
from kept.core.value import dataclass, replace
from kept.llm.ask import Usage
from kept.store.reader import parse_queries

FORMAT = 2
TRIES = 3  # runs with an unreadable reply after which a question is no longer asked
_BUSY_MS = 30_000
_PAUSE = 600.0  # seconds; during a longer gap between two replies, nothing was asked


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionNote:
    """The stored data of a question: its key, purpose, prompt version, and reply schema, and the sessions it is ``about``. For a
    question in a batch, ``most`` is its maximum cost.
    """

    key: str
    purpose: str
    version: str
    schema: Mapping[str, Any]
    about: tuple[str, ...] = ()
    most: Usage = Usage()


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Questions that were submitted together at time ``at``. ``items`` maps their names in the batch to the questions."""

    id: str
    model: str
    at: str
    items: Mapping[str, QuestionNote]


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageSum:
    """The cost of all questions for one purpose to one model in a time span."""

    purpose: str
    model: str
    usage: Usage


class ReplyCache:
    """The file of stored replies. Without a path, replies are cached in memory. The file is created on the first write. Until then,
    reading finds nothing.

    Every method raises StoreError if the file cannot be read or written. Use it from one thread at a time.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def find_reply(self, key: str) -> Mapping[str, Any] | None:
        """The reply to a question, or None."""
        rows = self._read("reply", key)
        return json.loads(rows[0][0]) if rows else None

    def save_reply(self, note: QuestionNote, model: str, body: Mapping[str, Any], at: datetime) -> None:
        """Store a reply."""
        values = (note.key, model, note.purpose, note.version, format_instant(at), json.dumps(note.about), json.dumps(body))
        self._execute("put_reply", *values)
        self._execute("drop_failures", note.key)

    def count_failure(self, note: QuestionNote, fault: str, program: str) -> None:
        """Count an unreadable reply. ``program`` identifies the program that returned it."""
        self._execute("count_failure", note.key, fault, json.dumps(note.about), program)

    def load_failures(self, key: str, program: str) -> tuple[int, str]:
        """Return the number of a program's unreadable replies to a question, and the last fault."""
        rows = self._read("failures", key, program)
        return (rows[0][0], rows[0][1]) if rows else (0, "")

    def quarantined_sessions(self, tries: int) -> dict[str, str]:
        """Return the sessions of questions whose replies were unreadable in at least ``tries`` runs, each with the last fault."""
        return {session: row[2] for row in self._read("every_failure") if row[1] >= tries for session in json.loads(row[3])}

    def save_usage(self, purpose: str, model: str, usage: Usage, at: datetime) -> None:
        """Record what a question cost."""
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        self._execute("spend", format_instant(at), purpose, model, usage.calls, *tokens, usage.cost)

    def usage_between(self, start: datetime, stop: datetime | None = None) -> tuple[UsageSum, ...]:
        """Return the usage in [start, stop) by purpose and model.

        A cost is the sum of the known costs. It is None if that sum is zero and some costs are unknown.
        """
        rows = self._read("spent", format_instant(start), format_instant(stop) if stop else "9")
        sums = []
        for purpose, model, calls, tokens_in, tokens_out, cached, known_cost, unknown in rows:
            cost = None if unknown and not known_cost else known_cost
            usage = Usage(calls=calls, input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=cached, cost=cost)
            sums.append(UsageSum(purpose=purpose, model=model, usage=usage))
        return tuple(sums)

    def measure_pace(self, model: str) -> float | None:
        """The median number of seconds between a model's recent replies, not counting pauses. None if there are too few."""
        from statistics import median  # noqa: PLC0415 - loads fractions and decimals, and few commands need it

        moments = [parse_stored_instant(at) for (at,) in self._read("moments", model)]
        gaps = [gap for later, earlier in pairwise(moments) if (gap := (later - earlier).total_seconds()) < _PAUSE]
        return median(gaps) if gaps else None

    def pending_batches(self, model: str = "") -> tuple[Batch, ...]:
        """Return the batches that are submitted and not collected, of one model or (if empty) of all."""
        return tuple(
            Batch(id=id_, model=name, at=at, items={key: _question_note_from_row(row) for key, row in json.loads(items).items()})
            for id_, name, at, items in self._read("batches")
            if model in ("", name)
        )

    def save_batch(self, batch: Batch) -> None:
        """Store a submitted batch."""
        items = {
            name: [note.key, note.purpose, note.version, note.schema, list(note.about), json_fields(note.most)]
            for name, note in batch.items.items()
        }
        self._execute("put_batch", batch.id, batch.model, batch.at, json.dumps(items))

    def drop_batch(self, batch: str) -> None:
        """Delete a collected batch."""
        self._execute("drop_batch", batch)

    def drop_replies(self, keys: Iterable[str]) -> None:
        """Delete the replies and recorded failures of these keys, so that their questions are asked again."""
        for key in keys:
            self._execute("drop_reply", key)
            self._execute("drop_failures", key)

    def find_reply_keys(self, sessions: Iterable[str], holds_words: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the keys of replies that are about these sessions, or whose text makes ``holds_words`` true."""
        gone = set(sessions)
        return tuple(row[0] for row in self._read("every_reply") if gone & set(json.loads(row[1])) or holds_words(row[2]))

    def erase_replies(self, sessions: Iterable[str], holds_words: Callable[[str], bool]) -> int:
        """Erase the replies that :meth:`find_reply_keys` finds, and return their number.

        Also erases the sessions' questions from the records of failures and pending batches. Replies to them that arrive later in a
        batch are not stored.
        """
        gone = set(sessions)
        keys = self.find_reply_keys(gone, holds_words)
        for key in keys:
            self._execute("drop_reply", key)
        for key in [row[0] for row in self._read("every_failure") if gone & set(json.loads(row[3]))]:
            self._execute("drop_failures", key)
        for batch in self.pending_batches():
            left = {name: note for name, note in batch.items.items() if not gone & set(note.about)}
            if len(left) < len(batch.items):
                self.save_batch(replace(batch, items=left))
        if keys:
            self._execute("vacuum")
        return len(keys)

    def _read(self, name: str, *values: object) -> list[Any]:
        is_missing = self._connection is None and self._path is not None and not self._path.exists()
        return [] if is_missing else self._execute(name, *values)

    def _execute(self, name: str, *values: object) -> list[Any]:
        """Execute a statement of ``queries.sql`` and return its rows."""
        try:
            if self._connection is None:
                self._connection = _open(self._path)
            return self._connection.execute(_load_statements()[name], values).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the file of replies cannot be used: {error}",
                where=str(self._path),
                hint="check the disk, or move the file away; its questions are then asked again",
            ) from error


@cache
def _load_statements() -> Mapping[str, str]:
    return parse_queries(_read_sql("queries.sql"))


def _read_sql(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _question_note_from_row(row: Iterable[Any]) -> QuestionNote:
    key, purpose, version, schema, about, *most = row  # older versions did not store the maximum cost
    usage = Usage(**most[0]) if most else Usage()
    return QuestionNote(key=key, purpose=purpose, version=version, schema=schema, about=tuple(about), most=usage)


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):  # sqlite3 would create a file that others can read
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    safe = ("journal_mode = DELETE", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY")
    for pragma in (f"busy_timeout = {_BUSY_MS}", *safe):
        connection.execute(f"PRAGMA {pragma}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < FORMAT:
        # Format 1 stored failures without their sessions. They are deleted, so their questions are asked again.
        drop = "DROP TABLE IF EXISTS unreadable;"
        connection.executescript(f"BEGIN EXCLUSIVE; {drop} {_read_sql('schema.sql')} PRAGMA user_version = {FORMAT}; COMMIT;")
    elif version != FORMAT:
        connection.close()
        raise sqlite3.DatabaseError(f"it has format {version}, but this kept reads format {FORMAT}")
    return connection
