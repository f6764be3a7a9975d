"""Read the history of Firefox, Chrome and related browsers. Each page is read once for each day, without its query string.

The browser may be running. Therefore its database and write-ahead log are copied, and only the copy is opened.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from urllib.parse import urlsplit

from kept.core.errors import SourceError
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, to_web_link
from kept.sources.databases import open_copy, ordinary_tables

_MOST_BYTES = 1024 * 2**20
_STEPS = 2_000  # a query is aborted after this many steps of 10,000 database instructions
_KINDS = {
    "moz_historyvisits": ("firefox", datetime(1970, 1, 1, tzinfo=UTC)),
    "visits": ("chrome", datetime(1601, 1, 1, tzinfo=UTC)),
}


def read_visits(request: FeedRequest) -> FeedResult:
    """Read the pages visited since the last reading.

    Raises SourceError if the file is missing, damaged or not a browser's history.
    """
    skipped = Counter[str]()
    newest = request.since
    items: dict[str, FeedItem] = {}
    for address, head, stamp, at in _load_visits(request):
        newest = max(newest, stamp)
        page = _strip_address(address)
        if not page or at is None:
            skipped["without a web address"] += 1
            continue
        day = at.astimezone(request.zone).date().isoformat()
        key = request.item_key(page, day)
        items.setdefault(key, request.make_item(key, head, at=at, link=page, untitled=page))
    return FeedResult(items=tuple(items.values()), cursor={"since": str(newest)}, skipped=skipped)


def _strip_address(address: str) -> str:
    """A URL without its query, fragment, user name and password, because these may be private.

    Empty if it is not an HTTP(S) URL.
    """
    try:
        parts = urlsplit(to_web_link(address))
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else ""


def _load_visits(request: FeedRequest) -> Iterator[tuple[str, str, int, datetime | None]]:
    path = request.path
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise SourceError(
            "is not a file, or too large", where=request.place, hint="give places.sqlite of Firefox, or History of Chrome"
        )
    try:
        with open_copy(path) as database:
            yield from _query_visits(database, request.since, request.place)
    except (UnicodeError, OverflowError) as error:
        raise SourceError(f"cannot be read as a history: {type(error).__name__}", where=request.place) from error


def _query_visits(database: sqlite3.Connection, since: int, where: str) -> Iterator[tuple[str, str, int, datetime | None]]:
    steps = iter(range(_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 10_000)
    names = ordinary_tables(database)
    kind = next((kind for name, kind in _KINDS.items() if name in names), None)
    if kind is None:
        raise SourceError("is not a browser's history", where=where)
    query = (files(__name__.rpartition(".")[0]) / f"{kind[0]}.sql").read_text(encoding="utf-8")
    for address, head, stamp in database.execute(query, {"since": since, "most": MOST_ITEMS}):
        if isinstance(address, str) and isinstance(stamp, int):
            yield address, head if isinstance(head, str) else "", stamp, _visit_time(kind[1], stamp)


def _visit_time(epoch: datetime, stamp: int) -> datetime | None:
    try:
        return epoch + timedelta(microseconds=stamp)
    except OverflowError:
        return None
