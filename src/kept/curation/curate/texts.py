"""The texts of a group in the order in which they were first said, and which of them are looked at together.

Which are, follows from the texts themselves: one that is new adds pairs, and all others stay as they were. So a part of a group
that nothing ties to the rest is curated alone as it is among all others.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations
from operator import attrgetter

from kept.core.digest import digest
from kept.core.memory import CandidateVerdict, Memory, Status
from kept.core.statement import Statement, parse_statement
from kept.core.value import dataclass
from kept.curation.curate.clusters import pair_by_words
from kept.curation.curate.plans import is_agent_suggestion, is_person_owned
from kept.curation.curate.values import (
    COMPARED,
    CROWD,
    NEAR_ENOUGH,
    Meaning,
    Relation,
    ValueStatement,
    is_comparable,
    parse_value_statement,
    relate,
)

_SECONDS, _TELLING_APART = 33, 30  # bits of a place: when a text was first said, and which of those of one second it is

Pairs = Callable[[], Iterable[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text of a group. ``place`` orders texts by when they were first said, ``proposed`` says that a candidate says it."""

    content: str
    place: int
    says: Statement
    proposed: bool

    @cached_property
    def saying(self) -> ValueStatement:
        """What it tells of values."""
        return parse_value_statement(self.content, self.says)


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """Which of some ``texts`` are looked at together: ``values`` as values of one thing, ``meanings`` as wordings of one."""

    texts: Mapping[str, Text]
    values: Pairs
    meanings: Pairs

    def find_saying(self, content: str, says: Statement) -> ValueStatement:
        """What a text tells of values."""
        known = self.texts.get(content)
        return known.saying if known is not None and known.says == says else parse_value_statement(content, says)


def is_standing(memory: Memory) -> bool:
    """Whether a memory's own words count beside those of candidates: a person's, or an agent's suggestion."""
    return bool((is_person_owned(memory) or is_agent_suggestion(memory)) and memory.content)


def has_own_words(memory: Memory) -> bool:
    """Whether a memory says what none of its candidates needs to say."""
    return is_standing(memory) or (memory.advised and memory.status in (Status.ACTIVE, Status.HELD))


def find_place(group: tuple[str, str], content: str, at: datetime | None) -> int:
    """Where a text of a (profile, scope) that was first said then stands among all others."""
    seconds = max(0, int(at.timestamp())) if at is not None and at.year > 1 else 0
    place: int = seconds % 2**_SECONDS << _TELLING_APART | int(digest(*group, content, size=4), 16) % 2**_TELLING_APART
    return place


def list_texts(proposals: Sequence[CandidateVerdict], memories: Iterable[Memory]) -> Sequence[Text]:
    """The texts of candidates, and of memories that have words of their own, each once, in the order in which they were first
    said.
    """
    found: dict[str, Text] = {}
    for candidate in (proposal.candidate for proposal in proposals):
        place = find_place((candidate.profile, candidate.scope), candidate.content, candidate.at)
        if candidate.content not in found or place < found[candidate.content].place:
            says = parse_statement(candidate.content, candidate.artifacts, candidate.fingerprint)
            found[candidate.content] = Text(content=candidate.content, place=place, says=says, proposed=True)
    for memory in filter(has_own_words, memories):
        place = find_place((memory.profile, memory.scope), memory.content, memory.first_seen)
        known = found.get(memory.content)
        if known is None or place < known.place:
            says = known.says if known else parse_statement(memory.content, memory.artifacts, memory.fingerprint)
            found[memory.content] = Text(
                content=memory.content, place=place, says=says, proposed=known is not None and known.proposed
            )
    return sorted(found.values(), key=attrgetter("place"))


def compare_all(texts: Sequence[Text]) -> Compared:
    """The pairs of all texts of a group."""
    by_content = {text.content: text for text in texts}
    return Compared(texts=by_content, values=lambda: _pair_values(texts), meanings=lambda: _pair_meanings(texts))


def _pair_values(texts: Sequence[Text]) -> Iterator[tuple[str, str]]:
    return ((texts[i].content, texts[j].content) for i, j in pair_statements([text.saying for text in texts]))


def _pair_meanings(texts: Sequence[Text]) -> Iterator[tuple[str, str]]:
    proposed = [text for text in texts if text.proposed]
    return ((proposed[i].content, proposed[j].content) for i, j in pair_by_words(text.says for text in proposed))


def find_value_pairs(
    sayings: Sequence[ValueStatement], meaning: Meaning | None = None, compared: Iterable[tuple[int, int]] | None = None
) -> Iterator[tuple[int, int, bool]]:
    """The pairs (earlier, later) of sayings, which are in the order of time, of which the later leaves no room for the earlier; or
    may leave none, where the third is false. ``meaning`` tells how near they are; None where nothing can: their words decide then.
    Only those that are ``compared`` are looked at (None: those that share words).
    """
    pairs = pair_statements(sayings) if compared is None else compared
    found = [
        (earlier, later, relate(sayings[earlier], sayings[later]))
        for earlier, later in pairs
        if is_comparable(sayings[earlier], sayings[later])
    ]
    asked = [
        (earlier, later) for earlier, later, relation in found if relation in (Relation.REPLACES_IF_NEAR, Relation.MAY_REPLACE)
    ]
    scores = meaning([(sayings[earlier].text, sayings[later].text) for earlier, later in asked]) if meaning and asked else None
    far = {pair for pair, score in zip(asked, scores or (), strict=False) if score is not None and score < NEAR_ENOUGH}
    for earlier, later, relation in found:
        if relation is not Relation.APART and (earlier, later) not in far:
            yield earlier, later, relation is not Relation.MAY_REPLACE


def can_relate(left: ValueStatement, right: ValueStatement) -> bool:
    """Whether of two statements one leaves no room for the other, or may leave none, whichever of them is the later."""
    return any(
        is_comparable(earlier, later) and relate(earlier, later) is not Relation.APART
        for earlier, later in ((left, right), (right, left))
    )


def pair_statements(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs of statements, in the order of time in which they were first said, that are looked at: they share two words, or one
    that begins one of them or is of few. Of those that share the same only the nearest in time are compared.

    Each statement is filed by its own words, whatever the others say: one more adds pairs, and all others stay.
    """
    sharing: defaultdict[object, deque[int]] = defaultdict(lambda: deque(maxlen=COMPARED))
    opening: defaultdict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=COMPARED))
    having: Counter[str] = Counter()
    for later, saying in enumerate(sayings):
        keys = saying.filed_keys
        handles = [*combinations(sorted(keys), 2), *(("<choice>", name) for name in choices_of(saying))]
        places = {place for handle in handles for place in sharing[handle]}
        places.update(place for key in keys for place, before in opening[key] if having[key] - before <= CROWD)
        yield from ((earlier, later) for earlier in sorted(places) if _is_of_one_thing(sayings[earlier], saying))
        for handle in handles:
            sharing[handle].append(later)
        for key in saying.opening_keys:
            opening[key].append((later, having[key]))
        having.update(keys)


def _is_of_one_thing(left: ValueStatement, right: ValueStatement) -> bool:
    """Whether one begins with what the other has, or need not to be about the same."""
    if not (left.starts.isdisjoint(right.keys) and right.starts.isdisjoint(left.keys)):
        return True
    return left.may_begin_otherwise or right.may_begin_otherwise


def choices_of(saying: ValueStatement) -> frozenset[str]:
    """What a statement says to use or not to use, by which it is filed."""
    return saying.says.chosen | saying.says.refused if saying.filed_keys else frozenset()
