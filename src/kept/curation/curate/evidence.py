"""What the candidates of one cluster say together: its words, when and how often it was said, by whose evidence; and what of it is
new to a memory that exists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kept.core.codec import digest
from kept.core.event import Origin
from kept.core.memory import (
    CLIENT_MEMORY,
    LASTING,
    SUGGESTED,
    Accepted,
    Candidate,
    CandidateVerdict,
    Evidence,
    Held,
    Memory,
    Status,
)
from kept.core.operation import Facts
from kept.core.statement import strip_opening
from kept.core.text import normal_form
from kept.curation.curate.value_statements import find_lead_end

OFTEN = 3  # distinct sessions that say the same make it certain
DAWN = datetime.min.replace(tzinfo=UTC)


def time_order(judged: CandidateVerdict) -> tuple[datetime, str]:
    """When a candidate was said, its id where times are equal: what a fold over candidates goes by."""
    return (judged.candidate.at or DAWN, judged.candidate.id)


def is_person_owned(memory: Memory) -> bool:
    """Whether a person has the say over a memory."""
    return memory.owned or memory.pinned


def facts_of(members: Sequence[CandidateVerdict]) -> tuple[Facts, Status]:
    """What the members of a cluster say together, and whether that is enough to be active."""
    accepted = [member for member in members if isinstance(member.verdict, Accepted)]
    best = _select_best(accepted or members)
    candidates = [member.candidate for member in members]
    evidence = _unique_evidence(candidates)
    times = [candidate.at for candidate in candidates if candidate.at is not None]
    sessions = count_sessions(candidates)
    lasting = [member for member in members if isinstance(member.verdict, Held) and member.verdict.reason in LASTING]
    often = count_sessions([member.candidate for member in members if member not in lasting]) >= OFTEN
    subject = best.subject or next((candidate.subject for candidate in candidates if candidate.subject), "")
    facts = Facts(
        content=best.content,
        category=best.category,
        confidence=round(min(0.99, best.confidence + (0.05 if best.fingerprint else 0.02) * (max(1, sessions) - 1)), 4),
        origin=min((candidate.origin for candidate in candidates), key=lambda origin: origin.rank, default=Origin.TOOL),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        observations=max(1, sessions),
        artifacts=tuple(
            dict.fromkeys(
                name
                for candidate in (best, *candidates)
                for name in candidate.artifacts
                if subject or candidate is best or name in best.content
            )
        ),
        candidates=tuple(sorted(candidate.id for candidate in candidates)),
        added=evidence,
        valid_until=best.valid_until,
        trigger=best.trigger,
        fingerprint=best.fingerprint,
        subject=subject,
        about=best.about,
    )
    return facts, Status.ACTIVE if accepted or often else Status.HELD


def _is_whole_sentence(text: str) -> bool:
    """Whether a text begins as a sentence does, and with its matter: not with "from now on", "as you know" or a label."""
    said = normal_form(text).split()
    opens = strip_opening(said) != said or find_lead_end(text) or ":" in "".join(text.split()[:1])
    return text[:1].upper() == text[:1] and not opens


def _select_best(members: Sequence[CandidateVerdict]) -> Candidate:
    """The clearest wording: better words that were asked for, then the surest, a whole sentence, the latest; or what says it and
    then more, word for word.
    """
    if len(members) == 1:
        return members[0].candidate
    best = max(
        members,
        key=lambda each: (
            each.candidate.rewords != "",
            each.candidate.confidence,
            _is_whole_sentence(each.candidate.content),
            *time_order(each),
        ),
    ).candidate
    form = f"{normal_form(best.content)} "
    fuller = [member.candidate for member in members if normal_form(member.candidate.content).startswith(form)]
    return best if best.subject else max(fuller, key=lambda each: (len(each.content), each.id), default=best)


def count_sessions(candidates: Sequence[Candidate]) -> int:
    """In how many sessions it was said by the user; a fix counts by the sessions in which it was applied.

    An event that several sessions tell (a copy, a resumed conversation) counts once.
    """
    where: dict[str, str] = {}
    for candidate in candidates:
        for item in candidate.evidence:
            if candidate.fingerprint or (candidate.origin is Origin.USER and item.origin is Origin.USER):
                where[item.event] = min(item.session, where.get(item.event, item.session))
    return len(set(where.values()))


def _unique_evidence(candidates: Iterable[Candidate]) -> tuple[Evidence, ...]:
    unique = {(item.event, item.quote): item for candidate in candidates for item in candidate.evidence}
    return tuple(sorted(unique.values(), key=lambda each: (each.at is None, each.at, each.event, each.quote)))


def select_new_facts(memory: Memory, facts: Facts) -> Facts:
    """The facts for a memory that exists: only evidence that is new to it, and a person's own words left alone."""
    have = {(item.event, item.quote) for item in memory.evidence}
    want = {(evidence.event, evidence.quote) for evidence in facts.added}
    proposed = frozenset(memory.candidates) & frozenset(facts.candidates) or not memory.owned
    gone = tuple(dict.fromkeys(item.event for item in memory.evidence if (item.event, item.quote) not in want)) if proposed else ()
    dropped = () if is_person_owned(memory) else gone
    added = tuple(evidence for evidence in facts.added if (evidence.event, evidence.quote) not in have or evidence.event in dropped)
    facts = replace(facts, added=added, dropped=dropped)
    if not is_person_owned(memory):
        return facts
    times = [moment for moment in (memory.first_seen, facts.first_seen) if moment is not None]
    last = [moment for moment in (memory.last_seen, facts.last_seen) if moment is not None]
    return replace(
        facts,
        content=memory.content,
        category=memory.category,
        confidence=memory.confidence,
        origin=memory.origin,
        artifacts=memory.artifacts,
        first_seen=min(times, default=None),
        last_seen=max(last, default=None),
        valid_until=memory.valid_until,
        advised=memory.advised,
        about=memory.about,
        candidates=tuple(sorted({*memory.candidates, *facts.candidates})),
    )


