"""The YAML block at the very start of a Markdown file, read as plain text values.

No value is given a type (``no`` stays a word, ``1:20`` is no number), no tag is obeyed, no alias is followed, and a block that
is not plain is refused whole: its file is then read without it. Knows no format's field names.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kept.core.event import IGNORE
from kept.sources.documents import Row

BLOCK_CHARACTERS = 64 * 1024
NODES_LIMIT = 5_000
_DEPTH_LIMIT = 16

Value = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """The values by lower-case name, lists as tuples; deeper structures are left out.

    ``rows`` counts the lines of the block with its fences, 0 where there is none. ``fault`` says why a block was refused.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    rows: int = 0
    fault: str = ""

    def first(self, *names: str) -> str:
        """The first of these that has a text, else the empty string."""
        found = (self.values.get(name, "") for name in names)
        return next((value.strip() for value in found if isinstance(value, str) and value.strip() not in ("", "~", "null")), "")

    def fault_counts(self) -> dict[str, int]:
        """What an account says about a refused block."""
        return {f"front-matter:{self.fault}": 1} if self.fault else {}


def is_ignored(front: FrontMatter, rows: Sequence[Row], inside: Sequence[bool]) -> bool:
    """Whether a note says that it is not to be remembered, in its front matter (``kept: ignore``) or by the comment on a line of
    its own. ``inside`` marks the rows of code.
    """
    return front.first("kept").lower() == "ignore" or any(
        row.text.strip() == IGNORE and not fenced for row, fenced in zip(rows, inside, strict=True)
    )


def read_front_matter(rows: Sequence[Row]) -> FrontMatter:
    """The front matter of a file; only a block that opens in the first byte is one. Never raises."""
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


_FIELD = re.compile(r"[A-Za-z][\w-]{0,40}:(?:[ \t]|$)")


def _parse_unclosed(rows: Sequence[Row]) -> FrontMatter:
    """The fields that stand below an opening fence whose end is missing, up to the first line that is none; what they say still
    counts.
    """
    after = next((number for number in range(1, len(rows)) if not _FIELD.match(rows[number].text)), len(rows))
    if after == 1:
        return FrontMatter(fault="unclosed")
    front_matter = _parse_block("\n".join(row.text for row in rows[1:after]), after)
    return FrontMatter(values=front_matter.values, fault="unclosed")


def _parse_block(block: str, rows: int) -> FrontMatter:
    import yaml  # noqa: PLC0415 - most runs find no new file with front matter

    try:
        values = _parse_values(block)
    except _RefusedError as error:
        return FrontMatter(rows=rows, fault=str(error))
    except (yaml.YAMLError, ValueError):  # a number of an escape beyond Unicode is a ValueError
        return FrontMatter(rows=rows, fault="not-yaml")
    return FrontMatter(values=values, rows=rows)


class _RefusedError(Exception):
    """The block is YAML, but not plain."""


def _parse_values(block: str) -> dict[str, Value]:
    """The values of the outermost mapping, out of the parser's events: nothing is ever constructed."""
    import yaml  # noqa: PLC0415 - as above

    loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    values: dict[str, Value] = {}
    stack: list[str] = []  # "map" or "list"
    key: str | None = None
    items: list[str] | None = None
    for number, event in enumerate(yaml.parse(block, Loader=loader)):
        if number > NODES_LIMIT:
            raise _RefusedError("too-many-values")
        match event:
            case yaml.AliasEvent():
                raise _RefusedError("alias")
            case yaml.ScalarEvent() | yaml.SequenceStartEvent() | yaml.MappingStartEvent() if event.tag:
                raise _RefusedError("tag")
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                if len(stack) == 1 and key is None:
                    key = ""  # a structure as a key: its value is left out with it
                    stack.append("key")
                    continue
                if len(stack) == 1 and isinstance(event, yaml.SequenceStartEvent):
                    items = []
                stack.append("map" if isinstance(event, yaml.MappingStartEvent) else "list")
                if len(stack) > _DEPTH_LIMIT:
                    raise _RefusedError("nested-too-deep")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                closed = stack.pop()
                if len(stack) == 1 and closed != "key":
                    if items is not None and key:
                        _set_once(values, key, tuple(items))
                    key, items = None, None
            case yaml.ScalarEvent() if stack == ["map"]:
                if key is None:
                    key = event.value.casefold()
                else:
                    if key:
                        _set_once(values, key, event.value)
                    key = None
            case yaml.ScalarEvent() if items is not None and stack == ["map", "list"]:
                items.append(event.value)
            case _:
                pass
    return values


def _set_once(values: dict[str, Value], key: str, value: Value) -> None:
    if key in values:
        raise _RefusedError("duplicate-key")
    values[key] = value
