"""Read transcript files into cleaned events in the archive.

Events commit together with the cursor after them, so an interrupted run continues there. Large files commit slice by slice, small
files in batches. Records with the same identity but different content get different keys, so that the archive keeps both.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.digest import hash_texts
from kept.core.errors import SourceError
from kept.core.event import FORGOTTEN_MARK, Author, Cursor, Event, EventKind, RecordAccount, is_note, is_prompt
from kept.core.fingerprint import is_known_statement, mark_known_statements
from kept.core.memory import SUGGESTED, Actor
from kept.core.operation import Reaffirm, to_facts
from kept.core.text import normal_form
from kept.core.value import dataclass, field, replace
from kept.extraction.rules.handover import find_suggestions
from kept.extraction.rules.patterns import build_evidence
from kept.intake.clean import CleanedEvent
from kept.intake.cleaned_files import (
    CleanedFile,
    CleanedSlice,
    FilesToRead,
    InputFile,
    UnreadFile,
    count_left_out,
    create_redaction,
    is_in_repository,
    is_own,
    list_own_places,
    read_slices,
    read_whole,
    weigh_file,
)
from kept.intake.discovery import make_stat_stamp
from kept.intake.project_evidence import Branches, Remotes, collect_branches, count_remotes
from kept.local.progress import Late, Progress, ignore_progress, never_late, split_batches
from kept.local.settings.tables import find_root_above
from kept.local.workers import Workers, map_ahead
from kept.sources.base import ENTRY, Source
from kept.sources.json_lines import REWRITTEN
from kept.sources.stat_cache import has_new_folder_settings
from kept.workspace import RunNumber, Workspace

if TYPE_CHECKING:
    from kept.store.archive.turns import Archive


BATCH_BYTES = 8 * 2**20
_LAST = 4  # events at the end of what was read, among which the assistant's question to a new prompt is
_WORKER_BATCH_BYTES = 2 * 2**20  # small enough to keep all processes busy until the end


@dataclass(kw_only=True, slots=True)
class ReadingReport:
    """The progress of reading: the number of ``files`` with new text, the ``days`` of their events, ``accounts`` by source, bytes
    read and characters kept.

    ``fresh`` counts the events that were not archived before. ``skipped`` lists files that could not be read, with the
    reason. ``left`` lists files that are not read on purpose. ``removed`` counts the bytes that cleaning removed by kind, and
    ``secrets`` the redacted secrets. ``opted_out`` are the sessions that are not to be remembered, and ``erased`` counts their
    archived events that were erased. ``remotes`` and ``branches`` are evidence about projects
    (:mod:`kept.intake.project_evidence`).
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


def archive_files(
    workspace: Workspace,
    found: FilesToRead,
    *,
    force: bool = False,
    workers: Workers | None = None,
    report: ReadingReport | None = None,
    progress: Progress = ignore_progress,
    late: Late = never_late,
) -> ReadingReport:
    """Archive the new events of the files. An unreadable file is skipped and reported.

    ``force`` reads every file from its start. Known events are not stored twice. ``workers`` read the files, if given. Once
    ``late`` is true, no more files are opened. ``report`` is the report of an earlier part of the same run, and is added to.
    ``progress`` gets amounts in the unit of :func:`weigh_file`. Raises StoreError.
    """
    result = report or ReadingReport()
    result.opted_out |= {opted_out.session for opted_out in workspace.store.archive.opted_out_sessions()}
    result.skipped += found.skipped
    result.left = found.left
    key = workspace.store.key("redaction")
    without_secrets = create_redaction(key)
    done, whole = found.before, found.before + sum(map(weigh_file, found.files)) + found.after
    forgotten = workspace.store.log.forgotten_fingerprints()
    most = _WORKER_BATCH_BYTES if workers else BATCH_BYTES
    for batch, read in map_ahead(workers, read_whole, _prepare_batches(workspace, found, key, most, force=force)):
        if late():
            break
        # A batch of one file commits slice by slice, so that an interrupted run continues within it. Exception: a file that is
        # compared with its previous version commits as a whole.
        with workspace.store.transaction() if len(batch) > 1 or _is_compared(batch[0].source) else nullcontext():
            for place, file in enumerate(batch):
                progress("reading", done, whole)
                done += weigh_file(str(file.path))
                try:
                    slices = _replay(read[place]) if read else read_slices(file, without_secrets)
                    _archive_file(workspace, file, slices, forgotten, result)
                except SourceError as error:
                    result.skipped.append((str(file.path), error.what))
    progress("reading", done, whole)
    return result


