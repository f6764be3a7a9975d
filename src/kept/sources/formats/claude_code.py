"""Read Claude Code's session files (``projects/<slug>/<session>.jsonl``, and sub-agents' files beside them).

Each record is interpreted by its own fields and a small state: open tool calls, the links of records without events, queued
prompts, the last working directory and branch. Copied records are not removed, because an event has the same key in all copies.
``kept.store.threads`` later finds the abandoned branches.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kept.core.digest import hash_texts
from kept.core.event import Author, Cursor, Event, EventKind, Precision, Slice
from kept.core.text import one_line, word_set
from kept.core.times import format_instant, parse_instant
from kept.core.value import dataclass
from kept.sources.base import named_folder
from kept.sources.documents import PRINTED, label_unconfirmed
from kept.sources.drafts import EventDraft, parse_object, shorten_text, to_event
from kept.sources.fields import Fields, Notes, content_text, safe_word, truncate_name
from kept.sources.formats.claude_code_blocks import (
    CALLS,
    State,
    answer_drafts,
    called_tool,
    denial_drafts,
    label_record,
    message_blocks,
    queued_text,
    to_result_draft,
)
from kept.sources.json_lines import Outcome, RecordReader, read_slices
from kept.sources.message_parts import is_machine_session_start
from kept.sources.records import Record, read_beginning, sample_records

# Types of records without speech. The type is also the reason for dropping the record.
_SILENT = word_set(
    "summary ai-title custom-title agent-name agent-color agent-setting last-prompt mode permission-mode "
    "file-history-snapshot pr-link progress tag worktree-state content-replacement attribution-snapshot started result "
    "api-request api-request-blob api-request-shape atis-latch cost-state tools-used"
)
_SPEAKING = frozenset({"user", "assistant", "system", "attachment", "queue-operation"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaudeCode:
    """The reader of Claude Code's transcripts."""

    name: str = "claude-code"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``$CLAUDE_CONFIG_DIR/projects``, else ``~/.claude/projects``."""
        return (claude_folder(home, env) / "projects",)

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the first record that identifies any format is Claude Code's."""
        values = sample_records(head)
        if (first := next(values, None)) is not None:
            verdicts = (_recognize_record(value, path) for value in chain((first,), values))
            return next((verdict for verdict in verdicts if verdict is not None), False)
        # No record in the head is complete and valid: the first is longer (a pasted image), or the only one is damaged. The fields
        # around the message are then searched as text.
        cues = ((b'"parentUuid"', b'"sessionId"'), (b'"type"', b'"message"', b'"role"'))
        return head.lstrip().startswith(b"{") and any(all(word in head for word in words) for words in cues)

    def owns(self, path: Path) -> bool:
        """True for every ``.jsonl`` file: sessions, sub-agents and workflows."""
        return path.suffix == ".jsonl"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor. Raises SourceError if the file as a whole cannot be read."""
        step = partial(_read_record, file=_FileInfo(path=str(path), stem=path.stem, subagent=_is_subagent(path)))
        return read_slices(path, cursor, RecordReader(start=State.restore, step=step, save=State.dump))


def _recognize_record(value: Fields, path: Path) -> bool | None:
    """True if a record is Claude Code's, False if it has another format, None if it fits several formats."""
    kind, message = value.get("type"), value.get("message")
    if kind in ("started", "result"):
        return "workflows" in path.parts[-4:] or None
    if "uuid" in value and ("sessionId" in value or "parentUuid" in value):
        return True
    if kind in ("user", "assistant"):
        return "role" in message if isinstance(message, Fields) else None if "message" in value else False
    if isinstance(kind, str) and kind in _SILENT | _SPEAKING:
        return ("payload" not in value and "data" not in value) or None
    return False if isinstance(kind, str) and ({"payload", "version", "data"} & value.keys()) else None


