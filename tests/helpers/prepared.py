"""Homes that are made once and restored for each test."""

import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.resources import files
from io import StringIO
from pathlib import Path

import pytest

from clock import Clock
from kept.cli import main
from kept.paths import find_paths
from kept.workspace import open_workspace

SAMPLE = Path(str(files("kept.sample") / "projects"))


class Prepared:
    """A home filled by ``make``, with HOME and KEPT_HOME set to it."""

    def __init__(self, factory: pytest.TempPathFactory, make: Callable[[Path], object]) -> None:
        self._place, self._before = factory.mktemp("home"), factory.mktemp("before")
        with pytest.MonkeyPatch.context() as patch:
            make(self._live(patch))
        shutil.copytree(self._place, self._before, symlinks=True, dirs_exist_ok=True)

    def again(self, patch: pytest.MonkeyPatch) -> Path:
        """Restore the home in the same place, and set HOME and KEPT_HOME with ``patch``."""
        shutil.rmtree(self._place)
        shutil.copytree(self._before, self._place, symlinks=True)
        return self._live(patch)

    def _live(self, patch: pytest.MonkeyPatch) -> Path:
        for name in ("HOME", "KEPT_HOME"):
            patch.setenv(name, str(self._place))
        return self._place


def open_at(home: Path):
    """Open a workspace for a home, outside of a test."""
    env = {"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
    return open_workspace(find_paths(str(home), env), zone="Europe/Berlin", clock=Clock(), env=env)


def do(*arguments: object) -> None:
    """Call a command that must succeed."""
    with pytest.raises(SystemExit) as ended, redirect_stdout(StringIO()):
        main([str(each) for each in arguments])
    assert ended.value.code == 0
