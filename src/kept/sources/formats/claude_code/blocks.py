"""Helpers for single records of Claude Code: their author, their blocks as drafts of events, and the reader's state.

Knows the fields that the client and its hooks write, the client's tools and how it words a refused call; knows no order of records.
The state from record to record and from run to run is bounded. Its stored form contains only ids, hashes and places, no text of the
transcript: that is fetched again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kept.core.digest import hash_texts
from kept.core.event import CHOICE, Author, EventKind, ToolUse
from kept.core.words import list_shapes
from kept.sources.documents import PRINTED, is_sdk, is_unattended
from kept.sources.drafts import (
    EventDraft,
    call_detail,
    content_text,
    hold_newest,
    list_parts,
    shorten_text,
    to_mapping,
    truncate_name,
    truncate_text,
)
from kept.sources.json_lines import Fetch


def label_record(value: Mapping[str, Any], *, subagent_file: bool) -> tuple[Author, str] | None:
    """The author of a user record according to its own fields; None if its text must be examined.

    The fields are checked from the least to the most trusted interpretation: a record with two claims gets the less trusted one.
    """
    origin = value.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    entry, source = value.get("entrypoint"), value.get("promptSource")
    printed = entry == PRINTED and not is_unattended(value.get("cwd"))
    found: tuple[tuple[Any, Author, str], ...] = (
        (subagent_file, Author.SUBAGENT, "subagent-file"),
        (value.get("isSidechain"), Author.SUBAGENT, "isSidechain"),
        (value.get("agentId"), Author.SUBAGENT, "agentId"),
        (value.get("agentName"), Author.SUBAGENT, "agentName"),
        (value.get("isCompactSummary"), Author.COMPACTION, "isCompactSummary"),
        (value.get("isMeta"), Author.INJECTED, "isMeta"),
        (value.get("sourceToolUseID"), Author.INJECTED, "sourceToolUseID"),
        (value.get("isVisibleInTranscriptOnly"), Author.INJECTED, "isVisibleInTranscriptOnly"),
        (role is not None and role != "user", Author.INJECTED, "role-mismatch"),
        (value.get("planContent"), Author.INJECTED, "planContent"),
        (kind is not None and kind != "human", Author.INJECTED, "origin-not-human"),
        (kind is None and (is_sdk(entry) or (entry == PRINTED and not printed)), Author.INJECTED, "entrypoint-sdk"),
        (kind is None and source == "sdk" and not printed, Author.INJECTED, "promptSource-machine"),
        (kind is None and source == "system", Author.INJECTED, "promptSource-machine"),
    )
    return next(((author, reason) for holds, author, reason in found if holds), None)


CALLS = ("tool_use", "server_tool_use")


# The first of these inputs is the call's target.
_TARGETS = ("command", "file_path", "notebook_path", "pattern", "url", "query", "path", "description", "skill")


# The first of these is what it writes: a new file, a cell of a notebook, the prompt of a sub-agent.
_WRITTEN = ("content", "new_source", "prompt")


def to_call_draft(block: Mapping[str, Any], *, author: Author, reason: str, index: int) -> EventDraft:
    """Convert a tool_use block to a call; its text is its target."""
    given = block.get("input")
    inputs = to_mapping(given)
    named = next((inputs[key] for key in _TARGETS if isinstance(inputs.get(key), str) and inputs[key]), None)
    target = truncate_text(named or (json.dumps(given, ensure_ascii=False) if given else ""))
    name = truncate_name(block.get("name"))
    tool = ToolUse(name=name, call=truncate_name(block.get("id")), target=target, detail=call_detail(inputs, _WRITTEN))
    return EventDraft(kind=EventKind.TOOL_CALL, author=author, reason=reason, text=target or name, index=index, tool=tool)


def to_result_draft(
    block: Mapping[str, Any], result: Any, *, name: str, call: str, target: str, index: int, noted: dict[str, int]
) -> EventDraft:
    """Convert a tool_result block to an output; the record's ``toolUseResult`` also tells how the call ended."""
    content = block.get("content")
    text = shorten_text(content_text(content), noted)
    if isinstance(content, list):
        for item in content:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in ("image", "document"):
                noted[f"block:{kind}"] = noted.get(f"block:{kind}", 0) + 1
    if not name:
        noted["output-without-call"] = noted.get("output-without-call", 0) + 1
    ran = not text.startswith(list_shapes("clients", "not_run"))
    tool = ToolUse(
        name=name,
        call=call,
        target=target,
        ok=_call_success(block.get("is_error"), result) if ran else None,
        exit_code=_stated_exit_code(text, result) if ran else None,
    )
    reason = "tool-result" if ran else "tool-result:not-run"
    return EventDraft(kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason=reason, text=text, index=index, tool=tool)


