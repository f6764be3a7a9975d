"""Split texts into words, and identifiers and paths into their pieces.

A hook reads a few thousand characters. Importing ``re`` and compiling these patterns takes longer than reading them. String methods
therefore split the first characters of a process; they find the same words in twice the time.
"""

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_JOINTS = ".'’/_-"  # a single one joins two words to a compound, a path or an identifier
_SPACES = dict.fromkeys(map(ord, _JOINTS), " ")
_ASCII_GAPS = "".join(char if char.isalnum() or char in _JOINTS else " " for char in map(chr, range(128))).encode().ljust(256)
_CACHED = 20_000  # characters whose replacement is stored


class _Gaps(dict[int, str | int]):
    """Maps every character that is neither a letter, a digit nor a joint to a space."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        found = code if char.isalnum() or char in _JOINTS else " "
        if len(self) < _CACHED:
            self[code] = found
        return found


class _Allowance:
    """The number of characters that may still be split without patterns."""

    left = 60_000


_GAPS = _Gaps()


def find_words(text: str) -> list[str]:
    """The words of a text. Compounds and paths are one word."""
    if _Allowance.left > 0:
        _Allowance.left -= len(text)
        return _find_words_plainly(text)
    return _word_pattern().findall(text)


def find_pieces(word: str) -> list[str]:
    """The pieces of a word of :func:`find_words`: the parts of camelCase names, runs of digits, and runs of letters."""
    if _Allowance.left > 0:
        return _find_pieces_plainly(word)
    return [piece for part in _hump_pattern().split(word) for piece in _piece_pattern().findall(part)]


@cache
def _word_pattern() -> "re.Pattern[str]":
    import re  # noqa: PLC0415 - see above

    return re.compile(r"[^\W_]+(?:[.'’/_-][^\W_]+)*", re.UNICODE)


@cache
def _piece_pattern() -> "re.Pattern[str]":
    """A pattern for runs of letters without digits, and for runs of digits."""
    import re  # noqa: PLC0415 - see above

    return re.compile(r"[^\W\d_]+|\d+", re.UNICODE)


@cache
def _hump_pattern() -> "re.Pattern[str]":
    """A pattern for the places between the words of a camelCase name."""
    import re  # noqa: PLC0415 - see above

    return re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _find_words_plainly(text: str) -> list[str]:
    spaced = text.encode().translate(_ASCII_GAPS).decode() if text.isascii() else text.translate(_GAPS)
    words: list[str] = []
    for run in spaced.split():
        bare = run if run.isalnum() else run.strip(_JOINTS)
        if bare.isalnum():
            words.append(bare)
        else:
            words += _split_at_double_joints(bare)
    return words


def _split_at_double_joints(run: str) -> list[str]:
    words: list[str] = []
    start = end = 0
    for part in run.translate(_SPACES).split(" "):
        if not part and start < end:
            words.append(run[start : end - 1])
        start, end = (start if part else end + 1), end + len(part) + 1
    return [*words, run[start : end - 1]] if start < end else words


def _find_pieces_plainly(word: str) -> list[str]:
    pieces: list[str] = []
    for part in word.translate(_SPACES).split():
        start = 0
        for place in range(1, 0 if part.isdecimal() or (part.isalpha() and part[1:].islower()) else len(part)):
            if _is_boundary(part[place - 1], part[place], part[place + 1 : place + 2]):
                pieces.append(part[start:place])
                start = place
        pieces.append(part[start:])
    return pieces


def _is_boundary(before: str, char: str, after: str) -> bool:
    """True if a new piece begins with ``char``: at a capital within a word, or between a digit and another character."""
    if before.isdecimal() != char.isdecimal():
        return True
    return "A" <= char <= "Z" and ("a" <= before <= "z" or ("A" <= before <= "Z" and "a" <= after <= "z"))
