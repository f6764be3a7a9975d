"""Read sessions of pi and OpenClaw (``sessions/….jsonl``, versions 1 and 3, also compressed, and OpenClaw's database).

Entries of version 3 have ids, which forks copy. Ids and times form the events' keys, and the links between entries form the tree.
Version 1 has neither ids nor links, so a message is identified by its kind, time, call and text, which a branch copies unchanged.

OpenClaw's session index beside a file says who runs the session. Sessions started by its clock or by hooks are dropped. In sessions
with several people, the words are not the user's.
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from kept.core.digest import hash_texts
from kept.core.event import Author, Cursor, Event, Precision, Slice, ToolUse
from kept.core.pattern import LARGE, Pattern
from kept.core.text import one_line
from kept.core.times import format_instant, parse_instant
from kept.core.value import dataclass, field, replace
from kept.core.words import match_opening
from kept.sources.base import named_folder
from kept.sources.drafts import (
    EventDraft,
    OpenCalls,
    exit_code_of,
    hold_newest,
    injected_draft,
    parse_exit_code,
    parse_object,
    relabel,
    requested_tool,
    success_of,
    to_event,
    truncate_text,
)
from kept.sources.fields import Fields, Notes, content_text, safe_word, truncate_name
from kept.sources.formats.pi_database import DATABASE, DATABASES, claims_database, read_database
from kept.sources.json_lines import MAGIC, Fetch, Outcome, RecordReader, read_compressed, read_slices
from kept.sources.message_parts import is_machine_session_start
from kept.sources.records import Record, read_beginning, sample_records


class Runner(StrEnum):
    """Who talks to the assistant in a session, according to its key."""

    PERSON = ""
    GROUP = "group-chat"
    SUBAGENT = "subagent-session"
    CRON = "cron"
    HOOK = "hook"
    HEARTBEAT = "heartbeat"


EXCLUDED = (Runner.CRON, Runner.HOOK, Runner.HEARTBEAT)


def session_runner(key: str, entry: Fields) -> Runner:
    """The runner of a session, from its key (``agent:main:cron:nightly``) and its entry in the session index."""
    parts = key.split(":")
    for runner in EXCLUDED:
        if runner.value in parts:
            return runner
    if "subagent" in parts:
        return Runner.SUBAGENT
    shared = {"group", "channel"}
    return Runner.GROUP if entry.get("chatType") in shared or shared & set(parts) else Runner.PERSON


_METADATA = Pattern(
    r"(?m)^[\w \t]{1,80}\(untrusted[^)\n]{0,60}\)[^\n]{0,200}\n```json[ \t]*\n(?s:.*?)^```[ \t]*$"
    r"|^\[message_id: [^\]\n]{1,200}\][ \t]*$"
)
# The gateway adds this data about a message's sender and chat.
_SENT = Pattern(
    r"(?m)^(?:Sender|Conversation info)[ \t]\(untrusted[^)\n]{0,60}\)[^\n]{0,200}\n```json[ \t]*\n((?s:.*?))^```[ \t]*$"
)
_NAME = Pattern(r'"(?:name|sender|username)"\s*:\s*"([^"\n]{1,80})"')
_NUMBER = Pattern(r'"(?:sender_id|id)"\s*:\s*"?([^"\s,}]{1,80})')
_SHARED = Pattern(r'"(?:is_group_chat|is_group)"\s*:\s*true|"(?:chat_type|chatType)"\s*:\s*"(?:group|channel)"|"group_subject"')
# Matches "github-bot", "GithubBot", "deploybot", "dependabot[bot]", but not "Jim Talbot".
_BOT = Pattern(r"(?:(?i:[\s_.-]bot|\[bot\])|^(?i:bot)|[a-z]Bot|^[a-z0-9_]+bot)$")
_APART = "\x1f"
_ENVELOPE = Pattern(r"^\[[^\]\n]{0,160}\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\]\n]{0,40}\][ \t]*")
_SYSTEM = Pattern(r"^(?:System: \[[^\n]*(?:\n|$))+")
# The match extends to the last closing tag, because a file may contain one itself.
_FILES = Pattern(r'(?s)^(?:\s*<(?:file|skill) name="[^"\n]{1,1000}"[^<>\n]{0,1000}>.*</(?:file|skill)>)', memory=LARGE)
_REPLY = Pattern(r"^\s*\[\[\s*reply_to(?:_current|:[^\]\n]{1,200})\s*\]\]\s*")
_SILENT = ("NO_REPLY", "HEARTBEAT_OK")


def parse_sender(text: str, owner: str) -> tuple[str, Runner]:
    """Return a chat's owner and who sent this message. The owner is the number and name of the first sender, completed by this
    message. A message from a group, from a bot, or from anybody but the owner is not the person's.

    If the owner and the sender both have a number, numbers are compared, because anybody may choose a name. Otherwise names are.
    """
    metadata = [match[1] for match in _SENT.finditer(text)] if "(untrusted" in text else []
    number, name = (next((found[1] for item in metadata if (found := pattern.search(item))), "") for pattern in (_NUMBER, _NAME))
    own_number, _, own_name = owner.rpartition(_APART)
    numbered = bool(own_number and number)
    other = number != own_number if numbered else bool(own_name and name and name != own_name)
    if other or any(_SHARED.search(item) for item in metadata) or _BOT.search(name):
        return owner, Runner.GROUP
    known = _APART.join((own_number or number, own_name or name))
    return known if known != _APART else "", Runner.PERSON


def prompt_drafts(text: str, runner: Runner, provenance: Any, noted: Notes, *, index: int) -> list[EventDraft]:
    """The drafts of a user's message: the typed text, and additions by the gateway, files and hooks."""
    text, around = _unwrap_message(text.strip(), noted)
    extra = [injected_draft("\n".join(around), "gateway-metadata", index, 1)] if around else []
    if not text:
        return extra
    own = match_opening("openclaw", text)
    kind = provenance.get("kind") if isinstance(provenance, Fields) else None
    if own or (isinstance(kind, str) and kind != "external_user"):
        return [injected_draft(text, own or "provenance", index, 0), *extra]
    drafts = EventDraft(reason="user-message", index=index).typed(text, noted)
    if runner is not Runner.PERSON:
        drafts = relabel(drafts, Author.SUBAGENT if runner is Runner.SUBAGENT else Author.INJECTED, runner.value)
    return drafts + [replace(draft, order=len(drafts)) for draft in extra]


