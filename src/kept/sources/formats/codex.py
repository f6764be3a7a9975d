"""Read Codex's rollouts (``sessions/YYYY/MM/DD/rollout-….jsonl``, plain or ``.zst``), including old ones, whose items have no
wrapper.

The client records each prompt twice: as an item of the model's transcript, and as an event. Only the event proves that somebody
typed it. The item waits for its event until the model continues. If a file has no such events, the item's text decides. The second
record of a text is dropped as ``told-twice``.

The key of a message is a hash of the conversation up to it. If a fork or subagent copied the beginning of its parent, both have the
same keys there. Calls and outputs are identified by the id of their call. ``record`` and ``parent`` are such keys too: each event
follows the one before it.

A rollback becomes a prompt without text that is labelled abandoned. Its parent is that of the first removed prompt (see
``kept.store.threads``). SpecStory can convert another tool's session to a rollout. Such records get the id of that session and the
label injected. They get no time, because their time is that of the conversion.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from kept.core.digest import hash_texts
from kept.core.event import Author, Cursor, Event, Precision, Slice
from kept.core.text import one_line
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.sources.base import named_folder
from kept.sources.documents import is_program, is_unattended, label_as_program, label_unconfirmed
from kept.sources.drafts import EventDraft, injected_draft, relabel, to_event
from kept.sources.fields import Fields, Notes, content_text, safe_word, truncate_name, truncate_path
from kept.sources.formats.codex_labels import (
    CALLS,
    OUTPUTS,
    WAITING,
    State,
    WaitingPrompt,
    called_tool,
    client_text_reason,
    parse_output,
    prompt_drafts,
    prompt_text,
    record_item,
    record_stamp,
    strip_hook_blocks,
    take_prompt,
)
from kept.sources.json_lines import MAGIC, Outcome, RecordReader, read_compressed, read_slices
from kept.sources.message_parts import is_machine_session_start
from kept.sources.records import Record, RecordPlace, sample_records

_ITEMS = (*CALLS, *OUTPUTS, "message", "reasoning", "image_generation_call", "compaction", "ghost_snapshot")
_WRAPPED = ("response_item", "event_msg", "turn_context", "compacted")
# Types of records without words of a conversation.
_SILENT = ("world_state", "token_usage_record", "retained_context", "inter_agent_communication")
_MACHINES = ("memory_consolidation", "review", "compact", "guardian_review", "thread_title", "system")
_AGENT_NAMES = ("agent_nickname", "agent_role", "agent_path")  # the name that an agent gave to the subagent it started


@dataclass(frozen=True, kw_only=True, slots=True)
class Codex:
    """The reader of Codex's transcripts."""

    name: str = "codex"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``sessions`` and ``archived_sessions`` in ``$CODEX_HOME``, else in ``~/.codex``."""
        folder = named_folder(env, "CODEX_HOME", home / ".codex")
        return folder / "sessions", folder / "archived_sessions"

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the first record is a rollout's. A compressed file is recognized by its name."""
        if head.startswith(MAGIC):
            return path.name.startswith("rollout-") and path.name.endswith(".jsonl.zst")
        values = list(sample_records(head))
        if values:
            return any(
                _opens_rollout(value) or (value.get("type") in _WRAPPED and isinstance(value.get("payload"), Fields))
                for value in values
            )
        # The first record may be longer than the head (base instructions). Its own fields come before the long ones.
        opening = head[:2048].replace(b" ", b"")
        return b"\n" not in head.rstrip() and b'"type":"session_meta"' in opening and b'"payload"' in opening

    def owns(self, path: Path) -> bool:
        """True for rollouts, plain or compressed."""
        return path.name.endswith((".jsonl", ".jsonl.zst"))

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Skips a compressed file beside its plain version. Raises SourceError."""
        reader = RecordReader(start=State.restore, step=partial(_read_record, path=str(path)), save=State.dump)
        if path.suffix != ".zst":
            return read_slices(path, cursor, reader)
        return iter(()) if path.with_suffix("").exists() else read_compressed(path, cursor, reader)


def _opens_rollout(value: Fields) -> bool:
    if value.get("type") == "session_meta":
        return isinstance(value.get("payload"), Fields)
    return "type" not in value and "id" in value and "timestamp" in value and "instructions" in value


def _read_record(state: State, record: Record, *, path: str) -> Outcome:
    value, noted = record.value, Notes()
    item = record_item(value)
    kind, inner = value.get("type"), item.get("type")
    events = list(_release_held_prompts(state, noted, path)) if _is_past_prompts(value, item) else []
    if kind == "session_meta":
        found: _Result = _begin_session(state, value, item)
    elif _opens_rollout(value):
        found = _begin_session(state, value, value, legacy=True)
    elif state.machine:
        found = "machine-session"
    elif "record_type" in value:
        found = f"record:{safe_word(value['record_type'])}"
    elif kind == "turn_context":
        _enter_turn(state, item)
        found = "turn_context"
    elif kind == "compacted":
        found = _read_compaction(item, noted)
    elif kind == "event_msg":
        found = _read_client_event(state, record, item, noted)
    elif kind == "response_item" or (kind in _ITEMS and "payload" not in value):
        found = _read_response_item(state, record, item, noted)
    elif kind in _SILENT:
        found = str(kind)
    else:
        found = f"unknown-type:{safe_word(kind)}"
    if inner in ("task_started", "turn_started"):
        _enter_turn(state, item)
    if isinstance(found, list):
        events += _to_events(state, record.place, record_stamp(value), found, path)
    return Outcome(events=tuple(events), dropped=found if isinstance(found, str) else "no-text", noted=noted)


_Result = list[EventDraft] | str
"""The drafts of a record, or the reason why it has none."""


def _begin_session(state: State, value: Fields, meta: Fields, *, legacy: bool = False) -> str:
    """Read a session's identity. The first one is the file's own. Those right after it belong to its ancestors."""
    native = meta.name("id")
    written = value.get("timestamp")
    began = meta.get("timestamp") or written
    if not state.session:
        state.session, state.legacy = native, legacy
        state.created, state.written = truncate_name(began), truncate_name(written)
        state.source = meta.name("specstorySourceSessionId")
        state.grid = 0 if state.source else -1
        _set_runner(state, meta)
        state.cwd = meta.path("cwd")
        # A person's fork of a session of `codex exec` keeps the originator of its parent.
        forked = meta.get("forked_from_id")
        state.printed = meta.get("source") == "exec" or (meta.get("originator") == "codex_exec" and not forked)
        state.unattended = is_program(meta.get("originator")) or (state.printed and is_unattended(state.cwd))
        state.scheduled = str(meta.get("thread_source")).endswith("automation")
        state.branch = meta.mapping("git").path("branch")
    if not state.chain:
        state.root, state.began = native or state.root, truncate_name(began)
    return "session_meta"


def _set_runner(state: State, meta: Fields) -> None:
    """Set who started the session: a person, an agent (which makes it a subagent's session), or the client itself."""
    source, purpose = meta.get("source"), meta.get("thread_source")
    inner: Any = None
    if isinstance(source, Fields):  # a program that embeds the client has a name of its own there, below `custom`
        inner = next((source[name] for name in ("subagent", "sub_agent", "subAgent", "internal") if name in source), None)
    kind = inner if isinstance(inner, str) else next(iter(inner), "") if isinstance(inner, Fields) else ""
    state.machine = next((str(name) for name in (source, purpose) if name in _MACHINES), "")
    if inner is not None and kind != "thread_spawn":
        state.machine = safe_word(kind)
    state.subagent = kind == "thread_spawn" or source == "mcp"
    # A person's fork has the id of its origin in another field, `forked_from_id`.
    state.subagent |= purpose == "subagent" or (purpose != "user" and bool(meta.get("parent_thread_id")))
    state.subagent |= any(meta.get(name) for name in _AGENT_NAMES)


def _enter_turn(state: State, item: Fields) -> None:
    state.turn = item.name("turn_id") or state.turn
    state.cwd = item.path("cwd") or state.cwd


def _read_compaction(item: Fields, noted: Notes) -> _Result:
    if isinstance(item.get("replacement_history"), list):
        noted["replacement-history"] += len(item["replacement_history"])
    text = item.text("message")
    return [EventDraft(author=Author.COMPACTION, reason="compacted", text=text)] if text else "compacted"


def _read_client_event(state: State, record: Record, item: Fields, noted: Notes) -> _Result:
    """Read an event of the client. Only prompts and rollbacks have results."""
    match item.get("type"):
        case "user_message":
            state.told = True
            text = prompt_text(item)
            if isinstance(item.get("images"), list) and item["images"]:
                noted["block:image"] += len(item["images"])
            if not text:
                return "no-text"
            if item.get("kind") not in (None, "", "plain"):  # written by the client: instructions, the environment
                return [injected_draft(text, f"user_message-event:{safe_word(item['kind'])}")]
            if not take_prompt(state.held, text):
                if hash_texts(one_line(text)) in state.developer:
                    return "told-twice"
                state.early = [*state.early, WaitingPrompt(record.place, record_stamp(record.value), text)][-WAITING:]
            return _draft_prompt(state, text, "user_message-event", noted)
        case "thread_rolled_back":
            turns = item.get("num_turns")
            if not isinstance(turns, int) or turns < 1 or not state.prompts:
                return "event:thread_rolled_back"
            state.roll_back(turns)
            return [EventDraft(author=Author.ABANDONED, reason="thread_rolled_back")]
        case "agent_message":
            return "told-twice"
        case kind:
            return f"event:{safe_word(kind)}"


def _read_response_item(state: State, record: Record, item: Fields, noted: Notes) -> _Result:
    """Read an item of the model's transcript."""
    kind = item.get("type")
    if kind == "message":
        return _read_message(state, record, item, noted)
    if kind in CALLS:
        tool = called_tool(item)
        state.calls.add_call(tool, record)
        return [EventDraft(author=_answer_author(state), reason=str(kind)).call(tool)]
    if kind in OUTPUTS:
        text, ok, code = parse_output(item.get("output", item.get("tools")), noted)
        tool = state.calls.close(item.name("call_id"))
        if not tool.name:
            noted["output-without-call"] += 1
        return [EventDraft().output(text, replace(tool, detail="", ok=ok, exit_code=code), noted)]
    return safe_word(kind)


def _answer_author(state: State) -> Author:
    return Author.SUBAGENT if state.subagent else Author.INJECTED if state.digest else Author.ASSISTANT


def _read_message(state: State, record: Record, item: Fields, noted: Notes) -> _Result:
    content = item.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [content_text([block]) for block in blocks]
    for block in blocks:
        if isinstance(block, Fields) and block.get("type") == "input_image":
            noted["block:image"] += 1
    match item.get("role"):
        case "assistant":
            text = "\n".join(text for text in texts if text)
            answer = EventDraft().answer(text, "assistant-message", _answer_author(state))
            return [answer] if text else "no-text"
        case "user":
            return _read_user(state, record, texts, noted)
        case role:
            text = "\n".join(text for text in texts if text)
            state.developer = [*state.developer, hash_texts(one_line(text))][-WAITING:]
            return [injected_draft(text, f"role:{safe_word(role)}")] if text else "no-text"


def _read_user(state: State, record: Record, texts: list[str], noted: Notes) -> _Result:
    drafts, typed = list[EventDraft](), list[str]()
    for index, text in enumerate(texts):
        reason = client_text_reason(text)
        rest, hooks = ("", "") if reason else strip_hook_blocks(text)
        if reason:
            drafts.append(injected_draft(text, reason, index))
            state.cwd = _parse_cwd(text) or state.cwd if reason == "environment-context" else state.cwd
        if hooks:
            drafts.append(injected_draft(hooks, "hook-prompt", index))
        if rest:
            typed.append(rest)
    text = "\n".join(typed)
    if not text or take_prompt(state.early, text):
        return drafts or ("told-twice" if text else "no-text")
    if state.legacy:
        return _draft_prompt(state, text, "user-message", noted) + drafts
    state.held.append(WaitingPrompt(record.place, record_stamp(record.value), text))
    return drafts or "told-twice"


def _parse_cwd(text: str) -> str:
    return truncate_path(text.partition("<cwd>")[2].partition("</cwd>")[0].strip()) if "</cwd>" in text else ""


def _is_past_prompts(value: Fields, item: Fields) -> bool:
    """True if no event will follow for the held prompts, because the model continued or the turn ended."""
    match value.get("type"):
        case "response_item":
            return item.get("type") != "message" or item.get("role") == "assistant"
        case "compacted":
            return True
        case "event_msg":
            return item.get("type") in ("task_complete", "turn_complete", "turn_aborted", "thread_rolled_back", "agent_message")
        case _:
            return False


def _release_held_prompts(state: State, noted: Notes, path: str) -> Iterator[Event]:
    """Yield the held prompts, which got no event. They are injected if the file has events of prompts, else they are the user's."""
    held, state.held, state.early = state.held, [], []
    for place, stamp, text in held:
        if state.told:
            state.open_turn()
            drafts = [injected_draft(text, "no-user_message-event")]
        else:
            drafts = _draft_prompt(state, text, "user-message", noted)
        yield from _to_events(state, place, stamp, drafts, path)


def _draft_prompt(state: State, text: str, reason: str, noted: Notes) -> list[EventDraft]:
    """The drafts of a prompt. Its author is an agent in a subagent's session, and a program in a session that a program started."""
    state.open_turn()
    drafts = prompt_drafts(text, noted, reason=reason)
    if state.subagent:
        return relabel(drafts, Author.SUBAGENT, "subagent-session")
    if not state.opened:
        state.opened = True
        state.digest = is_machine_session_start(text) or state.unattended
        if state.scheduled:
            return label_as_program(drafts, noted, "automation")
    if state.digest:
        if state.unattended:
            return label_as_program(drafts, noted, "exec")
        return relabel(drafts, Author.INJECTED, "machine-session")
    return label_unconfirmed(drafts, noted, "exec") if state.printed or state.scheduled else drafts


def _to_events(state: State, place: RecordPlace, stamp: str, drafts: list[EventDraft], path: str) -> Iterator[Event]:
    copied = _is_converted_copy(state, stamp)
    at, precision = (None, Precision.NONE) if copied else _event_time(state, stamp)
    for draft in drafts:
        call = draft.tool.call if draft.tool else ""
        if call:
            key = hash_texts(state.root, draft.kind, draft.author, call)
        else:
            key = state.next_message_key(draft.kind, draft.author, draft.suffix, one_line(draft.text))
        yield to_event(
            replace(draft, author=Author.INJECTED, reason="converted-copy") if copied else draft,
            key=key,
            session=state.source if copied else state.session,
            at=at,
            precision=precision,
            pointer=place.pointer(path),
            project=state.cwd,
            branch=state.branch,
            record=key,
            parent=state.tip or state.root,
        )
        if draft.author is not Author.ABANDONED:
            state.tip = key


def _is_converted_copy(state: State, stamp: str) -> bool:
    """True if a record belongs to a converted beginning, whose turns are stamped one second apart from the first line on."""
    if state.grid < 0:
        return False
    base, at = parse_instant(state.written), parse_instant(stamp)
    for count in (state.grid, state.grid + 1):
        if base is not None and at == base + timedelta(seconds=count):
            state.grid = count
            return True
    state.grid = -1
    return False


_BURST = timedelta(seconds=1)


def _event_time(state: State, stamp: str) -> tuple[datetime | None, Precision]:
    """The time of a record and its precision. Turns that a fork copied have the fork's time, so the ids of the turns decide."""
    if state.legacy:
        return parse_instant(state.created), Precision.SESSION
    at = parse_instant(stamp)
    written = parse_instant(state.written)
    if at is None or written is None or state.root == state.session or at < written:
        return at, Precision.MESSAGE
    created, turned = parse_instant(state.created) or written, _parse_uuid_time(state.turn)
    if turned is not None:
        return (turned, Precision.INFERRED) if turned < created else (at, Precision.MESSAGE)
    return (parse_instant(state.began), Precision.SESSION) if at - written < _BURST else (at, Precision.MESSAGE)


def _parse_uuid_time(native: str) -> datetime | None:
    """The time in a UUID of version 7, whose first 48 bits are milliseconds since 1970; None for other ids."""
    try:
        uuid = UUID(native)
    except ValueError:
        return None
    return parse_instant(uuid.int >> 80) if uuid.version == 7 else None
