"""The warnings of ``kept status``: files that kept should have read but did not, files that their tool deletes soon, and faults
that prevent agents from calling ``kept``, or ``kept`` from reading files.

The list of unread files contains paths and reasons, never the content of a file.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.errors import KeptError
from kept.core.project import matches_path
from kept.core.value import dataclass
from kept.local import files
from kept.local.clients import AGENTS, TRANSCRIPTS, explain_dead_hook, hook_entries, is_own_hook
from kept.local.files.walking import find_file_names
from kept.paths import Paths
from kept.sources.formats.claude_code import CLAUDE_CODE, claude_folder, deletion_time, retention_days
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.intake.cleaned_files import FilesToRead

FILE = "unread.json"
_MOST_ENTRIES = 1000


def load_unread_reasons(home: Paths, excluded: Sequence[str] = ()) -> dict[str, str]:
    """Load the reason for each unread file by path, without ``excluded`` files. Raises KeptError."""
    entries = files.read_object(home.state / FILE)
    return {path: str(reason) for path, reason in entries.items() if not matches_path(path, excluded)}


def record_unread(workspace: Workspace, paths: Sequence[Path], found: "FilesToRead", skipped: Sequence[tuple[str, str]]) -> None:
    """Update the list after a run that examined ``paths`` (empty: all known places). Writes the list only if it changed.

    Raises KeptError if the list cannot be read or written.
    """
    before = load_unread_reasons(workspace.paths)
    entries: list[tuple[str, str]] = []
    if before:
        known = (*(place for _, place in found.places), *(root.resolve(workspace.paths.user) for root in workspace.settings.root))
        roots = tuple(Path(os.path.realpath(path)) for path in paths or known)
        entries += (
            item for item in before.items() if item[0] not in found.files and _is_still_unread(workspace, Path(item[0]), roots)
        )
    now = dict(sorted(dict([*entries, *skipped]).items())[:_MOST_ENTRIES])
    if now != before:
        files.write_object(workspace.paths.state / FILE, now, root=workspace.paths.root)


def _is_still_unread(workspace: Workspace, path: Path, roots: Sequence[Path]) -> bool:
    """True if an earlier entry still holds: the file exists, is not excluded, and this run did not examine its place."""
    is_listed = os.path.lexists(path) and not matches_path(str(path), workspace.settings.exclude)
    return is_listed and not any(path.is_relative_to(root) for root in roots)


def find_outages(home: Paths) -> Iterator[tuple[str, str]]:
    """Yield each fault that prevents agents from calling kept, or kept from reading their sessions, as pairs (fault, fix
    command).
    """
    for client in AGENTS:
        folder = home.of(client)
        for place in (folder, *(folder / name for name in TRANSCRIPTS)):
            try:
                os.scandir(place).close()
            except PermissionError:
                yield f"{place} cannot be opened, so no session in it is read", f"chmod u+rwx {place}"
            except OSError:
                continue
        try:
            settings = files.read_object(folder / client.file)
        except KeptError:
            continue
        commands = [entry["command"] for _, entry in hook_entries(settings) if is_own_hook(entry["command"])]
        for fault in dict.fromkeys(filter(None, map(explain_dead_hook, commands))):
            yield f"{client.name} cannot call kept: {fault}", "kept doctor --fix"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpiringFiles:
    """The number of files of a tool that kept has not fully archived and the tool deletes within a week, and the first deletion."""

    source: str
    files: int
    since: datetime


def find_expiring_files(workspace: Workspace) -> tuple[ExpiringFiles, ...]:
    """Find the files that a tool deletes soon and kept has not archived. Opens no other files."""
    now, days = workspace.clock(), retention_days(CLAUDE_CODE, workspace.paths.user, workspace.env)
    due: list[tuple[str, os.stat_result, datetime]] = []
    for root in dict.fromkeys((workspace.paths.user, workspace.paths.root)):
        for path in find_file_names(claude_folder(root, workspace.env) / "projects"):
            with suppress(OSError):  # it was deleted since it was listed
                info = os.lstat(path)
                end = deletion_time(info, days, now)
                if end and not matches_path(path, workspace.settings.exclude):
                    due.append((path, info, end))
    if not due or CLAUDE_CODE in workspace.settings.sources_off:
        return ()
    archived = workspace.store.archive.file_ends(CLAUDE_CODE)
    ends = [end for path, info, end in due if archived.get(path) != info.st_size and _is_of_claude_code(workspace, Path(path))]
    return (ExpiringFiles(source=CLAUDE_CODE, files=len(ends), since=min(ends)),) if ends else ()


def _is_of_claude_code(workspace: Workspace, path: Path) -> bool:
    from kept.sources.registry import (  # noqa: PLC0415 - loads every format
        SkippedFile,
        find_wide_encoding,
        identify_file,
        with_zone,
    )

    found = identify_file(path, sources=with_zone(workspace.zone), owner=CLAUDE_CODE)
    return not isinstance(found, SkippedFile) and found.name == CLAUDE_CODE and not find_wide_encoding(path)
