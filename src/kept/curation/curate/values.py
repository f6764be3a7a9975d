"""Decide whether a later statement replaces an earlier one, because it gives another value of the same thing.

The content words of two statements are aligned. The words they share are the frame, and the other words of each are its slot. The
statements are about the same thing if the frame contains the opening of one of them, and if neither names another thing inside the
frame ("staging runs on 8443", "production runs on 443"). For the same thing, another value of the same kind or a word of change
replaces the earlier value. If the value differs without either, a person decides. The word lists of all languages apply at once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property, lru_cache
from itertools import takewhile
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
"""Returns the semantic similarity of each pair of texts: at most 1, None if unknown. Returns None if it cannot compute any."""

_TEXT_CHARS = 600  # read at most this many characters of a text
_PAIR = 2  # two words say only who does what
_VALUE = 3  # a value has at most this many words
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
# Two statements about the same thing have at least this share of their words in common. The first number usually applies, and the
# second if a statement describes a change.
_HALF, _THIRD = 0.45, 0.3
_HOME_ONLY = 2  # a clause with at most this many words says only where somebody lives
NEAR_ENOUGH = 0.5  # minimum semantic similarity if the form of the statements alone does not decide
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
    value to the verb. ``sole`` means that only one person or thing does it, ``named`` that its first word may be a name. ``home``
    means that it says where somebody lives, and ``moved`` where somebody moved, which may not be a home.
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
        alone = len(self.words) <= _VALUE or self.once or self.home
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
        sole=not _words("sole").isdisjoint(tokens[:_VALUE]),
        named=clause[:1].isupper() and tokens[0] not in _dull_words(),
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
    return bool(unit) and unit not in _words("states") | COPULAS and (unit not in _dull_words() or len(behind) <= _VALUE - 1)


def _value_kind(raw: str, place: int) -> str:
    """The kind of value that a word is ("number", "date" or "name"); empty if the word is not a value."""
    word = raw.casefold()
    if _NUMBER.match(raw) or (word in number_words() and word not in _dull_words()):
        return "number"
    if word in _words("weekdays", "months") and (word not in _BOTH_MONTH_AND_WORD or (place and raw[:1].isupper())):
        return "date"
    named = (place and len(raw) > 1 and not raw.islower()) or _NAMED.search(raw) or word in _words("languages")
    return "name" if named else ""


class Relation(Enum):
    """The relation of a later statement to an earlier one.

    It is compatible with the earlier one, replaces it, or replaces it if the two are similar in meaning. If it may replace the
    earlier one, a person decides.
    """

    APART = "apart"
    REPLACES = "replaces"
    REPLACES_IF_NEAR = "replaces if near"
    MAY_REPLACE = "may replace"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """Two aligned statements. ``shared`` is the share of the earlier one's words that the later has, ``own`` the reverse.

    ``old`` and ``new`` are the words that only the earlier or only the later has. ``old_value`` and ``new_value`` are those after
    the last shared word of the first clause. ``new_first`` are the new words in the later one's first clause. ``alone`` means that
    the first clauses differ only in these values, ``opens`` that one begins with a word of the other, ``crossed`` that each names
    another thing at the same place.
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
    """For each word, True if ``forms`` contain any form of it."""
    having = ((word.stem, forms.get(word.stem[:STEM], ())) for word in words)
    return [stem in others or any(is_form(stem, other) for other in others) for stem, others in having]


def _find_slots(
    statement: ValueStatement, shared: Sequence[bool]
) -> tuple[set[tuple[str, str]], tuple[Word, ...], tuple[Word, ...]]:
    """Three results for the first clause of a statement.

    The gaps before or between shared words that have words of their own, the words after the last shared word, and all words that
    are not shared.
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
    checks = (_ends, _names_somebody_else, _bans_what_was_told)
    return Relation.MAY_REPLACE if found is Relation.APART and any(each(earlier, later) for each in checks) else found


def _ends(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if the later statement abandons the option that the earlier one chose.

    False if it is limited to something that the earlier one does not name ("in the tests use SQLite, never Postgres").
    """
    if later.left_names.isdisjoint(earlier.taken_names) or not ends_choice(earlier.text, later.text):
        return False
    said = find_content(strip_reasons(later.text))
    limits = [word for word in later.words if word.stem in later.narrow & said and not word.kind]
    return all(_find_shared(limits, earlier.forms))


