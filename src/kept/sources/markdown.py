"""Find code fences, headings and hidden text in lines of Markdown in linear time, and read front matter as plain text values.

Front matter values have no types: ``no`` stays a word, and ``1:20`` is not a number. A block with tags, aliases or duplicate keys
is refused as a whole, and its file is read without front matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from kept.core.fence import IGNORE
from kept.core.pattern import Pattern, compile_late
from kept.core.value import dataclass, field
from kept.sources.documents import Row
from kept.sources.fields import Notes

_FENCE = Pattern(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING = Pattern(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_HEADING_CHARACTERS = 300
_COMMENTS = {"<!--": "-->", "%%": "%%"}  # start and end of a comment in HTML and in Obsidian
_SPEAKER = compile_late(r"^(?:\*\*|__)[^*_]{1,60}(?:\*\*|__):?[ \t]*")
# Beginnings of lines that may end without a full stop: lists, headings, tables, code.
_STRUCTURE = Pattern(r"[`~<|#>+]|[*-][ \t]|\d+[.)]")


class Heading(NamedTuple):
    """A heading outside fences: its row, its level, and its title without markup."""

    row: int
    level: int
    title: str


class Fence(NamedTuple):
    """A line that opens or closes a code block: its fence marks, and the language after them."""

    mark: str
    language: str


def parse_fence(text: str) -> Fence | None:
    """The fence that a line is; None for any other line."""
    found = _FENCE.match(text) if "```" in text or "~~~" in text else None
    return Fence(found[1], found[2].strip()) if found else None


def mark_fenced_rows(rows: Sequence[Row]) -> list[bool]:
    """For each row, True if it is in a code block that is both opened and closed."""
    edges = [0] * (len(rows) + 1)
    for first, last in _pair_fences(rows)[0]:
        edges[first] += 1
        edges[last + 1] -= 1
    return [depth > 0 for depth in accumulate(edges[:-1])]


def _pair_fences(rows: Sequence[Row]) -> tuple[list[tuple[int, int]], bool]:
    """The first and last row of each closed code block, and whether a fence is left that opens no closed block.

    Assistants nest blocks with equal fences, so a fence with a language opens a block, and a bare fence closes the innermost one.
    """
    closed: list[tuple[int, int]] = []
    waiting: list[tuple[int, str]] = []
    for number, row in enumerate(rows):
        fence = parse_fence(row.text)
        if fence and (fence.language or not waiting):
            waiting.append((number, fence.mark))
        elif fence and fence.mark.startswith(waiting[-1][1]):
            closed.append((waiting.pop()[0], number))
    return closed, bool(waiting)


def mark_fenced_in_turns(rows: Sequence[Row], starts: Sequence[int]) -> list[bool]:
    """For each row of a conversation, True if it is in a closed code block. Its turns begin at the rows ``starts``.

    A block that quotes another conversation may contain such rows: if a turn does not close it, it extends to the next turn that
    closes a block.
    """
    edges = sorted({0, *starts, len(rows)})
    parts = [mark_fenced_rows(rows[first:after]) for first, after in pairwise(edges)]
    torn = [number for number, (first, after) in enumerate(pairwise(edges)) if _pair_fences(rows[first:after])[1]]
    for first, last in zip(torn[::2], torn[1::2], strict=False):
        joined = mark_fenced_rows(rows[edges[first] : edges[last + 1]])
        for number in range(first, last + 1):
            offset = edges[number] - edges[first]
            parts[number] = joined[offset : offset + edges[number + 1] - edges[number]]
    return [row for part in parts for row in part]


def find_headings(rows: Sequence[Row], inside: Sequence[bool], first: int = 0) -> list[Heading]:
    """The ATX headings from row ``first`` on, without those in code blocks or closed comments."""
    found = []
    hidden, ends = -1, True
    for number in range(first, len(rows)):
        text = rows[number].text
        if number <= hidden:
            continue
        shown = text.lstrip()
        close = next(
            (_COMMENTS[opened] for opened in _COMMENTS if shown.startswith(opened) and _COMMENTS[opened] not in shown[2:]), ""
        )
        if close and ends and not inside[number]:
            hidden = next((after for after in range(number + 1, len(rows)) if close in rows[after].text), -1)
            ends = hidden >= 0
        if inside[number] or "#" not in text[:4] or len(text) > _HEADING_CHARACTERS:
            continue
        match = _HEADING.match(text)
        if match:
            found.append(Heading(number, len(match.group(1)), match.group(2)))
    return found


def strip_edges(rows: Sequence[Row], first: int, after: int) -> str:
    """The text of the rows [first, after) without blank lines and rules (``---``) at its start and end."""
    while first < after and _is_edge(rows[first].text):
        first += 1
    while after > first and _is_edge(rows[after - 1].text):
        after -= 1
    return "\n".join(row.text for row in rows[first:after]).strip()


def is_introduced(rows: Sequence[Row], first: int) -> bool:
    """True if the text above a row is incomplete, so that it may introduce the text at the row."""
    number = first - 1
    while number >= 0 and _is_edge(rows[number].text):
        number -= 1
    last = _SPEAKER.sub("", rows[number].text.strip()) if number >= 0 else ""
    breaks_off = last[-1:] in (":", "：", ",") or (last[-1:].isalnum() and " " in last)
    return breaks_off and _STRUCTURE.match(last) is None


def _is_edge(text: str) -> bool:
    text = text.strip()
    return not text or (len(text) >= 3 and text[0] in "-*_" and not text.strip(text[0]))


_MARK = compile_late(r"`+|~~~+|<|%%")
_ELEMENT = Pattern(r"^<([A-Za-z][A-Za-z0-9]{0,20})\b[^<>]*?(?:\bhidden\b|display\s*:\s*none)[^<>]*>")
_ELEMENT_CHARACTERS = 400
_NESTED = 50


def strip_hidden(text: str) -> tuple[str, Notes]:
    """Return the text without comments and hidden elements outside code, and a count of these. The count is empty if it is 0."""
    if "<" not in text and "%%" not in text:
        return text, Notes()
    pieces: list[str] = []
    missing: set[str] = set()  # end marks that the rest of the text lacks, so that it is not searched again
    removed = kept = position = 0
    while match := _MARK.search(text, position):
        start, mark = match.span()[0], match.group()
        if mark in ("<", "%%"):
            end = _hidden_end(text, start, missing)
            if end:
                pieces.append(text[kept:start])
                removed, kept = removed + 1, end
            position = end or start + len(mark)
        else:
            position = _code_end(text, match.end(), mark, missing)
    return ("".join([*pieces, text[kept:]]).strip(), Notes({"removed:hidden-text": removed})) if removed else (text, Notes())


def _find_from(text: str, what: str, position: int, missing: set[str]) -> int:
    """The next position of ``what`` in a text; -1 if there is none."""
    found = -1 if what in missing else text.find(what, position)
    if found < 0:
        missing.add(what)
    return found


def _code_end(text: str, position: int, mark: str, missing: set[str]) -> int:
    """The end of code whose opening mark ends at ``position``; ``position`` itself if the code is never closed."""
    close = _find_from(text, mark, position, missing)
    if close < 0 or (len(mark) < 3 and "\n" in text[position:close]):
        return position
    return close + len(mark)


def _hidden_end(text: str, start: int, missing: set[str]) -> int:
    """The end of a comment or hidden element that begins at ``start``; 0 if none begins there."""
    for opening, closing in _COMMENTS.items():
        if text.startswith(opening, start):
            close = _find_from(text, closing, start + len(opening), missing)
            return close + len(closing) if close >= 0 else 0
    found = _ELEMENT.match(text[start : start + _ELEMENT_CHARACTERS])
    if not found:
        return 0
    opening, closing = f"<{found.group(1)}", f"</{found.group(1)}"
    depth, position = 1, start + len(found.group())
    while 0 < depth <= _NESTED:
        close = _find_from(text, closing, position, missing)
        if close < 0:
            return 0
        inner = text.find(opening, position, close)
        depth += 1 if inner >= 0 else -1
        position = inner + 1 if inner >= 0 else close + len(closing)
    end = text.find(">", position, position + _ELEMENT_CHARACTERS)
    return end + 1 if depth == 0 and end >= 0 else 0


BLOCK_CHARACTERS = 64 * 1024
NODES_LIMIT = 5_000
_DEPTH_LIMIT = 16

Value = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """Front matter: its values by lower-case name, lists as tuples. Nested structures are left out.

    ``rows`` is the number of lines of the block with its fences; 0 if there is no block or it has no end. ``fault`` is the reason
    why the block was refused, or says that it has no end.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    rows: int = 0
    fault: str = ""

    def first(self, *names: str) -> str:
        """The text of the first of these fields that is not empty; empty if all are."""
        found = (self.values.get(name, "") for name in names)
        return next((value.strip() for value in found if isinstance(value, str) and value.strip() not in ("", "~", "null")), "")

    def fault_counts(self) -> dict[str, int]:
        """The fault as a count for the account; empty if there is no fault."""
        return {f"front-matter:{self.fault}": 1} if self.fault else {}


