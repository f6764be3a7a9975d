"""Files of a folder that were written since the last time, links and hidden ones aside. Knows no format."""

import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from kept.core.errors import SourceError
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, read_file_bytes


def read_changed_files(given: FeedRequest, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[tuple[Path, int, bytes]]:
    """The changed files with one of these suffixes (all where there are none), the oldest first, with mtime in ns and bytes.

    What cannot be read is counted. Raises SourceError where there is no such folder.
    """
    if not given.path.is_dir():
        raise SourceError("is no folder", where=given.place)
    for stamp, path in sorted(
        (stamp, path) for path, stamp in _changed_files(given.path, last_seen_mtime(given), suffixes, skipped)
    )[:MOST_ITEMS]:
        try:
            yield path, stamp, read_file_bytes(path)
        except SourceError:
            skipped["unreadable"] += 1


def last_seen_mtime(given: FeedRequest) -> int:
    """The mtime, in ns, of the newest file seen the last time; 0 the first time."""
    text = given.cursor.get("since", "0")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _changed_files(folder: Path, after: int, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[tuple[Path, int]]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        for name in sorted(names):
            path = Path(root) / name
            if (suffixes and path.suffix.lower() not in suffixes) or name.startswith("."):
                continue
            try:
                info = path.lstat()
            except OSError:
                skipped["unreadable"] += 1
                continue
            if path.is_symlink():
                skipped["links"] += 1
            elif info.st_mtime_ns > after:
                yield path, info.st_mtime_ns
