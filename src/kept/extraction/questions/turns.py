"""Turns: an event as a model reads it, and how many tokens that is. Knows nothing of chunks and questions."""

import re

from kept.core.error_fingerprint import error_lines
from kept.core.event import Author, Event, Kind, Tool
from kept.core.spans import spans_of
from kept.core.text import is_cjk

# What supports no memory is named and left out: it was put there by a program, or is not the conversation.
_LEFT_OUT = {
    Author.INJECTED: "put in by a program",
    Author.SUBAGENT: "a sub-agent",
    Author.COMPACTION: "a summary of what was before",
    Author.ABANDONED: "taken back by the person",
}
# Of a call and of what came back the beginning, the end and the lines about errors: what was said stays whole.
_TARGET = 400
_DETAIL = 200
_HEAD, _TAIL = 300, 120
_FAILED_HEAD, _FAILED_TAIL = 600, 300
_ERRORS = 3
# What a tool that only shows or changes files gives back when it works tells nothing that the call does not.
_SHOWING = ("read", "edit", "write", "view", "glob", "grep", "list", "patch", "replace", "create")
_BRIEF = 100
_CHARS_A_TOKEN = 3
# What could be taken for the beginning of an event, or for the end of the conversation.
_FORGED = re.compile(r"(?m)^\[(?=e\d)|<(?=/?(?:conversation|foreign)\b)")


def weigh(text: str) -> int:
    """Tokens, estimated high: three characters each, and one for every character of a script without spaces."""
    dense = sum(map(is_cjk, text)) if not text.isascii() else 0
    return -(-(len(text) - dense) // _CHARS_A_TOKEN) + dense


def shown(event: Event, ordinal: int) -> str:
    """The event as one block of text that begins with its id and its author."""
    head = f"[e{ordinal}] "
    if event.author in _LEFT_OUT:
        return f"{head}({_LEFT_OUT[event.author]}, {len(event.text):,} characters)"
    match event.kind:
        case Kind.PROMPT:
            return f"{head}person: {_said(event)}"
        case Kind.RESPONSE:
            return f"{head}assistant: {_plain(event.text)}"
        case Kind.TOOL_CALL:
            return f"{head}call {_call(event.tool, event.text)}"
        case Kind.TOOL_OUTPUT:
            return f"{head}output{_outcome(event.tool)}: {_plain(_output(event))}"


def _said(event: Event) -> str:
    """What a person sent, with what they did not type between tags that say what it is."""
    parts = []
    for span in spans_of(event):
        words = _plain(event.text[span.start : span.end])
        if words:
            parts.append(words if span.is_typed else f'<foreign kind="{span.kind}">{words}</foreign>')
    return "\n".join(parts)


def _plain(text: str) -> str:
    return _FORGED.sub("(", text.strip())


def _call(tool: Tool | None, text: str) -> str:
    if tool is None:
        return _plain(_cut(text, _TARGET, 0))
    parts = (_cut(tool.target, _TARGET, 0), _cut(tool.detail, _DETAIL, 0), _cut(text, _DETAIL, 0))
    return _plain(f"{tool.name}: " + "\n".join(dict.fromkeys(part for part in parts if part.strip())))


def _outcome(tool: Tool | None) -> str:
    if tool is None or not _failed(tool):
        return ""
    return f" (failed, exit status {tool.exit_code})" if tool.exit_code else " (failed)"


def _failed(tool: Tool | None) -> bool:
    return tool is not None and (tool.ok is False or bool(tool.exit_code))


def _output(event: Event) -> str:
    text = event.text.strip()
    if _failed(event.tool):
        return _cut(text, _FAILED_HEAD, _FAILED_TAIL)
    shows = event.tool is not None and any(word in event.tool.name.lower() for word in _SHOWING)
    short = _cut(text, _BRIEF, 0) if shows else _cut(text, _HEAD, _TAIL)
    telling = [line for line in error_lines(text)[:_ERRORS] if line not in short] if short != text and not shows else []
    return "\n".join((short, *telling))


def _cut(text: str, head: int, tail: int) -> str:
    text = text.strip()
    left = len(text) - head - tail
    if left <= 40:
        return text
    return f"{text[:head].rstrip()} […{left:,} characters…] {text[len(text) - tail :].lstrip() if tail else ''}".rstrip()
