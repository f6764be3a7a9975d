"""A folder of notes: the Markdown and text files that were written since the last time, by their title and their first words."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from kept.journal.entry import Item
from kept.journal.feeds.base import Brought, Given, key_of, title, words
from kept.journal.feeds.folders import fresh, since

_SUFFIXES = frozenset({".md", ".markdown", ".txt", ".org"})
_OWN = b"\ngenerated_by: kept"


def read_notes(given: Given) -> Brought:
    """The notes that changed. A note of kept's own is none. Raises SourceError where there is no such folder."""
    skipped = Counter[str]()
    items = []
    newest = since(given)
    for path, stamp, data in fresh(given, _SUFFIXES, skipped):
        newest = max(newest, stamp)
        if data.startswith(b"---") and _OWN in data[:4_096]:
            skipped["kept's own"] += 1
        elif b"\0" in data[:4_096]:
            skipped["not text"] += 1
        else:
            items.append(_note_item(given, path, data.decode("utf-8", "replace"), stamp))
    return Brought(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)


def _note_item(given: Given, path: Path, text: str, stamp: int) -> Item:
    lines = [each for each in _without_front_matter(text) if each.strip()]
    heading = next((each.lstrip("# ") for each in lines[:3] if each.startswith("#")), path.stem)
    rest = " ".join(each for each in lines if not each.startswith("#"))
    return Item(
        key=key_of(given.name, str(path.relative_to(given.path)), str(stamp)),
        source=given.name,
        title=title(heading),
        text=words(rest),
        at=datetime.fromtimestamp(stamp / 10**9, UTC),
    )


def _without_front_matter(text: str) -> list[str]:
    """The lines of a note without its front matter."""
    lines = text[:40_000].splitlines()
    if lines and lines[0].rstrip() == "---":
        end = next((number for number, each in enumerate(lines[1:], 1) if each.rstrip() == "---"), 0)
        return lines[end + 1 :] if end else lines
    return lines