def has_new_facts(memory: Memory, facts: Facts) -> bool:
    """Whether facts say anything that the memory does not yet."""
    after = (
        facts.confidence,
        facts.origin,
        facts.first_seen,
        facts.last_seen,
        facts.observations,
        facts.artifacts,
        facts.candidates,
        facts.valid_until,
        facts.trigger,
        facts.fingerprint,
        facts.subject,
        facts.advised,
        facts.about,
    )
    before = (
        memory.confidence,
        memory.origin,
        memory.first_seen,
        memory.last_seen,
        memory.observations,
        memory.artifacts,
        memory.candidates,
        memory.valid_until,
        memory.trigger,
        memory.fingerprint,
        memory.subject,
        memory.advised,
        memory.about,
    )
    return bool(facts.added or facts.dropped) or before != after


def is_agent_suggestion(memory: Memory) -> bool:
    """True for what an agent suggested by a call, or keeps in its own memory: it becomes one with the words that say the same."""
    return memory.trigger in (SUGGESTED, CLIENT_MEMORY) and not memory.candidates and memory.status in (Status.HELD, Status.ACTIVE)


def create_memory_id(candidate: Candidate, taken: set[str]) -> str:
    """An id for a memory that rests on the candidate, marked as taken."""
    number, turn = digest(candidate.id, size=5), 0
    while number in taken:
        turn += 1
        number = digest(candidate.id, str(turn), size=5)
    taken.add(number)
    return number


def build_memory(number: str, candidate: Candidate, facts: Facts, status: Status) -> Memory:
    """The memory that a cluster begins with."""
    return Memory(
        id=number,
        profile=candidate.profile,
        category=facts.category,
        scope=candidate.scope,
        status=status,
        content=facts.content,
        confidence=facts.confidence,
        origin=facts.origin,
        first_seen=facts.first_seen,
        last_seen=facts.last_seen,
        artifacts=facts.artifacts,
        evidence=facts.added,
        candidates=facts.candidates,
        observations=facts.observations,
        valid_until=facts.valid_until,
        trigger=facts.trigger,
        fingerprint=facts.fingerprint,
        subject=facts.subject,
        advised=facts.advised,
        about=facts.about,
    )


def format_evidence_reason(members: Sequence[CandidateVerdict], facts: Facts, status: Status) -> str:
    """Why a memory is what it is, by its evidence alone: whatever was read first, it says the same."""
    if status is Status.HELD:
        return (
            f"held: {next((member.verdict.reason for member in reversed(members) if not isinstance(member.verdict, Accepted)), '')}"
        )
    return f"seen in {format_session_count(facts.observations)}" if facts.observations > 1 else "accepted"


def format_session_count(sessions: int) -> str:
    """A number of sessions in words."""
    return "one session" if sessions == 1 else f"{sessions} sessions"
