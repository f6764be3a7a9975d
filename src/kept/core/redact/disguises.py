"""Secrets in disguise: escaped for an address or a mail, broken over lines, wrapped in base64. Best effort; knows nothing of
marks.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kept.core.redact.book import Finder, book
from kept.core.redact.places import Span, follow, scan
from kept.core.redact.shape import pattern
from kept.core.redact.values import Setting, decode64

_ESCAPED = pattern(rb"%[0-9A-Fa-f]{2}")
_RUN64 = pattern(rb"[A-Za-z0-9+/]{20,}={0,2}|[A-Za-z0-9_-]{20,}={0,2}")
_ODD = pattern(rb"[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_LONGEST = 512
_MOST_BROKEN = 64
_BEFORE = 100  # an anchor may stand inside its token
_LONGEST_RUN = 16_384


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    """Decoded bytes, and where each piece of them begins in them and in the original."""

    data: bytes
    starts: list[int]
    origins: list[int]

    def place(self, offset: int) -> int:
        index = bisect_right(self.starts, offset) - 1
        return self.origins[index] + offset - self.starts[index]


def disguised(data: bytes, called: frozenset[int]) -> Iterator[Span]:
    """The secrets that only show once a text is decoded, with their places in the text as it stands."""
    if b"%" in data and _ESCAPED.search(data):
        yield from _escaped(data, b"%")
    if b"=3D" in data and b"=\n" in data:
        yield from _escaped(data, b"=")
    if Finder.BROKEN in called and b"\n" in data:
        yield from _broken(data, called)
    if Finder.ENCODED in called:
        yield from _encoded(data)


def _escaped(data: bytes, sign: bytes) -> Iterator[Span]:
    view = _unescape(data, sign)
    for span in scan(view.data, book().called(view.data)):
        yield Span(start=view.place(span.start), end=view.place(span.end), order=span.order, kind=span.kind, secret=span.secret)


def _unescape(data: bytes, sign: bytes) -> _View:
    """The view with ``%41`` or ``=41`` decoded; a sign before a line break, and that break, are dropped."""
    first, *parts = data.split(sign)
    out, starts, origins = [first], [0], [0]
    length = at = len(first)
    jumps: tuple[tuple[int, int], ...]
    for part in parts:
        pair = part[:2]
        if sign == b"\n":
            piece, jumps = part, ((0, 1),)
        elif len(pair) == 2 and pair.isalnum() and all(byte in b"0123456789abcdefABCDEF" for byte in pair):
            piece, jumps = bytes([int(pair, 16)]) + part[2:], ((0, 0), (1, 3))
        elif sign == b"=" and pair[:1] == b"\n":
            piece, jumps = part[1:], ((0, 2),)
        else:
            piece, jumps = sign + part, ()
        for ahead, skipped in jumps:
            starts.append(length + ahead)
            origins.append(at + skipped)
        out.append(piece)
        length += len(piece)
        at += 1 + len(part)
    return _View(data=b"".join(out), starts=starts, origins=origins)


def _broken(data: bytes, called: frozenset[int]) -> Iterator[Span]:
    """Tokens that a terminal or an editor broke over several lines."""
    tokens = [index for index in called if index >= 0 and book().rules[index].setting is Setting.SHAPE]
    for hit in islice(book().broken.finditer(data), _MOST_BROKEN):
        at = max(0, hit.start() - _BEFORE)
        view = _unescape(data[at : at + _LONGEST], b"\n")
        for index in tokens:
            for span in follow(book().rules[index], view.data, index):
                start, end = at + view.place(span.start), at + view.place(span.end - 1) + 1
                end = _odd_lines(data, start, end)
                whole = data[start:end].replace(b"\n", b"")
                if b"\n" in data[start:end] and any(each.secret == whole for each in follow(book().rules[index], whole, index)):
                    yield Span(start=start, end=end, order=index, kind=span.kind, secret=whole)


def _odd_lines(data: bytes, start: int, end: int) -> int:
    """Where a broken token ends: before the lines that belong to what follows it."""
    while (last := data.rfind(b"\n", start, end)) >= 0 and not _ODD.search(data, last + 1, end):
        end = last
    return end


def _encoded(data: bytes) -> Iterator[Span]:
    """Runs of base64 that hold a secret once decoded."""
    for run in _RUN64.finditer(data):
        plain = decode64(run.group()[:_LONGEST_RUN])
        if plain and plain.isascii() and (inner := list(scan(plain, book().called(plain)))):
            best = min(inner, key=lambda span: span.order)
            yield Span(start=run.start(), end=run.end(), order=best.order, kind=best.kind, secret=best.secret)