def _unwrap_message(text: str, noted: Notes) -> tuple[str, list[str]]:
    """Return a message without the additions around it, and these additions."""
    around = []
    if "(untrusted" in text or "[message_id: " in text:
        around = [match.group(0) for match in _METADATA.finditer(text)]
        text = _METADATA.sub("", text).strip()
    for pattern in (_SYSTEM, _ENVELOPE, _FILES):
        if found := pattern.match(text):
            around.append(found.group(0).strip())
            text = text[found.end() :].strip()
    if around:
        noted["removed:gateway-metadata"] += len(around)
    return text, around


def strip_gateway_marks(text: str) -> str:
    """An assistant's text without its markers for the gateway. Empty if a marker tells the gateway to send nothing."""
    text = (_REPLY.sub("", text) if text.lstrip().startswith("[[") else text).strip()
    return "" if text in _SILENT else text


_LINKS = 4096
_INDEX_BYTES = 8 * 2**20
_SILENT_KINDS = ("model_change", "thinking_level_change", "label", "session_info", "custom", "context_transform", "ephemeral")
# Sessions that the user deleted, and sessions that a repair discarded, are not read.
_DISCARDED = (".jsonl.deleted.", ".jsonl.bak")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pi:
    """The reader of pi's and OpenClaw's transcripts."""

    name: str = "pi"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``~/.pi/agent/sessions``, and ``agents`` in ``$OPENCLAW_STATE_DIR``, else in ``~/.openclaw`` and ``~/.clawdbot``."""
        folders = [named_folder(env, "OPENCLAW_STATE_DIR", home / folder) for folder in (".openclaw", ".clawdbot")]
        pi = named_folder(env, "PI_CODING_AGENT_DIR", home / ".pi" / "agent")
        return (pi / "sessions", *dict.fromkeys(folder / "agents" for folder in folders))

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the file begins with a session's header or is an agent's database. Discarded sessions do not count."""
        if any(mark in path.name for mark in _DISCARDED):
            return False
        if head.startswith(MAGIC):
            return ".jsonl.reset." in path.name
        return any(map(_opens_session, sample_records(head))) or claims_database(path, head)

    def owns(self, path: Path) -> bool:
        """True for sessions, including those archived by a reset, and for an agent's database. Discarded sessions do not count."""
        kept = path.suffix == ".jsonl" or ".jsonl.reset." in path.name or path.name == DATABASE
        return kept and not any(mark in path.name for mark in _DISCARDED)

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Raises SourceError if the file as a whole cannot be read."""
        if path.suffix in DATABASES:
            return read_database(path, cursor, _database_reader)
        reader = RecordReader(start=partial(_load_state, path=path), step=partial(_read_entry, path=str(path)), save=_dump_state)
        return read_compressed(path, cursor, reader) if path.suffix == ".zst" else read_slices(path, cursor, reader)


def _opens_session(value: Fields) -> bool:
    """True if a record is a session's header, or a message of a session whose header was lost."""
    if not isinstance(value.get("timestamp"), str):
        return False
    message = value.get("message")
    header = value.get("type") == "session" and isinstance(value.get("id"), str) and bool({"cwd", "version"} & value.keys())
    return header or (value.get("type") == "message" and isinstance(message, Fields) and "role" in message)


