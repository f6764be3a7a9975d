"""Time words of other languages, with the English words that :mod:`kept.core.dates.when` parses. Also finds times in text without
spaces (Chinese, Japanese, Korean).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kept.core.pattern import compile_late
from kept.core.words import language_tables, plain_words

WORDS: Mapping[str, str] = {
    word: english for table in language_tables("calendar") for english, words in table.items() for word in words.split()
}
# Time words with another meaning in another language (a git tag; German "hier"), each with other words of its own language. Next to
# other words, "tag" means a day only directly after one of these. "hier" means yesterday only if one of them occurs anywhere.
HOMONYMS: Mapping[str, frozenset[str]] = {
    word: frozenset(others.split()) for table in language_tables("homonyms") for word, others in table.items()
}
AGO = plain_words("ago_before")  # words before the number that mean "ago"
_SPANS = sorted(
    {(word, name) for table in language_tables("times") for name, words in table.items() for word in words.split()},
    key=lambda each: (-len(each[0]), each[0]),
)
_UNITS = {
    sign: unit for signs, unit in (("天日일", "day"), ("周週주", "week"), ("月월", "month"), ("年년", "year")) for sign in signs
}
_DIGITS = {
    digit: str(number)
    for number, digits in enumerate(("〇", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for digit in digits
}


class CjkTime(NamedTuple):
    """A time in a text without spaces, at characters ``[start, end)``.

    Either ``span`` or ``date`` is set. ``span`` is a unit and a number: ``week 1`` is last week, ``ago day 3`` is three days ago.
    ``date`` is year, month and day, each 0 if the text does not give it.
    """

    start: int
    end: int
    span: str
    date: tuple[int, int, int] = (0, 0, 0)


_DENSE_DATE = compile_late(r"(?:(20\d\d)\s*[年년]\s*)?(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号號일])?(?!\s*[前전])")
_DENSE_YEAR = compile_late(r"(20\d\d)\s*[年년]")
_DENSE_AGO = compile_late(
    r"(\d{1,3}|[一二两兩三四五六七八九])\s*[个個ヶか개]?\s*([天日일周週주月월年년])[間间]?\s*(?:前|之前|以前|전)"
)


def find_cjk_times(text: str) -> Iterator[CjkTime]:
    """The times in a Chinese, Japanese or Korean text: dates, then years, then the first of each time word. They may overlap."""
    if text.isascii():
        return
    for match in _DENSE_DATE.finditer(text):
        year, month, day = (int(part or 0) for part in match.groups())
        if month:
            yield CjkTime(match.start(), match.end(), "", (year, month, day))
    for match in _DENSE_YEAR.finditer(text):
        yield CjkTime(match.start(), match.end(), "", (int(match[1]), 0, 0))
    for match in _DENSE_AGO.finditer(text):
        yield CjkTime(match.start(), match.end(), f"ago {_UNITS[match[2]]} {_DIGITS.get(match[1], match[1])}")
    for word, name in _SPANS:
        at = text.find(word)
        if at >= 0:
            yield CjkTime(at, at + len(word), name)
