"""Reading: transcript files → cleaned turns in the archive. Each slice commits with its cursor, so an interruption loses
nothing.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

from kept.core.errors import SourceError, UsageError
from kept.core.event import IGNORE, OFF_THE_RECORD, Author, Cursor, Event, EventKind, RecordAccount, Slice
from kept.core.isolation import isolate_errors
from kept.core.pattern import Pattern
from kept.core.redact import RedactionResult, redact
from kept.core.redact.scanner import load_scanner
from kept.intake.clean import Limits, clean
from kept.intake.identities import distinguish
from kept.intake.kinship import Branches, Remotes, note_branches, note_remotes
from kept.intake.shared_files import is_in_repository, label_shared, list_own_places
from kept.local.batches import split_batches
from kept.local.progress import Late, Progress, ignore_progress, never_late
from kept.local.settings.tables import SourceRoot, find_root_above
from kept.sources.base import Source
from kept.sources.entries import ENTRY, find_entries
from kept.sources.files import SkippedFile, SkipReason, find_files, identify_file, tool_folder_format
from kept.sources.registry import SOURCES, with_zone
from kept.sources.stat_cache import is_unchanged, make_stat_entry
from kept.workspace import Workspace

LIMITS = Limits()
_WORDS = (".md", ".markdown", ".mdx", ".txt", ".log", ".jsonl", ".ndjson", ".json")  # files that may be of the format a root names
REWRITTEN = "rewritten-file"  # what a source notes when it starts over
_SHORT = 200  # characters
BATCH_BYTES = 8 * 2**20
_LEAST_BYTES = 4096  # what an empty file counts for, so that a batch is no more than two thousand files


@dataclass(frozen=True, kw_only=True, slots=True)
class InputFile:
    """A file to read, and its format."""

    path: Path
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesToRead:
    """What there is to read: files with their format, and the paths that are not read, each with the reason.

    ``files`` are those to open, by path: a path takes a fifth of what its parts do, and there may be hundreds of thousands.
    ``unchanged`` counts by format the files that look as they did when they were read to their end; they are not opened.
    ``skipped`` should have been read: a person named them or the folder above them, or their tool calls them transcripts. ``left``
    are what else lies in a tool's folder, and what a person excluded or switched off. ``named`` are the paths that a person gave.
    """

    files: Mapping[str, Source]
    unchanged: Counter[str]
    skipped: tuple[tuple[str, str], ...]
    left: tuple[tuple[str, str], ...]
    named: tuple[Path, ...] = ()

    @property
    def inputs(self) -> Iterator[InputFile]:
        """The files to open, one at a time."""
        return (InputFile(path=Path(path), source=source) for path, source in self.files.items())

    @property
    def sources(self) -> Counter[str]:
        """How many transcripts there are of each format."""
        return Counter(source.name for source in self.files.values()) + self.unchanged


@dataclass(kw_only=True, slots=True)
class ReadingReport:
    """What was read so far: files that had something new, its days, the accounts by source, bytes before and after cleaning.

    ``opted_out`` are the sessions that are not to be remembered; ``erased`` counts the archived events of theirs that were erased.
    ``remotes`` counts by directory the repositories that git named there, ``branches`` holds what was worked on there.
    """

    files: int = 0
    fresh: int = 0
    days: set[date] = field(default_factory=set)
    accounts: dict[str, RecordAccount] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    left: tuple[tuple[str, str], ...] = ()
    bytes_in: int = 0
    bytes_kept: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    secrets: int = 0
    opted_out: set[str] = field(default_factory=set)
    erased: int = 0
    remotes: Remotes = field(default_factory=dict)
    branches: Branches = field(default_factory=dict)

    @property
    def account(self) -> RecordAccount:
        """The sum over all sources."""
        return sum(self.accounts.values(), RecordAccount())


@dataclass(frozen=True, kw_only=True, slots=True)
class _PathCandidate:
    """A path to examine. ``owner`` is the format whose tool's folder it lies in.

    ``named`` tells that a person named this very file, ``asked`` that they named it or a folder above it. ``root`` is the root of
    the settings that it lies in.
    """

    path: Path
    owner: str = ""
    root: SourceRoot | None = None
    named: bool = False
    asked: bool = False


def discover(workspace: Workspace, paths: Sequence[Path], *, force: bool = False) -> FilesToRead:
    """The files to read: those below the given paths, or every known place of every enabled source; ``force``: also unchanged ones.

    Raises UsageError where a given path does not exist.
    """
    files: dict[str, Source] = {}
    unchanged: dict[str, str] = {}
    skipped: list[tuple[str, str]] = []
    left: list[tuple[str, str]] = []
    sources = with_zone(workspace.zone)
    if not paths:
        gone = [place for root in workspace.settings.root if not os.path.lexists(place := root.resolve(workspace.paths.user))]
        skipped += [(printable(place), "a root that is not there: kept sources remove ends following it") for place in gone]
    for candidate in _paths_to_examine(workspace, paths):
        path, shown = candidate.path, printable(candidate.path)
        if _is_path_excluded(workspace, path):
            left.append((shown, "excluded by you"))
            continue
        if not force and (name := _unchanged_format(workspace, path)):
            unchanged[str(path)] = name
            continue
        try:
            with isolate_errors("its format cannot be told", str(path)):
                source = format_of(candidate.path, sources, candidate.root, named=candidate.named, owner=candidate.owner)
        except SourceError as error:
            skipped.append((shown, error.what))
            continue
        match source:
            case SkippedFile():
                (skipped if _is_missed(candidate, source) else left).append((shown, source.sentence))
            case _ if source.name in workspace.settings.sources_off:
                left.append((shown, f"{source.name} is switched off by you"))
            case _:
                files[str(path)] = source
    return FilesToRead(
        files=files, unchanged=Counter(unchanged.values()), skipped=tuple(skipped), left=tuple(left), named=tuple(paths)
    )


def format_of(
    path: Path, sources: Sequence[Source], root: SourceRoot | None = None, *, named: bool = False, owner: str = ""
) -> Source | SkippedFile:
    """The format of a file as :func:`examine` tells it, with what a person says of the root it lies in."""
    source = identify_file(path, sources=sources, named=named, owner=owner)
    if root is None:
        return source
    if isinstance(source, SkippedFile):
        # What no format claims in a vault is a note, not a conversation.
        name = "journal" if root.format == "vault" else root.format
        chosen = next((source for source in sources if source.name == name), None)
        if chosen is None or source.reason is not SkipReason.UNKNOWN_FORMAT or path.suffix.lower() not in _WORDS:
            return source
        source = chosen
    if root.author and is_dataclass(source) and any(item.name == "author" for item in fields(source)):
        author = Author.HUMAN if root.author == "person" else Author.ASSISTANT
        return cast("Source", replace(cast("Any", source), author=author))
    return source


def printable(path: Path) -> str:
    """A path as text, whatever bytes its name holds."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_missed(candidate: _PathCandidate, skipped: SkippedFile) -> bool:
    """Whether a path that is not read is a loss: not what else lies in a tool's folder, nor a program's own folder."""
    if skipped.reason is SkipReason.MACHINERY:
        return False
    return candidate.asked or skipped.reason not in (SkipReason.UNKNOWN_FORMAT, SkipReason.EMPTY)


