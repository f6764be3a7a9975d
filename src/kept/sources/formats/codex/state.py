"""What reading a Codex rollout carries from record to record, and from one run to the next.

Bounded. The stored form holds ids, hashes, times and places only, none of the transcript's text: that is fetched again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kept.core.event import ToolUse
from kept.core.text import one_line
from kept.sources.formats.codex.labels import CALLS, client_text_reason, strip_hook_blocks, to_tool_call
from kept.sources.json_lines import Fetch
from kept.sources.pieces import content_text, hash_texts, truncate_name
from kept.sources.records import Record

_OPEN_CALLS = 64
_PROMPTS = 256
WAITING = 16


class RecordPlace(NamedTuple):
    """Where a record stands: its line and its bytes [start, end)."""

    line: int
    start: int
    end: int


class WaitingPrompt(NamedTuple):
    """A prompt that was told once and waits to be told again: its place, its time as written, its text."""

    place: RecordPlace
    stamp: str
    text: str


@dataclass(kw_only=True, slots=True)
class State:
    """What the records before the present one leave behind; all of it bounded.

    ``session`` is the file's own id, ``source`` the one of the conversation it was converted from, ``root`` the one its copied
    beginning comes from. ``created``, ``written`` and ``began`` are the times of the session, of its first line and of the root,
    as written. ``turn`` is the id of the present turn. ``grid`` counts the seconds of a converted beginning, -1 after its end.
    ``machine`` says which program runs the session, ``opened`` that its first prompt was seen, ``told`` that prompts are
    confirmed by events in this file. ``chain`` hashes the conversation so far, ``tip`` is its last record, ``prompts`` the last
    turns by what they follow. ``held`` are prompts without their event yet, ``early`` events without their prompt yet.
    """

    session: str = ""
    source: str = ""
    root: str = ""
    created: str = ""
    written: str = ""
    began: str = ""
    turn: str = ""
    grid: int = 0
    machine: str = ""
    subagent: bool = False
    digest: bool = False
    unattended: bool = False
    printed: bool = False
    legacy: bool = False
    opened: bool = False
    told: bool = False
    cwd: str = ""
    branch: str = ""
    chain: str = ""
    tip: str = ""
    prompts: list[str] = field(default_factory=list)
    calls: dict[str, tuple[RecordPlace, ToolUse]] = field(default_factory=dict)
    held: list[WaitingPrompt] = field(default_factory=list)
    early: list[WaitingPrompt] = field(default_factory=list)


_PLACES = ("calls", "held", "early")
_CARRIED = tuple(name for name in State.__slots__ if name not in _PLACES)


def load_state(carry: str, fetch: Fetch) -> State:
    """Read what :func:`save` wrote."""
    stored = json.loads(carry)
    state = State(**{name: stored[name] for name in _CARRIED if name in stored})
    for call, place in stored.get("calls", {}).items():
        item = record_item(fetch(place[1], place[2]))
        if item.get("type") in CALLS:
            state.calls[call] = (RecordPlace(*place), to_tool_call(item))
    for name, waiting in (("held", state.held), ("early", state.early)):
        for place in stored.get(name, []):
            value = fetch(place[1], place[2])
            waiting.append(WaitingPrompt(RecordPlace(*place), record_stamp(value), prompt_text(record_item(value))))
    return state


def dump_state(state: State) -> str:
    """The stored form: JSON."""
    stored: dict[str, Any] = {name: getattr(state, name) for name in _CARRIED}
    stored["calls"] = {call: place for call, (place, _) in state.calls.items()}
    stored["held"] = [prompt.place for prompt in state.held]
    stored["early"] = [prompt.place for prompt in state.early]
    return json.dumps({name: value for name, value in stored.items() if value}, ensure_ascii=False, separators=(",", ":"))


def record_item(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item in a record: its payload, or the record itself in the old format."""
    payload = value.get("payload")
    return payload if isinstance(payload, dict) else value


def record_stamp(value: Mapping[str, Any]) -> str:
    """A record's time as written; empty where it has none."""
    return truncate_name(value.get("timestamp"))


def prompt_text(item: Mapping[str, Any]) -> str:
    """What the user may have typed in a prompt: its event's message, or its item's text without the client's own."""
    if "message" in item:
        return content_text(item["message"])
    content = item.get("content")
    texts = [content_text([block]) for block in (content if isinstance(content, list) else [content])]
    return "\n".join(rest for text in texts if not client_text_reason(text) and (rest := strip_hook_blocks(text)[0]))


def record_place(record: Record) -> RecordPlace:
    """Where a record stands."""
    return RecordPlace(record.line, record.start, record.end)


def open_call(state: State, tool: ToolUse, place: RecordPlace) -> None:
    """Remember a call until its output comes."""
    if not tool.call:
        return
    state.calls[tool.call] = (place, tool)
    if len(state.calls) > _OPEN_CALLS:
        del state.calls[next(iter(state.calls))]


def take_prompt(waiting: list[WaitingPrompt], text: str) -> bool:
    """Take the waiting prompt that says the same; False where there is none."""
    words = one_line(text)
    for index, other in enumerate(waiting):
        told = one_line(other.text)
        if told == words or (words and told.endswith(words)) or (told and words.endswith(told)):
            del waiting[index]
            return True
    return False


def next_message_key(state: State, *parts: str) -> str:
    """The key of the next message: a hash of all that was said before it and of itself.

    A copy of the conversation's beginning in a fork has the same keys, whatever times were written on it; a text that is said
    twice has two.
    """
    state.chain = hash_texts(state.chain or state.root, *parts)
    return state.chain


def open_turn(state: State) -> None:
    """A prompt begins, which a rollback may take back."""
    state.prompts = [*state.prompts, state.tip][-_PROMPTS:]


def roll_back(state: State, turns: int) -> None:
    """Go back behind the last prompts, as the user did."""
    first = max(0, len(state.prompts) - turns)
    state.tip = state.prompts[first]
    state.prompts = state.prompts[:first]
