"""A folder of notes: the Markdown and text files that were written since the last time, by their title and their first words."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from kept.journal.entry import FeedItem
from kept.journal.feeds.base import FeedRequest, FeedResult, clean_feed_text, clean_feed_title, item_key
from kept.journal.feeds.folders import last_seen_mtime, read_changed_files

_SUFFIXES = frozenset({".md", ".markdown", ".txt", ".org"})
_OWN = b"\ngenerated_by: kept"


def read_notes(given: FeedRequest) -> FeedResult:
    """The notes that changed. A note of kept's own is none. Raises SourceError where there is no such folder."""
    skipped = Counter[str]()
    items = []
    newest = last_seen_mtime(given)
    for path, stamp, data in read_changed_files(given, _SUFFIXES, skipped):
        newest = max(newest, stamp)
        if data.startswith(b"---") and _OWN in data[:4_096]:
            skipped["kept's own"] += 1
        elif b"\0" in data[:4_096]:
            skipped["not text"] += 1
        else:
            items.append(_note_item(given, path, data.decode("utf-8", "replace"), stamp))
    return FeedResult(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)


def _note_item(given: FeedRequest, path: Path, text: str, stamp: int) -> FeedItem:
    lines = [item for item in _without_front_matter(text) if item.strip()]
    heading = next((line.lstrip("# ") for line in lines[:3] if line.startswith("#")), path.stem)
    rest = " ".join(line for line in lines if not line.startswith("#"))
    return FeedItem(
        key=item_key(given.name, str(path.relative_to(given.path)), str(stamp)),
        source=given.name,
        title=clean_feed_title(heading),
        text=clean_feed_text(rest),
        at=datetime.fromtimestamp(stamp / 10**9, UTC),
    )


def _without_front_matter(text: str) -> list[str]:
    """The lines of a note without its front matter."""
    lines = text[:40_000].splitlines()
    if lines and lines[0].rstrip() == "---":
        end = next((number for number, each in enumerate(lines[1:], 1) if each.rstrip() == "---"), 0)
        return lines[end + 1 :] if end else lines
    return lines
