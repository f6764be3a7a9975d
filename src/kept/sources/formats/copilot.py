"""Read GitHub Copilot's conversations: the CLI agent's ``events.jsonl``, and VS Code's chat sessions.

In the CLI's file, a record is an event of its log. A VS Code file is either a log of patches, which are applied first, or one
object with the whole state. Its records are requests with their answers, and lines that are not JSON. An answer that is still being
written is read when it is complete.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, Precision, Slice, ToolUse
from kept.core.times import parse_instant
from kept.core.value import dataclass, field, replace
from kept.sources.base import named_folder, settings_folders
from kept.sources.documents import DocumentEntry, SourceDocument, read_new_state, split_prompt, to_outcomes
from kept.sources.drafts import EventDraft, OpenCalls, exit_code_of, parse_object, requested_tool, truncate_text
from kept.sources.fields import Fields, Notes, content_text, safe_word, truncate_name
from kept.sources.json_lines import REWRITTEN, Fetch, Outcome, RecordReader, make_slice, read_slices
from kept.sources.records import (
    ReadStop,
    Record,
    RecordPlace,
    Reject,
    SourceLine,
    open_regular,
    parse_line,
    read_beginning,
    read_records,
    refuse_wide_text,
    sample_records,
)

_SMALL_FILE = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class CopilotCli:
    """The reader of Copilot CLI's sessions."""

    name: str = "copilot-cli"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``session-state`` in ``$COPILOT_HOME``, else in ``~/.copilot``."""
        return (named_folder(env, "COPILOT_HOME", home / ".copilot") / "session-state",)

    def claims(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - the protocol's
        """True if the log begins with a session's start."""
        starts = ("session.start", "session.resume")
        return any(value.get("type") in starts and isinstance(value.get("data"), Fields) for value in sample_records(head))

    def owns(self, path: Path) -> bool:
        """True for event logs."""
        return path.suffix == ".jsonl"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Raises SourceError."""
        return read_slices(
            path, cursor, RecordReader(start=partial(_load_state, path), step=partial(_read_event, path=path), save=_dump_state)
        )


@dataclass(kw_only=True, slots=True)
class _State:
    """The session's identity and its open calls."""

    session: str = ""
    cwd: str = ""
    branch: str = ""
    calls: OpenCalls = field(default_factory=OpenCalls)


def _load_state(path: Path, carry: str, fetch: Fetch) -> _State:
    held = json.loads(carry)
    state = _State(session=held.get("session", ""), cwd=held.get("cwd", ""), branch=held.get("branch", ""))
    if not held:
        state.session = truncate_name(path.parent.name if path.stem == "events" else path.stem)
        state.cwd = _read_workspace_cwd(path.parent / "workspace.yaml")
    state.calls.load(held.get("calls", {}), fetch, lambda value: _requested_tools(value.mapping("data")))
    return state


def _dump_state(state: _State) -> str:
    held = {"session": state.session, "cwd": state.cwd, "branch": state.branch, "calls": state.calls.dump()}
    return json.dumps(held, ensure_ascii=False)


def _read_workspace_cwd(path: Path) -> str:
    """The working directory in a session's ``workspace.yaml``; empty if there is none."""
    text = read_beginning(path, _SMALL_FILE).decode("utf-8", "replace")
    found = next((line for line in text.split("\n") if line.startswith("cwd:")), "")
    return found.removeprefix("cwd:").strip().strip("\"'")


def _read_event(state: _State, record: Record, *, path: Path) -> Outcome:
    value, data = record.value, record.value.mapping("data")
    if agent := value.get("agentId"):  # events of a sub-agent have this field beside their data
        data = Fields({**data, "agentId": agent})
    context = data.mapping("context") or data
    state.cwd = context.path("cwd") or state.cwd
    state.branch = context.path("branch") or state.branch
    state.session = data.name("sessionId") or state.session
    template = EventDraft(
        reason="user.message",
        text=data.text("content"),
        at=parse_instant(value.get("timestamp")),
        precision=Precision.MESSAGE,
        native=value.name("id"),
        parent=value.name("parentId"),
        stamp=str(record.start),
    )
    drafts: list[EventDraft] = []
    dropped, noted = "no-text", Notes()
    match value.get("type"):
        case "user.message":
            drafts = _read_user(data, template, noted)
        case "assistant.message":
            drafts = _read_assistant(state, data, template, record)
        case "tool.execution_complete":
            drafts = [_read_completion(state, data, template)]
        case kind:
            dropped = safe_word(kind)
    entry = DocumentEntry(place=record.place, drafts=tuple(drafts), dropped=dropped, noted=noted)
    document = SourceDocument(session=state.session, entries=(entry,), project=state.cwd, branch=state.branch)
    return next(to_outcomes(document, str(path)))


