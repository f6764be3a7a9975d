"""A month of nightly runs with a curator that wants to take away a tenth every night: the budget holds, whatever it calls it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from kept.core.event import Origin
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Add, Merge, Operation, Retire, Revise, Supersede, to_facts
from kept.memories import person
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.values import GUARD, Draft
from talking import RULE, say

MEMORIES, TENTH = 40, 4

Removal = Callable[[Sequence[Memory], Memory, datetime], tuple[Operation, ...]]


def _retire(victims: Sequence[Memory], _: Memory, at: datetime) -> tuple[Operation, ...]:
    return tuple(Retire(memory=each.id, at=at, reason="clutter") for each in victims)


def _replace(victims: Sequence[Memory], survivor: Memory, at: datetime) -> tuple[Operation, ...]:
    return tuple(Supersede(memory=each.id, at=at, reason="replaced", by=survivor.id) for each in victims)


def _merge(victims: Sequence[Memory], survivor: Memory, at: datetime) -> tuple[Operation, ...]:
    losers = tuple(each.id for each in victims)
    return (Merge(memory=survivor.id, at=at, reason="the same", losers=losers, facts=to_facts(survivor)),)


def _empty(victims: Sequence[Memory], _: Memory, at: datetime) -> tuple[Operation, ...]:
    return tuple(Revise(memory=each.id, at=at, reason="shorter", facts=replace(to_facts(each), content="")) for each in victims)


REMOVALS: dict[str, Removal] = {"retire": _retire, "merge": _merge, "replace": _replace, "empty": _empty}
MONTH = 30
WAYS = [("retire", 9), ("greedy", 3), *(pytest.param((each, MONTH), marks=pytest.mark.slow) for each in ("greedy", *REMOVALS))]


@pytest.mark.parametrize("plan", WAYS, ids=str)
def test_nights_of_taking_away_a_tenth_leave_half(desk_at, clock, home, monkeypatch, plan: tuple[str, int]):
    """The sly one leaves alone what it may not touch at all; the greedy one does not, and gets nothing."""
    way, nights = plan
    greedy, removal = way == "greedy", REMOVALS.get(way, _retire)
    say(home, "first", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        scope = workspace.store.log.memories()[0].scope
        added = tuple(
            Memory(
                id=f"{number:010x}",
                profile="coding",
                category="decision",
                scope=scope,
                status=Status.ACTIVE,
                confidence=0.8,
                content=f"Crate {number} goes to dock {number * 7}.",
                origin=Origin.USER,
                first_seen=workspace.clock(),
                last_seen=workspace.clock(),
            )
            for number in range(MEMORIES)
        )
        operations = tuple(Add(memory=each.id, at=each.first_seen, reason="accepted", value=each) for each in added)
        started = workspace.store.log.start_run("run", workspace.clock())
        workspace.store.log.commit(
            Draft(
                run=started, stage="curate", subject="", actor=Actor.MACHINE, recorded_at=workspace.clock(), operations=operations
            )
        )
        workspace.store.log.end_run(started, workspace.clock(), {})
        pinned = person.pin(workspace, added[0].id)
        edited = person.edit(workspace, added[1].id, "Crate 1 goes wherever I say.")

    def hostile(_: object, memories: Sequence[Memory], **__: object) -> tuple[Operation, ...]:
        active = [each for each in memories if each.status is Status.ACTIVE and each.content and each.category == "decision"]
        free = [each for each in active if greedy or not (each.pinned or each.owned)]
        return removal(free[:TENTH], free[-1], clock.parse_moment)

    monkeypatch.setattr("kept.curation.passes.curate", hostile)
    stopped = 0
    for night in range(nights):
        clock.parse_moment += timedelta(days=1)
        say(home, f"night{night}", f"In this project we always keep log {night} of the harbour in box {night}.")
        with desk_at(home) as workspace:
            stopped += bool(run_pipeline(workspace, [], RunOptions()).body()["stopped"])
            if night == nights - 1:
                left = [each for each in workspace.store.log.memories() if each.category == "decision" and each.content]
                left = [each for each in left if each.status is Status.ACTIVE]
                notes = [each for each in workspace.store.log.pass_heads() if each.stage == GUARD]
                assert len(left) == MEMORIES if greedy else len(left) >= MEMORIES / 2
                assert workspace.store.log.memory(pinned.id) == pinned
                assert workspace.store.log.memory(edited.id) == edited
                assert workspace.store.find_damage() == ()
    assert stopped == nights if greedy else stopped >= nights - MEMORIES / 2 / TENTH - 1
    assert notes, "what the guard stopped is in the log"
