"""Drafts of events, the events made of them, and helpers for fields of uncertain type. Shared by all readers."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from string import ascii_letters
from typing import Any, TypeVar

from kept.core.digest import hash_texts, twin_of
from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.times import format_instant
from kept.core.value import dataclass, replace
from kept.sources.json_lines import Fetch
from kept.sources.message_parts import split_text
from kept.sources.records import Record, SourceLine, parse_line

T = TypeVar("T")
_SAFE_CHARACTERS = frozenset(f"{ascii_letters}-_.")
PATH_LIMIT = 4096
TEXT_LIMIT = 200_000
NAME_LIMIT = 128
# Cleaning truncates to 2,000 characters after it has searched for secrets, so it needs more text than remains.
TARGET_LIMIT = 8000
# The first of these arguments that a call has is its target.
_TARGETS = (
    *("cmd", "command", "file_path", "absolute_path", "path", "pattern", "query", "url", "dir_path", "prompt"),
    *("description", "name"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EventDraft:
    """A draft of one event of a record, usually a prompt: part ``order`` of block ``index`` of its message.

    ``stamp`` is its time as written, ``native`` and ``parent`` are ids of records. Formats whose records have one time and one id
    for all of their events pass these to :func:`to_event` instead.
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
        """A response by the assistant (or ``author``) at this place."""
        return replace(self, kind=EventKind.RESPONSE, author=author, reason=reason, text=text)

    def call(self, tool: ToolUse) -> "EventDraft":
        """A tool call in an answer; its text is its target."""
        return replace(self, kind=EventKind.TOOL_CALL, text=tool.target or tool.name, tool=tool)

    def output(self, text: str, tool: ToolUse, noted: dict[str, int] | None = None) -> "EventDraft":
        """A tool's output; the middle of a long one is left out."""
        text = shorten_text(text, noted)
        return replace(self, kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result", text=text, tool=tool)

    def injected(self, text: str, reason: str) -> "EventDraft":
        """A prompt that nobody typed, at this place."""
        return replace(self, kind=EventKind.PROMPT, author=Author.INJECTED, reason=reason, text=text)

    def typed(self, text: str, noted: dict[str, int]) -> list["EventDraft"]:
        """Split a text in the user's name into the typed text, which gets this draft's reason, and additions by hooks and tools."""
        split = split_text(text)
        for tag, count in split.removed.items():
            count_note(noted, tag, count)
        prompt = replace(self, kind=EventKind.PROMPT)
        return [
            replace(prompt, author=author, reason=self.reason if reason == "typed" else reason, text=part, order=order)
            for order, (author, reason, part) in enumerate(split.parts)
        ]


def content_text(content: Any) -> str:
    """The text of a string, or of a list of strings and text blocks; outer white space removed."""
    match content:
        case str():
            return content.strip()
        case list():
            texts = (item.get("text") if isinstance(item, dict) else item for item in content)
            return "\n".join(text for text in texts if isinstance(text, str)).strip()
        case _:
            return ""


def shorten_text(text: str, noted: dict[str, int] | None = None) -> str:
    """The text; a very long one without its middle, which is noted."""
    if len(text) <= TEXT_LIMIT:
        return text
    if noted is not None:
        count_note(noted, "text-cut")
    half = TEXT_LIMIT // 2
    tail = truncate_text(text[-half - 1 :][::-1], half)[::-1]
    return f"{truncate_text(text, half)}\n[… {len(text) - TEXT_LIMIT} characters …]\n{tail}"


def truncate_text(text: str, most: int = TARGET_LIMIT) -> str:
    """The beginning of a text, cut at white space, because half a secret would not be recognized; without white space in the last
    quarter, that quarter is dropped.
    """
    if len(text) <= most:
        return text.strip()
    least = most - most // 4
    at = max(text.rfind(space, least, most) for space in " \n\t")
    return text[: at if at > 0 else least].strip()


def format_change(old: str, new: str) -> str:
    """An edit as one text: old text → new text."""
    return f"{truncate_text(old, TARGET_LIMIT // 2)}\n→\n{truncate_text(new, TARGET_LIMIT // 2)}"


def truncate_name(value: Any, limit: int = NAME_LIMIT) -> str:
    """A name of bounded length: a longer one is truncated and gets a hash."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= limit else f"{value[: limit - 33]}~{hash_texts(value)}"


def injected_draft(text: str, reason: str, index: int = 0, order: int = 0) -> EventDraft:
    """A draft of a prompt that nobody typed."""
    return EventDraft(index=index, order=order).injected(text.strip(), reason)


def count_note(noted: dict[str, int], note: str, count: int = 1) -> None:
    """Count something that is noted in the account, such as a block removed from a kept record."""
    noted[note] = noted.get(note, 0) + count


def hold_newest(held: dict[str, T], name: str, value: T, most: int) -> None:
    """Store a value under its name, if it has one; above ``most`` values the oldest is dropped."""
    if name:
        held[name] = value
        if len(held) > most:
            del held[next(iter(held))]


def parse_object(text: str) -> Mapping[str, Any]:
    """The JSON object in a string, with the same limits as a record of a file; empty if there is none."""
    data = text.encode("utf-8", "replace")
    found = list(parse_line(SourceLine(number=0, start=0, end=len(data), data=data)))
    return found[0].value if len(found) == 1 and isinstance(found[0], Record) else {}


def command_line(value: Any) -> str:
    """A command as one would type it: a string unchanged, a list of arguments joined; of ``bash -lc X`` only X."""
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
    """The exit code that a text consists of; None for any other text."""
    return int(text) if len(text) < 12 and text.removeprefix("-").isdecimal() else None


def success_of(is_error: Any) -> bool | None:
    """Whether a tool succeeded, read from the field that says whether it failed; None if the field is missing."""
    return not is_error if isinstance(is_error, bool) else None


def call_target(arguments: Mapping[str, Any], names: Iterable[str] = _TARGETS) -> str:
    """The target of a call, truncated: the first of the named arguments, else all arguments as JSON."""
    for name in names:
        if (given := arguments.get(name)) and (target := command_line(given).strip()):
            return truncate_text(target)
    return truncate_text(json.dumps(arguments, ensure_ascii=False) if arguments else "")


def call_detail(arguments: Mapping[str, Any], names: Iterable[str] = ("content",)) -> str:
    """The change that a call makes, truncated: old → new text of an edit, else the first of the named arguments; empty if it has
    none.
    """
    edits = arguments.get("edits")
    for edit in (arguments, *(edits if isinstance(edits, list) else ())):
        if not isinstance(edit, dict):
            continue
        for before, after in (("old_string", "new_string"), ("oldText", "newText")):
            old, new = edit.get(before), edit.get(after)
            if isinstance(old, str) and isinstance(new, str):
                return format_change(old, new)
    return next((truncate_text(text) for name in names if isinstance(text := arguments.get(name), str)), "")


def requested_tool(name: Any, call: Any, given: Any) -> ToolUse:
    """A tool as a model requested it; its arguments are an object, or JSON text."""
    arguments = parse_object(given) if isinstance(given, str) else to_mapping(given)
    return ToolUse(name=truncate_name(name), call=truncate_name(call), target=call_target(arguments), detail=call_detail(arguments))


def result_tool(name: Any, call: Any, is_error: Any) -> ToolUse:
    """A tool in a message with its result, which says whether it failed."""
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

    If two tools recorded a conversation with the same times, both recordings give events with the same twins.
    """
    stamp = format_instant(at) if at and precision is Precision.MESSAGE else ""
    return Event(
        key=key,
        twin=twin_of(draft.kind, stamp, draft.tool.call if draft.tool else "", draft.text) if stamp else "",
        session=session,
        record=record,
        parent=parent,
        turn=turn,
        kind=draft.kind,
        author=draft.author,
        label_reason=draft.reason,
        text=draft.text,
        at=at,
        precision=precision if at else Precision.NONE,
        project=project,
        branch=branch,
        tool=draft.tool,
        pointer=pointer,
    )


def strip_leading_blocks(texts: Iterable[str], tag: str) -> tuple[str, str]:
    """Join the parts of a message without the blocks ``<tag>…</tag>`` at their beginnings; also return these blocks."""
    rest, blocks = [], []
    for part in texts:
        text = part.lstrip()
        while text.startswith(f"<{tag}>") and (end := text.find(f"</{tag}>")) >= 0:
            stop = end + len(tag) + 3
            blocks.append(text[:stop])
            text = text[stop:].lstrip()
        rest.append(text)
    return "\n".join(filter(None, rest)).strip(), "\n".join(blocks)


def list_parts(content: Any) -> list[Mapping[str, Any]]:
    """A message's content as parts; a plain string is one text part."""
    listed = content if isinstance(content, list) else [content]
    if not [part for part in listed if type(part) is not dict]:
        return listed
    parts = ({"type": "text", "text": part} if isinstance(part, str) else part for part in listed)
    return [part for part in parts if isinstance(part, dict)]


def list_texts(content: Any) -> list[str]:
    """The texts of a message's parts, without the model's thoughts."""
    texts = (part.get("text") for part in list_parts(content) if not part.get("thought"))
    return [text for text in texts if isinstance(text, str)]


def to_mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def to_mappings(value: Any) -> list[Mapping[str, Any]]:
    """The items of a list as objects; empty if the value is not a list."""
    return [to_mapping(item) for item in value] if isinstance(value, list) else []


def safe_word(value: Any) -> str:
    """A word from a file that may be part of a reason: short and only letters, so that it cannot be a secret; else ``odd``."""
    if not isinstance(value, str) or not value:
        return "none"
    return value if len(value) <= 40 and _SAFE_CHARACTERS.issuperset(value) and value.strip("-_.") else "odd"


_MOST_CALLS = 64


class OpenCalls:
    """Open calls by id, each with the byte range of its record; of more than 64, the oldest are dropped."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[tuple[int, int], ToolUse]] = {}

    def add_call(self, tool: ToolUse, record: Record) -> None:
        """Add a call that a record contains."""
        hold_newest(self._calls, tool.call, ((record.start, record.end), tool), _MOST_CALLS)

    def close(self, call: str, name: str = "") -> ToolUse:
        """Remove a call whose output came, and return its tool; for an unknown call, a tool with only this ``name``."""
        _, tool = self._calls.pop(call, (None, ToolUse(name=name, call=call)))
        return tool

    def dump(self) -> dict[str, tuple[int, int]]:
        """The stored form."""
        return {call: place for call, (place, _) in self._calls.items()}

    def load(
        self, stored: Mapping[str, list[int]], fetch: Fetch, tools_of: Callable[[Mapping[str, Any]], Iterable[ToolUse]]
    ) -> None:
        """Load the result of :meth:`dump`; ``tools_of`` returns the calls in a record."""
        for call, place in stored.items():
            start, end = place[-2:]  # older cursors of Codex store the line before them
            for tool in tools_of(fetch(start, end)):
                if tool.call == call:
                    self._calls[call] = ((start, end), tool)
