"""Cleaned files: what a transcript file says, without secrets, as values. Reads one file and nothing else, so that any process may
do it that sees the file.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from kept.core.errors import SourceError, isolate_errors
from kept.core.event import Author, Cursor, Event, EventKind, RecordAccount, Slice
from kept.core.handover import OPT_OUT
from kept.core.pattern import Pattern
from kept.core.redact import RedactionResult, redact
from kept.core.redact.scanner import load_scanner
from kept.core.spans import event_spans
from kept.core.value import dataclass, replace
from kept.intake.clean import CleanedEvent, Limits, clean_all
from kept.intake.shared_files import label_shared
from kept.local.files.walking import is_excluded
from kept.sources.base import Source
from kept.sources.json_lines import REWRITTEN

Redact = Callable[[str], RedactionResult]
LIMITS = Limits()
_LEAST_BYTES = 4096  # what an empty file counts for, so that a batch is no more than two thousand files
_PROSE = 4  # records are mostly names, and what tools showed of files: little of it is kept
_LINE = re.compile(r"\S[^\n]*")
_OFF_COMMAND = Pattern(r"<command-name>\s*/?kept:off\s*</command-name>")  # as Claude Code writes a command without arguments


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
    are what else lies in a tool's folder, and what a person excluded or switched off. ``named`` are the paths that a person gave,
    ``hooked`` the files that hooks named. ``before`` and ``after`` are the bytes of what the same run reads earlier and later.
    """

    files: Mapping[str, Source]
    unchanged: Counter[str]
    skipped: tuple[tuple[str, str], ...]
    left: tuple[tuple[str, str], ...]
    named: tuple[Path, ...] = ()
    hooked: frozenset[str] = frozenset()
    before: int = 0
    after: int = 0

    def as_hooked(self) -> "FilesToRead":
        """The same files, named by hooks and not by a person."""
        return replace(self, named=(), hooked=frozenset(self.files))

    @property
    def inputs(self) -> Iterator[InputFile]:
        """The files to open, one at a time."""
        return (InputFile(path=Path(path), source=source) for path, source in self.files.items())

    def split_newest(self, most: int) -> "tuple[FilesToRead, FilesToRead]":
        """The files that changed last, ``most`` bytes of them, and the rest, with every file that is larger by itself."""
        first: dict[str, Source] = {}
        size = 0
        for _, path, each in sorted((_stat_file(path) for path in self.files), reverse=True):
            if each <= most:
                size += each
                if size > most:
                    break
                first[path] = self.files[path]
        rest = {path: source for path, source in self.files.items() if path not in first}
        return (
            replace(self, files=first, after=weigh_files(rest)),
            replace(self, files=rest, before=weigh_files(first), skipped=() if first else self.skipped),
        )

    @property
    def sources(self) -> Counter[str]:
        """How many transcripts there are of each format."""
        return Counter(source.name for source in self.files.values()) + self.unchanged


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadFile:
    """A file to read on from a cursor, and all that reading and cleaning it depends on.

    ``shared`` tells that others write to it too, ``project`` the directory its events are filed under whatever they say (empty:
    what they say), ``exclude`` the directories whose events are left out; ``key`` marks secrets. ``stamp`` is what the file looked
    like before.
    """

    path: Path
    source: Source
    cursor: Cursor
    shared: bool
    project: str
    exclude: tuple[str, ...]
    key: bytes
    stamp: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedSlice:
    """A piece of a file: its events with their sessions as the file names them, what became of its records, where it ends.

    ``opted_out`` are the sessions that are not to be remembered by what is said here, each with where that stands. ``restarted``
    tells that it begins at the start of the file; ``size`` counts the bytes that were read.
    """

    events: tuple[tuple[str, CleanedEvent], ...]
    opted_out: tuple[tuple[str, str], ...]
    account: RecordAccount
    cursor: Cursor
    restarted: bool
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedFile:
    """What there is to read in a file, and why the rest of it could not be read (empty: it could)."""

    slices: tuple[CleanedSlice, ...]
    failed: str


def weigh_files(paths: Iterable[str]) -> int:
    """What files weigh together."""
    return sum(map(weigh_file, paths))


def weigh_file(path: str, read: int = 0) -> int:
    """What a file weighs from so many bytes on: its bytes, those of prose as often as reading one takes longer than one of a
    record. An empty one weighs something as well.
    """
    return _stat_file(path, read)[2]


def _stat_file(path: str, read: int = 0) -> tuple[float, str, int]:
    """When a file changed last, its path, and what it weighs."""
    try:
        info = os.stat(path)  # noqa: PTH116 - there may be hundreds of thousands
    except OSError:
        return 0, path, _LEAST_BYTES
    each = 1 if path.endswith((".jsonl", ".json")) else _PROSE
    return info.st_mtime, path, max((info.st_size - read) * each, _LEAST_BYTES)


