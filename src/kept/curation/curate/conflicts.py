"""Find conflicts between plans.

A plan may be replaced by a later one, contradict a memory that a person decided on, or be one of a pair between which a person
must decide. This module also finds the plans that a person withdrew, and the plans that answer open questions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from kept.core.event import Origin
from kept.core.memory import APPROVED, TAKES_BACK, CandidateVerdict, Status
from kept.core.operation import BOTH_HOLD
from kept.core.statement import find_content, roots_of
from kept.core.value import dataclass, field
from kept.curation.curate.plans import Plan
from kept.curation.curate.texts import Compared, find_value_pairs
from kept.curation.curate.values import Meaning, parse_value_statement
from kept.curation.lifecycle import CurationRules, is_answer_to_question, is_same_theme

_PARALLEL = timedelta(hours=12)  # themes closer in time than this are parallel parts of the work


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflicts:
    """Conflicts between plans. Each plan is given by its index.

    ``replaced`` maps a plan to its successor and the time. ``doubtful`` plans contradict an older plan that stays. ``paired`` maps
    a plan to a later one that it may contradict, if no check is certain. ``confirmed`` plans give an earlier rule a new value. They
    become active even if they may not be meant as rules by themselves.
    """

    replaced: dict[int, tuple[int, datetime]]
    doubtful: set[int]
    paired: dict[int, int] = field(default_factory=dict)
    confirmed: set[int] = field(default_factory=set)


def find_conflicts(plans: Sequence[Plan], rules: CurationRules, compared: Compared, meaning: Meaning | None) -> Conflicts:
    """Find the conflicts between plans. Only ``compared`` pairs of texts are examined. ``meaning`` returns the similarity of texts.

    A plan is replaced by the first later plan that contradicts it, is active, and is at least as trusted.
    """
    dated = [(plan.last, place) for place, plan in enumerate(plans) if plan.last is not None and plan.category not in rules.lasting]
    replaced: dict[int, tuple[int, datetime]] = {}
    doubtful: set[int] = set()
    dated.sort()
    texts = [compared.find_saying(plans[place].content, plans[place].says) for _, place in dated]
    compared_places = _find_places(compared.values(), [plans[place].content for _, place in dated])
    pairs = sorted(find_value_pairs(texts, meaning, compared_places), key=lambda pair: (pair[1], pair[0]))
    for last, later, earlier in ((*dated[later], dated[earlier][1]) for earlier, later, is_sure in pairs if is_sure):
        plan, before = plans[later], plans[earlier].last
        if earlier in replaced or before is None or before >= last or plan.is_unsure:
            continue
        if not _can_replace(plan, plans[earlier]):
            if not plan.is_person_owned and plans[earlier].is_active:
                doubtful.add(later)
        elif plan.was_active and _trust_rank(plan) <= _trust_rank(plans[earlier]):
            since = [member.candidate.at for member in plan.members if member.candidate.at and member.candidate.at > before]
            replaced[earlier] = (later, min(since, default=last))
    replaced |= _find_newer_values([item for item in dated if plans[item[1]].category not in rules.gathered], plans, replaced)
    replaced |= _find_newer_themes([item for item in dated if plans[item[1]].category in rules.themes], plans, replaced)
    replaced |= _find_handovers(plans, replaced)
    replaced = {each: by for each, by in replaced.items() if by[0] not in doubtful}
    conflicts = Conflicts(replaced=replaced, doubtful=doubtful)
    several = rules.gathered | rules.themes  # categories in which several memories on one subject can be active
    for earlier, later, is_sure in pairs:
        if not (is_sure and plans[dated[later][1]].is_active) and plans[dated[earlier][1]].category not in several:
            _add_doubtful_pair(plans, dated[earlier][1], dated[later][1], conflicts)
    return conflicts


def _find_places(compared: Iterable[tuple[str, str]], contents: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places (lower, higher) of the contents in each compared pair. A content can have several places."""
    places: dict[str, list[int]] = {}
    for place, content in enumerate(contents):
        places.setdefault(content, []).append(place)
    for left, right in compared:
        yield from ((min(i, j), max(i, j)) for i in places.get(left, ()) for j in places.get(right, ()))


def _add_doubtful_pair(plans: Sequence[Plan], earlier: int, later: int, conflicts: Conflicts) -> None:
    """Record two plans that may contradict each other, so that one of them is held: the earlier, unless it is more trusted.

    An earlier plan is not held if a person owns it, or if a person or model approved it. A later plan that may not be meant as a
    rule is confirmed if it is not held, because the earlier plan was stated as a rule.
    """
    before, plan = plans[earlier], plans[later]
    taken = (conflicts.replaced, conflicts.doubtful, conflicts.paired)
    if any(place in places for place in (earlier, later) for places in taken):
        return
    if not before.is_active or not (plan.is_active or plan.is_unsure) or before.last == plan.last:
        return
    decided = before.is_person_owned or (before.winner is not None and before.winner.reason.startswith((APPROVED, BOTH_HOLD)))
    was_active = plan.winner is not None and plan.winner.status is Status.ACTIVE
    if not decided and (_is_typed(plan) or not _is_typed(before)):
        conflicts.paired[earlier] = later
    elif not plan.is_person_owned and (not was_active or (plan.is_made_active and not decided)):
        conflicts.doubtful.add(later)
    if plan.is_unsure and later not in conflicts.doubtful:
        conflicts.confirmed.add(later)


