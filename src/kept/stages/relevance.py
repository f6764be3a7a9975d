"""How near a memory is to what was just said, by words alone. Pure; knows neither store nor model.

Nearness asks how telling the shared words are in this person's own texts, and how much of the memory and of the message they make up.
A word that is everywhere says nothing, so a message that shares only such words with a memory is not near it.
"""

from collections.abc import Mapping, Sequence
from math import log

_HEX = frozenset("0123456789abcdef")
_ENDINGS = ("ings", "ing", "ers", "er", "ies", "ed", "es", "en", "s", "e", "y")
_CROWD = 1_000  # texts a store is taken to have at least: in a small one every word is rare
_UNKNOWN = 0.6  # what a word of a memory counts that the message does not share
TELLING = 0.4  # from this weight on a word tells something
FLOOR = 0.3
_THREE = 1.4  # the weight that three shared words must have together
_TWO = 0.95  # and that of two


def tells(word: str) -> bool:
    """Whether a word (of :func:`kept.model.text.index_words`) can tell what a text is about: no number, no piece of an id, no single letter."""
    if not word.isascii():
        return True
    letters = sum(map(str.isalpha, word))
    return len(word) > 2 and letters > 1 and not (letters < len(word) and len(word) > 5 and set(word) <= _HEX)


def stem(word: str) -> str:
    """A word without the commonest endings, so that two forms of one word count once. Not how the index finds them."""
    return next((word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) > 2), word)


def weight(count: int, texts: int) -> float:
    """How telling a word is that ``count`` of ``texts`` texts have: 0 (all of them) to 1 (none), the logarithm of its rarity."""
    crowd = max(texts, _CROWD)
    return max(0.0, log((crowd + 1) / (count + 1)) / log(crowd + 1))


def enough(shared: Sequence[float], named: int) -> bool:
    """Whether shared words with these weights, ``named`` of them names that the text is about, make it near at all."""
    telling = [each for each in shared if each >= TELLING]
    common = sum(telling)
    return (len(telling) >= 3 and common >= _THREE) or (len(telling) == 2 and named > 0 and common >= _TWO)


def nearness(shared: Sequence[float], named: int, own: int, asked: Sequence[float]) -> float:
    """How near a text is to a message: 0, or from the floor (0.3) to 1.

    ``shared`` are the weights of what both name, ``named`` of these are names the text is about (its artifacts), ``own`` is how much
    the text names, ``asked`` are the weights of what the message names. 0 where too little is shared: at least three words, or two of
    which one is a name; everyday words that happen to be rare here come in pairs. Above the floor it grows with the geometric mean of
    the shares of the text and of the message (its eight most telling names) that are common to both.
    """
    if not enough(shared, named):
        return 0.0
    telling = [each for each in shared if each >= TELLING]
    common = sum(telling)
    of_text = common / (common + _UNKNOWN * max(0, own - len(telling)))
    of_message = min(1.0, common / sum(sorted(asked, reverse=True)[:8]))
    return FLOOR + (1.0 - FLOOR) * float((of_text * of_message) ** 0.5)


def weights(counts: Mapping[str, int], texts: int) -> dict[str, float]:
    """The weight of every word."""
    return {word: weight(count, texts) for word, count in counts.items()}
