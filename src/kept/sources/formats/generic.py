"""Read conversations in no particular tool's format: JSON Lines with common field names, and Markdown or text with speakers' names.

JSON Lines contain one message per line, an object with

* who: ``role`` (or ``sender``, ``speaker``, ``from``, ``author``): user, human, assistant, ai, a model's name, tool, system;
* what: ``content`` (or ``text``, ``value``, ``body``): a string, or a list of strings and ``{"text": …}``;
* when: ``timestamp`` (or ``time``, ``ts``, ``created_at``, ``date``): ISO 8601, or seconds or milliseconds since 1970;
* and optionally ``id``, ``session_id`` (or ``conversation_id``), ``cwd``, ``tool_calls`` as OpenAI writes them, and for a tool's
  message ``tool_call_id`` and ``is_error``.

They may also contain one conversation per line: an object with a list of such messages in ``messages`` or ``conversations``. A
record is a line.

In Markdown and text, lines begin with ``User: …`` and ``Assistant: …``, or headings name the speakers (see ``roles.py``). A record
is a turn.

Formats are tried in order and this is the last, so it never reads a file that another format claims.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.event import Cursor, Precision, Slice
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.sources import roles
from kept.sources.documents import (
    DocumentEntry,
    Row,
    SourceDocument,
    close_document,
    label_unconfirmed,
    read_document,
    sniff_rows,
    split_prompt,
    to_outcomes,
)
from kept.sources.drafts import EventDraft, requested_tool, result_tool
from kept.sources.fields import Fields, Notes, content_text, safe_word
from kept.sources.formats.vault import (
    SUFFIXES,
    UTC,
    conversation_stamp,
    find_project,
    find_session_id,
    preamble_entries,
    unsigned_entries,
)
from kept.sources.json_lines import Outcome, read_stateless
from kept.sources.markdown import read_front_matter
from kept.sources.records import Record, sample_records
from kept.sources.roles import ConversationTime, Role, parse_role
from kept.sources.stamps import parse_stamp, stamp_instant

_LINES = (".jsonl", ".ndjson")
_TEXTS = (*SUFFIXES, ".txt")
_WHO = ("role", "sender", "speaker", "from", "author")
_WHAT = ("content", "text", "value", "body")
_WHEN = ("timestamp", "time", "ts", "created_at", "createdAt", "date", "created")
_SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "chat_id")
_LISTS = ("messages", "conversations")
_ROLES: Mapping[str, Role] = {"prompter": Role.HUMAN, "function_call": Role.TOOL, "observation": Role.TOOL}


@dataclass(frozen=True, kw_only=True, slots=True)
class Generic:
    """The reader of last resort; ``zone`` is the time zone for times without one."""

    zone: ZoneInfo = UTC
    name: str = "generic"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """Empty, because a person may save such a file anywhere."""
        return ()

    def claims(self, path: Path, head: bytes) -> bool:
        """True if one of the first records names a speaker and has words, or if both sides speak in a text."""
        suffix = path.suffix.lower()
        if suffix in _LINES:
            opening = (message for value in sample_records(head) for message in _list_messages(value)[:1])
            return any(_message_role(message) and _message_text(message) is not None for message in opening)
        if suffix not in _TEXTS:
            return False
        rows = sniff_rows(head, path)
        turns, _ = roles.find_turns(rows, read_front_matter(rows).rows, plain=True)
        return {Role.HUMAN, Role.ASSISTANT} <= {turn.role for turn in turns}

    def owns(self, path: Path) -> bool:
        """True for JSON Lines, because :class:`kept.Memory` writes the messages it observes in that form."""
        return path.suffix in _LINES

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor in JSON Lines, or all events of a new or changed text. Raises SourceError."""
        if path.suffix.lower() in _LINES:
            return read_stateless(path, cursor, partial(_read_record, path, self.zone))
        return read_document(path, cursor, partial(_parse_text, path=path, zone=self.zone))


def _parse_text(rows: list[Row], *, path: Path, zone: ZoneInfo) -> SourceDocument:
    front = read_front_matter(rows)
    when = ConversationTime(zone=zone, stamp=conversation_stamp(front, path))
    turns, hidden = roles.find_turns(rows, front.rows, plain=True)
    entries = roles.to_entries(rows, turns, hidden, when) if turns else unsigned_entries(rows, front.rows, when)
    if turns:
        entries = preamble_entries(rows, front.rows, turns[0].row) + entries
    closed = close_document(rows, entries, front.fault_counts(), dropped="no-messages")
    return SourceDocument(session=find_session_id(front, entries), entries=closed, project=find_project(path))


