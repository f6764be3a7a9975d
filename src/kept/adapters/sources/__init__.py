"""Every transcript format kept reads, and finding the files that hold them.

Knows the list of formats; each format is a module of its own. Opens nothing but regular files and follows no link.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kept.adapters.sources.base import Source
from kept.adapters.sources.formats import SOURCES
from kept.adapters.sources.journal import Journal
from kept.adapters.sources.records import HEAD_BYTES, open_regular, wide_encoding
from kept.adapters.sources.vault import SUFFIXES
from kept.model.errors import SourceError


class Skip(StrEnum):
    """Why a path is not read."""

    LINK = "symbolic link"
    NOT_A_FILE = "not a regular file"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    SPARSE = "sparse"
    UNKNOWN_FORMAT = "unknown format"
    NAME_NOT_UTF8 = "file name is not UTF-8"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A path that is not read, and why."""

    path: Path
    reason: Skip


def find_files(root: Path) -> Iterator[Path]:
    """Every path at or below ``root`` that is no folder, sorted by name within each folder; nothing is opened but folders.

    The root may be a link. Below it links are given but never followed, so nothing outside is reached and no loop entered. A
    folder that cannot be listed is given itself. A root that does not exist gives nothing. :func:`examine` tells what a path is.
    """
    waiting = [root.resolve()]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as listing:
                entries = sorted(((entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing), reverse=True)
        except FileNotFoundError:
            continue
        except OSError:
            yield path
            continue
        # Files of a folder come before its folders; the stack holds the last one first.
        yield from (path / name for name, is_folder in reversed(entries) if not is_folder)
        waiting += [path / name for name, is_folder in entries if is_folder]


def examine(path: Path, *, sources: Sequence[Source] = SOURCES, named: bool = False) -> Source | Skipped:
    """The format of a file, or the reason why it is not read. Opens regular files only, and reads at most 64 KB of them.

    ``named`` tells that a person named this very file: Markdown that no format claims is then read as a journal.
    """
    reason = _obstacle(path)
    if reason is not None:
        return Skipped(path=path, reason=reason)
    try:
        with open_regular(path) as file:
            head = file.read(HEAD_BYTES)
    except (OSError, SourceError):
        return Skipped(path=path, reason=Skip.UNREADABLE)
    found = next((source for source in sources if source.claims(path, head)), None)
    if found is None and named and path.suffix.lower() in SUFFIXES:
        found = next((source for source in sources if isinstance(source, Journal)), None)
    return found or Skipped(path=path, reason=Skip.UNKNOWN_FORMAT)


# A file this much larger than what it occupies holds nothing but zeros.
_SPARSE_BYTES = 64 * 2**20
_SPARSE_FACTOR = 16
_BLOCK = 512


def _obstacle(path: Path) -> Skip | None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return Skip.NAME_NOT_UTF8
    try:
        info = path.lstat()
    except (OSError, ValueError):
        return Skip.UNREADABLE
    if stat.S_ISLNK(info.st_mode):
        return Skip.LINK
    if stat.S_ISDIR(info.st_mode) and not os.access(path, os.R_OK | os.X_OK):
        return Skip.UNREADABLE
    if not stat.S_ISREG(info.st_mode):
        return Skip.NOT_A_FILE
    if info.st_size == 0:
        return Skip.EMPTY
    if info.st_size > _SPARSE_BYTES and info.st_blocks * _BLOCK * _SPARSE_FACTOR < info.st_size:
        return Skip.SPARSE
    return None


def encoding_of(path: Path) -> str:
    """The name of a two- or four-byte encoding that a file opens in, which no source reads; empty for any other file."""
    try:
        with open_regular(path) as file:
            return wide_encoding(file.read(4))
    except (OSError, SourceError):
        return ""
