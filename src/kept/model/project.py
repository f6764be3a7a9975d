"""Projects: whom a memory is for when it is not for the user everywhere.

The raw working directory is evidence; the project is a recorded alias of it that a person can correct.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath

from kept.model.codec import digest
from kept.model.memory import USER_SCOPE

_WORKTREE = re.compile(r"^(?P<root>.+?)[/\\](?:\.claude[/\\]worktrees|\.worktrees|worktrees|\.git[/\\]worktrees)[/\\][^/\\]+")
_SLUG = re.compile(r"[^a-z0-9]+")
PROJECT = "project:"


def root_of(directory: str) -> str:
    """The directory a project is known by: that of the checkout a worktree belongs to, without a trailing separator."""
    found = _WORKTREE.match(directory[:4096])
    return (found["root"] if found else directory).rstrip("/\\") or directory


def name_of(directory: str) -> str:
    """The last component of a directory, for people: any operating system's separators, control characters removed."""
    pure = PureWindowsPath(directory) if "\\" in directory and "/" not in directory else PurePosixPath(directory)
    return "".join(char for char in pure.name if char.isprintable())[:80] or "project"


def scope_of(directory: str, aliases: Mapping[str, str]) -> str:
    """The scope of what was said in a directory: ``"user"`` where it is unknown, else ``"project:<slug>-<hash>"``.

    ``aliases`` maps directories to the directory they are the same project as. The key is derived (slug and hash) and never used
    as a path.
    """
    if not directory.strip():
        return USER_SCOPE
    root = root_of(directory)
    seen = {root}
    while (other := aliases.get(root)) is not None and other not in seen:
        root = other
        seen.add(root)
    slug = _SLUG.sub("-", name_of(root).lower()).strip("-")[:40] or "project"
    return f"{PROJECT}{slug}-{digest(root, size=3)}"
