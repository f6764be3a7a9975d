"""Curation without a model: live candidates of one group and the memories it has → the operations that bring them together.

What the memories should be is computed from all live candidates of the group in event-time order, and the operations are the
difference to what they are. So neither the order in which files were read nor the number of runs can change the outcome.
Knows nothing of where candidates come from, nor of other groups.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil

from kept.model.codec import digest
from kept.model.event import Origin
from kept.model.memory import Accepted, Candidate, Evidence, Judged, Memory, Refused, Status
from kept.model.operation import Add, Approve, Facts, Merge, Operation, Reaffirm, Retire, Revise
from kept.model.text import likeness, negations, normal_form, numbers, tokens

NEAR = 0.82  # token likeness from which two statements are the same one in other words
GONE = "its evidence is no longer proposed"
_DAWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A text as curation compares it."""

    form: str
    words: frozenset[str]
    artifacts: frozenset[str]
    fingerprint: str


def curate(judged: Iterable[Judged], memories: Sequence[Memory], *, blocked: frozenset[str] = frozenset()) -> tuple[Operation, ...]:
    """The operations that make the memories of a group what its live candidates say they should be.

    ``blocked`` candidates are those of undone passes. What a person wrote, edited, retired or rejected attracts the candidates
    that say the same, and stays as the person left it.
    """
    live = {
        each.candidate.id: each for each in judged if not isinstance(each.verdict, Refused) and each.candidate.id not in blocked
    }
    proposals = sorted(live.values(), key=_time_order)
    standing = [each for each in memories if (each.owned or each.pinned) and each.content]
    statements = [statement(each.candidate.content, each.candidate.artifacts, each.candidate.fingerprint) for each in proposals]
    statements += [statement(each.content, each.artifacts, each.fingerprint) for each in standing]
    groups = clusters(statements, _rests_on(proposals, standing))
    owners = _owners(groups, proposals, standing, memories)
    operations: list[Operation] = []
    taken = {each.id for each in memories}
    kept: set[str] = set()
    for group in groups:
        members = [proposals[i] for i in group if i < len(proposals)]
        found = owners.get(group[0], ())
        kept.update(each.id for each in found)
        if members:
            operations += _settle(members, found, taken)
    for memory in memories:
        if (
            memory.id not in kept
            and memory.status in (Status.ACTIVE, Status.HELD)
            and memory.candidates
            and not _untouchable(memory)
        ):
            operations.append(Retire(memory=memory.id, at=memory.last_seen, reason=GONE))
    return tuple(operations)


def _time_order(judged: Judged) -> tuple[datetime, str]:
    return (judged.candidate.at or _DAWN, judged.candidate.id)


def _untouchable(memory: Memory) -> bool:
    return memory.owned or memory.pinned


def statement(text: str, artifacts: Iterable[str], fingerprint: str) -> Statement:
    """What of a text is compared with others."""
    return Statement(
        form=normal_form(text),
        words=tokens(text),
        artifacts=frozenset(each.casefold() for each in artifacts),
        fingerprint=fingerprint,
    )


def same(left: Statement, right: Statement) -> bool:
    """Whether two texts state the same: equal normal forms, or near-duplicates that agree in numbers, negations and artifacts."""
    if left.form == right.form:
        return True
    if numbers(left.words) != numbers(right.words) or negations(left.words) != negations(right.words):
        return False
    if not (left.artifacts <= right.artifacts or right.artifacts <= left.artifacts):
        return False
    if left.fingerprint and left.fingerprint == right.fingerprint:
        return likeness(left.words, right.words) >= NEAR / 2
    return likeness(left.words, right.words) >= NEAR


def _rests_on(proposals: Sequence[Judged], standing: Sequence[Memory]) -> list[tuple[int, int]]:
    """Which proposals belong to what a person has put in other words since."""
    place = {each.candidate.id: i for i, each in enumerate(proposals)}
    return [(place[each], len(proposals) + i) for i, memory in enumerate(standing) for each in memory.candidates if each in place]


