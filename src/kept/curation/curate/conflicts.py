"""Conflicts between plans: which gives way to which, when, and which contradicts something older that a person keeps; which two a
person should tell apart; which answer which.
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

_APART = timedelta(hours=12)


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflicts:
    """Plans by place. ``replaced`` give way, to which one and when; ``doubtful`` contradict something older that a person keeps;
    ``paired`` may contradict a later one, and no rule is sure which of the two holds; ``confirmed`` are those later ones, which
    hold even where each by itself may be no rule.
    """

    replaced: dict[int, tuple[int, datetime]]
    doubtful: set[int]
    paired: dict[int, int] = field(default_factory=dict)
    confirmed: set[int] = field(default_factory=set)


def find_conflicts(plans: Sequence[Plan], rules: CurationRules, compared: Compared, meaning: Meaning | None = None) -> Conflicts:
    """Which plans leave no room for each other, and what follows. ``meaning`` tells how near texts are; only those that are
    ``compared`` are looked at.

    A plan gives way to the first one after it that leaves no room for it, provided that one is active and as well trusted.
    """
    dated = [(plan.last, place) for place, plan in enumerate(plans) if plan.last is not None and plan.category not in rules.lasting]
    replaced: dict[int, tuple[int, datetime]] = {}
    doubtful: set[int] = set()
    dated.sort()
    texts = [compared.find_saying(plans[place].content, plans[place].says) for _, place in dated]
    together = _find_places(compared.values(), [plans[place].content for _, place in dated])
    pairs = sorted(find_value_pairs(texts, meaning, together), key=lambda pair: (pair[1], pair[0]))
    for last, later, earlier in ((*dated[later], dated[earlier][1]) for earlier, later, is_sure in pairs if is_sure):
        plan, before = plans[later], plans[earlier].last
        if earlier in replaced or before is None or before >= last or plan.is_unsure:
            continue
        if not _can_replace(plan, plans[earlier]):
            if not plan.fixed and plans[earlier].stands:
                doubtful.add(later)
        elif plan.held and _trust_rank(plan) <= _trust_rank(plans[earlier]):
            since = [member.candidate.at for member in plan.members if member.candidate.at and member.candidate.at > before]
            replaced[earlier] = (later, min(since, default=last))
    replaced |= _find_newer_values(
        [(last, place) for last, place in dated if plans[place].category not in rules.gathered], plans, replaced
    )
    replaced |= _find_newer_themes(
        [(last, place) for last, place in dated if plans[place].category in rules.themes], plans, replaced
    )
    replaced |= _find_handovers(plans, replaced)
    replaced = {each: by for each, by in replaced.items() if by[0] not in doubtful}
    conflicts = Conflicts(replaced=replaced, doubtful=doubtful)
    several = rules.gathered | rules.themes  # of these several stand beside each other
    for earlier, later, is_sure in pairs:
        if not (is_sure and plans[dated[later][1]].stands) and plans[dated[earlier][1]].category not in several:
            _add_doubtful_pair(plans, dated[earlier][1], dated[later][1], conflicts)
    return conflicts


def _find_places(compared: Iterable[tuple[str, str]], contents: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of places, in order, of which the words are compared."""
    places: dict[str, list[int]] = {}
    for place, content in enumerate(contents):
        places.setdefault(content, []).append(place)
    for left, right in compared:
        yield from ((min(i, j), max(i, j)) for i in places.get(left, ()) for j in places.get(right, ()))


def _add_doubtful_pair(plans: Sequence[Plan], earlier: int, later: int, found: Conflicts) -> None:
    """Note two plans of which one may leave no room for the other: the less trusted waits, else the earlier.

    What a person or a model has seen beside the later one stands beside it. A later one that may be no rule stands if the earlier
    waits: it is about what was told as one.
    """
    before, plan = plans[earlier], plans[later]
    ended = any(place in item for place in (earlier, later) for item in (found.replaced, found.doubtful, found.paired))
    if ended or not before.stands or not (plan.stands or plan.is_unsure) or before.last == plan.last:
        return
    seen = before.fixed or (before.winner is not None and before.winner.reason.startswith((APPROVED, BOTH_HOLD)))
    known = plan.winner is not None and plan.winner.status is Status.ACTIVE
    if not seen and (_is_typed(plan) or not _is_typed(before)):
        found.paired[earlier] = later
    elif not plan.fixed and (not known or (plan.is_made_active and not seen)):
        found.doubtful.add(later)
    if plan.is_unsure and later not in found.doubtful:
        found.confirmed.add(later)


