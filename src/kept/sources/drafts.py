"""Drafts of events, their conversion to events, and helpers for fields of uncertain type. All readers use them."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from kept.core.digest import twin_of
from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.times import format_instant
from kept.core.value import dataclass, make_builder, replace
from kept.sources.fields import Fields, Notes, list_parts, truncate_name
from kept.sources.json_lines import Fetch
from kept.sources.message_parts import split_text
from kept.sources.records import Record, SourceLine, parse_line

T = TypeVar("T")
TEXT_LIMIT = 200_000
# Cleaning searches for secrets before it truncates to 2,000 characters, so it gets more text than it keeps.
TARGET_LIMIT = 8000
# The target of a call is the first of these arguments that the call has.
_TARGETS = (
    *("cmd", "command", "file_path", "absolute_path", "path", "pattern", "query", "url", "dir_path", "prompt"),
    *("description", "name"),
)

# The names of the text that an edit replaces, and of the text that it puts there.
_EDITS = (("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText"), ("old_str", "new_str"))


@dataclass(frozen=True, kw_only=True, slots=True)
class EventDraft:
    """A draft of one event of a record, by default a prompt. It is part ``order`` of block ``index`` of its message.

    ``stamp`` is its time as written; ``native`` and ``parent`` are ids of records. If a record has one time and one id for all of
    its events, the format passes them to :func:`to_event` instead.
    """

    kind: EventKind = EventKind.PROMPT
    author: Author = Author.HUMAN
    reason: str = ""
    text: str = ""
    index: int = 0
    order: int = 0
    at: datetime | None = None
    precision: Precision = Precision.NONE
    stamp: str = ""
    native: str = ""
    parent: str = ""
    turn: str = ""
    tool: ToolUse | None = None

    @property
    def suffix(self) -> str:
        """The suffix that distinguishes the events of one record in their keys; empty for the first."""
        if not (self.index or self.order):
            return ""
        return f"#{self.index}.{self.order}" if self.order else f"#{self.index}"

    def answer(self, text: str, reason: str, author: Author = Author.ASSISTANT) -> "EventDraft":
        """A draft of a response by the assistant (or ``author``) with this draft's position."""
        return replace(self, kind=EventKind.RESPONSE, author=author, reason=reason, text=text)

    def call(self, tool: ToolUse) -> "EventDraft":
        """A draft of a tool call with this draft's position. Its text is the call's target."""
        return replace(self, kind=EventKind.TOOL_CALL, text=tool.target or tool.name, tool=tool)

    def output(self, text: str, tool: ToolUse, noted: Notes | None = None) -> "EventDraft":
        """A draft of a tool's output with this draft's position. A long output loses its middle."""
        text = shorten_text(text, noted)
        return replace(self, kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result", text=text, tool=tool)

    def injected(self, text: str, reason: str) -> "EventDraft":
        """A draft of a prompt that nobody typed, with this draft's position."""
        return replace(self, kind=EventKind.PROMPT, author=Author.INJECTED, reason=reason, text=text)

    def typed(self, text: str, noted: Notes) -> list["EventDraft"]:
        """Split a text in the user's name into the typed text, which gets this draft's reason, and additions by hooks and tools."""
        split = split_text(text)
        for tag, count in split.removed.items():
            noted[tag] += count
        prompt = replace(self, kind=EventKind.PROMPT)
        return [
            replace(prompt, author=author, reason=self.reason if reason == "typed" else reason, text=part, order=order)
            for order, (author, reason, part) in enumerate(split.parts)
        ]


def shorten_text(text: str, noted: Notes | None = None) -> str:
    """The text, or a very long text without its middle. The omission is counted in ``noted``."""
    if len(text) <= TEXT_LIMIT:
        return text
    if noted is not None:
        noted["text-cut"] += 1
    half = TEXT_LIMIT // 2
    tail = truncate_text(text[-half - 1 :][::-1], half)[::-1]
    return f"{truncate_text(text, half)}\n[… {len(text) - TEXT_LIMIT} characters …]\n{tail}"


def truncate_text(text: str, most: int = TARGET_LIMIT) -> str:
    """The beginning of a text, cut at white space, because half a secret would not be recognized. If the last quarter of the
    beginning has no white space, all of that quarter is dropped.
    """
    if len(text) <= most:
        return text.strip()
    least = most - most // 4
    at = max(text.rfind(space, least, most) for space in " \n\t")
    return text[: at if at > 0 else least].strip()


def format_change(old: str, new: str) -> str:
    """An edit as one text: old text → new text."""
    return f"{truncate_text(old, TARGET_LIMIT // 2)}\n→\n{truncate_text(new, TARGET_LIMIT // 2)}"


def injected_draft(text: str, reason: str, index: int = 0, order: int = 0) -> EventDraft:
    """A draft of a prompt that nobody typed."""
    return EventDraft(index=index, order=order).injected(text.strip(), reason)


def hold_newest(held: dict[str, T], name: str, value: T, most: int) -> None:
    """Store a value under its name, unless the name is empty. Above ``most`` values, the oldest is dropped."""
    if name:
        held[name] = value
        if len(held) > most:
            del held[next(iter(held))]


def parse_object(text: str) -> Fields:
    """The JSON object in a string, parsed with the limits of a record; empty if there is none."""
    data = text.encode("utf-8", "replace")
    found = list(parse_line(SourceLine(number=0, start=0, end=len(data), data=data)))
    return found[0].value if len(found) == 1 and isinstance(found[0], Record) else Fields()


def command_line(value: Any) -> str:
    """A command as a person would type it: a string unchanged, a list of arguments joined, ``bash -lc X`` as X."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    arguments = [argument for argument in value if isinstance(argument, str)]
    if len(arguments) == 3 and arguments[1] in ("-c", "-lc", "-Command"):
        return arguments[2]
    return shlex.join(arguments)


def exit_code_of(value: Any) -> int | None:
    """The exit code in a record; None if there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parse_exit_code(text: str) -> int | None:
    """The exit code, if the text is nothing but a number; else None."""
    return int(text) if len(text) < 12 and text.removeprefix("-").isdecimal() else None


def success_of(is_error: Any) -> bool | None:
    """Convert a field that says whether a tool failed into whether it succeeded; None if the field is missing."""
    return not is_error if isinstance(is_error, bool) else None


def call_target(arguments: Fields, names: Iterable[str] = _TARGETS) -> str:
    """The target of a call, truncated: the first of the named arguments, or all arguments as JSON if it has none of them."""
    for name in names:
        if (given := arguments.get(name)) and (target := command_line(given).strip()):
            return truncate_text(target)
    return truncate_text(json.dumps(arguments, ensure_ascii=False) if arguments else "")


def call_detail(arguments: Fields, names: Iterable[str] = ("content",)) -> str:
    """The change that a call makes, truncated: "old → new" for an edit, else the first of the named arguments, else empty."""
    for edit in (arguments, *(arguments.mappings("edits") if "edits" in arguments else ())):
        for before, after in _EDITS:
            if isinstance(old := edit.get(before), str) and isinstance(new := edit.get(after), str):
                return format_change(old, new)
    return next((truncate_text(text) for name in names if isinstance(text := arguments.get(name), str)), "")


def requested_tool(name: Any, call: Any, given: Any) -> ToolUse:
    """The tool of a call that a model made. ``given`` are its arguments, an object or JSON text."""
    arguments = parse_object(given) if isinstance(given, str) else given if isinstance(given, Fields) else Fields()
    return ToolUse(name=truncate_name(name), call=truncate_name(call), target=call_target(arguments), detail=call_detail(arguments))


def result_tool(name: Any, call: Any, is_error: Any) -> ToolUse:
    """The tool of a message with a tool's result. ``is_error`` says whether the tool failed."""
    return ToolUse(name=truncate_name(name), call=truncate_name(call), ok=success_of(is_error))


def relabel(drafts: Iterable[EventDraft], author: Author, reason: str) -> list[EventDraft]:
    """The same drafts with another author and reason."""
    return [replace(draft, author=author, reason=reason) for draft in drafts]


def to_event(
    draft: EventDraft,
    *,
    key: str,
    session: str,
    at: datetime | None,
    precision: Precision,
    pointer: Pointer,
    project: str = "",
    branch: str = "",
    record: str = "",
    parent: str = "",
    turn: str = "",
) -> Event:
    """Convert a draft to an event.

    If two programs recorded the same conversation with the same times, the events of both recordings have the same ``twin``.
    """
    stamp = format_instant(at) if at and precision is Precision.MESSAGE else ""
    twin = twin_of(draft.kind, stamp, draft.tool.call if draft.tool else "", draft.text) if stamp else ""
    precision = precision if at else Precision.NONE
    names, said = (key, twin, session, record, parent, turn), (draft.kind, draft.author, draft.reason, draft.text)
    event: Event = make_builder(Event)(*names, *said, at, precision, project, branch, draft.tool, pointer, "", ())
    return event


def strip_leading_blocks(texts: Iterable[str], tag: str) -> tuple[str, str]:
    """Remove blocks ``<tag>…</tag>`` at the beginnings of a message's parts. Returns the joined parts and the removed blocks."""
    rest, blocks = [], []
    for part in texts:
        text = part.lstrip()
        while text.startswith(f"<{tag}>") and (end := text.find(f"</{tag}>")) >= 0:
            stop = end + len(tag) + 3
            blocks.append(text[:stop])
            text = text[stop:].lstrip()
        rest.append(text)
    return "\n".join(filter(None, rest)).strip(), "\n".join(blocks)


def list_texts(content: Any) -> list[str]:
    """The texts of a message's parts, without the model's thoughts."""
    texts = (part.get("text") for part in list_parts(content) if not part.get("thought"))
    return [text for text in texts if isinstance(text, str)]


_MOST_CALLS = 64


class OpenCalls:
    """Open tool calls by id, each with the byte range of its record. Above 64 calls, the oldest are dropped."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[tuple[int, int], ToolUse]] = {}

    def add_call(self, tool: ToolUse, record: Record) -> None:
        """Add a call that a record contains."""
        hold_newest(self._calls, tool.call, ((record.start, record.end), tool), _MOST_CALLS)

    def close(self, call: str, name: str = "") -> ToolUse:
        """Remove a call whose output came, and return its tool. For an unknown call, return a tool with only this ``name``."""
        _, tool = self._calls.pop(call, (None, ToolUse(name=name, call=call)))
        return tool

    def dump(self) -> dict[str, tuple[int, int]]:
        """The byte ranges of the calls' records by id, as JSON stores them."""
        return {call: place for call, (place, _) in self._calls.items()}

    def load(self, stored: Mapping[str, list[int]], fetch: Fetch, tools_of: Callable[[Fields], Iterable[ToolUse]]) -> None:
        """Restore the calls from the result of :meth:`dump`. ``tools_of`` returns the calls in a record."""
        for call, place in stored.items():
            start, end = place[-2:]  # cursors of Codex made by older versions store the line before the range
            for tool in tools_of(fetch(start, end)):
                if tool.call == call:
                    self._calls[call] = ((start, end), tool)