def clusters(statements: Sequence[Statement], linked: Iterable[tuple[int, int]] = ()) -> tuple[tuple[int, ...], ...]:
    """Indices of statements that say the same, transitively; each cluster sorted, clusters by their first member.

    ``linked`` pairs belong together whatever they say.

    Only pairs that share a rare word are compared (the prefix filter of an exact Jaccard join: Bayardo, Ma, Srikant 2007), so the
    cost stays near linear for statements about different things.
    """
    parent = list(range(len(statements)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in linked:
        a, b = root(i), root(j)
        parent[max(a, b)] = min(a, b)
    for i, j in _pairs(statements):
        a, b = root(i), root(j)
        if a != b and same(statements[i], statements[j]):
            parent[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for i in range(len(statements)):
        found.setdefault(root(i), []).append(i)
    return tuple(tuple(each) for _, each in sorted(found.items()))


def _pairs(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    frequency = Counter(word for each in statements for word in each.words)
    index: dict[str, list[int]] = {}
    for i, each in enumerate(statements):
        rare_first = sorted(each.words, key=lambda word: (frequency[word], word))
        least = NEAR / 2 if each.fingerprint else NEAR
        keys = [f"form:{each.form}", *rare_first[: len(rare_first) - ceil(least * len(rare_first)) + 1]]
        if each.fingerprint:
            keys.append(f"fingerprint:{each.fingerprint}")
        seen: set[int] = set()
        for key in keys:
            for j in index.setdefault(key, []):
                if j not in seen:
                    seen.add(j)
                    yield j, i
            index[key].append(i)


def _owners(
    groups: Sequence[tuple[int, ...]], proposals: Sequence[Judged], standing: Sequence[Memory], memories: Sequence[Memory]
) -> Mapping[int, tuple[Memory, ...]]:
    """Which memories each cluster (by its first index) already has: by candidates they rest on, or by a person's words."""
    place = {proposals[i].candidate.id: group[0] for group in groups for i in group if i < len(proposals)}
    spoken = {standing[i - len(proposals)].id: group[0] for group in groups for i in group if i >= len(proposals)}
    owners: dict[int, list[Memory]] = {}
    for memory in memories:
        if memory.status is Status.SUPERSEDED and not _untouchable(memory):
            continue
        groups_of = [place[each] for each in memory.candidates if each in place]
        where = spoken.get(memory.id, min(groups_of) if groups_of else None)
        if where is not None:
            owners.setdefault(where, []).append(memory)
    return {group: tuple(sorted(found, key=_seniority)) for group, found in owners.items()}


def _seniority(memory: Memory) -> tuple[bool, datetime, str]:
    return (not _untouchable(memory), memory.first_seen or _DAWN, memory.id)


def _settle(members: Sequence[Judged], found: Sequence[Memory], taken: set[str]) -> Iterator[Operation]:
    facts, status = _facts(members)
    at = facts.last_seen
    living = [each for each in found if _untouchable(each) or each.status in (Status.ACTIVE, Status.HELD)]
    if found and not living and found[0].reason != GONE:
        return  # it was superseded or resolved: seeing it again changes nothing
    if not living:
        number = found[0].id if found else _new_id(members[0].candidate, taken)
        yield Add(
            memory=number, at=facts.first_seen, reason=_reason(members), value=_memory(number, members[0].candidate, facts, status)
        )
        return
    winner, rest = living[0], [each for each in living[1:] if not _untouchable(each)]
    settled = _difference(winner, facts)
    if rest:
        losers = tuple(each.id for each in rest)
        yield Merge(memory=winner.id, at=at, reason="they say the same", losers=losers, facts=settled)
    elif settled.content != winner.content or settled.category != winner.category:
        yield Revise(memory=winner.id, at=at, reason="a clearer or newer wording", facts=settled)
    elif _moved(winner, settled):
        yield Reaffirm(memory=winner.id, at=at, reason=f"seen in {_count(facts.observations)}", facts=settled)
    if winner.status is Status.HELD and status is Status.ACTIVE and not winner.owned:
        yield Approve(memory=winner.id, at=at, reason="confidence reached the floor")


def _facts(members: Sequence[Judged]) -> tuple[Facts, Status]:
    accepted = [each for each in members if isinstance(each.verdict, Accepted)]
    best = max(accepted or members, key=lambda each: (each.candidate.confidence, *_time_order(each))).candidate
    candidates = [each.candidate for each in members]
    evidence = _evidence(candidates)
    times = [each.at for each in candidates if each.at is not None]
    sessions = len({each.session for each in evidence}) or 1
    facts = Facts(
        content=best.content,
        category=best.category,
        confidence=round(min(0.99, best.confidence + 0.02 * (sessions - 1)), 4),
        origin=min((each.origin for each in candidates), key=lambda origin: origin.rank, default=Origin.TOOL),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        observations=sessions,
        artifacts=best.artifacts,
        candidates=tuple(sorted(each.id for each in candidates)),
        added=evidence,
        valid_until=best.valid_until,
        trigger=best.trigger,
        fingerprint=best.fingerprint,
    )
    return facts, Status.ACTIVE if accepted else Status.HELD


def _evidence(candidates: Iterable[Candidate]) -> tuple[Evidence, ...]:
    unique = {(each.event, each.quote): each for candidate in candidates for each in candidate.evidence}
    return tuple(sorted(unique.values(), key=lambda each: (each.at is None, each.at, each.event, each.quote)))


def _difference(memory: Memory, facts: Facts) -> Facts:
    """The facts for a memory that exists: only evidence that is new to it, and a person's own words left alone."""
    have = {(each.event, each.quote) for each in memory.evidence}
    want = {(each.event, each.quote) for each in facts.added}
    proposed = frozenset(memory.candidates) & frozenset(facts.candidates) or not memory.owned
    gone = tuple(dict.fromkeys(each.event for each in memory.evidence if (each.event, each.quote) not in want)) if proposed else ()
    dropped = () if _untouchable(memory) else gone
    added = tuple(each for each in facts.added if (each.event, each.quote) not in have or each.event in dropped)
    facts = replace(facts, added=added, dropped=dropped)
    if not _untouchable(memory):
        return facts
    times = [each for each in (memory.first_seen, facts.first_seen) if each is not None]
    last = [each for each in (memory.last_seen, facts.last_seen) if each is not None]
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
        candidates=tuple(sorted({*memory.candidates, *facts.candidates})),
    )


def _moved(memory: Memory, facts: Facts) -> bool:
    after = (
        facts.confidence, facts.origin, facts.first_seen, facts.last_seen, facts.observations, facts.artifacts, facts.candidates,
        facts.valid_until, facts.trigger, facts.fingerprint,
    )  # fmt: skip
    before = (
        memory.confidence, memory.origin, memory.first_seen, memory.last_seen, memory.observations, memory.artifacts,
        memory.candidates, memory.valid_until, memory.trigger, memory.fingerprint,
    )  # fmt: skip
    return bool(facts.added or facts.dropped) or before != after


def _new_id(candidate: Candidate, taken: set[str]) -> str:
    number, turn = digest(candidate.id, size=5), 0
    while number in taken:
        turn += 1
        number = digest(candidate.id, str(turn), size=5)
    taken.add(number)
    return number


def _memory(number: str, candidate: Candidate, facts: Facts, status: Status) -> Memory:
    return Memory(
        id=number, profile=candidate.profile, category=facts.category, scope=candidate.scope, status=status, content=facts.content,
        confidence=facts.confidence, origin=facts.origin, first_seen=facts.first_seen, last_seen=facts.last_seen,
        artifacts=facts.artifacts, evidence=facts.added, candidates=facts.candidates, observations=facts.observations,
        valid_until=facts.valid_until, trigger=facts.trigger, fingerprint=facts.fingerprint,
    )  # fmt: skip


def _reason(members: Sequence[Judged]) -> str:
    verdict = members[-1].verdict
    return "accepted" if isinstance(verdict, Accepted) else f"held: {verdict.reason}"


def _count(sessions: int) -> str:
    return "one session" if sessions == 1 else f"{sessions} sessions"
