"""Find a folder's repository and its origin by reading git's own files, and ask git for the repository's first commit."""

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
    """Find the repository that contains a directory. None if there is none or it is unreadable."""
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
    """Find the main checkout of a worktree. The worktree's ``.git`` file names a folder in the repository, and ``commondir`` in
    that folder names the common ``.git`` folder.
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
    """Return host and path of a repository's URL in lower case. Empty if the text is a folder or not a URL."""
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
    """Read the first bytes of a file as text. Empty if there is no file or it cannot be read."""
    try:
        if not path.is_file():
            return ""  # reading a pipe would block forever
        with path.open("rb") as file:
            return file.read(_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


_SECONDS = 20  # timeout of git; generous, for a long history
_NO_FETCH = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}


def first_commit(git: Path) -> str | None:
    """Return the hash of the root commit that a repository's HEAD reaches by first parents.

    Empty if git reports an error or the clone is shallow, because a shallow history is truncated. None if git cannot be started.
    ``git`` is the ``.git`` folder of the main worktree. The command does not run programs that the repository's settings name, and
    does not fetch missing commits.
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
