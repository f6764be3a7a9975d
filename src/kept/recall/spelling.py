"""Correct the spelling of a query: replace words that are in no stored text by similar words that are. Read-only.

This module also cuts excerpts of long texts around the words of a query.
"""

import re
from collections.abc import Iterator, Sequence

from kept.core.text import query_words
from kept.profiles.lexicons import common_words, number_words
from kept.recall.embed import MANY_PACK, known_words, rate_word
from kept.recall.embed.levels import detect_language
from kept.recall.index import Index, UnitKind, open_index
from kept.recall.question import telling_words
from kept.workspace import Workspace

_SHORTEST = 4  # minimum length of a word to correct, because a shorter one is similar to too many words
_LONGEST = 24  # maximum length of a word to correct, because each letter adds about fifty variants
# A word is a typing mistake if it is less likely than its replacement by at least _GAIN, as logarithms. What the store contains has
# at least _STORED. Of 720 mistyped words of two stores, these correct 84 % of those that the nearest word would correct, and they
# change 9 of the 129 real words in nine languages that it would change.
_GAIN, _STORED = 9.0, -14.0
_WORD = -15.0  # a word at least as likely as this is complete
_NOISE, _KEYS = -4.6, 8  # keys pressed at random have less than this for each letter, and so have shorter names
_MOST_WORDS = 8  # maximum number of words that are checked
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LOOKED_IN = (UnitKind.MEMORY, UnitKind.TURN)  # the kinds in which a replacement must occur


def correct_spelling(workspace: Workspace, query: str) -> str:
    """Replace the misspelled words of a query, each by the most frequent word that differs from it by one mistake.

    A word is misspelled if it is in no stored text and is, in all languages of the multilingual model, much less likely than the
    other word. Without that model, only the words of English queries that are no common words are misspelled. A mistake is an
    extra, missing or wrong letter, or two swapped letters. The last word may also be completed. Returns the query itself if there
    is nothing to correct. Raises StoreError.
    """
    words = [word for word in telling_words(query)[:_MOST_WORDS] if not word.isdecimal()]
    if not MANY_PACK.exists() and detect_language(query) != "english":
        return query
    with open_index(workspace.paths.store) as index:
        counts = _count_words(index, words)
        last = (query_words(query) or ("",))[-1]
        changed = {
            word: correction
            for word in words
            if not (counts[word] or _is_common(word))
            and (correction := (_complete_prefix(index, word) if word == last else "") or _nearest_word(index, word))
        }
    if not changed:
        return query
    return " ".join(changed.get(part.lower().strip(".,;:!?()\"'"), part) for part in query.split())


def has_meaning(query: str) -> bool:
    """False if a query has nothing but keys pressed at random, whose vector is near to short texts ("k") that it has nothing to do
    with. Always true without the multilingual model.
    """
    words = telling_words(query)[:_MOST_WORDS]
    noise = (len(word) >= _KEYS and (rate := rate_word(word)) is not None and rate < _NOISE * len(word) for word in words)
    return not words or not all(noise)


def excerpt(text: str, words: Sequence[str], most: int) -> str:
    """At most ``most`` characters of a text, on one line, around the first occurrence of any of the words."""
    whole = " ".join(text.split())
    if len(whole) <= most:
        return whole
    matches = (re.search(re.escape(word), whole, re.IGNORECASE) for word in words)
    at = min((match.start() for match in matches if match), default=0)
    start = max(0, min(at - most // 3, len(whole) - most))
    start = whole.find(" ", start, at) + 1 or start if start else 0
    end = start + most
    return f"{'…' if start else ''}{whole[start:end].rstrip()}{'…' if end < len(whole) else ''}"


def _count_words(index: Index, words: Sequence[str]) -> dict[str, int]:
    found = [index.count_matches(kind, words, 1) for kind in UnitKind]
    return {word: sum(item.get(word, 0) for item in found) for word in words}


def _is_common(word: str) -> bool:
    """True if a word is a common word, a number word, or in the vocabulary of the local model. Such a word is not corrected."""
    return word in common_words() or word in number_words() or word in known_words()


def _complete_prefix(index: Index, word: str) -> str:
    known = rate_word(word)
    return index.complete_word(word) if len(word) >= _SHORTEST and (known is None or known < _WORD) else ""


def _nearest_word(index: Index, word: str) -> str:
    if not _SHORTEST <= len(word) <= _LONGEST or any(map(str.isdecimal, word)):
        return ""
    near = list(dict.fromkeys(_one_mistake_away(word)))
    counts = {each: count for kind in _LOOKED_IN for each, count in index.count_matches(kind, near, 1_000).items() if count}
    # The index holds stems, so variants with the same stem are counted alike, although few of them are words.
    nearest = max(counts, key=lambda each: (counts[each], rate_word(each) or 0.0), default="")
    return nearest if nearest and _is_mistake(word, nearest) else ""


def _is_mistake(word: str, replacement: str) -> bool:
    """True if a word is so unlikely that it is its replacement, mistyped. Always true without the multilingual model."""
    typed, meant = rate_word(word), rate_word(replacement)
    return typed is None or meant is None or max(meant, _STORED) - typed >= _GAIN


def _one_mistake_away(word: str) -> Iterator[str]:
    letters = "".join(dict.fromkeys(_LETTERS + word))
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if after and at:  # the first letter is usually right
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        if at:
            yield from (before + letter + after for letter in letters)