def _unchanged_format(workspace: Workspace, path: Path) -> str:
    """The format of a file that looks as it did when it was read to its end, and is not left out; else empty."""
    try:
        (name := str(path)).encode()
    except UnicodeEncodeError:  # a name that is no text cannot be noted
        return ""
    known = workspace.store.archive.stat_cache_entry(name)
    if (
        known is None
        or known[0] in workspace.settings.sources_off
        or not is_unchanged(known[1], _make_stat_stamp(workspace, path, known[0]))
    ):
        return ""
    return known[0]


def _make_stat_stamp(workspace: Workspace, path: Path, source: str) -> str:
    """What a file looks like now, and whose words its root says it holds: where that changes, the file is read again."""
    root = find_root_above(workspace.settings.root, path, workspace.paths.user)
    return make_stat_entry(path, source, root.author if root else "")


def list_source_places(workspace: Workspace) -> tuple[tuple[Source, Path], ...]:
    """The known places of all sources that exist on this machine, also below a ``--home`` other than the user's."""
    roots = dict.fromkeys((workspace.paths.user, workspace.paths.root))
    found = [(source, place) for root in roots for source in SOURCES for place in source.places(root, workspace.env)]
    found += [(source, workspace.paths.agents) for source in SOURCES if source.name == "generic"]
    own = [
        entry
        for source in SOURCES
        if source.name == ENTRY
        for entry in find_entries(workspace.paths.root / workspace.settings.journal.folder)
    ]
    found += [(source, path) for source in SOURCES if source.name == ENTRY for path in own]
    return tuple((source, place) for source, place in dict.fromkeys(found) if place.exists())


def _paths_to_examine(workspace: Workspace, paths: Sequence[Path]) -> Iterator[_PathCandidate]:
    """Paths to examine."""
    if not paths:
        for source, place in list_source_places(workspace):
            yield from (_PathCandidate(path=path, owner=source.name) for path in find_files(place))
        for root in workspace.settings.root:
            files = find_files(root.resolve(workspace.paths.user)) if root.resolve(workspace.paths.user).exists() else ()
            yield from (_PathCandidate(path=path, owner=tool_folder_format(path), root=root) for path in files)
        return
    known = tuple((source.name, Path(os.path.realpath(place))) for source, place in list_source_places(workspace))
    for path in paths:
        if not path.exists() and not path.is_symlink():
            raise UsageError("there is no such file or directory", where=str(path))
        named = not path.is_dir()
        for file in (path.absolute(),) if named else find_files(path):
            above = find_root_above(workspace.settings.root, file, workspace.paths.user)
            yield _PathCandidate(path=file, owner=_owner(file, known), root=above, named=named, asked=True)


