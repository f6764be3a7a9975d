"""The pure fold of operations into memories, and the passes that undo and redo switch off and on.

If the pass that added a memory was undone, later operations on the memory change nothing. The fold reports them as idle, and raises
no error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.operation import (
    FACT_NAMES,
    Add,
    Anticipate,
    Approve,
    Facts,
    Forget,
    Merge,
    Move,
    Operation,
    Pass,
    Pin,
    Promote,
    Reaffirm,
    Reject,
    Resolve,
    Retire,
    Revise,
    Reword,
    Supersede,
)

FORGOTTEN = "forgotten"
_SEEN_AGAIN = frozenset({"first_seen", "last_seen", "observations", "candidates"})  # fields that do not depend on a memory's words


def find_undone_passes(passes: Iterable[Pass]) -> frozenset[int]:
    """The ids of the passes that are undone, after all undos and redos were applied in order."""
    off: set[int] = set()
    for pass_ in passes:
        off |= set(pass_.undoes)
        off -= set(pass_.redoes)
    return frozenset(off)


def fold(passes: Iterable[Pass]) -> dict[str, Memory]:
    """All memories that result from the passes, by id. Undone passes are skipped."""
    return _replay(passes)[0]


def find_idle_operations(passes: Iterable[Pass]) -> tuple[tuple[int, Operation], ...]:
    """The operations that change nothing because their memory does not exist, each with the id of its pass."""
    return tuple(_replay(passes)[1])


def _replay(passes: Iterable[Pass]) -> tuple[dict[str, Memory], list[tuple[int, Operation]]]:
    history = tuple(passes)
    off = find_undone_passes(history)
    memories: dict[str, Memory] = {}
    idle: list[tuple[int, Operation]] = []
    for pass_ in history:
        for operation in pass_.operations if pass_.id not in off else ():
            changed = apply_operation(memories, operation, pass_.actor)
            memories.update(changed)
            if not changed and not isinstance(operation, Reword):
                idle.append((pass_.id, operation))
    return memories, idle


def apply_operation(memories: Mapping[str, Memory], operation: Operation, actor: Actor) -> dict[str, Memory]:
    """The memories that one operation changes, by id, in their new form. Empty for an idle operation and for a Reword."""
    if isinstance(operation, Add):
        return {operation.memory: replace(operation.value, reason=operation.reason)}
    memory = memories.get(operation.memory)
    if memory is None or isinstance(operation, Reword):
        return {}
    decided = actor is Actor.PERSON and not isinstance(operation, Approve | Pin)
    changed = replace(memory, reason=operation.reason, owned=memory.owned or decided)
    match operation:
        case Revise(facts=facts):
            return {memory.id: with_facts(changed, facts)}
        case Reaffirm(facts=facts):
            # The operation repeats the words that the memory had then. If the edit to these words is undone, it must not bring them
            # back.
            if facts.content != memory.content:
                facts = replace(facts, **{name: getattr(memory, name) for name in FACT_NAMES if name not in _SEEN_AGAIN})
            return {memory.id: with_facts(changed, replace(facts, category=memory.category))}
        case Merge(facts=facts, losers=losers):
            taken = {loser: memories[loser] for loser in losers if loser in memories and loser != memory.id}
            winner = replace(with_facts(changed, facts), supersedes=_merge_unique(memory.supersedes, tuple(taken)))
            return {memory.id: winner} | {
                id_: replace(
                    loser, status=Status.SUPERSEDED, superseded_by=memory.id, reason=operation.reason, ended_at=operation.at
                )
                for id_, loser in taken.items()
            }
        case Supersede(by=by):
            after = {memory.id: replace(changed, status=Status.SUPERSEDED, superseded_by=by, ended_at=operation.at)}
            if by in memories:
                after[by] = replace(memories[by], supersedes=_merge_unique(memories[by].supersedes, (memory.id,)))
            return after
        case Resolve(by=by):
            return {memory.id: replace(changed, status=Status.RESOLVED, resolved_by=by, ended_at=operation.at)}
        case Retire():
            return {memory.id: replace(changed, status=Status.RETIRED, ended_at=operation.at)}
        case Promote(category=category):
            return {memory.id: replace(changed, category=category)}
        case Move(scope=scope, candidates=candidates, profile=profile, category=category):
            kind = (profile or memory.profile, category or memory.category)
            return {memory.id: replace(changed, scope=scope, candidates=candidates, profile=kind[0], category=kind[1])}
        case Approve():
            return {memory.id: replace(changed, status=Status.ACTIVE, superseded_by="", resolved_by="", ended_at=None)}
        case Reject():
            return {memory.id: replace(changed, status=Status.REJECTED, ended_at=operation.at)}
        case Anticipate(content=content, needed_for=needed_for):
            return {memory.id: replace(memory, needed_for=needed_for) if content == memory.content else memory}
        case Pin(on=on):
            return {memory.id: replace(changed, pinned=on)}
        case Forget():
            return {memory.id: erase_content(changed)}
        case _:
            assert_never(operation)


def with_facts(memory: Memory, facts: Facts) -> Memory:
    """The memory with evidence added and dropped as ``facts`` says, and all other fields of ``facts`` replaced."""
    keep = tuple(item for item in memory.evidence if item.event not in facts.dropped)
    values = {name: getattr(facts, name) for name in FACT_NAMES}
    return replace(memory, evidence=_sort_evidence(keep + facts.added), **values)


def erase_content(memory: Memory) -> Memory:
    """The memory without its content; its id, category, scope and times remain."""
    return replace(
        memory,
        status=Status.RETIRED,
        content="",
        evidence=(),
        artifacts=(),
        fingerprint="",
        subject="",
        about="",
        needed_for=(),
        pinned=False,
        owned=True,
        reason=FORGOTTEN,
    )


def _sort_evidence(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    unique = {(item.event, item.quote): item for item in evidence}
    return tuple(sorted(unique.values(), key=lambda item: (item.at is None, item.at, item.event, item.quote)))


def _merge_unique(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(left + right))
