"""The guard against wipes (K6)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kept.model.event import Origin
from kept.model.memory import Memory, Status
from kept.model.operation import Facts, Merge, Resolve, Retire, Revise, Supersede
from kept.stages.guard import overreach

AT = datetime(2026, 1, 1, tzinfo=UTC)


def memories(count: int, category: str = "decision") -> list[Memory]:
    return [
        Memory(
            id=f"{category}{i}",
            profile="coding",
            category=category,
            scope="user",
            status=Status.ACTIVE,
            content=f"content {i}",
            confidence=0.8,
            origin=Origin.USER,
            first_seen=AT,
            last_seen=AT,
        )
        for i in range(count)
    ]


def emptied(number: str) -> Revise:
    facts = Facts(
        content=" ",
        category="decision",
        confidence=0.8,
        origin=Origin.USER,
        first_seen=AT,
        last_seen=AT,
        observations=1,
        artifacts=(),
        candidates=(),
    )
    return Revise(memory=number, at=AT, reason="", facts=facts)


def merged(number: str) -> Merge:
    return Merge(memory="decision99", at=AT, reason="", losers=(number,), facts=replace(emptied("x").facts, content="all in one"))


ENDINGS = {
    "retire": lambda number: Retire(memory=number, at=AT, reason=""),
    "supersede": lambda number: Supersede(memory=number, at=AT, reason="", by="decision99"),
    "resolve": lambda number: Resolve(memory=number, at=AT, reason=""),
    "empty": emptied,
    "merge": merged,
}


@pytest.mark.parametrize("kind", ENDINGS)
def test_half_of_a_category_may_go_in_one_pass_and_one_more_stops_it(kind):
    everything = memories(100)
    half = [ENDINGS[kind](f"decision{i}") for i in range(50)]
    assert overreach(everything, half) == ()
    (stop,) = overreach(everything, [*half, ENDINGS[kind]("decision50")])
    assert (stop.category, stop.active, stop.lost) == ("decision", 100, 51)


def test_a_category_with_fewer_than_four_memories_is_not_guarded():
    assert overreach(memories(3), [ENDINGS["retire"](f"decision{i}") for i in range(3)]) == ()
    assert overreach(memories(4), [ENDINGS["retire"](f"decision{i}") for i in range(3)]) != ()


def test_categories_are_counted_apart():
    everything = [*memories(10), *memories(4, "goal")]
    (stop,) = overreach(everything, [ENDINGS["retire"](f"goal{i}") for i in range(3)])
    assert stop.category == "goal"
