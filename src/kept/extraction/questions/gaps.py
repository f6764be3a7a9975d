"""Gaps: parts of a chunk that look worth remembering and of which nothing was found, to be asked about once more. And what a model
overruled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kept.core.memory import DISMISSED, DOUBTED, Accepted, Candidate, Held, Judged, Memory, Refused, Status
from kept.extraction.questions.chunks import Chunk


def narrowed(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> Chunk:
    """The chunk with only those of its turns whose ordinals lie in one of the spans [start, stop)."""
    turns = tuple(each for each in chunk.turns if any(start <= each.ordinal < stop for start, stop in spans))
    return replace(chunk, turns=turns, lead=())


def as_memories(candidates: Iterable[tuple[Candidate, bool]]) -> tuple[Memory, ...]:
    """Candidates as the memories they may become (active where the flag says so, else held), to see what they cover."""
    return tuple(
        Memory(
            id=each.id,
            profile=each.profile,
            category=each.category,
            scope=each.scope,
            status=Status.ACTIVE if accepted else Status.HELD,
            content=each.content,
            confidence=each.confidence,
            origin=each.origin,
            first_seen=each.at,
            last_seen=each.at,
            artifacts=each.artifacts,
            evidence=each.evidence,
        )
        for each, accepted in candidates
    )


def settled(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """The candidates without what a model turned down, and held where it doubts: its word on a candidate of the rules goes before
    theirs.
    """
    listed = tuple(judged)
    words = {each.candidate.id: each.verdict for each in listed if _overrules(each)}
    own = (each for each in listed if not _overrules(each))
    return tuple(
        replace(each, verdict=words[each.candidate.id])
        if each.candidate.id in words and isinstance(each.verdict, Accepted | Held)
        else each
        for each in own
    )


def overruled(judged: Iterable[Judged]) -> frozenset[str]:
    """The candidates of the rules that a model turned down or doubts."""
    return frozenset(each.candidate.id for each in judged if _overrules(each))


def _overrules(judged: Judged) -> bool:
    return isinstance(judged.verdict, Held | Refused) and judged.verdict.reason in (DISMISSED, DOUBTED)
