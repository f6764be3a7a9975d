"""A private socket by which a running process answers what a hook has no time to compute, and how it is asked.

Both sides are the same user's, and neither believes the other: the peer's user is checked, a message is one line of JSON of bounded
length, everything has a deadline. An answer holds ids and numbers only. A socket that nobody listens to is only a file.

Imports next to nothing, for a hook waits for it: ``_socket`` and not ``socket``, whose import takes longer than a question.
"""

import json
import os
import sys
import time
from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, error
from _socket import socket as Socket  # noqa: N812 - it is a type
from collections.abc import Mapping

NAME = "warm.sock"
MOST = 32_768  # bytes of a message
_GREATEST = 100  # a number that an answer may hold
_PATH = 100  # bytes of a path that every system takes
_PEERS = 12  # bytes of what the kernel tells of a peer on Linux: process, user, group


def socket_path(state: str) -> str:
    """Where the socket lies below kept's state; empty where its path would be too long for one."""
    path = f"{state}/{NAME}"
    return path if len(os.fsencode(path)) <= _PATH else ""


def send_question(path: str, question: Mapping[str, object], until: float) -> Socket | None:
    """Ask, without waiting for the answer; None where nobody of this user can be asked now. ``until`` is on the monotonic clock."""
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
        pass  # nobody listens, or is too busy
    connection.close()
    return None


def read_answer(connection: Socket | None, until: float) -> dict[str, float]:
    """The answer: numbers by id. Empty where it is late, too long or none."""
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
    """One line, without its end. Raises OSError where it does not come in time, is too long or breaks off."""
    found = b""
    while not found.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(found) > MOST:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(MOST)
        if not part:
            raise error("the other side has gone")
        found += part
    return found[:-1]


def peer_user(connection: Socket) -> int | None:
    """The user at the other end, as the kernel says; None where it does not."""
    if sys.platform == "linux":
        from _socket import SO_PEERCRED  # noqa: PLC0415 - only this system has it

        return int.from_bytes(connection.getsockopt(SOL_SOCKET, SO_PEERCRED, _PEERS)[4:8], sys.byteorder)
    if sys.platform == "darwin":  # LOCAL_PEERCRED of SOL_LOCAL: a version, then the user
        return int.from_bytes(connection.getsockopt(0, 1, 76)[4:8], sys.byteorder)
    return None


__all__ = ["MOST", "NAME", "peer_user", "read_answer", "read_line", "send_question", "socket_path"]
