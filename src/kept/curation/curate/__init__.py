"""Curation without a model: compute the operations on the memories of one group from its live candidates.

The target state of the memories follows from all live candidates of the group in order of event time. The operations are the
difference between this state and the present one. So neither the order in which files were read nor the number of runs affects the
result.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from kept.core.memory import (
    APPROVED,
    DOUBTED,
    SAID_ONCE,
    WITHDRAWAL,
    WITHDRAWN,
    Candidate,
    CandidateVerdict,
    Held,
    Memory,
    Refused,
    Status,
    Verdict,
)
from kept.core.operation import (
    ADVISED,
    ANSWERED,
    BOTH_HOLD,
    GAVE_WAY,
    MAY_CONTRADICT,
    NEWER_VALUE,
    REREAD,
    TAKEN_BACK,
    Add,
    Approve,
    Merge,
    Operation,
    Promote,
    Reaffirm,
    Resolve,
    Retire,
    Revise,
    Supersede,
)
from kept.core.statement import Statement, parse_statement
from kept.curation.curate.clusters import (
    Surroundings,
    find_clusters,
    find_pairs_by_meaning,
    find_similar_wishes,
    hold_template,
    is_pending_cluster,
    leave_out_untried,
    session_words,
)
from kept.curation.curate.conflicts import find_answers, find_conflicts, find_withdrawn
from kept.curation.curate.plans import (
    Plan,
    assign_memories,
    build_memory,
    build_plan,
    format_evidence_reason,
    format_session_count,
    has_new_facts,
    is_person_owned,
    pair_llm_merged,
    pair_rewordings,
    pair_with_memories,
    select_new_facts,
    time_order,
)
from kept.curation.curate.texts import Compared, compare_all, is_standing, list_texts
from kept.curation.curate.values import Meaning
from kept.curation.lifecycle import CurationRules

_NO_RULES = CurationRules()


def curate(
    judged: Iterable[CandidateVerdict],
    memories: Sequence[Memory],
    *,
    blocked: frozenset[str] = frozenset(),
    rules: CurationRules = _NO_RULES,
    surroundings: Surroundings = session_words,
    meaning: Meaning | None = None,
    compared: Compared | None = None,
    taken: Iterable[str] = (),
) -> tuple[Operation, ...]:
    """The operations that bring the memories of a group to the state that follows from its live candidates.

    A memory that a person wrote, edited, retired or rejected absorbs the candidates that say the same. It stays as it is until the
    person says explicitly that something changed. Any other newer contradiction is held for the person. Of two other memories that
    contradict each other, the later by event time replaces the earlier. If no rule is sure that they do, the earlier is held.

    ``blocked`` candidates, such as those of undone passes, are ignored. ``rules`` are the rules of the group's profile.
    ``surroundings`` returns the words around a wish. ``meaning`` returns the semantic similarity of texts, and is None without an
    embedding model. For a closed part of a group, ``compared`` has the pairs of texts to compare, and ``taken`` the ids of memories
    outside the part.
    """
    live = {each.candidate.id: each for each in judged if is_eligible(each.verdict) and each.candidate.id not in blocked}
    ordered = sorted(live.values(), key=time_order)
    proposals = [each for each in ordered if each.candidate.trigger != WITHDRAWAL]
    withdrawals = [each for each in ordered if each.candidate.trigger == WITHDRAWAL]
    standing = list(filter(is_standing, memories))
    compared = compared or compare_all(list_texts(proposals, memories))
    sources: list[Candidate | Memory] = [*(proposal.candidate for proposal in proposals), *standing]
    statements = [parse_statement(source.content, source.artifacts, source.fingerprint) for source in sources]
    linked = [*pair_with_memories(proposals, standing), *pair_rewordings(proposals)]
    linked += pair_llm_merged(proposals, memories)
    linked += find_similar_wishes(proposals)
    same_meaning = _pair_by_meaning(proposals, statements, memories, rules, meaning=meaning, compared=compared)
    linked += same_meaning
    gone = frozenset(memory.id for memory in memories if _is_gone(memory))
    groups = tuple(
        group
        for group in leave_out_untried(find_clusters(statements, linked), proposals)
        if not is_pending_cluster([proposals[i] for i in group if i < len(proposals)], len(group), surroundings)
    )
    owners = assign_memories(groups, proposals, standing, memories)
    known_ids = {*taken, *(memory.id for memory in memories)}
    plans = []
    lowest: dict[int, float] = {}  # by proposal: the lowest similarity to a later proposal that was joined with it by meaning
    for (place, _), score in same_meaning.items():
        if score:
            lowest[place] = min(score, lowest.get(place, score))
    nearness: list[float] = []  # by plan: the lowest similarity in its cluster, 0 if no proposals were joined by meaning
    for group in groups:
        nearness.append(min((lowest[i] for i in group if i in lowest), default=0.0))
        members = [proposals[i] for i in group if i < len(proposals)]
        known = {(each.candidate.content, each.candidate.artifacts): statements[i] for i, each in zip(group, members, strict=False)}
        plans.append(build_plan(hold_template(members, surroundings), owners.get(group[0], ()), known_ids, rules, known, gone=gone))
    conflicts = find_conflicts(plans, rules, compared, meaning)
    plans = [replace(plan, status=Status.ACTIVE) if place in conflicts.confirmed else plan for place, plan in enumerate(plans)]
    withdrawn, unclear = find_withdrawn(plans, conflicts.replaced, withdrawals)
    replaced = {place: by for place, by in conflicts.replaced.items() if place not in withdrawn}
    for each in unclear:
        resting = tuple(memory for memory in memories if each.candidate.id in memory.candidates)
        nearness.append(0.0)
        plans.append(build_plan([each], resting, known_ids, rules, {}, gone=gone))
    operations = [
        operation
        for place, plan in enumerate(plans)
        if not (place in withdrawn and _is_taken_back(plan))
        for operation in _plan_operations(
            plan,
            replaced=place in replaced,
            doubtful=place in conflicts.doubtful,
            beside=plans[conflicts.paired[place]].number if place in conflicts.paired else "",
            nearness=nearness[place],
        )
    ]
    for place, (by, at) in sorted(replaced.items()):
        operations += _supersede_operations(plans[place], plans[by].number, at)
    operations += [
        Retire(memory=plans[place].number, at=at, reason=f"{TAKEN_BACK} {at:%Y-%m-%d}")
        for place, at in sorted(withdrawn.items())
        if not _is_taken_back(plans[place])
    ]
    for question, answer in sorted(find_answers(plans, rules, replaced).items()):
        asked, later = plans[question], plans[answer]
        operations.append(Resolve(memory=asked.number, at=later.last, reason=ANSWERED, by=later.number))
    kept = {memory.id for plan in plans for memory in plan.found}
    operations += [
        Retire(memory=item.id, at=item.last_seen, reason=REREAD)
        for item in memories
        if item.id not in kept and item.status in (Status.ACTIVE, Status.HELD) and item.candidates and not is_person_owned(item)
    ]
    return tuple(operations)


def _is_gone(memory: Memory) -> bool:
    """True if what a memory replaced may hold again: it was retired or rejected, and not because a later prompt made it untrue."""
    return memory.status in (Status.RETIRED, Status.REJECTED) and not memory.reason.startswith(ADVISED)


def _is_taken_back(plan: Plan) -> bool:
    """True if the plan's memory is already retired because a person withdrew it."""
    return plan.winner is not None and plan.winner.status is Status.RETIRED and plan.winner.reason.startswith(TAKEN_BACK)


