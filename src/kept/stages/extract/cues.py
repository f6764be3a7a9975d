"""Finds a lexicon's cues in text: compiles each cue pattern once."""

from functools import cache

import re2

from kept.model.artifact import artifacts
from kept.model.lexicon import Lexicon

# A capital inside a sentence: a name.
_NAME = re2.compile(r"[a-z,] ([A-Z][a-z]+)\b")


@cache
def compiled(source: str) -> "re2._Regexp":
    """The pattern of a cue."""
    return re2.compile(source)


def has(source: str, text: str) -> bool:
    """Whether the cue occurs in the text; an empty cue never does."""
    return bool(source) and compiled(source).search(text) is not None


def found(source: str, text: str) -> str:
    """The cue's first occurrence in the text, or the empty string."""
    match = compiled(source).search(text) if source else None
    return match[match.lastindex] if match else ""


def replace(source: str, words: str, text: str) -> str:
    """The text with every match of the pattern replaced by the words."""
    return str(compiled(source).sub(lambda _: words, text))


def specific(text: str, lexicon: Lexicon) -> bool:
    """Whether a text names something concrete: an artifact, two different nouns of the trade, or one in a general rule or a comparison."""
    if artifacts(text):
        return True
    # Two words side by side share the space between them.
    wide = text.replace(" ", "  ")
    terms = {wide[low:high].casefold() for low, high in places(lexicon.technical, wide)}
    terms.update(name[1].casefold() for name in _NAME.finditer(text))
    return len(terms) > 1 or (len(terms) == 1 and any(has(cue, text) for cue in general(lexicon)))


def general(lexicon: Lexicon) -> tuple[str, ...]:
    """The cues that make a text with one concrete noun a rule about it."""
    return lexicon.generaliser, lexicon.versus, lexicon.practice, lexicon.hard, lexicon.announced


def places(source: str, text: str) -> list[tuple[int, int]]:
    """Where the cue occurs in the text, as character ranges."""
    return [match.span(match.lastindex) for match in compiled(source).finditer(text)] if source else []


def count(source: str, text: str) -> int:
    """How many times the cue occurs in the text."""
    return sum(1 for _ in compiled(source).finditer(text)) if source else 0


def strip_first(source: str, text: str) -> str:
    """The text without the cue it begins with, and without the punctuation after it."""
    match = compiled(source).match(text) if source else None
    return text[match.end(match.lastindex) :].lstrip(" ,.;:!…–—-\n\t") if match else text


def strip_last(source: str, text: str) -> str:
    """The text without the cue it ends with, and without the punctuation before it."""
    match = compiled(source).search(text) if source else None
    return text[: match.start(match.lastindex)].rstrip(" ,.;:!?…–—-\n\t") if match else text


def split_at(source: str, text: str) -> tuple[str, str]:
    """The text up to and with the cue's first occurrence, and the rest; the whole text and nothing where it does not occur."""
    match = compiled(source).search(text) if source else None
    return (text[: match.end(match.lastindex)], text[match.end(match.lastindex) :]) if match else (text, "")


def strip_all(source: str, text: str) -> str:
    """The text without any occurrence of the cue."""
    while source and (match := compiled(source).search(text)):
        text = text[: match.start(match.lastindex)].rstrip() + " " + text[match.end(match.lastindex) :].lstrip()
    return text.strip()
