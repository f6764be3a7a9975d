"""Decides whether a later statement gives the same thing another value and so replaces an earlier statement.

The content words of the two statements are aligned: the words they share are the frame, the rest of each is its slot. They are
about the same thing if the frame contains the opening of one of them and neither names another thing inside the frame ("staging
runs on 8443", "production runs on 443"). For the same thing, another value of the same kind, or a word of change, replaces the
earlier value. A different value alone may replace it; a person decides then. The word lists of all languages apply at once. Knows
no memories.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from kept.core.pattern import Pattern, compile_late
from kept.core.statement import (
    ATTRIBUTES,
    COPULAS,
    EMPTY,
    STEM,
    VERSIONED,
    Statement,
    find_content,
    has_opposites,
    is_choice_reversed,
    is_denial_word,
    is_form,
    parse_statement,
    stem_word,
)
from kept.core.text import is_cjk
from kept.core.value import dataclass
from kept.curation.curate.endings import ends_choice, find_left, find_taken, strip_reasons
from kept.profiles.lexicons import common_words, join_alternatives, load_telling_patterns, number_words, word_list

Meaning = Callable[[Sequence[tuple[str, str]]], Sequence[float | None] | None]
"""Returns the semantic similarity of each pair of texts, at most 1 (None: unknown); None if no similarity can be computed."""

_TEXT_CHARS = 600  # read at most this many characters of a text
_VALUE = 3  # a value has at most this many words
SHORT = 9  # a statement with at most this many content words says one thing
_TOKEN = compile_late(r"[$€£]?[^\W_]+(?:[.,:'’/_@-]+[^\W_]+)*%?", re.UNICODE)
_NUMBER = compile_late(r"^[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?$")
_NAMED = compile_late(r"\w[\d_.@-]+\w|\d")  # a word that is a name in any case
_ELISION = Pattern(r"^\pL{1,2}['’]")
_CLITIC = 2  # at most this many letters remain of "we've" after the elision is removed
_BOTH_MONTH_AND_WORD = frozenset({"may", "march", "mars", "mai", "marzo"})
_EDGE = compile_late(r"[,;()\[\]\n。，；、（）]|(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bProf)[.!?](?:\s|$)|\s[—–-]\s")
_CONTRAST = compile_late(r"(?i),\s*(?:and |und |et |y |e )?(?:not|nicht|non|no|não|не)\b")  # the old value follows
_ATTRIBUTE = compile_late(rf"(?i)\b(?:{'|'.join(sorted(ATTRIBUTES - {'port'}))}) v?\d\S*\s*$")
_HIRAGANA = compile_late(r"[\u3040-\u309f]")
_COUNTING = frozenset("一二三四五六七八九十")  # numbers of a script without spaces
_HOME = "<home>"
# Two statements about the same thing share at least this share of their words: the first value usually applies, the second if a
# statement describes a change.
_HALF, _THIRD = 0.45, 0.3
_HOME_ONLY = 2  # a clause with at most this many words says only where somebody lives
NEAR_ENOUGH = 0.5  # least semantic similarity, where the form of the statements alone does not decide
_INDEXED_WORDS = 12  # a statement is indexed by at most this many of its words, the first ones
COMPARED = 20  # compare with at most this many statements that share two words, the nearest in time
CROWD = 60  # compare with at most this many statements that share one word, the nearest in time


@cache
def _form(*names: str) -> re.Pattern[str]:
    """A pattern of the forms under these names in all languages."""
    spaced = "|".join(join_alternatives("change", name, spaced=True) for name in names)
    unspaced = "|".join(filter(None, (join_alternatives("change", name, spaced=False) for name in names)))
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])" + (f"|{unspaced}" if unspaced else ""))


@cache
def _words(*names: str) -> frozenset[str]:
    """The words under these names in all languages."""
    return frozenset().union(*(word_list("change", name) for name in names))


@cache
def _dull_words() -> frozenset[str]:
    """The words without content of all languages."""
    return _words("states", "narrow", "toward", "between", "empty", "called", "ours") | EMPTY | common_words()


class Word(NamedTuple):
    """A content word. ``kind`` is the kind of value it can be: number, date or name; empty if it is not a value."""

    stem: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class ValueStatement:
    """A text parsed as a statement about values: its content words in order, of which the first ``clause`` are in the first clause.

    ``narrow`` are words that limit it to a place or occasion, ``governed`` those that form such a limit alone. The flags mean:
    ``tells_change``: something is no longer as it was; ``tells_loudly``: it says so with more than "now"; ``ended``: something is
    gone; ``once``: it says how something was at first; ``open_ended``: it asks, adds or depends; ``is_sentence``: it has function
    words, as sentences do; ``is_state``: the thing has one value at a time; ``is_attribute``: it gives the value of a named
    attribute; ``sole``: only one person or thing does it; ``home``: it says where somebody lives; ``moved``: it says where
    somebody moved, which need not be a home.
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
    sole: bool
    home: bool
    moved: bool

    @cached_property
    def keys(self) -> frozenset[str]:
        """The first letters of each word; statements about the same thing share some of these keys."""
        return frozenset(word.stem[:STEM] for word in self.words)

    @cached_property
    def starts(self) -> frozenset[str]:
        """The keys of the first two words, which may say what the statement is about."""
        return frozenset(word.stem[:STEM] for word in self.words[:2])

    @cached_property
    def filed_keys(self) -> tuple[str, ...]:
        """The first keys of the statement; any two of them find it. Empty for a question, because it gives no value."""
        return () if self.says.asks else tuple(dict.fromkeys(word.stem[:STEM] for word in self.words))[:_INDEXED_WORDS]

    @cached_property
    def opening_keys(self) -> frozenset[str]:
        """The keys each of which alone finds the statement."""
        alone = len(self.words) <= _VALUE or self.once or self.home
        return frozenset(self.filed_keys if alone else self.starts.intersection(self.filed_keys))

    @cached_property
    def may_begin_otherwise(self) -> bool:
        """True if it may be about the same as a statement with a different opening."""
        return bool(self.once or self.home or self.sole or self.says.chosen or self.left_names)

    @cached_property
    def left_names(self) -> frozenset[str]:
        """The names that the statement abandons; an earlier decision for one of them may end."""
        return find_left(self.text).names

    @cached_property
    def taken_names(self) -> frozenset[str]:
        """The names that it decides for."""
        return find_taken(self.text).names

    @cached_property
    def forms(self) -> Mapping[str, frozenset[str]]:
        """The words by key."""
        return {key: frozenset(word.stem for word in self.words if word.stem[:STEM] == key) for key in self.keys}

    @cached_property
    def is_short(self) -> bool:
        """True if it is short enough to say only one thing, so that a person can compare it with another."""
        return len(self.words) <= SHORT


