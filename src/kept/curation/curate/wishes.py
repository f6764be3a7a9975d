"""Wishes that several sessions say: which mean the same in other words, and which were not said often enough to count."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kept.core.memory import SAID_ONCE, Candidate, CandidateVerdict, Refused
from kept.core.statement import Statement, find_content, has_opposites
from kept.core.text import jaccard_similarity
from kept.curation.curate.evidence import OFTEN, count_sessions

Surroundings = Callable[[Candidate], frozenset[str]]
"""The words that a person typed around a wish."""

_SHARED = 3  # content words that two wishes in other words have in common
_LIKE = 0.6  # likeness of their content words
_TRIED_AGAIN = 0.4  # likeness of the words around two wishes from which they are one request
_TOPIC = 2  # words of a wish that the words around it say too: it is about what is being built
_COMMON = 60  # wishes that share a word; what more of them have tells nothing


def session_words(candidate: Candidate) -> frozenset[str]:
    """Words that differ from session to session: those around a wish where no conversation is at hand."""
    return frozenset(evidence.session for evidence in candidate.evidence)


def is_said_once(judged: CandidateVerdict) -> bool:
    """Whether a candidate is a wish that counts only together with others."""
    return isinstance(judged.verdict, Refused) and judged.verdict.reason == SAID_ONCE


def is_pending_cluster(members: Sequence[CandidateVerdict], size: int, surroundings: Surroundings) -> bool:
    """Whether a cluster of ``size`` (a person's own memories included) is nothing but wishes that do not count yet.

    They are of too few sessions, or of sessions that ask for the same: a request that is tried again is no standing wish.
    """
    if len(members) != size or not all(map(is_said_once, members)):
        return False
    candidates = [member.candidate for member in members]
    return count_sessions(candidates) < OFTEN or _count_distinct_requests(candidates, surroundings) < OFTEN


def _count_distinct_requests(candidates: Sequence[Candidate], surroundings: Surroundings) -> int:
    """How many of the wishes stand among other words than those before them, and do not say what these are about."""
    different: list[frozenset[str]] = []
    for candidate in candidates:
        around = surroundings(candidate)
        names = find_content(candidate.content)
        if len(names & around) < _TOPIC and not any(_has_similar_words(around, other) for other in different):
            different.append(around)
    return len(different)


def _has_similar_words(left: frozenset[str], right: frozenset[str]) -> bool:
    return jaccard_similarity(left, right) >= _TRIED_AGAIN if left and right else left == right


def find_similar_wishes(proposals: Sequence[CandidateVerdict], statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """The pairs of wishes that mean the same in other words. Only those that share a word which few have are compared."""
    having: dict[str, list[int]] = {}
    for place, candidate_verdict in enumerate(proposals):
        if is_said_once(candidate_verdict):
            mine = statements[place]
            near = Counter(other for word in mine.content for other in having.get(word, ())[-_COMMON:])
            yield from (
                (other, place) for other, shared in near.items() if shared >= _SHARED and _is_same_wish(mine, statements[other])
            )
            for word in mine.content:
                having.setdefault(word, []).append(place)


def _is_same_wish(left: Statement, right: Statement) -> bool:
    if left.numbers != right.numbers or left.denials % 2 != right.denials % 2 or left.asks or right.asks:
        return False
    if has_opposites(left.words - right.words, right.words - left.words) or left.artifacts.isdisjoint(right.artifacts) != (
        not left.artifacts and not right.artifacts
    ):
        return False
    return jaccard_similarity(left.content, right.content) >= _LIKE
