"""Curation without a model: live candidates of one group and the memories it has → the operations that bring them together.

What the memories should be is computed from all live candidates of the group in event-time order, and the operations are the
difference to what they are. So neither the order in which files were read nor the number of runs can change the outcome.
Knows nothing of where candidates come from, nor of other groups.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from math import ceil

from kept.model.codec import digest
from kept.model.event import Origin
from kept.model.lifecycle import Rules, gather, same_ground
from kept.model.memory import Accepted, Candidate, Evidence, Judged, Memory, Refused, Status
from kept.model.operation import (
    FADED,
    WITHDRAWN,
    Add,
    Approve,
    Facts,
    Merge,
    Operation,
    Promote,
    Reaffirm,
    Retire,
    Revise,
    Supersede,
)
from kept.model.statement import CLOSE, NEAR, Statement, handles, replaces, same, statement

DOSSIER_CHARACTERS = 1_000
OFTEN = 3  # distinct sessions that say the same make it certain
_DAWN = datetime.min.replace(tzinfo=UTC)
PLAIN = Rules()
_ENDED = (Status.RESOLVED, Status.REJECTED, Status.RETIRED)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What one cluster should be: its members, the memories it has, what its evidence says, and the memory that will be it.

    ``winner`` is None where there is none yet; ``number`` is its id either way. ``members`` is empty for a person's words alone.
    ``category`` is where it belongs by now, after a promotion. ``ended`` says that it was resolved or retired for a reason that seeing it again does not change.
    """

    members: tuple[Judged, ...]
    found: tuple[Memory, ...]
    facts: Facts | None
    status: Status
    winner: Memory | None
    number: str
    ended: bool
    says: Statement
    category: str

    @property
    def fixed(self) -> bool:
        """Whether a person has the say over it."""
        return self.winner is not None and _untouchable(self.winner)

    @property
    def last(self) -> datetime | None:
        """When it was last said."""
        times = [each.last_seen for each in (self.facts, self.winner if self.fixed else None) if each and each.last_seen]
        return max(times, default=None)

    @property
    def stands(self) -> bool:
        """Whether it can take the place of another: active, by its evidence or by a person's decision."""
        active = self.winner is not None and self.winner.status is Status.ACTIVE if self.fixed else self.status is Status.ACTIVE
        return active and not self.ended


def curate(
    judged: Iterable[Judged],
    memories: Sequence[Memory],
    *,
    blocked: frozenset[str] = frozenset(),
    rules: Rules = PLAIN,
) -> tuple[Operation, ...]:
    """The operations that make the memories of a group what its live candidates say they should be.

    ``blocked`` candidates are those of undone passes. What a person wrote, edited, retired or rejected attracts the candidates
    that say the same, and stays as the person left it; a newer contradiction of it is held for the person. Otherwise the later of
    two that contradict each other takes the place of the earlier, by event time. ``rules`` are those of the group's profile.
    """
    live = {
        each.candidate.id: each for each in judged if not isinstance(each.verdict, Refused) and each.candidate.id not in blocked
    }
    proposals = sorted(live.values(), key=_time_order)
    standing = [each for each in memories if _untouchable(each) and each.content]
    statements = [statement(each.candidate.content, each.candidate.artifacts, each.candidate.fingerprint) for each in proposals]
    statements += [statement(each.content, each.artifacts, each.fingerprint) for each in standing]
    linked = [*_rests_on(proposals, standing), *_reworded(proposals), *_of_one_subject(proposals, standing, rules)]
    groups = clusters(statements, linked)
    owners = _owners(groups, proposals, standing, memories)
    taken = {each.id for each in memories}
    plans = []
    for group in groups:
        members = [proposals[i] for i in group if i < len(proposals)]
        known = {(each.candidate.content, each.candidate.artifacts): statements[i] for i, each in zip(group, members, strict=False)}
        plans.append(_plan(members, owners.get(group[0], ()), taken, rules, known))
    replaced, doubtful = _conflicts(plans, rules)
    operations = [
        operation
        for place, plan in enumerate(plans)
        for operation in _settle(plan, replaced=place in replaced, doubtful=place in doubtful)
    ]
    for place, (by, at) in sorted(replaced.items()):
        operations += _supersede(plans[place], plans[by].number, at)
    kept = {each.id for plan in plans for each in plan.found}
    operations += [
        Retire(memory=each.id, at=each.last_seen, reason=WITHDRAWN)
        for each in memories
        if each.id not in kept and each.status in (Status.ACTIVE, Status.HELD) and each.candidates and not _untouchable(each)
    ]
    return tuple(operations)


