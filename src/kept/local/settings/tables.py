"""The lists of tables in the settings: folders to read, external sources of the journal, and shares with teams. No input or output,
except that a vault is recognised by files in its folder.
"""

from collections.abc import Sequence
from pathlib import Path

from kept.core.errors import ConfigError
from kept.core.value import dataclass

AUTHORS = ("person", "agent")
_VAULT = "vault"
_VAULT_MARKERS = (".memory-loop.json", ".obsidian", "logseq")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRoot:
    """A table ``[[root]]``: a folder or file that every run reads.

    ``format`` applies to files in it that no format recognises by their content. ``project`` is assigned to everything in it.
    ``author`` (``person`` or ``agent``) is the author of unsigned notes.
    """

    path: str = ""
    format: str = ""
    project: str = ""
    author: str = ""

    def resolve(self, user: Path) -> Path:
        """The absolute path; ``~`` is the user's home."""
        return user / self.path[2:] if self.path.startswith("~/") else user if self.path == "~" else Path(self.path)


def check_root(root: SourceRoot, where: str) -> SourceRoot:
    """Return the root if it is valid. Raises ConfigError."""
    if not (root.path.startswith(("/", "~/")) or root.path == "~" or Path(root.path).is_absolute()) or "\0" in root.path:
        raise ConfigError("a root has an absolute path", where=where, hint='[[root]] path = "~/notes"')
    if root.author not in ("", *AUTHORS):
        raise ConfigError(f"a root's author is {' or '.join(AUTHORS)}", where=where)
    return root


def find_root_above(roots: Sequence[SourceRoot], path: Path | str, user: Path) -> SourceRoot | None:
    """The nearest root that is or contains a path; None if there is none."""
    above = [root for root in roots if Path(path).is_relative_to(root.resolve(user))]
    return max(above, key=lambda root: len(root.resolve(user).parts), default=None)


def is_vault(root: SourceRoot, user: Path) -> bool:
    """True if a root is a vault of notes, by its format or by files that vaults have in their folder."""
    return root.format == _VAULT or (not root.format and any((root.resolve(user) / name).exists() for name in _VAULT_MARKERS))


FEEDS = ("git", "rss", "opml", "notes", "calendar", "mail", "bookmarks", "history", "pages")
FETCHED = ("rss", "calendar")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedSettings:
    """A table ``[[feed]]``: an external source of the journal. ``share`` is its weight among all feeds.

    ``path`` is a file or folder, ``url`` an address (only for kinds that are fetched); ``name`` is its name in entries.
    """

    kind: str = ""
    name: str = ""
    path: str = ""
    url: str = ""
    share: float = 1.0


def check_feed(made: FeedSettings, where: str) -> FeedSettings:
    """Return the feed if it is valid. Raises ConfigError."""
    if made.kind not in FEEDS:
        raise ConfigError(f"there is no kind of feed {made.kind!r}", where=where, hint=f"kinds: {', '.join(FEEDS)}")
    if bool(made.path) == bool(made.url) or (made.url and made.kind not in FETCHED):
        kinds = " or ".join(FETCHED)
        raise ConfigError(f"a feed has a path, or, where its kind is {kinds}, a url", where=where)
    if made.url and not made.url.startswith(("https://", "http://")):
        raise ConfigError("a feed's url begins with https:// or http://", where=where)
    return made


SHARED = ("approved", "certain", "nothing")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareSettings:
    """A table ``[[share]]``: which memories of a project (its scope) are shared with the members of the server's role ``team``.

    ``what`` is ``approved`` (active memories that this person owns), ``certain`` (also active ones that rest on the person's own
    words) or ``nothing``. ``quotes`` also shares the words that a memory rests on.
    """

    project: str = ""
    team: str = ""
    what: str = "approved"
    quotes: bool = False


def check_share(share: ShareSettings, where: str) -> ShareSettings:
    """Return the share if it is valid. Raises ConfigError."""
    if not share.project or not share.team:
        raise ConfigError("a share has a project and a team", where=where, hint="kept team share PROJECT --with ROLE")
    if share.what not in SHARED:
        raise ConfigError(f"what is shared is {', '.join(SHARED[:-1])} or {SHARED[-1]}", where=where)
    return share
