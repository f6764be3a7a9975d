"""Read Gemini CLI's chats: JSON Lines (``tmp/<project>/chats/session-….jsonl``, a sub-agent's in a folder below), or the older JSON
file, which is read as a whole whenever it has changed.

A line replaces the message with the same id. Each part of a message (its text, each call, each output) becomes an event at its
first occurrence. A line without anything new is dropped as ``told-twice``. After a compression, ``$set`` replaces the conversation.
This does not affect events already read; a message that occurs only there gets the author ``COMPACTION``.

``record`` is the message's id, ``parent`` the message before it. A rewind becomes a prompt without text that is labelled abandoned,
and the next message gets the parent of the first removed one (see ``kept.store.threads``). SpecStory can convert another tool's
session to a chat. Such messages get the id of that session and the label injected. They get no time, because their time is that of
the conversion.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from kept.core.digest import hash_texts
from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, Event, EventKind, Pointer, Precision, Slice
from kept.core.times import parse_instant
from kept.core.value import dataclass, field, replace
from kept.sources.base import named_folder
from kept.sources.documents import is_unattended, label_as_program, read_new_state
from kept.sources.drafts import (
    EventDraft,
    hold_newest,
    injected_draft,
    list_texts,
    parse_exit_code,
    relabel,
    requested_tool,
    strip_leading_blocks,
    to_event,
)
from kept.sources.fields import Fields, Notes, safe_word, truncate_name, truncate_path
from kept.sources.json_lines import REWRITTEN, Fetch, Outcome, RecordReader, make_slice, read_slices
from kept.sources.records import (
    Record,
    RecordFault,
    Reject,
    SourceLine,
    parse_line,
    read_beginning,
    refuse_wide_text,
    sample_records,
)

_MOST_MESSAGES = 4096
_MOST_SEEN = 8192
_HASH_CHARS = 12
_PATH_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Gemini:
    """The reader of Gemini CLI's transcripts."""

    name: str = "gemini-cli"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``~/.gemini/tmp``, below ``$GEMINI_CLI_HOME`` if that is set."""
        return (named_folder(env, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp",)

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the file begins with a chat's identity. A backup of a chat that the client could not read does not count."""
        if ".unreadable-" in path.name:
            return False
        values = list(sample_records(head))
        if values:
            return any("sessionId" in value and "projectHash" in value and "type" not in value for value in values)
        opening = head[:4096].lstrip()
        return path.suffix == ".json" and opening.startswith(b"{") and b'"sessionId"' in opening and b'"projectHash"' in opening

    def owns(self, path: Path) -> bool:
        """True for files in a folder ``chats``, except those that the client itself could not read."""
        return path.suffix in (".json", ".jsonl") and "chats" in path.parts and ".unreadable-" not in path.name

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Raises SourceError if the file as a whole cannot be read."""
        if path.suffix == ".json":
            return _read_document(path, cursor)
        reader = RecordReader(start=partial(_load_state, path=path), step=partial(_read_line, path=str(path)), save=_dump_state)
        return read_slices(path, cursor, reader)


@dataclass(kw_only=True, slots=True)
class _State:
    """The state after the records read so far. Its size is bounded.

    ``source`` is the session from which this one was converted, ``base`` the time when its conversion began. ``grid`` counts the
    converted messages so far, which are stamped one second apart; it is -1 after the last of them, or if there are none. ``order``
    maps each message of the current conversation to the one before it. ``cut`` means that older ones were dropped. ``seen`` has
    hashes of the message parts that were already read.
    """

    session: str = ""
    source: str = ""
    base: str = ""
    grid: int = -1
    subagent: bool = False
    project: str = ""
    order: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    seen: dict[str, None] = field(default_factory=dict)


def _load_state(carry: str, _fetch: Fetch, *, path: Path) -> _State:
    held = json.loads(carry)
    state = _State(**{**held, "seen": dict.fromkeys(held.get("seen", ()))})
    state.session = state.session or truncate_name(path.stem)
    state.subagent = state.subagent or path.parent.parent.name == "chats"
    state.project = state.project or _read_project_folder(path)
    return state


def _dump_state(state: _State) -> str:
    held = {name: getattr(state, name) for name in _State.__slots__}
    return json.dumps({**held, "seen": list(state.seen)}, ensure_ascii=False, separators=(",", ":"))


def _read_project_folder(path: Path) -> str:
    """The project's directory as ``.project_root`` in its folder names it; empty without that file."""
    chats = next((parent for parent in path.parents[:3] if parent.name == "chats"), None)
    noted = read_beginning(chats.parent / ".project_root", _PATH_BYTES) if chats is not None else b""
    return truncate_path(noted.decode("utf-8", "replace").strip())


