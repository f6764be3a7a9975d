"""An SQLite database whose shared rows lie on a server too: each transaction takes up what others wrote and sends what it changes.

The order of a transaction: the file is locked, then the owner's rows on the server; what others changed comes in; what is done here
is sent and committed there, then here. A process that dies between the two commits leaves the file one change behind, which the
next transaction takes up as it does any other's. Nothing is locked while nothing is written, and reading asks nobody.

Without the server a machine may go on alone: what it changes is in its file only, until :meth:`ReplicaDatabase.return_to_server`
takes up the server's rows in the place of its own. Who keeps what was done meanwhile is told above this layer.
"""

import json
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kept.core.codec import to_canonical_json
from kept.core.errors import StoreError, UnreachableError, UsageError
from kept.store.database import AWAY, BINDING, ERASING, Database
from kept.store.replica.protocol import Head, Key, Row, Server, Table
from kept.store.replica.tables import SHARED, SHARED_SETTING, capture_statements, changed_rows_query, read_tables

_ROWS = 2_000  # sent at once
_WRITES = re.compile(r"(?:INSERT(?: OR IGNORE)? INTO|UPDATE|DELETE FROM) (\w+)")
_OF_SHARED = frozenset(SHARED) - {"settings"}  # a store's own settings are written with no server


