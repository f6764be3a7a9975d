"""Open a store: a file of this machine, or one whose rows lie on a server too."""

from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.errors import StoreError
from kept.store.door import Redact, skip_store_redaction
from kept.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer


def open_store(path: Path, url: str = "", *, redact: Redact = skip_store_redaction) -> SqliteStore:
    """The store in a file, with the server of a URL where one is given. Raises StoreError."""
    if not url:
        return SqliteStore(path, redact=redact)
    from kept.store.replica.store import ReplicaStore  # noqa: PLC0415 - few stores have a server

    return ReplicaStore(path, lambda: connect_server(url), redact=redact, alone=True)


def connect_server(url: str, *, create: bool = False) -> "PostgresServer":
    """A connection to the server of a URL; ``create`` makes its tables where there are none. Raises StoreError."""
    try:
        from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StoreError("store.url needs psycopg, which is not installed", hint='pip install "kept[postgres]"') from error
    return PostgresServer(url, create=create)
