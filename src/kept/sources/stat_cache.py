"""Tell from its inode, size and times that a file has not changed since it was read to the end, so that it need not be opened."""

import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from time import time_ns

from kept import __version__
from kept.core.digest import digest
from kept.sources.databases import BESIDE
from kept.sources.registry import PLUGINS, SOURCES

# Suffixes of files with all of their content, and of databases, part of which may be in files beside them. A third-party reader may
# depend on anything, so its files are always opened.
_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".markdown", ".zst", ".zip"})
_DATABASES = frozenset({".db", ".vscdb", ".sqlite", ".sqlite3"})
_FOLLOWED, _FILED = "+", "/"
_SETTLED = 2_000_000_000  # nanoseconds; on the coarsest clocks a file may change within two seconds and look the same


@cache
def readers_version() -> str:
    """A hash of kept's version and the set of formats: with another one, a file may be read differently."""
    return blake2b("\0".join((__version__, *(source.name for source in SOURCES))).encode(), digest_size=6).hexdigest()


def make_stat_entry(path: Path | str, source: str, author: str = "") -> str:
    """The state of a file, with the time of this call; empty if the state says nothing about its content.

    ``author`` is what :func:`followed_as` returns, if the file is below a folder that the person named.
    """
    plain = os.fspath(path)
    suffix = plain[plain.rfind(".") :].lower()  # called for every file of a run, where Path takes as long as lstat
    try:
        info = os.lstat(plain)
        size, mtime, ctime = info.st_size, info.st_mtime_ns, info.st_ctime_ns
        for name in BESIDE if suffix in _DATABASES else ():
            with suppress(FileNotFoundError):
                beside = os.lstat(plain + name)
                size, mtime, ctime = size + beside.st_size, max(mtime, beside.st_mtime_ns), max(ctime, beside.st_ctime_ns)
    except OSError:
        return ""
    if not stat.S_ISREG(info.st_mode) or (suffix not in _SUFFIXES and suffix not in _DATABASES) or source in PLUGINS:
        return ""
    return f"{readers_version()}{author} {info.st_ino} {size} {mtime} {ctime} {time_ns()}"


def followed_as(author: str, project: str) -> str:
    """The part of an entry that says what the person set for a folder: the author of unsigned notes, and the project."""
    return f"{_FOLLOWED}{author}{_FILED}{digest(project, size=3)}" if project else f"{_FOLLOWED}{author}"


def is_followed_anew(before: str, now: str) -> bool:
    """True if the person named the folder of a file, or its project, after an entry of the file was made."""
    old, new = before.partition(" ")[0], now.partition(" ")[0]
    return (_FOLLOWED in new) > (_FOLLOWED in old) or new.partition(_FILED)[2] not in ("", old.partition(_FILED)[2])


def is_unchanged(before: str, now: str) -> bool:
    """True if a file certainly has not changed between two entries: they are equal, and the first was taken more than two seconds
    after the last change, because a later change within that time may leave no trace.
    """
    if not before or not now:
        return False
    state, _, moment = before.rpartition(" ")
    if state != now.rpartition(" ")[0]:
        return False
    _, mtime, ctime = state.rsplit(" ", 2)
    return int(moment) - max(int(mtime), int(ctime)) > _SETTLED
