"""The protocol of the embedding server, and the client with which hooks ask it.

The server is a running process that answers over a private socket, because a hook has no time to compute embeddings.

A question that names a session asks for turns of other sessions in one scope. A question without a session asks for memories.

Both processes belong to the same user, but neither trusts the other. Each checks the user of its peer. A message is one line of
JSON of limited length. Every read and write has a deadline. An answer contains only ids and numbers.

A hook waits for this module, so it imports very little. It uses ``_socket``, because ``socket`` takes longer to import than the
server takes to answer.
"""

import json
import os
import sys
import time
from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, error
from _socket import socket as Socket  # noqa: N812 - it is a type
from collections.abc import Callable, Mapping

from kept.recall.nearby import NearnessLookup, NearnessReader

NAME = "warm.sock"
MOST = 32_768  # maximum length of a message in bytes
_GREATEST = 100  # maximum value of a number in an answer
_PATH = 100  # maximum length in bytes of a socket path that every system accepts
_PEERS = 12  # bytes of a peer's credentials on Linux: process, user, group


def socket_path(state: str) -> str:
    """The path of the socket in the state folder. Empty if the path would be too long for a socket."""
    path = f"{state}/{NAME}"
    return path if len(os.fsencode(path)) <= _PATH else ""


def send_question(path: str, question: Mapping[str, object], until: float) -> Socket | None:
    """Send a question and return the connection. Returns None if no server of this user accepts it.

    ``until`` is a time of the monotonic clock.
    """
    raw = json.dumps(question).encode() + b"\n"
    if not path or len(raw) > MOST:
        return None
    connection = Socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(max(0.001, until - time.monotonic()))
        connection.connect(path)
        if peer_user(connection) == os.geteuid():
            connection.sendall(raw)
            return connection
    except OSError:
        pass  # no server is listening, or it is too busy
    connection.close()
    return None


def read_answer(connection: Socket | None, until: float) -> dict[str, float]:
    """Read the answer, which maps ids to numbers. Empty if it is late, too long or invalid, or if there is no connection."""
    if connection is None:
        return {}
    try:
        body = json.loads(read_line(connection, until))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        connection.close()
    if not isinstance(body, dict):
        return {}
    return {key: float(each) for key, each in body.items() if isinstance(each, int | float) and 0.0 <= each <= _GREATEST}


def read_line(connection: Socket, until: float) -> bytes:
    """Read one line, without its end. Raises OSError if it is late, too long or incomplete."""
    found = b""
    while not found.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(found) > MOST:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(MOST)
        if not part:
            raise error("the peer has closed the connection")
        found += part
    return found[:-1]


def peer_user(connection: Socket) -> int | None:
    """The user id of the other end according to the kernel; None on a system that does not provide it."""
    if sys.platform == "linux":
        from _socket import SO_PEERCRED  # noqa: PLC0415 - only this system has it

        return int.from_bytes(connection.getsockopt(SOL_SOCKET, SO_PEERCRED, _PEERS)[4:8], sys.byteorder)
    if sys.platform == "darwin":  # LOCAL_PEERCRED of SOL_LOCAL: a version, then the user
        return int.from_bytes(connection.getsockopt(0, 1, 76)[4:8], sys.byteorder)
    return None


_LONGEST = 600  # only the end of a message is sent, because 2,000 characters take ten times as long as a short question


def ask_for_memories(state: str, message: str, seconds: float) -> NearnessLookup:
    """Return a lookup that asks the embedding server for memories near the message. It finds nothing if no answer comes in time."""

    def start(scopes: list[str]) -> NearnessReader:
        until = time.monotonic() + seconds
        connection = send_question(socket_path(state), {"message": message[-_LONGEST:], "scopes": scopes}, until)

        return lambda: read_answer(connection, until)

    return start


def ask_for_turns(state: str, message: str, session: str, seconds: float) -> Callable[[str], Mapping[str, float]]:
    """Return a lookup that asks the embedding server for turns of other sessions. It finds nothing if no answer comes in time."""

    def ask_server(scope: str) -> Mapping[str, float]:
        until = time.monotonic() + seconds
        question = {"message": message[-_LONGEST:], "scopes": [scope], "session": session}
        return read_answer(send_question(socket_path(state), question, until), until)

    return ask_server
