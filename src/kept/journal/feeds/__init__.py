"""External sources of the journal: each gives what is new since its cursor, as untrusted items. Knows the kinds; each is a module
of its own.

Nothing is fetched but what the user configured: an address, or a list of them.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.journal.feeds import bookmarks, calendar, git, history, mail, notes, opml, pages, rss
from kept.journal.feeds.base import Brought, Fetch, Given
from kept.journal.feeds.fetching import fetch

__all__ = ["Brought", "Fetch", "Given", "bring", "fetch"]


def bring(
    kind: str, *, name: str, place: str, cursor: Mapping[str, str], zone: ZoneInfo, now: datetime, fetching: Fetch = fetch
) -> Brought:
    """What a source has that it had not at ``cursor`` (empty: all). ``place`` is a path or an address; times without a zone are in
    ``zone``.

    Raises SourceError where the source as a whole cannot be read; a broken item is skipped and counted.
    """
    given = Given(name=name, place=place, path=Path(place).expanduser(), cursor=cursor, zone=zone, now=now, fetch=fetching)
    match kind:
        case "git":
            return git.bring(given)
        case "opml":
            return opml.bring(given)
        case "notes":
            return notes.bring(given)
        case "calendar":
            return calendar.bring(given)
        case "mail":
            return mail.bring(given)
        case "bookmarks":
            return bookmarks.bring(given)
        case "history":
            return history.bring(given)
        case "pages":
            return pages.bring(given)
        case _:
            return rss.bring(given)