def parse_value_statement(text: str, says: Statement) -> ValueStatement:
    """Parse a text as a statement about values; ``says`` is its parsed statement."""
    text = text[:_TEXT_CHARS]
    ended = _form("gone", "instead", "gone_back").search(text) is not None
    turned = _form("turned").search(text) is not None
    turns = [match[0].casefold() for match in _form("turned").finditer(text, find_lead_end(text))] if turned else []
    moved = _form("moved").search(text) is not None
    home = moved or _form("home").search(text) is not None
    plain = _form("home").sub(" ", _form("moved").sub(" ", text)) if home else text
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
        sole=not _words("sole").isdisjoint(tokens[:_VALUE]),
        home=home,
        moved=moved,
    )


@lru_cache(maxsize=50_000)
def find_lead_end(text: str) -> int:
    """The end of a leading "from now on", or 0. At the start of a sentence it introduces a rule; only later in a sentence does it
    indicate a change.
    """
    return max((lead.end(1) for pattern in _leads() if (lead := pattern.match(text))), default=0)


@cache
def _leads() -> tuple[Pattern, ...]:
    return tuple(Pattern(patterns.from_now_on) for patterns in load_telling_patterns() if patterns.from_now_on)


def _read_words(text: str, chosen: frozenset[str], at: int) -> tuple[list[Word], frozenset[str], frozenset[str]]:
    """The content words of a clause, with chosen words and quantities moved to the end; the words after a limiting word such as
    "in"; and those between two such words.
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
    """True if a number counts what follows ("3 replicas"), rather than naming one of several things ("part 3")."""
    unit = behind[0] if behind else ""
    return bool(unit) and unit not in _words("states") | COPULAS and (unit not in _dull_words() or len(behind) <= _VALUE - 1)


def _value_kind(raw: str, place: int) -> str:
    """The kind of value that a word is; empty if it is none."""
    word = raw.casefold()
    if _NUMBER.match(raw) or (word in number_words() and word not in _dull_words()):
        return "number"
    if word in _words("weekdays", "months") and (word not in _BOTH_MONTH_AND_WORD or (place and raw[:1].isupper())):
        return "date"
    named = (place and len(raw) > 1 and not raw.islower()) or _NAMED.search(raw) or word in _words("languages")
    return "name" if named else ""


class Relation(Enum):
    """The relation of a later statement to an earlier one: it is compatible with it, replaces it, replaces it if both are similar
    in meaning, or may replace it if they are, which a person decides.
    """

    APART = "apart"
    REPLACES = "replaces"
    REPLACES_IF_NEAR = "replaces if near"
    MAY_REPLACE = "may replace"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """Two aligned statements. ``shared`` and ``own`` are the shares of the earlier and the later one's words that the other has.

    ``old`` and ``new`` are the words that only one of them has; ``old_value`` and ``new_value`` those after the last shared word of
    the first clause, ``new_first`` all of the later one's first clause. ``alone`` means that the first clauses differ only in these
    values; ``opens`` that one begins with a word of the other; ``crossed`` that each names another thing at the same place.
    """

    shared: float
    own: float
    old: tuple[Word, ...]
    new: tuple[Word, ...]
    old_value: tuple[Word, ...]
    new_value: tuple[Word, ...]
    new_first: tuple[Word, ...]
    alone: bool
    opens: bool
    crossed: bool


def _align(earlier: ValueStatement, later: ValueStatement) -> _Frame:
    in_later, in_earlier = _find_shared(earlier.words, later.forms), _find_shared(later.words, earlier.forms)
    old_places, old_value, old_first = _find_slots(earlier, in_later)
    new_places, new_value, new_first = _find_slots(later, in_earlier)
    ends = {len(in_later), earlier.clause if earlier.clause > 1 and earlier.is_short else len(in_later)}
    first = 2 if later.tells_loudly else 1  # a change may come before the shared words: "we put", "I started"
    return _Frame(
        shared=max(sum(in_later[:end]) / end for end in ends),
        own=sum(in_earlier) / len(in_earlier),
        old=tuple(word for word, is_shared in zip(earlier.words, in_later, strict=True) if not is_shared),
        new=tuple(word for word, is_shared in zip(later.words, in_earlier, strict=True) if not is_shared),
        old_value=old_value,
        new_value=new_value,
        new_first=new_first,
        alone=bool(old_value and new_value) and old_first == old_value and new_first == new_value,
        opens=any((*in_later[:first], *in_earlier[:first])),
        crossed=not old_places.isdisjoint(new_places),
    )


def _find_shared(words: Sequence[Word], forms: Mapping[str, frozenset[str]]) -> list[bool]:
    """For each word, True if it is among others in any form."""
    having = ((word.stem, forms.get(word.stem[:STEM], ())) for word in words)
    return [stem in others or any(is_form(stem, other) for other in others) for stem, others in having]


def _find_slots(
    statement: ValueStatement, shared: Sequence[bool]
) -> tuple[set[tuple[str, str]], tuple[Word, ...], tuple[Word, ...]]:
    """For the first clause: the gaps between shared words that name a thing, the words after the last shared word, and all words
    that are not shared.
    """
    places, before, value, others = set[tuple[str, str]](), "", list[Word](), list[Word]()
    for word, is_shared in zip(statement.words[: statement.clause], shared, strict=False):
        if not is_shared:
            value.append(word)
            others.append(word)
            continue
        if any(each.stem not in statement.governed for each in value):
            places.add((before, word.stem[:STEM]))
        before, value = word.stem[:STEM], []
    return places, tuple(value), tuple(others)


def find_relation(earlier: ValueStatement, later: ValueStatement) -> Relation:
    """The relation of a later statement to an earlier one."""
    found = _relate(earlier, later)
    return Relation.MAY_REPLACE if found is Relation.APART and _ends(earlier, later) else found


def _ends(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if the later statement abandons the option that the earlier one chose. False if the later one is limited to something
    that the earlier one does not name ("in the tests use SQLite, never Postgres").
    """
    if later.left_names.isdisjoint(earlier.taken_names) or not ends_choice(earlier.text, later.text):
        return False
    said = find_content(strip_reasons(later.text))
    limits = [word for word in later.words if word.stem in later.narrow & said and not word.kind]
    return all(_find_shared(limits, earlier.forms))


