"""Finds the repository that contains a folder and its origin, by reading git's own files."""

import re
from pathlib import Path

from kept.core.pattern import compile_late
from kept.core.value import dataclass

_FILE_BYTES = 256 * 1024
_PARENT_FOLDERS = 12  # search at most this many parent folders
_URL = compile_late(r"^(?:[a-z+]+://)?(?:[^@/\s]+@)?(?P<host>[^:/\s]+)(?::\d+/|[:/])(?P<path>[^\s]+?)(?:\.git)?/?$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """A repository: its main worktree (``root``) and its ``origin``.

    ``remote`` is the origin's host and path, without user or scheme. ``local`` is the origin's folder if it is on this machine.
    """

    root: Path
    remote: str
    local: str = ""


def find_checkout(directory: str) -> Checkout | None:
    """The repository that contains a directory; None if there is none or it is unreadable."""
    if not directory.startswith("/") or "\0" in directory:
        return None
    place = Path(directory)
    for folder in (place, *place.parents[:_PARENT_FOLDERS]):
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
    """The checkout of a worktree: its ``.git`` file names its own folder in the repository, which names the common folder."""
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
    return Checkout(root=root, remote=remote_name(url), local=local if local.startswith("/") else "")


def remote_name(url: str) -> str:
    """Host and path of a repository's URL, in lower case; empty for a folder or anything that is no URL."""
    match = _URL.match(url[:1000])
    return f"{match['host']}/{match['path']}".lower() if match else ""


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
    """The first bytes of a file as text; empty if there is no file or it cannot be read."""
    try:
        if not path.is_file():
            return ""  # reading a pipe would block forever
        with path.open("rb") as file:
            return file.read(_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
