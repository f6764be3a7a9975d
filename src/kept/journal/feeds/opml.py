"""OPML: a list of feeds, as every reader exports it. What it lists is fetched, because the user named the list."""

import json
from collections import Counter
from dataclasses import replace

from kept.core.errors import SourceError
from kept.journal.entry import FeedItem
from kept.journal.feeds import rss
from kept.journal.feeds.base import FeedRequest, FeedResult, read_file_bytes
from kept.journal.feeds.markup import parse_xml

_MOST = 500  # feeds


def parse_feed_addresses(data: bytes, where: str) -> tuple[str, ...]:
    """The addresses of the feeds that an OPML file lists, each once, in its order. Raises SourceError."""
    root = parse_xml(data, where)
    if not any(node.name == "opml" for node in root.children):
        raise SourceError("is no OPML file", where=where)
    found = (node.attributes.get("xmlurl", "").strip() for node in root.walk() if node.name == "outline")
    return tuple(dict.fromkeys(item for item in found if item.startswith(("http://", "https://"))))[:_MOST]


def read_feed_list(given: FeedRequest) -> FeedResult:
    """The new items of all feeds of a list; one that cannot be fetched is skipped and counted. Raises SourceError."""
    items: list[FeedItem] = []
    skipped = Counter[str]()
    cursor: dict[str, str] = {}
    for address in parse_feed_addresses(read_file_bytes(given.path), given.place):
        before = given.cursor.get(address, "")
        try:
            feed_result = rss.read_feed(replace(given, place=address, cursor=json.loads(before) if before else {}))
        except (SourceError, ValueError):
            skipped["feeds that cannot be read"] += 1
            if before:
                cursor[address] = before
            continue
        items += feed_result.items
        skipped += feed_result.skipped
        cursor[address] = json.dumps(dict(feed_result.cursor))
    return FeedResult(items=tuple(items), cursor=cursor, skipped=skipped)
