"""An SQLite database that is a replica of rows on a server. Each transaction fetches the changes of others and sends its own.

A transaction locks the file, then the owner's rows on the server. It fetches the changes of other machines, applies its own, sends
them, and commits first on the server and then locally. If the process dies between the two commits, the file is one change behind,
and the next transaction fetches that change like any other. Reading neither contacts the server nor locks anything there.

If the server cannot be reached, a machine may continue alone. Its changes are then only in its file.
:meth:`ReplicaDatabase.return_to_server` later replaces the local rows by those of the server, so the caller must save the changes
before.
"""

import json
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kept.core.codec import to_canonical_json
from kept.core.errors import StoreError, UnreachableError, UsageError
from kept.store.database import AWAY, BINDING, ERASING, Database
from kept.store.postgres import Head, Table

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer

#: The shared tables, each after the tables it refers to. Of the settings, only the key of fingerprints is shared.
SHARED = (
    *("settings", "files", "blocks", "threads", "thread_events", "hearings", "projects", "opted_out"),
    *("runs", "passes", "operations", "mentions", "spans", "candidates", "sealed", "dirty", "memories", "forgotten"),
    *("notes", "noted", "summaries"),
)
#: Tables that belong to this machine or are derived from the shared rows.
OWN = frozenset(
    {"migrations", "looks", "events", "marks", "passage_hashes", "unembedded", "uses", "outputs", "tallies"}
    | {"texts", "tellings", "rests", "settled", "unsettled"}
)
SHARED_SETTING = "key:forget"
_ROWS = 2_000  # rows sent at a time
_WRITES = re.compile(r"(?:INSERT(?: OR IGNORE)? INTO|UPDATE|DELETE FROM) (\w+)")
_OF_SHARED = frozenset(SHARED) - {"settings"}  # settings are written without the server


