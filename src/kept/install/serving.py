"""What a process that serves the page leaves below the state while it runs: its port and a lock. Its key stays in its memory: a
file could be read by any agent of the same user, whom the key would let approve.

Knows nothing of HTTP.
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
    """The port at which another process serves the page for this home; None where none does, or where it says nothing readable."""
    if not _lock_path(home).exists():
        return None
    with suppress(BusyError), files.hold_lock(_lock_path(home)):
        return None
    with suppress(KeptError, ValueError):
        return int(files.read_file(_port_path(home), at_most=1_000).data.decode("ascii"))
    return None


@contextmanager
def announce_page(home: Paths, port: int) -> Iterator[str]:
    """A new key for as long as the body runs; the port stands in ``web.port``. Raises BusyError where a page is served already."""
    with files.hold_lock(_lock_path(home)):
        _write_private(home, _port_path(home), f"{port}\n")
        try:
            yield secrets.token_urlsafe(_KEY_BYTES)
        finally:
            with suppress(KeptError):
                files.delete_if_unchanged(_port_path(home), expect=files.read_file(_port_path(home)).stamp, root=home.state)


def load_mcp_key(home: Paths) -> str:
    """The key of ``kept mcp --http``, made once in ``mcp.key`` (0600), for the settings of clients. Raises KeptError."""
    path = home.state / "mcp.key"
    key = files.read_file(path, at_most=1_000).data.decode("ascii", "replace").strip()
    if not key:
        key = secrets.token_urlsafe(_KEY_BYTES)
        _write_private(home, path, f"{key}\n")
    return key


def _write_private(home: Paths, path: Path, text: str) -> None:
    """Write a file anew, so that what was there lends it neither its mode nor its links."""
    files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=home.state)
    files.write_if_unchanged(path, text.encode(), expect=files.MISSING, root=home.state)


def _lock_path(home: Paths) -> Path:
    return home.state / "web.lock"


def _port_path(home: Paths) -> Path:
    return home.state / "web.port"
