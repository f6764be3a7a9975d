"""Guards: which passes would take away too much, and so are thrown out whole. Knows nothing of why a pass wants to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kept.core.event import Origin
from kept.core.fold import apply_operation
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import CONDENSED, FADED, GAVE_WAY, MAY_CONTRADICT, WITHDRAWN, Operation
from kept.core.statement import parse_statement

LEAST = 4  # a category with fewer memories than this is too small for a share to mean anything
SHARE = 0.5
WINDOW = timedelta(days=30)  # of event time, over which losses add up: nine passes of a tenth each are a wipe as well
_ENDED = frozenset({Status.RETIRED, Status.SUPERSEDED, Status.RESOLVED})
_SAME = 0.3  # share of a memory's telling words that what takes its place says too, where no one lost anything
_Budget = tuple[str, bool]  # a category, and whether it is the budget of what fades


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardStop:
    """Why a pass was stopped: the category, how many memories stood in it, how many the pass would deactivate, and how many
    machines already have deactivated in the 30 days before.
    """

    category: str
    active: int
    lost: int
    spent: int = 0

    def __str__(self) -> str:
        before = f", after {self.spent} in the 30 days before" if self.spent else ""
        return f"it would deactivate {self.lost} of {self.active} memories in {self.category}{before}"


def find_overreach(
    memories: Iterable[Memory],
    operations: Sequence[Operation],
    actor: Actor = Actor.MACHINE,
    *,
    corrected: frozenset[str] = frozenset(),
) -> tuple[GuardStop, ...]:
    """The categories of which the operations would take too much (K6): more than half of what stands in this pass, or, together
    with what machines took in the 30 days of event time before, more than half of what there was.

    Active memories stand. In one pass whatever ends that counts in full: retiring, superseding, merging away, resolving, emptying
    its content; moving to another category does not. Over the 30 days, what an active memory replaced, took in or resolved is no
    loss, and what faded has a budget of its own. What is ``corrected`` is no loss: it should never have stood. A pass with any stop
    must not be applied at all.
    """
    before = {each.id: each for each in memories}
    after = _apply_operations(before, operations, actor)
    stood, stand = _active_ids(before.values()) - corrected, _active_ids(after.values())
    active = Counter(before[each].category for each in stood)
    ended = stood - stand
    lost = Counter(before[each].category for each in ended)
    counted = Counter(
        _loss_budget(before[each].category, after[each]) for each in ended if not _has_active_successor(after[each], after)
    )
    spent = _count_recent_losses(
        before, stood | corrected, max((each.at for each in operations if each.at is not None), default=None)
    )
    return tuple(
        GuardStop(category=category, active=active[category], lost=count, spent=before_it)
        for category, count in sorted(lost.items())
        for before_it in [max(spent[category, faded] if counted[category, faded] else 0 for faded in (False, True))]
        if active[category] + before_it >= LEAST
        and ((active[category] >= LEAST and count > SHARE * active[category]) or _is_eroding(category, active, counted, spent))
    )


def _is_eroding(category: str, active: Counter[str], counted: Counter[_Budget], spent: Counter[_Budget]) -> bool:
    """Whether a category loses more than half over the 30 days, by what faded or by what ended otherwise."""
    budgets = ((category, False), (category, True))
    return any(
        counted[each] and spent[each] and counted[each] + spent[each] > SHARE * (active[category] + spent[each]) for each in budgets
    )


def _loss_budget(category: str, ended: Memory) -> _Budget:
    return category, ended.reason.startswith(FADED)


def _has_active_successor(memory: Memory, memories: Mapping[str, Memory]) -> bool:
    """Whether an active memory took the place of a memory, each step of the way speaking of the same thing."""
    seen: set[str] = set()
    gone = (Status.SUPERSEDED, Status.RESOLVED)
    while (memory.status in gone or memory.reason == MAY_CONTRADICT) and memory.id not in seen:
        seen.add(memory.id)
        following = memories.get(memory.superseded_by or memory.resolved_by)
        if following is None or not _is_same_matter(memory, following):
            return False
        memory = following
    return memory.status is Status.ACTIVE and bool(memory.content.strip())


def _active_ids(memories: Iterable[Memory]) -> frozenset[str]:
    """The active memories that say something."""
    return frozenset(each.id for each in memories if each.status is Status.ACTIVE and each.content.strip())


def find_protected_changes(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[str, ...]:
    """The memories, by id, that are pinned or a person's own and whose words, category or status a machine's operations would
    change. A person's own may give way to what they typed since, and come back.

    A pass with any must not be applied at all, whoever allows it.
    """
    theirs = {each.id: each for each in memories}
    after = _apply_operations(theirs, operations, Actor.MACHINE)
    return tuple(
        each.id
        for each in theirs.values()
        if (each.owned or each.pinned)
        and not _is_change_by_person(each, after)
        and (each.content, each.category, each.status, each.pinned)
        != (after[each.id].content, after[each.id].category, after[each.id].status, after[each.id].pinned)
    )


def _is_change_by_person(memory: Memory, after: Mapping[str, Memory]) -> bool:
    """Whether what happens to a person's own memory is that it gives way to their typed words, or comes back from that."""
    now = after[memory.id]
    if memory.pinned or (memory.content, memory.category) != (now.content, now.category):
        return False
    if memory.status is Status.SUPERSEDED and memory.reason.startswith(GAVE_WAY):
        return now.status is Status.ACTIVE
    by = after.get(now.superseded_by)
    typed = by is not None and any(each.origin is Origin.USER for each in by.evidence)
    return now.status is Status.SUPERSEDED and now.reason.startswith(GAVE_WAY) and typed


def _apply_operations(before: Mapping[str, Memory], operations: Sequence[Operation], actor: Actor) -> dict[str, Memory]:
    after = dict(before)
    for operation in operations:
        after.update(apply_operation(after, operation, actor))
    return after


def _is_same_matter(old: Memory, new: Memory) -> bool:
    """Whether what took a memory's place speaks of the same: their subject, or words of it, at most one number changed."""
    said, says = parse_statement(old.content), parse_statement(new.content)
    words = len(said.content & says.content) >= _SAME * len(said.content)
    return bool(old.subject and old.subject == new.subject) or (words and len(said.numbers - says.numbers) <= 1)


def _count_recent_losses(before: Mapping[str, Memory], counted: frozenset[str], until: datetime | None) -> Counter[_Budget]:
    """By category, and apart what faded, how many memories machines ended or emptied in the window before ``until``; one without a
    time counts, and none that is ``counted`` already.
    """
    return Counter(
        _loss_budget(each.category, each)
        for each in before.values()
        if (each.status in _ENDED or (each.status is Status.ACTIVE and not each.content.strip()))
        and each.id not in counted
        and not each.owned
        and each.reason not in (WITHDRAWN, CONDENSED)
        and (until is None or each.ended_at is None or until - WINDOW < each.ended_at <= until)
        and not _has_active_successor(each, before)
    )
