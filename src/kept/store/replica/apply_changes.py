"""Applies a server's changes to a store: the rows themselves, and the local data derived from them (indexes, queue of vectors)."""

import json
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from kept.core.errors import DamagedError
from kept.core.event import Author, EventKind
from kept.core.summary import PassageForm
from kept.core.text import index_words
from kept.store.archive.blocks import Blocks, index, unindex
from kept.store.database import Database
from kept.store.memories import clear_texts, memory_index_words, memory_of_row
from kept.store.replica.protocol import Head, Key, Row, Server, Table

_ROWS = 500


def apply_server_changes(database: Database, tables: Sequence[Table], server: Server, since: Head | None) -> None:
    """Make the shared rows of a store equal to those of a server, inside a transaction. Raises StoreError.

    ``since`` is the head of the rows that the store has (None: it has none).
    """
    database.execute_sql("PRAGMA defer_foreign_keys = ON")
    if since is None:
        _clear(database, tables)
    clear_texts(database)
    derived = _Derived(database)
    names = server.changed(tables, since.version) if since else {table.name for table in tables}
    for table in (table for table in tables if table.name in names):
        if since is not None:
            for keys in _batches(iter(server.gone(table, since.version))):
                derived.leave(table, keys)
                _delete(database, table, keys)
        for rows in _batches(server.rows(table, since.version if since else 0)):
            keys = [[row[table.names.index(name)] for name in table.key] for row in rows]
            if since is not None:
                derived.leave(table, keys)
                _delete(database, table, keys)
            _insert(database, table, rows)
            derived.enter(table, keys)
    derived.index_events()


class _Derived:
    """The data derived from shared rows, removed before the rows change and added again after."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blocks: list[int] = []

    def leave(self, table: Table, keys: Sequence[Key]) -> None:
        """Remove the data derived from the rows with these keys, before they change."""
        if table.name == "blocks":
            blocks = Blocks(self._database)
            for (number,) in keys:
                there = blocks.at(number) if blocks.block_of(number) == number else ()
                for event in enumerate(there, number):
                    unindex(self._database, *event)
        elif table.name in _WORDS:
            self._each(table, keys, "unindex")

    def enter(self, table: Table, keys: Sequence[Key]) -> None:
        """Add the data derived from the rows with these keys, after they changed."""
        if table.name == "blocks":
            self._blocks += [number for (number,) in keys]
        elif table.name in _WORDS:
            self._each(table, keys, "index")

    def _each(self, table: Table, keys: Sequence[Key], what: str) -> None:
        name, kind = ("memory", "memory") if table.name == "memories" else ("note", "summary")
        field = "rowid" if table.name == "memories" else "id"
        for (number,) in keys:
            row = self._database.execute_sql(
                f'SELECT * FROM main.{table.name} WHERE "{table.key[0]}" = :key',  # noqa: S608 - kept's own names
                {"key": number},
            ).fetchone()
            words = _words_of(table, row) if row else ""
            if words:
                self._database.run(f"{what}_{name}", **{field: number, "words": words})
            self._database.run("queue_embedding", kind=kind, item=number)

    def index_events(self) -> None:
        """Index the events of the blocks that changed."""
        blocks = Blocks(self._database)
        for number in self._blocks:
            events = list(enumerate(blocks.at(number), number))
            index(self._database, events)
            for row, event in events:
                if event.kind is EventKind.PROMPT and event.author is Author.HUMAN:
                    self._database.run("queue_embedding", kind="turn", item=row)


_WORDS = frozenset({"memories", "notes", "summaries"})


def _words_of(table: Table, row: Any) -> str:
    """The words by which a row is indexed."""
    try:
        if table.name == "memories":
            return memory_index_words(memory_of_row(row))
        if table.name == "notes":
            return index_words(json.loads(zlib.decompress(row["body"]))[0])
        return index_words(json.loads(row["body"])["text"]) if row["form"] != PassageForm.POINT else ""
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise DamagedError(f"a row of {table.name} on the server cannot be read", hint="run `kept check`") from error


def _clear(database: Database, tables: Sequence[Table]) -> None:
    for table in reversed(tables):
        only = " WHERE name = 'key:forget'" if table.name == "settings" else ""
        database.execute_sql(f"DELETE FROM main.{table.name}{only}")  # noqa: S608 - kept's own names
    for name in (
        "clear_memory_index",
        "clear_turn_index",
        "clear_reply_index",
        "clear_note_index",
        "clear_passage_hashes",
        "clear_marks",
        "clear_events",
    ):
        database.run(name)


def _delete(database: Database, table: Table, keys: Sequence[Key]) -> None:
    where = " AND ".join(f'"{name}" = :{name}' for name in table.key)
    for key in keys:
        database.execute_sql(
            f"DELETE FROM main.{table.name} WHERE {where}",  # noqa: S608 - kept's own names
            dict(zip(table.key, key, strict=True)),
        )


def _insert(database: Database, table: Table, rows: Sequence[Row]) -> None:
    names = ", ".join(f'"{name}"' for name in table.names)
    values = ", ".join(f":{name}" for name in table.names)
    for row in rows:
        database.execute_sql(
            f"INSERT INTO main.{table.name} ({names}) VALUES ({values})",  # noqa: S608 - kept's own names
            dict(zip(table.names, row, strict=True)),
        )


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(rows, _ROWS)):
        yield some
