"""Guards: which passes would take away too much, and so are thrown out whole. Knows nothing of why a pass wants to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from kept.core.event import Origin
from kept.core.fold import apply_operation
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import CONDENSED, FADED, GAVE_WAY, MAY_CONTRADICT, WITHDRAWN, Operation
from kept.core.statement import parse_statement
from kept.core.value import dataclass

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
    active: Mapping[str, int] | None = None,
) -> tuple[GuardStop, ...]:
    """The categories of which the operations would take too much (K6): more than half of what stands in this pass, or, together
    with what machines took in the 30 days of event time before, more than half of what there was.

    Active memories stand. In one pass whatever ends that counts in full: retiring, superseding, merging away, resolving, emptying
    its content; moving to another category does not. Over the 30 days, what an active memory replaced, took in or resolved is no
    loss, and what faded has a budget of its own. What is ``corrected`` is no loss: it should never have stood. ``active`` counts
    what stands in each category where not all memories are given. A pass with any stop must not be applied at all.
    """
    before = {memory.id: memory for memory in memories}
    after = _apply_operations(before, operations, actor)
    stood, stand = _active_ids(before.values()) - corrected, _active_ids(after.values())
    all_active = Counter(before[item].category for item in stood)
    if active is not None:
        all_active = Counter(active) - Counter(before[item].category for item in _active_ids(before.values()) & corrected)
    ended = stood - stand
    lost = Counter(before[item].category for item in ended)
    counted = Counter(
        _loss_budget(before[item].category, after[item]) for item in ended if not _has_active_successor(after[item], after)
    )
    spent = _count_recent_losses(
        before, stood | corrected, max((operation.at for operation in operations if operation.at is not None), default=None)
    )
    return tuple(
        GuardStop(category=category, active=all_active[category], lost=count, spent=before_it)
        for category, count in sorted(lost.items())
        for before_it in [max(spent[category, faded] if counted[category, faded] else 0 for faded in (False, True))]
        if all_active[category] + before_it >= LEAST
        and (
            (all_active[category] >= LEAST and count > SHARE * all_active[category])
            or _is_eroding(category, all_active, counted, spent)
        )
    )


def find_ended(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[Memory, ...]:
    """The active memories that a machine's operations would end or empty."""
    before = {memory.id: memory for memory in memories}
    ended = _active_ids(before.values()) - _active_ids(_apply_operations(before, operations, Actor.MACHINE).values())
    return tuple(before[item] for item in sorted(ended))


def _is_eroding(category: str, active: Counter[str], counted: Counter[_Budget], spent: Counter[_Budget]) -> bool:
    """Whether a category loses more than half over the 30 days, by what faded or by what ended otherwise."""
    budgets = ((category, False), (category, True))
    return any(
        counted[budget] and spent[budget] and counted[budget] + spent[budget] > SHARE * (active[category] + spent[budget])
        for budget in budgets
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
    return frozenset(memory.id for memory in memories if memory.status is Status.ACTIVE and memory.content.strip())


def find_protected_changes(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[str, ...]:
    """The memories, by id, that are pinned or a person's own and whose words, category or status a machine's operations would
    change. A person's own may give way to what they typed since, and come back.

    A pass with any must not be applied at all, whoever allows it.
    """
    theirs = {memory.id: memory for memory in memories}
    after = _apply_operations(theirs, operations, Actor.MACHINE)
    return tuple(
        memory.id
        for memory in theirs.values()
        if (memory.owned or memory.pinned)
        and not _is_change_by_person(memory, after)
        and (memory.content, memory.category, memory.status, memory.pinned)
        != (after[memory.id].content, after[memory.id].category, after[memory.id].status, after[memory.id].pinned)
    )


def _is_change_by_person(memory: Memory, after: Mapping[str, Memory]) -> bool:
    """Whether what happens to a person's own memory is that it gives way to their typed words, or comes back from that."""
    now = after[memory.id]
    if memory.pinned or (memory.content, memory.category) != (now.content, now.category):
        return False
    if memory.status is Status.SUPERSEDED and memory.reason.startswith(GAVE_WAY):
        return now.status is Status.ACTIVE
    by = after.get(now.superseded_by)
    typed = by is not None and any(item.origin is Origin.USER for item in by.evidence)
    return now.status is Status.SUPERSEDED and now.reason.startswith(GAVE_WAY) and typed


def _apply_operations(before: Mapping[str, Memory], operations: Sequence[Operation], actor: Actor) -> dict[str, Memory]:
    after = dict(before)
    for operation in operations:
        after.update(apply_operation(after, operation, actor))
    return after


def _is_same_matter(old: Memory, new: Memory) -> bool:
    """Whether what took a memory's place speaks of the same: their subject, or words of it, at most one number changed."""
    statement, says = parse_statement(old.content), parse_statement(new.content)
    words = len(statement.content & says.content) >= _SAME * len(statement.content)
    return bool(old.subject and old.subject == new.subject) or (words and len(statement.numbers - says.numbers) <= 1)


def _count_recent_losses(before: Mapping[str, Memory], counted: frozenset[str], until: datetime | None) -> Counter[_Budget]:
    """By category, and apart what faded, how many memories machines ended or emptied in the window before ``until``; one without a
    time counts, and none that is ``counted`` already.
    """
    return Counter(
        _loss_budget(memory.category, memory)
        for memory in before.values()
        if (memory.status in _ENDED or (memory.status is Status.ACTIVE and not memory.content.strip()))
        and memory.id not in counted
        and not memory.owned
        and memory.reason not in (WITHDRAWN, CONDENSED)
        and (until is None or memory.ended_at is None or until - WINDOW < memory.ended_at <= until)
        and not _has_active_successor(memory, before)
    )
