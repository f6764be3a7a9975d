"""A local server that implements the vendors' protocols."""

import os
import shutil
from collections.abc import Iterator

import pytest

from loopback import Loopback


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is set up if no client is installed; a test skips itself if its own client is not."""
    folders = (os.environ.get("KEPT_CLI"), None)
    installed = any(shutil.which(name, path=folder) for name in ("claude", "codex") for folder in folders)
    if item.get_closest_marker("needs_cli") and not installed:
        pytest.skip("neither claude nor codex is installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Loopback()
    yield made
    made.close()
