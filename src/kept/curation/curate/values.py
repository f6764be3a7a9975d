"""The same thing with another value: which later statement leaves no room for an earlier one, and which may leave none.

Two statements are laid beside each other word by word. They speak of the same thing where what one of them begins with is in the
other and no word stands in the place of another one before their last shared word: there it names another thing ("staging runs on
8443", "production runs on 443"), while behind it stands the value. Such a pair is sure where it differs in the value alone or the
later one speaks of a change; any other pair of short statements with two values is for a person. The words of all languages are
read side by side. Knows no memories.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import combinations

from kept.core.statement import (
    VERSIONED,
    has_opposites,
    is_choice_reversed,
)
from kept.curation.curate.value_statements import STEM, ValueStatement, Word

Meaning = Callable[[Sequence[tuple[str, str]]], Sequence[float | None] | None]
"""How near the texts of each pair are in meaning, 1 at most; None where nothing can tell, of a pair or of any."""

_COMPARED = 20  # statements that share a word, the latest: what more of them have tells nothing
_SHORT, _LONG = 8, 12  # telling words of the two statements that a person is asked to tell apart
_OWN = (4, 6)  # of these, words that the other one has not
_VALUE = 3  # words of a value
_FEW = 3  # words of a statement that another one shares one of, where they speak of the same thing
_COVERED = 0.5  # share of the words of an earlier statement that one which speaks of a change has too
_SILENT = 0.45  # the same, of one that does not
_HOME_ONLY = 2  # words of where somebody lives
_PART = 0.33  # the same, where a person is asked
_WHOLE = 0.3  # share of its own words that a statement which speaks of a change has from the earlier one
_OVERTAKEN = 5  # words of how it was at first that the later one speaks of too
_SAME_MATTER, _LOUD_MATTER, _MATTER = 0.6, 0.35, 0.5  # nearness of a silent pair, of one that tells a change, of another one
_ENDING = 4  # letters that one form of a word may have more than another
# Kinds of words that one value is made of.
_VALUES = (*({kind} for kind in ("name", "number", "month", "weekday", "date")), {"name", "number"}, {"month", "number"})


class Relation(Enum):
    """What a later statement is to an earlier one: it leaves no room for it, may leave none, or leaves room."""

    REPLACES = "replaces"
    MAY_REPLACE = "may replace"
    APART = "apart"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """Two statements beside each other: ``missing`` are the words of the earlier that the later one has not, ``fresh`` the reverse;
    ``value`` and ``new_value`` those behind the last shared word of their first clauses.
    """

    earlier: ValueStatement
    later: ValueStatement
    missing: tuple[Word, ...]
    fresh: tuple[Word, ...]
    value: tuple[Word, ...]
    new_value: tuple[Word, ...]
    fresh_first: tuple[Word, ...]
    covered: float
    begins: bool
    crossed: bool
    differs: bool

    @property
    def tells_change(self) -> bool:
        return self.later.loud or self.later.ended


def _compare(earlier: ValueStatement, later: ValueStatement) -> _Pair:
    start = 1 + (later.loud or later.ended)  # whoever tells a change may begin with it: "we put", "I started"
    in_later, in_earlier = _find_shared(earlier.words, later.words), _find_shared(later.words, earlier.words)
    gaps, value = _find_gaps(earlier, in_later)
    new_gaps, new_value = _find_gaps(later, in_earlier)
    covered = sum(in_later) / len(in_later)
    if len(in_later) <= _SHORT + 1 and earlier.clause > 1:
        covered = max(covered, sum(in_later[: earlier.clause]) / earlier.clause)
    missing = tuple(word for word, shared in zip(earlier.words, in_later, strict=True) if not shared)
    missing_first = [word for word, shared in zip(earlier.words[: earlier.clause], in_later, strict=False) if not shared]
    fresh_first = tuple(word for word, shared in zip(later.words[: later.clause], in_earlier, strict=False) if not shared)
    return _Pair(
        earlier=earlier,
        later=later,
        missing=missing,
        fresh=tuple(word for word, shared in zip(later.words, in_earlier, strict=True) if not shared),
        value=tuple(value),
        new_value=tuple(new_value),
        fresh_first=fresh_first,
        covered=covered,
        begins=any((*in_later[:start], *in_earlier[:start])),
        crossed=not gaps.isdisjoint(new_gaps),
        differs=bool(value and new_value) and missing_first == value and list(fresh_first) == new_value,
    )


def _find_shared(words: Sequence[Word], others: Sequence[Word]) -> list[bool]:
    """For each word whether it is among the others, in whatever form."""
    begun: dict[str, list[str]] = {}
    for other in others:
        begun.setdefault(other.stem[:STEM], []).append(other.stem)
    return [any(_is_form(word.stem, other) for other in begun.get(word.stem[:STEM], ())) for word in words]


@lru_cache(maxsize=50_000)
def _is_form(word: str, other: str) -> bool:
    """Whether two words are forms of one."""
    short, long = sorted((word, other), key=len)
    stem = short[: max(STEM, len(short) - 2)]
    return word == other or (
        len(short) >= STEM and short.isalpha() and long.isalpha() and long.startswith(stem) and len(long) - len(short) <= _ENDING
    )


def _find_gaps(statement: ValueStatement, shared: Sequence[bool]) -> tuple[set[tuple[str, str]], list[Word]]:
    """Between which shared words of its first clause others stand that name a thing, and which stand behind all of them."""
    found, before, other = set(), "", list[Word]()
    for word, is_shared in zip(statement.words[: statement.clause], shared, strict=False):
        if not is_shared:
            other.append(word)
            continue
        if any(each.stem not in statement.governed for each in other):
            found.add((before, word.stem[:STEM]))
        before, other = word.stem[:STEM], []
    return found, other


def _is_valued(words: Sequence[Word]) -> bool:
    return any(word.kind for word in words)


def relate(earlier: ValueStatement, later: ValueStatement) -> tuple[Relation, float]:
    """What a later statement is to an earlier one, and how near in meaning the two must be for that."""
    pair = _compare(earlier, later)
    if is_choice_reversed(later.says, earlier.says):
        return Relation.REPLACES, 0.0
    found = next(filter(None, (rule(pair) for rule in _RULES)), Relation.APART)
    lives = earlier.home and later.home and not later.moved
    like = pair.differs or (pair.covered >= 1 and not pair.fresh)
    if found is Relation.APART or earlier.once or lives or (like and found is Relation.REPLACES):
        return found, 0.0
    if pair.tells_change:
        return found, _LOUD_MATTER if pair.covered >= _SAME_MATTER else _MATTER
    return found, _SAME_MATTER if found is Relation.MAY_REPLACE else _MATTER


def _judge_first_plan(pair: _Pair) -> Relation | None:
    """What an earlier one says of itself that it was so at first."""
    if not pair.earlier.once:
        return None
    shared = len(pair.earlier.words) - len(pair.missing)
    return Relation.REPLACES if shared >= _OVERTAKEN and shared >= _COVERED * len(pair.earlier.words) else Relation.APART


def _judge_other_matter(pair: _Pair) -> Relation | None:
    """Who does what one does alone; a word and its opposite; and statements of different things."""
    if pair.earlier.open_ended:
        return Relation.APART
    alone = len(pair.missing) == 1 == len(pair.fresh)
    if alone and pair.later.sole and pair.later.turned and not pair.begins:
        return Relation.REPLACES
    said, before = pair.later.says.words, pair.earlier.says.words
    if alone and pair.begins and has_opposites(said - before, before - said):
        return Relation.MAY_REPLACE
    two_bans = pair.earlier.denials > 0 and pair.later.denials > 0  # "never edit A, run B instead" leaves "never edit C" alone
    if pair.begins and pair.crossed and pair.later.loud and pair.covered >= _COVERED and not two_bans:
        return Relation.MAY_REPLACE
    return None if pair.begins and not pair.crossed else Relation.APART


def _judge_home(pair: _Pair) -> Relation | None:
    """Where somebody lives; a sentence that tells more of them than that does not give way whole."""
    if not (pair.earlier.home and pair.later.home):
        return None
    if not _is_valued(pair.fresh_first):
        return Relation.APART
    is_whole = pair.earlier.clause == _HOME_ONLY and (not pair.later.moved or pair.covered >= 1 or pair.later.ended)
    return Relation.REPLACES if is_whole else Relation.MAY_REPLACE


def _judge_denial(pair: _Pair) -> Relation | None:
    """The same, said to be so and not to be so."""
    earlier, later = pair.earlier, pair.later
    if pair.covered < 1 or pair.fresh_first or len(earlier.words) <= 1:
        return None
    if (earlier.denials > 0) != (later.denials > 0):
        return Relation.REPLACES
    return Relation.APART if earlier.denials and not pair.fresh else None


def _judge_value(pair: _Pair) -> Relation | None:
    """One value in an otherwise like sentence; what is so of one version is no other value of the thing."""
    stems = {word.stem for word in (*pair.earlier.words, *pair.later.words)}
    if not pair.tells_change and stems & VERSIONED:
        return Relation.APART
    kinds, others = {word.kind for word in pair.value}, {word.kind for word in pair.new_value}
    if pair.earlier.is_attribute and pair.later.is_attribute and pair.differs and len(pair.value) == 1 == len(pair.new_value):
        return Relation.REPLACES
    if not pair.differs or kinds not in _VALUES or others not in _VALUES or not kinds & others:
        return None
    if max(len(pair.value), len(pair.new_value)) > _VALUE:
        return None
    has_one = pair.earlier.is_state and pair.later.is_state and "name" not in kinds | others
    return Relation.REPLACES if pair.later.turned or has_one else None


def _judge_told_change(pair: _Pair) -> Relation | None:
    """What the later one says to have changed, or to be gone."""
    if not pair.tells_change:
        return None
    own = len(pair.later.words) - len(pair.fresh)
    limited = any(word.stem in pair.later.narrow and not word.kind for word in pair.fresh_first)
    if (own < _WHOLE * len(pair.later.words) and not _is_short(pair)) or (pair.later.ended and (pair.earlier.denials or limited)):
        return Relation.APART
    if pair.earlier.says.denials and pair.later.says.denials and not _is_valued(pair.fresh):
        return Relation.APART
    if pair.later.ended and _is_valued(pair.value) and not _is_valued(pair.fresh):
        return Relation.MAY_REPLACE
    if pair.covered >= _COVERED and own >= _WHOLE * len(pair.later.words):
        return Relation.REPLACES
    opens = pair.earlier.words[0] not in pair.missing and pair.later.words[0] not in pair.fresh
    few = len(pair.earlier.words) <= _FEW + 2 and len(pair.later.words) <= _SHORT
    is_near = (pair.covered >= _PART and _is_valued(pair.fresh)) or (opens and few and pair.later.loud)
    return Relation.MAY_REPLACE if is_near and _is_short(pair) else Relation.APART


def _judge_silent(pair: _Pair) -> Relation | None:
    """Short statements of one thing that name another value each, or of which the later one names one more."""
    said = pair.earlier.is_sentence and pair.later.is_sentence and (pair.earlier.denials > 0) == (pair.later.denials > 0)
    numbered = len({word.kind for word in pair.new_value if word.kind}) > 1  # "part 3 goes to part3.csv": each has its own
    valued = said and not numbered and _is_valued(pair.fresh) and _is_valued(pair.earlier.words)
    shared = len(pair.earlier.words) - len(pair.missing)
    near = pair.covered >= _SILENT and (shared > 1 or len(pair.earlier.words) <= _FEW)
    return Relation.MAY_REPLACE if valued and near and _is_short(pair) else Relation.APART


def _is_short(pair: _Pair) -> bool:
    sizes = len(pair.earlier.words), len(pair.later.words), len(pair.missing), len(pair.fresh)
    return all(size <= most for size, most in zip(sizes, (_SHORT, _LONG, *_OWN), strict=True))


_RULES = (
    _judge_first_plan,
    _judge_other_matter,
    _judge_home,
    _judge_denial,
    _judge_value,
    _judge_told_change,
    _judge_silent,
)


def find_value_pairs(sayings: Sequence[ValueStatement], meaning: Meaning | None = None) -> Iterator[tuple[int, int, bool]]:
    """The pairs (earlier, later) of sayings, which are in the order of time, of which the later leaves no room for the earlier; or
    may leave none, where the third is false. ``meaning`` tells how near they are; None where nothing can: their words decide then.
    """
    found = [
        (earlier, later, relation, least)
        for earlier, later in _find_comparable(sayings)
        for relation, least in (relate(sayings[earlier], sayings[later]),)
        if relation is not Relation.APART
    ]
    asked = [(earlier, later) for earlier, later, _, least in found if least]
    scores = meaning([(sayings[earlier].text, sayings[later].text) for earlier, later in asked]) if meaning and asked else None
    near = dict(zip(asked, scores, strict=True)) if scores is not None else {}
    for earlier, later, relation, least in found:
        score = near.get((earlier, later))
        if score is None or score >= least:
            yield earlier, later, relation is Relation.REPLACES


def _find_comparable(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs that share what one of them begins with, and two words where they have so many. Of what tells how it was at first
    and of where somebody lives all are compared.
    """
    filed: dict[tuple[str, str], list[int]] = {}
    for later, saying in enumerate(sayings):
        if not saying.words or saying.says.asks:
            continue
        keys = sorted({word.stem[:STEM] for word in saying.words[:_LONG]})
        chosen = {("<choice>", name) for name in saying.says.chosen | saying.says.refused}
        singles = {("", key) for key in keys} | {("<once>", key) for key in keys}
        handles = {*combinations(keys, 2), *singles, *chosen} | {("<opens>", word.stem) for word in saying.words[: saying.loud]}
        places = {place for handle in handles for place in filed.get(handle, ())[-_COMPARED:]}
        for earlier in () if saying.once else sorted(places):
            before = sayings[earlier]
            begins = not saying.starts.isdisjoint(before.keys) or not before.starts.isdisjoint(saying.keys)
            told = before.once or not saying.open_ended
            shared = len(before.keys & saying.keys)
            shares = shared >= _PART * min(before.clause, len(before.keys)) or saying.loud or before.once
            shares &= saying.tells_change or before.once or len(saying.keys) - shared <= _OWN[1]
            alone = before.says.chosen or before.sole or (before.home and saying.home)
            if told and ((begins and shares) or alone) and before.says.form != saying.says.form:
                yield earlier, later
        handles = chosen | {("<opens>", saying.words[0].stem)}
        if saying.once:
            handles |= {("<once>", key) for key in keys}
        elif len(saying.words) <= _FEW or saying.home:
            handles |= {("", key) for key in keys}
        else:
            handles.update(combinations(keys, 2))
        for handle in handles:
            filed.setdefault(handle, []).append(later)
