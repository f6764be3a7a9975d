"""What of a text tells of values: its telling words in order, and how it speaks of a change. The words of all languages are read
side by side. Knows no other statement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from kept.core.pattern import Pattern
from kept.core.statement import (
    ATTRIBUTES,
    COPULAS,
    EMPTY,
    STEM,
    Statement,
    is_denial_word,
    parse_statement,
    stem_word,
)
from kept.core.text import is_cjk
from kept.profiles.lexicons import common_words, join_alternatives, load_telling_patterns, number_words, word_list

_READ = 600  # characters of a text
_VALUE = 3  # words of a value
SHORT = 9  # telling words of a statement that says one thing
_TOKEN = re.compile(r"[$€£]?[^\W_]+(?:[.,:'’/_@-]+[^\W_]+)*%?", re.UNICODE)
_NUMBER = re.compile(r"^[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
_NAMED = re.compile(r"\w[\d_.@-]+\w|\d")  # a word that is the name of something whatever its case
_ELISION = Pattern(r"^\pL{1,2}['’]")
_CLITIC = 2  # letters of what is left of "we've" behind an elision
_BOTH_MONTH_AND_WORD = frozenset(("may", "march", "mars", "mai", "marzo"))
_EDGE = re.compile(r"[,;()\[\]\n。，；、（）]|(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bProf)[.!?](?:\s|$)|\s[—–-]\s")
_CONTRAST = re.compile(r"(?i),\s*(?:and |und |et |y |e )?(?:not|nicht|non|no|não|не)\b")  # what follows is what it was
_ATTRIBUTE = re.compile(rf"(?i)\b(?:{'|'.join(sorted(ATTRIBUTES - {'port'}))}) v?\d\S*\s*$")
_HIRAGANA = re.compile(r"[\u3040-\u309f]")
_COUNTING = frozenset("一二三四五六七八九十")  # numbers of a script without spaces
_HOME = "<home>"


@cache
def _form(*names: str) -> re.Pattern[str]:
    """The forms of all languages under some names."""
    spaced = "|".join(join_alternatives("change", name, spaced=True) for name in names)
    unspaced = "|".join(filter(None, (join_alternatives("change", name, spaced=False) for name in names)))
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])" + (f"|{unspaced}" if unspaced else ""))


@cache
def _words(*names: str) -> frozenset[str]:
    """The words of all languages under some names."""
    return frozenset().union(*(word_list("change", name) for name in names))


@cache
def _dull_words() -> frozenset[str]:
    """Words that say nothing of the matter."""
    return _words("states", "narrow", "toward", "between", "empty", "called", "ours") | EMPTY | common_words()


class Word(NamedTuple):
    """A telling word. ``kind`` says what value it can be; empty for any other."""

    stem: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class ValueStatement:
    """What of a text tells of values: its telling words in order, and how many of them its first clause has.

    ``narrow`` are those that limit it to a place or occasion, ``governed`` those that are all of such a limit. ``turned`` says that
    it speaks of a change, ``loud`` by more than "now", ``ended`` that something is gone, ``once`` that it tells how it was at
    first, ``open_ended`` that it asks, adds or depends, ``is_sentence`` that it has words that only build one. ``is_state`` says
    that it has one value at a time, ``is_attribute`` that it is one of something by its name, ``sole`` that one alone does it,
    ``home`` that it tells where somebody lives, ``moved`` where they moved, which may be no home.
    """

    text: str
    says: Statement
    words: tuple[Word, ...]
    clause: int
    denials: int
    narrow: frozenset[str]
    governed: frozenset[str]
    turned: bool
    loud: bool
    ended: bool
    once: bool
    open_ended: bool
    is_sentence: bool
    is_state: bool
    is_attribute: bool
    sole: bool
    home: bool
    moved: bool

    @cached_property
    def keys(self) -> frozenset[str]:
        """How its words begin: a statement of the same thing shares some of that."""
        return frozenset(word.stem[:STEM] for word in self.words)

    @cached_property
    def starts(self) -> frozenset[str]:
        """How the words begin that may say what it is about."""
        return frozenset(word.stem[:STEM] for word in self.words[:2])

    @property
    def is_short(self) -> bool:
        """Whether it says one thing, which a person can tell apart from another."""
        return len(self.words) <= SHORT

    @property
    def tells_change(self) -> bool:
        """Whether it says in plain form that something is not as it was."""
        return self.turned or self.ended

    @property
    def tells_loudly(self) -> bool:
        """The same, by more than "now"."""
        return self.loud or self.ended


def parse_value_statement(text: str, says: Statement) -> ValueStatement:
    """What a text tells of values; ``says`` is what of it is compared."""
    text = text[:_READ]
    turns = [match[0].casefold() for match in _form("turned").finditer(text, find_lead_end(text))]
    without = " ".join(_form("gone").sub(" ", text).split())  # "I no longer live in" speaks of where somebody lives, too
    moved = _form("moved").search(text) is not None
    home = moved or _form("home").search(without) is not None
    plain = _form("turned").sub(
        lambda each: each[0] if each[0].startswith("(") else " ",
        _form("home").sub(" ", _form("moved").sub(" ", without if home else text)),
    )
    clause, *rest = _EDGE.split(plain.strip(" ,"), maxsplit=1)
    first = _EDGE.split(text, maxsplit=1)[0]
    is_contrast = _CONTRAST.match(text, len(first)) is not None
    words, narrow, governed = _read_words(clause, says.chosen, at=int(home))
    more, narrow_more, _ = _read_words(" ".join(rest), frozenset(), at=1)
    words = [Word(_HOME, "")] * home + words
    said = [word.casefold() for word in _TOKEN.findall(clause)]
    verb = next((place for place, word in enumerate(said) if word in _words("states")), 0)
    return ValueStatement(
        text=text,
        says=says,
        words=(*words, *more),
        clause=len(words),
        denials=parse_statement(first).denials,
        narrow=narrow | narrow_more,
        governed=governed,
        turned=is_contrast or bool(turns),
        loud=is_contrast or any(turn not in _words("present") for turn in turns),
        ended=_form("gone", "instead", "gone_back").search(text) is not None,
        once=_form("once").search(text) is not None,
        is_sentence=not _dull_words().isdisjoint(said) or any(map(is_cjk, clause)),
        open_ended=says.asks or _form("depends", "adds").search(text) is not None,
        is_state=bool(verb) and _form("several").search(" ".join(said[:verb])) is None,
        is_attribute=_ATTRIBUTE.search(clause) is not None
        or (bool(verb) and said[verb] in COPULAS and not ATTRIBUTES.isdisjoint(said[:verb])),
        sole=not _words("sole").isdisjoint(said[:_VALUE]),
        home=home,
        moved=moved,
    )


@lru_cache(maxsize=50_000)
def find_lead_end(text: str) -> int:
    """Where a telling begins behind "from now on": that opens a rule, and tells a change only behind what it is about."""
    return max((lead.end(1) for pattern in _leads() if (lead := pattern.match(text))), default=0)


@cache
def _leads() -> tuple[Pattern, ...]:
    return tuple(Pattern(patterns.from_now_on) for patterns in load_telling_patterns() if patterns.from_now_on)


def _read_words(text: str, chosen: frozenset[str], at: int) -> tuple[list[Word], frozenset[str], frozenset[str]]:
    """The telling words of a clause, behind all others what is chosen and how much there is; those behind a word such as "in"; and
    those between two such words.
    """
    found: list[Word] = []
    values: list[Word] = []
    narrow: set[str] = set()
    governed: set[str] = set()
    raw = _TOKEN.findall(text)
    said = [item.casefold() for item in raw]
    marks, binding = word_list("change", "marks", spaced=False), _words("narrow", "toward")
    for place, (item, word) in enumerate(zip(raw, said, strict=True)):
        kind = _value_kind(item, place + at)
        if is_cjk(item):
            signs = [sign for sign in item if sign not in marks and not _HIRAGANA.match(sign)]
            found += [Word(sign, "name") for sign in signs if sign not in _COUNTING]
            values += [Word(sign, "number") for sign in signs if sign in _COUNTING]
        elif kind not in ("", "name"):
            is_behind = kind == "number" and (values or _is_measure(said[place + 1 :]))
            (values if is_behind else found).append(Word(word, kind))
        elif (
            (bare := _ELISION.sub("", word)) not in _dull_words()
            and not is_denial_word(bare)
            and (bare == word or len(bare) > _CLITIC)
        ):
            stem = stem_word(bare)
            (values if word in chosen else found).append(Word(stem, "name" if word in chosen else kind))
            if not _words("narrow").isdisjoint(said[max(0, place - 2) : place]):
                narrow.add(stem)
            if (
                not binding.isdisjoint(said[max(0, place - 2) : place])
                and said[place + 1 : place + 2]
                and said[place + 1] in binding
            ):
                governed.add(stem)
    return found + values, frozenset(narrow), frozenset(governed)


def _is_measure(behind: Sequence[str]) -> bool:
    """Whether a number tells how much there is of what follows, rather than which of several things is meant."""
    unit = behind[0] if behind else ""
    return bool(unit) and unit not in _words("states") | COPULAS and (unit not in _dull_words() or len(behind) <= _VALUE - 1)


def _value_kind(raw: str, place: int) -> str:
    """What kind of value a word is; empty where it is none."""
    word = raw.casefold()
    if _NUMBER.match(raw) or (word in number_words() and word not in _dull_words()):
        return "number"
    if _DATE.match(raw):
        return "date"
    if word in _words("weekdays"):
        return "weekday"
    if word in _words("months") and (word not in _BOTH_MONTH_AND_WORD or (place and raw[:1].isupper())):
        return "month"
    return "name" if (place and len(raw) > 1 and not raw.islower()) or _NAMED.search(raw) else ""
