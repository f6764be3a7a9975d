"""The lists of tables in the settings: folders to read, external sources of the journal, and shares with teams.

Reads no files. :func:`is_vault` checks whether certain files exist.
"""

import os
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
        """The absolute path, with ``~`` replaced by the user's home."""
        return Path(expand_home(self.path, user))

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if not (self.path.startswith(("/", "~/")) or self.path == "~" or Path(self.path).is_absolute()) or "\0" in self.path:
            raise ConfigError("the path of a root must be absolute", hint='[[root]] path = "~/notes"')
        if self.author not in ("", *AUTHORS):
            raise ConfigError(f"the author of a root must be {' or '.join(AUTHORS)}")


def expand_home(path: str, user: Path) -> str:
    """Replace ``~`` at the beginning of a path or pattern by the user's home."""
    return f"{user}{path[1:]}" if path == "~" or path.startswith("~/") else path


def find_root_above(roots: Sequence[SourceRoot], path: Path | str, user: Path) -> SourceRoot | None:
    """Find the nearest root that is or contains a path. None if there is none."""
    if not roots:  # fast path, because this is called twice for every file of a run
        return None
    above = [root for root in roots if Path(path).is_relative_to(root.resolve(user))]
    return max(above, key=lambda root: len(root.resolve(user).parts), default=None)


def is_vault(root: SourceRoot, user: Path) -> bool:
    """True if a root is a vault of notes, judged by its format or by the files that mark a vault."""
    marks = (os.path.join(root.resolve(user), name) for name in _VAULT_MARKERS)  # noqa: PTH118 - as below
    return root.format == _VAULT or (
        not root.format and any(os.path.exists(mark) for mark in marks)  # noqa: PTH110 - Path raises if the folder is not accessible
    )


FEEDS = ("git", "rss", "opml", "notes", "calendar", "mail", "bookmarks", "history", "pages")
FETCHED = ("rss", "calendar")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedSettings:
    """A table ``[[feed]]``: an external source of the journal. ``share`` is its weight among all feeds.

    ``path`` is a file or folder, ``url`` an address (only for kinds that are fetched). ``name`` is its name in entries.
    """

    kind: str = ""
    name: str = ""
    path: str = ""
    url: str = ""
    share: float = 1.0

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if self.kind not in FEEDS:
            raise ConfigError(f"there is no kind of feed {self.kind!r}", hint=f"kinds: {', '.join(FEEDS)}")
        if bool(self.path) == bool(self.url) or (self.url and self.kind not in FETCHED):
            raise ConfigError(f"a feed needs a path or, if its kind is {' or '.join(FETCHED)}, a url instead")
        if self.url and not self.url.startswith(("https://", "http://")):
            raise ConfigError("the url of a feed must begin with https:// or http://")


SHARED = ("approved", "certain", "nothing")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareSettings:
    """A table ``[[share]]``: which memories of a project (its scope) are shared with the members of the server's role ``team``.

    ``what`` is ``approved`` (active memories that this person owns), ``certain`` (these, and active memories based on the
    person's own words) or ``nothing``. ``quotes`` also shares the words that a memory is based on.
    """

    project: str = ""
    team: str = ""
    what: str = "approved"
    quotes: bool = False

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if not self.project or not self.team:
            raise ConfigError("a share needs a project and a team", hint="kept team share PROJECT --with ROLE")
        if self.what not in SHARED:
            raise ConfigError(f"`what` of a share must be {', '.join(SHARED[:-1])} or {SHARED[-1]}")
