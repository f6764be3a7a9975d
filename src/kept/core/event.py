"""Events: what was said or done, by whom, when, where, and where it stands in its file.

An event is immutable. Its author label is decided by the structure of the record it came from, never by its words alone,
and decides later how far it is trusted.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kept.core.digest import twin_of
from kept.core.times import format_instant
from kept.core.value import dataclass, field


class EventKind(StrEnum):
    """What an event is."""

    PROMPT = "prompt"
    RESPONSE = "response"
    TOOL_CALL = "tool_call"
    TOOL_OUTPUT = "tool_output"


class Author(StrEnum):
    """Who authored an event's text."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    INJECTED = "injected"
    SUBAGENT = "subagent"
    COMPACTION = "compaction"
    ABANDONED = "abandoned"


class Origin(StrEnum):
    """How far text can be trusted, most trusted first: the user's own words, the assistant's, then tools, files and the web."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"

    @property
    def rank(self) -> int:
        """0 for the most trusted."""
        return list(Origin).index(self)


def least_trusted(origins: tuple[Origin, ...]) -> Origin:
    """The trust of a claim that needs all of these: that of the least trusted one. Raises ValueError when empty."""
    return max(origins, key=lambda origin: origin.rank)


def origin_of(author: Author) -> Origin:
    """The trust an author's text has. Injected, copied and sub-agent text is never better than tool output."""
    match author:
        case Author.HUMAN:
            return Origin.USER
        case Author.ASSISTANT:
            return Origin.ASSISTANT
        case _:
            return Origin.TOOL


CHOICE = "answer"  # why an answer to the client's own question is labelled as the person's
# Why a text was labelled whose it is, where it is an entry of a journal and no utterance.
NOTED = frozenset(
    {"front-matter:agent", "front-matter:person", "quotes-its-user", "memory-folder", "agent-workspace", "daily-note", "unsigned"}
)


# How the label of a prompt begins that stands in the person's name while nothing shows that they typed it: what it tells waits.
UNCONFIRMED_MARK = "unconfirmed:"


class Precision(StrEnum):
    """How an event's time is known: its own stamp, its session's, inferred from neighbours, or not at all."""

    MESSAGE = "message"
    SESSION = "session"
    INFERRED = "inferred"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """Where a record stands: file path, 1-based record (line) number, byte range [start, end)."""

    path: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """A tool's side of a call or an output.

    ``call`` pairs a call with its output. ``target`` is what the tool worked on: the command line, the file path, the query;
    at most 2,000 characters. ``ok`` is None where the transcript does not say; ``exit_code`` likewise.
    ``detail`` holds what changed (old → new text of an edit), cut short; empty when there is nothing.
    """

    name: str
    call: str = ""
    target: str = ""
    detail: str = ""
    ok: bool | None = None
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One utterance or tool action.

    ``key`` is the identity of the event in every copy of it; ``twin`` is a hash of kind, time and text that recognises a copy
    whose native id changed (empty where the event has no time of its own, for then short texts would collide).
    ``likeness`` recognises it in another tool's copy of its session where words of it were forgotten since.
    ``repeated`` are hashes of long passages of its text that came in other sessions too; a store fills them in when it is read.
    ``record`` and ``parent`` are native record ids, for the tree of a conversation; ``turn`` groups the pieces of one
    assistant message. ``project`` is the raw working directory. ``label_reason`` says why ``author`` was chosen.
    """

    key: str
    twin: str
    session: str
    record: str
    parent: str
    turn: str
    kind: EventKind
    author: Author
    label_reason: str
    text: str
    at: datetime | None
    precision: Precision
    project: str
    branch: str
    tool: ToolUse | None
    pointer: Pointer
    likeness: str = ""
    repeated: tuple[int, ...] = ()

    @property
    def origin(self) -> Origin:
        """How far this event's text can be trusted."""
        return origin_of(self.author)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> str:
            """The twin of an event of which :func:`leave_twin_open` dropped it."""
            if name != "twin":
                raise AttributeError(name)
            _TWIN.__set__(self, make_twin(self))
            return self.twin


_TWIN: Any = Event.__dict__["twin"]


def leave_twin_open(event: Event) -> Event:
    """The event itself, whose twin is now made of its text when it is first asked for: most that are read never are."""
    _TWIN.__delete__(event)
    return event


def make_twin(event: Event) -> str:
    """The twin that an event has whose text is as it was read."""
    return twin_of(event.kind, format_instant(event.at) if event.at else "", event.tool.call if event.tool else "", event.text)


def is_note(event: Event) -> bool:
    """Whether an event is an entry of a journal, a diary or a daily note."""
    return event.label_reason.removeprefix(UNCONFIRMED_MARK) in NOTED and event.kind in (EventKind.PROMPT, EventKind.RESPONSE)


def is_choice(event: Event) -> bool:
    """Whether a prompt may be an option in the assistant's wording, which the person, or a hook for them, chose."""
    return event.label_reason.removeprefix(UNCONFIRMED_MARK) == CHOICE


def is_unconfirmed(event: Event) -> bool:
    """Whether a prompt stands in the person's name while nothing shows that they typed it."""
    return event.label_reason.startswith(UNCONFIRMED_MARK)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordProblem:
    """A record that was set aside: its place and the reason, without any of its text."""

    path: str
    line: int
    reason: str
    start: int = 0
    end: int = 0


UNKNOWN_KIND = "unknown-type"  # how the reason begins for which a reader drops a record of a kind it does not know


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordAccount:
    """What became of every record: ``records == kept + sum(dropped.values())``.

    ``kept`` counts records that gave at least one event, ``events`` the events they gave. ``dropped`` counts the rest by reason;
    ``malformed`` of them are listed in ``problems`` (capped, see ``problems_cut``). ``noted`` counts things that were removed
    inside kept records (thinking blocks, images). ``pending`` is the length in bytes of an unfinished last record.
    """

    records: int = 0
    kept: int = 0
    events: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    noted: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[RecordProblem, ...] = ()
    malformed: int = 0
    pending: int = 0

    @property
    def unknown(self) -> int:
        """How many records are of a kind that the reader does not know, or malformed: what a newer client may have brought."""
        return self.malformed + sum(count for reason, count in self.dropped.items() if reason.startswith(UNKNOWN_KIND))

    def __add__(self, other: "RecordAccount") -> "RecordAccount":
        return RecordAccount(
            records=self.records + other.records,
            kept=self.kept + other.kept,
            events=self.events + other.events,
            dropped=_add_counts(self.dropped, other.dropped),
            noted=_add_counts(self.noted, other.noted),
            problems=(self.problems + other.problems)[:PROBLEMS_KEPT],
            malformed=self.malformed + other.malformed,
            pending=other.pending,
        )


PROBLEMS_KEPT = 200
FORGOTTEN_MARK = "[forgotten]"  # what stands in the text of an event where words were erased


def _add_counts(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    total = dict(left)
    for reason, count in right.items():
        total[reason] = total.get(reason, 0) + count
    return total


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """How far a file has been read, and what the reader must know to go on.

    ``offset`` is the byte after the last complete record read; ``prefix`` hashes the bytes before it, so a rewritten file is
    noticed; ``line`` counts lines; ``carry`` is the reader's own state as JSON (open tool calls, session identity). A reader
    is a left fold over its file: reading in two halves with the carry between them equals reading at once.
    """

    inode: int = 0
    offset: int = 0
    prefix: str = ""
    line: int = 0
    carry: str = "{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A bounded piece of one file: its events in file order, the account of its records, and the cursor after it."""

    events: tuple[Event, ...]
    account: RecordAccount
    cursor: Cursor
