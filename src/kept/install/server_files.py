"""The port and lock files in the state folder of a process that serves the web page.

The page's key stays in the process's memory: any agent of the same user could read a file and approve memories with the key. This
module knows nothing of HTTP.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kept.core.errors import BusyError, KeptError
from kept.local import files
from kept.paths import Paths

_KEY_BYTES = 32


def find_running_page(home: Paths) -> int | None:
    """The port at which another process serves the page for this home; None if none does, or if its port cannot be read."""
    if not _lock_path(home).exists():
        return None
    with suppress(BusyError), files.hold_lock(_lock_path(home)):
        return None
    with suppress(KeptError, ValueError):
        return int(files.read_file(_port_path(home), at_most=1_000).data.decode("ascii"))
    return None


@contextmanager
def announce_page(home: Paths, port: int) -> Iterator[str]:
    """Hold the page's lock and write the port to ``web.port`` during the block; yields a new key.

    Raises BusyError if the page is being served already.
    """
    with files.hold_lock(_lock_path(home)):
        _write_private(home, _port_path(home), f"{port}\n")
        try:
            yield secrets.token_urlsafe(_KEY_BYTES)
        finally:
            with suppress(KeptError):
                files.delete_if_unchanged(_port_path(home), expect=files.read_file(_port_path(home)).stamp, root=home.state)


def load_mcp_key(home: Paths) -> str:
    """The key of ``kept mcp --http`` for clients' settings; created once, in ``mcp.key`` (mode 0600). Raises KeptError."""
    path = home.state / "mcp.key"
    key = files.read_file(path, at_most=1_000).data.decode("ascii", "replace").strip()
    if not key:
        key = secrets.token_urlsafe(_KEY_BYTES)
        _write_private(home, path, f"{key}\n")
    return key


def _write_private(home: Paths, path: Path, text: str) -> None:
    """Replace a file with a new one, which does not inherit the old one's mode or links."""
    files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=home.state)
    files.write_if_unchanged(path, text.encode(), expect=files.MISSING, root=home.state)


def _lock_path(home: Paths) -> Path:
    return home.state / "web.lock"


def _port_path(home: Paths) -> Path:
    return home.state / "web.port"
