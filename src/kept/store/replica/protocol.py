"""What a server of a store must do, whatever it is made of: keep owners' rows apart, number each change, tell what changed.

It runs no statement of kept's and knows no word of what it keeps: rows come from the SQLite store of one machine and go to those of
others. An owner's rows belong to whom the server says the connection is.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kept.core.value import dataclass

NOT_COMPARED = "not compared with the server"  # a finding about a store begins so where its server cannot be asked
Row = Sequence[Any]  # the values of a table's columns, in their order
Key = Sequence[Any]  # the values of its key


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table whose rows a server keeps: its columns with their kinds as SQLite declares them, and which of them are its key."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """How far an owner's rows are: ``store`` names them (empty: there are none yet), ``version`` counts their changes; who is at
    none from ``base`` on takes up all of them. ``outdated`` says that they are of an older format of the store.
    """

    store: str = ""
    version: int = 0
    base: int = 0
    outdated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedLine:
    """What an owner shares with a team: a memory's words, with the quote they rest on where the owner lets others read it."""

    owner: str
    id: str
    category: str
    content: str
    quote: str
    at: str


class Found(NamedTuple):
    """What a server found: a memory's row, or where ``team`` is named a line that its owner shares; what its words are worth, and
    its cosine, which is one of the second part of the vector alone where it has only that ``half``.
    """

    id: str
    body: str | None
    checksum: int | None
    team: str | None
    owner: str | None
    category: str | None
    content: str | None
    at: str | None
    words: float | None
    cosine: float | None
    half: bool | None


class Server(Protocol):
    """The rows of one owner. Each method raises StoreError, with nothing changed, where the server refuses or is gone."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection ended without :meth:`close`, as when the server was started anew."""
        ...

    def lock(self) -> Head:
        """Begin to write: nobody else writes this owner's rows before :meth:`commit` or :meth:`rollback`."""
        ...

    def look(self) -> Head:
        """Begin to read: everything until :meth:`rollback` is of one moment."""
        ...

    def changed(self, tables: Sequence[Table], since: int) -> Collection[str]:
        """The names of those tables of which rows changed or went after a version."""
        ...

    def rows(self, table: Table, since: int) -> Iterator[Row]:
        """The rows of a table that changed after a version, by their key, one at a time."""
        ...

    def gone(self, table: Table, since: int) -> Sequence[Key]:
        """The keys of the rows of a table that went after a version."""
        ...

    def put(self, table: Table, rows: Sequence[Row], version: int) -> None:
        """Have these rows, in the place of those of the same key."""
        ...

    def drop(self, table: Table, keys: Sequence[Key], version: int) -> None:
        """Have no rows of these keys."""
        ...

    def clear(self, *, shared: bool = True) -> None:
        """Have no rows of this owner at all, no head, and where ``shared`` says so nothing that is shared with a team."""
        ...

    def commit(self, head: Head) -> None:
        """Make what was written since :meth:`lock` hold, all of it or nothing, as this head."""
        ...

    def rollback(self) -> None:
        """Undo what was written since :meth:`lock`, and let others write. Raises nothing."""
        ...

    def close(self) -> None:
        """End the connection. Raises nothing."""
        ...