def _time_order(judged: Judged) -> tuple[datetime, str]:
    return (judged.candidate.at or _DAWN, judged.candidate.id)


def _untouchable(memory: Memory) -> bool:
    return memory.owned or memory.pinned


def _rests_on(proposals: Sequence[Judged], standing: Sequence[Memory]) -> list[tuple[int, int]]:
    """Which proposals belong to what a person has put in other words since."""
    place = {each.candidate.id: i for i, each in enumerate(proposals)}
    return [(place[each], len(proposals) + i) for i, memory in enumerate(standing) for each in memory.candidates if each in place]


def _reworded(proposals: Sequence[Judged]) -> list[tuple[int, int]]:
    """Which proposals put others in better words."""
    place = {each.candidate.id: i for i, each in enumerate(proposals)}
    return [(place[each.candidate.rewords], i) for i, each in enumerate(proposals) if each.candidate.rewords in place]


def _of_one_subject(proposals: Sequence[Judged], standing: Sequence[Memory], rules: Rules) -> Iterator[tuple[int, int]]:
    """Which proposals and which memories of a person's make one dossier: those of one category about the same subject."""
    first: dict[tuple[str, str], int] = {}
    about = [(each.candidate.category, each.candidate.subject) for each in proposals]
    about += [(each.category, each.subject) for each in standing]
    for place, (category, subject) in enumerate(about):
        if subject and category in rules.gathered:
            yield first.setdefault((category, subject.casefold()), place), place


def clusters(statements: Sequence[Statement], linked: Iterable[tuple[int, int]] = ()) -> tuple[tuple[int, ...], ...]:
    """Indices of statements that say the same, transitively; each cluster sorted, clusters by their first member.

    ``linked`` pairs belong together whatever they say.

    Equal texts are one from the start. Of the others only pairs that share two rare words are compared (the prefix filter of an exact
    Jaccard join: Bayardo, Ma, Srikant 2007), so the cost stays near linear for statements about different things.
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
    first: dict[tuple[object, ...], int] = {}
    for i, each in enumerate(statements):
        for key in ((each.form,), *(((each.fingerprint, each.remedy),) if each.fingerprint and each.remedy else ())):
            a, b = root(first.setdefault(key, i)), root(i)
            parent[max(a, b)] = min(a, b)
    distinct = {(each.form, each.artifacts, each.fingerprint): i for i, each in reversed([*enumerate(statements)])}
    for i, j in _pairs(statements, sorted(distinct.values())):
        a, b = root(i), root(j)
        if a != b and same(statements[i], statements[j]):
            parent[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for i in range(len(statements)):
        found.setdefault(root(i), []).append(i)
    return tuple(tuple(each) for _, each in sorted(found.items()))


def _pairs(statements: Sequence[Statement], places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The pairs that can say the same: they share two rare words of their content and are of like length."""
    frequency = Counter(word for each in statements for word in each.content)
    index: dict[tuple[object, tuple[str, str]], list[int]] = {}
    for i in places:
        each = statements[i]
        size = len(each.content)
        rare = sorted(each.content, key=lambda word: (frequency[word], word))
        least = NEAR
        keys: list[tuple[object, tuple[str, str]]] = [("", pair) for pair in _prefix(rare, NEAR)]
        if each.artifacts:
            least = CLOSE
            keys += [(each.artifacts, pair) for pair in _prefix(rare, CLOSE)]
        if each.fingerprint and not each.remedy:
            least = NEAR / 2
            keys += [(each.fingerprint, pair) for pair in _prefix(rare, NEAR / 2)]
        seen: set[int] = set()
        for key in keys:
            others = index.setdefault(key, [])
            for j in others:
                if j not in seen and least * size <= len(statements[j].content) <= size / least:
                    seen.add(j)
                    yield j, i
            others.append(i)


