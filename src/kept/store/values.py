"""The values that a store takes and returns, and the rows of its export."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from kept.core.document import Line
from kept.core.event import Cursor, Event, RecordAccount
from kept.core.memory import Actor, CandidateVerdict
from kept.core.operation import Operation, Pass
from kept.core.project import Project
from kept.core.summary import Passage, WorkNote
from kept.core.value import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """The events of one session in one file. ``extracted`` is the ordinal from which its episodes are still open."""

    id: int
    session: str
    source: str
    path: str
    project: str
    events: int
    extracted: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """The last mention of a name in a file: working directory (empty if the file names none), path and time."""

    project: str
    path: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionActivity:
    """A session's events within a span of time: their source, the number of events and prompts, and the first and last time."""

    source: str
    path: str
    session: str
    project: str
    events: int
    prompts: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class FileState:
    """A known file: the position up to which it was read (bytes, records), and the account of all its records."""

    source: str
    path: str
    offset: int
    line: int
    account: RecordAccount


# The stages whose passes propose candidates: rules over a session, rules over consecutive sessions, and a model.
EXTRACT, SEQUEL, MODEL = "extract", "sequel", "model"
CURATE, GUARD = "curate", "guard"  # stages of passes: what curation changed, and what a guard stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The part of a thread that a proposing pass covers, from ordinal ``start`` on.

    ``judged`` are its candidates, each with the ordinal of its episode's first event. They replace the candidates that earlier
    passes of the same stage proposed for that part.
    """

    thread: int
    start: int
    judged: tuple[tuple[int, CandidateVerdict], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A pass before it is committed to the log."""

    run: int
    stage: str
    subject: str
    actor: Actor
    recorded_at: datetime
    operations: tuple[Operation, ...] = ()
    undoes: tuple[int, ...] = ()
    redoes: tuple[int, ...] = ()
    note: str = ""
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run: its command, the times of its start and end (``ended_at`` is None if it was interrupted), and its report as JSON."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    report: Mapping[str, Any]


class Outline(NamedTuple):
    """The fields by which lists of memories are filtered and sorted. ``status`` is that at one moment. Times are as stored."""

    id: str
    profile: str
    category: str
    scope: str
    status: str
    origin: str
    last_seen: str
    pinned: bool
    first_seen: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A candidate with its verdict, its pass, and its episode (thread, and ordinal of the episode's first event)."""

    judged: CandidateVerdict
    pass_id: int
    thread: int
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The lines that kept wrote to a file, and the hash of their bytes."""

    hash: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveCounts:
    """The number of files, of threads, of threads ``pending`` extraction, and of threads with events that no model has read."""

    files: int
    threads: int
    pending: int
    pending_llm: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadNote:
    """A note with its thread, and the session, working directory and file path of that thread."""

    note: WorkNote
    thread: int
    session: str
    project: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadPoint:
    """A point with the session, working directory and file path of its thread."""

    passage: Passage
    session: str
    project: str
    path: str


VERSION = 1  # version of the export format


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreRow:
    """The first row of an export: the version of the format, and the key of the store's fingerprints."""

    version: int
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRow:
    """A known file: the position up to which it was read, and the account of its records."""

    source: str
    path: str
    cursor: Cursor
    account: RecordAccount


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    """An archived event. ``twin`` recognises its copies even if words of the event were erased."""

    event: Event
    twin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadRow:
    """A thread of a file: the keys of its events in order, and the ordinals of events that a later rewind replaced.

    ``heard`` is the number of its events that a model has read. Its chunks before ordinal ``closed`` are closed.
    """

    id: int
    source: str
    path: str
    session: str
    project: str
    extracted: int
    seen: int
    events: tuple[str, ...]
    abandoned: tuple[int, ...] = ()
    closed: int = 0
    heard: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """A run. An interrupted one has no ``ended_at`` and no ``report``."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class PassRow:
    """A pass without its operations, the hash that chains it to the previous pass, and the spans (thread, start) that it covers."""

    head: Pass
    hash: str
    covers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRow:
    """An operation, split into ``body`` and ``words`` (:mod:`kept.store.records`).

    ``salt`` and ``words`` are None if the operation has no words or they were erased.
    """

    id: int
    pass_id: int
    memory: str
    kind: str
    body: str
    commitment: str
    salt: str | None
    words: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateRow:
    """A candidate with its verdict, split into ``body`` and ``words``. Its episode begins at ``ordinal`` of ``thread``."""

    row: int
    pass_id: int
    thread: int
    ordinal: int
    id: str
    profile: str
    scope: str
    verdict: str
    body: str
    commitment: str
    salt: str | None
    words: str | None
    live: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class FingerprintRow:
    """The fingerprint of a forgotten statement, and the pass that forgot it."""

    fingerprint: str
    pass_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRow:
    """A group that is queued for curation."""

    profile: str
    scope: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OptedOut:
    """A conversation that opted out of being remembered, because the user said so in it, and the file with that prompt."""

    session: str
    path: str


Row = (
    StoreRow
    | FileRow
    | EventRow
    | ThreadRow
    | RunRow
    | PassRow
    | OperationRow
    | CandidateRow
    | FingerprintRow
    | GroupRow
    | Project
    | OptedOut
    | Passage
)
