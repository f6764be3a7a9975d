"""Splits prose into sentences by shape: full stops of any script, bullets, line ends. Also recognises status reports.

Splitting needs no words of any language except a few abbreviations.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from kept.core.artifact import find_artifacts
from kept.core.pattern import Pattern
from kept.core.statement import find_content, stem_word
from kept.core.text import tokenize
from kept.core.value import dataclass
from kept.core.words import plain_words

# A full stop ends a sentence if white space follows; in scripts without spaces it always does. An ellipsis also ends one, and so
# does a semicolon before a capital letter.
_STOP = Pattern(r"[.!?…؟।]+[\"'”’“»«)\]]*(?:\s+|$)|[。！？]+[」』”]*|;\s+")
_BULLET = Pattern(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]+")
_ASIDE = Pattern(r"\(([^()\n]{20,240})\)")
# "2." at the start of a line numbers a list item and ends no sentence.
_NUMBER = Pattern(r"(?:^|\n)[ \t]*\d{1,2}\.$")
# Abbreviations, whose full stop ends no sentence. So do "No." and "ch." before a number, and two single letters in a row ("z. B.").
_SHORT = Pattern(
    r"(?i)(?:^|[\s(\"'„“«])(?:\pL\. ?\pL|(?-i:M)|e\.g|i\.e|etc|vs|bzw|ca|evtl|ggf|inkl|p\.ex|ex|approx|cf|resp|dr|mrs?|ms|prof|st|"
    r"sra?|mme|mlle|fig)\.$"
)
_SHORT_BEFORE = Pattern(r"(?i)(?:^|[\s(\"'„“«])(?:(?:n[or]|ch|vol|pp|sec|eq|kap|cap)\. \d(?:[^.!?]*|[.!?])|\pL\. \pL{1,2}\.)$")
LONGEST = 4_000
_WRAP = (60, 100)  # widths of hard-wrapped paragraphs; narrower lines end on purpose, wider ones are not wrapped
_OPEN = (",", ";", "(", "–", "—", "，", "、", "；")


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceSpan:
    """A sentence as characters ``[start, end)`` of a text. ``bullet`` marks a list item, ``parenthetical`` one in parentheses."""

    start: int
    end: int
    bullet: bool = False
    parenthetical: bool = False


@lru_cache(maxsize=8)  # each statement found in a prompt needs all sentences of the prompt
def split_sentences(text: str, start: int, end: int) -> tuple[SentenceSpan, ...]:
    """The sentences of ``text[start:end]`` without list markers and outer white space. A parenthesis follows its sentence."""
    spans: list[SentenceSpan] = []
    for low, high, bullet in _join_wrapped_lines(text, start, end):
        for first, last in _split_unit(text, low, high):
            spans.append(SentenceSpan(start=first, end=last, bullet=bullet))
            for aside in _ASIDE.finditer(text[first:last]) if text.find("(", first, last) >= 0 else ():
                if aside.start() == 0:
                    continue
                spans.append(SentenceSpan(start=first + aside.start(1), end=first + aside.end(1), parenthetical=True))
    return tuple(span for span in spans if 0 < span.end - span.start <= LONGEST)


def sentence_texts(text: str) -> Iterator[str]:
    """The text of each sentence, in order, without parentheses of their own."""
    return (text[span.start : span.end] for span in split_sentences(text, 0, len(text)) if not span.parenthetical)


def _join_wrapped_lines(text: str, start: int, end: int) -> list[tuple[int, int, bool]]:
    """Join lines to units (start, end, is a list item). A line continues in the next if it was wrapped or ends with a comma etc."""
    units: list[tuple[int, int, bool]] = []
    at, previous = start, ""
    for line, paragraph in _paragraph_lines(text[start:end].splitlines(keepends=True)):
        stripped = line.strip()
        marker = _BULLET.match(line)
        head = at + (marker.end() if marker else 0)
        if not stripped:
            units.append((at, at, False))
        elif units and not marker and _is_continued(previous, stripped, paragraph):
            units[-1] = (units[-1][0], at + len(line.rstrip()), units[-1][2])
        else:
            units.append((head, at + len(line.rstrip()), bool(marker)))
        previous = stripped
        at += len(line)
    return [unit for unit in units if unit[1] > unit[0]]


def _paragraph_lines(text_lines: Sequence[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each line with the number of lines of its paragraph, and the length of the paragraph's longest line."""
    if len(text_lines) == 1:  # the usual case in replies, which are split line by line
        yield text_lines[0], (1, len(text_lines[0].strip()))
        return
    for _, group in groupby(text_lines, key=str.isspace):
        lines = tuple(group)
        width = max(len(line.strip()) for line in lines)
        yield from ((line, (len(lines), width)) for line in lines)


def _is_continued(line: str, following: str, paragraph: tuple[int, int]) -> bool:
    """True if a line continues in the next one, because the next word did not fit or a punctuation mark is open."""
    count, width = paragraph
    if not line or line[-1] in ".!?…:。！？" or following[0].isdigit():
        return False
    if line.count('"') % 2 and following.count('"') % 2:  # a quotation spans both lines
        return True
    full = _WRAP[0] <= width <= _WRAP[1] and len(line) + len(following.split(" ", 1)[0]) >= width
    return line.endswith(_OPEN) or (full and (following[0].islower() or count > 2))


def _split_unit(text: str, low: int, high: int) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    at = low
    for stop in _STOP.finditer(text[low:high]):
        end = low + stop.start() + len(stop[0].rstrip())
        after = text[low + stop.end() : low + stop.end() + 3].strip()
        short = _SHORT.search(text[at:end]) or _SHORT_BEFORE.search(f"{text[max(at, end - 8) : end]} {after}")
        trails = stop[0].startswith(("..", "…")) and text[low + stop.end() : low + stop.end() + 1].islower()
        joins = stop[0].startswith(";") and not text[low + stop.end() : low + stop.end() + 1].isupper()
        if trails or joins or short or _NUMBER.search(text[max(low, end - 8) : end]):
            continue
        pieces.append((at, end - stop[0].startswith(";")))
        at = low + stop.end()
    pieces.append((at, high))
    return [
        (a + len(text[a:b]) - len(text[a:b].lstrip()), b - (len(text[a:b]) - len(text[a:b].rstrip())))
        for a, b in pieces
        if text[a:b].strip()
    ]


# --- status reports: sentences that only report checks or finished work, and do not matter later ------------------------------

_REPORT_STATES = frozenset(map(stem_word, plain_words("report_claims")))
_REPORT_EMPTY = frozenset(map(stem_word, plain_words("report_words"))) | _REPORT_STATES
_REPORT_RULE = Pattern(r"(?i)\b(?:must|always|never|ensure|make sure|shall|before|until|unless|because|instead)\b")
_REPORT_CHECK = Pattern(r"(?i)\b(?:test|lint|build|check|type-?check|mypy|ruff|eslint|tsc|vet|clippy)\b|test|lint")


def is_status_report(sentence: str) -> bool:
    """True if a sentence only reports that checks passed, nothing was needed, or something is done ("All tests pass")."""
    if _REPORT_RULE.search(sentence) or sentence.rstrip().endswith(("?", "？")):
        return False
    named = find_artifacts(sentence)
    if not all(_REPORT_CHECK.search(name) for name in named):
        return False
    of_names = {stem_word(word) for name in named for word in tokenize(name)}
    content = {word for word in find_content(sentence) - of_names if not word.isdigit()}
    return not content.isdisjoint(_REPORT_STATES) and content <= _REPORT_EMPTY
