"""Correct the spelling of a query: replace words that are in no stored text by similar words that are. Read-only.

This module also cuts excerpts of long texts around the words of a query.
"""

import re
from collections.abc import Iterator, Sequence

from kept.core.text import query_words
from kept.profiles.lexicons import common_words, number_words
from kept.recall.embed import known_words
from kept.recall.index import Index, UnitKind, open_index
from kept.recall.question import telling_words
from kept.workspace import Workspace

_SHORTEST = 4  # minimum length of a word to correct, because a shorter one is similar to too many words
_LONGEST = 24  # maximum length of a word to correct, because each letter adds about fifty variants
_PREFIX = 3  # the last word of a query may be unfinished; it is completed if it has at least this many letters
_MOST_WORDS = 8  # maximum number of words that are checked
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LOOKED_IN = (UnitKind.MEMORY, UnitKind.TURN)  # the kinds in which a replacement must occur


def correct_spelling(workspace: Workspace, query: str) -> str:
    """Replace the misspelled words of a query, each by the most frequent word that differs from it by one mistake.

    A word is misspelled if it is in no stored text and is not a common word. A mistake is an extra, missing or wrong letter, or two
    swapped letters. The last word may also be completed. Returns the query itself if there is nothing to correct. Raises
    StoreError.
    """
    words = [word for word in telling_words(query)[:_MOST_WORDS] if not word.isdecimal()]
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
    return index.complete_word(word) if len(word) >= _PREFIX else ""


def _nearest_word(index: Index, word: str) -> str:
    if not _SHORTEST <= len(word) <= _LONGEST or any(map(str.isdecimal, word)):
        return ""
    near = list(dict.fromkeys(_one_mistake_away(word)))
    counts = {each: count for kind in _LOOKED_IN for each, count in index.count_matches(kind, near, 1_000).items() if count}
    return max(counts, key=lambda each: counts[each], default="")


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
