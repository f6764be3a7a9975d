"""A JSON array of any length read element by element in bounded memory.

Knows brackets and strings; parses nothing. What an element holds is parsed afterwards, under the limits of a line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kept.sources.records import LINE_LIMIT, STRIDE, SourceLine

# A string that ends in the same chunk is passed over at once; possessive, so nothing here goes back and forth.
_OUTSIDE = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')
_BETWEEN = b" \t\r\n,\xef\xbb\xbf"


class Readable(Protocol):
    """What gives its next bytes, none at its end."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""
        ...


def read_elements(file: Readable) -> Iterator[SourceLine]:
    """The elements of an array from the file's position on, or the one object that stands there instead of an array.

    Numbered from 1; the byte ranges count from where reading began. ``data`` is None for an element above the line limit, and
    ``ended`` is False for a last one that is cut off. What stands between elements and is none is given as an element too.
    """
    piece = _ElementBuffer()
    depth = base = 0  # base: the depth at which elements stand, 1 within an array
    in_string = skip = False
    offset = 0
    while chunk := file.read(STRIDE):
        position, skip, done = int(skip), False, 0
        while search_match := (_INSIDE if in_string else _OUTSIDE).search(chunk, position):
            position, mark = search_match.end(), search_match.group()
            if mark == b"\\":
                skip = position == len(chunk)
                position += 1
            elif len(mark) > 1:
                continue
            elif mark == b'"':
                in_string = not in_string
            elif mark in b"[{":
                if depth == base:
                    enters = base == 0 and mark == b"["
                    yield from piece.finish(chunk[done : search_match.start()])
                    done, base = (position, 1) if enters else (search_match.start(), base)
                    piece.start = offset + done
                depth += 1
            else:
                depth = max(0, depth - 1)
                if depth > base:
                    continue
                ends = depth < base  # the array itself
                yield from piece.finish(chunk[done : search_match.start() if ends else position])
                done, base = position, 0 if ends else base
                piece.start = offset + done
        piece.append(chunk[done:])
        offset += len(chunk)
    yield from piece.finish(b"", ended=depth <= base)


@dataclass(kw_only=True, slots=True)
class _ElementBuffer:
    """The bytes being gathered: of an element, or of what stands between two. Given up beyond the line limit."""

    number: int = 0
    start: int = 0
    length: int = 0
    kept: list[bytes] = field(default_factory=list)

    def append(self, data: bytes) -> None:
        self.length += len(data)
        self.kept = [*self.kept, data] if self.length <= LINE_LIMIT else []

    def finish(self, data: bytes, *, ended: bool = True) -> Iterator[SourceLine]:
        self.append(data)
        whole = b"".join(self.kept).strip(_BETWEEN)
        fits = self.length <= LINE_LIMIT
        if whole or not fits:
            self.number += 1
            end = self.start + self.length
            yield SourceLine(number=self.number, start=self.start, end=end, data=whole if fits else None, ended=ended)
        self.start, self.length, self.kept = self.start + self.length, 0, []
