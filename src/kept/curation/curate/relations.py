"""Decide whether a later statement replaces an earlier one, because it gives another value of the same thing.

The content words of two statements are aligned. The words they share are the frame, and the other words of each are its slot. The
statements are about the same thing if the frame contains the opening of one of them, and if neither names another thing inside the
frame ("staging runs on 8443", "production runs on 443"). For the same thing, another value of the same kind or a word of change
replaces the earlier value. If the value differs without either, a person decides.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

from kept.core.statement import STEM, VERSIONED, find_content, has_opposites, is_choice_reversed, is_form, stem_word
from kept.core.value import dataclass
from kept.curation.curate.endings import ends_choice, strip_reasons
from kept.curation.curate.values import MOST_VALUE_WORDS, ValueStatement, Word

_PAIR = 2  # two words say only who does what
# Two statements about the same thing have at least this share of their words in common. The first number usually applies, and the
# second if a statement describes a change.
_HALF, _THIRD = 0.45, 0.3
_HOME_ONLY = 2  # a clause with at most this many words says only where somebody lives
NEAR_ENOUGH = 0.5  # minimum semantic similarity if the form of the statements alone does not decide


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
        return (
            Relation.REPLACES
            if frame.shared >= _HALF and len(earlier.words) - len(frame.old) > MOST_VALUE_WORDS
            else Relation.APART
        )
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
    if not frame.alone or max(len(frame.old_value), len(frame.new_value)) > MOST_VALUE_WORDS:
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
