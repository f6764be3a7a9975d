"""Opens a store: a local file, or a local replica of the rows on a server."""

from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.errors import StoreError
from kept.store.redaction import Redact, skip_store_redaction
from kept.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer


def open_store(path: Path, url: str = "", *, redact: Redact = skip_store_redaction) -> SqliteStore:
    """Open the store in a file. If ``url`` is given, the file is a replica of that server. Raises StoreError."""
    if not url:
        return SqliteStore(path, redact=redact)
    from kept.store.replica.store import ReplicaStore  # noqa: PLC0415 - few stores have a server

    return ReplicaStore(path, lambda: connect_server(url), redact=redact, alone=True)


def connect_server(url: str, *, create: bool = False) -> "PostgresServer":
    """Connect to the server at ``url``. If ``create``, create missing tables. Raises StoreError."""
    try:
        from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - needs the optional extra `postgres`
    except ImportError as error:
        raise StoreError("store.url needs psycopg, which is not installed", hint='pip install "kept[postgres]"') from error
    return PostgresServer(url, create=create)
