"""``kept mcp --http`` in a separate process."""

import socket
import subprocess
import sys
from contextlib import contextmanager

from waiting import until

_TRIES = 10


@contextmanager
def serving():
    """Start a server; yields its port once it answers. If another process takes the chosen port first, another one is tried."""
    for _ in range(_TRIES):
        port = _free_port()
        process = subprocess.Popen(
            [sys.executable, "-m", "kept", "mcp", "--http", "--port", str(port)],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            until(lambda ended=process.poll, port=port: ended() is not None or _is_taken(port))
            if process.poll() is None:
                yield port
                return
        finally:
            process.terminate()
            process.wait()
    raise AssertionError("it does not begin to serve")


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _is_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
