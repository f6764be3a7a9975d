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
    """Where a repository lies (its main worktree) and its ``.git``, and its ``origin``.

    ``remote`` is what the origin is called: host and path, without user or scheme. ``local`` is its folder where it is one on this
    machine.
    """

    root: Path
    git: Path
    remote: str
    local: str = ""


def find_checkout(directory: str) -> Checkout | None:
    """The repository a directory lies in; None where it is unknown, gone or unreadable."""
    if not directory.startswith("/") or "\0" in directory:
        return None
    place = Path(directory)
    for folder in (place, *place.parents[:_UP]):
        git = folder / ".git"
        try:
            if git.is_dir():
                return _make_checkout(folder, git)
            if git.is_file():
                return _find_worktree_checkout(folder, git)
        except OSError:
            return None
    return None


def _find_worktree_checkout(folder: Path, git: Path) -> Checkout | None:
    """A worktree's ``.git`` is a file that names its own folder in the repository, and that one names the common folder."""
    words = _read_start(git)
    if not words.startswith("gitdir:"):
        return None
    own = folder / words.removeprefix("gitdir:").strip()
    common = own / (_read_start(own / "commondir").strip() or ".")
    resolved = common.resolve()
    return _make_checkout(resolved.parent if resolved.name == ".git" else folder, resolved)


def _make_checkout(root: Path, git: Path) -> Checkout:
    url = _read_origin_url(git)
    local = url.removeprefix("file://")
    return Checkout(root=root, git=git, remote=remote_name(url), local=local if local.startswith("/") else "")


def remote_name(url: str) -> str:
    """What a repository's address names: host and path in lower case; empty for a folder, or what is no address."""
    search_match = _URL.match(url[:1000])
    return f"{search_match['host']}/{search_match['path']}".lower() if search_match else ""


def _read_origin_url(git: Path) -> str:
    section = ""
    for line in _read_start(git / "config").splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words
        elif section == '[remote "origin"]' and words.partition("=")[0].strip() == "url":
            return words.partition("=")[2].strip()
    return ""


def _read_start(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
