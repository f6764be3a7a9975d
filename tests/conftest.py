"""Fixtures that every test may ask for."""

import os
import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Hear Ctrl-C, and let the commands that tests start hear it: what a shell starts in the background is deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["KEPT_EMBEDDINGS"] = "hashing"  # no test loads the real model unasked, nor does a command it starts


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared samples; the test is skipped where it is absent."""
    given = os.environ.get("KEPT_SHARED")
    folder = Path(given) if given else Path(__file__).parents[1] / ".." / "shared"
    if not folder.is_dir():
        pytest.skip("the shared samples are not here")
    return folder.resolve()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the test's own, as HOME and KEPT_HOME."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEPT_HOME", str(tmp_path))
    return tmp_path
