"""Read the notes or saved web pages in a folder that changed since the last reading.

Symbolic links and hidden files are skipped.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from functools import partial
from html import unescape
from pathlib import Path

from kept.core.errors import SourceError
from kept.core.pattern import Pattern
from kept.journal.entry import FeedItem, entry_body
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, html_to_text, read_file_bytes


def read_changed_files(request: FeedRequest, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[tuple[Path, int, bytes]]:
    """Yield the path, mtime (ns) and bytes of each file that changed since the last reading, oldest first.

    Only files with one of ``suffixes`` are read, or all if there are none. Unreadable files are counted in ``skipped``. Raises
    SourceError if the folder does not exist.
    """
    if not request.path.is_dir():
        raise SourceError("is no folder", where=request.place)
    for stamp, path in sorted(_changed_files(request.path, request.since, suffixes, skipped))[:MOST_ITEMS]:
        try:
            yield path, stamp, read_file_bytes(path)
        except SourceError:
            skipped["unreadable"] += 1


def _changed_files(folder: Path, after: int, suffixes: Collection[str], skipped: Counter[str]) -> Iterator[tuple[int, Path]]:
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
                yield info.st_mtime_ns, path


_NOTE_SUFFIXES = frozenset({".md", ".markdown", ".txt", ".org"})
_NOTE_CHARS = 40_000  # maximum characters read of a note
_GENERATED = b"\ngenerated_by: kept"


def _read_items(request: FeedRequest, suffixes: Collection[str], make: Callable[[Path, int, bytes], FeedItem | str]) -> FeedResult:
    """Convert each changed file to an item. If ``make`` returns a reason instead of an item, the file is skipped and counted."""
    skipped, items, newest = Counter[str](), list[FeedItem](), request.since
    for path, stamp, data in read_changed_files(request, suffixes, skipped):
        newest = max(newest, stamp)
        made = make(path, stamp, data)
        if isinstance(made, str):
            skipped[made] += 1
        else:
            items.append(made)
    return FeedResult(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)


def read_notes(request: FeedRequest) -> FeedResult:
    """Read the changed notes, except those that kept wrote. Raises SourceError if the folder does not exist."""
    return _read_items(request, _NOTE_SUFFIXES, partial(_note_item, request))


def _note_item(request: FeedRequest, path: Path, stamp: int, data: bytes) -> FeedItem | str:
    if data.startswith(b"---") and _GENERATED in data[:4_096]:
        return "kept's own"
    if b"\0" in data[:4_096]:
        return "not text"
    text = "\n".join(data.decode("utf-8", "replace")[:_NOTE_CHARS].splitlines())
    lines = [line for line in entry_body(text).split("\n") if line.strip()]
    heading = next((line.lstrip("# ") for line in lines[:3] if line.startswith("#")), path.stem)
    rest = " ".join(line for line in lines if not line.startswith("#"))
    return _file_item(request, path, stamp, heading, rest)


def _file_item(request: FeedRequest, path: Path, stamp: int, title: str, text: str) -> FeedItem:
    key = request.item_key(str(path.relative_to(request.path)), str(stamp))
    return request.make_item(key, title, text=text, at=datetime.fromtimestamp(stamp / 10**9, UTC))


_PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_TITLE = Pattern(r"(?is)<title[^>]*>(.{0,1000}?)</title")
_BODY = Pattern(r"(?i)<(?:article|main|body)\b")
_PAGE_CHARS = 2_000_000  # maximum characters read of a page


def read_pages(request: FeedRequest) -> FeedResult:
    """Read the changed web pages. Raises SourceError if the folder does not exist."""
    return _read_items(request, _PAGE_SUFFIXES, partial(_page_item, request))


def _page_item(request: FeedRequest, path: Path, stamp: int, data: bytes) -> FeedItem | str:
    text = data.decode("utf-8", "replace")[:_PAGE_CHARS]
    if "\0" in text[:4_096] or "<" not in text:
        return "no web page"
    named, main = _TITLE.search(text), _BODY.search(text)
    title, body = unescape(named[1]) if named else path.stem, html_to_text(text[main.start() :] if main else text)
    return _file_item(request, path, stamp, title, body)
