"""What all readers share: drafts of events (typed text, calls, outputs), events made of them, and fields of uncertain type.

Knows no format and no file.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from kept.core.digest import hash_texts as hash_texts  # noqa: PLC0414 - readers import it from here
from kept.core.digest import twin_of
from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.times import format_instant
from kept.core.value import dataclass, replace
from kept.sources.message_parts import split_text
from kept.sources.records import Record, SourceLine, parse_line

T = TypeVar("T")
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
    """A draft of one event of a record, usually a prompt: block ``index`` of its message, piece ``order`` of that block.

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
        """The suffix that distinguishes the pieces of one record in their keys; empty for the first."""
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
        told = shorten_text(text, noted)
        return replace(self, kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result", text=told, tool=tool)

    def typed(self, text: str, noted: dict[str, int]) -> list["EventDraft"]:
        """Split a text in the user's name from what hooks and tools added; this draft's reason applies to typed parts."""
        split = split_text(text)
        for what, count in split.removed.items():
            count_note(noted, what, count)
        return [
            replace(
                self, author=part.author, reason=self.reason if part.reason == "typed" else part.reason, text=part.text, order=order
            )
            for order, part in enumerate(split.parts)
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
    """The text; of a very long one the beginning and end, which is noted."""
    if len(text) <= TEXT_LIMIT:
        return text
    if noted is not None:
        count_note(noted, "text-cut")
    half = TEXT_LIMIT // 2
    tail = truncate_text(text[-half - 1 :][::-1], half)[::-1]
    return f"{truncate_text(text, half)}\n[… {len(text) - TEXT_LIMIT} characters …]\n{tail}"


def truncate_text(text: str, most: int = TARGET_LIMIT) -> str:
    """The beginning of a text up to white space, because half a secret would not be recognized any more.

    Without white space in the last quarter, that quarter is dropped.
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
    """A draft of text that nobody typed."""
    return EventDraft(author=Author.INJECTED, reason=reason, text=text.strip(), index=index, order=order)


def count_note(noted: dict[str, int], what: str, count: int = 1) -> None:
    """Count something that was removed from a kept record."""
    noted[what] = noted.get(what, 0) + count


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


def call_target(arguments: Mapping[str, Any]) -> str:
    """The target of a call, bounded: its command, path or query, else all its arguments as JSON."""
    named = next((found for key in _TARGETS if (found := command_line(arguments.get(key)).strip())), "")
    return truncate_text(named or (json.dumps(arguments, ensure_ascii=False) if arguments else ""))


def call_detail(arguments: Mapping[str, Any], texts: Iterable[str] = ("content",)) -> str:
    """What a call changes: old → new text of an edit, or the first of these texts, as for a new file; else empty. Truncated."""
    edits = arguments.get("edits")
    for edit in (arguments, *(edits if isinstance(edits, list) else ())):
        if not isinstance(edit, dict):
            continue
        for before, after in (("old_string", "new_string"), ("oldText", "newText")):
            old, new = edit.get(before), edit.get(after)
            if isinstance(old, str) and isinstance(new, str):
                return format_change(old, new)
    return next((truncate_text(text) for name in texts if isinstance(text := arguments.get(name), str)), "")


def requested_tool(name: Any, call: Any, given: Any) -> ToolUse:
    """A tool as a model requested it; its arguments are an object, or JSON text."""
    arguments = parse_object(given) if isinstance(given, str) else to_mapping(given)
    return ToolUse(name=truncate_name(name), call=truncate_name(call), target=call_target(arguments), detail=call_detail(arguments))


def relabel(drafts: Iterable[EventDraft], author: Author, reason: str) -> list[EventDraft]:
    """The same events with another author and reason."""
    return [replace(draft, author=author, reason=reason) for draft in drafts]


def to_event(
    piece: EventDraft,
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

    A conversation that two tools recorded is recognized by its twins if both kept the milliseconds.
    """
    call = piece.tool.call if piece.tool else ""
    return Event(
        key=key,
        twin=twin_of(piece.kind, format_instant(at) if at and precision is Precision.MESSAGE else "", call, piece.text),
        session=session,
        record=record,
        parent=parent,
        turn=turn,
        kind=piece.kind,
        author=piece.author,
        label_reason=piece.reason,
        text=piece.text,
        at=at,
        precision=precision if at else Precision.NONE,
        project=project,
        branch=branch,
        tool=piece.tool,
        pointer=pointer,
    )


def strip_leading_blocks(texts: Iterable[str], tag: str) -> tuple[str, str]:
    """Join the parts of a message without the leading blocks ``<tag>…</tag>`` that a client added; also return those blocks."""
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
    """A word from a file that may be part of a reason: short and only letters, so it cannot be a secret."""
    if not isinstance(value, str) or not value:
        return "none"
    return (
        value
        if len(value) <= 40 and value.isascii() and value.replace("-", "").replace("_", "").replace(".", "").isalpha()
        else "odd"
    )
