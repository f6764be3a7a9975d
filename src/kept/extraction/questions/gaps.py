"""What a model overruled of what rules found: its word goes before theirs."""

from collections.abc import Iterable
from dataclasses import replace

from kept.core.memory import DISMISSED, DOUBTED, Accepted, CandidateVerdict, Held, Refused


def apply_overrulings(judged: Iterable[CandidateVerdict]) -> tuple[CandidateVerdict, ...]:
    """The candidates without what a model turned down, and held where it doubts: its word on a candidate of the rules goes before
    theirs.
    """
    listed = tuple(judged)
    words = {
        candidate_verdict.candidate.id: candidate_verdict.verdict
        for candidate_verdict in listed
        if _is_overruling(candidate_verdict)
    }
    own = (candidate_verdict for candidate_verdict in listed if not _is_overruling(candidate_verdict))
    return tuple(
        replace(candidate_verdict, verdict=words[candidate_verdict.candidate.id])
        if candidate_verdict.candidate.id in words and isinstance(candidate_verdict.verdict, Accepted | Held)
        else candidate_verdict
        for candidate_verdict in own
    )


def overruled_candidate_ids(judged: Iterable[CandidateVerdict]) -> frozenset[str]:
    """The candidates of the rules that a model turned down or doubts."""
    return frozenset(candidate_verdict.candidate.id for candidate_verdict in judged if _is_overruling(candidate_verdict))


def _is_overruling(judged: CandidateVerdict) -> bool:
    return isinstance(judged.verdict, Held | Refused) and judged.verdict.reason in (DISMISSED, DOUBTED)
