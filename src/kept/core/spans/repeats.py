"""Long passages of prompts, by hash: text of more than 25 words or of several lines that comes back identically in another session
was not typed anew. Which hashes came back only a store can tell; capitals and white space do not count.
"""

from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from kept.core.text import is_cjk

_WORDS = 25  # a line of more words is a passage
_LINES = 6  # words of two lines together from which on they are one
_MOST = 400  # passages of one prompt
_COPY_SECONDS = 120.0  # an event of another session at the same moment is a copy of this one


class LongPassage(NamedTuple):
    """The characters ``[start, end)`` of a text, and their hash, a signed number of 64 bits."""

    start: int
    end: int
    hash: int


@lru_cache(maxsize=512)
def find_long_passages(text: str) -> tuple[LongPassage, ...]:
    """Each line of more than 25 words, and each two lines that follow each other."""
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
    """Whether two tellings of the same words are one: of the same moment, or both without any."""
    if one is None or other is None:
        return one is other
    return abs((one - other).total_seconds()) <= _COPY_SECONDS
