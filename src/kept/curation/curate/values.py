"""Parse texts as statements about the values of things. The word lists of all languages apply at once."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from kept.core.pattern import Pattern, compile_late
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
from kept.core.value import dataclass
from kept.curation.curate.endings import find_left, find_taken
from kept.profiles.lexicons import common_words, join_alternatives, load_telling_patterns, number_words, word_list

Meaning = Callable[[Sequence[tuple[str, str]]], Sequence[float | None] | None]
"""Returns the semantic similarity of each pair of texts: at most 1, None if unknown. Returns None if it cannot compute any."""

_TEXT_CHARS = 600  # read at most this many characters of a text
MOST_VALUE_WORDS = 3  # a value has at most this many words
SHORT = 9  # a statement with at most this many content words says only one thing
_TOKEN = compile_late(r"[$€£]?[^\W_]+(?:[.,:'’/_@-]+[^\W_]+)*%?", re.UNICODE)
_NUMBER = compile_late(r"^[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?$")
_NAMED = compile_late(r"\w[\d_.@-]+\w|\d")  # a word that is a name whether it is capitalized or not
_ELISION = Pattern(r"^\pL{1,2}['’]")
_CLITIC = 2  # a word of which at most this many letters remain without its elision ("we" of "we've") has no content
_BOTH_MONTH_AND_WORD = frozenset({"may", "march", "mars", "mai", "marzo"})
_EDGE = compile_late(r"[,;()\[\]\n。，；、（）]|(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bProf)[.!?](?:\s|$)|\s[—–-]\s")
_CONTRAST = compile_late(r"(?i),\s*(?:and |und |et |y |e )?(?:not|nicht|non|no|não|не)\b")  # the old value follows these words
_ATTRIBUTE = compile_late(rf"(?i)\b(?:{'|'.join(sorted(ATTRIBUTES - {'port'}))}) v?\d\S*\s*$")
_HIRAGANA = compile_late(r"[\u3040-\u309f]")
_COUNTING = frozenset("一二三四五六七八九十")  # numbers of a script without spaces
_HOME = "<home>"
_INDEXED_WORDS = 12  # a statement is indexed by at most its first 12 distinct words
COMPARED = 20  # a statement is compared with the 20 nearest in time that share two given words
CROWD = 60  # a statement is compared with the 60 nearest in time that share one given word


@cache
def _form(*names: str) -> re.Pattern[str]:
    """A pattern that matches the expressions of these lists of the table ``change`` in all languages."""
    spaced, unspaced = (join_alternatives("change", *names, spaced=apart) for apart in (True, False))
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])" + (f"|{unspaced}" if unspaced else ""))


@cache
def _words(*names: str) -> frozenset[str]:
    """The words in these lists of the table ``change`` in all languages."""
    return frozenset().union(*(word_list("change", name) for name in names))


@cache
def _dull_words() -> frozenset[str]:
    """The words of all languages that have no content of their own."""
    return _words("states", "narrow", "toward", "between", "empty", "called", "ours") | EMPTY | common_words()


class Word(NamedTuple):
    """A content word. ``kind`` is "number", "date" or "name" if the word can be such a value, and empty otherwise."""

    stem: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class ValueStatement:
    """A text parsed as a statement about values. The first ``clause`` of its content ``words`` are in the first clause.

    ``narrow`` has the words that limit it to a place or occasion, ``governed`` those that are such a limit by themselves.
    ``tells_change`` means that something is no longer as it was, and ``tells_loudly`` that it says so with more than "now".
    ``ended`` means that something is gone. ``once`` means that it describes how something was at first. ``open_ended`` means that
    it asks, adds or depends on something. ``is_sentence`` means that it has function words. ``is_state`` means that the thing has
    one value at a time, ``is_attribute`` that a named attribute has the value, and ``is_placed`` that a word such as "on" binds the
    value to the verb. ``sole`` means that only one person or thing does it, ``named`` that its first word (behind "now" or
    a letter) may be a name. ``home`` means that it says where somebody lives, and ``moved`` where somebody moved, which may not be
    a home.
    """

    text: str
    says: Statement
    words: tuple[Word, ...]
    clause: int
    denials: int
    narrow: frozenset[str]
    governed: frozenset[str]
    tells_change: bool
    tells_loudly: bool
    ended: bool
    once: bool
    open_ended: bool
    is_sentence: bool
    is_state: bool
    is_attribute: bool
    is_placed: bool
    sole: bool
    named: bool
    home: bool
    moved: bool

    @cached_property
    def keys(self) -> frozenset[str]:
        """The first letters of each word. Statements about the same thing share some of these keys."""
        return frozenset(word.stem[:STEM] for word in self.words)

    @cached_property
    def starts(self) -> frozenset[str]:
        """The keys of the first two words, which may say what the statement is about."""
        return frozenset(word.stem[:STEM] for word in self.words[:2])

    @cached_property
    def filed_keys(self) -> tuple[str, ...]:
        """The keys that the statement is indexed by; any two of them find it. Empty for a question, because it gives no value."""
        return () if self.says.asks else tuple(dict.fromkeys(word.stem[:STEM] for word in self.words))[:_INDEXED_WORDS]

    @cached_property
    def opening_keys(self) -> frozenset[str]:
        """The keys of which a single one is enough to find the statement."""
        alone = len(self.words) <= MOST_VALUE_WORDS or self.once or self.home
        return frozenset(self.filed_keys if alone else self.starts.intersection(self.filed_keys))

    @cached_property
    def may_begin_otherwise(self) -> bool:
        """True if a statement with a different opening may be about the same thing."""
        return bool(self.once or self.home or self.sole or self.says.chosen or self.left_names)

    @cached_property
    def left_names(self) -> frozenset[str]:
        """The names of options that the statement abandons, which may end an earlier decision for one of them."""
        return find_left(self.text).names

    @cached_property
    def taken_names(self) -> frozenset[str]:
        """The names of options that the statement decides for."""
        return find_taken(self.text).names

    @cached_property
    def forms(self) -> Mapping[str, frozenset[str]]:
        """The stems of its words, by key."""
        return {key: frozenset(word.stem for word in self.words if word.stem[:STEM] == key) for key in self.keys}

    @cached_property
    def is_short(self) -> bool:
        """True if it is short enough to say only one thing, so that a person can compare it with another."""
        return len(self.words) <= SHORT


def parse_value_statement(text: str, says: Statement) -> ValueStatement:
    """Parse a text as a statement about values. ``says`` is the same text as :func:`parse_statement` returns it."""
    text = text[:_TEXT_CHARS]
    ended = _form("gone", "instead", "gone_back").search(text) is not None
    turned = _form("turned").search(text) is not None
    turns = [match[0].casefold() for match in _form("turned").finditer(text, find_lead_end(text))] if turned else []
    moved = _form("moved").search(text) is not None
    home = moved or _form("home").search(text) is not None
    plain = _form("home").sub(" ", _form("moved").sub(" ", text)) if home else text
    if ended:  # "en lugar de" names no place
        plain = _form("instead").sub(" ", plain)
    if turned:
        plain = _form("turned").sub(lambda each: each[0] if each[0].startswith("(") else " ", plain)
    clause, *rest = _EDGE.split(plain.strip(" ,"), maxsplit=1)
    first = _EDGE.split(text, maxsplit=1)[0]
    is_contrast = _CONTRAST.match(text, len(first)) is not None
    words, narrow, governed = _read_words(clause, says.chosen, at=int(home))
    more, narrow_more, _ = _read_words(rest[0], frozenset(), at=1) if rest else ([], frozenset[str](), None)
    words = [Word(_HOME, "")] * home + words
    tokens = [word.casefold() for word in _TOKEN.findall(clause)]
    verb = next((place for place, word in enumerate(tokens) if word in _words("states")), 0)
    opening = next((word for word in _TOKEN.findall(clause) if len(word) > 1 and word.casefold() not in _words("present")), "")
    binding = tuple(takewhile(_dull_words().__contains__, tokens[verb + 1 :])) if verb else ()
    return ValueStatement(
        text=text,
        says=says,
        words=(*words, *more),
        clause=len(words),
        denials=says.denials and parse_statement(first).denials,
        narrow=narrow | narrow_more,
        governed=governed,
        tells_change=is_contrast or ended or bool(turns),
        tells_loudly=is_contrast or ended or any(turn not in _words("present") for turn in turns),
        ended=ended,
        once=_form("once").search(text) is not None,
        is_sentence=not _dull_words().isdisjoint(tokens) or any(map(is_cjk, clause)),
        open_ended=says.asks or _form("depends", "adds").search(text) is not None,
        is_state=bool(verb) and _form("several").search(" ".join(tokens[:verb])) is None,
        is_attribute=_ATTRIBUTE.search(clause) is not None
        or (bool(verb) and tokens[verb] in COPULAS and not ATTRIBUTES.isdisjoint(tokens[:verb])),
        is_placed=not _words("narrow").isdisjoint(binding),
        sole=not _words("sole").isdisjoint(tokens[:MOST_VALUE_WORDS]),
        named=bool(opening) and opening[:1].isupper() and opening.casefold() not in _dull_words(),
        home=home,
        moved=moved,
    )


@lru_cache(maxsize=50_000)
def find_lead_end(text: str) -> int:
    """The end of a leading "from now on" in a text, or 0 if there is none.

    At the start of a sentence these words introduce a rule. Later in a sentence they indicate a change.
    """
    return max((lead.end(1) for pattern in _leads() if (lead := pattern.match(text))), default=0)


@cache
def _leads() -> tuple[Pattern, ...]:
    return tuple(Pattern(patterns.from_now_on) for patterns in load_telling_patterns() if patterns.from_now_on)


def _read_words(text: str, chosen: frozenset[str], at: int) -> tuple[list[Word], frozenset[str], frozenset[str]]:
    """Three results: the content words of a clause, the words after a limiting word such as "in", and those between two such words.

    Chosen words and quantities are moved to the end of the content words.
    """
    found: list[Word] = []
    values: list[Word] = []
    narrow: set[str] = set()
    governed: set[str] = set()
    raw = _TOKEN.findall(text)
    folded = [item.casefold() for item in raw]
    marks, binding = word_list("change", "marks", spaced=False), _words("narrow", "toward")
    for place, (item, word) in enumerate(zip(raw, folded, strict=True)):
        kind = _value_kind(item, place + at)
        if is_cjk(item):
            signs = [sign for sign in item if sign not in marks and not _HIRAGANA.match(sign)]
            found += [Word(sign, "name") for sign in signs if sign not in _COUNTING]
            values += [Word(sign, "number") for sign in signs if sign in _COUNTING]
        elif kind not in ("", "name"):
            is_behind = kind == "number" and (values or _is_measure(folded[place + 1 :]))
            (values if is_behind else found).append(Word(word, kind))
        elif (
            (bare := _ELISION.sub("", word)) not in _dull_words()
            and not is_denial_word(bare)
            and (bare == word or len(bare) > _CLITIC)
        ):
            stem = stem_word(bare)
            (values if word in chosen else found).append(Word(stem, "name" if word in chosen else kind))
            before = folded[max(0, place - 2) : place]
            if not _words("narrow").isdisjoint(before):
                narrow.add(stem)
            if not binding.isdisjoint(before) and not binding.isdisjoint(folded[place + 1 : place + 2]):
                governed.add(stem)
    return found + values, frozenset(narrow), frozenset(governed)


def _is_measure(behind: Sequence[str]) -> bool:
    """True if a number counts the words ``behind`` it ("3 replicas") and does not name one of several things ("part 3")."""
    unit = behind[0] if behind else ""
    return bool(unit) and unit not in _words("states") | COPULAS and (unit not in _dull_words() or len(behind) < MOST_VALUE_WORDS)


def _value_kind(raw: str, place: int) -> str:
    """The kind of value that a word is ("number", "date" or "name"); empty if the word is not a value."""
    word = raw.casefold()
    if _NUMBER.match(raw) or (word in number_words() and word not in _dull_words()):
        return "number"
    if word in _words("weekdays", "months") and (word not in _BOTH_MONTH_AND_WORD or (place and raw[:1].isupper())):
        return "date"
    named = (place and len(raw) > 1 and not raw.islower()) or _NAMED.search(raw) or word in _words("languages")
    return "name" if named else ""
