"""RSS, RDF and Atom, from a file or an address."""

from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from kept.core.errors import SourceError
from kept.core.times import parse_instant
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import (
    MOST_ITEMS,
    FeedRequest,
    FeedResult,
    clean_feed_text,
    clean_feed_title,
    item_key,
    read_data,
    to_web_link,
)
from kept.journal.feeds.markup import XmlNode, parse_xml


def read_feed(given: FeedRequest) -> FeedResult:
    """The dated items of a feed, where it changed. Raises SourceError."""
    data, cursor = read_data(given)
    if data is None:
        return FeedResult(cursor=cursor)
    root = parse_xml(data, given.place)
    names = {xml_node.name for xml_node in root.children}
    if not names & {"rss", "rdf", "feed"}:
        raise SourceError("is no RSS or Atom feed", where=given.place)
    skipped = Counter[str]()
    items = []
    for node in root.walk():
        if node.name in ("item", "entry"):
            item = _entry_item(node, given.name)
            if item.at is None:
                skipped["without a date"] += 1
            elif not (item.title or item.text):
                skipped["empty"] += 1
            else:
                items.append(item)
    return FeedResult(items=tuple(items[:MOST_ITEMS]), cursor=cursor, skipped=skipped)


def _entry_item(node: XmlNode, name: str) -> FeedItem:
    address = node.first("link") or next(
        (
            xml_node.attributes.get("href", "")
            for xml_node in node.children
            if xml_node.name == "link" and xml_node.attributes.get("href")
        ),
        "",
    )
    head = clean_feed_title(node.first("title"))
    return FeedItem(
        key=item_key(name, node.first("guid", "id") or address or head),
        source=name,
        title=head,
        text=clean_feed_text(node.first("description", "summary", "encoded", "content")),
        at=_parse_feed_date(node.first("pubdate", "published", "date", "updated")),
        link=to_web_link(address),
    )


def _parse_feed_date(text: str) -> datetime | None:
    moment = parse_instant(text)
    if moment is not None or not text:
        return moment
    try:
        stamp = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    try:
        return stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
    except OverflowError:
        return None