def _pair_by_meaning(
    proposals: Sequence[CandidateVerdict],
    statements: Sequence[Statement],
    memories: Sequence[Memory],
    rules: CurationRules,
    *,
    meaning: Meaning | None,
    compared: Compared,
) -> dict[tuple[int, int], float]:
    """The pairs of proposals that mean the same, with their similarity.

    Proposals of unknown similarity stay together if they belong to the same memory. Such pairs have the similarity 0.
    """
    mine = statements[: len(proposals)]
    texts = [proposal.candidate.content for proposal in proposals]
    # These categories have their own rules for several memories on one subject. So their wordings are not joined by meaning.
    apart = {
        place
        for place, proposal in enumerate(proposals)
        if proposal.candidate.category in rules.lasting | rules.gathered | rules.themes
    }
    first = {text: number for number, text in reversed([*enumerate(texts)])}
    places = ((first.get(one), first.get(other)) for one, other in compared.meanings())
    pairs = ((min(one, other), max(one, other)) for one, other in places if one is not None and other is not None)
    found = find_pairs_by_meaning(texts, mine, frozenset(apart), meaning, pairs) if meaning else None
    known_scores = {pair: score for pair, score in (found or {}).items() if score is not None}
    unknown = {item for pair in found if found[pair] is None for item in pair} if found is not None else set(range(len(mine)))
    if not unknown:
        return known_scores
    place = {proposal.candidate.id: number for number, proposal in enumerate(proposals)}
    together = ([place[candidate] for candidate in memory.candidates if place.get(candidate) in unknown] for memory in memories)
    return {(first, other): 0.0 for first, *others in filter(None, together) for other in others} | known_scores


# The reason for an operation that reactivates a person's own memory, because the memory that superseded it is gone.
_HOLDS_AGAIN = "what superseded it is gone"