def _read_user(data: Fields, template: EventDraft, noted: Notes) -> list[EventDraft]:
    """The drafts of a prompt. If a skill or the client itself sent it, the reason names the sender."""
    if mark := _sub_agent_mark(data):  # an agent wrote it
        return [replace(template, author=Author.SUBAGENT, reason=mark)] if template.text else []
    if data.get("isAutopilotContinuation"):  # the client itself sent it, in the person's name and without a source
        return [template.injected(template.text, "autopilot")] if template.text else []
    source = data.get("source")
    if isinstance(source, str) and source not in ("", "user"):
        return [template.injected(template.text, "source-not-user")] if template.text else []
    return split_prompt(template.text, template, noted)


def _sub_agent_mark(data: Fields) -> str:
    return next((name for name in ("parentToolCallId", "agentId") if data.get(name)), "")


def _read_assistant(state: _State, data: Fields, template: EventDraft, record: Record) -> list[EventDraft]:
    author, reason = Author.ASSISTANT, "assistant.message"
    if mark := _sub_agent_mark(data):
        author, reason = Author.SUBAGENT, mark
    answer = replace(template.answer(template.text, reason, author), turn=data.name("messageId"))
    drafts = [answer] if answer.text else []
    for tool in _requested_tools(data):
        drafts.append(answer.call(tool))
        state.calls.add_call(tool, record)
    return drafts


def _requested_tools(data: Fields) -> Iterator[ToolUse]:
    for request in data.mappings("toolRequests"):
        yield requested_tool(request.get("name"), request.get("toolCallId"), request.get("arguments"))


def _read_completion(state: _State, data: Fields, template: EventDraft) -> EventDraft:
    tool = state.calls.close(data.name("toolCallId"), data.name("toolName"))
    success = data.get("success")
    result, error = data.mapping("result").get("content"), data.mapping("error").get("message")
    done = replace(tool, detail="", ok=success if isinstance(success, bool) else None)
    return template.output(content_text(result) or content_text(error), done)


# The whole state is built before any of it is read, so this limits the file, not only its lines.
_SESSION_LIMIT = 32 * 2**20
_PATH_DEPTH = 20
_FINISHED = (1, 2, 3)  # complete, cancelled, failed
# Fields of requests that a client or an agent sent: the end of a terminal's command, a hidden request, a request of a sub-agent.
_NOT_TYPED = ("isSystemInitiated", "isHidden", "isHiddenFromUser", "subAgentInvocationId")


