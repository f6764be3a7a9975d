"""Guards detect passes that would remove too many memories, or change memories that a person owns. Callers do not apply them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from kept.core.event import Origin
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import CONDENSED, FADED, GAVE_WAY, MAY_CONTRADICT, REREAD, Operation, apply_operation
from kept.core.statement import parse_statement
from kept.core.value import dataclass

LEAST_MEMORIES = 4  # with fewer memories than this in a category, the share that is lost means nothing
SHARE = 0.5
WINDOW = timedelta(days=30)  # losses are added up over this span of event time, because many small passes can remove as much as one
# The states of memories that were active once. An active memory counts as lost if its content was emptied.
_ONCE_ACTIVE = frozenset({Status.ACTIVE, Status.RETIRED, Status.SUPERSEDED, Status.RESOLVED})
_SAME = 0.3  # a successor shares at least this share of a memory's content words; otherwise the memory counts as lost
_Budget = tuple[str, bool]  # a category, and True for the separate budget of faded memories


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardStop:
    """Why a pass was stopped.

    ``active`` is the number of active memories in the category, ``lost`` how many of them the pass would deactivate, and ``spent``
    how many kept deactivated in the 30 days before.
    """

    category: str
    active: int
    lost: int
    spent: int

    def __str__(self) -> str:
        before = f", after {self.spent} in the 30 days before" if self.spent else ""
        return f"it would deactivate {self.lost} of {self.active} memories in {self.category}{before}"


def find_overreach(
    memories: Iterable[Memory],
    operations: Sequence[Operation],
    *,
    corrected: frozenset[str] = frozenset(),
    active: Mapping[str, int] | None = None,
) -> tuple[GuardStop, ...]:
    """The categories in which kept's operations would deactivate too many memories. A pass with any stop must not be applied.

    The limit is half of the active memories of a category, in one pass and also over 30 days of event time. Categories with fewer
    than ``LEAST_MEMORIES`` memories are never stopped.

    For one pass, every end of an active memory counts: retiring, superseding, merging, resolving, and emptying its content. A move
    to another category does not count. Over the 30 days, a memory that an active one replaced, absorbed or resolved does not count.
    Faded memories are counted separately.

    ``corrected`` memories never count, because they should never have been active. ``active`` has the number of active memories by
    category, if ``memories`` does not contain all of them.
    """
    before = {memory.id: memory for memory in memories}
    after = _apply_operations(before, operations)
    active_before = _active_ids(before.values())
    counting = active_before - corrected
    all_active = Counter(before[item].category for item in counting)
    if active is not None:
        all_active = Counter(active) - Counter(before[item].category for item in active_before & corrected)
    ended = counting - _active_ids(after.values())
    lost = Counter(before[item].category for item in ended)
    counted = Counter(
        _loss_budget(before[item].category, after[item]) for item in ended if not _has_active_successor(after[item], after)
    )
    until = max((operation.at for operation in operations if operation.at is not None), default=None)
    spent = _count_recent_losses(before, corrected, until)
    return tuple(
        GuardStop(category=category, active=all_active[category], lost=count, spent=before_it)
        for category, count in sorted(lost.items())
        for before_it in [max(spent[category, faded] if counted[category, faded] else 0 for faded in (False, True))]
        if (all_active[category] >= LEAST_MEMORIES and count > SHARE * all_active[category])
        or _is_eroding(category, all_active[category], counted, spent)
    )


def find_ended(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[Memory, ...]:
    """The active memories that the operations would end or empty."""
    before = {memory.id: memory for memory in memories}
    ended = _active_ids(before.values()) - _active_ids(_apply_operations(before, operations).values())
    return tuple(memory for number, memory in before.items() if number in ended)


def _is_eroding(category: str, active: int, counted: Counter[_Budget], spent: Counter[_Budget]) -> bool:
    """True if a category loses more than half over the 30 days. Faded memories and all others are counted separately."""
    return any(
        counted[budget] and stood >= LEAST_MEMORIES and counted[budget] + spent[budget] > SHARE * stood
        for budget in ((category, False), (category, True))
        for stood in [active + spent[budget]]
    )


def _loss_budget(category: str, ended: Memory) -> _Budget:
    return category, ended.reason.startswith(FADED)


def _has_active_successor(memory: Memory, memories: Mapping[str, Memory]) -> bool:
    """True if a memory is active and has content, or if such a memory replaced it.

    The replacement may take several steps, of which each must be about the same subject.
    """
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
    """The ids of active memories with content."""
    return frozenset(memory.id for memory in memories if memory.status is Status.ACTIVE and memory.content.strip())


def find_protected_changes(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[str, ...]:
    """The ids of pinned or person-owned memories whose words, category or status kept's operations would change.

    Not included are person-owned memories that are superseded by words which the person typed later, or that come back after that.
    A pass with a protected change must not be applied, even if a person allows losses.
    """
    before = {memory.id: memory for memory in memories}
    after = _apply_operations(before, operations)
    return tuple(
        memory.id
        for memory in before.values()
        if (memory.owned or memory.pinned)
        and not _is_change_by_person(memory, after)
        and (memory.content, memory.category, memory.status, memory.pinned)
        != (after[memory.id].content, after[memory.id].category, after[memory.id].status, after[memory.id].pinned)
    )


def _is_change_by_person(memory: Memory, after: Mapping[str, Memory]) -> bool:
    """True if a person-owned memory is only superseded by words that the person typed, or becomes active again after that."""
    now = after[memory.id]
    if memory.pinned or (memory.content, memory.category) != (now.content, now.category):
        return False
    if memory.status is Status.SUPERSEDED and memory.reason.startswith(GAVE_WAY):
        return now.status is Status.ACTIVE
    by = after.get(now.superseded_by)
    typed = by is not None and any(item.origin is Origin.USER for item in by.evidence)
    return now.status is Status.SUPERSEDED and now.reason.startswith(GAVE_WAY) and typed


def _apply_operations(before: Mapping[str, Memory], operations: Sequence[Operation]) -> dict[str, Memory]:
    after = dict(before)
    for operation in operations:
        after.update(apply_operation(after, operation, Actor.MACHINE))
    return after


def _is_same_matter(old: Memory, new: Memory) -> bool:
    """True if two memories are about the same thing.

    They have the same subject, or ``new`` has 30 % of the content words and all but one of the numbers of ``old``.
    """
    statement, says = parse_statement(old.content), parse_statement(new.content)
    words = len(statement.content & says.content) >= _SAME * len(statement.content)
    return bool(old.subject and old.subject == new.subject) or (words and len(statement.numbers - says.numbers) <= 1)


def _count_recent_losses(before: Mapping[str, Memory], corrected: frozenset[str], until: datetime | None) -> Counter[_Budget]:
    """The number of memories, by budget, that kept ended or emptied in the 30 days before ``until``.

    A memory without an end time counts. Memories in ``corrected`` do not count.
    """
    return Counter(
        _loss_budget(memory.category, memory)
        for memory in before.values()
        if memory.status in _ONCE_ACTIVE
        and memory.id not in corrected
        and not memory.owned
        and memory.reason not in (REREAD, CONDENSED)
        and (until is None or memory.ended_at is None or until - WINDOW < memory.ended_at <= until)
        and not _has_active_successor(memory, before)
    )
