"""Fixtures for every kind of store: a test of the store runs with each kind, or says why not (``test_both_stores.py``)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kept.store.sqlite import SqliteStore
from store_world import replica

KINDS = ("sqlite", "postgres")


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    """The kind of store that this test uses."""
    return request.param


@pytest.fixture
def open_at(request, kind) -> Callable[[Path], AbstractContextManager[SqliteStore]]:
    """A function that opens a store of the kind at a path; each path has its own store and, on a server, its own owner."""
    urls: dict[Path, str] = {}

    def opened(path: Path) -> SqliteStore:
        if kind == "sqlite":
            return SqliteStore(path)
        return replica(path, urls.setdefault(path, request.getfixturevalue("postgres")()))

    return opened


@pytest.fixture
def store(open_at, tmp_path: Path):
    """An empty store of the kind."""
    with open_at(tmp_path / "kept.db") as opened:
        yield opened
