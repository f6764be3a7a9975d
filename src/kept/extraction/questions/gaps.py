"""What a model overruled of what rules found: its word goes before theirs."""

from collections.abc import Iterable
from dataclasses import replace

from kept.core.memory import DISMISSED, DOUBTED, Accepted, CandidateVerdict, Held, Refused


def apply_overrulings(judged: Iterable[CandidateVerdict]) -> tuple[CandidateVerdict, ...]:
    """The candidates without what a model turned down, and held where it doubts: its word on a candidate of the rules goes before
    theirs.
    """
    listed = tuple(judged)
    words = {each.candidate.id: each.verdict for each in listed if _is_overruling(each)}
    own = (each for each in listed if not _is_overruling(each))
    return tuple(
        replace(each, verdict=words[each.candidate.id])
        if each.candidate.id in words and isinstance(each.verdict, Accepted | Held)
        else each
        for each in own
    )


def overruled_candidate_ids(judged: Iterable[CandidateVerdict]) -> frozenset[str]:
    """The candidates of the rules that a model turned down or doubts."""
    return frozenset(each.candidate.id for each in judged if _is_overruling(each))


def _is_overruling(judged: CandidateVerdict) -> bool:
    return isinstance(judged.verdict, Held | Refused) and judged.verdict.reason in (DISMISSED, DOUBTED)