def _prepare_batches(
    workspace: Workspace, found: FilesToRead, key: bytes, most: int, *, force: bool
) -> Iterator[tuple[list[UnreadFile], list[UnreadFile] | None]]:
    """Yield pairs of a batch of files and the same batch for a worker process.

    The second is None for a file larger than a batch. Such a file is read slice by slice in this process, because a worker returns
    all events at its end, and needs eight bytes of memory for each byte of the file.
    """
    if not found.files:
        return
    own, cursor = list_own_places(workspace.settings.root, found.places, workspace.paths.user), workspace.store.archive.cursor
    for batch in split_batches(found.inputs, lambda item: weigh_file(str(item.path)), most):
        files = [
            UnreadFile(
                path=item.path,
                source=item.source,
                cursor=(
                    start := (not (force or _is_read_before_root(workspace, item)) and cursor(item.source.name, str(item.path)))
                    or Cursor()
                ),
                said=_last_reply(workspace, str(item.path)) if start != Cursor() else (),
                shared=is_in_repository(item.path, own, workspace.paths.user, found.named)
                or (str(item.path) in found.hooked and not is_own(item.path, own)),  # anybody who runs a hook can name any file
                project=_root_project(workspace, item.path),
                exclude=workspace.settings.exclude,
                key=key,
                # taken before reading, so that later writes count as a change
                stamp=make_stat_stamp(workspace, str(item.path), item.source.name),
            )
            for item in batch
        ]
        yield files, None if sum(weigh_file(str(item.path)) for item in batch) > BATCH_BYTES else files


def _last_reply(workspace: Workspace, path: str) -> tuple[tuple[str, str], ...]:
    """The session and the text of a file's last archived response, if it is one of the last events."""
    thread = max(workspace.store.archive.threads(path=path), key=lambda thread: thread.id, default=None)
    events = workspace.store.archive.events(thread.id, max(0, thread.events - _LAST), thread.events) if thread else ()
    return tuple((event.session, event.text) for event in events if event.kind is EventKind.RESPONSE)


def _is_read_before_root(workspace: Workspace, item: InputFile) -> bool:
    """True if a file was last read before a root of the settings named it as the person's own, or named its project.

    It is then read again from its start, because its events may belong to another project now, and because text that was held as
    a repository's may now count as the person's.
    """
    if find_root_above(workspace.settings.root, item.path, workspace.paths.user) is None:
        return False
    known = workspace.store.archive.stat_cache_entry(str(item.path))
    now = make_stat_stamp(workspace, str(item.path), item.source.name)
    return known is not None and bool(known[1]) and has_new_folder_settings(known[1], now)


def _replay(cleaned_file: CleanedFile) -> Iterator[CleanedSlice]:
    """Yield the slices that a worker process read, then raise its SourceError if there was one."""
    yield from cleaned_file.slices
    if cleaned_file.failed:
        raise SourceError(cleaned_file.failed)