def _is_subagent(path: Path) -> bool:
    return path.name.startswith("agent-") or "subagents" in path.parts[-4:-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class _FileInfo:
    """The facts that a file's name and folder give."""

    path: str
    stem: str
    subagent: bool


def _read_record(state: State, record: Record, *, file: _FileInfo) -> Outcome:
    value = record.value
    if not state.session or value.get("sessionId") != state.session:
        state.session = value.name("sessionId") or state.session or truncate_name(file.stem)
    if value.get("cwd") != state.cwd:
        state.cwd = value.path("cwd") or state.cwd
    if value.get("gitBranch") != state.branch:
        state.branch = value.path("gitBranch") or state.branch
    noted = Notes()
    match value.get("type"):
        case "user":
            result = _read_user(state, value, file, noted)
        case "assistant":
            result = _read_assistant(state, record, file, noted)
        case "attachment":
            result = _read_attachment(state, value, file, noted)
        case "queue-operation":
            result = _read_queue_operation(state, record, file, noted)
        case "system":
            result = f"system:{value.word('subtype')}"
        case str() as kind if kind in _SILENT:
            result = kind
        case kind:
            result = f"unknown-type:{safe_word(kind)}"
    parent = _nearest_parent(state, value)
    if isinstance(result, str):
        state.link_record(value.name("uuid"), parent)
        return Outcome(dropped=result, noted=noted)
    if value.get("entrypoint") == PRINTED:
        result = label_unconfirmed(result, noted, PRINTED)
    return Outcome(events=tuple(_to_events(state, record, result, parent, file)), noted=noted)


_Result = list[EventDraft] | str
"""The drafts of a record, or the reason why it has none."""


# Only the record of a tool's result has these fields. In a record without a result, its text comes from the tool.
_RESULT_FIELDS = ("sourceToolAssistantUUID", "toolUseResult")


def _read_user(state: State, value: Fields, file: _FileInfo, noted: Notes) -> _Result:
    content = message_blocks(value)
    if content is None:
        return "no-message"
    results = len([block for block in content if block.get("type") == "tool_result"])
    label = label_record(value, subagent_file=file.subagent) or _label_command_body(state, value, content)
    if label is None and not results and any(value.get(name) for name in _RESULT_FIELDS):
        label = Author.INJECTED, "tool-result-record"
    alone = content_text(content[0].get("text")) if len(content) == 1 and content[0].get("type") == "text" else ""
    if label is None and state.sent_before(alone):
        return "queued-copy"
    drafts: list[EventDraft] = []
    result = value.get("toolUseResult") if results == 1 else None
    for index, block in enumerate(content):
        match block.get("type"):
            case "text":
                drafts += _prompt_drafts(state, block.get("text"), label, index, noted)
            case "tool_result":
                tool = state.calls.close(block.name("tool_use_id"))
                drafts.append(to_result_draft(block, result, tool, index=index, noted=noted))
                if label is None:
                    drafts += denial_drafts(block, value, index)
                    drafts += [] if block.get("is_error") is True else answer_drafts(tool, result, index)
            case kind:
                noted[f"block:{safe_word(kind)}"] += 1
    return drafts or "no-text"


def _label_command_body(state: State, value: Fields, content: list[Fields]) -> tuple[Author, str] | None:
    """The label of a record with the expansion of a slash command: it follows the command, and its content is a list."""
    command, state.command = state.command, ""
    if [block for block in content if block.get("type") == "text" and "<command-name>" in block.text("text")]:
        state.command = value.name("uuid")
    is_list = not isinstance(value["message"].get("content"), str)
    return (Author.INJECTED, "command-body") if command and is_list and value.get("parentUuid") == command else None


# Reasons for treating a prompt as a program's. The account counts them, because a person may have typed it after all.
_PROGRAMS = frozenset({"entrypoint-sdk", "promptSource-machine"})


def _prompt_drafts(state: State, text: Any, label: tuple[Author, str] | None, index: int, noted: Notes) -> list[EventDraft]:
    """The drafts of a text in the user's name."""
    words = shorten_text(content_text(text), noted)
    if not words:
        return []
    if label is None and hash_texts(words) in state.scheduled:
        label = (Author.INJECTED, "scheduled-by-agent")
    if label is not None:
        if label[1] in _PROGRAMS:
            noted[f"program-prompt:{label[1]}"] += 1
        return [EventDraft(author=label[0], reason=label[1], text=words, index=index)]
    drafts = EventDraft(reason="typed", index=index).typed(words, noted)
    typed = next((draft for draft in drafts if draft.author is Author.HUMAN), None)
    if typed is not None and state.opened != state.session:
        state.opened = state.session
        state.machine = state.session if is_machine_session_start(typed.text) else state.machine
    if state.machine != state.session:
        return drafts
    return [draft.injected(draft.text, "machine-session") if draft.author is Author.HUMAN else draft for draft in drafts]


def _read_assistant(state: State, record: Record, file: _FileInfo, noted: Notes) -> _Result:
    value = record.value
    content = message_blocks(value)
    if content is None:
        return "no-message"
    if value.get("isApiErrorMessage"):
        return "api-error"
    if value["message"].get("model") == "<synthetic>":
        return "synthetic-reply"
    author, reason = _assistant_label(state, value, file)
    drafts: list[EventDraft] = []
    kinds = set()
    for index, block in enumerate(content):
        kind = block.get("type")
        kinds.add(kind if isinstance(kind, str) else "")
        match kind:
            case "text" if text := shorten_text(block.text("text"), noted):
                drafts.append(EventDraft(kind=EventKind.RESPONSE, author=author, reason=reason, text=text, index=index))
            case "text":
                pass
            case str() if kind in CALLS:
                tool = called_tool(block)
                state.calls.add_call(tool, record)
                state.note_scheduled(block)
                said = tool.target or tool.name
                drafts.append(EventDraft(kind=EventKind.TOOL_CALL, author=author, reason=reason, text=said, index=index, tool=tool))
            case "thinking" | "redacted_thinking":
                noted["thinking"] += 1
            case _:
                noted[f"block:{safe_word(kind)}"] += 1
    if drafts:
        return drafts
    return "thinking-only" if kinds and kinds <= {"thinking", "redacted_thinking"} else "no-text"


def _assistant_label(state: State, value: Fields, file: _FileInfo) -> tuple[Author, str]:
    if file.subagent:
        return Author.SUBAGENT, "subagent-file"
    if value.get("isSidechain"):
        return Author.SUBAGENT, "isSidechain"
    if state.machine == state.session:
        return Author.INJECTED, "machine-session"
    return Author.ASSISTANT, "assistant-record"


def _read_attachment(state: State, value: Fields, file: _FileInfo, noted: Notes) -> _Result:
    attachment = value.get("attachment")
    if not isinstance(attachment, Fields):
        return "attachment"
    kind = attachment.get("type")
    if kind == "hook_additional_context" and (text := attachment.text("content")):
        return [EventDraft(author=Author.INJECTED, reason="hook-context", text=text)]
    text = attachment.text("prompt") if kind == "queued_command" else ""
    if not text:
        return f"attachment:{safe_word(kind)}"
    own = {key: attachment[key] for key in ("origin", "isMeta") if key in attachment}
    label = label_record(Fields({**value, **own}), subagent_file=file.subagent)
    if label is None and attachment.get("commandMode", "prompt") != "prompt":
        label = (Author.INJECTED, "commandMode")
    if not state.is_first_time(text):
        return "queued-copy"
    return _prompt_drafts(state, text, label, 0, noted) or "no-text"


def _read_queue_operation(state: State, record: Record, file: _FileInfo, noted: Notes) -> _Result:
    """Read a change of the queue of prompts that were typed while the assistant worked. A prompt that leaves the queue into the
    current turn has no other record. All others are sent later as records of their own.
    """
    value = record.value
    operation = value.get("operation")
    text = value.text("content")
    match operation:
        case "enqueue":
            state.queue_prompt((record.start, record.end), queued_text(value))
            return "queued-copy"
        case "popAll":
            state.queue = []
            return "queued-copy"
        case "dequeue":
            state.queue = state.queue[1:]
            return "queued-copy"
        case "remove":
            text, typed = state.unqueue_prompt(text)
        case _:
            return f"queue-operation:{safe_word(operation)}"
    if not text:
        return "no-text"
    if not state.is_first_time(text):
        return "queued-copy"
    label = label_record(value, subagent_file=file.subagent)
    if label is None and not typed:
        label = (Author.INJECTED, "queue-unknown")  # nobody typed a prompt that was never put into the queue
    return _prompt_drafts(state, text, label, 0, noted) or "no-text"


def _to_events(state: State, record: Record, drafts: list[EventDraft], parent: str, file: _FileInfo) -> Iterator[Event]:
    value = record.value
    at = parse_instant(value.get("timestamp"))
    native, pointer = value.name("uuid"), record.place.pointer(file.path)
    message = value.get("message")
    turn = message.name("id") if isinstance(message, Fields) and value.get("type") == "assistant" else ""
    for draft in drafts:
        key = native
        if not native:
            key = hash_texts(state.session, draft.kind, format_instant(at) if at else str(record.start), one_line(draft.text))
        yield to_event(
            draft,
            key=key + draft.suffix,
            session=state.session,
            at=at,
            precision=Precision.MESSAGE,
            pointer=pointer,
            project=state.cwd,
            branch=state.branch,
            record=native,
            parent=parent,
            turn=turn,
        )


def _nearest_parent(state: State, value: Fields) -> str:
    """The nearest ancestor with an event. For a compaction's record this is its logical parent, because it has no other."""
    native = value.name("parentUuid") or value.name("logicalParentUuid")
    return state.links.get(native, native)


CLAUDE_CODE = "claude-code"
_DEFAULT_DAYS = 30
_WARNING_DAYS = 7  # days before the deletion of a transcript when kept begins to warn
_SETTINGS_BYTES = 2**20


def claude_folder(home: Path, env: Mapping[str, str]) -> Path:
    """The folder of Claude Code: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return named_folder(env, "CLAUDE_CONFIG_DIR", home / ".claude")


def deletion_time(info: os.stat_result, days: int | None, now: datetime) -> datetime | None:
    """The time when a tool deletes a file that it keeps for ``days`` after the last change; None if that is over a week away."""
    if days is None:
        return None
    end = datetime.fromtimestamp(info.st_mtime, UTC) + timedelta(days=days)
    return end if end - timedelta(days=_WARNING_DAYS) <= now else None


def retention_days(source: str, home: Path, env: Mapping[str, str]) -> int | None:
    """The number of days after the last change when a tool deletes a transcript; None if it never does."""
    if source != CLAUDE_CODE:
        return None
    settings = read_beginning(claude_folder(home, env) / "settings.json", _SETTINGS_BYTES)
    days = parse_object(settings.decode("utf-8", "replace")).get("cleanupPeriodDays")
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _DEFAULT_DAYS
