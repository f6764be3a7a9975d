"""Text to the pieces of words that BERT models read, by the standard library alone. Knows a vocabulary, no model.

After Devlin et al. 2019 and the reference tokenizer: clean, set CJK characters apart, strip accents, lower the case, split at
punctuation, then take the longest known piece again and again.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

_LONGEST_WORD = 100  # characters; a longer word is unknown, as the reference has it
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A tokenizer over a vocabulary: piece → number."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._frame = (vocabulary["[CLS]"], vocabulary["[SEP]"])

    def tokenize(self, text: str, most: int) -> list[int]:
        """The numbers of a text's pieces, framed as a sentence; at most so many, the frame among them."""
        found: list[int] = []
        for word in _split_words(
            text[: most * 40]
        ):  # no piece of a word that counts lies beyond: longer words are one unknown piece
            found += self._split_pieces(word)
            if len(found) >= most - 2:
                break
        start, end = self._frame
        return [start, *found[: most - 2], end]

    def _split_pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return [self._unknown]
        return found


def _split_words(text: str) -> Iterator[str]:
    cleaned = "".join(map(_clean_char, text))
    plain = "".join(char for char in unicodedata.normalize("NFD", cleaned) if unicodedata.category(char) != "Mn").lower()
    for word in plain.split():
        part = ""
        for char in word:
            if _is_punctuation(char):
                if part:
                    yield part
                yield char
                part = ""
            else:
                part += char
        if part:
            yield part


@lru_cache(maxsize=10_000)
def _clean_char(char: str) -> str:
    if char in "\t\n\r":
        return " "
    code = ord(char)
    if code in (0, 0xFFFD) or unicodedata.category(char)[0] == "C":
        return ""
    if any(low <= code <= high for low, high in _CJK):
        return f" {char} "
    return " " if char.isspace() else char


@lru_cache(maxsize=10_000)
def _is_punctuation(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return not char.isalnum() and 33 <= code <= 126
    return unicodedata.category(char)[0] == "P"
