"""Plans: the target state of the memory for one cluster of candidates.

The facts of a cluster summarize its candidates: the wording, when and how often it was said, and the evidence. This module also
finds pairs that belong to one cluster even if their words differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from kept.core.digest import digest
from kept.core.event import Origin
from kept.core.fence import CAUSE
from kept.core.memory import (
    CLIENT_MEMORY,
    LASTING,
    MOST_REQUESTS,
    SUGGESTED,
    UNSURE,
    Accepted,
    Candidate,
    CandidateVerdict,
    Held,
    Memory,
    Status,
)
from kept.core.operation import (
    ADVISED,
    ANSWERED,
    FACT_NAMES,
    FADED,
    GAVE_WAY,
    NEWER_VALUE,
    REREAD,
    TAKEN_BACK,
    Facts,
    sort_evidence,
    with_facts,
)
from kept.core.statement import Statement, parse_statement, strip_opening
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.curation.curate.values import find_lead_end
from kept.curation.lifecycle import CurationRules

OFTEN = 3  # a statement from this many distinct sessions counts as certain
DAWN = datetime.min.replace(tzinfo=UTC)


def time_order(judged: CandidateVerdict) -> tuple[datetime, str]:
    """The sort key of a candidate: the time when it was said, and its id."""
    return (judged.candidate.at or DAWN, judged.candidate.id)


def is_person_owned(memory: Memory) -> bool:
    """True if a person owns or pinned a memory, so that kept must not change it."""
    return memory.owned or memory.pinned


def facts_of(members: Sequence[CandidateVerdict]) -> tuple[Facts, Status]:
    """The facts of a cluster, and the status that its evidence justifies: active or held."""
    accepted = [member for member in members if isinstance(member.verdict, Accepted)]
    best = _select_best(accepted or members)
    candidates = [member.candidate for member in members]
    evidence = sort_evidence(item for candidate in candidates for item in candidate.evidence)
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
        needed_for=tuple(dict.fromkeys(each for candidate in (best, *candidates) for each in candidate.needed_for))[:MOST_REQUESTS],
    )
    return facts, Status.ACTIVE if accepted or often else Status.HELD


def _is_whole_sentence(text: str) -> bool:
    """True if a text begins with a capital letter, and not with "from now on", "as you know" or a label."""
    words = normal_form(text).split()
    opens = strip_opening(words) != words or find_lead_end(text) or ":" in "".join(text.split()[:1])
    return text[:1].upper() == text[:1] and not opens


def _select_best(members: Sequence[CandidateVerdict]) -> Candidate:
    """The candidate with the best wording.

    A candidate that rewords another comes first, then the more confident one, then a whole sentence, then the latest. If another
    candidate repeats this wording and continues it, it is chosen instead, unless the first choice has a subject.
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
    """The number of sessions in which the user stated the candidates or, for a fix, in which it was applied.

    An event that occurs in several sessions, because a session was copied or resumed, counts once.
    """
    where: dict[str, str] = {}
    for candidate in candidates:
        for item in candidate.evidence:
            if candidate.fingerprint or (candidate.origin is Origin.USER and item.origin is Origin.USER):
                where[item.event] = min(item.session, where.get(item.event, item.session))
    return len(set(where.values()))


def select_new_facts(memory: Memory, facts: Facts) -> Facts:
    """The facts with which a memory is updated. They have only new evidence, and do not change words that a person owns."""
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
    """True if the facts would change something in the memory other than its words and category."""
    changes = any(getattr(memory, name) != getattr(facts, name) for name in FACT_NAMES if name not in ("content", "category"))
    return changes or bool(facts.added or facts.dropped)


def is_agent_suggestion(memory: Memory) -> bool:
    """True if an agent suggested the memory with a call, or has it in its own memory file, or if a model put into it what a prompt
    changed. Candidates that say the same join it.
    """
    handed = memory.trigger in (SUGGESTED, CLIENT_MEMORY) and not memory.candidates
    return (handed or memory.is_restated) and memory.status in (Status.HELD, Status.ACTIVE)


