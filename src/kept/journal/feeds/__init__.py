"""Read external sources of the journal. A module for each kind of source returns the new items since a cursor, as untrusted text.

Only URLs in the settings are fetched, and the URLs in a feed list that the settings name.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.journal.feeds import bookmarks, calendar, folders, git, history, mail, rss
from kept.journal.feeds.base import FeedRequest, FeedResult, Fetch, fetch_address

__all__ = ["FeedRequest", "FeedResult", "Fetch", "fetch_address", "read_new_items"]


_READERS = {
    "git": git.read_commits,
    "opml": rss.read_feed_list,
    "notes": folders.read_notes,
    "calendar": calendar.read_calendar,
    "mail": mail.read_mail,
    "bookmarks": bookmarks.read_bookmarks,
    "history": history.read_visits,
    "pages": folders.read_pages,
}


def read_new_items(
    kind: str, *, name: str, place: str, cursor: Mapping[str, str], zone: ZoneInfo, now: datetime, fetching: Fetch = fetch_address
) -> FeedResult:
    """Read the items that a source got since ``cursor``. An empty cursor means all items.

    ``place`` is a path or a URL. ``zone`` is the time zone of times without one. Broken items are skipped and counted. Raises
    SourceError if the source as a whole cannot be read.
    """
    request = FeedRequest(name=name, place=place, path=Path(place).expanduser(), cursor=cursor, zone=zone, now=now, fetch=fetching)
    return _READERS.get(kind, rss.read_feed)(request)
