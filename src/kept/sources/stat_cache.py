"""Skip files that have not changed since they were read to the end. Inode, size and times show that without opening them."""

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

# Suffixes of files with all of their content in one file, and of databases, which may have content in files beside them. A
# third-party reader may depend on anything, so its files are always opened.
_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".markdown", ".zst", ".zip"})
_DATABASES = frozenset({".db", ".vscdb", ".sqlite", ".sqlite3"})
_FOLLOWED, _FILED = "+", "/"
_SETTLED = 2_000_000_000  # nanoseconds; on a coarse clock, a file may change within two seconds without a change of its times


@cache
def readers_version() -> str:
    """A hash of kept's version and the set of formats. If it changes, files may be read differently."""
    return blake2b("\0".join((__version__, *(source.name for source in SOURCES))).encode(), digest_size=6).hexdigest()


def make_stat_entry(path: Path | str, source: str, author: str = "") -> str:
    """The state of a file and the current time, as one text. Empty if the state says nothing about the content.

    If the file is below a folder that the person named, ``author`` is the result of :func:`folder_settings_entry`.
    """
    plain = os.fspath(path)
    suffix = plain[plain.rfind(".") :].lower()  # this runs for every file, and Path takes as long as lstat
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


def size_when_read(entry: str) -> int:
    """The size of a file in its stat entry; 0 if the entry has none."""
    return int(entry.rsplit(" ", 4)[1]) if entry else 0


def folder_settings_entry(author: str, project: str) -> str:
    """The part of an entry with the person's settings for a folder: the author of unsigned notes, and the project."""
    return f"{_FOLLOWED}{author}{_FILED}{digest(project, size=3)}" if project else f"{_FOLLOWED}{author}"


def has_new_folder_settings(before: str, now: str) -> bool:
    """True if the person changed the settings of the file's folder after the entry ``before`` was made."""
    old, new = before.partition(" ")[0], now.partition(" ")[0]
    return (_FOLLOWED in new) > (_FOLLOWED in old) or new.partition(_FILED)[2] not in ("", old.partition(_FILED)[2])


def is_unchanged(before: str, now: str) -> bool:
    """True if a file certainly did not change between two entries: they are equal, and the first was made more than two seconds
    after the last change. A second change within two seconds of the first may leave the times as they are.
    """
    if not before or not now:
        return False
    state, _, moment = before.rpartition(" ")
    if state != now.rpartition(" ")[0]:
        return False
    _, mtime, ctime = state.rsplit(" ", 2)
    return int(moment) - max(int(mtime), int(ctime)) > _SETTLED
