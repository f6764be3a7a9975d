"""What a person types, with its mistakes: words that nothing has are replaced by what they most likely mean. Read-only.

Also the stretch of a long text in which the words stand.
"""

import re
from collections.abc import Iterator, Sequence

from kept.core.text import query_words
from kept.profiles.lexicons import common_words, number_words
from kept.recall.embed import known_words
from kept.recall.index import Index, UnitKind, open_index
from kept.recall.question import telling_words
from kept.recall.search import SearchContext

_SHORTEST = 4  # letters of a word that may be mistyped: shorter ones are each near to many
_LONGEST = 24  # of one that is looked at: a longer one is a token or a path, and each letter of it makes fifty others
_PREFIX = 3  # letters from which on the last word may be one that is still being typed
_MOST_WORDS = 8  # words of a question that are looked at
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LOOKED_IN = (UnitKind.MEMORY, UnitKind.TURN)  # what a word is replaced by is said there


def correct_spelling(workspace: SearchContext, query: str) -> str:
    """The query with each word that is found nowhere, and is no common word, replaced by the commonest word one mistake away (a
    letter more, less, other, or two swapped), the last one also by a word that begins so. The query itself where there is nothing
    to correct. Raises StoreError.
    """
    words = [word for word in telling_words(query)[:_MOST_WORDS] if not word.isdecimal()]
    with open_index(workspace.paths.store) as index:
        known = _count_words(index, words)
        last = (query_words(query) or ("",))[-1]
        changed = {
            word: meant
            for word in words
            if not (known[word] or _is_common(word))
            and (meant := (_complete_prefix(index, word) if word == last else "") or _nearest_word(index, word))
        }
    if not changed:
        return query
    return " ".join(changed.get(part.lower().strip(".,;:!?()\"'"), part) for part in query.split())


def excerpt(text: str, words: Sequence[str], most: int) -> str:
    """At most so many characters of a text on one line, around the first of the words that stands in it."""
    whole = " ".join(text.split())
    if len(whole) <= most:
        return whole
    found = (re.search(re.escape(word), whole, re.IGNORECASE) for word in words)
    at = min((search_match.start() for search_match in found if search_match), default=0)
    start = max(0, min(at - most // 3, len(whole) - most))
    start = whole.find(" ", start, at) + 1 or start if start else 0
    end = start + most
    return f"{'…' if start else ''}{whole[start:end].rstrip()}{'…' if end < len(whole) else ''}"


def _count_words(index: Index, words: Sequence[str]) -> dict[str, int]:
    found = [index.count_matches(kind, words, 1) for kind in UnitKind]
    return {word: sum(item.get(word, 0) for item in found) for word in words}


def _is_common(word: str) -> bool:
    """Whether a word is spelled as a dictionary has it, though nothing says it here."""
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
        if after and at:  # the first letter is mostly right
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        if at:
            yield from (before + letter + after for letter in letters)
