"""What hooks leave for the next run, and what they note of a session: where it lies and what its lines are.

Imports next to nothing, for hooks wait for it.
"""

import os

from kept.local import queue

_QUEUE_BYTES = 256_000
_USES_BYTES = 1_000_000
_TOLD_BYTES = 64_000
_LOG_BYTES = 128_000
_TOLD = ".told"
_NAME = 80


def state_of(root: str) -> str:
    """The folder of kept's own state below a home."""
    return os.path.join(root, ".local", "share", "kept")  # noqa: PTH118 - pathlib takes longer to import than all of this takes


def place(state: str, name: str) -> str:
    """Where something that hooks leave lies."""
    return os.path.join(state, "hooks", name)  # noqa: PTH118 - as above


def enqueue(state: str, path: str, at: str) -> None:
    """Note that a transcript has something new. Raises OSError."""
    queue.append(place(state, "queue"), f"{at}\t{path}", _QUEUE_BYTES)


def queued(state: str) -> list[str]:
    """The transcripts that hooks named since the last run, each once."""
    return list(dict.fromkeys(line.partition("\t")[2] for line in queue.take(place(state, "queue"))))


def used(state: str, ids: list[str]) -> None:
    """Note that memories were of use; the next run counts them (:mod:`kept.recall.indexing`). Raises OSError."""
    if ids:
        queue.append(os.path.join(state, "used.log"), " ".join(ids), _USES_BYTES)  # noqa: PTH118 - as above


def told(state: str, session: str) -> frozenset[str] | None:
    """The keys of what was shown in a session; None where nothing was noted of it."""
    found = queue.lines(_session(state, session))
    return frozenset(key for line in found for key in line.split()) if found else None


def tell(state: str, session: str, keys: list[str]) -> None:
    """Note what was shown in a session. Raises OSError."""
    queue.append(_session(state, session), " ".join(["-", *keys]), _TOLD_BYTES)


def start(state: str, session: str) -> None:
    """Nothing was shown in a session so far; what was noted of sessions a week ago goes."""
    queue.drop(_session(state, session))
    queue.drop_old(place(state, ""), _TOLD)


def session_name(session: str) -> str:
    """The name of the files of a session."""
    return "".join(char if char.isascii() and (char.isalnum() or char == "-") else "_" for char in session[:_NAME])


def _session(state: str, session: str) -> str:
    return place(state, session_name(session) + _TOLD)


def complain(state: str, at: str, event: str, what: str) -> None:
    """Write a line into the log of the hooks; the older half goes when it is full. Raises OSError."""
    path = place(state, "log")
    if not queue.append(path, f"{at} {event}: {what}", _LOG_BYTES):
        kept = queue.lines(path)
        queue.drop(path)
        for line in kept[len(kept) // 2 :]:
            queue.append(path, line, _LOG_BYTES)
        queue.append(path, f"{at} {event}: {what}", _LOG_BYTES)


def complaints(state: str) -> list[str]:
    """The lines of that log, oldest first."""
    return queue.lines(place(state, "log"))
