"""Where a user's memory is stored, and how a project is identified.

Each user has a home of their own below the given one, with its own store, archive and files, so no search finds another user's.
"""

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import EllipsisType

from kept.core.errors import UsageError
from kept.paths import Paths, find_paths

_SHOWN = 40  # characters of a name in its folder name


def find_user_home(path: str | os.PathLike[str] | None, user: str | EllipsisType) -> Paths:
    """The home of a user's memory, below the folder ``path`` (None: the current user's home). With ``user=...`` it is that folder's
    own.

    The settings are those of the folder. Raises UsageError for a URL, a file, or an empty or missing name: a missing id must not
    fall back to somebody's memory.
    """
    if not (path is None or isinstance(path, (str, os.PathLike))):
        raise UsageError(f"a folder is a path or its text, not {path!r}")
    given = None if path is None else os.fspath(path)
    if given is not None and "://" in given:
        raise UsageError(
            f"no store can be reached at {given!r}", hint="give a folder whose setting store.url names the PostgreSQL server"
        )
    if given == "" or not (user is ... or (isinstance(user, str) and user.strip())):
        raise UsageError("that is nobody's memory", hint="give a name; without the argument, all share the memory of the folder")
    if given is not None and Path(given).is_file():
        raise UsageError("kept needs a folder, this is a file", where=given, hint="name a folder; the store is one file in it")
    home = find_paths(given, os.environ)
    if user is ...:
        return home
    # not in the state folder, so that erasing and checking the folder's own memory leave it alone
    own = home.state.with_name("kept-users") / make_folder_name(user)
    return replace(home, root=own, user=own, variables=(), settings_folder=home.config)


def identify_project(project: str | os.PathLike[str] | None) -> str:
    """The identifier of a project: the absolute path of a folder (a path object, or text with a separator), or else a name, even if
    a folder of that name exists; empty for None. Raises UsageError for an empty name.
    """
    if project is None:
        return ""
    given = os.fspath(project) if isinstance(project, (str, os.PathLike)) else ""
    if not given.strip():
        raise UsageError("an empty name is no project", hint="leave it out, or give a folder or a name")
    is_path = not isinstance(project, str) or given.startswith((".", "~")) or os.sep in given
    return str(Path(given).expanduser().resolve()) if is_path else f"{os.sep}{given}"


def make_folder_name(name: str) -> str:
    """A file name for a name: its plain characters and a hash, so that no two names share a file on any file system."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name[:_SHOWN]).strip("-")
    number = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{plain or 'x'}-{number}"
