"""Guards: which passes would take away too much, and so are thrown out whole. Knows nothing of why a pass wants to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kept.model.fold import apply
from kept.model.memory import Actor, Memory, Status
from kept.model.operation import Operation

LEAST = 4  # a category with fewer active memories than this is too small for a share to mean anything
SHARE = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why a pass was stopped: the category, how many active memories it had and how many the pass would deactivate."""

    category: str
    active: int
    lost: int

    def __str__(self) -> str:
        return f"it would deactivate {self.lost} of {self.active} memories in {self.category}"


def overreach(memories: Iterable[Memory], operations: Sequence[Operation], actor: Actor = Actor.MACHINE) -> tuple[Stop, ...]:
    """The categories in which the operations would deactivate more than half of the active memories (K6).

    Whatever ends a memory counts in full: retiring, superseding, merging away, resolving, emptying its content. Moving to another
    category does not. A pass with any stop must not be applied at all.
    """
    before = {each.id: each for each in memories}
    after = dict(before)
    for operation in operations:
        after.update(apply(after, operation, actor))
    active = Counter(each.category for each in before.values() if each.status is Status.ACTIVE)
    lost = Counter(
        each.category
        for each in before.values()
        if each.status is Status.ACTIVE and (after[each.id].status is not Status.ACTIVE or not after[each.id].content.strip())
    )
    return tuple(
        Stop(category=category, active=active[category], lost=count)
        for category, count in sorted(lost.items())
        if active[category] >= LEAST and count > SHARE * active[category]
    )
