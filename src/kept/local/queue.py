"""Small files that hooks append to and the next run takes up: one line at a time, whole, bounded, never waited for.

Imports next to nothing, for hooks wait for it. Plain ``os`` calls: pathlib takes longer to import than a line takes to write.
"""

import os
import time
from contextlib import suppress

_LINE = 3_500  # bytes of a line: below what a single append to a file keeps whole on every system
_OLD = 7 * 86_400.0  # seconds after which what was noted of a session goes
_LOOKED = 500


def append(path: str, line: str, most: int) -> bool:
    """Add a line to a file (0600, made with its folder where it is missing); False where the file has ``most`` bytes already.

    Raises OSError.
    """
    raw = line.replace("\n", " ").encode("utf-8", "replace")[:_LINE] + b"\n"
    try:
        handle = _opened(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - see above
        handle = _opened(path)
    try:
        if os.fstat(handle).st_size + len(raw) > most:
            return False
        os.write(handle, raw)
    finally:
        os.close(handle)
    return True


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def lines(path: str, most: int = 1_000_000) -> list[str]:
    """The whole lines of a file, at most so many bytes of it; empty where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        raw = os.read(handle, most)
    finally:
        os.close(handle)
    return raw.decode("utf-8", "replace").split("\n")[:-1]


def take(path: str) -> list[str]:
    """The lines of a file, which is gone afterwards: what is appended meanwhile goes into a new one. Raises OSError."""
    own = f"{path}.{os.getpid()}"
    try:
        os.rename(path, own)  # noqa: PTH104 - see above
    except FileNotFoundError:
        return []
    found = lines(own)
    os.unlink(own)  # noqa: PTH108 - see above
    return found


def drop(path: str) -> None:
    """Forget a file, where it is there."""
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - see above


def drop_old(folder: str, ending: str) -> None:
    """Forget files of a folder that end so and were not written to for a week; looks at 500 at most."""
    with suppress(OSError), os.scandir(folder) as entries:  # see above
        for _, entry in zip(range(_LOOKED), entries, strict=False):
            if entry.name.endswith(ending) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD:
                drop(entry.path)
