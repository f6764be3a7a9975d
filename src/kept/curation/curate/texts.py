"""The texts of a group in the order in which they were first said, and the pairs of texts that curation compares.

The pairs depend on the texts alone. A new text adds pairs and leaves all others unchanged. A closed part of a group is therefore
curated with the same result alone as within the whole group.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations
from operator import attrgetter

from kept.core.digest import digest
from kept.core.memory import CandidateVerdict, Memory, Status
from kept.core.statement import Statement, pairs_of_opposites, parse_statement
from kept.core.value import dataclass
from kept.curation.curate.clusters import pair_by_words
from kept.curation.curate.plans import is_agent_suggestion, is_person_owned
from kept.curation.curate.relations import NEAR_ENOUGH, Relation, find_relation, is_comparable
from kept.curation.curate.values import COMPARED, CROWD, Meaning, ValueStatement, parse_value_statement
from kept.curation.curate.wishes import Wish, parse_wish

_SECOND_BITS, _HASH_BITS = 33, 30  # a place has 33 bits for the second when a text was first said, and 30 bits of a hash

Pairs = Callable[[], Iterable[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text of a group. ``place`` is its sort key, the time when it was first said. ``proposed`` is True if a candidate has it."""

    content: str
    place: int
    says: Statement
    proposed: bool

    @cached_property
    def saying(self) -> ValueStatement:
        """The text parsed as a statement about values."""
        return parse_value_statement(self.content, self.says)

    @cached_property
    def wish(self) -> Wish | None:
        """The text parsed as a wish."""
        return parse_wish(self.content, self.says.artifacts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """Which pairs of ``texts`` to compare.

    ``values`` yields the pairs that may give different values of one thing, and ``meanings`` the pairs that may be wordings of one
    statement.
    """

    texts: Mapping[str, Text]
    values: Pairs
    meanings: Pairs

    def find_saying(self, content: str, says: Statement) -> ValueStatement:
        """``content`` as a statement about values: the parsed one if it is a text of the group, else parsed from ``says``."""
        known = self.texts.get(content)
        return known.saying if known is not None and known.says == says else parse_value_statement(content, says)


def is_standing(memory: Memory) -> bool:
    """True if a memory counts by its own words, with or without candidates, because a person owns it or an agent suggested it."""
    return bool((is_person_owned(memory) or is_agent_suggestion(memory)) and memory.content)


def has_own_words(memory: Memory) -> bool:
    """True if the words of a memory may differ from those of all its candidates."""
    return is_standing(memory) or (memory.advised and memory.status in (Status.ACTIVE, Status.HELD))


def find_place(group: tuple[str, str], content: str, at: datetime | None) -> int:
    """The place of a text in a group (profile, scope): an integer with the time ``at`` in its high bits."""
    seconds = max(0, int(at.timestamp())) if at is not None and at.year > 1 else 0
    place: int = seconds % 2**_SECOND_BITS << _HASH_BITS | int(digest(*group, content, size=4), 16) % 2**_HASH_BITS
    return place


def list_texts(proposals: Sequence[CandidateVerdict], memories: Iterable[Memory]) -> Sequence[Text]:
    """The distinct texts of the candidates, and of memories with words of their own, in order of when they were first said."""
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
    """The pairs to compare among all texts of a group."""
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
    """Yield triples (earlier, later, is sure) for pairs of statements of which the later one contradicts the earlier one.

    If ``is sure`` is False, a person must decide. ``meaning`` returns the similarity of texts; without it the words alone decide.
    Only ``compared`` pairs are examined, by default those of :func:`pair_statements`.
    """
    pairs = pair_statements(sayings) if compared is None else compared
    found = [
        (earlier, later, find_relation(sayings[earlier], sayings[later]))
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
    """True if one of two statements contradicts the other or may do so, whichever of them is later."""
    return any(
        is_comparable(earlier, later) and find_relation(earlier, later) is not Relation.APART
        for earlier, later in ((left, right), (right, left))
    )


def pair_statements(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of statements to compare: they share two keys, or one key that is an opening key of the earlier statement.

    Statements must be in the order in which they were first said. Among statements with the same keys, only the nearest in time are
    compared. Each statement is indexed by its own words only, so a new statement adds pairs and leaves all others unchanged.
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
    """True if two statements may be about the same thing.

    The first words of one occur in the other, or one of them is of a kind that may begin differently.
    """
    if not (left.starts.isdisjoint(right.keys) and right.starts.isdisjoint(left.keys)):
        return True
    return left.may_begin_otherwise or right.may_begin_otherwise


def choices_of(saying: ValueStatement) -> frozenset[str]:
    """The words for options by which a statement is indexed: options it says to use or avoid, those it chooses or abandons, and
    the pairs of opposites of which it says to use one.
    """
    chosen = saying.says.chosen | saying.says.refused | saying.left_names | saying.taken_names
    return chosen | pairs_of_opposites(saying.says.chosen) if saying.filed_keys else frozenset()
