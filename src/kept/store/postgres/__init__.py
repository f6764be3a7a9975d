"""The PostgreSQL server of a shared store, and the values that a store exchanges with it.

The server runs none of kept's queries and does not interpret rows. Rows come from the SQLite store of one machine and go to those
of other machines. The role of the connection determines the owner.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kept.core.errors import StoreError
from kept.core.value import dataclass

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer

NOT_COMPARED = "not compared with the server"  # prefix of a finding; the server could not be checked
Row = Sequence[Any]  # the values of a table's columns, in their order
Key = Sequence[Any]  # the values of a row's key


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table whose rows are on the server: its columns with their SQLite types, and the names of its key columns."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The state of an owner's rows. ``store`` is their id, or empty if there are no rows yet. ``version`` counts the changes.

    A replica with a version below ``base`` must fetch all rows. ``outdated`` means that the rows have an older format of the store.
    """

    store: str = ""
    version: int = 0
    base: int = 0
    outdated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedLine:
    """A memory that an owner shares with a team: its words, and its quote if the owner lets others read it."""

    owner: str
    id: str
    category: str
    content: str
    quote: str
    at: str


class Found(NamedTuple):
    """A search result of the server, with its score by words and its cosine. It is a memory's row or, if ``team`` is set, a shared
    line.

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


def connect_server(url: str, *, create: bool = False) -> "PostgresServer":
    """Connect to the server at ``url``. If ``create``, create missing tables. Raises StoreError."""
    try:
        from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - needs the optional extra `postgres`
    except ImportError as error:
        raise StoreError("store.url needs psycopg, which is not installed", hint='pip install "kept[postgres]"') from error
    return PostgresServer(url, create=create)
