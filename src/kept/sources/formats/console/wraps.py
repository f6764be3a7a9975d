"""Undo the line wraps of a terminal: find the right edge of the screen, and join the rows that were wrapped there.

A row was wrapped if the first word of the next row would not have fitted after it. The screen does not record its right edge, but
each wrapped pair of rows limits it to a range of columns. The column on which most pairs agree is taken as the edge.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple
from unicodedata import category, east_asian_width

from kept.core.pattern import compile_late

COLUMNS = 1_000  # no screen is wider, so longer rows were not wrapped
_NARROW = 20
_EDGES = 4  # within one stretch of text, a screen is resized at most this often
_LEAST_PAIRS = 3
_LEAST_SHARE = 0.3
_FALLBACK = 50  # columns; rows shorter than this are not joined if nothing shows an edge
_TOLERANCE = 4  # columns by which prompts, answers and results may end before the screen does
_BREAK = compile_late(r"[^\s/-][/-](?=[^\s/-])")
_ITEM = compile_late(r"^ *(?:[-*+•]|\d{1,3}[.)]) ")
_CLOSING = ",;:!?)]}\"'"
_ENDS_IN_BREAK = compile_late(r"[^\s/-][/-]$")


class WrappedLine(NamedTuple):
    """A row of a block: its text without margin, and three columns: the text's first, the one after its end, the one after its
    padding.
    """

    text: str
    column: int
    end: int
    padded: int


def to_line(row: str, start: int) -> WrappedLine:
    """The line of a row whose text begins at column ``start``, after a margin and glyphs that take one column each."""
    text = row[start:].rstrip()
    end = start + text_width(text)
    return WrappedLine(text, start, end, end + len(row) - start - len(text))


class WrapEdges(NamedTuple):
    """The columns at which the rows of a stretch were wrapped.

    ``columns`` are the edges on which enough pairs of rows agree, in ascending order. ``widest`` is the end of the longest row.
    ``breaks`` has those of the characters hyphen and slash after which the client also breaks words.
    """

    columns: tuple[int, ...] = ()
    widest: int = 0
    breaks: str = ""


def text_width(text: str) -> int:
    """The number of columns that a text takes on a screen. Characters of scripts without spaces take two."""
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in ("Mn", "Me", "Cf") else 1 + (east_asian_width(char) in "WF") for char in text)


def find_edges(blocks: Iterable[Sequence[WrappedLine]], *, hyphenates: bool) -> WrapEdges:
    """The right edges of blocks of wrapped text. ``hyphenates`` means that the client is known to break words at hyphens."""
    pairs: list[tuple[WrappedLine, WrappedLine]] = []
    widest = 0
    for lines in blocks:
        widest = max((widest, *(line.end for line in lines)))
        pairs += [(line, after) for line, after in pairwise(lines) if line.text and after.text.strip()]
    votes = Counter((line.end, line.end + text_width(_first_word(after.text))) for line, after in pairs if line.end < COLUMNS)
    columns = tuple(sorted(_find_peaks(votes)))
    return WrapEdges(
        columns, widest, "".join(mark for mark in "-/" if _has_breaks_after(mark, pairs, columns, hyphenates=hyphenates))
    )


def _find_peaks(votes: Counter[tuple[int, int]]) -> list[int]:
    """The columns that most intervals contain. Each is found after the intervals of the previous one were removed."""
    found: list[int] = []
    remaining = Counter(votes)
    while len(found) < _EDGES:
        support = [0] * (COLUMNS + 2)
        for (low, high), count in remaining.items():
            support[low] += count
            support[min(high, COLUMNS) + 1] -= count
        agreed = best = edge = 0
        for column, change in enumerate(support):
            agreed += change
            if agreed > best and column >= _NARROW:
                best, edge = agreed, column
        near = sum(count for (low, _), count in remaining.items() if low >= edge * 0.7)
        if best < _LEAST_PAIRS or best < near * _LEAST_SHARE:
            break
        found.append(edge)
        remaining = Counter({vote: count for vote, count in remaining.items() if not vote[0] <= edge <= vote[1]})
    return found


def _has_breaks_after(
    mark: str, pairs: Sequence[tuple[WrappedLine, WrappedLine]], columns: Sequence[int], *, hyphenates: bool
) -> bool:
    """True if rows end within a word after this mark more often than they miss a chance to end there."""
    broken = kept = 0
    for line, after in pairs:
        edge = next((column for column in columns if column >= line.end), 0)
        word = _first_word(after.text)
        if not edge or line.end + 1 + text_width(word) <= edge:
            continue
        broken += line.text[-1] == mark and bool(_ENDS_IN_BREAK.search(line.text[-2:]))
        kept += any(line.end + 1 + text_width(word[:end]) <= edge for end in _break_places(word, mark)[:1])
    return broken > kept or (broken == kept and hyphenates)


def _break_places(word: str, marks: str) -> list[int]:
    """The positions in a word where it may be broken after one of these marks."""
    return [match.end() for match in _BREAK.finditer(word) if match.group()[-1] in marks]


def join_lines(lines: Sequence[WrappedLine], own: WrapEdges, all_edges: WrapEdges) -> str:
    """Join the rows of a block to its text, with wraps undone.

    ``own`` are the edges of blocks of this form. If they are unknown, ``all_edges`` (of prompts and answers) are used.
    """
    if len(lines) < 2:
        return lines[0].text.rstrip() if lines else ""
    edge, tolerance = _find_edge(lines, own, all_edges)
    breaks = own.breaks if own.columns else all_edges.breaks
    pieces = [lines[0].text.rstrip()]
    for line, after in pairwise(lines):
        text = after.text.rstrip()
        pieces += [_separator(line, after, edge, tolerance, breaks), text]
    return "".join(pieces)


def _find_edge(lines: Sequence[WrappedLine], own: WrapEdges, all_edges: WrapEdges) -> tuple[int, int]:
    """Return the edge at which these rows were wrapped, and how many columns before it a row may have ended."""
    widest = max(line.end for line in lines)
    edge = next((column for column in own.columns if column >= widest), 0)
    if edge:
        return edge, 0
    padded = {line.padded for line in lines if line.text.strip()}
    if len(padded) == 1 and (edge := padded.pop()) > widest:
        return edge, _TOLERANCE
    edge = next((column for column in all_edges.columns if column >= widest), 0)
    if edge:
        return edge, _TOLERANCE
    return max(all_edges.widest, widest, _FALLBACK), 0


def _separator(line: WrappedLine, after: WrappedLine, edge: int, tolerance: int, breaks: str) -> str:
    """The text between two rows: a line break, or the space or nothing that was there before the terminal wrapped the line."""
    text, word = line.text.rstrip(), _first_word(after.text)
    if not text or not word or _ITEM.match(after.text):
        return "\n"
    needed = text_width(word[: next(iter(_break_places(word, breaks)), len(word))])
    if _is_wide(text[-1]) and _is_wide(word[0]):
        needed = 1
    if line.end + 1 + needed <= edge - tolerance:
        return "\n"
    if after.text.startswith(" "):
        return "" if not after.text.startswith("  ") else "\n"
    if text[-1] in breaks and _ENDS_IN_BREAK.search(text[-2:]) and word[0].isalnum():
        return ""
    if _is_wide(text[-1]) and _is_wide(word[0]):
        return ""
    # The terminal breaks a word elsewhere only if the word is longer than a row. The row before the break is then full.
    last = text.rpartition(" ")[2]
    too_long = text_width(last) + text_width(word) > edge - tolerance - line.column
    broken = too_long and line.end >= edge - tolerance and (last == text or last[-1] not in _CLOSING)
    return "" if broken else " "


def _first_word(text: str) -> str:
    return text.lstrip()[: COLUMNS * 2].partition(" ")[0]


def _is_wide(character: str) -> bool:
    """True for a character of a script without spaces."""
    return "\u2e80" <= character <= "\uabff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"
