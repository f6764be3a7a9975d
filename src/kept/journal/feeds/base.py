"""The interface of external sources, and functions that they share.

These read a file or URL up to a size limit, extract text from HTML, clean texts, and parse dates.
"""

import http
import os
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from html import unescape
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.digest import hash_bytes
from kept.core.errors import SourceError
from kept.core.invisible import strip_invisible
from kept.core.pattern import Pattern
from kept.core.text import one_line
from kept.core.value import dataclass, field
from kept.journal.entry import FeedItem
from kept.local.fetching import fetch
from kept.sources.records import open_source

MOST_BYTES = 16 * 2**20
MOST_ITEMS = 20_000
_TITLE_CHARS, _TEXT_CHARS, _LINK_CHARS = 200, 600, 500


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchResponse:
    """The response of a URL: its bytes, and the validators to send with the next request. ``data`` is None if nothing changed."""

    data: bytes | None
    validators: Mapping[str, str]


Fetch = Callable[[str, Mapping[str, str]], FetchResponse]


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedRequest:
    """A request to read a source. ``name`` is its name in entries. ``place`` is its path or URL, and ``path`` the same as a Path.

    ``cursor`` is the one that the last reading returned; it is empty the first time. ``zone`` is the time zone of times without
    one.
    """

    name: str
    place: str
    path: Path
    cursor: Mapping[str, str]
    zone: ZoneInfo
    now: datetime
    fetch: Fetch

    @property
    def remote(self) -> bool:
        """True if the place is a URL."""
        return self.place.startswith(("http://", "https://"))

    @property
    def since(self) -> int:
        """The highest time stamp of the last reading, in the unit of the source; 0 the first time."""
        stamp = self.cursor.get("since", "0")
        return int(stamp) if stamp.isascii() and stamp.isdecimal() else 0

    def item_key(self, *parts: str) -> str:
        """The key of an item of this source: a hash of parts that are the same each time the source delivers the item."""
        return blake2b("\0".join((self.name, *parts)).encode("utf-8", "replace"), digest_size=10).hexdigest()

    def make_item(
        self, key: str, title: str, *, at: datetime | None, text: str = "", link: str = "", untitled: str = ""
    ) -> FeedItem:
        """An item with cleaned texts. If its title has no text, it is ``untitled``."""
        title = clean_feed_title(title) or untitled
        return FeedItem(key=key, source=self.name, title=title, text=clean_feed_text(text), at=at, link=to_web_link(link))


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedResult:
    """The new items, the next cursor, and the number of skipped items by reason."""

    items: tuple[FeedItem, ...] = ()
    cursor: Mapping[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def read_data(request: FeedRequest) -> tuple[bytes | None, Mapping[str, str]]:
    """Read a source that is a file or URL. Returns its bytes (None if they have not changed) and the new cursor.

    Raises SourceError.
    """
    if request.remote:
        response = request.fetch(request.place, request.cursor)
        data, validators = response.data, response.validators
    else:
        data, validators = read_file_bytes(request.path), {}
    if data is None:
        return None, request.cursor
    mark = hash_bytes(data)
    return (None if request.cursor.get("mark") == mark else data), {**validators, "mark": mark}


def read_file_bytes(path: Path) -> bytes:
    """Read a regular file of at most 16 MB. Raises SourceError."""
    with open_source(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise SourceError(f"is larger than {MOST_BYTES // 2**20} MB", where=str(path))
        return file.read(MOST_BYTES)


def parse_mail_date(text: str) -> datetime | None:
    """Parse a date in e-mail format. Without a zone, it is in UTC. None if the text is not such a date."""
    try:
        stamp = parsedate_to_datetime(text)
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def clean_feed_text(text: str, most: int = _TEXT_CHARS) -> str:
    """The text as one line of at most ``most`` characters, without HTML markup and invisible characters."""
    visible, _ = strip_invisible(html_to_text(text[: 20 * most]) if "<" in text or "&" in text else text[: 20 * most])
    return one_line("".join(item if item.isprintable() else " " for item in visible))[:most]


def clean_feed_title(text: str) -> str:
    """The text as one line of the length of a title, cleaned as in :func:`clean_feed_text`."""
    return clean_feed_text(text, _TITLE_CHARS)


def to_web_link(text: str) -> str:
    """The text as one line if it is an HTTP(S) URL; else empty."""
    found = one_line(text)[:_LINK_CHARS]
    return found if found.startswith(("http://", "https://")) else ""


# Linear for any text, unlike the parser of the standard library. What is not closed reaches to the end of the text.
_HIDDEN = Pattern(
    r"(?is)<!--.*?(?:-->|\z)"
    r"|<script\b.*?(?:</script\b[^>]*>|\z)|<style\b.*?(?:</style\b[^>]*>|\z)|<template\b.*?(?:</template\b[^>]*>|\z)"
)
_TAG = Pattern(r"""(?s)<[/!?a-zA-Z](?:"[^"]*"|'[^']*'|[^>"'])*(?:>|\z)|<[/!?a-zA-Z][^>]*(?:>|\z)""")


def html_to_text(html: str) -> str:
    """The visible text of HTML."""
    return unescape(_TAG.sub(" ", _HIDDEN.sub(" ", html)))


_TIMEOUT = 20  # seconds for the whole response
_VALIDATORS = {"etag": "If-None-Match", "modified": "If-Modified-Since"}


def fetch_address(address: str, cursor: Mapping[str, str]) -> FetchResponse:
    """Fetch a URL. The response has no data if the server says that it has not changed. Raises SourceError."""
    if not address.startswith(("http://", "https://")):
        raise SourceError("is not a web address", where=address, hint="give a URL that begins with http:// or https://")
    headers = {header: cursor[name] for name, header in _VALIDATORS.items() if cursor.get(name)}
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "kept"} | headers)  # noqa: S310 - the scheme was checked above
        response = fetch(request, seconds=_TIMEOUT, most=MOST_BYTES, redirects=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise SourceError(f"cannot be fetched: {reason}", where=address) from error
    if response.status == http.HTTPStatus.NOT_MODIFIED:
        return FetchResponse(data=None, validators=cursor)
    if not 200 <= response.status < 300:
        raise SourceError(f"the server answered {response.status}", where=address)
    validators = {"etag": response.headers.get("ETag"), "modified": response.headers.get("Last-Modified")}
    return FetchResponse(data=response.data, validators={name: value for name, value in validators.items() if value})
