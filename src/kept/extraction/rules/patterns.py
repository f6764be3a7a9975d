"""Looks for a lexicon's patterns in text: each is compiled once."""

from functools import cache

import re2


@cache
def compiled(source: str) -> "re2._Regexp":
    """A compiled pattern."""
    return re2.compile(source)


def has(source: str, text: str) -> bool:
    """Whether a pattern occurs in the text; an empty one never does."""
    return bool(source) and compiled(source).search(text) is not None
