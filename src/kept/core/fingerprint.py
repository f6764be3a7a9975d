"""Keyed, content-free fingerprints of statements: they recognise what was forgotten without holding it.

A fingerprint is a keyed MinHash of the statement's words (Broder 1997), so it also recognises small rewordings; without the
store's key nobody can test guesses against it.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from itertools import pairwise

from kept.core.pattern import Pattern
from kept.core.text import tokenize

_END = Pattern(r"[.!?]\s+|[。！？]|\n+")
_WIDTH = 32  # hash functions; the standard error of the likeness is about 1/√32 ≈ 0.18
_SAME = 0.6  # share of equal minima from which two statements count as the same


def fingerprint_statement(text: str, key: bytes) -> str:
    """The fingerprint of a statement: 32 keyed minima of 4 hex digits; empty for a text without words."""
    words = tokenize(text)
    if not words:
        return ""
    hashes = [blake2b(word.encode(), key=key, digest_size=2 * _WIDTH).digest() for word in words]
    return "".join(min(item[2 * i : 2 * i + 2] for item in hashes).hex() for i in range(_WIDTH))


def is_known_statement(text: str, known: Iterable[str], key: bytes) -> bool:
    """Whether a statement is, but for case, punctuation or small rewording, one whose fingerprint is known."""
    mine = fingerprint_statement(text, key)
    return bool(mine) and any(_minhash_similarity(mine, item) >= _SAME for item in known)


def mark_known_statements(text: str, known: Collection[str], key: bytes, mark: str) -> str:
    """A text with a mark in the place of each sentence, or of all of it, that is a statement whose fingerprint is known."""
    edges = sorted({0, *(end.end() for end in _END.finditer(text)), len(text)})
    pieces = [text[start:end] for start, end in pairwise(edges)]
    known_pieces = [is_known_statement(piece, known, key) for piece in pieces]
    if not any(known_pieces):
        return mark if is_known_statement(text, known, key) else text
    return "".join(mark + piece[len(piece.rstrip()) :] if gone else piece for piece, gone in zip(pieces, known_pieces, strict=True))


def _minhash_similarity(left: str, right: str) -> float:
    pairs = range(0, 4 * _WIDTH, 4)
    return sum(left[i : i + 4] == right[i : i + 4] for i in pairs) / _WIDTH
