"""The setting of one external source of the journal. Knows no file and no address."""

from dataclasses import dataclass

from kept.core.errors import ConfigError

FEEDS = ("git", "rss", "opml", "notes", "calendar", "mail", "bookmarks", "history", "pages")
FETCHED = ("rss", "calendar")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedSettings:
    """A table ``[[feed]]``: one external source of the journal. ``share`` is its weight among them.

    ``path`` is a file or folder, ``url`` an address (only for kinds that are fetched); ``name`` is what entries call it.
    """

    kind: str = ""
    name: str = ""
    path: str = ""
    url: str = ""
    share: float = 1.0


def check_feed(made: FeedSettings, where: str) -> FeedSettings:
    """The feed, where it is one. Raises ConfigError."""
    if made.kind not in FEEDS:
        raise ConfigError(f"there is no kind of feed {made.kind!r}", where=where, hint=f"kinds: {', '.join(FEEDS)}")
    if bool(made.path) == bool(made.url) or (made.url and made.kind not in FETCHED):
        kinds = " or ".join(FETCHED)
        raise ConfigError(f"a feed has a path, or, where its kind is {kinds}, a url", where=where)
    if made.url and not made.url.startswith(("https://", "http://")):
        raise ConfigError("a feed's url begins with https:// or http://", where=where)
    return made