def is_ignored(front: FrontMatter, rows: Sequence[Row], inside: Sequence[bool]) -> bool:
    """True if a note opts out, by front matter (``kept: ignore``) or by the comment on a line of its own. ``inside`` marks code."""
    return front.first("kept").lower() == "ignore" or any(
        row.text.strip() == IGNORE and not fenced for row, fenced in zip(rows, inside, strict=True)
    )


def read_front_matter(rows: Sequence[Row]) -> FrontMatter:
    """Read the front matter of a file, which must begin on the first line. Never raises."""
    if not rows or rows[0].text.rstrip() != "---":
        return FrontMatter()
    size = 0
    for number, row in enumerate(rows[1:], 1):
        if row.text.rstrip() in ("---", "..."):
            block = "\n".join(row.text for row in rows[1:number])
            return _parse_block(block, number + 1)
        size += len(row.text) + 1
        if size > BLOCK_CHARACTERS:
            return FrontMatter(fault="too-long")
    return _parse_unclosed(rows)


_FIELD = compile_late(r"[A-Za-z][\w-]{0,40}:(?:[ \t]|$)")


def _parse_unclosed(rows: Sequence[Row]) -> FrontMatter:
    """Read the fields of a block without an end, up to the first line that is not a field."""
    after = next((number for number in range(1, len(rows)) if not _FIELD.match(rows[number].text)), len(rows))
    if after == 1:
        return FrontMatter(fault="unclosed")
    front = _parse_block("\n".join(row.text for row in rows[1:after]), after)
    return FrontMatter(values=front.values, fault="unclosed")


