"""Text to the pieces that SentencePiece models read, by the standard library alone. Knows a vocabulary, no model.

After Kudo 2018: compatibility forms, a mark before each word, and of all ways to cut a word into known pieces the
likeliest. The vocabulary is looked up where it lies (:func:`slot_of`), for 128,000 pieces are not to be read before a prompt.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

_MARK = "▁"
_LONGEST = 16  # characters of the longest piece
_CACHED = 20_000  # words whose pieces are remembered: a language's common ones
_UNLIKELY = 10.0  # how much less likely than the rarest piece an unknown character is, as the reference has it


class Vocabulary(NamedTuple):
    """Pieces by number, as they lie in a pack.

    ``text`` are their bytes, ``starts`` where each begins (and the last ends), ``scores`` the logarithm of how likely each is,
    ``rarest`` the least of these, ``slots`` a hash table of numbers + 1 with open addressing. The first three are anything else,
    begin and end.
    """

    text: bytes
    starts: Sequence[int]
    scores: Sequence[float]
    rarest: float
    slots: Sequence[int]


_UNKNOWN, _BEGIN, _END = range(3)


def slot_of(piece: bytes, slots: int) -> int:
    """Where a piece is looked for first in a table of so many slots, a power of two."""
    return crc32(piece) & (slots - 1)


class Unigram:
    """A tokenizer over a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._unlikely = vocabulary.rarest - _UNLIKELY
        self._pieces = lru_cache(_CACHED)(self._split_word)

    def tokenize(self, text: str, most: int) -> list[int]:
        """The numbers of a text's pieces, framed as a sentence; at most so many, the frame among them."""
        found: list[int] = []
        plain = unicodedata.normalize("NFKC", text[: most * _LONGEST])
        for word in "".join(char for char in plain if char.isspace() or unicodedata.category(char)[0] != "C").split():
            found += self._pieces(_MARK + word)
            if len(found) >= most - 2:
                break
        return [_BEGIN, *found[: most - 2], _END]

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The likeliest pieces of a word (Viterbi)."""
        scores = self._vocabulary.scores
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # score, piece, its start, by end
        best += [(float("-inf"), 0, 0)] * len(word)
        for start in range(len(word)):
            reached = best[start][0]
            if reached + self._unlikely > best[start + 1][0]:
                best[start + 1] = (reached + self._unlikely, _UNKNOWN, start)
            for end in range(start + 1, min(start + _LONGEST, len(word)) + 1):
                number = self._find_piece(word[start:end])
                if number >= 0 and reached + scores[number] > best[end][0]:
                    best[end] = (reached + scores[number], number, start)
        found: list[int] = []
        end = len(word)
        while end:
            _, number, end = best[end]
            found.append(number)
        return tuple(reversed(found))

    def _find_piece(self, piece: str) -> int:
        text, starts, _, _, slots = self._vocabulary
        raw = piece.encode("utf-8", "replace")
        slot = slot_of(raw, len(slots))
        while held := slots[slot]:
            if text[starts[held - 1] : starts[held]] == raw:
                return held - 1
            slot = (slot + 1) % len(slots)
        return -1