def _archive_file(
    workspace: Workspace, file: UnreadFile, slices: Iterator[CleanedSlice], forgotten: frozenset[str], result: ReadingReport
) -> None:
    archive, path, source = workspace.store.archive, str(file.path), file.source.name
    grown, rewritten = False, False
    now: list[Event] | None = None  # all events of a file that is read from its start, if it is compared with its previous version
    for piece in slices:
        rewritten = rewritten or REWRITTEN in piece.account.noted
        usable, account = _drop_opted_out(workspace, piece, result)
        for done in usable:
            result.bytes_kept += len(done.event.text)
            result.secrets += done.secrets
            if done.removed:
                result.removed.update(done.removed)
            if done.event.at is not None:
                result.days.add(done.event.at.astimezone(workspace.zone).date())
        result.bytes_in += piece.size
        with workspace.store.transaction():
            readable = [_without_forgotten(workspace, done.event, forgotten) for done in usable]
            events = list(make_keys_unique(archive, readable, rewritten=rewritten))
            cursor = _without_forgotten_branch(workspace, piece.cursor, forgotten)
            result.fresh += archive.add_slice(source, path, events, account, cursor, anew=piece.restarted)
            count_remotes(result.remotes, events)
            collect_branches(result.branches, events)
        if piece.restarted:
            now = events if _is_compared(file.source) else None
        elif now is not None:
            now += events
        result.accounts[source] = result.accounts.get(source, RecordAccount()) + account
        grown = True
    if now is not None:
        _mark_outdated_events(workspace, path, now, whole=source == ENTRY)
    if grown:
        result.files += 1
        archive.save_stat_cache_entry(source, path, file.stamp)


def _without_forgotten(workspace: Workspace, event: Event, forgotten: frozenset[str]) -> Event:
    """Remove a branch name of forgotten words, and forgotten statements from an entry of a note. The rest of the entry stays,
    because its author may have extended it since.
    """
    if not forgotten:
        return event
    key = workspace.store.key("forget")
    if event.branch and _is_forgotten_branch(event.branch, forgotten, key):
        event = replace(event, branch="")
    text = mark_known_statements(event.text, forgotten, key, FORGOTTEN_MARK) if is_note(event) else event.text
    return event if text == event.text else replace(event, text=text)


def _without_forgotten_branch(workspace: Workspace, cursor: Cursor, forgotten: frozenset[str]) -> Cursor:
    state = json.loads(cursor.carry or "{}") if forgotten else None
    if not (isinstance(state, dict) and _is_forgotten_branch(str(state.get("branch")), forgotten, workspace.store.key("forget"))):
        return cursor
    return replace(cursor, carry=json.dumps(state | {"branch": ""}, ensure_ascii=False))


@lru_cache(maxsize=1_000)  # events repeat the branch
def _is_forgotten_branch(name: str, forgotten: frozenset[str], key: bytes) -> bool:
    return is_known_statement("".join(char if char.isalnum() else " " for char in name), forgotten, key)


def _is_compared(source: Source) -> bool:
    """True if files of this format may lose text or change their author, so that :func:`_mark_outdated_events` applies."""
    return source.name == ENTRY or hasattr(source, "author")


def _root_project(workspace: Workspace, path: Path) -> str:
    """The project directory that the file's root in the settings names. Empty if there is none."""
    root = find_root_above(workspace.settings.root, path, workspace.paths.user)
    if root is None or not root.project:
        return ""
    return next((item.directory for item in workspace.store.archive.projects() if item.name == root.project), root.project)


def _mark_outdated_events(workspace: Workspace, path: str, now: Sequence[Event], *, whole: bool) -> None:
    """Mark the archived events of a file that are outdated, because their author changed or because they are no longer in the file.

    The latter counts for the person's own text, and for all text of a ``whole`` file (a journal entry). An agent cuts its notes
    short without taking anything back, and an empty file may be one that is still being copied.
    """
    archive, present = workspace.store.archive, {event.key for event in now}
    authors = {item: event.author for event in now for item in (event.text, event.pointer)}
    for thread in tuple(archive.threads(path=path)):
        events, (_, marked) = archive.events(thread.id, 0, thread.events), archive.tree(thread.id)
        gone = [
            event.key not in present
            and (
                whole
                or (bool(present) and (event.author is Author.ABANDONED or (is_prompt(event) and is_note(event))))
                or any(authors.get(item, event.author) is not event.author for item in (event.text, event.pointer))
            )
            for event in events
        ]
        if changes := [(place, left) for place, left in enumerate(gone) if left != bool(marked[place])]:
            archive.mark_abandoned(thread.id, changes)
            archive.save_extraction_progress(thread.id, extracted=0, seen=0)


