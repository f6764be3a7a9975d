"""A store whose rows are on a server: the SQLite store of this machine is kept equal to them. All reads are local."""

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from kept.core.codec import dump_member, to_canonical_json
from kept.core.errors import DamagedError, StoreError
from kept.store.database import AWAY, free_name
from kept.store.redaction import Redact, skip_store_redaction
from kept.store.replica.apply_changes import apply_server_changes
from kept.store.replica.database import ReplicaDatabase
from kept.store.replica.protocol import NOT_COMPARED, Head, Row, Server
from kept.store.sqlite import SqliteStore


class ReplicaStore(SqliteStore):
    """An open store file, and its server, which ``connect`` connects to at the first write.

    Raises StoreError if the file cannot be opened. If the server cannot be reached, a write raises it and changes nothing; with
    ``alone``, a file that had its server before is changed locally instead, until :meth:`return_to_server`.
    """

    def __init__(
        self, path: Path, connect: Callable[[], Server], *, redact: Redact = skip_store_redaction, alone: bool = False
    ) -> None:
        self._replica = ReplicaDatabase(path, connect, alone=alone)
        tables = tuple(self._replica.tables.values())
        self._replica.apply_changes = lambda server, since: apply_server_changes(self._replica, tables, server, since)
        self._connect = connect
        super().__init__(path, redact=redact, database=self._replica)

    def refresh(self) -> None:
        """Fetch what other machines wrote. Raises UnreachableError, StoreError."""
        with self._replica.server(), self.transaction():
            pass

    @property
    def away_since(self) -> int | None:
        """The last pass on the server if this store was changed since without reaching it; otherwise None."""
        row = self._replica.fetch_one("setting", name=AWAY)
        return int(row["value"]) if row else None

    def return_to_server(self) -> None:
        """Replace the content of this store by that of its server; a copy of the old content stays in the backups folder.

        Raises UnreachableError, StoreError.
        """
        with self._replica.server():
            pass
        self._replica.copy_to(free_name(self.path.parent / "backups" / "away.db"))
        self._replica.return_to_server()

    def publish(self) -> None:
        """Replace the server's content by that of this store; other machines then fetch all of it. Raises StoreError."""
        self._replica.send_whole(over=True)

    def move_to_server(self) -> None:
        """Copy this store to an empty server and verify the copy; if the server holds this store already, only verify it.

        Raises UsageError if the server holds another store, StoreError, DamagedError.
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
        """Fetch everything from the server, verify it, and detach this file from the server; ``drop`` deletes the rows there.

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
                raise DamagedError(f"what the server holds is damaged: {found[0]}", hint="run `kept check`")
            for here, there in zip_longest(self.export_rows(), made.export_rows()):
                if to_canonical_json(dump_member(here)) != to_canonical_json(dump_member(there)):
                    raise DamagedError("the server holds other rows than this store", hint="run `kept check`")

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
                        yield f"{table.name}: the {there[0]} rows on the server are not the {here[0]} that are here"
            server.rollback()


def _sum_rows(rows: Iterable[Row]) -> tuple[int, int]:
    """The number of rows, and an order-independent checksum of them that is valid within this process."""
    count = total = 0
    for row in rows:
        count, total = count + 1, total + hash(tuple(row))
    return count, total
