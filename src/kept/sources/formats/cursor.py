"""Cursor's conversations: the editor's database ``state.vscdb``, and the command line agent's JSON Lines.

In the database a record is a bubble, and a conversation without any; in the JSON Lines a line. The agent's lines carry neither
ids nor, mostly, times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection, DataError
from typing import Any

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, Kind, Precision, Slice, Tool
from kept.core.times import parse_instant
from kept.sources.base import settings_folders
from kept.sources.conversations import Conversation, read_conversations
from kept.sources.databases import MAGIC, table_names, tables_of
from kept.sources.documents import Document, Entry, Place, Said, cut, mapping_of, outcomes_of, split_prompt, word_of
from kept.sources.json_lines import Outcome, Reader, read_slices
from kept.sources.pieces import bounded_name, detail_of, object_of, target_of, words_of
from kept.sources.records import Fault, Line, Record, Reject, parse_line, sample

_TABLE = "cursorDiskKV"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorEditor:
    """The reader of the editor's database."""

    name: str = "cursor"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The global storage on Linux, macOS and Windows; ``$XDG_CONFIG_HOME`` counts."""
        return tuple(base / "Cursor" / "User" / "globalStorage" / "state.vscdb" for base in settings_folders(home, env))

    def claims(self, path: Path, head: bytes) -> bool:
        """Whether a database has Cursor's table, or the name of Cursor's."""
        return head.startswith(MAGIC) and (self.owns(path) or _TABLE in table_names(path))

    def owns(self, path: Path) -> bool:
        """True for the database of the global storage."""
        return path.name == "state.vscdb"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """The events of the conversations that changed. Raises SourceError."""
        return read_conversations(path, cursor, partial(_composers, path))


def _composers(path: Path, connection: Connection) -> Iterator[Conversation]:
    """The conversations by the time of their last change."""
    if _TABLE not in tables_of(connection):
        raise SourceError(f"has no table {_TABLE}", where=str(path))
    listed = []
    for key in _keys(connection, _COMPOSER):
        composer = _stored_object(connection, key)
        if isinstance(composer, Reject):
            listed.append((0, key))
            continue
        changed = composer.get("lastUpdatedAt")
        listed.append((changed if isinstance(changed, int) and not isinstance(changed, bool) else 0, key))
    for changed, key in sorted(listed):
        read = partial(_conversation, connection, key)
        yield Conversation(changed=max(0, changed), read=read)


def _keys(connection: Connection, prefix: str) -> list[str]:
    # The last character of the prefix is a colon, and a semicolon comes after it: a range uses the index of the keys.
    # The statement is a constant.
    found = connection.execute(f"SELECT key FROM {_TABLE} WHERE key >= ? AND key < ?", (prefix, prefix[:-1] + ";"))  # noqa: S608
    return [str(key) for (key,) in found]


def _stored_object(connection: Connection, key: str) -> Mapping[str, Any] | Reject:
    """The JSON object under a key; empty where there is none."""
    try:
        row = connection.execute(f"SELECT rowid, value FROM {_TABLE} WHERE key = ?", (key,)).fetchone()  # noqa: S608 - a constant
    except DataError:
        return Reject(fault=Fault.LINE_TOO_LONG, line=0, start=0, end=0)
    if row is None or row[1] is None:
        return {}
    raw = row[1] if isinstance(row[1], bytes) else str(row[1]).encode("utf-8", "replace")
    piece = next(parse_line(Line(number=int(row[0]), start=0, end=len(raw), data=raw)), None)
    match piece:
        case Record():
            return {"rowid": piece.line, **piece.value}
        case Reject():
            return piece
        case None:
            return {}


def _conversation(connection: Connection, key: str) -> tuple[Document, list[Reject]]:
    """A conversation with its bubbles in the order of its headers; older ones hold the bubbles themselves."""
    session = key.removeprefix(_COMPOSER)
    composer = _stored_object(connection, key)
    if isinstance(composer, Reject):
        return Document(session=session, entries=()), [composer]
    started = parse_instant(composer.get("createdAt"))
    headers, inline = composer.get("fullConversationHeadersOnly"), composer.get("conversation")
    entries: list[Entry] = []
    rejects: list[Reject] = []
    bubbles: list[Mapping[str, Any]] = [mapping_of(bubble) for bubble in inline] if isinstance(inline, list) else []
    for header in headers if isinstance(headers, list) else ():
        bubble_id = bounded_name(mapping_of(header).get("bubbleId"))
        bubble = _stored_object(connection, f"{_BUBBLE}{session}:{bubble_id}")
        if isinstance(bubble, Reject):
            rejects.append(bubble)
        else:
            bubbles.append({**mapping_of(header), **bubble})
    if composer.get("status") == "generating" and bubbles and bubbles[-1].get("type") != 1:
        bubbles.pop()  # still being written: it is read when it is whole
    for bubble in bubbles:
        at = parse_instant(bubble.get("createdAt")) or parse_instant(mapping_of(bubble.get("timingInfo")).get("clientStartTime"))
        template = Said(
            kind=Kind.PROMPT,
            author=Author.HUMAN,
            reason="user-bubble",
            text="",
            at=at or started,
            precision=Precision.MESSAGE if at else Precision.SESSION,
            native=bounded_name(bubble.get("bubbleId")),
        )
        row = bubble.get("rowid") or composer.get("rowid")
        entries.append(_bubble(bubble, template, Place(row if isinstance(row, int) else 0, 0, 0)))
    if not entries and not rejects:
        entries.append(Entry(place=Place(0, 0, 0), dropped="empty-conversation"))
    return Document(session=session, entries=tuple(entries), project=_project(composer)), rejects


def _project(composer: Mapping[str, Any]) -> str:
    """The workspace folder, where the conversation names one."""
    uri = mapping_of(mapping_of(composer.get("workspaceIdentifier")).get("uri"))
    return next((found for key in ("fsPath", "path") if isinstance(found := uri.get(key), str)), "")


def _bubble(bubble: Mapping[str, Any], template: Said, place: Place) -> Entry:
    text, tool = words_of(bubble.get("text")), mapping_of(bubble.get("toolFormerData"))
    match bubble.get("type"):
        case 1:
            said, removed = split_prompt(text, template.reason, template)
            return Entry(place=place, said=tuple(said), dropped="" if said else "no-text", noted=removed)
        case 2:
            answer = replace(template, kind=Kind.RESPONSE, author=Author.ASSISTANT, reason="assistant-bubble", text=text)
            pieces = [*([answer] if text else []), *(_former(tool, answer) if tool.get("name") else ())]
            thought = "thinking" if bubble.get("thinking") else "no-text"
            return Entry(place=place, said=tuple(pieces), dropped="" if pieces else thought)
        case None if "bubbleId" in bubble and len(bubble) <= 3:
            return Entry(place=place, dropped="bubble-missing")
        case _:
            return Entry(place=place, dropped="unknown-type")


def _former(data: Mapping[str, Any], answer: Said) -> Iterator[Said]:
    """A tool call, and its output where there is one. Arguments are JSON in a string."""
    raw = data.get("rawArgs") or data.get("params")
    given = object_of(raw) if isinstance(raw, str) else mapping_of(raw)
    name, call = bounded_name(data.get("name")), bounded_name(data.get("toolCallId"))
    tool = Tool(name=name, call=call, target=target_of(given), detail=detail_of(given))
    yield replace(answer, kind=Kind.TOOL_CALL, text=tool.target or name, tool=tool)
    result, status = data.get("result"), data.get("status")
    if isinstance(result, str) and result:
        ok = {"completed": True, "error": False, "cancelled": None}.get(status) if isinstance(status, str) else None
        found = object_of(result)
        code = found.get("exitCode") if "exitCode" in found else found.get("exitCodeV2")
        exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
        text = words_of(found.get("output")) or words_of(found.get("contents")) or result
        ended = Tool(name=name, call=call, target=tool.target, ok=ok and not exit_code, exit_code=exit_code)
        yield replace(answer, kind=Kind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result", text=cut(text), tool=ended)


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorAgent:
    """The reader of the command line agent's transcripts."""

    name: str = "cursor-agent"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """``~/.cursor/projects``, with a folder ``agent-transcripts`` for each project."""
        return (home / ".cursor" / "projects",)

    def claims(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - the protocol's
        """Whether the first record has a role beside its message, and no type."""
        return any(
            value.get("role") in ("user", "assistant") and isinstance(value.get("message"), dict) and "type" not in value
            for value in sample(head)
        )

    def owns(self, path: Path) -> bool:
        """True for the agent's transcripts."""
        return path.suffix == ".jsonl" and "agent-transcripts" in path.parts

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """The events after the cursor. Raises SourceError."""
        step = partial(_read_line, path=path)
        return read_slices(path, cursor, Reader(start=lambda _carry, _fetch: None, step=step, save=lambda _state: "{}"))


def _read_line(_state: None, record: Record, *, path: Path) -> Outcome:
    """A line on its own. One without a time is told from its like by its place and its words together."""
    value = record.value
    message, role = mapping_of(value.get("message")), value.get("role")
    at = parse_instant(value.get("timestamp"))
    template = Said(
        kind=Kind.PROMPT,
        author=Author.HUMAN,
        reason="role:user",
        text="",
        at=at,
        precision=Precision.MESSAGE,
        stamp="" if at else str(record.start),
        native=bounded_name(value.get("id")),
    )
    said, noted, dropped = _message_events(message, role, template)
    entry = Entry(place=Place(record.line, record.start, record.end), said=tuple(said), dropped=dropped, noted=noted)
    document = Document(session=path.stem, entries=(entry,))
    return next(outcomes_of(document, str(path)))


def _message_events(message: Mapping[str, Any], role: Any, template: Said) -> tuple[list[Said], dict[str, int], str]:
    """What a message says, what was left out of it, and why it says nothing."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said: list[Said] = []
    noted: dict[str, int] = {}
    if role not in ("user", "assistant"):
        return said, noted, f"role:{word_of(role)}"
    answer = replace(template, kind=Kind.RESPONSE, author=Author.ASSISTANT, reason="role:assistant")
    for each in blocks if isinstance(blocks, list) else ():
        block = mapping_of(each)
        text = words_of(block.get("text"))
        match block.get("type"):
            case "text" if role == "user":
                typed, removed = split_prompt(text, template.reason, template)
                said += typed
                noted |= removed
            case "text":
                said += [replace(answer, text=text)] if text else []
            case "tool_use" if role == "assistant":
                said.append(_use(block, answer))
            case "tool_result":
                output = replace(answer, kind=Kind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result")
                tool = Tool(name="", call=bounded_name(block.get("tool_use_id")))
                said.append(replace(output, text=cut(words_of(block.get("content"))), tool=tool))
            case kind:
                noted[f"block:{word_of(kind)}"] = noted.get(f"block:{word_of(kind)}", 0) + 1
    return said, noted, "" if said else "no-text"


def _use(block: Mapping[str, Any], answer: Said) -> Said:
    given = mapping_of(block.get("input"))
    name = bounded_name(block.get("name"))
    tool = Tool(name=name, call=bounded_name(block.get("id")), target=target_of(given), detail=detail_of(given))
    return replace(answer, kind=Kind.TOOL_CALL, text=tool.target or name, tool=tool)
