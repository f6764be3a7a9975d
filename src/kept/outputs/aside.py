"""Files that were set aside because they looked like damage, until a person says that they meant them as they are.

Beside each copy stands a note of whose it is and which lines its file had: what was remembered later is not gone from it.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kept.local import files
from kept.paths import Paths

_NOTE = ".json"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantinedCopy:
    """A copy of a file that waits for a person's word; ``keys`` are the lines of kept's that the file had."""

    copy: Path
    keys: frozenset[str]


def quarantine_file(paths: Paths, path: Path, keys: Collection[str]) -> Path:
    """Copy a file as it stands; the copy takes the place of an earlier one that waits. Returns where it is."""
    release_quarantined(paths, path)
    copy = files.copy_to_quarantine(path, into=_quarantine_folder(paths))
    note = {"path": str(path), "keys": sorted(keys)}
    files.write_if_unchanged(_note_path(copy), json.dumps(note).encode(), expect=files.MISSING, root=paths.state)
    return copy


def find_quarantined(paths: Paths, path: Path) -> QuarantinedCopy | None:
    """The copy of a file that waits for a person's word; None where none does."""
    for note in sorted(_quarantine_folder(paths).glob(f"*{_NOTE}")):
        try:
            body = json.loads(files.read_file(note).data)
            if body["path"] == str(path) and (copy := note.with_suffix("")).is_file():
                return QuarantinedCopy(copy=copy, keys=frozenset(body["keys"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None


def release_quarantined(paths: Paths, path: Path) -> None:
    """Note that no copy of a file waits any more; the copies stay."""
    if quarantined_copy := find_quarantined(paths, path):
        note = _note_path(quarantined_copy.copy)
        files.delete_if_unchanged(note, expect=files.read_file(note).stamp, root=paths.state)


def _quarantine_folder(paths: Paths) -> Path:
    return paths.state / "aside"


def _note_path(copy: Path) -> Path:
    return copy.with_name(copy.name + _NOTE)