def read_whole(files: Sequence[UnreadFile]) -> tuple[CleanedFile, ...]:
    """What some files say, each with why it could not be read. They have one key."""
    without_secrets = create_redaction(files[0].key)
    return tuple(_read_to_end(file, without_secrets) for file in files)


def _read_to_end(file: UnreadFile, without_secrets: Redact) -> CleanedFile:
    slices: list[CleanedSlice] = []
    try:
        slices.extend(read_slices(file, without_secrets))
    except SourceError as error:
        return CleanedFile(slices=tuple(slices), failed=error.what)
    return CleanedFile(slices=tuple(slices), failed="")


def read_slices(file: UnreadFile, without_secrets: Redact) -> Iterator[CleanedSlice]:
    """What is new in a file, slice by slice. Raises SourceError."""
    cursor = file.cursor
    for piece in _read_pieces(file):
        if piece.cursor == cursor:
            continue  # nothing but an unfinished last record: nothing is written
        restarted = cursor == Cursor() or REWRITTEN in piece.account.noted
        opted_out = tuple((event.session, event.pointer.path) for event in piece.events if event.session and is_opt_out(event))
        told = label_shared(_file_under(piece, file.project), shared=file.shared)
        usable = [event for event in told.events if not (event.project and is_excluded(f"{event.project}/", file.exclude))]
        with isolate_errors("it cannot be cleaned", str(file.path)):
            clean_events = clean_all(usable, redact=without_secrets, limits=LIMITS)
            cleaned = tuple((event.session, clean) for event, clean in zip(usable, clean_events, strict=True))
        yield CleanedSlice(
            events=cleaned,
            opted_out=opted_out,
            account=note_left_out(told.account, "events-of-excluded-projects", len(told.events) - len(usable)),
            cursor=replace(piece.cursor, carry=_redact_carry(piece.cursor.carry, without_secrets)),
            restarted=restarted,
            size=piece.cursor.offset - (0 if restarted else cursor.offset),
        )
        cursor = piece.cursor


def _file_under(piece: Slice, project: str) -> Slice:
    """A slice with its events filed under a project, where there is one."""
    return replace(piece, events=tuple(replace(event, project=project) for event in piece.events)) if project else piece


def note_left_out(account: RecordAccount, reason: str, count: int) -> RecordAccount:
    """An account that says as well how many events are left out for a reason."""
    return replace(account, noted=dict(Counter(account.noted) + Counter({reason: count}))) if count else account


def is_opt_out(event: Event) -> bool:
    """Whether the user says here that the conversation is not to be remembered: by a command, or on a line of its own, outside of
    code, which is the first or the last of a prompt or none of what they pasted. A page that they paste says nothing.
    """
    if event.kind is not EventKind.PROMPT or "kept:" not in event.text.lower():
        return False
    if event.author is Author.INJECTED and event.label_reason.startswith("wrapper:command-"):
        return bool(_OFF_COMMAND.search(event.text))
    if event.author not in (Author.HUMAN, Author.ABANDONED):
        return False
    text = event.text.rstrip()
    for line in _LINE.finditer(text):
        start, end = line.span()
        if line[0].strip().rstrip(".!").lower() not in OPT_OUT or text.count("```", 0, start) % 2:
            continue
        at_edge = not text[:start].strip() or end == len(text)
        foreign = [span for span in event_spans(event) if not span.is_typed and span.start != start]
        if at_edge or not any(span.start <= start < span.end or line[0].startswith("<") for span in foreign):
            return True
    return False


def _read_pieces(file: UnreadFile) -> Iterator[Slice]:
    """What the format reads, slice by slice; whatever its reader raises is a SourceError."""
    with isolate_errors("its reader failed", str(file.path)):
        slices = iter(file.source.read(file.path, file.cursor))
    while True:
        with isolate_errors("its reader failed", str(file.path)):
            piece = next(slices, None)
        if piece is None:
            return
        yield piece


def create_redaction(key: bytes) -> Redact:
    """A redaction under a key, with the further scanner that is installed."""
    return partial(redact, key=key, more=load_scanner())


def _redact_carry(carry: str, without_secrets: Redact) -> str:
    """What a reader carries on, without secrets in its names of folders and branches."""
    state = json.loads(carry or "{}")
    if not isinstance(state, dict):
        return carry
    names = {name: without_secrets(state[name]).text for name in ("branch", "cwd") if isinstance(state.get(name), str)}
    return json.dumps(state | names, ensure_ascii=False) if any(state[name] != value for name, value in names.items()) else carry