def _read_line(state: _State, record: Record, *, path: str) -> Outcome:
    value, noted = record.value, Notes()
    pointer = record.place.pointer(path)
    if isinstance(value.get("$rewindTo"), str):
        return _rewind(state, truncate_name(value["$rewindTo"]), pointer)
    if isinstance(value.get("id"), str):
        return _read_message(state, value, pointer, noted)
    changes = value.get("$set")
    if isinstance(changes, Fields):
        _read_identity(state, changes)
        events = _replace_all(state, changes.get("messages"), pointer, noted)
        return Outcome(events=events, dropped="$set", noted=noted)
    if "sessionId" in value and "projectHash" in value:
        _read_identity(state, value)
        messages = filter(None, value.mappings("messages"))
        events = tuple(event for message in messages for event in _read_message(state, message, pointer, noted).events)
        return Outcome(events=events, dropped="session", noted=noted)
    return Outcome(dropped=f"unknown-type:{value.word('type')}")


def _read_identity(state: _State, value: Fields) -> None:
    state.session = value.name("sessionId") or state.session
    state.subagent = state.subagent or value.get("kind") == "subagent"
    folders = value.get("directories")
    if not state.project and isinstance(folders, list) and folders:
        state.project = truncate_path(folders[0])
    source = value.name("specstorySourceSessionId")
    if source and not state.order:
        state.source, state.base, state.grid = source, value.name("startTime"), 0


def _rewind(state: _State, native: str, pointer: Pointer) -> Outcome:
    """Remove the message with this id and all later ones; for an unknown id, the client removes all messages."""
    if not state.order or (native not in state.order and state.cut):
        return Outcome(dropped="$rewindTo")
    last = _last_message(state)
    while state.order and state.order.popitem()[0] != native:
        pass
    key = hash_texts(state.session, "$rewindTo", native, last)
    draft = EventDraft(author=Author.ABANDONED, reason="$rewindTo")
    event = to_event(
        draft,
        key=key,
        session=state.session,
        at=None,
        precision=Precision.NONE,
        pointer=pointer,
        project=state.project,
        record=key,
        parent=_last_message(state),
    )
    return Outcome(events=(event,))


def _replace_all(state: _State, messages: Any, pointer: Pointer, noted: Notes) -> tuple[Event, ...]:
    """Replace the conversation after a compression or masking. Only messages that were never in it are new."""
    if not isinstance(messages, list):
        return ()
    known, events = state.order.keys(), list[Event]()
    state.order = {}
    for message in messages:
        native = message.name("id") if isinstance(message, Fields) else ""
        if native and native not in known and not _is_seen(state, native, "text"):
            found = _read_message(state, message, pointer, noted).events
            events += [replace(event, author=Author.COMPACTION, label_reason="$set.messages") for event in found]
        elif native:
            _append_message(state, native)
    return tuple(events)