def is_eligible(verdict: Verdict) -> bool:
    """True if a candidate takes part in curation: it was not refused, or only because it was said once."""
    return not isinstance(verdict, Refused) or verdict.reason == SAID_ONCE


def _plan_operations(plan: Plan, *, replaced: bool, doubtful: bool, beside: str, nearness: float) -> Iterator[Operation]:
    """Yield the operations on the memory of a plan.

    ``beside`` is the id of a memory that it may contradict, or empty. ``nearness`` is the lowest similarity of wordings that were
    joined by meaning, or 0 if none were.
    """
    facts, winner = plan.facts, plan.winner
    if winner is not None and facts is None and plan.gave_way and not replaced:
        yield Approve(memory=winner.id, at=winner.last_seen, reason=_HOLDS_AGAIN)
    if facts is None or plan.ended:
        return
    at, status = facts.last_seen, Status.HELD if doubtful or beside else plan.status
    reason = "held: it contradicts what you keep" if doubtful else format_evidence_reason(plan.members, facts, status)
    if status is Status.ACTIVE and plan.category != facts.category:
        reason = _promotion_reason(plan)
    reason = MAY_CONTRADICT if beside else f"{reason}; alike in meaning ({nearness:.2f})" if nearness else reason
    living = (
        winner is not None
        and (plan.is_person_owned or winner.status in (Status.ACTIVE, Status.HELD))
        and not (_is_doubted(plan) or (doubtful and plan.is_made_active))
        and not (winner.reason == NEWER_VALUE and status is Status.HELD)
        and not (beside and (winner.status, winner.superseded_by) != (Status.HELD, beside))
    )
    rest = tuple(
        memory.id
        for memory in plan.found
        if memory is not winner and not is_person_owned(memory) and memory.status in (Status.ACTIVE, Status.HELD)
    )
    if winner is None or not (living or replaced):
        if winner is not None and rest:
            yield Merge(memory=winner.id, at=at, reason="they say the same", losers=rest, facts=select_new_facts(winner, facts))
        value = build_memory(plan.number, plan.members[0].candidate, facts, status)
        took = (*winner.supersedes, *rest) if winner is not None else ()
        value = replace(value, supersedes=took, superseded_by=beside)
        yield Add(memory=plan.number, at=facts.first_seen, reason=reason, value=value)
        yield from _promote_operations(plan, facts.category)
        return
    promoted = not plan.is_person_owned and winner.category == facts.category != plan.category
    after = select_new_facts(winner, facts if promoted else replace(facts, category=plan.category))
    if winner.reason.startswith((APPROVED, BOTH_HOLD)):
        reason = winner.reason
    if rest:
        yield Merge(memory=winner.id, at=at, reason="they say the same", losers=rest, facts=after)
        yield Reaffirm(memory=winner.id, at=at, reason=reason, facts=replace(after, added=(), dropped=()))
    elif after.content != winner.content or after.category != winner.category:
        yield Revise(memory=winner.id, at=at, reason=reason, facts=after)
    elif has_new_facts(winner, after):
        yield Reaffirm(memory=winner.id, at=at, reason=reason, facts=after)
    if promoted:
        yield from _promote_operations(plan, winner.category)
    back = winner.status is Status.HELD and not winner.owned
    if status is Status.ACTIVE and not replaced and (back or plan.gave_way):
        yield Approve(memory=winner.id, at=at, reason=reason)


def _is_doubted(plan: Plan) -> bool:
    """True if kept made the plan's memory active, but a model doubts all its candidates, or the person took them back since. Such a
    memory is held.
    """
    reasons = (DOUBTED, WITHDRAWN)
    doubts = all(isinstance(member.verdict, Held) and member.verdict.reason in reasons for member in plan.members)
    return bool(plan.members) and doubts and plan.is_made_active


def _promote_operations(plan: Plan, category: str) -> Iterator[Operation]:
    if plan.facts is not None and plan.category != category:
        yield Promote(memory=plan.number, at=plan.facts.last_seen, reason=_promotion_reason(plan), category=plan.category)


def _promotion_reason(plan: Plan) -> str:
    return f"decided in {format_session_count(plan.facts.observations if plan.facts else 0)}"


def _supersede_operations(plan: Plan, by: str, at: datetime) -> Iterator[Operation]:
    winner, reason = plan.winner, f"{GAVE_WAY} {at:%Y-%m-%d}; said otherwise since"
    known = winner is not None and (winner.status, winner.superseded_by, winner.reason) == (Status.SUPERSEDED, by, reason)
    if plan.ended or (known and winner and not (plan.facts and has_new_facts(winner, select_new_facts(winner, plan.facts)))):
        return
    yield Supersede(memory=plan.number, at=at, reason=reason, by=by)
