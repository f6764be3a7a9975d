"""Read OpenCode's sessions from its SQLite database.

A record is a part of a message, or a message without parts. Text in the user's name is the person's, with three exceptions: the
part is marked as synthetic (files that the client attached), another session started this one, or ``opencode run`` started it in a
folder where no person works. In other folders, prompts of ``opencode run`` are unconfirmed.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, Precision, Slice
from kept.core.text import word_set
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.sources.base import named_folder
from kept.sources.databases import MAGIC, Conversation, add_index, ordinary_tables, parse_value, read_conversations, table_names
from kept.sources.documents import DocumentEntry, SourceDocument, is_unattended, label_as_program, label_unconfirmed, split_prompt
from kept.sources.drafts import EventDraft, exit_code_of, requested_tool
from kept.sources.fields import Fields, Notes, safe_word, truncate_name
from kept.sources.records import RecordPlace, Reject

_TABLES = frozenset({"session", "message", "part"})

# Types of parts without words.
_SILENT = word_set("step-start step-finish snapshot patch reasoning file agent retry subtask")


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenCode:
    """The reader of OpenCode's database."""

    name: str = "opencode"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``$OPENCODE_DB``, else ``opencode.db`` in ``$XDG_DATA_HOME/opencode`` or ``~/.local/share/opencode``."""
        data = named_folder(env, "XDG_DATA_HOME", home / ".local" / "share")
        return (named_folder(env, "OPENCODE_DB", data / "opencode" / "opencode.db"),)

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a database has the tables of sessions, messages and parts, or OpenCode's file name."""
        return head.startswith(MAGIC) and (path.name == "opencode.db" or table_names(path) >= _TABLES)

    def owns(self, path: Path) -> bool:
        """True for ``opencode.db``, and for the database that ``$OPENCODE_DB`` names."""
        return path.suffix == ".db"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of the sessions that changed. Raises SourceError."""
        return read_conversations(path, cursor, partial(_list_sessions, path))


def _list_sessions(path: Path, connection: Connection) -> Iterator[Conversation]:
    if not ordinary_tables(connection) >= _TABLES:
        raise SourceError("has no tables of sessions, messages and parts", where=str(path))
    add_index(connection, "message", "session_id")
    add_index(connection, "part", "message_id")
    columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(session)")}
    rules = "permission" if "permission" in columns else "NULL"
    found = connection.execute(
        f"SELECT id, parent_id, directory, time_updated, {rules} FROM session ORDER BY time_updated, id"  # noqa: S608 - two constants
    ).fetchall()
    for session, parent, directory, updated, permission in found:
        printed = _is_question_denied(permission)
        who = _SessionOpener(spawned=bool(parent), printed=printed, unattended=printed and is_unattended(directory))
        read = partial(_read_session, connection, str(session), str(directory or ""), who)
        yield Conversation(changed=updated if isinstance(updated, int) else 0, read=read)


@dataclass(frozen=True, kw_only=True, slots=True)
class _SessionOpener:
    """Who started a session. ``spawned`` means another session, ``printed`` means ``opencode run``. ``unattended`` means that no
    person works in the session's folder.
    """

    spawned: bool
    printed: bool
    unattended: bool


def _is_question_denied(permission: object) -> bool:
    """True if a session's rules forbid questions. ``opencode run`` sets such rules because nobody is there to answer."""
    try:
        rules = json.loads(permission) if isinstance(permission, str) else None
    except (ValueError, RecursionError):
        return False
    denied = {"permission": "question", "action": "deny"}
    return isinstance(rules, list) and any(isinstance(rule, dict) and denied.items() <= rule.items() for rule in rules)


def _read_session(connection: Connection, session: str, directory: str, who: _SessionOpener) -> tuple[SourceDocument, list[Reject]]:
    rows = connection.execute(
        "SELECT m.rowid, m.id, m.time_created, m.data, p.rowid, p.id, p.data FROM message m"
        " LEFT JOIN part p ON p.message_id = m.id WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id",
        (session,),
    ).fetchall()
    last = rows[-1][1] if rows else None
    entries: list[DocumentEntry] = []
    rejects: list[Reject] = []
    for message_row, message_id, created, message_data, part_row, part_id, part_data in rows:
        message = parse_value(message_data, message_row)
        part = parse_value(part_data, part_row) if part_row is not None else Fields()
        if isinstance(message, Reject):
            rejects.append(message)
            continue
        if isinstance(part, Reject):
            rejects.append(part)
            continue
        if message_id == last and _is_unfinished(message):
            continue  # this message is read when it is complete
        at = parse_instant(created) or parse_instant(message.mapping("time").get("created"))
        template = EventDraft(
            reason="user-message",
            at=at,
            precision=Precision.MESSAGE,
            native=truncate_name(part_id),
            parent=message.name("parentID"),
            turn=truncate_name(message_id) if message.get("role") == "assistant" else "",
        )
        place = RecordPlace(int(part_row or message_row), 0, 0)
        entries.append(_read_part(message, part, template, place, who))
    return SourceDocument(session=session, entries=tuple(entries), project=directory), rejects


def _is_unfinished(message: Fields) -> bool:
    """True if an answer is still being written."""
    ended = message.get("finish") or message.get("error") or message.mapping("time").get("completed")
    return message.get("role") == "assistant" and not ended


def _read_part(message: Fields, part: Fields, template: EventDraft, place: RecordPlace, who: _SessionOpener) -> DocumentEntry:
    role, text = message.get("role"), part.text("text")
    if role not in ("user", "assistant"):
        return DocumentEntry(place=place, dropped=f"role:{safe_word(role)}")
    answer = template.answer(text, "assistant-message")
    if who.spawned:
        template = replace(template, author=Author.SUBAGENT, reason="spawned-session")
        answer = replace(answer, author=Author.SUBAGENT, reason="spawned-session")
    match part.get("type"):
        case "text" if not text:
            return DocumentEntry(place=place)
        case "text" if role == "assistant":
            return DocumentEntry(place=place, drafts=(answer,))
        case "text" if who.spawned:
            return DocumentEntry(place=place, drafts=(replace(template, text=text),))
        case "text" if part.get("synthetic") or part.get("ignored"):
            return DocumentEntry(place=place, drafts=(template.injected(text, "synthetic"),))
        case "text":
            noted = Notes()
            drafts = split_prompt(text, template, noted)
            if who.printed:
                drafts = (label_as_program if who.unattended else label_unconfirmed)(drafts, noted, "run")
            return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)
        case "tool" if role == "assistant":
            return DocumentEntry(place=place, drafts=tuple(_tool_drafts(part, answer)))
        case "compaction":
            return DocumentEntry(place=place, dropped="compaction")
        case None if not part:
            return DocumentEntry(place=place, dropped="no-parts")
        case kind if kind in _SILENT:
            return DocumentEntry(place=place, dropped=f"part:{kind}")
        case kind:
            return DocumentEntry(place=place, dropped=f"unknown-type:{safe_word(kind)}")


def _tool_drafts(part: Fields, answer: EventDraft) -> Iterator[EventDraft]:
    """Yield a draft of a call, and one of its output if the call has ended."""
    state = part.mapping("state")
    status = state.get("status")
    tool = requested_tool(part.get("tool"), part.get("callID"), state.get("input"))
    yield answer.call(tool)
    if status in ("completed", "error"):
        text = state.text("output") or state.text("error")
        exit_code = exit_code_of(state.mapping("metadata").get("exit"))
        ok = status == "completed" and not exit_code
        yield answer.output(text, replace(tool, detail="", ok=ok, exit_code=exit_code))
