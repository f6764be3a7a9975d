"""Every kind of store there is: what a test of the store says holds for each, or it says why not (``test_both_stores.py``)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kept.store.sqlite import SqliteStore
from store_world import replica

KINDS = ("sqlite", "postgres")


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    """Which kind of store this is about."""
    return request.param


@pytest.fixture
def open_at(request, kind) -> Callable[[Path], AbstractContextManager[SqliteStore]]:
    """Opens a store of the kind at a path; at another path another one, with a server of an owner of its own."""
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
