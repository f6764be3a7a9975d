"""Cuts prose into sentences by shape: full stops of any script, bullets, line ends that end a thought. Knows no words of any
language.
"""

from dataclasses import dataclass

import re2

# A full stop ends a sentence before white space; in scripts without spaces it always does. Ellipses end one too.
_STOP = re2.compile(r"[.!?…]+[\"'”’)\]]*(?:\s+|$)|[。！？]+[」』”]*")
_BULLET = re2.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]+")
_ASIDE = re2.compile(r"\(([^()\n]{20,240})\)")
# "2." at the start of a line numbers it.
_NUMBER = re2.compile(r"(?:^|\n)[ \t]*\d{1,2}\.$")
_SHORT = frozenset(
    {
        "e.g.",
        "i.e.",
        "etc.",
        "vs.",
        "z.b.",
        "d.h.",
        "bzw.",
        "ca.",
        "p.ex.",
        "ex.",
        "no.",
        "nr.",
        "approx.",
        "cf.",
        "resp.",
        "dr.",
        "mr.",
        "ms.",
    }
)
LONGEST = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The characters ``[start, end)`` of an event's text; ``bullet`` when it is an item of a list, ``aside`` when in
    parentheses.
    """

    start: int
    end: int
    bullet: bool = False
    aside: bool = False


def sentences(text: str, start: int, end: int, *, lists: bool = False) -> tuple[Span, ...]:
    """The sentences of ``text[start:end]``, markers of list items and outer white space left out, asides after their sentence.

    With ``lists`` a line that ends in a colon is one sentence with all that follows it.
    """
    spans: list[Span] = []
    for low, high, bullet in _units(text, start, end, lists=lists):
        for first, last in _split(text, low, high):
            spans.append(Span(start=first, end=last, bullet=bullet))
            for aside in _ASIDE.finditer(text[first:last]):
                if aside.start() == 0:
                    continue
                spans.append(Span(start=first + aside.start(1), end=first + aside.end(1), aside=True))
    return tuple(span for span in spans if 0 < span.end - span.start <= LONGEST)


def _units(text: str, start: int, end: int, *, lists: bool) -> list[tuple[int, int, bool]]:
    """Runs of lines that belong together: a line goes on in the next one unless that is a bullet or this one ended a thought."""
    units: list[tuple[int, int, bool]] = []
    at, announced = start, False
    for line in text[start:end].splitlines(keepends=True):
        stripped = line.strip()
        marker = _BULLET.match(line)
        head = at + (marker.end() if marker else 0)
        announced = announced or (lists and bool(units) and text[units[-1][0] : units[-1][1]].endswith((":", "：")))
        if not stripped:
            if not announced:
                units.append((at, at, False))
        elif units and (announced or (not marker and _goes_on(text, units[-1], stripped))):
            units[-1] = (units[-1][0], at + len(line.rstrip()), units[-1][2])
        else:
            units.append((head, at + len(line.rstrip()), bool(marker)))
        at += len(line)
    return [unit for unit in units if unit[1] > unit[0]]


def _goes_on(text: str, unit: tuple[int, int, bool], line: str) -> bool:
    before = text[unit[0] : unit[1]]
    return bool(before) and before[-1] not in ".!?…:。！？" and (line[0].islower() or len(before) > 60) and not line[0].isdigit()


def _split(text: str, low: int, high: int) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    at = low
    for stop in _STOP.finditer(text[low:high]):
        end = low + stop.start() + len(stop[0].rstrip())
        words = text[at:end].split()
        trails = stop[0].startswith(("..", "…")) and text[low + stop.end() : low + stop.end() + 1].islower()
        if trails or _NUMBER.search(text[max(low, end - 8) : end]) or (words and words[-1].lower().lstrip("(") in _SHORT):
            continue
        pieces.append((at, end))
        at = low + stop.end()
    pieces.append((at, high))
    return [
        (a + len(text[a:b]) - len(text[a:b].lstrip()), b - (len(text[a:b]) - len(text[a:b].rstrip())))
        for a, b in pieces
        if text[a:b].strip()
    ]