def _read_record(path: Path, zone: ZoneInfo, record: Record) -> Outcome:
    value = record.value
    messages = _list_messages(value)
    several = any(isinstance(value.get(key), list) for key in _LISTS)
    own = _first_text(value, _SESSION) or (_first_text(value, ("id", "uuid")) if several else "")
    session = own or (f"{path.stem}:{record.line}" if several else path.stem)
    drafts: list[EventDraft] = []
    noted = Notes()
    dropped = "no-message"
    for number, message in enumerate(messages):
        found = _message_drafts(message, f"{record.start}.{number}", zone, noted)
        if isinstance(found, str):
            dropped = found
        else:
            drafts += found
    entry = DocumentEntry(place=record.place, drafts=tuple(drafts), dropped=dropped, noted=noted)
    project = _first_text(value, ("cwd", "project", "working_directory"))
    return next(to_outcomes(SourceDocument(session=session, entries=(entry,), project=project), str(path)))


def _list_messages(value: Fields) -> list[Fields]:
    """The messages of a line: those it lists, the one it wraps, or the line itself."""
    listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if listed is not None:
        return [message for message in listed if isinstance(message, Fields)]
    inner = value.get("message")
    if isinstance(inner, Fields):
        return [Fields({**{key: item for key, item in value.items() if key != "message"}, **inner})]
    return [Fields({**value, "content": inner})] if isinstance(inner, str) and "content" not in value else [value]


def _first_text(value: Fields, names: tuple[str, ...]) -> str:
    return next((found for name in names if isinstance(found := value.get(name), str) and found), "")


def _message_role(message: Fields) -> Role | None:
    """The speaker of a message, or None if it names none. If it names two, the less trusted one counts."""
    named = [message.mapping(name).get("role") or message.get(name) for name in _WHO]
    found = {_parse_role(name) for name in named if isinstance(name, str)} - {None}
    return next((role for role in (Role.TOOL, Role.SYSTEM, Role.ASSISTANT, Role.HUMAN) if role in found), None)


def _parse_role(name: str) -> Role | None:
    found = roles.parse_role(name)
    return _ROLES.get(name.casefold()) or (found[0] if found else None)


def _message_text(message: Fields) -> str | None:
    found = next((message[name] for name in _WHAT if isinstance(message.get(name), str | list)), None)
    return None if found is None else content_text(found)


def _message_drafts(message: Fields, position: str, zone: ZoneInfo, noted: Notes) -> list[EventDraft] | str:
    """The drafts of a message, or the reason why it has none."""
    role, text = _message_role(message), _message_text(message) or ""
    if role is None:
        return f"role:{safe_word(next((message[name] for name in _WHO if name in message), None))}"
    written = next((message[name] for name in _WHEN if message.get(name) is not None), None)
    at = parse_instant(written)
    precision = Precision.MESSAGE
    if at is None and isinstance(written, str) and (stamp := parse_stamp(written)):
        at = stamp_instant(stamp, zone)
        precision = Precision.MESSAGE if stamp.clock else Precision.SESSION
    template = EventDraft(
        reason=f"role:{role}",
        text=text,
        at=at,
        precision=precision,
        stamp=str(written) if at else position,
        native=_first_text(message, ("id", "uuid", "message_id")),
        parent=_first_text(message, ("parent_id", "parentId", "parent")),
    )
    match role:
        case Role.HUMAN:
            drafts = split_prompt(text, template, noted)
            if (name := message.get("name")) and (not isinstance(name, str) or parse_role(name) is None):
                drafts = label_unconfirmed(drafts, noted, "named")  # the message names one of several authors, perhaps a program
        case Role.ASSISTANT:
            answer = template.answer(text, template.reason)
            drafts = [*([answer] if text else []), *_call_drafts(message, answer)]
        case Role.TOOL:
            tool = result_tool(message.get("name"), message.get("tool_call_id"), message.get("is_error"))
            drafts = [replace(template.output(text, tool, noted), reason=template.reason)] if text else []
        case Role.SYSTEM:
            drafts = [template.injected(text, template.reason)] if text else []
    return drafts or "no-text"


def _call_drafts(message: Fields, answer: EventDraft) -> Iterator[EventDraft]:
    for call in message.mappings("tool_calls"):
        function = call.mapping("function")
        yield answer.call(requested_tool(function.get("name"), call.get("id"), function.get("arguments")))