def create_memory_id(candidate: Candidate, taken: set[str]) -> str:
    """Create an id for a memory based on a candidate, and add it to ``taken``."""
    number, turn = digest(candidate.id, size=5), 0
    while number in taken:
        turn += 1
        number = digest(candidate.id, str(turn), size=5)
    taken.add(number)
    return number


def build_memory(number: str, candidate: Candidate, facts: Facts, status: Status) -> Memory:
    """A new memory with the facts of a cluster."""
    memory = Memory(
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
    )
    return with_facts(memory, facts)


def format_evidence_reason(members: Sequence[CandidateVerdict], facts: Facts, status: Status) -> str:
    """The reason for a memory's status. It follows from the evidence alone, so that the order of reading does not matter."""
    if status is Status.HELD:
        reasons = (member.verdict.reason for member in reversed(members) if not isinstance(member.verdict, Accepted))
        return f"held: {next(reasons, '')}"
    if facts.observations < OFTEN and all(isinstance(member.verdict, Held) for member in members):
        return NEWER_VALUE
    return f"seen in {format_session_count(facts.observations)}" if facts.observations > 1 else "accepted"


def format_session_count(sessions: int) -> str:
    """The phrase for a number of sessions ("one session", "3 sessions")."""
    return "one session" if sessions == 1 else f"{sessions} sessions"


