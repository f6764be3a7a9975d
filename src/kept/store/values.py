"""The values a store speaks in: what it is given, what it answers, and the rows it can be written out as."""

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
    """The events of one session as one file tells them; ``extracted`` is the ordinal from which its episodes are still open."""

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
    """When a name was said last in a working directory (empty where the file names none), and the file that tells it."""

    project: str
    path: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionActivity:
    """A session's part in a span of time: where it stands, whose project, how many events and prompts, from when to when."""

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
    """One known file: how far it was read (bytes, records) and the account of all its records."""

    source: str
    path: str
    offset: int
    line: int
    account: RecordAccount


# The stages that propose: rules over a session, rules over sessions that follow each other, and a model.
EXTRACT, SEQUEL, MODEL = "extract", "sequel", "model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """What a pass that proposes covers: a thread from the ordinal ``start`` on, with the candidates found, by episode start.

    Its candidates take the place of those that earlier passes of the same stage proposed there.
    """

    thread: int
    start: int
    judged: tuple[tuple[int, CandidateVerdict], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A pass that is not in the log yet."""

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
    """One run: its command, its times of processing (``ended_at`` is None where it was cut short), its report as JSON."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    report: Mapping[str, Any]


class Outline(NamedTuple):
    """What memories are filtered, sorted and grouped by in a list; ``status`` is that of a moment, both times as stored."""

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
    """A judged candidate as the log holds it: in which pass, of which episode (thread and ordinal of its first event)."""

    judged: CandidateVerdict
    pass_id: int
    thread: int
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The lines kept wrote to a file, and the hash of their bytes."""

    hash: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadNote:
    """A note with the thread it is of: its session, its working directory and the path of its file."""

    note: WorkNote
    thread: int
    session: str
    project: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadPoint:
    """A point with the thread it is of: its session, its working directory and the path of its file."""

    passage: Passage
    session: str
    project: str
    path: str


VERSION = 1  # of the form in which a store is written out


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreRow:
    """The first row of a store written out whole: the version of this form, and the key of its fingerprints."""

    version: int
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRow:
    """A known file, how far it was read, and the account of its records."""

    source: str
    path: str
    cursor: Cursor
    account: RecordAccount


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    """An archived event. ``twin`` still recognises its copies where words of it were erased."""

    event: Event
    twin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadRow:
    """A thread of a file: its events in order (keys), and the ordinals of those a later rewind replaced.

    ``heard`` events of it a model has read; its chunks are closed before the ordinal ``closed``.
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
    """A run; ``ended_at`` and ``report`` are missing where it was cut short."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class PassRow:
    """A pass without its operations, the hash that chains it to the one before, and the span (thread, start) it covers."""

    head: Pass
    hash: str
    covers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRow:
    """An operation in two parts; ``salt`` and ``words`` are None where there were none or forget erased them."""

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
    """A judged candidate in two parts, of the episode that begins at ``ordinal`` of ``thread``."""

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
    """What must not come back, and the pass that said so."""

    fingerprint: str
    pass_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRow:
    """A group that waits for curation."""

    profile: str
    scope: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OptedOut:
    """A conversation that is not to be remembered, because the user said so in it, and the file that told."""

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