def _read_message(state: _State, value: Fields, pointer: Pointer, noted: Notes) -> Outcome:
    """The events of the new parts of a message. The code of a part belongs to the key of its event."""
    native, stamp = value.name("id"), value.get("timestamp")
    match value.get("type"):
        case "user":
            parts: list[tuple[str, Any, EventDraft]] = [("text", stamp, draft) for draft in _user_drafts(state, value, noted)]
            reason = "command" if _is_command(_content_text(value.get("content"))) else "no-text"
        case "gemini":
            parts = list(_reply_parts(state, value, noted))
            reason = "thinking-only" if value.get("thoughts") else "no-text"
        case "info" | "error" | "warning" as kind:
            parts, reason = [], f"type:{kind}"
        case kind:
            return Outcome(dropped=f"unknown-type:{safe_word(kind)}", noted=noted)
    _append_message(state, native)
    parent = state.order[native]
    fresh = [part for part in parts if not _is_seen(state, native, part[0])]
    for code, _, _ in fresh:
        hold_newest(state.seen, hash_texts(native, code)[:_HASH_CHARS], None, _MOST_SEEN)
    if not fresh:
        return Outcome(dropped="told-twice" if parts else reason, noted=noted)
    copied = _is_converted_copy(state, stamp)
    events = []
    for code, moment, draft in fresh:
        at = None if copied else parse_instant(moment)
        event = to_event(
            replace(draft, author=Author.INJECTED, reason="converted-copy") if copied else draft,
            key=hash_texts(state.session, native, code) + draft.suffix,
            session=state.source if copied else state.session,
            at=at,
            precision=Precision.MESSAGE,
            pointer=pointer,
            project=state.project,
            record=native,
            parent=parent,
            turn=native if draft.kind is not EventKind.PROMPT else "",
        )
        events.append(event)
    return Outcome(events=tuple(events), noted=noted)


def _is_converted_copy(state: _State, stamp: Any) -> bool:
    """True if a message belongs to a converted beginning, whose messages are stamped one second apart from the start on."""
    if state.grid < 0:
        return False
    base = parse_instant(state.base)
    if base is not None and parse_instant(stamp) == base + timedelta(seconds=state.grid):
        state.grid += 1
        return True
    state.grid = -1
    return False


_REFERENCED = "--- Content from referenced files ---"
_OWN = ("<session_context>", "<hook_context>")


def _user_drafts(state: _State, value: Fields, noted: Notes) -> list[EventDraft]:
    """The drafts of the user's text and of the client's changes and additions to it."""
    sent, hooks = strip_leading_blocks(list_texts(value.get("content")), "hook_context")
    shown, _ = strip_leading_blocks(list_texts(value.get("displayContent")), "hook_context")
    for part in value.parts("content"):
        if "inlineData" in part or "fileData" in part:
            noted["block:file"] += 1
    if sent.startswith(_OWN) or (hooks and not sent):
        return [injected_draft(sent or hooks, "client-context")]
    typed, mark, files = sent.partition(_REFERENCED)
    extra = [injected_draft(mark + files, "referenced-files", 1)] if mark else []
    if shown and shown != sent:
        typed, extra = shown, [injected_draft(sent, "expansion", 1)]
    extra += [injected_draft(hooks, "client-context", 2)] if hooks else []
    if any("functionResponse" in part for part in value.parts("content")):
        return [injected_draft(sent, "beside-tool-result")] if sent else []  # the client returned this to the model after a call
    typed = typed.strip()
    if not typed or _is_command(typed):
        return extra
    drafts = EventDraft(reason="user-message").typed(typed, noted) + extra
    if state.subagent:
        return relabel(drafts, Author.SUBAGENT, "subagent-session")
    # The client does not record whether it ran in a terminal, so the session's folder decides if it is known.
    return label_as_program(drafts, noted, "folder") if state.project and is_unattended(state.project) else drafts


def _is_command(text: str) -> bool:
    """True if a prompt is a command to the client (``/chat save x``, ``?``), but not a path."""
    word = text.partition("\n")[0].split(" ", 1)[0]
    return word[:1] in ("/", "?") and all(char.isalnum() or char in "-_:" for char in word[1:])