def _call_success(is_error: Any, result: Any) -> bool | None:
    if isinstance(is_error, bool):
        return not is_error
    match result:
        case str():
            return False if result.startswith("Error") else None
        case {"interrupted": True} | {"success": False}:
            return False
        case dict():
            return True
        case _:
            return None


_DIGITS = 3


def _stated_exit_code(text: str, result: Any) -> int | None:
    if isinstance(result, dict):
        codes = (result.get(key) for key in ("exitCode", "exit_code", "code"))
        stated = next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), None)
        if stated is not None:
            return stated
    opening, _, rest = text[:20].partition("Exit code ")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return int(digits) if not opening and 0 < len(digits) <= _DIGITS else None


_REFUSED = "The user doesn't want to proceed with this tool use"
_SAID = "the user said:\n"
_NOTE = "\n\nNote: The user's next message may contain a correction or preference"


def denial_drafts(block: Mapping[str, Any], value: Mapping[str, Any], index: int) -> list[EventDraft]:
    """Drafts of what the user typed while refusing a tool call.

    The client puts the refusal into the tool's result. It is recognized only by fields that a tool cannot write: an error printed
    by a tool is recorded with ``Error:`` before it.
    """
    refused = value.get("toolDenialKind") == "user-rejected" or value.get("toolUseResult") == "User rejected tool use"
    text = content_text(block.get("content")) if refused and block.get("is_error") is True else ""
    if not text.startswith(_REFUSED) or _SAID not in text:
        return []
    said = text.partition(_SAID)[2].partition(_NOTE)[0].strip()
    if not said or said.startswith("The user wants to clarify these questions"):
        return []
    return [EventDraft(reason="typed-while-refusing", text=said, index=index, order=1)]


def answer_drafts(name: str, result: Any, target: str, index: int) -> list[EventDraft]:
    """Drafts of what the user chose or typed when the client itself asked the assistant's questions; empty if the call already
    contained its answers, for example from a hook.
    """
    answers = result.get("answers") if name == "AskUserQuestion" and isinstance(result, dict) else None
    if not isinstance(answers, dict) or '"answers"' in target:
        return []
    texts = [answer.strip() for answer in answers.values() if isinstance(answer, str) and answer.strip()]
    text = "\n".join(texts)
    labels = _option_labels(target)
    typed = labels and not any(label in answer for answer in map(str.casefold, texts) for label in labels)
    reason = "typed-answer" if typed else CHOICE
    return [EventDraft(reason=reason, text=text, index=index, order=1)] if text else []


