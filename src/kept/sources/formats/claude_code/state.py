"""What reading a Claude Code file carries from record to record, and from one run to the next.

Bounded. The stored form holds ids, hashes and places only, none of the transcript's text: that is fetched again.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from kept.core.event import Author
from kept.sources.formats.claude_code.blocks import CALLS, message_blocks, to_call_piece
from kept.sources.json_lines import Fetch
from kept.sources.pieces import MessagePiece, content_text, hash_texts

_OPEN_CALLS = 64
_LINKS = 4096
_QUEUED = 16
_TELLING_WORDS = 4  # shorter prompts are typed again and again
Range = tuple[int, int]
"""The bytes [start, end) of a record in its file."""


@dataclass(kw_only=True, slots=True)
class State:
    """What the records before the present one leave behind; all of it bounded.

    ``calls``: open tool calls, id → place, name, target. ``links``: record without event → the nearest ancestor with one.
    ``queue``: prompts waiting to be sent, place and text. ``steered``: hashes of texts already taken from the queue.
    ``opened``: the session whose first prompt was seen. ``machine``: the session that a program opened. ``command``: the record
    before, where it was a slash command.
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
    """Read what :func:`save` wrote."""
    held = json.loads(carry)
    state = State(**{name: held[name] for name in _CARRIED if name in held})
    for call, (start, end) in held.get("calls", {}).items():
        blocks = message_blocks(fetch(start, end)) or []
        tools = (
            to_call_piece(block, author=Author.ASSISTANT, reason="", index=0).tool for block in blocks if block.get("type") in CALLS
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
    """A prompt waits to be sent."""
    state.queue = [*state.queue, (place, text)][-_QUEUED:]


def unqueue_prompt(state: State, text: str) -> tuple[str, bool]:
    """Take a prompt out of the queue: the one with this text, or the first where the record does not repeat it; and whether it was
    put there.
    """
    text = text or next((waiting for _, waiting in state.queue), "")
    found = next((index for index, (_, waiting) in enumerate(state.queue) if waiting == text), len(state.queue))
    typed = found < len(state.queue)
    state.queue = state.queue[:found] + state.queue[found + 1 :]
    return text, typed


def sent_before(state: State, text: str) -> bool:
    """Whether a prompt of its own says again what was taken from the queue; one that still waits there is noted as sent."""
    if len(text.split()) < _TELLING_WORDS:
        return False
    if any(waiting == text for _, waiting in state.queue) or hash_texts(text) in state.steered:
        return not is_first_time(state, text)
    return False


def is_first_time(state: State, text: str) -> bool:
    """Whether this queued text is new; it may be told twice, as an attachment and as its removal from the queue."""
    mark = hash_texts(text)
    if mark in state.steered:
        state.steered = [other for other in state.steered if other != mark]
        return False
    state.steered = [*state.steered, mark][-_QUEUED:]
    return True


def link_record(state: State, native: str, parent: str) -> None:
    """Remember what a record without events hangs on."""
    if not native:
        return
    state.links[native] = parent
    if len(state.links) > _LINKS:
        del state.links[next(iter(state.links))]


def open_call(state: State, piece: MessagePiece, place: Range) -> None:
    """Remember a call until its output comes."""
    if piece.tool is None or not piece.tool.call:
        return
    state.calls[piece.tool.call] = (place, piece.tool.name, piece.tool.target)
    if len(state.calls) > _OPEN_CALLS:
        del state.calls[next(iter(state.calls))]