def _prefix(rare: Sequence[str], least: float) -> Iterator[tuple[str, str]]:
    """The pairs of rare words of which two sets as alike as ``least`` share at least one; both sets have two words or more."""
    return combinations(rare[: len(rare) - ceil(least * len(rare)) + 2], 2)


def _owners(
    groups: Sequence[tuple[int, ...]], proposals: Sequence[Judged], standing: Sequence[Memory], memories: Sequence[Memory]
) -> Mapping[int, tuple[Memory, ...]]:
    """Which memories each cluster (by its first index) already has: by candidates they rest on, or by a person's words."""
    place = {proposals[i].candidate.id: group[0] for group in groups for i in group if i < len(proposals)}
    spoken = {standing[i - len(proposals)].id: group[0] for group in groups for i in group if i >= len(proposals)}
    owners: dict[int, list[Memory]] = {}
    for memory in memories:
        groups_of = [place[each] for each in memory.candidates if each in place]
        where = spoken.get(memory.id, min(groups_of) if groups_of else None)
        if where is not None:
            owners.setdefault(where, []).append(memory)
    return {group: tuple(sorted(found, key=_seniority)) for group, found in owners.items()}


def _seniority(memory: Memory) -> tuple[bool, datetime, str]:
    return (not _untouchable(memory), memory.first_seen or _DAWN, memory.id)


def _plan(
    members: Sequence[Judged],
    found: tuple[Memory, ...],
    taken: set[str],
    rules: Rules,
    known: Mapping[tuple[str, tuple[str, ...]], Statement],
) -> _Plan:
    facts, status = _facts(members, rules) if members else (None, Status.ACTIVE)
    ids = {each.id for each in found}
    living = [each for each in found if _untouchable(each) or each.status in (Status.ACTIVE, Status.HELD)]
    ended = not living and any(each.status in _ENDED and not _returns(each, facts) for each in found)
    merged = [each for each in found if each.superseded_by in ids]
    winner = next(iter((*living, *(each for each in found if each not in merged), *found)), None)
    fixed = winner is not None and _untouchable(winner)
    source = winner if winner is not None and (fixed or facts is None) else facts
    if source is None:
        raise ValueError("a cluster needs a member or a memory")
    often = not fixed and facts is not None and facts.observations >= OFTEN
    return _Plan(
        members=tuple(members),
        found=found,
        facts=facts,
        status=status,
        winner=winner,
        number=winner.id if winner else _new_id(members[0].candidate, taken),
        ended=ended,
        says=known.get((source.content, source.artifacts)) or statement(source.content, source.artifacts, source.fingerprint),
        category=rules.promotions.get(source.category, source.category) if often else source.category,
    )


def _returns(memory: Memory, facts: Facts | None) -> bool:
    """Whether what was ended comes back: nobody judged it when its proposals went, and what faded was said again since."""
    again = facts is not None and facts.last_seen is not None and memory.ended_at is not None and facts.last_seen > memory.ended_at
    return memory.reason == WITHDRAWN or (memory.reason.startswith(FADED) and again)