def _reply_parts(state: _State, value: Fields, noted: Notes) -> Iterator[tuple[str, Any, EventDraft]]:
    author = Author.SUBAGENT if state.subagent else Author.ASSISTANT
    stamp = value.get("timestamp")
    if isinstance(value.get("thoughts"), list) and value["thoughts"]:
        noted["thinking"] += 1
    if text := _content_text(value.get("content")).strip():
        yield "text", stamp, EventDraft().answer(text, "gemini-message", author)
    for index, call in enumerate(value.mappings("toolCalls")):
        if not call:
            continue
        native = call.name("id") or str(index)
        tool = requested_tool(call.get("name"), native, call.mapping("args"))
        at = call.get("timestamp") or stamp
        yield f"call:{native}", at, EventDraft(author=author, reason="toolCalls").call(tool)
        if (output := _call_output(call)) is not None:
            ok = {"success": True, "error": False}.get(str(call.get("status")))
            done = replace(tool, detail="", ok=ok, exit_code=_shell_exit_code(output, tool.name))
            yield f"output:{native}", at, EventDraft().output(output, done, noted)


def _call_output(call: Fields) -> str | None:
    """The output of a call, or None if it has not returned yet."""
    texts = []
    for part in call.parts("result"):
        inner = part.mapping("functionResponse").get("response")
        if isinstance(inner, Fields):
            texts += [inner[name] for name in ("output", "error", "content") if isinstance(inner.get(name), str)]
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
    if texts or call.get("status") in ("success", "error", "cancelled"):
        return "\n".join(texts).strip()
    return None


def _shell_exit_code(output: str, name: str) -> int | None:
    """The exit code that the client's shell tool writes below a command's output; None if there is none."""
    if name != "run_shell_command":
        return None
    _, mark, rest = output[-500:].rpartition("\nExit Code: ")
    return parse_exit_code(rest.partition("\n")[0]) if mark else None


def _content_text(content: Any) -> str:
    return "\n".join(list_texts(content)).strip()


def _append_message(state: _State, native: str) -> None:
    if native not in state.order:
        state.cut = state.cut or len(state.order) >= _MOST_MESSAGES
        hold_newest(state.order, native, _last_message(state), _MOST_MESSAGES)


def _last_message(state: _State) -> str:
    return next(reversed(state.order), state.session)


def _is_seen(state: _State, native: str, code: str) -> bool:
    return hash_texts(native, code)[:_HASH_CHARS] in state.seen


def _read_document(path: Path, cursor: Cursor) -> Iterator[Slice]:
    """Read the older form: one JSON object with all messages."""
    known = read_new_state(path, cursor)
    if known is None:
        return
    data, snapshot = known
    refuse_wide_text(path, data[:4])
    found = list(parse_line(SourceLine(number=1, start=0, end=len(data), data=data)))
    if len(found) != 1 or not isinstance(found[0], Record):
        raise SourceError("is not a complete JSON document", where=str(path), hint="a later run reads it, once it is complete")
    value = found[0].value
    state = _load_state("{}", lambda _start, _end: Fields(), path=path)
    _read_identity(state, value)
    messages = value.get("messages")
    listed = enumerate(messages if isinstance(messages, list) else (), 1)
    outcomes = [_read_listed_message(state, message, number, len(data), path) for number, message in listed]
    reached = Cursor(inode=snapshot.inode, offset=snapshot.size, prefix=snapshot.mark, line=len(outcomes))
    yield make_slice(path, outcomes, reached, noted={REWRITTEN: 1} if cursor.offset else {})


def _read_listed_message(state: _State, message: Any, number: int, end: int, path: Path) -> Outcome | Reject:
    if not isinstance(message, Fields):
        return Reject(fault=RecordFault.NOT_AN_OBJECT, line=number, start=0, end=end)
    native = {} if isinstance(message.get("id"), str) else {"id": str(number)}
    return _read_line(state, Record(value=Fields({**message, **native}), line=number, start=0, end=end), path=str(path))