def _can_replace(plan: Plan, earlier: Plan) -> bool:
    """True if a plan may replace an earlier one without a person's decision.

    Only typed words may replace typed words. A memory that a person wrote, edited or approved can only be replaced by typed words
    that say that something changed. Nothing replaces a pinned memory.
    """
    typed = plan.is_person_owned or _is_typed(plan)
    if earlier.is_person_owned or (earlier.winner is not None and earlier.winner.reason == APPROVED):
        return typed and not earlier.pinned and parse_value_statement(plan.content, plan.says).tells_change
    return typed or not _is_typed(earlier)


def _is_typed(plan: Plan) -> bool:
    return any(evidence.origin is Origin.USER for member in plan.members for evidence in member.candidate.evidence)


def _find_handovers(plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]) -> dict[int, tuple[int, datetime]]:
    """The plans that a later suggestion explicitly replaces in the same session. Maps each to its successor and the time."""
    places: dict[tuple[str, str], int] = {
        (member.candidate.content, evidence.session): place
        for place, plan in enumerate(plans)
        for member in plan.members
        for evidence in member.candidate.evidence
    }
    found: dict[int, tuple[int, datetime]] = {}
    for later, plan in enumerate(plans):
        for candidate in (member.candidate for member in plan.members if member.candidate.replaces):
            earlier = places.get((candidate.replaces, candidate.evidence[0].session), later)
            taken = earlier in replaced or later in replaced or later in found
            if (
                earlier != later
                and not taken
                and plan.is_active
                and not plans[earlier].is_person_owned
                and candidate.at is not None
            ):
                found[earlier] = (later, candidate.at)
    return found


def find_withdrawn(
    plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]], withdrawals: Iterable[CandidateVerdict]
) -> tuple[dict[int, datetime], list[CandidateVerdict]]:
    """The plans that a person withdrew, each with the time, and the withdrawals with an unclear target.

    A withdrawal matches the plans active at its time that contain all it names ("my allergy" matches "I am allergic"). The target
    is clear if there is exactly one and the person does not own it. A withdrawal without a match is ignored.
    """
    found: dict[int, datetime] = {}
    unclear = []
    for withdrawal in withdrawals:
        at, named = withdrawal.candidate.at, roots_of(find_content(withdrawal.candidate.replaces))
        meant = [
            place
            for place, plan in enumerate(plans)
            if at and plan.is_active and plan.last and plan.last < at and named <= roots_of(plan.says.content)
            if place not in found and (place not in replaced or replaced[place][1] > at)
        ]
        clear = len(meant) == 1 and not plans[meant[0]].is_person_owned and withdrawal.candidate.doubt == TAKES_BACK
        if at and clear:
            found[meant[0]] = at
        elif meant:
            unclear.append(withdrawal)
    return found, unclear


def _find_newer_values(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """The plans replaced by a later plan of the same category and subject ("home"). Maps each to its successor and the time."""
    latest: dict[tuple[str, str], int] = {}
    found: dict[int, tuple[int, datetime]] = {}
    for last, later in dated:
        plan = plans[later]
        thing = (plan.category, plan.facts.subject.casefold() if plan.facts else "")
        if not thing[1] or not plan.was_active or later in replaced:
            continue
        earlier = latest.get(thing)
        if earlier is not None and not plans[earlier].is_person_owned:
            found[earlier] = (later, last)
        latest[thing] = later
    return found


def _find_newer_themes(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """Maps each theme that a later theme on the same subject replaces to its successor and the time of the replacement.

    Only themes that share at least two words are compared. Themes within 12 hours of each other count as parallel parts of
    the work, unless the words of one include those of the other.
    """
    filed: dict[str, list[int]] = {}
    found: dict[int, tuple[int, datetime]] = {}
    for last, later in dated:
        plan = plans[later]
        shared = Counter(place for word in plan.says.content for place in filed.get(word, ()))
        for earlier in sorted(
            place for place, count in shared.items() if count > 1 and place not in found and place not in replaced
        ):
            other = plans[earlier]
            content, before = plan.says.content, other.says.content
            if other.last is None or (last - other.last < _PARALLEL and not (content <= before or before <= content)):
                continue
            if (
                plan.was_active
                and not other.is_person_owned
                and other.category == plan.category
                and is_same_theme(plan.says, other.says)
            ):
                found[earlier] = (later, last)
        for word in plan.says.content:
            filed.setdefault(word, []).append(later)
    return found


def _trust_rank(plan: Plan) -> int:
    return Origin.USER.rank if plan.is_person_owned or plan.facts is None else plan.facts.origin.rank


def find_answers(plans: Sequence[Plan], rules: CurationRules, replaced: Mapping[int, object]) -> dict[int, int]:
    """The open questions that a later plan answers. Maps each question to the first plan that answers it.

    Only plans that share two words are compared. A question that a person owns is left open for that person. A question does not
    count as an answer to another question.
    """
    asked = {
        place: plan
        for place, plan in enumerate(plans)
        if plan.category in rules.questions
        and plan.is_active
        and not plan.is_person_owned
        and plan.last is not None
        and place not in replaced
    }
    filed: dict[str, list[int]] = {}
    for place, plan in asked.items():
        for word in plan.says.content:
            filed.setdefault(word, []).append(place)
    found: dict[int, int] = {}
    later = sorted(
        (plan.last, place)
        for place, plan in enumerate(plans)
        if plan.last is not None and plan.category not in rules.questions and place not in replaced and plan.is_active
    )
    for last, place in later if asked else ():
        shared = Counter(item for word in plans[place].says.content for item in filed.get(word, ()))
        for question, count in sorted(shared.items()):
            before = plans[question].last
            if (
                count > 1
                and question not in found
                and before is not None
                and before < last
                and is_answer_to_question(plans[place].says, plans[question].says)
            ):
                found[question] = place
    return found