def _conflicts(plans: Sequence[_Plan], rules: Rules) -> tuple[dict[int, tuple[int, datetime]], set[int]]:
    """Which plans give way, to which one and when; and which contradict something older that a person keeps.

    A plan gives way to the first one after it that leaves no room for it, provided that one is active and as well trusted.
    """
    filed: dict[tuple[str, object], list[int]] = {}
    dated = [(plan.last, place) for place, plan in enumerate(plans) if plan.last is not None and plan.category not in rules.lasting]
    replaced: dict[int, tuple[int, datetime]] = {}
    doubtful: set[int] = set()
    for last, later in sorted(dated):
        plan = plans[later]
        known = {other: None for handle in handles(plan.says) for other in filed.get(handle, ())}
        for earlier in known:
            before = plans[earlier].last
            if earlier in replaced or before is None or before >= last or not replaces(plan.says, plans[earlier].says):
                continue
            if plans[earlier].fixed:
                if not plan.fixed and plans[earlier].stands:
                    doubtful.add(later)
            elif plan.stands and _rank(plan) <= _rank(plans[earlier]):
                since = [each.candidate.at for each in plan.members if each.candidate.at and each.candidate.at > before]
                replaced[earlier] = (later, min(since, default=last))
        for handle in handles(plan.says):
            filed.setdefault(handle, []).append(later)
    replaced |= _revalued(
        [(last, place) for last, place in sorted(dated) if plans[place].category not in rules.gathered], plans, replaced
    )
    replaced |= _outgrown(
        [(last, place) for last, place in sorted(dated) if plans[place].category in rules.themes], plans, replaced
    )
    return {each: by for each, by in replaced.items() if by[0] not in doubtful}, doubtful


