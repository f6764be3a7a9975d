"""Guards: which passes would take away too much, and so are thrown out whole. Knows nothing of why a pass wants to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kept.model.fold import apply
from kept.model.memory import Actor, Memory, Status
from kept.model.operation import CONDENSED, WITHDRAWN, Merge, Operation
from kept.model.text import tokens

LEAST = 4  # a category with fewer memories than this is too small for a share to mean anything
SHARE = 0.5
WINDOW = timedelta(days=30)  # of event time, over which losses add up: nine passes of a tenth each are a wipe as well
_SAID = 0.3  # share of its words that an entry must still say of one it took in
_ENDED = frozenset({Status.RETIRED, Status.SUPERSEDED, Status.RESOLVED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why a pass was stopped: the category, how many active memories it had, how many the pass would deactivate, and how many
    machines already have deactivated in the 30 days before.
    """

    category: str
    active: int
    lost: int
    spent: int = 0

    def __str__(self) -> str:
        before = f", after {self.spent} in the 30 days before" if self.spent else ""
        return f"it would deactivate {self.lost} of {self.active} memories in {self.category}{before}"


def overreach(memories: Iterable[Memory], operations: Sequence[Operation], actor: Actor = Actor.MACHINE) -> tuple[Stop, ...]:
    """The categories of which the operations would take too much (K6): more than half of the active memories in this pass, or,
    together with what machines took in the 30 days of event time before, more than half of what there was.

    Whatever ends a memory counts in full: retiring, superseding, merging away, resolving, emptying its content. Moving to another
    category does not, nor does going into an entry that still says it and rests on all its evidence. A pass with any stop must not
    be applied at all.
    """
    before = {each.id: each for each in memories}
    after = _after(before, operations, actor)
    active = Counter(each.category for each in before.values() if each.status is Status.ACTIVE)
    carried = _carried(before, after, operations)
    lost = Counter(
        each.category
        for each in before.values()
        if each.id not in carried
        and each.status is Status.ACTIVE
        and (after[each.id].status is not Status.ACTIVE or not after[each.id].content.strip())
    )
    spent = _spent(before.values(), max((each.at for each in operations if each.at is not None), default=None))
    return tuple(
        Stop(category=category, active=active[category], lost=count, spent=spent[category])
        for category, count in sorted(lost.items())
        if active[category] + spent[category] >= LEAST
        and (
            (active[category] >= LEAST and count > SHARE * active[category])
            or (spent[category] and count + spent[category] > SHARE * (active[category] + spent[category]))
        )
    )


def _carried(before: Mapping[str, Memory], after: Mapping[str, Memory], operations: Sequence[Operation]) -> frozenset[str]:
    """The memories that entries took in whole: with all their evidence, and in short with their words."""
    return frozenset(
        loser
        for each in operations
        if isinstance(each, Merge) and each.reason == CONDENSED and after[each.memory].status is Status.ACTIVE
        for loser in each.losers
        if loser in before and _carries(after[each.memory], before[loser])
    )


def _carries(entry: Memory, taken: Memory) -> bool:
    words, said = tokens(taken.content), tokens(entry.content)
    proofs = {(each.event, each.quote) for each in entry.evidence}
    return {(each.event, each.quote) for each in taken.evidence} <= proofs and len(words & said) >= _SAID * len(words)


def trespasses(memories: Iterable[Memory], operations: Sequence[Operation]) -> tuple[str, ...]:
    """The memories, by id, that are pinned or a person's own and whose words, category or status a machine's operations would change.

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


def _spent(memories: Iterable[Memory], until: datetime | None) -> Counter[str]:
    """By category, how many memories machines ended in the window before ``until``; one without a time counts."""
    return Counter(
        each.category
        for each in memories
        if each.status in _ENDED
        and not each.owned
        and each.reason not in (WITHDRAWN, CONDENSED)
        and (until is None or each.ended_at is None or until - WINDOW < each.ended_at <= until)
    )