def _can_replace(plan: Plan, earlier: Plan) -> bool:
    """Whether a plan may take an earlier one's place without a person.

    Only typed words take that of typed words, and only typed words which say that it changed that of what a person wrote, edited
    or approved. Nothing takes that of what is pinned.
    """
    typed = plan.fixed or _is_typed(plan)
    if earlier.fixed or (earlier.winner is not None and earlier.winner.reason == APPROVED):
        return typed and not earlier.pinned and parse_value_statement(plan.content, plan.says).tells_change
    return typed or not _is_typed(earlier)


def _is_typed(plan: Plan) -> bool:
    return any(evidence.origin is Origin.USER for member in plan.members for evidence in member.candidate.evidence)


def _find_handovers(plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]) -> dict[int, tuple[int, datetime]]:
    """Which plans give way because a later suggestion of the same session said that it takes their place, and when."""
    filed: dict[tuple[str, str], int] = {
        (member.candidate.content, evidence.session): place
        for place, plan in enumerate(plans)
        for member in plan.members
        for evidence in member.candidate.evidence
    }
    found: dict[int, tuple[int, datetime]] = {}
    for later, plan in enumerate(plans):
        for candidate in (member.candidate for member in plan.members if member.candidate.replaces):
            earlier = filed.get((candidate.replaces, candidate.evidence[0].session), later)
            taken = earlier in replaced or later in replaced or later in found
            if earlier != later and not taken and plan.stands and not plans[earlier].fixed and candidate.at is not None:
                found[earlier] = (later, candidate.at)
    return found


def find_withdrawn(
    plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]], withdrawals: Iterable[CandidateVerdict]
) -> tuple[dict[int, datetime], list[CandidateVerdict]]:
    """Which plans a person took back in a later session, and when; and the withdrawals of which that is not clear.

    It is clear where one plan alone stood then and says all that the withdrawal names ("my allergy" names "I am allergic"), and is
    not the person's own. A withdrawal that names nothing that stood says nothing.
    """
    found: dict[int, datetime] = {}
    unclear = []
    for withdrawal in withdrawals:
        at, named = withdrawal.candidate.at, roots_of(find_content(withdrawal.candidate.replaces))
        meant = [
            place
            for place, plan in enumerate(plans)
            if at and plan.stands and plan.last and plan.last < at and named <= roots_of(plan.says.content)
            if place not in found and (place not in replaced or replaced[place][1] > at)
        ]
        clear = len(meant) == 1 and not plans[meant[0]].fixed and withdrawal.candidate.doubt == TAKES_BACK
        if at and clear:
            found[meant[0]] = at
        elif meant:
            unclear.append(withdrawal)
    return found, unclear


def _find_newer_values(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """Which plans give way to a later value of the same thing: where somebody lives, what their machine is."""
    latest: dict[tuple[str, str], int] = {}
    found: dict[int, tuple[int, datetime]] = {}
    for last, later in dated:
        plan = plans[later]
        thing = (plan.category, plan.facts.subject.casefold() if plan.facts else "")
        if not thing[1] or not plan.held or later in replaced:
            continue
        earlier = latest.get(thing)
        if earlier is not None and not plans[earlier].fixed:
            found[earlier] = (later, last)
        latest[thing] = later
    return found


def _find_newer_themes(
    dated: Sequence[tuple[datetime, int]], plans: Sequence[Plan], replaced: Mapping[int, tuple[int, datetime]]
) -> dict[int, tuple[int, datetime]]:
    """Which themes give way to a later one on the same ground, and when. Only those that share two words are compared.

    Themes of one day are parts of its work beside each other, unless one only says the other more fully.
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
            said, before = plan.says.content, other.says.content
            if other.last is None or (last - other.last < _APART and not (said <= before or before <= said)):
                continue
            if plan.held and not other.fixed and other.category == plan.category and is_same_theme(plan.says, other.says):
                found[earlier] = (later, last)
        for word in plan.says.content:
            filed.setdefault(word, []).append(later)
    return found


def _trust_rank(plan: Plan) -> int:
    return Origin.USER.rank if plan.fixed or plan.facts is None else plan.facts.origin.rank


def find_answers(plans: Sequence[Plan], rules: CurationRules, replaced: Mapping[int, object]) -> dict[int, int]:
    """Which open questions are closed by a later plan that says what became of them: the first one that does.

    Only those that share two words are compared. What a person owns is theirs to close, and a question answers none.
    """
    asked = {
        place: plan
        for place, plan in enumerate(plans)
        if plan.category in rules.questions and plan.stands and not plan.fixed and plan.last is not None and place not in replaced
    }
    filed: dict[str, list[int]] = {}
    for place, plan in asked.items():
        for word in plan.says.content:
            filed.setdefault(word, []).append(place)
    found: dict[int, int] = {}
    later = sorted(
        (plan.last, place)
        for place, plan in enumerate(plans)
        if plan.last is not None and plan.category not in rules.questions and place not in replaced and plan.stands
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