class ReplicaDatabase(Database):
    """A store file and the server behind it, which is asked for when it is first written to.

    ``take_up`` applies to this file what changed on the server since a head (None: everything). With ``alone`` it goes on without
    the server; else what writes raises UnreachableError then.
    """

    def __init__(self, path: Path, connect: Callable[[], Server], *, alone: bool = False) -> None:
        self._alone = alone
        self._returns = False  # from a time without the server
        self._is_made = False  # making and migrating the file is this machine's own
        self._connect = connect
        self._server: Server | None = None
        self._head = Head()
        self._taken = 0
        super().__init__(path)
        self.take_up: Callable[[Server, Head | None], None] = lambda *_: None
        self.tables: Mapping[str, Table] = read_tables(self._connection)
        self._connection.executescript(capture_statements(self.tables))
        self._is_made = True

    def close(self) -> None:
        """Close the connections."""
        self.disconnect()
        super().close()

    def disconnect(self) -> None:
        """End the connection to the server; the next transaction makes another."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @contextmanager
    def server(self) -> Iterator[Server]:
        """The connection to the server; one that failed is not used again. Raises StoreError."""
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
        """Which rows of a server this file holds, and up to which change; None where it was never with one."""
        row = self.fetch_one("setting", name=BINDING)
        return Head(**json.loads(row["value"])) if row else None

    def bind(self, head: Head) -> None:
        """Note which rows of a server this file holds."""
        value = to_canonical_json({"store": head.store, "version": head.version, "base": head.base})
        self.run("put_setting", name=BINDING, value=value)

    @property
    def is_away(self) -> bool:
        """Whether this file has changes that the server does not have, because it could not be reached."""
        return self.fetch_one("setting", name=AWAY) is not None

    def return_to_server(self) -> None:
        """Have this file hold what the server does and nothing else. Raises UnreachableError, StoreError; nothing is changed
        then.
        """
        self._returns = True
        try:
            with self.transaction():
                self.execute_sql("DELETE FROM looks")  # transcripts that only this file had read are read again
                self.run("drop_setting", name=AWAY)
        finally:
            self._returns = False

    def data_version(self) -> int:
        """A number that changes when another connection has changed the store, or this one took up another machine's change."""
        return super().data_version() + (self._taken << 40)

    def _execute(self, sql: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        if not self._depth and (found := _WRITES.match(sql)) and found[1] in _OF_SHARED:
            with self.transaction():
                return super()._execute(sql, values)
        return super()._execute(sql, values)

    def execute_many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute a named statement for each row. Raises StoreError."""
        with self.transaction():
            super().execute_many(name, rows)

    def _join(self) -> None:
        if not self._is_made:
            return
        if self.is_away and not self._returns:
            if not self._alone:
                raise StoreError("changes wait here for the server", where=str(self.path), hint="kept run takes them there")
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
        """Begin to write on the server; by a new connection where the last one was ended there. Raises StoreError."""
        known = self._server
        try:
            with self.server() as server:
                return server.lock()
        except StoreError:
            if known is None or not known.is_lost:
                raise
        with self.server() as server:
            return server.lock()

    def _renew(self, server: Server, head: Head) -> None:
        """Send the rows of an older format again as this file has them. Raises StoreError where it does not have all of them."""
        bound = self.binding
        if bound is None or (bound.store, bound.version) != (head.store, head.version):
            raise StoreError(
                "the rows on the server are of an older kept",
                where=str(self.path),
                hint="run this kept first on the machine that wrote last",
            )
        server.clear(shared=False)
        server.commit(self._send_rows(server, head))

    def _follow(self, server: Server, head: Head) -> None:
        """Have this file hold what the server does. Raises StoreError where they are two stores."""
        bound = self.binding
        if bound is None and not self.fetch_one("is_empty")["empty"]:
            raise StoreError(
                "what is remembered here is not on the server",
                where=str(self.path),
                hint="take it there: kept migrate --to URL (or use an empty --home)",
            )
        if bound is not None and bound.store != head.store:
            raise StoreError(
                "the server holds another store than this home" if head.store else "the server holds no store of this owner",
                where=str(self.path),
                hint="set store.url back, or take this one there: kept migrate --to URL",
            )
        if bound is None or bound.version < head.version or self._returns:
            self.take_up(server, bound if bound and bound.version >= head.base and not self._returns else None)
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
                raise UnreachableError("what is on the server cannot be forgotten without it", where=str(self.path), hint=hint)
            self._connection.execute("DELETE FROM temp.changed")
            return
        names = [row[0] for row in self._connection.execute("SELECT DISTINCT name FROM temp.changed")]
        with self.server() as server:
            if not names and self._head.version:
                server.rollback()
                return
            made = replace(self._head, version=self._head.version + 1)
            for name in filter(names.__contains__, SHARED):
                rows, gone = self._changed_rows(self.tables[name])
                if gone:
                    server.drop(self.tables[name], gone, made.version)
                if rows:
                    server.put(self.tables[name], rows, made.version)
            self._connection.execute("DELETE FROM temp.changed")
            self.bind(made)
            server.commit(made)

    def send_whole(self, *, over: bool) -> Head:
        """Have the server hold every shared row of this file and no other of its owner, in one transaction.

        Raises UsageError where it holds rows of this owner already and they are not to be written ``over``; StoreError.
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

    def _send_rows(self, server: Server, head: Head) -> Head:
        """Send every shared row of this file to a server that holds none, as a new head."""
        made = Head(store=head.store or secrets.token_hex(8), version=head.version + 1, base=head.version + 1)
        for table in self.tables.values():
            rows = self.shared_rows(table)
            while some := rows.fetchmany(_ROWS):
                server.put(table, [tuple(row) for row in some], made.version)
        self.bind(made)
        return made

    def shared_rows(self, table: Table) -> sqlite3.Cursor:
        """Every shared row of a table here, by its key."""
        names, keys = (", ".join(f'"{name}"' for name in some) for some in (table.names, table.key))
        only = f" WHERE name = '{SHARED_SETTING}'" if table.name == "settings" else ""
        return self._execute(f"SELECT {names} FROM main.{table.name}{only} ORDER BY {keys}", {})  # noqa: S608 - kept's own names

    def _withdraw(self) -> None:
        if self._server is not None:
            self._server.rollback()

    def _changed_rows(self, table: Table) -> tuple[Sequence[Row], Sequence[Key]]:
        """The rows of a table that this transaction changed, and the keys of those that it deleted."""
        rows = [tuple(row) for row in self._connection.execute(changed_rows_query(table))]
        return [row[3:] for row in rows if row[2]], [row[: len(table.key)] for row in rows if not row[2]]


def _refuse_held(head: Head) -> None:
    if head.store:
        hint = "begin with an empty --home and set store.url there to work with it"
        raise UsageError("the server holds a store of this owner already", hint=hint)
