"""Read RSS, RDF and Atom feeds from a file or URL, and the feeds in an OPML list.

The URLs in an OPML list may be fetched, because the user put the list into the settings.
"""

import json
from collections import Counter
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from kept.core.errors import SourceError
from kept.core.times import parse_instant
from kept.core.value import replace
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, parse_mail_date, read_data, read_file_bytes

_DEPTH, _NODES = 100, 400_000
_TEXTS = ("description", "summary", "encoded", "content")  # elements with the text of an item


def parse_xml(data: bytes, where: str) -> Element:
    """Parse an XML document and return its root element. Names of elements and attributes are in lower case and without prefixes.

    Raises SourceError if the document is malformed, nested too deep or too large, or if it declares a document type.
    """
    builder = TreeBuilder()
    depth = count = 0

    def refuse(*_: object) -> None:
        raise SourceError("declares a document type, which is not read", where=where)

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > _DEPTH or count > _NODES:
            raise SourceError("is nested too deep, or has too many elements", where=where)
        builder.start(_local_name(name), {_local_name(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local_name(name))

    parser = expat.ParserCreate()  # ElementTree's own parser rejects a feed that uses undeclared prefixes
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)  # noqa: FBT003 - True means that this is the end of the document
    except expat.ExpatError as error:
        raise SourceError(f"is not well-formed XML: {expat.ErrorString(error.code)}", where=where) from error
    except (UnicodeError, ValueError, LookupError) as error:
        raise SourceError("is in an encoding that cannot be read", where=where) from error
    return builder.close()


def _local_name(name: str) -> str:
    return name.rpartition(":")[2].lower()


def read_feed(request: FeedRequest) -> FeedResult:
    """Read the items of a feed that have a date, if the feed changed. Raises SourceError."""
    data, cursor = read_data(request)
    if data is None:
        return FeedResult(cursor=cursor)
    root = parse_xml(data, request.place)
    if root.tag not in ("rss", "rdf", "feed"):
        raise SourceError("is not an RSS or Atom feed", where=request.place)
    skipped = Counter[str]()
    items = []
    for node in root.iter():
        if node.tag in ("item", "entry"):
            item = _entry_item(node, request)
            if item.at is None:
                skipped["without a date"] += 1
            elif not (item.title or item.text):
                skipped["empty"] += 1
            else:
                items.append(item)
    return FeedResult(items=tuple(items[:MOST_ITEMS]), cursor=cursor, skipped=skipped)


def _entry_item(node: Element, request: FeedRequest) -> FeedItem:
    address = _first_text(node, "link") or next(filter(None, (link.get("href") for link in node.findall("link"))), "")
    written, text = _first_text(node, "pubdate", "published", "date", "updated"), _first_text(node, *_TEXTS)
    at = parse_instant(written) or parse_mail_date(written)
    made = request.make_item("", _first_text(node, "title"), text=text, at=at, link=address)
    return replace(made, key=request.item_key(_first_text(node, "guid", "id") or address or made.title))


def _first_text(node: Element, *names: str) -> str:
    """The first non-empty text of a child with one of these names, in the order of the names; empty if there is none."""
    texts = ("".join(child.itertext()).strip() for name in names for child in node.findall(name))
    return next(filter(None, texts), "")


_MOST_FEEDS = 500


def parse_feed_addresses(data: bytes, where: str) -> tuple[str, ...]:
    """The URLs of the feeds in an OPML file, in order, without duplicates. Raises SourceError."""
    root = parse_xml(data, where)
    if root.tag != "opml":
        raise SourceError("is not an OPML file", where=where)
    found = (node.get("xmlurl", "").strip() for node in root.iter("outline"))
    return tuple(dict.fromkeys(item for item in found if item.startswith(("http://", "https://"))))[:_MOST_FEEDS]


def read_feed_list(request: FeedRequest) -> FeedResult:
    """Read the new items of all feeds in a list. Feeds that cannot be read are skipped and counted. Raises SourceError."""
    items: list[FeedItem] = []
    skipped = Counter[str]()
    cursor: dict[str, str] = {}
    for address in parse_feed_addresses(read_file_bytes(request.path), request.place):
        before = request.cursor.get(address, "")
        try:
            feed_result = read_feed(replace(request, place=address, cursor=json.loads(before) if before else {}))
        except (SourceError, ValueError):
            skipped["feeds that cannot be read"] += 1
            if before:
                cursor[address] = before
            continue
        items += feed_result.items
        skipped += feed_result.skipped
        cursor[address] = json.dumps(dict(feed_result.cursor))
    return FeedResult(items=tuple(items), cursor=cursor, skipped=skipped)
