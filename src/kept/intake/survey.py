"""Survey the transcripts on this machine by tool: which ones kept reads, which ones it does not read, and why.

The warnings of ``kept status`` name files that kept should have read but did not, files that their tool deletes soon, and faults
that prevent agents from calling ``kept``, or ``kept`` from reading files.

The list of unread files contains paths and reasons, never the content of a file.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

from kept.core.errors import KeptError
from kept.core.event import RecordAccount
from kept.core.project import matches_path
from kept.core.redact import redact
from kept.core.value import dataclass, field
from kept.intake.discovery import format_of, printable, source_places
from kept.local import files
from kept.local.clients import AGENTS, TRANSCRIPTS, explain_dead_hook, hook_entries, is_own_hook
from kept.local.files.walking import find_file_names, find_files
from kept.local.settings.tables import SourceRoot
from kept.paths import Paths
from kept.sources.base import ENTRY
from kept.sources.entries import find_entries
from kept.sources.formats.claude_code import CLAUDE_CODE, claude_folder, deletion_time, retention_days
from kept.sources.registry import LEFT_OUT, SOURCES, SkippedFile, SkipReason, find_wide_encoding, tool_folder_format, with_zone
from kept.store.values import OptedOut
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
    before, key = load_unread_reasons(workspace.paths), workspace.store.key("redaction")
    entries: list[tuple[str, str]] = []
    if before:
        known = (*(place for _, place in found.places), *(root.resolve(workspace.paths.user) for root in workspace.settings.root))
        roots = tuple(Path(redact(os.path.realpath(path), key=key).text) for path in paths or known)
        entries += (
            item for item in before.items() if item[0] not in found.files and _is_still_unread(workspace, Path(item[0]), roots)
        )
    now = dict(sorted(dict([*entries, *redact_paths(workspace, skipped)]).items())[:_MOST_ENTRIES])
    if now != before:
        files.write_object(workspace.paths.state / FILE, now, root=workspace.paths.root)


def redact_paths(workspace: Workspace, entries: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of a path and a reason without the secrets in them, for lists that are shown or stored."""
    key = workspace.store.key("redaction")
    return tuple((redact(path, key=key).text, redact(reason, key=key).text) for path, reason in entries)


def _is_still_unread(workspace: Workspace, path: Path, roots: Sequence[Path]) -> bool:
    """True if an earlier entry still holds: the file exists, is not excluded, and this run did not examine its place.

    The name of a file that contains a secret is not stored. Its entry holds as long as the folder above exists.
    """
    named = next(place for place in (path, *path.parents) if "[redacted:" not in str(place))
    is_listed = os.path.lexists(named) and not matches_path(str(path), workspace.settings.exclude)
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


_NAMED = 20  # maximum number of listed files that are not transcripts
_NOT_BY_SIZE = (".sqlite", ".sqlite3", ".db", ".vscdb", ".zst")  # the cursor of such a file does not give its size


