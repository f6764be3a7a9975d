"""A folder of notes: the Markdown and text files that were written since the last time, by their title and their first words."""

import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from kept.adapters.feeds.base import MOST_ITEMS, Brought, Given, bytes_of, key_of, title, words
from kept.model.entry import Item
from kept.model.errors import SourceError

_SUFFIXES = (".md", ".markdown", ".txt", ".org")
_OWN = b"\ngenerated_by: kept"


def bring(given: Given) -> Brought:
    """The notes that changed. A note of kept's own is none. Raises SourceError where there is no such folder."""
    if not given.path.is_dir():
        raise SourceError("is no folder", where=given.place)
    since = int(given.cursor.get("since", "0")) if given.cursor.get("since", "0").isdecimal() else 0
    skipped = Counter[str]()
    found = sorted((stamp, path) for path, stamp in _changed(given.path, since, skipped))
    items = []
    newest = since
    for stamp, path in found[:MOST_ITEMS]:
        newest = max(newest, stamp)
        try:
            data = bytes_of(path)
        except SourceError:
            skipped["unreadable"] += 1
            continue
        if data.startswith(b"---") and _OWN in data[:4_096]:
            skipped["kept's own"] += 1
            continue
        if b"\0" in data[:4_096]:
            skipped["not text"] += 1
            continue
        items.append(_item(given, path, data.decode("utf-8", "replace"), stamp))
    return Brought(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)


def _changed(folder: Path, since: int, skipped: Counter[str]) -> Iterator[tuple[Path, int]]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = Path(root) / name
            if path.suffix.lower() not in _SUFFIXES or name.startswith("."):
                continue
            try:
                info = path.lstat()
            except OSError:
                skipped["unreadable"] += 1
                continue
            if path.is_symlink():
                skipped["links"] += 1
            elif info.st_mtime_ns > since:
                yield path, info.st_mtime_ns


def _item(given: Given, path: Path, text: str, stamp: int) -> Item:
    lines = [each for each in _body(text) if each.strip()]
    heading = next((each.lstrip("# ") for each in lines[:3] if each.startswith("#")), path.stem)
    rest = " ".join(each for each in lines if not each.startswith("#"))
    at = datetime.fromtimestamp(stamp / 10**9, UTC)
    return Item(
        key=key_of(given.name, str(path.relative_to(given.path)), str(stamp)),
        source=given.name,
        title=title(heading),
        text=words(rest),
        at=at,
    )


def _body(text: str) -> list[str]:
    """The lines of a note without its front matter."""
    lines = text[:40_000].splitlines()
    if lines and lines[0].rstrip() == "---":
        end = next((number for number, each in enumerate(lines[1:], 1) if each.rstrip() == "---"), 0)
        return lines[end + 1 :] if end else lines
    return lines
