"""Finds the repository that contains a folder and its origin, by reading git's own files, and asks git for its first commit."""

import os
import re
from pathlib import Path

from kept.core.pattern import compile_late
from kept.core.value import dataclass

_FILE_BYTES = 256 * 1024
_PARENT_FOLDERS = 12  # search at most this many parent folders
_URL = compile_late(r"^(?:[a-z+]+://)?(?:[^@/\s]+@)?(?P<host>[^:/\s]+)(?::\d+/|[:/])(?P<path>[^\s]+?)(?:\.git)?/?$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """A repository: its main worktree (``root``), its ``.git`` folder, and its ``origin``.

    ``remote`` is the origin's host and path, without user or scheme. ``local`` is the origin's folder if it is on this machine.
    """

    root: Path
    git: Path
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
    """The checkout that a worktree belongs to. The worktree's ``.git`` file names its folder in the repository; that folder names
    the common one.
    """
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
    """Host and path of a repository's URL, in lower case; empty for a folder or anything that is not a URL."""
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


_SECONDS = 20  # for a long history
_NO_FETCH = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}


def first_commit(git: Path) -> str | None:
    """The root commit that a repository's HEAD reaches by first parents; empty if git cannot tell, None if git cannot be started.

    ``git`` is the ``.git`` folder of the main worktree. A shallow clone gives nothing, because its history is truncated. Listing
    commits runs nothing that the repository's settings name, and commits that are missing are not fetched.
    """
    import subprocess  # noqa: PLC0415 - only a run that finds a new project needs it

    if (git / "shallow").exists():
        return ""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _NO_FETCH
    command = ("git", f"--git-dir={git}", "rev-list", "--first-parent", "--max-parents=0", "HEAD")
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with arguments of our own
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("ascii", "replace").strip() if done.returncode == 0 else ""
