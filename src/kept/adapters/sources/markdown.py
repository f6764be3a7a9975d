"""Markdown as lines: which of them stand in code fences, which are headings, and what a reader of the page does not see.

Knows no format and no roles. Linear in the text.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import re2

from kept.adapters.sources.documents import Row

_FENCE = re2.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING = re2.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_HEADING_CHARACTERS = 300


class Heading(NamedTuple):
    """A heading line outside of fences: its row, its level and its title without the marks."""

    row: int
    level: int
    title: str


def fenced(rows: Sequence[Row]) -> list[bool]:
    """For each row whether it belongs to a code block that is opened and closed.

    Assistants nest blocks of the same fence, so one that names a language opens and a bare one closes; a block that is never
    closed hides nothing.
    """
    edges = [0] * (len(rows) + 1)
    waiting: list[tuple[int, str]] = []
    for number, row in enumerate(rows):
        if "`" not in row.text and "~" not in row.text:
            continue
        found = _FENCE.match(row.text)
        if not found:
            continue
        fence, language = found.group(1), found.group(2).strip()
        if language or not waiting:
            waiting.append((number, fence))
        elif fence[0] == waiting[-1][1][0] and len(fence) >= len(waiting[-1][1]):
            edges[waiting.pop()[0]] += 1
            edges[number + 1] -= 1
    return [depth > 0 for depth in accumulate(edges[:-1])]


def headings(rows: Sequence[Row], inside: Sequence[bool], first: int = 0) -> list[Heading]:
    """The ATX headings from a row on, outside of fences."""
    found = []
    for number in range(first, len(rows)):
        text = rows[number].text
        if inside[number] or "#" not in text[:4] or len(text) > _HEADING_CHARACTERS:
            continue
        match = _HEADING.match(text)
        if match:
            found.append(Heading(number, len(match.group(1)), match.group(2)))
    return found


def body(rows: Sequence[Row], first: int, after: int) -> str:
    """The text of rows [first, after) without outer blank lines and without rules (``---``) at its edges."""
    while first < after and _is_edge(rows[first].text):
        first += 1
    while after > first and _is_edge(rows[after - 1].text):
        after -= 1
    return "\n".join(row.text for row in rows[first:after]).strip()


def _is_edge(text: str) -> bool:
    text = text.strip()
    return not text or (len(text) >= 3 and text[0] in "-*_" and not text.strip(text[0]))


# Code first, so that what it shows is not taken for markup.
_HIDDEN = re2.compile(
    r"(?s)(?P<code>```.*?```|~~~.*?~~~|`[^`\n]+`)"
    r"|<!--.*?-->"
    r"|<[a-zA-Z][a-zA-Z0-9]{0,20}\b[^<>]{0,300}?(?:\bhidden\b|display\s*:\s*none)[^<>]{0,300}>.*?</[a-zA-Z][a-zA-Z0-9]{0,20}\s*>"
)


def visible(text: str) -> tuple[str, int]:
    """The text without comments and hidden elements, and how many there were; code blocks and code spans are left alone."""
    if "<" not in text:
        return text, 0
    removed = 0
    pieces, position = [], 0
    for found in _HIDDEN.finditer(text):
        if found.group("code") is None:
            pieces.append(text[position : found.start()])
            position, removed = found.end(), removed + 1
    return ("".join([*pieces, text[position:]]).strip(), removed) if removed else (text, 0)
