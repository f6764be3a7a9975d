"""Wishes that several sessions say: which mean the same in other words, and which were not said often enough to count."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kept.core.memory import SAID_ONCE, Judged, Refused
from kept.core.statement import Statement, opposed
from kept.core.text import likeness
from kept.curation.curate.evidence import OFTEN, sessions_of

_SHARED = 3  # content words that two wishes in other words have in common
_LIKE = 0.6  # likeness of their content words
_COMMON = 60  # wishes that share a word; what more of them have tells nothing


def said_once(judged: Judged) -> bool:
    """Whether a candidate is a wish that counts only together with others."""
    return isinstance(judged.verdict, Refused) and judged.verdict.reason == SAID_ONCE


def waits(members: Sequence[Judged], size: int) -> bool:
    """Whether a cluster of ``size`` (a person's own memories included) is nothing but wishes of too few sessions."""
    alone = len(members) == size and all(map(said_once, members))
    return alone and sessions_of([each.candidate for each in members]) < OFTEN


def alike(proposals: Sequence[Judged], statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """The pairs of wishes that mean the same in other words. Only those that share a word which few have are compared."""
    having: dict[str, list[int]] = {}
    for place, each in enumerate(proposals):
        if said_once(each):
            mine = statements[place]
            near = Counter(other for word in mine.content for other in having.get(word, ())[-_COMMON:])
            yield from ((other, place) for other, shared in near.items() if shared >= _SHARED and _same(mine, statements[other]))
            for word in mine.content:
                having.setdefault(word, []).append(place)


def _same(left: Statement, right: Statement) -> bool:
    if left.numbers != right.numbers or left.denials % 2 != right.denials % 2 or left.asks or right.asks:
        return False
    if opposed(left.words - right.words, right.words - left.words) or left.artifacts.isdisjoint(right.artifacts) != (
        not left.artifacts and not right.artifacts
    ):
        return False
    return likeness(left.content, right.content) >= _LIKE
