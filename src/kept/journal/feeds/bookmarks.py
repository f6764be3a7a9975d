"""Read bookmarks and read-later lists. Supported are the HTML that browsers export, and JSON of browsers and reading services."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

from kept.core.errors import SourceError
from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, read_data, to_web_link

_ADDRESS = ("url", "uri", "href", "resolved_url", "given_url", "link")
_TITLE = ("title", "name", "resolved_title", "given_title", "description")
_TIME = ("date_added", "dateadded", "time_added", "added_at", "added", "created_at", "created", "time", "date", "saved_at")
_TEXT = ("excerpt", "note", "notes", "extended")
_WINDOWS = datetime(1601, 1, 1, tzinfo=UTC)  # Chrome's epoch
_MOST_NODES = 400_000


def read_bookmarks(request: FeedRequest) -> FeedResult:
    """Read the bookmarks in a file or at a URL, if it changed. Raises SourceError."""
    data, cursor = read_data(request)
    if data is None:
        return FeedResult(cursor=cursor)
    text = data.decode("utf-8-sig", "replace")
    if text.lstrip()[:1] in ("{", "["):
        found = _parse_json(text, request.place)
    elif "<a " in text.lower():
        found = _parse_html(text)
    else:
        raise SourceError("is not a list of bookmarks", where=request.place, hint="give an exported HTML or JSON file")
    skipped = Counter[str]()
    items: dict[str, FeedItem] = {}
    for address, title, note, at in found:
        if not to_web_link(address):
            skipped["without a web address"] += 1
        elif at is None:
            skipped["without a date"] += 1
        else:
            key = request.item_key(address)
            items[key] = request.make_item(key, title, text=note, at=at, link=address, untitled=to_web_link(address))
    return FeedResult(items=tuple(items.values())[:MOST_ITEMS], cursor=cursor, skipped=skipped)


Bookmark = tuple[str, str, str, datetime | None]
"""URL, title, note and time."""


def _parse_json(text: str, where: str) -> Iterator[Bookmark]:
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError) as error:
        raise SourceError("is not valid JSON", where=where) from error
    count = 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > _MOST_NODES:
            raise SourceError(f"has more than {_MOST_NODES:,} values", where=where)
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            own = {str(name).casefold(): value for name, value in node.items()}
            address = _first_text(own, _ADDRESS)
            if address:
                at = next((at for name in _TIME if (at := parse_timestamp(own.get(name))) is not None), None)
                yield address, _first_text(own, _TITLE), _first_text(own, _TEXT), at
            waiting += [item for item in reversed(node.values()) if isinstance(item, dict | list)]


def _first_text(own: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((own[name] for name in names if isinstance(own.get(name), str) and own[name].strip()), "")


def parse_timestamp(value: object) -> datetime | None:
    """Parse a time: ISO text, seconds, milliseconds or microseconds since 1970, or microseconds since 1601.

    None if it is none of these.
    """
    if isinstance(value, str) and not value.strip().isdecimal():
        return parse_instant(value.strip())
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
        if number < 1e8:
            return None
        if 1.2e16 < number < 1.5e16:
            return _WINDOWS + timedelta(microseconds=number)
        scale = 1 if number < 1e11 else 1e3 if number < 1e14 else 1e6
        return datetime.fromtimestamp(number / scale, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Linear for any text, unlike the parser of the standard library.
_LINK = Pattern(r"""(?is)<a\s((?:"[^"]*"|'[^']*'|[^>"'])*)>([^<]*)""")
_ATTRIBUTE = Pattern(r"""(?i)\b(href|add_date|time_added)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


def _parse_html(text: str) -> Iterator[Bookmark]:
    for link in _LINK.finditer(text):
        named = {found[1].lower(): unescape(found[2] or found[3] or found[4] or "") for found in _ATTRIBUTE.finditer(link[1])}
        at = parse_timestamp(named.get("add_date") or named.get("time_added") or "")
        yield named.get("href", ""), unescape(link[2]), "", at
