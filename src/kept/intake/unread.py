"""The list of files that should have been read but were not, for ``kept status`` and ``kept doctor``; files that their tool deletes
soon; and what prevents agents from calling kept, or kept from reading.

Contains only paths and reasons, never the content of a file.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.errors import KeptError
from kept.core.value import dataclass
from kept.local import files
from kept.local.clients import CLIENTS, GEMINI, TRANSCRIPTS, explain_dead_hook, hook_entries, is_own_hook
from kept.local.files.walking import find_files, is_excluded
from kept.paths import Paths
from kept.sources.retention import CLAUDE_CODE, claude_folder, deletion_time, retention_days
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.intake.cleaned_files import FilesToRead

FILE = "unread.json"
_MOST_ENTRIES = 1000  # entries in the list, at most


def load_unread_reasons(home: Paths, excluded: Sequence[str] = ()) -> dict[str, str]:
    """Load the reason for each file that was not read, by path, without those excluded since; empty if there is no valid list."""
    try:
        entries = json.loads(files.read_file(home.state / FILE).data or b"{}")
    except ValueError:
        return {}
    listed = entries.items() if isinstance(entries, dict) else ()
    return {str(path): str(reason) for path, reason in listed if not is_excluded(str(path), excluded)}


def record_unread(workspace: Workspace, paths: Sequence[Path], found: "FilesToRead", skipped: Sequence[tuple[str, str]]) -> None:
    """Update the list for the places that a run examined; an unchanged list is not written.

    Raises KeptError if the list cannot be written.
    """
    from kept.intake.discovery import list_source_places  # noqa: PLC0415 - loads every format, and `kept status` reads the list alone

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
    now = dict(sorted({**stays, **dict(skipped)}.items())[:_MOST_ENTRIES])
    if now != before:
        place = workspace.paths.state / FILE
        data = json.dumps(now, ensure_ascii=False, indent=1).encode()
        files.write_if_unchanged(place, data, expect=files.read_file(place).stamp, root=workspace.paths.root)


def _is_still_unread(workspace: Workspace, path: Path, roots: Sequence[Path]) -> bool:
    """True if an earlier entry still holds: the file exists, is not excluded, and this run did not examine its place."""
    exists = os.path.lexists(path) and not is_excluded(str(path), workspace.settings.exclude)
    return exists and not any(path.is_relative_to(root) for root in roots)


def find_outages(home: Paths) -> Iterator[tuple[str, str]]:
    """Yield what prevents agents from calling kept, or kept from reading their sessions, judging by files, with a fix for each."""
    for client in (*CLIENTS, GEMINI):
        folder = home.of(client)
        for place in (folder, *(folder / name for name in TRANSCRIPTS)):
            try:
                os.scandir(place).close()
            except PermissionError:
                yield f"{place} cannot be opened, so no session in it is read", f"chmod u+rwx {place}"
            except OSError:
                continue
        commands = [entry["command"] for _, entry in hook_entries(_parse_hooks(folder / client.file))]
        for fault in dict.fromkeys(fault for each in commands if is_own_hook(each) and (fault := explain_dead_hook(each))):
            yield f"{client.name} cannot call kept: {fault}", "kept doctor --fix"


def _parse_hooks(path: Path) -> dict[str, object]:
    try:
        body = json.loads(files.read_text(path))
    except (ValueError, KeptError):
        return {}
    return body if isinstance(body, dict) else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpiringFiles:
    """How many files that are not fully archived a tool deletes within a week, and when the first one is due."""

    source: str
    files: int
    since: datetime


def find_expiring_files(workspace: Workspace) -> tuple[ExpiringFiles, ...]:
    """Find what is lost soon unless it is read. Looks at names and times, and opens only files that are due and not archived."""
    days = retention_days(CLAUDE_CODE, workspace.paths.user, workspace.env)
    due: list[tuple[Path, os.stat_result, datetime]] = []
    for root in dict.fromkeys((workspace.paths.user, workspace.paths.root)):
        for path in find_files(claude_folder(root, workspace.env) / "projects"):
            with suppress(OSError):  # it was deleted since it was listed
                info = path.lstat()
                if (end := deletion_time(info, days, workspace.clock())) and not is_excluded(str(path), workspace.settings.exclude):
                    due.append((path, info, end))
    if not due or CLAUDE_CODE in workspace.settings.sources_off:
        return ()
    archived = {
        each.path: each.offset + each.account.pending for each in workspace.store.archive.files() if each.source == CLAUDE_CODE
    }
    ends = [end for path, info, end in due if archived.get(str(path)) != info.st_size and _is_of_claude_code(workspace, path)]
    return (ExpiringFiles(source=CLAUDE_CODE, files=len(ends), since=min(ends)),) if ends else ()


def _is_of_claude_code(workspace: Workspace, path: Path) -> bool:
    from kept.sources.files import SkippedFile, find_wide_encoding, identify_file  # noqa: PLC0415 - loads every format
    from kept.sources.registry import with_zone  # noqa: PLC0415 - as above

    found = identify_file(path, sources=with_zone(workspace.zone), owner=CLAUDE_CODE)
    return not isinstance(found, SkippedFile) and found.name == CLAUDE_CODE and not find_wide_encoding(path)