def _names_somebody_else(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if only the first word differs, a name, and something changed ("Jo reviews the migrations now")."""
    first, other = earlier.words[:1], later.words[:1]
    told, said = earlier.words[1 : earlier.clause], later.words[1 : later.clause]
    does = bool(told) and earlier.named and later.named and later.tells_change and not (earlier.is_state or later.is_state)
    is_same = len(told) == len(said) and all(is_form(word.stem, same.stem) for word, same in zip(told, said, strict=True))
    return does and is_same and first != other


def _relate(earlier: ValueStatement, later: ValueStatement) -> Relation:
    frame = _align(earlier, later)
    if is_choice_reversed(later.says, earlier.says):
        return Relation.REPLACES
    if earlier.once:  # the earlier statement says itself that it describes how things were at first
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
    """The relation of statements that name different things.

    The later one may still replace the earlier one: only somebody else does something now, or one word is the opposite of another,
    or the later one announces a change.
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


def _bans_what_was_told(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if the later statement bans what the earlier one orders, with fewer words in the same order."""
    if earlier.says.denials or earlier.says.refused or not later.denials or later.clause < _PAIR:
        return False
    told = iter(earlier.words[: earlier.clause])
    return earlier.words[:1] == later.words[:1] and all(word in told for word in later.words[: later.clause])


def _relate_homes(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation of statements about where somebody lives. A person decides if the earlier sentence says more than that."""
    if not _is_valued(frame.new_first):
        return Relation.APART
    tells_more = earlier.clause > _HOME_ONLY or (later.moved and frame.shared < 1 and not later.ended)
    return Relation.MAY_REPLACE if tells_more else Relation.REPLACES


def _is_another_value(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> bool:
    """True if two statements differ only in values of one kind, and the thing has one value at a time or has changed."""
    kinds, others = ({word.kind for word in words} for words in (frame.old_value, frame.new_value))
    if not frame.alone or max(len(frame.old_value), len(frame.new_value)) > _VALUE:
        return False
    if earlier.is_attribute and later.is_attribute and len(frame.old_value) == 1 == len(frame.new_value):
        return True
    has_one_value = earlier.is_state and later.is_state and "name" not in kinds | others
    return "" not in kinds | others and bool(kinds & others) and (later.tells_change or has_one_value)


def _relate_told_change(earlier: ValueStatement, later: ValueStatement, frame: _Frame) -> Relation:
    """The relation if the later statement says that something changed or is gone."""
    valued = _is_valued(frame.new)
    limited = any(word.stem in later.narrow and not word.kind for word in frame.new_first)
    if later.ended and (earlier.denials or limited):
        return Relation.APART
    if earlier.says.denials and later.says.denials and not valued:
        refused = later.says.refused - earlier.says.refused  # "not pytest any more" ends what says to use it
        is_named = any(word.stem in map(stem_word, refused) for word in earlier.words[: earlier.clause])
        return Relation.MAY_REPLACE if is_named and not earlier.denials and frame.shared >= _HALF else Relation.APART
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
    if earlier.is_attribute and later.is_attribute and not frame.alone:
        return Relation.APART  # the limit of the admin API is not the limit of the API
    valued = valued or (later.tells_change and frame.alone and earlier.is_placed and later.is_placed)
    near = alike and valued and frame.shared >= _HALF and earlier.is_short and later.is_short
    return Relation.MAY_REPLACE if near else Relation.APART


def _is_valued(words: Sequence[Word]) -> bool:
    return any(word.kind for word in words)


def is_comparable(earlier: ValueStatement, later: ValueStatement) -> bool:
    """True if :func:`find_relation` must be called for two statements. This check is cheap: it mainly compares their keys."""
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
