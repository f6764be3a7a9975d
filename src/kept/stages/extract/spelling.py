"""Slips of typing in a person's sentence, mended by the words of the conversation around it.

Only two kinds of slip that cannot make another word by accident: two letters swapped, a doubled letter missing or too many. A word
that the conversation knows is never touched, nor is anything that looks like a name or stands in code.
"""

from collections.abc import Callable, Iterable, Iterator

import re2

_WORD = re2.compile(r"\pL[\pL']*\pL")
_LEAST = 5
_JOINTS = "`/_.-@\\#:=$<>"


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts that are taken to be spelt right, in small letters."""
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(text) if len(word) >= _LEAST)


def respell(text: str, known: Callable[[str], bool]) -> str:
    """The text with every slip mended whose only mended form is a known word (asked in small letters)."""
    pieces, at = [], 0
    code = False
    for match in _WORD.finditer(text):
        word, low, high = match[0], match.start(), match.end()
        code ^= text.count("`", at, low) % 2 == 1
        beside = text[max(0, low - 1) : low] + text[high : high + 1]
        pieces.append(text[at:low])
        named = any(char.isupper() for char in word[1:]) or any(char in _JOINTS and not _ends(text, high, char) for char in beside)
        pieces.append(word if code or named else _mended(word, known))
        at = high
    return "".join(pieces) + text[at:]


def _ends(text: str, high: int, char: str) -> bool:
    """Whether a mark after a word ends a clause rather than joining the word to another one."""
    return char in ".:-" and text[high : high + 1] == char and text[high + 1 : high + 2] in ("", " ")


def _mended(word: str, known: Callable[[str], bool]) -> str:
    small = word.casefold()
    if len(small) < _LEAST or known(small):
        return word
    found = {other for other in _neighbours(small) if known(other)}
    if len(found) != 1:
        return word
    right = found.pop()
    return right.capitalize() if word[0].isupper() else right


def _neighbours(word: str) -> Iterator[str]:
    """The words of which a word can be a slip."""
    for place in range(len(word) - 1):
        if word[place] != word[place + 1]:
            yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        else:
            yield word[:place] + word[place + 1 :]
    for place in range(len(word)):
        if word[place - 1 : place] != word[place]:
            yield word[:place] + word[place] + word[place:]
