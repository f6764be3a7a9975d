"""Folders and files that every run reads, as stored in the settings."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from kept.core.errors import UsageError
from kept.intake.discovery import format_of, list_source_places
from kept.local.files.walking import find_file_names
from kept.local.settings import load_settings
from kept.local.settings.tables import AUTHORS, SourceRoot, find_root_above
from kept.memories.configure import remove_table_item, save_table_item
from kept.paths import Paths
from kept.sources.formats.journal import Journal
from kept.sources.registry import SOURCES, tool_folder_format
from kept.workspace import Workspace

_EXAMINED = 1_000  # maximum number of files examined for notes


def load_roots(home: Paths) -> tuple[SourceRoot, ...]:
    """Return the roots in the settings. Raises ConfigError."""
    return load_settings(home.settings).root


def add_root(home: Paths, path: Path, *, source: str = "", project: str = "", author: str = "") -> SourceRoot:
    """Add a folder or file that every run reads. If it was added before, change only the options that are given.

    Raises UsageError if it does not exist or no new option is given; ConfigError.
    """
    place = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - links stay as written
    if not os.path.exists(place):  # noqa: PTH110 - as in tables.is_vault
        raise UsageError("there is no such file or directory", where=str(place), hint="look at the path and its permissions")
    if not os.access(place, os.R_OK | (os.X_OK if place.is_dir() else 0)):
        raise UsageError("permission denied", where=str(place), hint="make it readable for you")
    if source and source not in {source.name for source in SOURCES}:
        raise UsageError(f"there is no format {source!r}", hint=f"formats: {', '.join(source.name for source in SOURCES)}")
    if author not in ("", *AUTHORS):
        raise UsageError(f"the author is {' or '.join(AUTHORS)}", hint="--author person")
    root = SourceRoot(path=str(place), format=source, project=project, author=author)
    number = None
    for at, source_root in enumerate(load_roots(home)):
        if source_root.resolve(home.user) == place:
            root = SourceRoot(
                path=source_root.path,
                format=source or source_root.format,
                project=project or source_root.project,
                author=author or source_root.author,
            )
            if root == source_root:
                raise UsageError("every run reads this already", where=str(place), hint="to end that: kept sources remove PATH")
            number = at
    save_table_item(home, "root", asdict(root), number=number)
    return root


def has_notes(home: Paths, root: SourceRoot) -> bool:
    """True if notes whose author the settings decide are among the first files of a root. Raises SourceError."""
    files = islice(find_file_names(root.resolve(home.user)), _EXAMINED)
    return any(isinstance(format_of(Path(file), SOURCES, root), Journal) for file in files)


def remove_root(home: Paths, path: Path) -> SourceRoot:
    """Stop reading a folder or file at every run. Its memories stay. Raises UsageError if it is not a root."""
    place = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - as above
    for number, root in enumerate(load_roots(home)):
        if root.resolve(home.user) == place:
            remove_table_item(home, "root", number)
            return root
    raise UsageError("this is not one of the added sources", where=str(place), hint="kept sources list")


def find_unfollowed(workspace: Workspace, paths: Sequence[Path]) -> tuple[Path, ...]:
    """The folders among ``paths`` that a run reads only if a person names them."""
    known = [place for _, place in list_source_places(workspace)]
    return tuple(
        place
        for path in paths
        if (place := Path(os.path.abspath(path))).is_dir()  # noqa: PTH100 - as above
        and find_root_above(workspace.settings.root, place, workspace.paths.user) is None
        and not tool_folder_format(place / "file")
        and not any(place.is_relative_to(path) for path in known)
    )


def root_body(root: SourceRoot, user: Path) -> dict[str, Any]:
    """A root as JSON."""
    place = root.resolve(user)
    there = os.path.exists(place)  # noqa: PTH110 - as above
    return {"path": str(place), "as": root.format, "project": root.project, "author": root.author, "exists": there}