@dataclass(kw_only=True, slots=True)
class _State:
    """The state after the records read so far. Its size is bounded.

    ``runner`` is who talks to the assistant, ``owner`` the number and name of the first sender. ``opened`` means that the first
    prompt was read, ``digest`` that a program wrote it. ``links`` maps an entry without events to its nearest ancestor with one.
    """

    session: str = ""
    runner: Runner = Runner.PERSON
    opened: bool = False
    digest: bool = False
    cwd: str = ""
    owner: str = ""
    calls: OpenCalls = field(default_factory=OpenCalls)
    links: dict[str, str] = field(default_factory=dict)


_CARRIED = ("session", "runner", "opened", "digest", "cwd", "owner", "links")


def _load_state(carry: str, fetch: Fetch, *, path: Path) -> _State:
    held = json.loads(carry)
    state = _State(**{name: held[name] for name in _CARRIED if name in held})
    state.session = state.session or truncate_name(path.name.partition(".jsonl")[0].rpartition("_")[2])
    state.runner = Runner(state.runner) or _runner_beside(path)
    state.calls.load(held.get("calls", {}), fetch, _calls_in)
    return state


def _calls_in(value: Fields) -> Iterator[ToolUse]:
    blocks = value.mapping("message").parts("content")
    return (_called_tool(block) for block in blocks if block.get("type") == "toolCall")


def _dump_state(state: _State) -> str:
    held: dict[str, Any] = {name: getattr(state, name) for name in _CARRIED}
    held["calls"] = state.calls.dump()
    return json.dumps({name: value for name, value in held.items() if value}, ensure_ascii=False, separators=(",", ":"))


def _runner_beside(path: Path) -> Runner:
    """The runner of this file's session according to the session index in the same folder."""
    stem = path.name.partition(".jsonl")[0]
    index = read_beginning(path.parent / "sessions.json", _INDEX_BYTES)
    for key, entry in parse_object(index.decode("utf-8", "replace")).items():
        if not isinstance(entry, Fields):
            continue
        named, native = entry.get("sessionFile"), entry.get("sessionId")
        same = isinstance(native, str) and native and (stem == native or stem.startswith(f"{native}-topic-"))
        if same or (isinstance(named, str) and named.replace("\\", "/").rpartition("/")[2] == path.name):
            return session_runner(key, entry)
    return Runner.PERSON


def _database_reader(path: Path, session: str, key: str) -> RecordReader[_State]:
    """The reader of one session in a database."""
    state = _State(session=truncate_name(session), runner=session_runner(key, Fields()))
    return RecordReader(start=lambda _carry, _fetch: state, step=partial(_read_entry, path=str(path)), save=lambda _state: "{}")


_Result = list[EventDraft] | str
"""The drafts of an entry, or the reason why it has none."""


def _read_entry(state: _State, record: Record, *, path: str) -> Outcome:
    value, noted = record.value, Notes()
    kind = value.get("type")
    if kind == "session":
        state.session = value.name("id") or state.session
        state.cwd = value.path("cwd") or state.cwd
        return Outcome(dropped="session")
    if state.runner in EXCLUDED:
        return Outcome(dropped=f"excluded-session:{state.runner}")
    found: _Result
    if kind == "message":
        found = _read_message(state, record, noted)
    elif kind in ("compaction", "branch_summary"):
        found = _text_drafts(value.text("summary"), Author.COMPACTION, str(kind))
    elif kind == "custom_message":
        found = _text_drafts(value.text("content"), Author.INJECTED, "custom_message")
    else:
        found = str(kind) if kind in _SILENT_KINDS else f"unknown-type:{safe_word(kind)}"
    native, parent = value.name("id"), value.name("parentId")
    parent = state.links.get(parent, parent)
    if isinstance(found, str):
        hold_newest(state.links, native, parent, _LINKS)
        return Outcome(dropped=found, noted=noted)
    return Outcome(events=tuple(_to_events(state, record, found, parent, path)), noted=noted)


def _text_drafts(text: str, author: Author, reason: str) -> _Result:
    return [EventDraft(author=author, reason=reason, text=text)] if text else "no-text"