def _option_labels(target: str) -> list[str]:
    """The labels of the options that a call offered; empty if the call is incomplete."""
    try:
        asked = json.loads(target)["questions"]
        return [option["label"].strip(" .").casefold() for question in asked for option in question["options"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def message_blocks(value: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """A message's content as blocks; a plain string is one text block. None if there is no message."""
    content = to_mapping(value.get("message")).get("content")
    return list_parts(content) if isinstance(content, str | list) else None


_OPEN_CALLS = 64
_LINKS = 4096
_QUEUED = 16
_TELLING_WORDS = 4  # prompts with fewer words are often repeated
Range = tuple[int, int]
"""The bytes [start, end) of a record in its file."""


@dataclass(kw_only=True, slots=True)
class State:
    """The state after earlier records; all of it is bounded.

    ``calls``: open tool calls, id → place, name, target. ``links``: record without event → its nearest ancestor with one.
    ``queue``: prompts waiting to be sent, with place and text. ``steered``: hashes of texts already taken from the queue.
    ``opened``: the session whose first prompt was seen. ``machine``: the session that a program started. ``command``: the previous
    record, if it was a slash command.
    """

    session: str = ""
    cwd: str = ""
    branch: str = ""
    opened: str = ""
    machine: str = ""
    command: str = ""
    calls: dict[str, tuple[Range, str, str]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    queue: list[tuple[Range, str]] = field(default_factory=list)
    steered: list[str] = field(default_factory=list)


_CARRIED = ("session", "cwd", "branch", "opened", "machine", "command", "links", "steered")


def load_state(carry: str, fetch: Fetch) -> State:
    """Load the result of :func:`dump_state`."""
    held = json.loads(carry)
    state = State(**{name: held[name] for name in _CARRIED if name in held})
    for call, (start, end) in held.get("calls", {}).items():
        blocks = message_blocks(fetch(start, end)) or []
        tools = (
            to_call_draft(block, author=Author.ASSISTANT, reason="", index=0).tool for block in blocks if block.get("type") in CALLS
        )
        tool = next((tool for tool in tools if tool is not None and tool.call == call), None)
        if tool is not None:
            state.calls[call] = ((start, end), tool.name, tool.target)
    state.queue = [((start, end), content_text(fetch(start, end).get("content"))) for start, end in held.get("queue", [])]
    return state


def dump_state(state: State) -> str:
    """The stored form: JSON."""
    held: dict[str, Any] = {name: getattr(state, name) for name in _CARRIED}
    held["calls"] = {call: place for call, (place, _, _) in state.calls.items()}
    held["queue"] = [place for place, _ in state.queue]
    return json.dumps({name: value for name, value in held.items() if value}, ensure_ascii=False, separators=(",", ":"))


def queue_prompt(state: State, place: Range, text: str) -> None:
    """Add a prompt to the queue."""
    state.queue = [*state.queue, (place, text)][-_QUEUED:]


def unqueue_prompt(state: State, text: str) -> tuple[str, bool]:
    """Remove a prompt from the queue: the one with this text, or the first one if the record does not repeat the text. Also returns
    whether it was in the queue.
    """
    text = text or next((waiting for _, waiting in state.queue), "")
    found = next((index for index, (_, waiting) in enumerate(state.queue) if waiting == text), len(state.queue))
    typed = found < len(state.queue)
    state.queue = state.queue[:found] + state.queue[found + 1 :]
    return text, typed


def sent_before(state: State, text: str) -> bool:
    """True if a prompt repeats one that was taken from the queue; one that is still in the queue is marked as sent."""
    if len(text.split()) < _TELLING_WORDS:
        return False
    if any(waiting == text for _, waiting in state.queue) or hash_texts(text) in state.steered:
        return not is_first_time(state, text)
    return False


def is_first_time(state: State, text: str) -> bool:
    """True if this queued text is new; it may occur twice, as an attachment and when it is removed from the queue."""
    mark = hash_texts(text)
    if mark in state.steered:
        state.steered = [other for other in state.steered if other != mark]
        return False
    state.steered = [*state.steered, mark][-_QUEUED:]
    return True


def link_record(state: State, native: str, parent: str) -> None:
    """Remember the parent of a record without events."""
    hold_newest(state.links, native, parent, _LINKS)


def open_call(state: State, tool: ToolUse, place: Range) -> None:
    """Remember a call until its output comes."""
    hold_newest(state.calls, tool.call, (place, tool.name, tool.target), _OPEN_CALLS)
