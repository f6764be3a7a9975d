"""The list of files that should have been read and were not, kept between runs for ``kept status`` and ``kept doctor``.

Knows paths and reasons. What the files hold is never in it.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from kept.intake.cleaned_files import is_excluded
from kept.intake.reading import FilesToRead, list_source_places
from kept.local import files
from kept.paths import Paths
from kept.workspace import Workspace

FILE = "unread.json"
_MOST = 1000  # entries that are kept; a folder of a hundred thousand strange files needs no list of each


def load_unread_reasons(home: Paths) -> dict[str, str]:
    """The reason of each file that was not read, by path; nothing where there is no list or it cannot be understood."""
    try:
        entries = json.loads(files.read_file(home.state / FILE).data or b"{}")
    except ValueError:
        return {}
    return {str(path): str(reason) for path, reason in entries.items()} if isinstance(entries, dict) else {}


def note_unread(workspace: Workspace, paths: Sequence[Path], found: FilesToRead, skipped: Sequence[tuple[str, str]]) -> None:
    """Replace what the list says of the places a run looked at; nothing is written where the list stays as it was.

    Raises KeptError where the list cannot be written.
    """
    before = load_unread_reasons(workspace.paths)
    known = [place for _, place in list_source_places(workspace)] + [
        root.resolve(workspace.paths.user) for root in workspace.settings.root
    ]
    roots = tuple(Path(os.path.realpath(path)) for path in paths or known)
    stays = {
        path: reason
        for path, reason in before.items()
        if path not in found.files and _is_still_unread(workspace, Path(path), roots)
    }
    now = dict(sorted({**stays, **dict(skipped)}.items())[:_MOST])
    if now != before:
        place = workspace.paths.state / FILE
        data = json.dumps(now, ensure_ascii=False, indent=1).encode()
        files.write_if_unchanged(place, data, expect=files.read_file(place).stamp, root=workspace.paths.root)


def _is_still_unread(workspace: Workspace, path: Path, roots: Sequence[Path]) -> bool:
    """Whether an entry of an earlier run still holds: the file is there, is not excluded, and this run did not look at its
    place.
    """
    there = os.path.lexists(path) and not is_excluded(str(path), workspace.settings.exclude)
    return there and not any(path.is_relative_to(root) for root in roots)
