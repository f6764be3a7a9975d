"""A folder of saved web pages: those that were saved since the last time, by their title and their visible words."""

from collections import Counter
from datetime import UTC, datetime
from html import unescape

import re2

from kept.journal.entry import FeedItem
from kept.journal.feeds.base import FeedRequest, FeedResult, clean_feed_text, clean_feed_title, html_to_text, item_key
from kept.journal.feeds.folders import last_seen_mtime, read_changed_files

_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_TITLE = re2.compile(r"(?is)<title[^>]*>(.{0,1000}?)</title")
_BODY = re2.compile(r"(?i)<(?:article|main|body)\b")
_READ = 2_000_000  # characters of a page


def read_pages(given: FeedRequest) -> FeedResult:
    """The pages that changed. Raises SourceError where there is no such folder."""
    skipped = Counter[str]()
    items = []
    newest = last_seen_mtime(given)
    for path, stamp, data in read_changed_files(given, _SUFFIXES, skipped):
        newest = max(newest, stamp)
        text = data.decode("utf-8", "replace")[:_READ]
        if "\0" in text[:4_096] or "<" not in text:
            skipped["no web page"] += 1
            continue
        named, main = _TITLE.search(text), _BODY.search(text)
        items.append(
            FeedItem(
                key=item_key(given.name, str(path.relative_to(given.path)), str(stamp)),
                source=given.name,
                title=clean_feed_title(unescape(named[1])) if named else clean_feed_title(path.stem),
                text=clean_feed_text(html_to_text(text[main.start() :] if main else text)),
                at=datetime.fromtimestamp(stamp / 10**9, UTC),
            )
        )
    return FeedResult(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)
