"""A store whose rows lie on a server: the SQLite store of this machine, kept equal to them. What is read is read here."""

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from kept.core.codec import dump_member, to_canonical_json
from kept.core.errors import DamagedError, StoreError
from kept.store.database import AWAY
from kept.store.door import Redact, skip_store_redaction
from kept.store.paths import free_name
from kept.store.replica.database import ReplicaDatabase
from kept.store.replica.protocol import NOT_COMPARED, Head, Row, Server
from kept.store.replica.taking_up import take_up_changes
from kept.store.sqlite import SqliteStore


class ReplicaStore(SqliteStore):
    """An open store file, and the server that ``connect`` reaches when something is first written.

    Raises StoreError where the file cannot be opened; where the server cannot be reached, whatever writes raises it, and changes
    nothing. With ``alone`` a file that was with its server before is changed alone then, until :meth:`return_to_server`.
    """

    def __init__(
        self, path: Path, connect: Callable[[], Server], *, redact: Redact = skip_store_redaction, alone: bool = False
    ) -> None:
        self._replica = ReplicaDatabase(path, connect, alone=alone)
        tables = tuple(self._replica.tables.values())
        self._replica.take_up = lambda server, since: take_up_changes(self._replica, tables, server, since)
        self._connect = connect
        super().__init__(path, redact=redact, database=self._replica)

    def refresh(self) -> None:
        """Take up what other machines wrote. Raises UnreachableError, StoreError."""
        with self._replica.server(), self.transaction():
            pass

    @property
    def away_since(self) -> int | None:
        """The last pass that the server has, where this machine was changed without it since; else None."""
        row = self._replica.fetch_one("setting", name=AWAY)
        return int(row["value"]) if row else None

    def return_to_server(self) -> None:
        """Have this store hold what the server does and nothing else; a copy of what it held stays with the backups. Raises
        UnreachableError, StoreError.
        """
        with self._replica.server():
            pass
        self._replica.copy_to(free_name(self.path.parent / "backups" / "away.db"))
        self._replica.return_to_server()

    def publish(self) -> None:
        """Have the server hold what this store does, whatever it held: other machines take all of it up. Raises StoreError."""
        self._replica.send_whole(over=True)

    def move_to_server(self) -> None:
        """Have an empty server hold what this store does, and prove it; or prove it where it does already.

        Raises UsageError where it holds another store, StoreError, DamagedError.
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
        """Have this file hold all that the server does, and be of no server any more; ``drop`` erases the rows there. Raises
        StoreError, DamagedError.
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
        """Make a store anew of the server's rows alone: its chain and its fold are whole, and it writes the same export, byte for
        byte. Raises DamagedError, StoreError.
        """
        with TemporaryDirectory(prefix="kept-") as folder, ReplicaStore(Path(folder) / self.path.name, self._connect) as made:
            made.refresh()
            if found := made._find_damage(indexes=True):
                raise DamagedError(f"what the server holds is damaged: {found[0]}", hint="run `kept check`")
            for here, there in zip_longest(self.export_rows(), made.export_rows()):
                if to_canonical_json(dump_member(here)) != to_canonical_json(dump_member(there)):
                    raise DamagedError("the server holds other rows than this store", hint="run `kept check`")

    def find_damage(self) -> tuple[str, ...]:
        """Everything that is wrong with the store, and with what the server holds of it."""
        try:
            self.refresh()
            waits = self._replica.is_away
            apart = (f"{NOT_COMPARED}: changes wait here for it",) if waits else tuple(self.compare_with_server())
        except StoreError as error:
            apart = (f"{NOT_COMPARED}: {error}",)
        return (*super().find_damage(), *apart)

    def compare_with_server(self) -> Iterator[str]:
        """Every table of which the server holds other rows than this store. Raises StoreError."""
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
    """How many rows there are, and a number that is another for other rows, whatever their order (within this process)."""
    count = total = 0
    for row in rows:
        count, total = count + 1, total + hash(tuple(row))
    return count, total