def _parse_block(block: str, rows: int) -> FrontMatter:
    """Read the outermost mapping from the parser's nodes. No object is constructed."""
    import yaml  # noqa: PLC0415 - most runs find no new file with front matter

    loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        fault = _find_fault(yaml.parse(block, Loader=loader))
        root = None if fault else yaml.compose(block, Loader=loader)
    except (yaml.YAMLError, ValueError):  # the parser raises ValueError for an escape beyond Unicode
        return FrontMatter(rows=rows, fault="not-yaml")
    values: dict[str, Value] = {}
    for key, node in root.value if isinstance(root, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode) and key.value and not isinstance(node, yaml.MappingNode):
            name = key.value.casefold()
            if name in values:
                return FrontMatter(rows=rows, fault="duplicate-key")
            is_text = isinstance(node, yaml.ScalarNode)
            values[name] = node.value if is_text else tuple(item.value for item in node.value if isinstance(item, yaml.ScalarNode))
    return FrontMatter(values=values, rows=rows, fault=fault)


def _find_fault(events: Iterable[Any]) -> str:
    """The reason why a block that is valid YAML is refused: it uses more than plain values. Empty if there is none."""
    import yaml  # noqa: PLC0415 - as above

    depth = 0
    for number, event in enumerate(events):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if number > NODES_LIMIT:
            return "too-many-values"
        if isinstance(event, yaml.AliasEvent):
            return "alias"
        if getattr(event, "tag", None):
            return "tag"
        if depth > _DEPTH_LIMIT:
            return "nested-too-deep"
    return ""
