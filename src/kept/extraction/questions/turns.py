"""Turns: an event as a model reads it, and how many tokens that is. Knows nothing of chunks and questions."""

from collections.abc import Sequence

from kept.core.error_fingerprint import find_error_lines
from kept.core.event import Author, Event, EventKind, ToolUse, is_note
from kept.core.pattern import compile_late
from kept.core.spans import event_spans, typed_text
from kept.core.text import is_cjk
from kept.extraction.rules.commands import is_reading

# What supports no memory is left out: it was put there by a program, or is not the conversation.
_LEFT_OUT = (Author.INJECTED, Author.SUBAGENT, Author.COMPACTION, Author.ABANDONED)
# What the person typed stays whole. Of everything else stay the beginning and the end, by which the person's words are understood.
_SAID_HEAD, _SAID_TAIL = 300, 600
_NOTE_CHARS = 208
_LEAST_WORDS = 5  # plain words from which a note says something
_PROSE_WORDS = 12  # plain words from which a sentence of a note counts as prose
_FOREIGN_HEAD, _FOREIGN_TAIL = 240, 80
_TARGET = 160
_DETAIL = 100
_HEAD, _TAIL = 60, 60
_FAILED_HEAD, _FAILED_TAIL = 240, 160
_ERRORS = 2
# What a tool that only shows or changes files gives back when it works tells nothing that the call does not.
_READING = ("read", "view", "glob", "grep", "list", "todo")
_SHOWING = (*_READING, "edit", "write", "patch", "replace", "create")
_CHARS_A_TOKEN = 3
# What could be taken for the beginning of an event, or for the end of the conversation.
_FORGED = compile_late(r"(?m)^\[(?=e\d)|<(?=/?(?:conversation|foreign)\b)")
_SENTENCE = compile_late(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_WORD = compile_late(r"(?<![\w`./-])[^\W\d_]{2,}(?![\w`/-])")
_FENCED = compile_late(r"(?ms)^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)")


def estimate_tokens_high(text: str) -> int:
    """Tokens, estimated high: three characters each, and one for every character of a script without spaces."""
    dense = sum(map(is_cjk, text)) if not text.isascii() else 0
    return -(-(len(text) - dense) // _CHARS_A_TOKEN) + dense


def render_turn(event: Event, ordinal: int) -> str:
    """The event as one block of text that begins with its id and its author; empty where it supports no memory."""
    said = "" if event.author in _LEFT_OUT else _render_event(event)
    return f"[e{ordinal}] {said}" if said else ""


def _render_event(event: Event) -> str:
    match event.kind:
        case EventKind.PROMPT:
            return f"person: {words}" if (words := _prompt(event)) else ""
        case EventKind.RESPONSE:
            return f"{'note' if is_note(event) else 'assistant'}: {words}" if (words := _response(event)) else ""
        case EventKind.TOOL_CALL:
            return "" if _is_tool_kind(event.tool, _READING) else f"call {_call(event.tool, event.text)}"
        case EventKind.TOOL_OUTPUT:
            words = _output(event)
            return f"output{_outcome(event.tool)}: {_escape_forged_tags(words)}" if words else ""


def is_worth_asking(event: Event) -> bool:
    """Whether an event alone makes a question worth asking: the person typed in it, or it is an entry of a journal."""
    return is_note(event) or bool(typed_text(event))


def _prompt(event: Event) -> str:
    """What a person sent, with what they did not type cut, between tags that say what it is."""
    parts = []
    for span in event_spans(event):
        words = event.text[span.start : span.end].strip()
        if words and span.is_typed:
            parts.append(_escape_forged_tags(words))
        elif words:
            parts.append(
                f'<foreign kind="{span.kind}">{_escape_forged_tags(_cut_text(words, _FOREIGN_HEAD, _FOREIGN_TAIL))}</foreign>'
            )
    return "\n".join(parts)


def _response(event: Event) -> str:
    """What an assistant said without its code, or wrote into a journal."""
    if is_note(event):
        text = _FENCED.sub("", event.text).strip()
        return _escape_forged_tags(_prose(text, _NOTE_CHARS)) if _word_count(text) >= _LEAST_WORDS else ""
    text = _FENCED.sub(lambda match: f"[{match[2].count(chr(10))} lines of code]\n", event.text).strip()
    return _escape_forged_tags(_cut_text(text, _SAID_HEAD, _SAID_TAIL))


def _word_count(text: str) -> int:
    """The plain words of a note, headings and names aside; a character of a dense script counts as one."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return sum(len(_WORD.findall(line)) + (0 if line.isascii() else sum(map(is_cjk, line))) for line in lines)


def _prose(text: str, most: int) -> str:
    """The sentences and lines of a text that fit into so many characters, in their order: prose before lists of names."""
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    if _length(text) <= most + 40 or not parts:
        return text
    taken, left = set[int](), most
    for place in sorted(range(len(parts)), key=lambda place: (-min(_PROSE_WORDS, len(_WORD.findall(parts[place]))), place)):
        if (length := _length(parts[place])) <= left:
            taken.add(place)
            left -= length + 1
    return "\n".join(parts[place].strip() for place in sorted(taken)) or _cut_text(text, most, 0)


def _escape_forged_tags(text: str) -> str:
    return _FORGED.sub("(", text.strip())


def _call(tool: ToolUse | None, text: str) -> str:
    if tool is None:
        return _escape_forged_tags(_cut_text(text, _TARGET, 0))
    parts = (
        _cut_text(tool.target, _TARGET, 0),
        _cut_text(tool.detail, _DETAIL, 0),
        "" if tool.target else _cut_text(text, _DETAIL, 0),
    )
    return _escape_forged_tags(f"{tool.name}: " + "\n".join(dict.fromkeys(part for part in parts if part.strip())))


def _is_tool_kind(tool: ToolUse | None, kinds: Sequence[str]) -> bool:
    return tool is not None and any(word in tool.name.lower() for word in kinds)


def _outcome(tool: ToolUse | None) -> str:
    if tool is None or not _has_failed(tool):
        return ""
    return f" (failed, exit status {tool.exit_code})" if tool.exit_code else " (failed)"


def _has_failed(tool: ToolUse | None) -> bool:
    return tool is not None and (tool.ok is False or bool(tool.exit_code))


def _output(event: Event) -> str:
    text = event.text.strip()
    if _has_failed(event.tool):
        return _cut_text(text, _FAILED_HEAD, _FAILED_TAIL)
    if _is_tool_kind(event.tool, _SHOWING) or (event.tool and event.tool.target and is_reading(event.tool.target)):
        return ""
    short = _cut_text(text, _HEAD, _TAIL)
    telling = [line for line in find_error_lines(text)[:_ERRORS] if line not in short] if short != text else []
    return "\n".join((short, *telling))


def _cut_text(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text, in characters of a spaced script: one of a dense script weighs as a token, so three."""
    text = text.strip()
    if not text.isascii():
        head, tail = _fitting_length(text[:head], head), _fitting_length(text[len(text) - tail :][::-1], tail)
    left = len(text) - head - tail
    if left <= 40:
        return text
    return f"{text[:head].rstrip()} […] {text[len(text) - tail :].lstrip() if tail else ''}".rstrip()


def _length(text: str) -> int:
    """The characters of a text, one of a dense script as three."""
    return len(text) + (0 if text.isascii() else (_CHARS_A_TOKEN - 1) * sum(map(is_cjk, text)))


def _fitting_length(text: str, room: int) -> int:
    """How many characters of a text have room."""
    left = room
    for number, char in enumerate(text):
        left -= _CHARS_A_TOKEN if is_cjk(char) else 1
        if left < 0:
            return number
    return room