def _relate(earlier: ValueStatement, later: ValueStatement) -> Relation:
    frame = _align(earlier, later)
    if is_choice_reversed(later.says, earlier.says):
        return Relation.REPLACES
    if earlier.once:  # it says itself that it describes how things were at first
        return Relation.REPLACES if frame.shared >= _HALF and len(earlier.words) - len(frame.old) > _VALUE else Relation.APART
    if not frame.opens or frame.crossed:
        return _relate_different_things(earlier, later, frame)
    if earlier.home and later.home:
        return _relate_homes(earlier, later, frame)
    tells = later.tells_loudly
    if frame.shared >= 1 and not frame.new_first and len(earlier.words) > 1 and (earlier.denials > 0) != (later.denials > 0):
        return Relation.REPLACES  # one affirms what the other denies
    if not tells and VERSIONED & {word.stem for word in (*earlier.words, *later.words)}:
        return Relation.APART  # statements about different versions do not replace each other
    if _is_another_value(earlier, later, frame):
        return Relation.REPLACES
    return _relate_told_change(earlier, later, frame) if tells else _relate_silent(earlier, later, frame)


def _relate_different_things(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation of statements that name different things: somebody else alone does something now, a word may be its opposite, or
    a change is announced.
    """
    after, before = later.says.words, earlier.says.words
    if len(frame.old) == 1 == len(frame.new):
        if later.sole and later.tells_change and not frame.opens:
            return Relation.REPLACES
        if has_opposites(after - before, before - after):
            return Relation.MAY_REPLACE
    two_bans = earlier.denials > 0 and later.denials > 0  # "never edit A, run B instead" leaves "never edit C" alone
    announced = frame.opens and later.tells_loudly and frame.shared >= _HALF and not two_bans
    return Relation.MAY_REPLACE if announced else Relation.APART


def _relate_homes(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation of statements about where somebody lives; a sentence that says more than that is not replaced as a whole."""
    if not _is_valued(frame.new_first):
        return Relation.APART
    tells_more = earlier.clause > _HOME_ONLY or (later.moved and frame.shared < 1 and not later.ended)
    return Relation.MAY_REPLACE if tells_more else Relation.REPLACES


def _is_another_value(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> bool:
    """True if two statements differ only in values of one kind, and the thing has one at a time or is said to have changed."""
    kinds, others = ({word.kind for word in words} for words in (frame.old_value, frame.new_value))
    if not frame.alone or max(len(frame.old_value), len(frame.new_value)) > _VALUE:
        return False
    if earlier.is_attribute and later.is_attribute and len(frame.old_value) == 1 == len(frame.new_value):
        return True
    has_one_value = earlier.is_state and later.is_state and "name" not in kinds | others
    return "" not in kinds | others and bool(kinds & others) and (later.tells_change or has_one_value)


def _relate_told_change(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation to a later statement that says that something changed or is gone."""
    valued = _is_valued(frame.new)
    limited = any(word.stem in later.narrow and not word.kind for word in frame.new_first)
    if (later.ended and (earlier.denials or limited)) or (earlier.says.denials and later.says.denials and not valued):
        return Relation.APART
    if later.ended and _is_valued(frame.old_value) and not valued:
        return Relation.MAY_REPLACE
    if frame.shared >= _HALF and frame.own >= _THIRD:
        return Relation.REPLACES_IF_NEAR
    begins = earlier.words[0] not in frame.old and later.words[0] not in frame.new
    near = (begins or frame.shared >= _THIRD) and valued and earlier.is_short and later.is_short
    return Relation.MAY_REPLACE if near else Relation.APART


def _relate_silent(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation of short statements about one thing that give different values without a word of change."""
    alike = earlier.is_sentence and later.is_sentence and (earlier.denials > 0) == (later.denials > 0)
    numbered = len({word.kind for word in frame.new_value if word.kind}) > 1  # "part 3 goes to part3.csv": each part has its value
    valued = _is_valued(earlier.words) and _is_valued(frame.new) and not numbered
    near = alike and valued and frame.shared >= _HALF and earlier.is_short and later.is_short
    return Relation.MAY_REPLACE if near else Relation.APART


def _is_valued(words: Sequence[Word]) -> bool:
    return any(word.kind for word in words)


def is_comparable(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if two statements may be related at all, judged cheaply by the first letters of their words."""
    if later.once or earlier.says.form == later.says.form or (later.open_ended and not earlier.once):
        return False
    if earlier.once or earlier.says.chosen or (earlier.home and later.home) or _ends(earlier, later):
        return True
    is_other = later.starts.isdisjoint(earlier.keys) and earlier.starts.isdisjoint(later.keys)
    if earlier.open_ended or (is_other and not (earlier.sole and later.sole and later.tells_change)):
        return False
    shared = len(earlier.keys & later.keys) / min(len(earlier.keys), max(earlier.clause, 2))
    if earlier.is_short and later.is_short:
        return later.tells_change or shared >= _HALF
    return shared >= (_HALF if later.tells_loudly else 1 - _THIRD)
