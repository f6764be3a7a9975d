"""What waits for a vector, and how often memories were used: the part of the store's file that recall itself writes.

Nothing here is canonical: what is lost here is made again or missed by nobody.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from kept.core.errors import StoreError
from kept.recall.index.reader import UnitKind, load_statements

_BUSY_MS = 30_000


class VectorQueue:
    """Units whose vector is to be made, or dropped where they are gone. Raises StoreError."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def count_pending(self) -> dict[UnitKind, int]:
        """How many units wait, by kind."""
        return {UnitKind(row["kind"]): row["units"] for row in self._execute("waiting").fetchall()}

    def pending_units(self) -> tuple[tuple[UnitKind, int], ...]:
        """The units: memories first, then summaries, then what was said, of each kind the latest first."""
        return tuple((UnitKind(row["kind"]), row["item"]) for row in self._execute("pending_units").fetchall())

    def done(self, units: Iterable[tuple[UnitKind, int]]) -> None:
        """Note that units wait no longer."""
        self._execute("done_waiting", units=json.dumps([[kind.value, item] for kind, item in units]))

    def requeue_all(self) -> None:
        """Let everything wait."""
        for name in ("refill_memories", "refill_summaries", "refill_turns"):
            self._execute(name)

    def add_uses(self, times: Mapping[str, int]) -> None:
        """Add to how often memories (by id) were used; those that are not there are left out."""
        for memory, count in times.items():
            self._execute("used", memory=memory, times=count)

    def _execute(self, name: str, **values: Any) -> sqlite3.Cursor:
        try:
            return self._connection.execute(load_statements()[name], values)
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be used: {error}", where=str(self._path), hint="run `kept check`") from error


@contextmanager
def open_queue(path: Path) -> Iterator[VectorQueue]:
    """The queue of a store file; everything done inside commits together. Raises StoreError."""
    try:
        connection = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error as error:
        raise StoreError(
            f"the store cannot be opened: {error}", where=str(path), hint="check the permissions and the disk"
        ) from error
    with closing(connection):
        connection.row_factory = sqlite3.Row
        try:
            for pragma in (f"busy_timeout = {_BUSY_MS}", "synchronous = EXTRA", "secure_delete = ON", "trusted_schema = OFF"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("BEGIN")
            yield VectorQueue(connection, path)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be used: {error}", where=str(path), hint="run `kept check`") from error