def _read_message(state: _State, record: Record, noted: Notes) -> _Result:
    message = record.value.get("message")
    if not isinstance(message, Fields):
        return "no-message"
    match message.get("role"):
        case "user":
            return _read_user(state, message, noted)
        case "assistant":
            return _read_assistant(state, message, record, noted)
        case "toolResult":
            return _read_result(state, message, noted)
        case "bashExecution":
            return _read_execution(message, noted)
        case role:
            return _text_drafts(message.text("content"), Author.INJECTED, f"role:{safe_word(role)}")


def _read_user(state: _State, message: Fields, noted: Notes) -> _Result:
    drafts: list[EventDraft] = []
    for index, block in enumerate(message.parts("content")):
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            noted[f"block:{block.word('type')}"] += 1
        elif text.strip():
            state.owner, sender = parse_sender(text, state.owner)
            drafts += prompt_drafts(text, state.runner or sender, message.get("provenance"), noted, index=index)
    if not state.opened and (first := next((draft for draft in drafts if draft.author is Author.HUMAN), None)):
        state.opened, state.digest = True, is_machine_session_start(first.text)
    if state.digest:
        drafts = relabel(drafts, Author.INJECTED, "machine-session")
    return drafts or "no-text"


def _read_assistant(state: _State, message: Fields, record: Record, noted: Notes) -> _Result:
    spoken = Author.INJECTED if state.digest else Author.ASSISTANT
    author = Author.SUBAGENT if state.runner is Runner.SUBAGENT else spoken
    drafts: list[EventDraft] = []
    silent, kinds = False, set[str]()
    for index, block in enumerate(message.parts("content")):
        kind = block.word("type")
        kinds.add(kind)
        if kind == "text":
            text = strip_gateway_marks(content_text([block]))
            silent = silent or not text
            if text:
                drafts.append(EventDraft(index=index).answer(text, "assistant-message", author))
        elif kind == "toolCall":
            tool = _called_tool(block)
            state.calls.add_call(tool, record)
            drafts.append(EventDraft(author=author, reason="toolCall", index=index).call(tool))
        else:
            noted["thinking" if kind == "thinking" else f"block:{kind}"] += 1
    if drafts:
        return drafts
    reason = message.get("stopReason")
    if silent:
        return "no-reply"
    return "thinking-only" if kinds == {"thinking"} else safe_word(reason) if reason in ("error", "aborted") else "no-text"


def _called_tool(block: Fields) -> ToolUse:
    return requested_tool(block.get("name"), block.get("id"), block.mapping("arguments"))


def _read_result(state: _State, message: Fields, noted: Notes) -> _Result:
    tool = state.calls.close(message.name("toolCallId"), message.name("toolName"))
    for block in message.parts("content"):
        if block.get("type") != "text":
            noted[f"block:{block.word('type')}"] += 1
    text, code = message.text("content"), exit_code_of(message.mapping("details").get("exitCode"))
    code = _trailing_exit_code(text) if code is None else code
    done = replace(tool, detail="", ok=success_of(message.get("isError")), exit_code=code)
    return [EventDraft().output(text, done, noted)]


def _trailing_exit_code(text: str) -> int | None:
    """The exit code in the last line of an output, where pi's shell tool writes it; None if there is none."""
    _, mark, rest = text[-100:].rpartition("Command exited with code ")
    return parse_exit_code(rest.strip(") \n")) if mark else None


def _read_execution(message: Fields, noted: Notes) -> _Result:
    """The drafts of a shell command that the user ran in the client (``!ls``). Command and output count as a tool's."""
    tool = ToolUse(name="bash", target=truncate_text(message.text("command")))
    code = exit_code_of(message.get("exitCode"))
    done = replace(tool, exit_code=code, ok=None if code is None or message.get("cancelled") else code == 0)
    return [
        EventDraft(author=Author.TOOL, reason="bashExecution").call(tool),
        EventDraft(index=1).output(message.text("output"), done, noted),
    ]


def _to_events(state: _State, record: Record, drafts: list[EventDraft], parent: str, path: str) -> Iterator[Event]:
    value = record.value
    at = parse_instant(value.get("timestamp")) or parse_instant(value.mapping("message").get("timestamp"))
    native = value.name("id")
    stamp = format_instant(at) if at else ""
    for draft in drafts:
        call = draft.tool.call if draft.tool else ""
        same = (native, stamp) if native and stamp else (native or stamp or state.session, draft.kind, call, one_line(draft.text))
        yield to_event(
            draft,
            key=hash_texts(*same) + draft.suffix,
            session=state.session,
            at=at,
            precision=Precision.MESSAGE,
            pointer=record.place.pointer(path),
            project=state.cwd,
            record=native,
            parent=parent,
        )
