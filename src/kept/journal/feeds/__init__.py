"""External sources of the journal: each gives what is new since its cursor, as untrusted items. Knows the kinds; each is a module
of its own.

Nothing is fetched but what the user configured: an address, or a list of them.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.journal.feeds import bookmarks, calendar, folders, git, history, mail, rss
from kept.journal.feeds.base import FeedRequest, FeedResult, Fetch, fetch_address

__all__ = ["FeedRequest", "FeedResult", "Fetch", "fetch_address", "read_new_items"]


def read_new_items(
    kind: str, *, name: str, place: str, cursor: Mapping[str, str], zone: ZoneInfo, now: datetime, fetching: Fetch = fetch_address
) -> FeedResult:
    """What a source has that it had not at ``cursor`` (empty: all). ``place`` is a path or an address; times without a zone are in
    ``zone``.

    Raises SourceError where the source as a whole cannot be read; a broken item is skipped and counted.
    """
    given = FeedRequest(name=name, place=place, path=Path(place).expanduser(), cursor=cursor, zone=zone, now=now, fetch=fetching)
    match kind:
        case "git":
            return git.read_commits(given)
        case "opml":
            return rss.read_feed_list(given)
        case "notes":
            return folders.read_notes(given)
        case "calendar":
            return calendar.read_calendar(given)
        case "mail":
            return mail.read_mail(given)
        case "bookmarks":
            return bookmarks.read_bookmarks(given)
        case "history":
            return history.read_visits(given)
        case "pages":
            return folders.read_pages(given)
        case _:
            return rss.read_feed(given)
