"""Which repository a directory belongs to, read off its ``.git`` without running anything there.

Knows the few files of git's own layout that say so: ``.git`` (a folder, or a file of a worktree), ``commondir``, ``config``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_MOST = 256 * 1024
_UP = 12  # folders to look above the directory
_URL = re.compile(r"^(?:[a-z+]+://)?(?:[^@/\s]+@)?(?P<host>[^:/\s]+)(?::\d+/|[:/])(?P<path>[^\s]+?)(?:\.git)?/?$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """Where a repository lies (its main worktree), and what its ``origin`` is called: host and path, without user or scheme."""

    root: Path
    remote: str


def checkout_of(directory: str) -> Checkout | None:
    """The repository a directory lies in; None where it is unknown, gone or unreadable."""
    if not directory.startswith("/") or "\0" in directory:
        return None
    place = Path(directory)
    for folder in (place, *place.parents[:_UP]):
        git = folder / ".git"
        try:
            if git.is_dir():
                return Checkout(root=folder, remote=_remote(git))
            if git.is_file():
                return _of_worktree(folder, git)
        except OSError:
            return None
    return None


def _of_worktree(folder: Path, git: Path) -> Checkout | None:
    """A worktree's ``.git`` is a file that names its own folder in the repository, and that one names the common folder."""
    words = _read(git)
    if not words.startswith("gitdir:"):
        return None
    own = folder / words.removeprefix("gitdir:").strip()
    common = own / (_read(own / "commondir").strip() or ".")
    resolved = common.resolve()
    return Checkout(root=resolved.parent if resolved.name == ".git" else folder, remote=_remote(resolved))


def _remote(git: Path) -> str:
    section = ""
    for line in _read(git / "config").splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words
        elif section == '[remote "origin"]' and words.partition("=")[0].strip() == "url":
            found = _URL.match(words.partition("=")[2].strip()[:1000])
            return f"{found['host']}/{found['path']}".lower() if found else ""
    return ""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
