"""Homes to hurt, prepared once for all tests."""

from collections.abc import Callable
from functools import cache

import pytest
from commands import CASE, World, world


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], World]:
    """The world of a writing command, by its name."""

    @cache
    def of(name: str) -> World:
        return world(CASE[name], tmp_path_factory.mktemp("world"))

    return of
