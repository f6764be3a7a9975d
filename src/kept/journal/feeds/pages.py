"""A folder of saved web pages: those that were saved since the last time, by their title and their visible words."""

from collections import Counter
from datetime import UTC, datetime
from html import unescape

import re2

from kept.journal.entry import Item
from kept.journal.feeds.base import Brought, Given, key_of, plain, title, words
from kept.journal.feeds.folders import fresh, since

_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_TITLE = re2.compile(r"(?is)<title[^>]*>(.{0,1000}?)</title")
_BODY = re2.compile(r"(?i)<(?:article|main|body)\b")
_READ = 2_000_000  # characters of a page


def read_pages(given: Given) -> Brought:
    """The pages that changed. Raises SourceError where there is no such folder."""
    skipped = Counter[str]()
    items = []
    newest = since(given)
    for path, stamp, data in fresh(given, _SUFFIXES, skipped):
        newest = max(newest, stamp)
        text = data.decode("utf-8", "replace")[:_READ]
        if "\0" in text[:4_096] or "<" not in text:
            skipped["no web page"] += 1
            continue
        named, main = _TITLE.search(text), _BODY.search(text)
        items.append(
            Item(
                key=key_of(given.name, str(path.relative_to(given.path)), str(stamp)),
                source=given.name,
                title=title(unescape(named[1])) if named else title(path.stem),
                text=words(plain(text[main.start() :] if main else text)),
                at=datetime.fromtimestamp(stamp / 10**9, UTC),
            )
        )
    return Brought(items=tuple(items), cursor={"since": str(newest)}, skipped=skipped)
