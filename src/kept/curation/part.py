"""Find the part of a large group that a change can affect, so that only this part is curated.

A part is closed: nothing outside it says the same as something inside, contradicts it, answers it, withdraws it or is based on it.
Curating the whole group would therefore leave everything outside the part unchanged.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import combinations
from math import ceil, floor
from sys import maxsize

from kept.core.digest import digest
from kept.core.memory import WITHDRAWAL, Candidate, CandidateVerdict, Memory
from kept.core.operation import Operation, affected_memory_ids
from kept.core.statement import STEM, Statement, find_content, is_same_statement, roots_of
from kept.core.text import normal_form
from kept.core.value import dataclass
from kept.curation.curate.clusters import ONE_MEANING, SHARED, beginnings_of, can_mean_same, find_likenesses, select_word_pairs
from kept.curation.curate.plans import time_order
from kept.curation.curate.texts import Compared, Text, can_relate, choices_of, compare_all, list_texts
from kept.curation.curate.values import COMPARED, CROWD, Meaning
from kept.curation.curate.wishes import LEAST_SHARED, is_same_in_other_words
from kept.curation.lifecycle import NAMED_ANSWER, NAMED_GROUND, is_answer_to_question, is_same_theme
from kept.curation.text_index import (
    QUESTION,
    SUGGESTION,
    TAKEN,
    THEME,
    WHY,
    WISH,
    TextIndex,
    collect_decided_forms,
    takes_back,
    text_of,
)
from kept.extraction.questions.answer import apply_overrulings

LARGE = 1_000  # a group with at least this many candidates is curated in parts
# A lookup by shared words costs as much as reading 150 texts in sequence. So a part may be at most 1/150 of its group.
SHARE = 150
_MOVED = 10  # if more new texts than this fall between existing ones, the whole group is read again
_COMMON = 50_000  # the texts with a word are counted up to this number; all words above it count as equally common
_ANSWERED_WORDS = 3  # an answer shares at least this many words with its question


class WholeGroupError(Exception):
    """The whole group must be curated, because the part is too large or too many new texts fall between compared texts."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The input of one curation, of a whole group or of a part.

    ``blocked`` are candidates to ignore, ``compared`` the pairs of texts to compare, ``taken`` memory ids in use. ``texts`` are
    all texts of a whole group, and None for a part. ``elsewhere`` are memories of other profiles that may be based on the
    candidates.
    """

    judged: tuple[CandidateVerdict, ...]
    memories: tuple[Memory, ...]
    blocked: frozenset[str]
    compared: Compared
    taken: frozenset[str] = frozenset()
    texts: Sequence[Text] | None = None
    elsewhere: tuple[Memory, ...] = ()


def read_group(index: TextIndex) -> Part:
    """The whole group as a part.

    Candidates are blocked if a person migrated their memory to another profile, or decided there on a memory with the same words.
    The memory in the other profile then remains the only one, whatever its status.
    """
    judged = tuple(proposal.judged for proposal in index.log.proposals(*index.group))
    memories = index.log.memories(group=index.group)
    elsewhere = tuple(memory for other in sorted(index.others) for memory in index.log.memories(group=other))
    decided = collect_decided_forms(elsewhere)
    blocked = {candidate for memory in elsewhere for candidate in memory.candidates}
    if decided:
        blocked |= {each.candidate.id for each in judged if normal_form(each.candidate.content) in decided}
    index.blocked |= blocked
    eligible = [each for each in index.eligible(apply_overrulings(judged)) if not takes_back(each)]
    texts = list_texts(sorted(eligible, key=time_order), memories)
    return Part(
        judged=judged, memories=memories, blocked=frozenset(blocked), compared=compare_all(texts), texts=texts, elsewhere=elsewhere
    )


def is_large(part: Part) -> bool:
    """True if a group is large enough to be curated in parts."""
    return len(part.judged) >= LARGE


def settle_group(index: TextIndex, part: Part, operations: Iterable[Operation], rules: str) -> None:
    """Index the curated texts, and mark the group as settled under ``rules``. If ``rules`` is empty, it is read whole next time."""
    if part.texts is None:
        index.index_memories({item for operation in operations for item in affected_memory_ids(operation)})
    elif rules:
        memories = index.log.memories(group=index.group)
        index.index_group(part.judged, memories, elsewhere=part.elsewhere, texts=part.texts)
    index.texts.settle(rules)


def find_part(index: TextIndex, meaning: Meaning | None) -> Part:
    """The part of the group that changed since the group was settled, with everything related. Raises WholeGroupError."""
    part = _PartSearch(index=index, meaning=meaning, most=index.texts.count_candidates() // SHARE)
    candidates, memories = index.texts.changed_items()
    before = index.texts.places_of(candidates, memories)
    live = apply_overrulings(each.judged for each in index.log.proposals_with(*index.group, candidates))
    decided = index.find_decided(each.candidate.content for each in live)
    index.blocked |= {each.candidate.id for each in live if each.candidate.content in decided}
    verdicts: dict[str, list[CandidateVerdict]] = {}
    for each in index.eligible(live):
        verdicts.setdefault(each.candidate.content, []).append(each)
    fresh = {index.index_text(content, says, ()) for content, says in verdicts.items()}
    ended = set(candidates) - {each.candidate.id for says in verdicts.values() for each in says}
    if any(index.token(TAKEN) in text.tokens for text in index.texts.at(index.texts.places_of(ended)).values()):
        raise WholeGroupError  # a withdrawal is gone: its memory may return, and no candidate says which memory that is
    index.texts.drop_places(ended)
    if any((memory.profile, memory.scope) != index.group for memory in index.log.some(memories)):
        raise WholeGroupError
    index.index_memories(memories)
    after = index.texts.places_of(memories=memories)
    part.gone = frozenset(place for place in before if not any(index.texts.items_at([place])))
    part.new = part.gone | (after - before) | {place for place, is_new in fresh if is_new}
    part.reach(before | after | {place for place, _ in fresh})
    part.include(candidates, memories)
    part.close()
    for stored in index.texts.at(part.gone).values():
        index.texts.drop(stored)
    judged = tuple(each.judged for each in index.log.proposals_with(*index.group, part.candidates))
    decided = index.find_decided(each.candidate.content for each in judged)
    blocked = part.blocked | {each.candidate.id for each in judged if each.candidate.content in decided}
    ids = {digest(each.candidate.id, size=5) for each in judged}
    return Part(
        judged=judged,
        memories=tuple(memory for _, memory in sorted(part.memories.items())),
        blocked=blocked,
        compared=Compared(
            texts={text.content: text for text, _ in part.known.values()},
            values=lambda: part.values,
            meanings=lambda: part.meanings,
        ),
        taken=frozenset(memory.id for memory in index.log.some(sorted(ids))),
    )


Tied = Callable[[Text, Text], bool]


@dataclass(kw_only=True)
class _PartSearch:
    """The state of the search for a part.

    ``new`` has the places of texts that were added or removed since the group was settled, ``gone`` only those of removed texts.
    """

    index: TextIndex
    meaning: Meaning | None
    most: int
    new: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    candidates: set[str] = field(default_factory=set)
    memories: dict[str, Memory] = field(default_factory=dict)
    blocked: frozenset[str] = frozenset()
    values: set[tuple[str, str]] = field(default_factory=set)
    meanings: set[tuple[str, str]] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)
    waiting: list[int] = field(default_factory=list)
    known: dict[int, tuple[Text, frozenset[str]]] = field(default_factory=dict)

    def reach(self, places: Iterable[int]) -> None:
        """Add the texts at these places to the search. Raises WholeGroupError if the part becomes too large."""
        fresh = set(places) - self.reached
        self.reached |= fresh
        self.waiting += sorted(fresh)
        if len(self.reached) > max(self.most, len(self.new)):
            raise WholeGroupError

    def close(self) -> None:
        """Process the waiting texts and everything related to them, until no text is waiting."""
        texts = self.index.texts
        while self.waiting:
            place = self.waiting.pop()
            if self.load([place]):
                self.include(*texts.items_at([place]))
                self.reach(self.neighbours(place))

    def include(self, candidates: Iterable[str], memories: Iterable[str]) -> None:
        """Add candidates and memories to the part, with everything linked to them, and add their texts to the search."""
        others = self.index.others
        texts, waiting = self.index.texts, (set(candidates) - self.candidates, set(memories) - self.memories.keys())
        while any(waiting):
            more, found = waiting
            self.candidates |= more
            loaded = self.index.log.some(sorted({*found, *texts.memories_based_on(more)} - self.memories.keys()))
            mine = [memory for memory in loaded if (memory.profile, memory.scope) == self.index.group]
            self.memories |= {memory.id: memory for memory in mine}
            self.reach(texts.places_of(more, (memory.id for memory in loaded)))
            self.blocked |= {item for memory in loaded if (memory.profile, memory.scope) in others for item in memory.candidates}
            tied = {item for memory in mine for item in (memory.superseded_by, memory.resolved_by, *memory.supersedes) if item}
            waiting = ({item for memory in mine for item in memory.candidates} - self.candidates, tied - self.memories.keys())

    def load(self, places: Iterable[int]) -> list[tuple[int, Text, frozenset[str]]]:
        """The texts at these places as tuples (place, text, tokens), in order of place. Places without a text are left out."""
        places = set(places)
        for place, stored in self.index.texts.at(places - self.known.keys()).items():
            self.known[place] = (text_of(stored.body, place, proposed=True), frozenset(stored.tokens.split()))
        return [(place, *self.known[place]) for place in sorted(places) if place in self.known]

    def neighbours(self, place: int) -> set[int]:
        """The places of the texts that are related to a text."""
        text, tokens = self.known[place]
        candidates = self._candidates_at(place)
        found = self._find_by_candidates(candidates, text)
        if self.index.token("size", len(text.says.content)) in tokens:
            found |= (
                self._find_by_values(text)
                | self._find_by_meaning(text, tokens)
                | self._find_same(text, tokens)
                | self._find_by_kind(text, tokens)
            )
        return found - {place}

    def _filter_places(self, places: Iterable[int], check: Callable[[Text], bool]) -> set[int]:
        return {place for place, text, _ in self.load(places) if check(text)}

    def _find_sharing(self, says: Statement, share: float, *beside: str, least: int = 0, sized: bool = True) -> Sequence[int]:
        """The places of texts that may have a Jaccard similarity of at least ``share`` or, if it is given, share ``least`` words.

        The texts must also have the tokens ``beside``. ``sized`` leaves out texts whose number of words rules the similarity out.
        """
        token, texts = self.index.token, self.index.texts
        words = {word: token("word", word[:STEM]) for word in says.content}
        common = {each: texts.count_texts(each, _COMMON) for each in {*words.values()}}
        rare = sorted(words, key=lambda word: (common[words[word]], word))
        count = len(rare)
        if least:
            rare = rare[: max(0, count - least + 2)]
            pairs = list(combinations(rare, 2))
        else:
            pairs = list(select_word_pairs(rare, share))
        choices = {" AND ".join(sorted({words[one], words[other]})) for one, other in pairs}
        if not choices:
            return ()
        sizes = range(ceil(share * count - 1e-9), floor(count / share + 1e-9) + 1) if sized else ()
        clauses = [*beside, "(" + " OR ".join(f"({each})" for each in sorted(choices)) + ")"]
        return texts.find(clauses, [token("size", size) for size in sizes])

    def _find_same(self, text: Text, tokens: AbstractSet[str]) -> set[int]:
        says, texts = text.says, self.index.texts
        words = says.form.split()
        begun = [" ".join(words[:end]) for end in range(1, len(words) + 1)]
        places = {each.place for each in texts.of_forms(begun)} | set(texts.continuing(says.form))
        for what, share in find_likenesses(says).items():
            places.update(self._find_sharing(says, share, *([self.index.beside_token(what)] if what else [])))
        if says.fingerprint and says.remedy:
            places.update(texts.find([self.index.beside_token(says.fingerprint)]))
        found = self._filter_places(places, lambda other: is_same_statement(says, other.says))
        if self.index.token(WISH) in tokens:
            wishes = self._find_sharing(says, 1.0, self.index.token(WISH), least=LEAST_SHARED, sized=False)
            found |= self._filter_places(wishes, lambda other: is_same_in_other_words(text.wish, other.wish))
        return found

    def _find_nearest(self, tokens: Iterable[str], text: Text, most: int, tied: Tied, compared: set[tuple[str, str]]) -> set[int]:
        """The ``most`` nearest texts in time that have all tokens, before and after a text.

        If the text was added or removed, this changes which other texts are near each other. Such pairs are checked too.
        """
        find, tokens, more = self.index.texts.find, tuple(tokens), self._count_moved(text)
        before = find(tokens, before=text.place, most=most + more)
        after = find(tokens, after=text.place, most=most + more)
        if more:
            old, later = self._without_new(before), self._without_new(after)
            cut = (
                (old[k], later[span - k])
                for span in range(most - more, most)
                for k in range(span + 1)
                if k < len(old) and span - k < len(later)
            )
            self._check_pairs(cut, text, later, tied, compared)
        return {*before[:most], *after[:most]}

    def _count_moved(self, text: Text) -> int:
        """The most that the rank of another text can have changed: the number of new texts if this text is one, else 0."""
        return len(self.new) if text.place in self.new else 0

    def _without_new(self, places: Sequence[int]) -> Sequence[int]:
        return [place for place in places if place not in self.new]

    def _check_pairs(
        self, cut: Iterable[tuple[int, int]], text: Text, later: Sequence[int], tied: Tied, compared: set[tuple[str, str]]
    ) -> None:
        """Add the pairs ``cut`` to the part if they are ``tied``. The text was added or removed between the two texts of each pair.

        Raises WholeGroupError if many texts were added or removed among older ones.
        """
        if later and len(self.new) > _MOVED:
            raise WholeGroupError
        pairs = set(cut)
        self.load(place for pair in pairs for place in pair)
        for one, other in pairs:
            (left, _), (right, _) = self.known[one], self.known[other]
            if tied(left, right):
                self.reach((one, other))
                compared |= {_pair(left, right)} if text.place in self.gone else set()

    def _find_by_values(self, text: Text) -> set[int]:
        saying, token, find = text.saying, self.index.token, self.index.texts.find
        places: set[int] = set()
        key = {each: token("key", each) for each in saying.filed_keys}
        for one, other in combinations(sorted(key), 2):
            places |= self._find_nearest((key[one], key[other]), text, COMPARED, _can_relate, self.values)
        for name in choices_of(saying):
            places |= self._find_nearest((token("choice", name),), text, COMPARED, _can_relate, self.values)
        for each in key:
            if find([token("opening", each)], most=1):
                places |= self._find_by_opening(each, text)
        found = set()
        for place, earlier_or_later, _ in self.load(places - {text.place}):
            self.values.add(_pair(text, earlier_or_later))
            if can_relate(saying, earlier_or_later.saying):
                found.add(place)
        return found

    def _find_by_opening(self, key: str, text: Text) -> set[int]:
        """The places of texts related to a text by one key alone: it opens the earlier text, and the two are near in time."""
        find, more, opens = self.index.texts.find, self._count_moved(text), key in text.saying.opening_keys
        marks = (([self.index.token("key", key)], CROWD + more), ([self.index.token("opening", key)], COMPARED + more))
        crowd, begun = (find(mark, before=text.place, most=most) for mark, most in marks)
        later, going = (find(mark, after=text.place, most=most) for mark, most in marks)
        if more:
            old = [self._without_new(places) for places in (crowd, begun, later, going)]
            rank = {place: number for number, place in enumerate(old[0])}
            cut = (
                (i, j)
                for crowded, j in enumerate(old[2])
                for opened, i in enumerate(old[1])
                if CROWD - more <= rank.get(i, CROWD) + crowded < CROWD
                or (opens and COMPARED - more <= opened + sum(place < j for place in old[3]) < COMPARED)
            )
            self._check_pairs(cut, text, old[2], _can_relate, self.values)
        near = set(crowd[:CROWD]).intersection(begun[:COMPARED])
        reach = going[COMPARED - 1] if len(going) >= COMPARED else maxsize
        return near | ({place for place in later[:CROWD] if place <= reach} if opens else set())

    def _find_by_meaning(self, text: Text, tokens: AbstractSet[str]) -> set[int]:
        says = text.says
        mark = self.index.meaning_token(says)
        if self.meaning is None or mark not in tokens:
            return set()
        counts: dict[int, int] = {}
        for word in beginnings_of(says):
            for place in self._find_nearest((mark, self.index.token("word", word)), text, CROWD, _can_mean_same, self.meanings):
                counts[place] = counts.get(place, 0) + 1
        asked = []
        for place, other, _ in self.load(place for place, count in counts.items() if count >= SHARED):
            self.meanings.add(_pair(text, other))
            if can_mean_same(says, other.says):
                asked.append((place, _pair(text, other)))
        scores = self.meaning([pair for _, pair in asked]) if asked else ()
        return {place for (place, _), score in zip(asked, scores or (), strict=False) if score is not None and score >= ONE_MEANING}

    def _find_by_kind(self, text: Text, tokens: AbstractSet[str]) -> set[int]:
        """The places of themes on the same subject, of answers or questions, and of suggestions within a reason or the reverse."""
        says, token, find = text.says, self.index.token, self.index.texts.find
        found: set[int] = set()
        if token(THEME) in tokens:
            found |= self._filter_places(
                self._find_sharing(says, NAMED_GROUND, token(THEME), sized=False), lambda other: is_same_theme(says, other.says)
            )
        if token(QUESTION) in tokens:
            least = ceil(NAMED_ANSWER * len(says.content))
            found |= self._filter_places(
                self._find_sharing(says, 1.0, least=least, sized=False), lambda other: is_answer_to_question(other.says, says)
            )
        if find([token(QUESTION)], most=1):
            asked = self._find_sharing(says, 1.0, token(QUESTION), least=_ANSWERED_WORDS, sized=False)
            found |= self._filter_places(asked, lambda other: is_answer_to_question(says, other.says))
        whole = f" {says.form} "
        if token(WHY) in tokens:
            found |= self._filter_places(find([token(SUGGESTION)]), lambda other: f" {other.says.form} " in whole)
        if token(SUGGESTION) in tokens:
            found |= self._filter_places(
                find([token(WHY), *(token("word", word) for word in beginnings_of(says))]),
                lambda other: whole in f" {other.says.form} ",
            )
        return found

    def _find_by_candidates(self, candidates: Sequence[Candidate], text: Text) -> set[int]:
        """The places of texts with the same subject, and of texts that replace, reword or withdraw this one, or the reverse."""
        token, texts = self.index.token, self.index.texts
        found: set[int] = set()
        marks = []
        for candidate in candidates:
            marks.append(token("rewords", candidate.id))
            if candidate.trigger == WITHDRAWAL:
                found |= self._find_named_by(candidate)
                continue
            marks += [token("replaces", candidate.content, item.session) for item in candidate.evidence]
            marks += [token("subject", candidate.subject.casefold())] if candidate.subject else []
            marks += [token("told", candidate.replaces, candidate.evidence[0].session)] if candidate.replaces else []
            found |= texts.places_of([candidate.rewords]) if candidate.rewords else set()
        if marks:
            found.update(texts.find((), sorted(set(marks))))
        roots = roots_of(text.says.content)
        for place in texts.find([token(TAKEN)]):
            if any(_named_roots(each) <= roots for each in self._candidates_at(place) if each.trigger == WITHDRAWAL):
                found.add(place)
        return found

    def _candidates_at(self, place: int) -> list[Candidate]:
        ids = self.index.texts.items_at([place])[0]
        return [each.judged.candidate for each in self.index.log.proposals_with(*self.index.group, ids)]

    def _find_named_by(self, withdrawal: Candidate) -> set[int]:
        named = _named_roots(withdrawal)
        if not named:
            raise WholeGroupError
        places = self.index.texts.find([self.index.token("word", word) for word in {word[:STEM] for word in named}])
        return self._filter_places(places, lambda other: named <= roots_of(other.says.content))


def _named_roots(withdrawal: Candidate) -> frozenset[str]:
    return roots_of(find_content(withdrawal.replaces))


def _can_relate(left: Text, right: Text) -> bool:
    return can_relate(left.saying, right.saying)


def _can_mean_same(left: Text, right: Text) -> bool:
    return can_mean_same(left.says, right.says)


def _pair(text: Text, other: Text) -> tuple[str, str]:
    first, second = sorted((text, other), key=lambda each: each.place)
    return first.content, second.content
