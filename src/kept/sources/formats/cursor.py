"""Read Cursor's conversations: the editor's database ``state.vscdb``, and the CLI agent's JSON Lines.

In the database a record is a bubble, or a conversation without bubbles; in the JSON Lines it is a line. The agent's lines have no
ids and usually no times.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from sqlite3 import Connection, DataError

from kept.core.errors import SourceError
from kept.core.event import Cursor, Precision, Slice
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.sources.base import settings_folders
from kept.sources.databases import MAGIC, Conversation, ordinary_tables, parse_value, read_conversations, table_names
from kept.sources.documents import DocumentEntry, SourceDocument, block_drafts, draft_message, split_prompt, to_outcomes
from kept.sources.drafts import EventDraft, exit_code_of, parse_object, requested_tool
from kept.sources.fields import Fields, Notes, safe_word
from kept.sources.json_lines import Outcome, read_stateless
from kept.sources.records import Record, RecordFault, RecordPlace, Reject, sample_records

_TABLE = "cursorDiskKV"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorEditor:
    """The reader of the editor's database."""

    name: str = "cursor"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The global storage on Linux (including ``$XDG_CONFIG_HOME``), macOS and Windows."""
        return tuple(base / "Cursor" / "User" / "globalStorage" / "state.vscdb" for base in settings_folders(home, env))

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a database has Cursor's table or file name."""
        return head.startswith(MAGIC) and (self.owns(path) or _TABLE in table_names(path))

    def owns(self, path: Path) -> bool:
        """True for the database of the global storage."""
        return path.name == "state.vscdb"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of the conversations that changed. Raises SourceError."""
        return read_conversations(path, cursor, partial(_list_conversations, path))


def _list_conversations(path: Path, connection: Connection) -> Iterator[Conversation]:
    """Yield the conversations by the time of their last change."""
    if _TABLE not in ordinary_tables(connection):
        raise SourceError(f"has no table {_TABLE}", where=str(path))
    listed = []
    # The prefix ends with a colon, and a semicolon is the next character. The query can therefore use the index of the keys.
    bounds = (_COMPOSER, _COMPOSER[:-1] + ";")
    for (name,) in connection.execute(f"SELECT key FROM {_TABLE} WHERE key >= ? AND key < ?", bounds):  # noqa: S608 - a constant
        composer = _stored_object(connection, key := str(name))
        changed = None if isinstance(composer, Reject) else composer.get("lastUpdatedAt")
        listed.append((changed if isinstance(changed, int) and changed > 0 else 0, key))
    for changed, key in sorted(listed):
        yield Conversation(changed=changed, read=partial(_read_conversation, connection, key))


def _stored_object(connection: Connection, key: str) -> Fields | Reject:
    """The JSON object under a key; empty if there is none."""
    try:
        row = connection.execute(f"SELECT rowid, value FROM {_TABLE} WHERE key = ?", (key,)).fetchone()  # noqa: S608 - a constant
    except DataError:
        return Reject(fault=RecordFault.LINE_TOO_LONG, line=0, start=0, end=0)
    if row is None or row[1] is None:
        return Fields()
    value = parse_value(row[1], int(row[0]))
    return Fields({"rowid": int(row[0]), **value}) if isinstance(value, Fields) and value else value


def _read_conversation(connection: Connection, key: str) -> tuple[SourceDocument, list[Reject]]:
    """Read a conversation, with its bubbles in the order of its headers. Older conversations contain the bubbles themselves."""
    session = key.removeprefix(_COMPOSER)
    composer = _stored_object(connection, key)
    if isinstance(composer, Reject):
        return SourceDocument(session=session, entries=()), [composer]
    started = parse_instant(composer.get("createdAt"))
    entries: list[DocumentEntry] = []
    rejects: list[Reject] = []
    bubbles = composer.mappings("conversation")
    for header in composer.mappings("fullConversationHeadersOnly"):
        bubble_id = header.name("bubbleId")
        bubble = _stored_object(connection, f"{_BUBBLE}{session}:{bubble_id}")
        if isinstance(bubble, Reject):
            rejects.append(bubble)
        else:
            bubbles.append(Fields({**header, **bubble}))
    if composer.get("status") == "generating" and bubbles and bubbles[-1].get("type") != 1:
        bubbles.pop()  # this bubble is still being written, and is read when it is complete
    for bubble in bubbles:
        written = bubble.get("createdAt")
        written = written if parse_instant(written) else bubble.mapping("timingInfo").get("clientStartTime")
        template = draft_message("user-bubble", written, started, native=bubble.get("bubbleId"))
        row = bubble.get("rowid") or composer.get("rowid")
        entries.append(_bubble_entry(bubble, template, RecordPlace(row if isinstance(row, int) else 0, 0, 0)))
    if not entries and not rejects:
        entries.append(DocumentEntry(place=RecordPlace(0, 0, 0), dropped="empty-conversation"))
    return SourceDocument(session=session, entries=tuple(entries), project=_project_folder(composer)), rejects


def _project_folder(composer: Fields) -> str:
    """The workspace folder, if the conversation names one."""
    uri = composer.mapping("workspaceIdentifier").mapping("uri")
    return next((found for key in ("fsPath", "path") if isinstance(found := uri.get(key), str)), "")


def _bubble_entry(bubble: Fields, template: EventDraft, place: RecordPlace) -> DocumentEntry:
    text, tool = bubble.text("text"), bubble.mapping("toolFormerData")
    match bubble.get("type"):
        case 1:
            noted = Notes()
            return DocumentEntry(place=place, drafts=tuple(split_prompt(text, template, noted)), noted=noted)
        case 2:
            answer = template.answer(text, "assistant-bubble")
            drafts = [*([answer] if text else []), *(_tool_drafts(tool, answer) if tool.get("name") else ())]
            dropped = "thinking" if bubble.get("thinking") else "no-text"
            return DocumentEntry(place=place, drafts=tuple(drafts), dropped=dropped)
        case None if "bubbleId" in bubble and len(bubble) <= 3:
            return DocumentEntry(place=place, dropped="bubble-missing")
        case _:
            return DocumentEntry(place=place, dropped="unknown-type")


def _tool_drafts(data: Fields, answer: EventDraft) -> Iterator[EventDraft]:
    """Yield a draft of a tool call, and one of its output if there is one."""
    tool = requested_tool(data.get("name"), data.get("toolCallId"), data.get("rawArgs") or data.get("params"))
    yield answer.call(tool)
    result, status = data.get("result"), data.get("status")
    if isinstance(result, str) and result:
        ok = {"completed": True, "error": False, "cancelled": None}.get(status) if isinstance(status, str) else None
        found = parse_object(result)
        exit_code = exit_code_of(found.get("exitCode") if "exitCode" in found else found.get("exitCodeV2"))
        text = found.text("output") or found.text("contents") or result
        yield answer.output(text, replace(tool, detail="", ok=ok and not exit_code, exit_code=exit_code))


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorAgent:
    """The reader of the CLI agent's transcripts."""

    name: str = "cursor-agent"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """``~/.cursor/projects``, with a folder ``agent-transcripts`` for each project."""
        return (home / ".cursor" / "projects",)

    def claims(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - the protocol's
        """True if the first record has a role beside its message, and no type."""
        return any(
            value.get("role") in ("user", "assistant") and isinstance(value.get("message"), Fields) and "type" not in value
            for value in sample_records(head)
        )

    def owns(self, path: Path) -> bool:
        """True for the agent's transcripts."""
        return path.suffix == ".jsonl" and "agent-transcripts" in path.parts

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Raises SourceError."""
        return read_stateless(path, cursor, partial(_read_line, path))


def _read_line(path: Path, record: Record) -> Outcome:
    """Read a line. A line without a time is identified by its place and its words."""
    value, role = record.value, record.value.get("role")
    at = parse_instant(value.get("timestamp"))
    template = EventDraft(
        reason="role:user", at=at, precision=Precision.MESSAGE, stamp="" if at else str(record.start), native=value.name("id")
    )
    noted = Notes()
    drafts: list[EventDraft] = []
    if role in ("user", "assistant"):
        blocks = value.mapping("message").parts("content")
        drafts = block_drafts(blocks, template, noted, answers="role:assistant" if role == "assistant" else "")
    dropped = "no-text" if role in ("user", "assistant") else f"role:{safe_word(role)}"
    entry = DocumentEntry(place=record.place, drafts=tuple(drafts), dropped=dropped, noted=noted)
    return next(to_outcomes(SourceDocument(session=path.stem, entries=(entry,)), str(path)))