@dataclass(kw_only=True, slots=True)
class ToolSurvey:
    """The transcripts of one tool.

    ``places`` are its locations, and whether they exist. ``files`` and ``size`` (bytes) count the transcripts there. ``fresh`` of
    these were never read, and ``grown`` of these have changed in size since they were read. ``elsewhere`` counts existing files
    that were read outside these places and the roots. ``sessions`` counts the archived sessions, from ``first_at`` to
    ``last_at``, and ``gone`` those of their files that no longer exist. ``excluded`` counts files that the user excluded.
    ``unreadable`` are paths with reasons. ``expiring`` are files that the tool deletes within a week and that are not fully
    archived. ``days_kept`` is the tool's retention in days (None: forever).
    """

    name: str
    enabled: bool
    places: tuple[tuple[Path, bool], ...] = ()
    files: int = 0
    size: int = 0
    fresh: int = 0
    grown: int = 0
    gone: int = 0
    elsewhere: int = 0
    excluded: int = 0
    sessions: int = 0
    account: RecordAccount = field(default_factory=RecordAccount)
    first_at: datetime | None = None
    last_at: datetime | None = None
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    expiring: list[str] = field(default_factory=list)
    days_kept: int | None = None

    @property
    def known(self) -> bool:
        """True if there is anything to report about the tool."""
        return bool(
            self.files or self.account.records or self.unreadable or self.excluded or any(there for _, there in self.places)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """The transcripts on this machine, by tool.

    ``others`` counts by reason the files in the tools' places that are not transcripts, and ``named`` lists the first of them with
    the reason. ``excluded`` counts excluded files by pattern. ``projects`` maps names to directories. ``unread`` maps each file
    that earlier runs should have read, but did not, to the reason.
    """

    tools: tuple[ToolSurvey, ...]
    others: Counter[str]
    named: tuple[tuple[str, str], ...]
    excluded: Counter[str]
    opted_out: tuple[OptedOut, ...]
    projects: Mapping[str, tuple[str, ...]]
    plugins_left_out: tuple[tuple[str, str], ...]
    unread: Mapping[str, str]


def survey(workspace: Workspace) -> Survey:
    """Examine all known places and roots. Opens files only as far as their format requires, and changes nothing."""
    accounts: dict[str, RecordAccount] = {}
    states = _states(workspace, accounts)
    tools = {tool_survey.name: tool_survey for tool_survey in _survey_archive(workspace, accounts)}
    others, excluded = Counter[str](), Counter[str]()
    named: list[tuple[str, str]] = []
    seen: set[str] = set()
    for path, place_of_tool, root in _paths(workspace, tools):
        seen.add(str(path))
        pattern = next((item for item in workspace.settings.exclude if matches_path(str(path), [item])), None)
        if pattern is not None:
            excluded[pattern] += 1
            place_of_tool.excluded += 1
        elif reason := _count_file(workspace, path, (place_of_tool, root), tools, states):
            others[reason] += 1
            if len(named) < _NAMED:
                named.append((printable(path), reason))
    every_unread = load_unread_reasons(workspace.paths)
    unread = {path: reason for path, reason in every_unread.items() if not matches_path(path, workspace.settings.exclude)}
    for missed in every_unread.keys() - unread.keys() - seen:
        excluded[next(item for item in workspace.settings.exclude if matches_path(missed, [item]))] += 1
    for source, known in states:
        exists = Path(known).exists()
        tools[source].gone += not exists
        tools[source].elsewhere += exists and known not in seen
    for tool_survey in tools.values():
        tool_survey.unreadable[:] = redact_paths(workspace, tool_survey.unreadable)
    return Survey(
        tools=tuple(tools.values()),
        others=others,
        named=redact_paths(workspace, named),
        excluded=excluded,
        opted_out=workspace.store.archive.opted_out_sessions(),
        projects=_projects(workspace),
        plugins_left_out=tuple(LEFT_OUT),
        unread=unread,
    )


_States = Mapping[tuple[str, str], int]


def _states(workspace: Workspace, accounts: dict[str, RecordAccount]) -> _States:
    """Return the number of bytes read of each file, by source and path. Also adds the files' accounts to ``accounts``."""
    states: dict[tuple[str, str], int] = {}
    for file_state in workspace.store.archive.files():
        states[intern(file_state.source), file_state.path] = file_state.offset + file_state.account.pending
        accounts[file_state.source] = accounts.get(file_state.source, RecordAccount()) + file_state.account
    return states


def _survey_archive(workspace: Workspace, accounts: Mapping[str, RecordAccount]) -> Iterator[ToolSurvey]:
    """Yield the survey of every tool, with what the archive contains from it."""
    sessions: dict[str, set[str]] = {}
    spans: dict[str, list[datetime]] = {}
    for thread in workspace.store.archive.threads():
        sessions.setdefault(thread.source, set()).add(thread.session)
        moments = spans.get(thread.source, [])
        times = [*moments, *(at for at in (thread.first_at, thread.last_at) if at is not None)]
        spans[thread.source] = [min(times), max(times)] if times else []
    for name in dict.fromkeys((*(source.name for source in SOURCES), *accounts)):
        times = spans.get(name, [])
        yield ToolSurvey(
            name=name,
            enabled=name not in workspace.settings.sources_off,
            sessions=len(sessions.get(name, ())),
            account=accounts.get(name, RecordAccount()),
            first_at=min(times, default=None),
            last_at=max(times, default=None),
            days_kept=retention_days(name, workspace.paths.user, workspace.env),
        )


def _paths(workspace: Workspace, tools: Mapping[str, ToolSurvey]) -> Iterator[tuple[Path, ToolSurvey, SourceRoot | None]]:
    """Yield every file in the places of the tools, then in the roots of the settings (with the root), without duplicates."""
    seen: set[Path] = set()
    for source in SOURCES:
        tool, journal = tools[source.name], workspace.paths.root / workspace.settings.journal.folder
        found = list(find_entries(journal)) if source.name == ENTRY else source_places(workspace, source)
        tool.places = tuple((place, place.exists()) for place in found)
        for place, there in tool.places:
            for path in find_files(place) if there else ():
                if path not in seen:
                    seen.add(path)
                    yield path, tool, None
        if source.name == ENTRY:
            tool.places = ((journal, bool(found)),)  # only the entries in the journal folder are examined
    for root in workspace.settings.root:
        place = root.resolve(workspace.paths.user)
        for path in find_files(place) if place.exists() else ():
            if path not in seen:
                seen.add(path)
                yield path, tools.get(root.format, tools["generic"]), root


_NO_TRANSCRIPTS = frozenset(
    {SkipReason.UNKNOWN_FORMAT, SkipReason.EMPTY, SkipReason.MACHINERY, SkipReason.OWN, SkipReason.CLIENT_NOTES}
)


def _count_file(
    workspace: Workspace, path: Path, within: tuple[ToolSurvey, SourceRoot | None], tools: Mapping[str, ToolSurvey], states: _States
) -> str:
    """Count one file, and return the reason if it is not a transcript, else an empty string.

    ``within`` is the tool whose place contains the file, or that the root names, and the root (None in a tool's place).
    """
    place_of, root = within
    owner = tool_folder_format(path) if root else place_of.name
    found = format_of(path, with_zone(workspace.zone), root, owner=owner)
    if isinstance(found, SkippedFile):
        if found.reason in _NO_TRANSCRIPTS:
            return found.reason.value
        place_of.unreadable.append((printable(path), found.reason.value))
        return ""
    tool, info = tools[found.name], path.stat()
    state = states.get((found.name, str(path)))
    if state is None and (name := find_wide_encoding(path)):
        tool.unreadable.append((printable(path), f"is {name}, not UTF-8"))
        return ""
    tool.files += 1
    tool.size += info.st_size
    tool.fresh += state is None
    grown = state is not None and path.suffix not in _NOT_BY_SIZE and state != info.st_size
    tool.grown += grown
    if (state is None or grown) and deletion_time(info, tool.days_kept, workspace.clock()) is not None:
        tool.expiring.append(str(path))
    return ""


def _projects(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """The directories of each project, by its name."""
    names = workspace.scope_names()
    found: dict[str, list[str]] = {}
    for project in workspace.store.archive.projects():
        scope = workspace.scope(project.directory)
        found.setdefault(names.get(scope, scope), []).append(project.directory)
    return {name: tuple(sorted(directories)) for name, directories in sorted(found.items())}
