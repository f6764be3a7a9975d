"""Keyed fingerprints of statements, which recognise forgotten statements without storing their content.

A fingerprint is a keyed MinHash of the statement's words (Broder 1997), so it also matches small rewordings. Short keyed hashes of
each name and value follow, so that a statement about another client or port does not match. Without the store's key, nobody can
test a guess.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from itertools import pairwise

from kept.core.pattern import Pattern
from kept.core.text import tokenize

_WORD = Pattern(r"[\pL\pM\pN_]+")
_END = Pattern(r"[.!?]\s+|[。！？]|\n+")
_WIDTH = 32  # number of hash functions; the standard error of the similarity is about 1/√32 ≈ 0.18
_STEM = 5  # letters of a name that are hashed, because endings differ
_PART, _PART_WORDS = 0.4, 3  # minimum share of a statement's words, and minimum words, of a part of it
_SAME = 0.6  # minimum share of equal minima for statements that may be the same


def fingerprint_statement(text: str, key: bytes) -> str:
    """The fingerprint of a statement: 32 keyed minima, then a hash of each name and value, of 4 hex digits each.

    Empty for a text without words.
    """
    words = tokenize(text)
    if not words:
        return ""
    hashes = [blake2b(word.encode(), key=key, digest_size=2 * _WIDTH).digest() for word in words]
    minima = "".join(min(item[2 * i : 2 * i + 2] for item in hashes).hex() for i in range(_WIDTH))
    return minima + "".join(sorted(_hash_words(_find_names(text), key)))


def is_known_statement(text: str, known: Collection[str], key: bytes) -> bool:
    """True if a statement has a known fingerprint, or is a large part of a statement that has one. Case, punctuation and small
    rewordings do not matter, nor whether letters are written as entities of HTML. False if a name or value differs.
    """
    if not known:
        return False
    if "&" in text:
        from html import unescape  # noqa: PLC0415 - its table of entities is large

        text = unescape(text)
    fingerprint, tokens = fingerprint_statement(text, key), tokenize(text)
    alike = [other for other in known if fingerprint and _is_alike(fingerprint, other, len(tokens))]
    words, names = _hash_words(tokens, key) if alike else frozenset(), _list_names(fingerprint)
    return any(_list_names(other) <= words or names <= _list_names(other) for other in alike)


def mark_known_statements(text: str, known: Collection[str], key: bytes, mark: str) -> str:
    """Replace each sentence with a known fingerprint by ``mark``. Returns only the mark if the whole text has one."""
    edges = sorted({0, *(end.end() for end in _END.finditer(text)), len(text)})
    pieces = [text[start:end] for start, end in pairwise(edges)]
    known_pieces = [is_known_statement(piece, known, key) for piece in pieces]
    if not any(known_pieces):
        return mark if is_known_statement(text, known, key) else text
    return "".join(mark + piece[len(piece.rstrip()) :] if gone else piece for piece, gone in zip(pieces, known_pieces, strict=True))


def _is_alike(left: str, right: str, words: int) -> bool:
    """True if most minima are equal, or if ``left`` is a large part of ``right``, judged by its number of words."""
    similarity = _minhash_similarity(left, right)
    # The minima of a part are at least those of the whole. For other words, one in 32 is almost certainly below.
    positions = range(0, 4 * _WIDTH, 4)
    is_part = similarity >= _PART and words >= _PART_WORDS and all(left[i : i + 4] >= right[i : i + 4] for i in positions)
    return similarity >= _SAME or is_part


def _minhash_similarity(left: str, right: str) -> float:
    pairs = range(0, 4 * _WIDTH, 4)
    return sum(left[i : i + 4] == right[i : i + 4] for i in pairs) / _WIDTH


def _find_names(text: str) -> frozenset[str]:
    """The names and values in a statement: words with a digit, an inner capital, or a capital first letter within a sentence."""
    names: set[str] = set()
    for sentence in _END.split(text):
        for place, word in enumerate(_WORD.findall(sentence)):
            is_capitalized = place > 0 and len(word) > 1 and word[0].isupper()
            if is_capitalized or any(map(str.isdigit, word)) or word[1:] != word[1:].lower():
                names |= tokenize(word)
    return frozenset(names)


def _hash_words(words: Iterable[str], key: bytes) -> frozenset[str]:
    stems = (word if any(map(str.isdigit, word)) else word[:_STEM] for word in words)
    return frozenset(blake2b(stem.encode(), key=key, digest_size=2, person=b"name").hexdigest() for stem in stems)


def _list_names(fingerprint: str) -> frozenset[str]:
    """The hashes of names and values in a fingerprint; none if it was made before fingerprints had them."""
    return frozenset(fingerprint[at : at + 4] for at in range(4 * _WIDTH, len(fingerprint), 4))
