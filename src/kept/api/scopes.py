"""Where the memory of a user lies, and what names a project. Every user has a home of their own below the first one, with a store,
an archive and files of its own: what is not in the same store cannot be found in it.
"""

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import EllipsisType

from kept.core.errors import UsageError
from kept.paths import Paths, find_paths

_SHOWN = 40  # characters of a name that its folder shows


def home_of_user(path: str | os.PathLike[str] | None, user: str | EllipsisType) -> Paths:
    """Where the memory of a user lies: below the folder ``path`` (None: the home of who runs this), which itself is that of no
    user (``...``).

    The settings are those of that folder. Raises UsageError for an address, a file, or what is no name: a missing id is nobody.
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
    own = home.state.with_name("kept-users") / folder_name(user)  # no part of the state: what erases or checks that leaves it alone
    return replace(home, root=own, user=own, variables=(), settings_folder=home.config)


def directory_of(project: str | os.PathLike[str] | None) -> str:
    """What stands for a project: the absolute path of a folder, which is a path object or has a separator, or a name as it is,
    whatever folder there may be; empty for None. Raises UsageError for an empty name.
    """
    if project is None:
        return ""
    given = os.fspath(project) if isinstance(project, (str, os.PathLike)) else ""
    if not given.strip():
        raise UsageError("an empty name is no project", hint="leave it out, or give a folder or a name")
    is_path = not isinstance(project, str) or given.startswith((".", "~")) or os.sep in given
    return str(Path(given).expanduser().resolve()) if is_path else f"{os.sep}{given}"


def folder_name(name: str) -> str:
    """A name as that of a file: what is plain of it, and a hash, so that no two names share a file on any file system."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name[:_SHOWN]).strip("-")
    number = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{plain or 'x'}-{number}"
