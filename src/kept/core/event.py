"""Events: statements and actions with their author, time, directory, and position in the file.

An event is immutable. Its author label determines how far its text is trusted. The structure of the record decides the label, never
the words alone.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kept.core.digest import twin_of
from kept.core.times import format_instant
from kept.core.value import dataclass, field


class EventKind(StrEnum):
    """The kind of an event."""

    PROMPT = "prompt"
    RESPONSE = "response"
    TOOL_CALL = "tool_call"
    TOOL_OUTPUT = "tool_output"


class Author(StrEnum):
    """The author of an event's text."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    INJECTED = "injected"
    SUBAGENT = "subagent"
    COMPACTION = "compaction"
    ABANDONED = "abandoned"


class Origin(StrEnum):
    """How far a text is trusted. From the most trusted: the user's own words, the assistant's, then tools, files and the web."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"

    @property
    def rank(self) -> int:
        """0 for the most trusted."""
        return list(Origin).index(self)


def least_trusted(origins: tuple[Origin, ...]) -> Origin:
    """The least trusted of some origins, which a claim based on all of them has. Raises ValueError if there are none."""
    return max(origins, key=lambda origin: origin.rank)


def origin_of(author: Author) -> Origin:
    """The origin of an author's text. Only the person and the assistant are trusted more than tool output."""
    match author:
        case Author.HUMAN:
            return Origin.USER
        case Author.ASSISTANT:
            return Origin.ASSISTANT
        case _:
            return Origin.TOOL


CHOICE = "answer"  # label reason of a prompt that answers a question of the client
# Label reasons of journal entries and notes, which nobody said in a conversation.
NOTED = frozenset(
    {"front-matter:agent", "front-matter:person", "quotes-its-user", "memory-folder", "agent-workspace", "daily-note", "unsigned"}
)
# If nothing shows that the person typed a prompt, its label reason has this prefix. Statements in it are held.
UNCONFIRMED_MARK = "unconfirmed:"


class Precision(StrEnum):
    """The source of an event's time: its own time stamp, its session's, a neighbouring event's, or none (undated)."""

    MESSAGE = "message"
    SESSION = "session"
    INFERRED = "inferred"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """The location of a record: file path, line number (from 1), byte range [start, end)."""

    path: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """The tool data of a call or of an output.

    ``call`` is the id that pairs a call with its output. ``target`` is the object of the call: the command line, the file path, the
    query; at most 2,000 characters. ``ok`` and ``exit_code`` are None if the transcript does not give them. ``detail`` is the
    change (old → new text of an edit), truncated; empty if nothing changed.
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

    ``key`` identifies the event in every copy of it. ``twin`` is a hash of kind, time, tool call and text that recognises a copy
    whose native id changed; it is empty for an event without a time of its own, because short texts would collide. ``likeness`` is
    set once words of the event were forgotten, and recognises the event in another tool's copy of the session. ``repeated`` has
    hashes of long passages that other sessions contain too; the store sets it when it reads the event.

    ``record`` and ``parent`` are native record ids, which form the tree of a conversation. ``turn`` groups the pieces of one
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
        """How far this event's text is trusted."""
        return origin_of(self.author)


_TWIN: Any = Event.__dict__["twin"]


def _read_twin(event: Event) -> str:
    """The twin of an event. It is computed now if :func:`leave_twin_open` left it unset."""
    try:
        return _TWIN.__get__(event)  # type: ignore[no-any-return]
    except AttributeError:
        _TWIN.__set__(event, make_twin(event))
        return event.twin


# A property, because with a method ``__getattr__`` Python reads every field of an event several times as slowly.
if not TYPE_CHECKING:
    Event.twin = property(_read_twin)


def leave_twin_open(event: Event) -> Event:
    """Unset the twin of an event, and return the event. The twin is computed on first access, which is rare."""
    _TWIN.__delete__(event)
    return event


def make_twin(event: Event) -> str:
    """The twin of an event whose text is still as it was read."""
    return twin_of(event.kind, format_instant(event.at) if event.at else "", event.tool.call if event.tool else "", event.text)


_PROMPT, _RESPONSE, _HUMAN = EventKind.PROMPT, EventKind.RESPONSE, Author.HUMAN  # Python looks members of enumerations up slowly


def is_prompt(event: Event) -> bool:
    """True if the event is a prompt that a person typed."""
    return event.kind is _PROMPT and event.author is _HUMAN


def is_note(event: Event) -> bool:
    """True if an event is an entry of a journal, a diary or a daily note."""
    kind = event.kind
    return (kind is _PROMPT or kind is _RESPONSE) and event.label_reason.removeprefix(UNCONFIRMED_MARK) in NOTED


def is_choice(event: Event) -> bool:
    """True if a prompt answers a question of the client. The assistant may have worded it, or a hook may have chosen it."""
    return event.label_reason.removeprefix(UNCONFIRMED_MARK) == CHOICE


def is_unconfirmed(event: Event) -> bool:
    """True if a prompt is in the person's name, but they may not have typed it."""
    return event.label_reason.startswith(UNCONFIRMED_MARK)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordProblem:
    """A record that was skipped: its location and the reason, without any of its text."""

    path: str
    line: int
    reason: str
    start: int = 0
    end: int = 0


UNKNOWN_KIND = "unknown-type"  # prefix of the reason for dropping a record whose kind the reader does not know


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordAccount:
    """The number of records by outcome: ``records == kept + sum(dropped.values())``.

    ``kept`` counts records that gave at least one event, ``events`` these events. ``dropped`` counts the other records by reason.
    ``malformed`` of them could not be parsed, and ``problems`` lists the first ``PROBLEMS_KEPT`` of these. ``noted`` counts parts
    removed from kept records (thinking blocks, images). ``pending`` is the length in bytes of an unfinished last record.
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
        """The number of records that are malformed or of an unknown kind. A newer version of the client may have written them."""
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
FORGOTTEN_MARK = "[forgotten]"  # replaces erased words in the text of an event


def _add_counts(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {reason: left.get(reason, 0) + right.get(reason, 0) for reason in (*left, *right)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """The position up to which a file was read, and the state that a reader needs to continue.

    ``offset`` is the byte after the last complete record. ``prefix`` is a hash of the bytes before it, which shows whether the file
    was rewritten. ``line`` counts lines. ``carry`` is the reader's own state as JSON (open tool calls, session identity). Reading a
    file in two parts, with the carry passed on, gives the same events as reading it whole.
    """

    inode: int = 0
    offset: int = 0
    prefix: str = ""
    line: int = 0
    carry: str = "{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A bounded piece of one file: its events in file order, the account of its records, and the cursor at its end."""

    events: tuple[Event, ...]
    account: RecordAccount
    cursor: Cursor