def _revalued(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[_Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """Which plans give way to a later value of the same thing: where somebody lives, what their machine is."""
    latest: dict[tuple[str, str], int] = {}
    found: dict[int, tuple[int, datetime]] = {}
    for last, later in dated:
        plan = plans[later]
        thing = (plan.category, plan.facts.subject.casefold() if plan.facts else "")
        if not thing[1] or not plan.stands or later in replaced:
            continue
        earlier = latest.get(thing)
        if earlier is not None and not plans[earlier].fixed:
            found[earlier] = (later, last)
        latest[thing] = later
    return found


def _outgrown(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[_Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """Which themes give way to a later one on the same ground, and when. Only those that share two words are compared."""
    filed: dict[str, list[int]] = {}
    found: dict[int, tuple[int, datetime]] = {}
    for last, later in dated:
        plan = plans[later]
        shared = Counter(place for word in plan.says.content for place in filed.get(word, ()))
        for earlier in sorted(
            place for place, count in shared.items() if count > 1 and place not in found and place not in replaced
        ):
            other = plans[earlier]
            if plan.stands and not other.fixed and other.category == plan.category and same_ground(plan.says, other.says):
                found[earlier] = (later, last)
        for word in plan.says.content:
            filed.setdefault(word, []).append(later)
    return found


def _rank(plan: _Plan) -> int:
    return Origin.USER.rank if plan.fixed or plan.facts is None else plan.facts.origin.rank


def _settle(plan: _Plan, *, replaced: bool, doubtful: bool) -> Iterator[Operation]:
    facts, winner = plan.facts, plan.winner
    if facts is None or plan.ended:
        return
    at, status = facts.last_seen, Status.HELD if doubtful else plan.status
    living = winner is not None and (plan.fixed or winner.status in (Status.ACTIVE, Status.HELD))
    if winner is None or not (living or replaced):
        reason = "held: it contradicts what you keep" if doubtful else _reason(plan.members, facts)
        value = _memory(plan.number, plan.members[0].candidate, facts, status)
        took = winner.supersedes if winner is not None else ()
        yield Add(memory=plan.number, at=facts.first_seen, reason=reason, value=replace(value, supersedes=took))
        yield from _promotion(plan, facts.category)
        return
    rest = tuple(
        each.id
        for each in plan.found
        if each is not winner and not _untouchable(each) and each.status in (Status.ACTIVE, Status.HELD)
    )
    promoted = not plan.fixed and winner.category == facts.category != plan.category
    moved = _difference(winner, facts if promoted else replace(facts, category=plan.category))
    if rest:
        yield Merge(memory=winner.id, at=at, reason="they say the same", losers=rest, facts=moved)
    elif moved.content != winner.content or moved.category != winner.category:
        yield Revise(memory=winner.id, at=at, reason="a clearer or newer wording", facts=moved)
    elif _moved(winner, moved):
        yield Reaffirm(memory=winner.id, at=at, reason=f"seen in {_count(facts.observations)}", facts=moved)
    if promoted:
        yield from _promotion(plan, winner.category)
    if winner.status is Status.HELD and status is Status.ACTIVE and not winner.owned:
        often = facts.observations >= OFTEN
        yield Approve(
            memory=winner.id, at=at, reason=f"seen in {_count(facts.observations)}" if often else "confidence reached the floor"
        )


def _promotion(plan: _Plan, category: str) -> Iterator[Operation]:
    if plan.facts is not None and plan.category != category:
        reason = f"decided in {_count(plan.facts.observations)}"
        yield Promote(memory=plan.number, at=plan.facts.last_seen, reason=reason, category=plan.category)


def _supersede(plan: _Plan, by: str, at: datetime) -> Iterator[Operation]:
    winner, reason = plan.winner, f"it was so until {at:%Y-%m-%d}; said otherwise since"
    known = winner is not None and (winner.status, winner.superseded_by, winner.reason) == (Status.SUPERSEDED, by, reason)
    if plan.ended or (known and winner and plan.facts and not _moved(winner, _difference(winner, plan.facts))):
        return
    yield Supersede(memory=plan.number, at=at, reason=reason, by=by)


def _facts(members: Sequence[Judged], rules: Rules) -> tuple[Facts, Status]:
    accepted = [each for each in members if isinstance(each.verdict, Accepted)]
    # Better words for the same are what they were asked for.
    best = max(
        accepted or members, key=lambda each: (each.candidate.rewords != "", each.candidate.confidence, *_time_order(each))
    ).candidate
    candidates = [each.candidate for each in members]
    evidence = _evidence(candidates)
    times = [each.at for each in candidates if each.at is not None]
    sessions = _sessions(candidates)
    often = sessions >= OFTEN
    subject = best.subject or next((each.subject for each in candidates if each.subject), "")
    facts = Facts(
        content=_dossier(accepted or members, subject) if subject and best.category in rules.gathered else best.content,
        category=best.category,
        confidence=round(min(0.99, best.confidence + (0.05 if best.fingerprint else 0.02) * (max(1, sessions) - 1)), 4),
        origin=min((each.origin for each in candidates), key=lambda origin: origin.rank, default=Origin.TOOL),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        observations=max(1, sessions),
        artifacts=tuple(dict.fromkeys(name for each in candidates for name in each.artifacts)) if subject else best.artifacts,
        candidates=tuple(sorted(each.id for each in candidates)),
        added=evidence,
        valid_until=best.valid_until,
        trigger=best.trigger,
        fingerprint=best.fingerprint,
        subject=subject,
    )
    return facts, Status.ACTIVE if accepted or often else Status.HELD


def _dossier(members: Sequence[Judged], subject: str) -> str:
    parts = [
        (each.candidate.at, each.candidate.content, statement(each.candidate.content, each.candidate.artifacts)) for each in members
    ]
    return gather(parts, subject, DOSSIER_CHARACTERS)


def _sessions(candidates: Sequence[Candidate]) -> int:
    """In how many sessions it was said by the user; a fix counts by the sessions in which it was applied.

    An event that several sessions tell (a copy, a resumed conversation) counts once.
    """
    where: dict[str, str] = {}
    for candidate in candidates:
        for each in candidate.evidence:
            if candidate.fingerprint or (candidate.origin is Origin.USER and each.origin is Origin.USER):
                where[each.event] = min(each.session, where.get(each.event, each.session))
    return len(set(where.values()))


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
        facts.valid_until, facts.trigger, facts.fingerprint, facts.subject,
    )  # fmt: skip
    before = (
        memory.confidence, memory.origin, memory.first_seen, memory.last_seen, memory.observations, memory.artifacts,
        memory.candidates, memory.valid_until, memory.trigger, memory.fingerprint, memory.subject,
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
        subject=facts.subject,
    )  # fmt: skip


def _reason(members: Sequence[Judged], facts: Facts) -> str:
    if facts.observations >= OFTEN:
        return f"seen in {_count(facts.observations)}"
    verdict = members[-1].verdict
    return "accepted" if isinstance(verdict, Accepted) else f"held: {verdict.reason}"


def _count(sessions: int) -> str:
    return "one session" if sessions == 1 else f"{sessions} sessions"
