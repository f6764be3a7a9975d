"""Guards: which passes would take away too much, and so are thrown out whole. Knows nothing of why a pass wants to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kept.core.fold import apply
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import CONDENSED, WITHDRAWN, Operation

LEAST = 4  # a category with fewer memories than this is too small for a share to mean anything
SHARE = 0.5
WINDOW = timedelta(days=30)  # of event time, over which losses add up: nine passes of a tenth each are a wipe as well
_ENDED = frozenset({Status.RETIRED, Status.SUPERSEDED, Status.RESOLVED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
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


def overreach(
    memories: Iterable[Memory],
    operations: Sequence[Operation],
    actor: Actor = Actor.MACHINE,
    *,
    corrected: frozenset[str] = frozenset(),
) -> tuple[Stop, ...]:
    """The categories of which the operations would take too much (K6): more than half of what stands in this pass, or, together
    with what machines took in the 30 days of event time before, more than half of what there was.

    Active memories stand. Whatever ends that counts in full: retiring, superseding, merging away, resolving, emptying its content.
    Moving to another category does not. What is ``corrected`` is no loss: it should never have stood. A pass with any stop must not
    be applied at all.
    """
    before = {each.id: each for each in memories}
    after = _after(before, operations, actor)
    stood, stand = _standing(before.values()) - corrected, _standing(after.values())
    active = Counter(before[each].category for each in stood)
    lost = Counter(before[each].category for each in stood - stand)
    others = [each for each in before.values() if each.id not in corrected]
    spent = _spent(
        others,
        stood,
        max((each.at for each in operations if each.at is not None), default=None),
    )
    return tuple(
        Stop(category=category, active=active[category], lost=count, spent=spent[category])
        for category, count in sorted(lost.items())
        if active[category] + spent[category] >= LEAST
        and (
            (active[category] >= LEAST and count > SHARE * active[category])
            or (spent[category] and count + spent[category] > SHARE * (active[category] + spent[category]))
        )
    )


def _standing(memories: Iterable[Memory]) -> frozenset[str]:
    """The active memories that say something."""
    return frozenset(each.id for each in memories if each.status is Status.ACTIVE and each.content.strip())


def trespasses(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[str, ...]:
    """The memories, by id, that are pinned or a person's own and whose words, category or status a machine's operations would
    change.

    A pass with any must not be applied at all, whoever allows it.
    """
    theirs = {each.id: each for each in memories}
    after = _after(theirs, operations, Actor.MACHINE)
    return tuple(
        each.id
        for each in theirs.values()
        if (each.owned or each.pinned)
        and (each.content, each.category, each.status, each.pinned)
        != (after[each.id].content, after[each.id].category, after[each.id].status, after[each.id].pinned)
    )


def _after(before: Mapping[str, Memory], operations: Sequence[Operation], actor: Actor) -> dict[str, Memory]:
    after = dict(before)
    for operation in operations:
        after.update(apply(after, operation, actor))
    return after


def _spent(memories: Iterable[Memory], stood: frozenset[str], until: datetime | None) -> Counter[str]:
    """By category, how many memories machines ended or emptied in the window before ``until``; one without a time counts."""
    return Counter(
        each.category
        for each in memories
        if (each.status in _ENDED or (each.status is Status.ACTIVE and not each.content.strip()))
        and each.id not in stood
        and not each.owned
        and each.reason not in (WITHDRAWN, CONDENSED)
        and (until is None or each.ended_at is None or until - WINDOW < each.ended_at <= until)
    )