def _owner(path: Path, known: Sequence[tuple[str, Path]]) -> str:
    """The format whose tool's folder a file lies in: a folder of this machine, or one that is laid out like a tool's."""
    return next((name for name, place in known if path.is_relative_to(place)), "") or tool_folder_format(path)


def _is_path_excluded(workspace: Workspace, path: Path) -> bool:
    return is_excluded(str(path), workspace.settings.exclude)


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern fits a path, or a folder it lies in."""
    return any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern.rstrip('/')}/*") for pattern in patterns)


OPT_OUT = (IGNORE, "kept: ignore this conversation", OFF_THE_RECORD, "/kept:off")
_OFF_COMMAND = Pattern(r"<command-name>\s*/?kept:off\s*</command-name>")  # as Claude Code writes a command without arguments


def is_opt_out(event: Event) -> bool:
    """Whether the user says here that the conversation is not to be remembered: on a line of its own, outside of code, or by a
    command.
    """
    if event.kind is not EventKind.PROMPT or "kept:" not in event.text.lower():
        return False
    if event.author is Author.INJECTED and event.label_reason.startswith("wrapper:command-"):
        return bool(_OFF_COMMAND.search(event.text))
    if event.author not in (Author.HUMAN, Author.ABANDONED):
        return False
    parts = event.text.lower().split("```")
    return any(line.strip().rstrip(".!") in OPT_OUT for part in parts[::2] for line in part.splitlines())


def archive_files(
    workspace: Workspace, found: FilesToRead, *, force: bool = False, progress: Progress = ignore_progress, late: Late = never_late
) -> ReadingReport:
    """Archive what is new in the files. A file that cannot be read is skipped, counted and named; the rest goes on.

    ``force`` reads every file again from its start; what is known already is not stored twice. Where ``late`` says so no further
    files are opened. Raises StoreError.
    """
    sessions = {opted_out.session for opted_out in workspace.store.archive.opted_out_sessions()}
    result = ReadingReport(skipped=list(found.skipped), left=found.left, opted_out=sessions)
    own = list_own_places(workspace.settings.root, list_source_places(workspace), workspace.paths.user)
    without_secrets = _cache_redaction(partial(redact, key=workspace.store.key("redaction"), more=load_scanner()))
    number = 0
    for batch in split_batches(found.inputs, _weigh_input, BATCH_BYTES):
        if late():
            break
        # A file that is a batch of its own commits slice by slice, so that a run cut short goes on within it; one that is compared
        # with what it said before commits whole.
        with workspace.store.transaction() if len(batch) > 1 or _is_compared(batch[0].source) else nullcontext():
            for input_file in batch:
                progress("reading", number, len(found.files))
                number += 1
                try:
                    shared = is_in_repository(input_file.path, own, workspace.paths.user, found.named)
                    _read_file(workspace, input_file, without_secrets, result, shared=shared, force=force)
                except SourceError as error:
                    result.skipped.append((str(input_file.path), error.what))
    progress("reading", len(found.files), len(found.files))
    return result


def _cache_redaction(redaction: Callable[[str], RedactionResult]) -> Callable[[str], RedactionResult]:
    """The same redaction, which looks at a short text once: each event names the same directory, branch and tool again."""
    short = lru_cache(maxsize=1024)(redaction)
    return lambda text: short(text) if len(text) <= _SHORT else redaction(text)


def _weigh_input(each: InputFile) -> int:
    try:
        return max(each.path.stat().st_size, _LEAST_BYTES)
    except OSError:
        return _LEAST_BYTES


def _read_file(
    workspace: Workspace,
    each: InputFile,
    without_secrets: Callable[[str], RedactionResult],
    result: ReadingReport,
    *,
    shared: bool,
    force: bool,
) -> None:
    archive, path, source = workspace.store.archive, str(each.path), each.source.name
    known = archive.cursor(source, path)
    cursor = Cursor() if force or known is None else known
    anew, grown, rewritten = cursor == Cursor(), False, False
    now: list[Event] | None = None  # what a file that is read from its start says, where that is compared
    stamp = _make_stat_stamp(workspace, each.path, source)  # before it is read: what comes later is a change
    for piece in _read_slices(each, cursor):
        if piece.cursor == cursor:
            continue  # nothing but an unfinished last record: nothing is written
        rewritten = rewritten or REWRITTEN in piece.account.noted
        restarted = anew or REWRITTEN in piece.account.noted
        usable, account = _select_usable_events(
            workspace, label_shared(_assign_project(workspace, each.path, piece), shared=shared), result
        )
        with isolate_errors("it cannot be cleaned", path):
            cleaned = [clean(event, redact=without_secrets, limits=LIMITS) for event in usable]
        for done in cleaned:
            result.bytes_kept += len(done.event.text)
            result.secrets += done.secrets
            result.removed.update(done.removed)
            if done.event.at is not None:
                result.days.add(done.event.at.astimezone(workspace.zone).date())
        result.bytes_in += piece.cursor.offset - (0 if restarted else cursor.offset)
        reached = replace(piece.cursor, carry=_redact_carry(piece.cursor.carry, without_secrets))
        with workspace.store.transaction():
            events = list(distinguish(archive, [done.event for done in cleaned], rewritten=rewritten))
            result.fresh += archive.add(source, path, events, account, reached, anew=restarted)
            note_remotes(result.remotes, events)
            note_branches(result.branches, events)
        if restarted:
            now = events if _is_compared(each.source) else None
        elif now is not None:
            now += events
        result.accounts[source] = result.accounts.get(source, RecordAccount()) + account
        cursor, anew, grown = piece.cursor, False, True
    if now is not None:
        _mark_outdated_events(workspace, path, now, whole=source == ENTRY)
    if grown:
        result.files += 1
        archive.save_stat_cache_entry(source, path, stamp)


def _redact_carry(carry: str, without_secrets: Callable[[str], RedactionResult]) -> str:
    """What a reader carries on, without secrets in its names of folders and branches."""
    state = json.loads(carry or "{}")
    if not isinstance(state, dict):
        return carry
    names = {name: without_secrets(state[name]).text for name in ("branch", "cwd") if isinstance(state.get(name), str)}
    return json.dumps(state | names, ensure_ascii=False) if any(state[name] != value for name, value in names.items()) else carry


def _is_compared(source: Source) -> bool:
    """Whether a file of a format may say less than before, or be of another author: see :func:`_mark_outdated_events`."""
    return source.name == ENTRY or hasattr(source, "author")


def _assign_project(workspace: Workspace, path: Path, piece: Slice) -> Slice:
    """A slice with its events filed under the project that the file's root names, where it names one."""
    root = find_root_above(workspace.settings.root, path, workspace.paths.user)
    if root is None or not root.project:
        return piece
    directory = next((item.directory for item in workspace.store.archive.projects() if item.name == root.project), root.project)
    return replace(piece, events=tuple(replace(event, project=directory) for event in piece.events))


