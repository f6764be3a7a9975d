"""Hashes of long passages of prompts. Text that another session contains too was pasted, and not typed again.

A passage is a line of more than 25 words, or two consecutive lines. The store knows which hashes occur in several sessions. Case
and white space are ignored.
"""

from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from kept.core.text import is_cjk

_WORDS = 25  # a line with more words is a passage
_LINES = 6  # minimum words of two consecutive lines that are a passage
_MOST = 400  # maximum passages of a prompt
_COPY_SECONDS = 120.0  # equal events of two sessions are copies of one event if they are no further apart


class LongPassage(NamedTuple):
    """The characters ``[start, end)`` of a text, and their hash, a signed 64-bit number."""

    start: int
    end: int
    hash: int


@lru_cache(maxsize=512)
def find_long_passages(text: str) -> tuple[LongPassage, ...]:
    """The long passages of a text: lines of more than 25 words, and pairs of consecutive lines with six words or more."""
    found: list[LongPassage] = []
    before: tuple[int, str, int] | None = None
    at = 0
    for line in text.splitlines(keepends=True):
        words = " ".join(line.casefold().split())
        if words:
            count = _count_words(words)
            end = at + len(line.rstrip())
            if count > _WORDS:
                found.append(LongPassage(at, end, _hash_words(words)))
            if before is not None and count + before[2] >= _LINES:
                found.append(LongPassage(before[0], end, _hash_words(f"{before[1]}\n{words}")))
            before = (at, words, count)
        at += len(line)
    return tuple(found[:_MOST])


def _count_words(words: str) -> int:
    return len(words.split()) + sum(map(is_cjk, words)) // 2


def _hash_words(words: str) -> int:
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def is_copy(one: datetime | None, other: datetime | None) -> bool:
    """True if two events with the same words are copies of one event: their times are (almost) equal, or both are undated."""
    if one is None or other is None:
        return one is other
    return abs((one - other).total_seconds()) <= _COPY_SECONDS