class ReplicaDatabase(Database):
    """A store file and its server, to which the first write connects.

    ``apply_changes`` applies the server's changes since a head (None: everything) to this file. If the server cannot be reached, a
    write raises UnreachableError or, if ``alone``, continues without the server.
    """

    def __init__(self, path: Path, connect: Callable[[], "PostgresServer"], *, alone: bool = False) -> None:
        self._alone = alone
        self._returns = False  # true while the file returns to the server
        self._is_made = False  # false while the file is created or migrated, which does not need the server
        self._connect = connect
        self._server: PostgresServer | None = None
        self._head = Head()
        self._taken = 0
        super().__init__(path)
        self.apply_changes: Callable[[PostgresServer, Head | None], None] = lambda *_: None
        self.tables: Mapping[str, Table] = read_tables(self._connection)
        self._connection.executescript(capture_statements(self.tables))
        self._is_made = True

    def close(self) -> None:
        """Close the connections to the server and the file."""
        self.disconnect()
        super().close()

    def disconnect(self) -> None:
        """Close the connection to the server. The next transaction opens a new one."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @contextmanager
    def server(self) -> Iterator["PostgresServer"]:
        """A block with the connection to the server. An error closes the connection. Raises StoreError."""
        if self._server is None:
            self._server = self._connect()
        try:
            yield self._server
        except BaseException:
            self._withdraw()
            self.disconnect()
            raise

    @property
    def binding(self) -> Head | None:
        """The id and version of the server's store of which this file is a replica; None if it never had a server."""
        row = self.fetch_one("setting", name=BINDING)
        return Head(**json.loads(row["value"])) if row else None

    def bind(self, head: Head) -> None:
        """Record which store of the server, and which version of it, this file has."""
        value = to_canonical_json({"store": head.store, "version": head.version, "base": head.base})
        self.run("put_setting", name=BINDING, value=value)

    @property
    def is_away(self) -> bool:
        """True if this file has changes that the server lacks, because it could not be reached."""
        return self.fetch_one("setting", name=AWAY) is not None

    def return_to_server(self) -> None:
        """Replace the rows of this file by the server's rows.

        Raises UnreachableError, StoreError. Nothing has changed then.
        """
        self._returns = True
        try:
            with self.transaction():
                self.execute_sql("DELETE FROM looks")  # so that transcripts that were read only into this file are read again
                self.run("drop_setting", name=AWAY)
        finally:
            self._returns = False

    def data_version(self) -> int:
        """A number that changes when another connection changes the store, or when this one fetches a change of another machine."""
        return super().data_version() + (self._taken << 40)

    def _execute(self, sql: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        if not self._depth and (found := _WRITES.match(sql)) and found[1] in _OF_SHARED:
            with self.transaction():
                return super()._execute(sql, values)
        return super()._execute(sql, values)

    def execute_many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute a named query for each row. Raises StoreError."""
        with self.transaction():
            super().execute_many(name, rows)

    def _join(self) -> None:
        if not self._is_made:
            return
        if self.is_away and not self._returns:
            if not self._alone:
                raise StoreError("changes wait here for the server", where=str(self.path), hint="kept run sends them there")
            return
        try:
            self._head = self._lock_server()
        except UnreachableError:
            if self._returns or not self._alone or not self.binding:
                raise
            last = self.fetch_one("last_pass")
            self.run("put_setting", name=AWAY, value=str(last["id"] if last else 0))
            return
        with self.server() as server:
            if self._head.outdated:
                self._renew(server, self._head)
                self._head = server.lock()
            self._follow(server, self._head)

    def _lock_server(self) -> Head:
        """Lock the rows on the server. Connects again if the server closed the last connection. Raises StoreError."""
        known = self._server
        try:
            with self.server() as server:
                return server.lock()
        except StoreError:
            if known is None or not known.is_lost:
                raise
        with self.server() as server:
            return server.lock()

    def _renew(self, server: "PostgresServer", head: Head) -> None:
        """Replace the server's rows, which have an older format, by the rows of this file. Raises StoreError if any is missing."""
        bound = self.binding
        if bound is None or (bound.store, bound.version) != (head.store, head.version):
            raise StoreError(
                "the rows on the server are of an older kept",
                where=str(self.path),
                hint="first run this version of kept on the machine that wrote last",
            )
        server.clear(shared=False)
        server.commit(self._send_rows(server, head))

    def _follow(self, server: "PostgresServer", head: Head) -> None:
        """Fetch the rows that the server has and this file lacks. Raises StoreError if they are different stores."""
        bound = self.binding
        if bound is None and not self.fetch_one("is_empty")["empty"]:
            raise StoreError(
                "the memories on this machine are not on the server",
                where=str(self.path),
                hint="move them there: kept migrate --to URL (or use an empty --home)",
            )
        if bound is not None and bound.store != head.store:
            raise StoreError(
                "the server has a different store than this home" if head.store else "the server has no store of this owner",
                where=str(self.path),
                hint="set store.url back, or move this store there: kept migrate --to URL",
            )
        if bound is None or bound.version < head.version or self._returns:
            self.apply_changes(server, bound if bound and bound.version >= head.base and not self._returns else None)
            self._connection.execute("DELETE FROM temp.changed")
            self._taken += 1
            self._head = head if head.store else Head(store=secrets.token_hex(8))
            self.bind(self._head)

    def _publish(self) -> None:
        if not self._is_made:
            return
        if self.is_away:
            if self.fetch_one("setting", name=ERASING):
                hint = "forget again when the server can be reached"
                raise UnreachableError("the server's rows cannot be erased without it", where=str(self.path), hint=hint)
            self._connection.execute("DELETE FROM temp.changed")
            return
        names = [row[0] for row in self._connection.execute("SELECT DISTINCT name FROM temp.changed")]
        with self.server() as server:
            if not names and self._head.version:
                server.rollback()
                return
            made = replace(self._head, version=self._head.version + 1)
            for name in filter(names.__contains__, SHARED):
                table = self.tables[name]
                changed = [tuple(row) for row in self._connection.execute(changed_rows_query(table))]
                if gone := [row[: len(table.key)] for row in changed if not row[2]]:
                    server.drop(table, gone, made.version)
                if rows := [row[3:] for row in changed if row[2]]:
                    server.put(table, rows, made.version)
            self._connection.execute("DELETE FROM temp.changed")
            self.bind(made)
            server.commit(made)

    def send_whole(self, *, over: bool) -> Head:
        """Replace the owner's rows on the server by the shared rows of this file, in one transaction.

        Raises UsageError if the server has rows of this owner and ``over`` is False. Raises StoreError.
        """
        self._begin_write()
        try:
            with self.server() as server:
                head = server.lock()
                if not over:
                    _refuse_held(head)
                server.clear()
                made = self._send_rows(server, head)
                self.run("drop_setting", name=AWAY)
                server.commit(made)
            self._execute("COMMIT", {})
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0
        return made

    def _send_rows(self, server: "PostgresServer", head: Head) -> Head:
        """Send every shared row of this file to a server without rows of this owner. Returns the new head."""
        made = Head(store=head.store or secrets.token_hex(8), version=head.version + 1, base=head.version + 1)
        for table in self.tables.values():
            rows = self.shared_rows(table)
            while some := rows.fetchmany(_ROWS):
                server.put(table, [tuple(row) for row in some], made.version)
        self.bind(made)
        return made

    def shared_rows(self, table: Table) -> sqlite3.Cursor:
        """The local shared rows of a table, in the order of their keys."""
        names, keys = (", ".join(f'"{name}"' for name in some) for some in (table.names, table.key))
        only = f" WHERE name = '{SHARED_SETTING}'" if table.name == "settings" else ""
        return self._execute(f"SELECT {names} FROM main.{table.name}{only} ORDER BY {keys}", {})  # noqa: S608 - kept's own names

    def _withdraw(self) -> None:
        if self._server is not None:
            self._server.rollback()


def _refuse_held(head: Head) -> None:
    if head.store:
        hint = "begin with an empty --home and set store.url there to work with it"
        raise UsageError("the server already has a store of this owner", hint=hint)


def read_tables(connection: sqlite3.Connection) -> Mapping[str, Table]:
    """The shared tables of a store, by name."""
    return {name: _read_table(connection, name) for name in SHARED}


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    info = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = sorted((int(row[5]), str(row[1])) for row in info if row[5])
    return Table(name=name, columns=tuple((str(row[1]), str(row[2])) for row in info), key=tuple(key for _, key in keys))


def capture_statements(tables: Mapping[str, Table]) -> str:
    """The SQL of a temporary table and of triggers. They record the keys (at most two values) of shared rows that change."""
    made = ["CREATE TEMP TABLE changed (name TEXT NOT NULL, first NOT NULL, second);"]
    for table in tables.values():
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            only = f" WHEN {row}.name = '{SHARED_SETTING}'" if table.name == "settings" else ""
            first, second = (*(f'{row}."{name}"' for name in table.key), "NULL")[:2]
            made.append(
                f"CREATE TEMP TRIGGER {table.name}_{event.lower()}_shared AFTER {event} ON main.{table.name}{only}"  # noqa: S608 - kept's own names
                f" BEGIN INSERT INTO changed (name, first, second) VALUES ('{table.name}', {first}, {second}); END;"
            )
    return "\n".join(made)


def changed_rows_query(table: Table) -> str:
    """The SQL query for the recorded changes of a table. It returns both key values, whether the row exists, and its columns."""
    names = ", ".join(f't."{name}"' for name in table.names)
    same = " AND ".join(f't."{name}" = c.{place}' for name, place in zip(table.key, ("first", "second"), strict=False))
    return (
        f'SELECT c.first, c.second, t."{table.key[0]}" IS NOT NULL, {names}'  # noqa: S608 - kept's own names
        f" FROM (SELECT DISTINCT first, second FROM temp.changed WHERE name = '{table.name}') AS c"
        f" LEFT JOIN main.{table.name} AS t ON {same}"
    )
