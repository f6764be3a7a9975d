"""The values that a store and its server exchange.

The server runs none of kept's queries and does not interpret the rows, which come from the SQLite store of one machine and go to
those of others. The role of the connection determines the owner.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kept.core.value import dataclass

NOT_COMPARED = "not compared with the server"  # prefix of a finding that says that the server could not be checked
Row = Sequence[Any]  # the values of a table's columns, in their order
Key = Sequence[Any]  # the values of its key


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table whose rows are on the server: its columns with their types in SQLite, and the names of its key columns."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The state of an owner's rows: ``store`` is their id (empty: there are none yet), ``version`` counts the changes.

    A replica with a version below ``base`` must fetch all rows. ``outdated`` means that they have an older format of the store.
    """

    store: str = ""
    version: int = 0
    base: int = 0
    outdated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedLine:
    """A memory that an owner shares with a team: its words, and its quote if the owner allows others to read it."""

    owner: str
    id: str
    category: str
    content: str
    quote: str
    at: str


class Found(NamedTuple):
    """A search result of the server: a memory's row or, if ``team`` is set, a shared line; with its score by words and its cosine.

    ``half`` means that the cosine covers only the second part of the vector, because the entry has no other part.
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
