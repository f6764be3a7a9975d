"""A workspace in a home of the test's own, and the bundled sample as its transcripts."""

import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest

from kept.paths import find_paths
from kept.workspace import open_workspace


class Clock:
    """A clock that moves one second at each look."""

    def __init__(self) -> None:
        self.parse_moment = datetime(2026, 10, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.parse_moment += timedelta(seconds=1)
        return self.parse_moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transcripts(home: Path) -> Path:
    """The sample's transcripts where Claude Code keeps its own."""
    place = home / ".claude" / "projects"
    shutil.copytree(Path(str(files("kept.sample") / "projects")), place)
    return place


@pytest.fixture
def desk_at(clock: Clock):
    """Opens a workspace at a home: ``with desk_at(folder) as workspace``."""

    @contextmanager
    def at(folder: Path, **options):
        env = {"HOME": str(folder), "KEPT_EMBEDDINGS": "hashing", **options.pop("variables", {})}
        with open_workspace(
            find_paths(str(folder), env), zone=options.pop("zone", "Europe/Berlin"), clock=clock, env=env, **options
        ) as workspace:
            yield workspace

    return at