def _read_slices(each: InputFile, cursor: Cursor) -> Iterator[Slice]:
    """What the format reads, slice by slice; whatever its reader raises is a SourceError."""
    with isolate_errors("its reader failed", str(each.path)):
        slices = iter(each.source.read(each.path, cursor))
    while True:
        with isolate_errors("its reader failed", str(each.path)):
            piece = next(slices, None)
        if piece is None:
            return
        yield piece


def _mark_outdated_events(workspace: Workspace, path: str, now: Sequence[Event], *, whole: bool) -> None:
    """Note which events of a file do not count any more: what has another author since, and of a ``whole`` file (an entry of the
    journal) also what is not there.
    """
    archive, there = workspace.store.archive, {event.key for event in now}
    authors = {item: event.author for event in now for item in (event.text, event.pointer)}
    for thread in tuple(archive.threads(path=path)):
        events, (_, marked) = archive.events(thread.id, 0, thread.events), archive.tree(thread.id)
        gone = [
            event.key not in there
            and (whole or any(authors.get(item, event.author) is not event.author for item in (event.text, event.pointer)))
            for event in events
        ]
        if changes := [(place, left) for place, left in enumerate(gone) if left != bool(marked[place])]:
            archive.mark_abandoned(thread.id, changes)
            archive.save_extraction_progress(thread.id, extracted=0, seen=0)


def _select_usable_events(workspace: Workspace, piece: Slice, result: ReadingReport) -> tuple[list[Event], RecordAccount]:
    """The events that are to be remembered, and the account that says how many are not. What was archived of the others is
    erased.
    """
    for event in piece.events:
        if event.session and event.session not in result.opted_out and is_opt_out(event):
            result.opted_out.add(event.session)
            result.erased += workspace.store.archive.opt_out(event.session, event.pointer.path)
            workspace.store.days.drop_notes(sessions={event.session})
    noted: Counter[str] = Counter()
    usable: list[Event] = []
    for event in piece.events:
        if event.session in result.opted_out:
            noted["events-of-conversations-not-to-be-remembered"] += 1
        elif event.project and is_excluded(event.project, workspace.settings.exclude):
            noted["events-of-excluded-projects"] += 1
        else:
            usable.append(event)
    return usable, replace(piece.account, noted=dict(Counter(piece.account.noted) + noted)) if noted else piece.account