@dataclass(frozen=True, kw_only=True, slots=True)
class CopilotChat:
    """The reader of VS Code's chat sessions."""

    name: str = "vscode-chat"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The workspace and window storage of VS Code on Linux (including ``$XDG_CONFIG_HOME``), macOS and Windows."""
        users = [
            base / product / "User" for base in settings_folders(home, env) for product in ("Code", "Code - Insiders", "VSCodium")
        ]
        return tuple(user / folder for user in users for folder in ("workspaceStorage", "globalStorage/emptyWindowChatSessions"))

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a file begins with a session's base state, or is one object with a session and no log is beside it."""
        if any(value.get("kind") == 0 and isinstance(value.get("v"), Fields) for value in sample_records(head)):
            return True
        whole = path.suffix == ".json" and b'"requests"' in head and b'"sessionId"' in head + _read_tail(path)
        return whole and head.lstrip()[:1] == b"{" and not path.with_suffix(".jsonl").exists()

    def owns(self, path: Path) -> bool:
        """True for sessions. A session in one object does not count if a log is beside it."""
        if path.parent.name not in ("chatSessions", "emptyWindowChatSessions"):
            return False
        return path.suffix == ".jsonl" or (path.suffix == ".json" and not path.with_suffix(".jsonl").exists())

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of a new or changed session. Raises SourceError."""
        known = read_new_state(path, cursor, limit=_SESSION_LIMIT)
        if known is None:
            return
        data, snapshot = known
        refuse_wide_text(path, data[:4])
        whole = SourceLine(number=1, start=0, end=len(data), data=data)
        state, rejects, pending = _replay_patches(
            read_records(BytesIO(data), offset=0, lines=0) if path.suffix == ".jsonl" else parse_line(whole)
        )
        outcomes: list[Outcome | Reject] = [*to_outcomes(_read_session(state, path), str(path)), *rejects]
        reached = Cursor(inode=snapshot.inode, offset=snapshot.size, prefix=snapshot.mark)
        yield make_slice(path, outcomes, reached, noted={REWRITTEN: 1} if cursor.offset else {}, pending=pending)


def _read_tail(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), _SMALL_FILE, max(0, size - _SMALL_FILE))
    except (OSError, SourceError):
        return b""


def _replay_patches(pieces: Iterable[Record | Reject | ReadStop | None]) -> tuple[Fields, list[Reject], int]:
    """Apply a log of patches. Returns the state, the lines that are not JSON objects, and the bytes of an incomplete last line."""
    state = Fields()
    rejects: list[Reject] = []
    pending = 0
    for piece in pieces:
        match piece:
            case Record():
                state = _apply_patch(state, piece.value)
            case Reject():
                rejects.append(piece)
            case ReadStop():
                pending = piece.pending
            case None:
                pass
    return state, rejects, pending


def _apply_patch(state: Fields, patch: Fields) -> Fields:
    """Apply a patch. Kind 0 replaces the state, 1 sets a path, 2 appends to a list (from ``i`` on), 3 deletes a path."""
    kind, value, path = patch.get("kind"), patch.get("v"), patch.get("k")
    if "kind" not in patch and "requests" in patch:
        return Fields(patch)
    if kind == 0 and isinstance(value, Fields):
        return value
    if not isinstance(path, list) or not 0 < len(path) <= _PATH_DEPTH:
        return state
    holder: Any = state
    for key in path[:-1]:
        holder = _item_at(holder, key)
    last = path[-1]
    match kind:
        case 1 if isinstance(holder, Fields) and isinstance(last, str):
            holder[last] = value
        case 1 if isinstance(holder, list) and isinstance(last, int) and 0 <= last <= len(holder):
            holder[last : last + 1] = [value]
        case 2 if isinstance(found := _item_at(holder, last), list) and isinstance(value, list | None):
            if isinstance(patch.get("i"), int):
                del found[max(0, patch["i"]) :]
            found.extend(value or [])
        case 3 if isinstance(holder, Fields):
            holder.pop(last, None)
        case _:
            pass
    return state


def _item_at(holder: Any, key: Any) -> Any:
    match holder:
        case dict() if isinstance(key, str):
            return holder.get(key)
        case list() if isinstance(key, int) and 0 <= key < len(holder):
            return holder[key]
        case _:
            return None


def _read_session(state: Fields, path: Path) -> SourceDocument:
    requests = state.mappings("requests")
    entries = [_request_entry(request, number, last=number == len(requests)) for number, request in enumerate(requests, 1)]
    if not entries:
        entries = [DocumentEntry(place=RecordPlace(1, 0, 0), dropped="empty-conversation")]
    session = state.name("sessionId") or truncate_name(path.stem)
    return SourceDocument(session=session, entries=tuple(entries), project=_workspace_folder(path))


def _workspace_folder(path: Path) -> str:
    """The folder of the workspace whose storage contains a session."""
    workspace = read_beginning(path.parent.parent / "workspace.json", _SMALL_FILE)
    uri = parse_object(workspace.decode("utf-8", "replace")).get("folder")
    parts = urlsplit(uri) if isinstance(uri, str) else None
    return unquote(parts.path) if parts and parts.scheme == "file" else ""


def _request_entry(request: Fields, number: int, *, last: bool) -> DocumentEntry:
    """The record of a prompt and its answer. The answer has no time of its own."""
    at = parse_instant(request.get("timestamp"))
    template = EventDraft(reason="request", at=at, precision=Precision.MESSAGE, native=request.name("requestId"))
    noted = Notes()
    text = _text_of(request.get("message"), "text")
    mark = next((name for name in _NOT_TYPED if request.get(name)), "")
    drafts = split_prompt(text, template, noted) if not mark else [template.injected(text, mark)] if text else []
    state = request.mapping("modelState").get("value")
    if last and state not in _FINISHED and request.get("result") is None and not request.get("isCanceled"):
        if request.get("response"):
            noted["unfinished-answer"] = 1
    else:
        drafts += _response_drafts(request.mappings("response"), replace(template, precision=Precision.INFERRED), noted)
    return DocumentEntry(place=RecordPlace(number, 0, 0), drafts=tuple(drafts), noted=noted)


def _response_drafts(parts: Iterable[Fields], template: EventDraft, noted: Notes) -> list[EventDraft]:
    """The drafts of an answer's parts, in order. Adjacent texts are joined."""
    answer = template.answer("", "response")
    drafts: list[EventDraft] = []
    words: list[str] = []
    for part in (*parts, Fields(kind="end")):
        kind = part.get("kind")
        if kind in (None, "markdownContent", "inlineReference"):
            words.append(_part_text(part))
            continue
        if kind in ("toolInvocationSerialized", "toolInvocation", "end"):
            if text := "".join(words).strip():
                drafts.append(replace(answer, text=text))
            words = []
        if kind in ("toolInvocationSerialized", "toolInvocation"):
            drafts.append(_invocation_draft(part, answer))
        elif kind != "end":
            noted[f"part:{safe_word(kind)}"] += 1
    return drafts


def _part_text(part: Fields) -> str:
    value = part.get("value", part.get("content"))
    text = value.get("value") if isinstance(value, Fields) else value
    return text if isinstance(text, str) else str(part.get("name") or "")


def _text_of(value: Any, name: str) -> str:
    """The text that a value is, or that it has in a field."""
    return content_text(value.get(name) if isinstance(value, Fields) else value)


def _invocation_draft(part: Fields, answer: EventDraft) -> EventDraft:
    specific = part.mapping("toolSpecificData")
    message = part.get("pastTenseMessage") or part.get("invocationMessage")
    target = _text_of(specific.get("commandLine"), "original") or _text_of(message, "value")
    exit_code = exit_code_of(specific.mapping("terminalCommandState").get("exitCode"))
    ok = exit_code == 0 if exit_code is not None else None
    tool = ToolUse(name=part.name("toolId"), call=part.name("toolCallId"), target=truncate_text(target), ok=ok, exit_code=exit_code)
    return answer.call(tool)
