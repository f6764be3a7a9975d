"""A store whose rows are on a server. The SQLite store of this machine is kept equal to them. All reads are local."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kept.core.codec import dump_member, to_canonical_json
from kept.core.errors import DamagedError, StoreError
from kept.core.event import is_prompt
from kept.core.summary import PassageForm
from kept.core.text import index_words
from kept.store.archive.blocks import Blocks, index, unindex
from kept.store.archive.care import CLEAR_DERIVED
from kept.store.database import AWAY, Database, free_name
from kept.store.memories import clear_texts, memory_index_words, memory_of_row
from kept.store.postgres import NOT_COMPARED, Head, Key, Row, Table
from kept.store.redaction import Redact, skip_store_redaction
from kept.store.replica.database import ReplicaDatabase
from kept.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer


class ReplicaStore(SqliteStore):
    """An open store file and its server. The first write calls ``connect``.

    Raises StoreError if the file cannot be opened. If the server cannot be reached, a write raises UnreachableError and changes
    nothing. If ``alone``, it changes a file that had its server before locally instead, until :meth:`return_to_server`.
    """

    def __init__(
        self, path: Path, connect: Callable[[], "PostgresServer"], *, redact: Redact = skip_store_redaction, alone: bool = False
    ) -> None:
        self._replica = ReplicaDatabase(path, connect, alone=alone)
        tables = tuple(self._replica.tables.values())
        self._replica.apply_changes = lambda server, since: apply_server_changes(self._replica, tables, server, since)
        self._connect = connect
        super().__init__(path, redact=redact, database=self._replica)

    def refresh(self) -> None:
        """Fetch the changes of other machines. Raises UnreachableError, StoreError."""
        with self._replica.server(), self.transaction():
            pass

    @property
    def away_since(self) -> int | None:
        """The last pass on the server, if this store was changed later without reaching it; else None."""
        row = self._replica.fetch_one("setting", name=AWAY)
        return int(row["value"]) if row else None

    def return_to_server(self) -> None:
        """Replace the content of this store by the server's. A copy of the old content stays in the backups folder.

        Raises UnreachableError, StoreError.
        """
        with self._replica.server():
            pass
        self._replica.copy_to(free_name(self.path.parent / "backups" / "away.db"))
        self._replica.return_to_server()

    def publish(self) -> None:
        """Replace the server's content by this store's. Other machines then fetch all of it. Raises StoreError."""
        self._replica.send_whole(over=True)

    def move_to_server(self) -> None:
        """Copy this store to an empty server and verify the copy. If the server already has this store, only verify it.

        Raises UsageError if the server has another store, StoreError, DamagedError.
        """
        with self._replica.server() as server:
            head = server.look()
            server.rollback()
        bound = self._replica.binding
        if bound is None or bound.store != head.store:
            self._replica.send_whole(over=False)
        self.refresh()
        self.prove_server()

    def move_to_file(self, *, drop: bool) -> None:
        """Fetch everything from the server, verify it, and detach this file from the server. If ``drop``, delete the rows there.

        Raises StoreError, DamagedError.
        """
        self.refresh()
        self.prove_server()
        if drop:
            with self._replica.server() as server:
                server.lock()
                server.clear()
                server.commit(Head())
        self.unbind()

    def prove_server(self) -> None:
        """Verify the server: build a store from its rows alone, check it for damage, and compare its export with this store's.

        Raises DamagedError, StoreError.
        """
        with TemporaryDirectory(prefix="kept-") as folder, ReplicaStore(Path(folder) / self.path.name, self._connect) as made:
            made.refresh()
            if found := made._find_damage(indexes=True):
                raise DamagedError(f"the server's data is damaged: {found[0]}", hint="run `kept check`")
            for here, there in zip_longest(self.export_rows(), made.export_rows()):
                if to_canonical_json(dump_member(here)) != to_canonical_json(dump_member(there)):
                    raise DamagedError("the server's rows differ from this store", hint="run `kept check`")

    def find_damage(self) -> tuple[str, ...]:
        """A description of each defect of the store, and of each difference between it and the server."""
        try:
            self.refresh()
            waits = self._replica.is_away
            apart = (f"{NOT_COMPARED}: changes wait here for it",) if waits else tuple(self.compare_with_server())
        except StoreError as error:
            apart = (f"{NOT_COMPARED}: {error}",)
        return (*super().find_damage(), *apart)

    def compare_with_server(self) -> Iterator[str]:
        """A message for each table whose rows on the server differ from those here. Raises StoreError."""
        with self._replica.server() as server, self._replica.read_transaction():
            head, bound = server.look(), self._replica.binding
            if bound is not None and head.version != bound.version:
                yield "the server was changed while it was compared: check again"
            else:
                for table in self._replica.tables.values():
                    here, there = _sum_rows(self._replica.shared_rows(table)), _sum_rows(server.rows(table, -1))
                    if here != there:
                        yield f"{table.name}: the {there[0]} rows on the server are not the {here[0]} on this machine"
            server.rollback()


def _sum_rows(rows: Iterable[Row]) -> tuple[int, int]:
    """The number of rows, and a checksum that does not depend on their order. It is valid only within this process."""
    count = total = 0
    for row in rows:
        count, total = count + 1, total + hash(tuple(row))
    return count, total


_ROWS = 500


def apply_server_changes(database: Database, tables: Sequence[Table], server: "PostgresServer", since: Head | None) -> None:
    """Make the shared rows of a store equal to those of a server, inside a transaction. Raises StoreError.

    ``since`` is the head of the rows that the store has, or None if it has none.
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
    """Removes the data derived from shared rows before the rows change, and adds it again afterwards."""

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
                if is_prompt(event):
                    self._database.run("queue_embedding", kind="turn", item=row)
            self._database.run("queue_embedding_beside", events=to_canonical_json([row for row, _ in events]))


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
    for name in ("clear_memory_index", "clear_note_index", *CLEAR_DERIVED):
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