def _drop_opted_out(workspace: Workspace, piece: CleanedSlice, result: ReadingReport) -> tuple[list[CleanedEvent], RecordAccount]:
    """Return the events of sessions that are not opted out, and the account with the number of other events. Erases the archived
    events of sessions that opt out in this slice.
    """
    for session, path in piece.opted_out:
        if session not in result.opted_out:
            result.opted_out.add(session)
            for thread in workspace.store.archive.threads(path=path):
                _claim_suggestions(workspace, workspace.store.archive.events(thread.id, 0, thread.events), {session})
            result.erased += workspace.store.archive.opt_out(session, path)
            workspace.store.days.drop_notes(sessions={session})
    usable = [done for session, done in piece.events if session not in result.opted_out]
    if len(usable) < len(piece.events):
        _claim_suggestions(workspace, [done.event for _, done in piece.events], result.opted_out)
    return usable, count_left_out(piece.account, "events-of-conversations-not-to-be-remembered", len(piece.events) - len(usable))


def _claim_suggestions(workspace: Workspace, events: Sequence[Event], sessions: Collection[str]) -> None:
    """Link agents' suggestions to the opted-out sessions that made them, so that they are erased with these sessions.

    A suggestion does not record its session. So each gets as evidence a tool call of these sessions that has the same words.
    """
    called = {
        normal_form(suggestion.text): build_evidence(suggestion.event, "")
        for suggestion in find_suggestions(events, 0, len(events))
        if suggestion.event.session in sessions
    }
    memories = workspace.store.log.memories() if called else ()
    operations = tuple(
        Reaffirm(memory=memory.id, at=None, reason="its session is off the record", facts=replace(to_facts(memory), added=(quote,)))
        for memory in memories
        if memory.trigger == SUGGESTED and not memory.evidence and (quote := called.get(normal_form(memory.content)))
    )
    if operations:
        run = RunNumber(workspace, "suggest")
        run.commit("suggest", operations, subject="", actor=Actor.AGENT)
        run.end()


_HASH_CHARS = 12  # characters of a content hash in a key


def make_keys_unique(archive: "Archive", events: Sequence[Event], *, rewritten: bool) -> Iterator[Event]:
    """Yield the events of a slice. If an event's key already belongs to other content, the event gets a new key, which is the same
    each time the file is read.

    In a ``rewritten`` file, a record with an old identity and new content is a new version of the old record.
    """
    seen: dict[str, Event] = {}
    known = archive.known_keys(event.key for event in events)
    for event in events:
        earlier = seen.get(event.key) or (archive.event(event.key) if event.key in known else None)
        if earlier is not None and _has_other_content(earlier, event):
            own = replace(event, key=f"{event.key}~{(event.twin or hash_texts(event.kind, event.text))[:_HASH_CHARS]}")
            if not (_is_same_record(earlier, event, rewritten=rewritten) and archive.event(own.key) is None):
                event = own  # noqa: PLW2901 - continue with the new key
        seen.setdefault(event.key, event)
        yield event


def _has_other_content(earlier: Event, event: Event) -> bool:
    """True if two events differ in content. Differences from cleaning or from forgotten text do not count."""
    if FORGOTTEN_MARK in earlier.text or bool(earlier.twin) != bool(event.twin):
        return False
    if earlier.twin:
        return earlier.twin != event.twin and earlier.text != event.text
    return (earlier.kind, earlier.text) != (event.kind, event.text)


def _is_same_record(earlier: Event, event: Event, *, rewritten: bool) -> bool:
    """True if both events come from the same position in a file, or are two versions of one record in a rewritten file."""
    before, now = earlier.pointer, event.pointer
    return before.path == now.path and (rewritten or (before.line, before.start, before.end) == (now.line, now.start, now.end))
