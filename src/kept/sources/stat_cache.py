"""What a file looks like from outside, so that one that did not change since it was read to its end need not be opened again.

Knows names, sizes and times; opens nothing.
"""

import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from time import time_ns

from kept.sources.databases import BESIDE
from kept.sources.registry import PLUGINS, SOURCES

# Formats whose files tell all by themselves, and databases, of which a part may stand in files beside them. What a third party's
# reader looks at is its own affair: that is always opened.
_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".markdown", ".zst", ".zip"})
_DATABASES = frozenset({".db", ".vscdb", ".sqlite", ".sqlite3"})
FOLLOWED = "+"
_SETTLED = 2_000_000_000  # nanoseconds: within two seconds a file may change and look the same, on the coarsest of clocks


@cache
def readers_version() -> str:
    """What reads here: another version of kept, or another set of formats, may read what this one did not."""
    return blake2b("\0".join((version("kept"), *(source.name for source in SOURCES))).encode(), digest_size=6).hexdigest()


def make_stat_entry(path: Path | str, source: str, author: str = "") -> str:
    """What a file looks like now, with the moment of looking; empty where that says nothing about what it holds.

    ``author`` is whose words a person said unsigned notes are, after :data:`FOLLOWED` where the file lies below a folder they
    named.
    """
    plain = os.fspath(path)
    suffix = os.path.splitext(plain)[1].lower()  # noqa: PTH122 - asked of every file of a run, where paths take as long as looking
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


def is_of_followed_file(entry: str) -> bool:
    """Whether an entry is of a file that lay below a folder which the person had named."""
    return FOLLOWED in entry


def is_unchanged(before: str, now: str) -> bool:
    """Whether a file surely did not change between two looks: it looks the same, and the first was no sooner than two seconds after
    its last change, for a change that follows another at once may leave no trace.
    """
    if not before or not now:
        return False
    *told, moment = before.split(" ")
    return told == now.split(" ")[:-1] and int(moment) - max(int(told[3]), int(told[4])) > _SETTLED
