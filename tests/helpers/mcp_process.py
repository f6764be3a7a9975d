"""``kept mcp --http`` as a process of its own."""

import socket
import subprocess
import sys
from contextlib import contextmanager

from waiting import until

_TRIES = 10


@contextmanager
def serving():
    """The port of a server that answers. Somebody else may take a port that was free a moment ago: then another one is tried."""
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