_PART = 0.5  # a note must make up at least this share of a sentence, because a few words can be part of many sentences
# The reasons with which kept makes a memory active begin with these words.
_MADE_ACTIVE = ("accepted", "seen in ", "decided in ", NEWER_VALUE)
_ENDED = (Status.RESOLVED, Status.REJECTED, Status.RETIRED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The target state for one cluster: its candidates (``members``), its existing memories (``found``) and its facts.

    ``winner`` is the memory that represents the cluster, or None if it must be created. ``number`` is its id in both cases.
    ``members`` is empty if no candidate says what a person's or an agent's memory says. ``category`` is the category after a
    promotion. ``ended`` means that the memory was resolved, retired, rejected, or superseded on advice, and does not come back now.
    """

    members: tuple[CandidateVerdict, ...]
    found: tuple[Memory, ...]
    facts: Facts | None
    status: Status
    winner: Memory | None
    number: str
    ended: bool
    says: Statement
    category: str

    @property
    def is_person_owned(self) -> bool:
        """True if a person owns or pinned the memory."""
        return self.winner is not None and is_person_owned(self.winner)

    @property
    def pinned(self) -> bool:
        """True if the memory is pinned, so that nothing replaces it."""
        return self.winner is not None and self.winner.pinned

    @property
    def gave_way(self) -> bool:
        """True if a person's own memory was superseded by something that they said later."""
        gone = self.winner is not None and self.winner.status is Status.SUPERSEDED
        return self.is_person_owned and gone and self.winner is not None and self.winner.reason.startswith(GAVE_WAY)

    @property
    def content(self) -> str:
        """The words of the memory: a person's own words if there are any, else the words of the facts."""
        source = self.winner if self.winner is not None and (self.is_person_owned or self.facts is None) else self.facts
        return source.content if source is not None else ""

    @property
    def last(self) -> datetime | None:
        """The time when it was last said."""
        counts = self.winner is not None and (self.is_person_owned or (self.facts is None and self.winner.is_restated))
        times = [item.last_seen for item in (self.facts, self.winner if counts else None) if item and item.last_seen]
        return max(times, default=None)

    @property
    def is_active(self) -> bool:
        """True if it is active by its evidence or by a person's decision, so that it can replace another plan."""
        own = self.winner is not None and (self.winner.status is Status.ACTIVE or self.gave_way)
        return (own if self.is_person_owned else self.status is Status.ACTIVE) and not self.ended

    @property
    def is_made_active(self) -> bool:
        """True if its memory is active, and kept made it active, not a person."""
        active = self.winner is not None and self.winner.status is Status.ACTIVE
        return active and not self.is_person_owned and self.winner is not None and self.winner.reason.startswith(_MADE_ACTIVE)

    @property
    def is_unsure(self) -> bool:
        """True if it is held only because it may not be meant as a rule. It may still give an earlier rule a new value."""
        waits = all(isinstance(member.verdict, Held) and member.verdict.reason == UNSURE for member in self.members)
        return bool(self.members) and waits and self.status is Status.HELD and not (self.is_person_owned or self.ended)

    @property
    def was_active(self) -> bool:
        """True if it is active, or was active until it was retired. In both cases it can have replaced an earlier plan."""
        retired = self.winner is not None and self.winner.status is Status.RETIRED
        return self.is_active or (retired and (self.ended or self.is_person_owned) and self.status is Status.ACTIVE)


def build_plan(
    members: Sequence[CandidateVerdict],
    found: tuple[Memory, ...],
    taken: set[str],
    rules: CurationRules,
    known: Mapping[tuple[str, tuple[str, ...]], Statement],
    *,
    gone: frozenset[str],
) -> Plan:
    """Build the plan for a cluster. ``members`` are its candidates, ``found`` its existing memories.

    ``taken`` has the memory ids in use, to which a new id is added. ``known`` has parsed statements by content and artifacts.
    ``gone`` has the ids of memories that no longer supersede or resolve others.
    """
    facts, status = facts_of(members) if members else (None, Status.ACTIVE)
    ids = {memory.id for memory in found}
    apart = [memory for memory in found if memory.superseded_by not in ids]  # not merged into one another
    living = [memory for memory in apart if is_person_owned(memory) or memory.status in (Status.ACTIVE, Status.HELD)]
    ended = not living and any(
        (memory.status in _ENDED or _has_lost_advised_successor(memory, ids | gone)) and not _is_returning(memory, facts, gone)
        for memory in found
    )
    winner = next(iter((*living, *apart, *found)), None)
    fixed = winner is not None and is_person_owned(winner)
    if facts is not None and winner is not None and not fixed and _keeps_advised_wording(winner, facts):
        facts = replace(
            facts, content=winner.content, artifacts=winner.artifacts, origin=winner.origin, advised=True, about=winner.about
        )
    if facts is not None and winner is not None and not facts.needed_for and (fixed or facts.content == winner.content):
        facts = replace(facts, needed_for=winner.needed_for)  # a model wrote these for the memory, so no candidate has them
    source = winner if winner is not None and (fixed or facts is None) else facts
    if source is None:
        raise ValueError("a cluster needs a member or a memory")
    status = winner.status if winner is not None and not fixed and facts is None else status
    categories = (source.category, *(member.candidate.category for member in members))
    often = not fixed and facts is not None and facts.observations >= OFTEN
    return Plan(
        members=tuple(members),
        found=found,
        facts=facts,
        status=status,
        winner=winner,
        number=winner.id if winner else create_memory_id(members[0].candidate, taken),
        ended=ended,
        says=known.get((source.content, source.artifacts)) or parse_statement(source.content, source.artifacts, source.fingerprint),
        category=next(filter(None, map(rules.promotions.get, categories)), source.category) if often else source.category,
    )


def _is_returning(memory: Memory, facts: Facts | None, gone: frozenset[str]) -> bool:
    """True if an ended memory comes back.

    It comes back if it ended because its evidence was gone or because a person withdrew it. Each curation decides both anew. It
    also comes back if the answer that resolved it is gone. If it faded, was answered or ended on advice, it comes back when it is
    stated again later.
    """
    again = facts is not None and facts.last_seen is not None and memory.ended_at is not None and facts.last_seen > memory.ended_at
    lost = memory.reason == ANSWERED and memory.resolved_by in gone
    undecided = memory.reason == REREAD or memory.reason.startswith(TAKEN_BACK)
    return undecided or lost or (memory.reason.startswith((FADED, ADVISED, ANSWERED)) and again)


def _has_lost_advised_successor(memory: Memory, others: frozenset[str] | set[str]) -> bool:
    """True if a memory was superseded on a model's advice, and its successor is not among ``others``."""
    is_advised = memory.status is Status.SUPERSEDED and memory.reason.startswith(ADVISED)
    return is_advised and memory.superseded_by not in others


def _keeps_advised_wording(memory: Memory, facts: Facts) -> bool:
    """True if a model chose the memory's content in a merge, and all candidates of the memory still exist."""
    kept = set(memory.candidates) <= set(facts.candidates)
    return memory.advised and memory.status in (Status.ACTIVE, Status.HELD) and kept


def pair_llm_merged(proposals: Sequence[CandidateVerdict], memories: Sequence[Memory]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of proposals whose memories were merged on a model's advice."""
    place = {candidate_verdict.candidate.id: i for i, candidate_verdict in enumerate(proposals)}
    by = {memory.id: memory for memory in memories}
    for memory in memories:
        winner = by.get(memory.superseded_by)
        if winner is not None and memory.reason.startswith(ADVISED) and set(memory.candidates) <= set(winner.candidates):
            found = [place[candidate] for candidate in winner.candidates if candidate in place]
            yield from ((found[0], item) for item in found[1:])


def pair_with_memories(proposals: Sequence[CandidateVerdict], standing: Sequence[Memory]) -> list[tuple[int, int]]:
    """The pairs (proposal, memory) that belong together.

    The memory is based on the proposal, or it is an agent's note whose words are at least half of a proposal that gives a reason.
    """
    place = {candidate_verdict.candidate.id: i for i, candidate_verdict in enumerate(proposals)}
    pairs = [
        (place[candidate], len(proposals) + i)
        for i, memory in enumerate(standing)
        for candidate in memory.candidates
        if candidate in place
    ]
    wholes = [
        (i, f" {normal_form(candidate_verdict.candidate.content)} ")
        for i, candidate_verdict in enumerate(proposals)
        if candidate_verdict.candidate.trigger == CAUSE
    ]
    parts = [
        (len(proposals) + i, f" {normal_form(memory.content)} ")
        for i, memory in enumerate(standing)
        if wholes and is_agent_suggestion(memory)
    ]
    for number, part in parts:
        share, i = max(((len(part) / len(whole), -i) for i, whole in wholes if part in whole), default=(0.0, 0))
        pairs += [(-i, number)] * (share >= _PART)
    return pairs


def pair_rewordings(proposals: Sequence[CandidateVerdict]) -> list[tuple[int, int]]:
    """The pairs of proposals in which the second is a new wording of the first."""
    place = {candidate_verdict.candidate.id: i for i, candidate_verdict in enumerate(proposals)}
    return [
        (place[candidate_verdict.candidate.rewords], i)
        for i, candidate_verdict in enumerate(proposals)
        if candidate_verdict.candidate.rewords in place
    ]


def assign_memories(
    groups: Sequence[tuple[int, ...]], proposals: Sequence[CandidateVerdict], standing: Sequence[Memory], memories: Sequence[Memory]
) -> Mapping[int, tuple[Memory, ...]]:
    """The existing memories of each cluster, by the first index of the cluster.

    A memory belongs to the cluster with its own words, or else to the first cluster with one of its candidates. A memory that has
    lost all its candidates belongs to a cluster that says the same, as when its sentence stands in a note that was edited.
    """
    place = {proposals[i].candidate.id: group[0] for group in groups for i in group if i < len(proposals)}
    spoken = {standing[i - len(proposals)].id: group[0] for group in groups for i in group if i >= len(proposals)}
    owners: dict[int, list[Memory]] = {}
    lost: list[Memory] = []
    for memory in memories:
        groups_of = [place[candidate] for candidate in memory.candidates if candidate in place]
        where = spoken.get(memory.id, min(groups_of) if groups_of else None)
        if where is not None:
            owners.setdefault(where, []).append(memory)
        elif memory.candidates and memory.status in (Status.ACTIVE, Status.HELD):
            lost.append(memory)
    forms = (
        {normal_form(each.candidate.content): place[each.candidate.id] for each in proposals if each.candidate.id in place}
        if lost
        else {}
    )
    for memory in lost:
        if (form := normal_form(memory.content)) in forms:
            owners.setdefault(forms[form], []).append(memory)
    return {group: tuple(sorted(memories, key=_seniority_order)) for group, memories in owners.items()}


def _seniority_order(memory: Memory) -> tuple[bool, datetime, str]:
    return (not is_person_owned(memory), memory.first_seen or DAWN, memory.id)
