"""The guard against wipes (K6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cases import each_case
from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.operation import (
    CONDENSED,
    FADED,
    GAVE_WAY,
    MAY_CONTRADICT,
    REREAD,
    Add,
    Approve,
    Facts,
    Merge,
    Pin,
    Promote,
    Resolve,
    Retire,
    Revise,
    Supersede,
    apply_operation,
)
from kept.curation.guard import find_ended, find_overreach, find_protected_changes

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


@each_case("kind", ENDINGS)
def test_half_of_a_category_may_go_in_one_pass_and_one_more_stops_it(kind):
    everything = memories(100)
    half = [ENDINGS[kind](f"decision{i}") for i in range(50)]
    assert find_overreach(everything, half) == ()
    (stop,) = find_overreach(everything, [*half, ENDINGS[kind]("decision50")])
    assert (stop.category, stop.active, stop.lost) == ("decision", 100, 51)


def test_a_category_with_fewer_than_four_memories_is_not_guarded():
    assert find_overreach(memories(3), [ENDINGS["retire"](f"decision{i}") for i in range(3)]) == ()
    assert find_overreach(memories(4), [ENDINGS["retire"](f"decision{i}") for i in range(3)]) != ()


def test_categories_are_counted_apart_and_named_in_order():
    names = ("goal", "aim", "theme", "person", "stack")
    everything = [*memories(10), *(each for name in names for each in memories(4, name))]
    stops = find_overreach(everything, [ENDINGS["retire"](f"{name}{i}") for name in names for i in range(3)])
    assert [stop.category for stop in stops] == sorted(names)


def nights(share: float, count: int) -> tuple[int, int]:
    """A hostile curator that takes a share of what is left each night, each night's pass guarded; what is left, passes stopped."""
    state = {each.id: each for each in memories(100)}
    stopped = 0
    for night in range(count):
        at = AT + timedelta(days=night)
        active = [each.id for each in state.values() if each.status is Status.ACTIVE]
        wanted = [Retire(memory=each, at=at, reason="outdated") for each in active[: max(1, round(len(active) * share))]]
        if find_overreach(state.values(), wanted):
            stopped += 1
            continue
        for operation in wanted:
            state.update(apply_operation(state, operation, Actor.MACHINE))
    return sum(each.status is Status.ACTIVE for each in state.values()), stopped


def test_slow_erosion_is_stopped_at_half_within_thirty_days():
    left, stopped = nights(0.1, 29)
    assert left >= 50
    assert stopped > 10


def test_half_of_what_stood_at_any_time_of_thirty_days_may_go_and_one_more_stops_the_pass():
    gone = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(4))]
    retire = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(4)]
    assert find_overreach([*gone, *memories(10)], retire[:3]) == ()
    assert find_overreach([*gone, *memories(10)], retire) != ()


def test_a_memory_that_was_only_proposed_anew_does_not_spend_the_budget():
    everything = [replace(each, status=Status.RETIRED, reason=REREAD, ended_at=AT) for each in memories(10)]
    everything += [replace(each, id=f"new{i}") for i, each in enumerate(memories(6))]
    assert find_overreach(everything, [Retire(memory="new0", at=AT, reason="x")]) == ()


def test_losses_of_more_than_thirty_days_ago_are_no_longer_counted():
    old = [replace(each, status=Status.RETIRED, reason="x", ended_at=AT - timedelta(days=31)) for each in memories(10)]
    now = [replace(each, id=f"now{i}") for i, each in enumerate(memories(10))]
    some = [Retire(memory=f"now{i}", at=AT, reason="x") for i in range(5)]
    assert find_overreach([*old, *now], some) == ()
    for ended, counts in (
        (AT - timedelta(days=30), False),
        (AT - timedelta(days=30) + timedelta(seconds=1), True),
        (AT, True),
        (AT + timedelta(seconds=1), False),  # what ended later is not before
    ):
        others = [replace(each, ended_at=ended) for each in old]
        assert bool(find_overreach([*others, *now], some)) is counts


def test_the_thirty_days_end_with_the_last_operation_that_has_a_time():
    gone = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(10))]
    before, undated = AT - timedelta(days=1), None
    for times, counts in (((AT, before), True), ((before, AT, undated), True), ((before, before), False), ((undated,) * 2, True)):
        some = [Retire(memory=f"decision{i}", at=at, reason="x") for i, at in enumerate(times)]
        assert bool(find_overreach([*gone, *memories(10)], some)) is counts


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.RESOLVED])
@pytest.mark.parametrize(("ends", "is_loss"), [(Status.ACTIVE, False), (Status.RETIRED, True)])
def test_what_an_active_memory_replaced_or_resolved_is_no_loss_of_the_thirty_days(status, ends, is_loss):
    by = {"superseded_by" if status is Status.SUPERSEDED else "resolved_by": "heir"}
    old = [replace(each, id=f"old{i}", status=status, ended_at=AT, reason="x", **by) for i, each in enumerate(memories(10))]
    heir = replace(memories(1)[0], id="heir", status=ends, reason="x", ended_at=None if ends is Status.ACTIVE else AT)
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(3)]
    assert bool(find_overreach([*old, heir, *memories(10)], some)) is is_loss


@pytest.mark.parametrize(
    ("heir", "is_loss"),
    [
        ("harbor boats need 3 ropes 4 lamps 5 bells", False),
        ("harbor boats need 3 ropes 4 lamps 6 bells", False),  # one number changed
        ("harbor boats need 3 ropes 7 lamps 6 bells", True),  # two did: it is about something else
        ("the ferry leaves at noon", True),
    ],
)
def test_what_took_the_place_of_a_memory_speaks_of_the_same_or_it_is_a_loss(heir, is_loss):
    said = "harbor boats need 3 ropes 4 lamps 5 bells"
    assert replaced_is_loss(said, replace(memories(1)[0], id="heir", content=heir)) is is_loss


def replaced_is_loss(said: str, *others: Memory, **changes) -> bool:
    """True if memories that were replaced by the memory ``heir`` count as lost in the thirty days."""
    old = [
        replace(
            each, id=f"old{i}", content=said, status=Status.SUPERSEDED, superseded_by="heir", ended_at=AT, reason="x", **changes
        )
        for i, each in enumerate(memories(10))
    ]
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(3)]
    return bool(find_overreach([*old, *others, *memories(10)], some))


def test_a_heir_has_at_least_three_tenths_of_the_words():
    heir = replace(memories(1)[0], id="heir")
    words = ["harbor", "boats", "ropes", "lamps", "bells", "flags", "nets", "oars", "buoys", "masts"]
    assert not replaced_is_loss(" ".join(words), replace(heir, content=" ".join(words[:3])))
    assert replaced_is_loss(" ".join(words[:8]), replace(heir, content=" ".join(words[:2])))


def test_a_memory_is_lost_whose_heir_is_missing_or_empty_or_ended_in_turn():
    heir = replace(memories(1)[0], id="heir", content="boats", subject="boats")
    last = replace(heir, id="last")
    followed = replace(heir, status=Status.SUPERSEDED, superseded_by="last", ended_at=AT, reason="x")
    said = {"subject": "boats"}
    assert replaced_is_loss("boats", **said)
    assert not replaced_is_loss("boats", heir, **said)
    assert replaced_is_loss("boats", replace(heir, content=" "), **said)
    assert not replaced_is_loss("boats", followed, last, **said)
    assert replaced_is_loss("boats", followed, replace(last, status=Status.RETIRED, reason="x", ended_at=AT), **said)
    assert replaced_is_loss("boats", followed, replace(last, content="the ferry leaves at noon", subject=""), **said)


def test_a_memory_that_waits_beside_the_active_one_it_may_contradict_is_no_loss_of_the_thirty_days():
    gone = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(10))]
    heir = replace(memories(1)[0], id="heir", content="content")
    for by, reason, is_loss in (("heir", MAY_CONTRADICT, False), ("", MAY_CONTRADICT, True), ("heir", "x", True)):
        waits = [
            Add(memory=each.id, at=AT, reason=reason, value=replace(each, status=Status.HELD, superseded_by=by))
            for each in memories(10)[:3]
        ]
        assert bool(find_overreach([*gone, heir, *memories(10)], waits)) is is_loss


@pytest.mark.parametrize(("reason", "protected"), [(f"{GAVE_WAY} 2026-01-01", ()), ("the person said so", ("decision0",))])
def test_a_machine_brings_back_only_what_it_let_give_way_itself(reason, protected):
    ended = replace(memories(1)[0], owned=True, status=Status.SUPERSEDED, superseded_by="heir", reason=reason)
    back = Approve(memory=ended.id, at=AT, reason="x")
    assert find_protected_changes([ended], [back]) == protected
    assert find_protected_changes([ended], [Retire(memory=ended.id, at=AT, reason=f"{GAVE_WAY} today")]) == (ended.id,)


@pytest.mark.parametrize(
    ("quoted", "reason", "protected"),
    [
        (Origin.USER, f"{GAVE_WAY} 2026-01-01", ()),
        (Origin.ASSISTANT, f"{GAVE_WAY} 2026-01-01", ("decision0",)),
        (Origin.USER, "newer", ("decision0",)),
    ],
)
def test_a_persons_own_gives_way_to_what_they_typed_alone(quoted, reason, protected):
    mine, heir = memories(2)
    said = Evidence(quote="x", event="k", session="s", path="f", at=AT, author="x", origin=quoted)
    way = Supersede(memory=mine.id, at=AT, reason=reason, by=heir.id)
    for earlier in ("told", f"{GAVE_WAY} 2025-12-01"):  # it came back from that once
        own = replace(mine, owned=True, reason=earlier)
        for beside in ((), (replace(said, origin=Origin.ASSISTANT),)):
            assert find_protected_changes([own, replace(heir, evidence=(said, *beside))], [way]) == protected
        assert find_protected_changes([own, heir], [replace(way, by="nobody")]) == (own.id,)


def test_a_heir_with_another_subject_and_other_words_makes_a_loss():
    old = [
        replace(each, id=f"old{i}", content="boats", subject="boats", status=Status.SUPERSEDED, superseded_by="heir", ended_at=AT)
        for i, each in enumerate(memories(10))
    ]
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(3)]
    for subject, is_loss in (("boats", False), ("trains", True)):
        heir = replace(memories(1)[0], id="heir", content="leaves at noon", subject=subject)
        assert bool(find_overreach([*old, heir, *memories(10)], some)) is is_loss


def test_what_was_emptied_before_counts_as_lost_in_the_thirty_days():
    empty = [replace(each, id=f"old{i}", content=" ") for i, each in enumerate(memories(10))]
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(3)]
    assert find_overreach([*empty, *memories(10)], some) != ()


def test_what_a_pass_replaces_by_an_active_memory_spends_nothing_of_the_thirty_days():
    gone = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(20))]
    replaced = [Supersede(memory=f"decision{i}", at=AT, reason="newer", by="heir") for i in range(5)]
    heir = replace(memories(1)[0], id="heir")
    alike = [replace(each, content=heir.content) for each in memories(10)]
    assert find_overreach([*gone, heir, *alike], replaced) == ()
    assert find_overreach([*gone, heir, *alike], [Retire(memory=each.memory, at=AT, reason="x") for each in replaced]) != ()


def test_what_faded_and_what_ended_otherwise_have_budgets_of_their_own_and_no_pass_fades_more_than_half():
    retired = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(12))]
    faded = [replace(each, id=f"faded{each.id}", reason=f"{FADED} 9 sessions") for each in retired]
    fade = [Retire(memory=f"decision{i}", at=AT, reason=f"{FADED} 9 sessions") for i in range(6)]
    retire = [replace(each, reason="x") for each in fade]
    assert find_overreach([*retired, *memories(10)], fade[:3]) == ()
    assert find_overreach([*faded, *memories(10)], retire[:3]) == ()
    assert find_overreach([*faded, *memories(10)], fade[:3]) != ()
    assert find_overreach(memories(10), fade) != ()
    (stop,) = find_overreach([*faded, *memories(10)], retire)
    assert stop.spent == 0  # what faded before is no part of it


@pytest.mark.parametrize("mark", ["owned", "pinned"])
def test_a_machine_may_not_touch_what_is_pinned_or_the_users_own(mark):
    theirs, other = (replace(memories(2)[0], **{mark: True}), memories(2)[1])
    for operation in (
        Retire(memory=theirs.id, at=AT, reason="x"),
        Supersede(memory=theirs.id, at=AT, reason="x", by=other.id),
        emptied(theirs.id),
        Promote(memory=theirs.id, at=AT, reason="x", category="convention"),
        Pin(memory=theirs.id, at=AT, reason="x", on=mark == "owned"),
    ):
        assert find_protected_changes([theirs, other], [operation]) == (theirs.id,)
    assert find_protected_changes([theirs, other], [Retire(memory=other.id, at=AT, reason="x")]) == ()


def test_a_stop_says_what_it_would_take_and_what_went_before_where_anything_did():
    retired = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(10))]
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(6)]
    (alone,), (after,) = find_overreach(memories(10), some), find_overreach([*retired, *memories(10)], some[:3])
    assert str(alone) == "it would deactivate 6 of 10 memories in decision"
    assert str(after) == "it would deactivate 3 of 10 memories in decision, after 10 in the 30 days before"


def test_a_category_of_which_fewer_than_four_ever_stood_in_thirty_days_does_not_erode():
    gone = replace(memories(1)[0], id="old", status=Status.RETIRED, ended_at=AT, reason="x")
    retire = [Retire(memory="decision0", at=AT, reason="x")]
    assert find_overreach([gone, *memories(2)], retire) == ()
    assert find_overreach([gone, replace(gone, id="older"), *memories(2)], retire) != ()
    assert find_overreach([gone, *memories(3)], retire) == ()  # two of four, no more than half
    faded = replace(gone, reason=FADED)
    alike = Retire(memory="decision1", at=AT, reason="x"), Retire(memory="decision2", at=AT, reason=FADED)
    assert find_overreach([faded, *memories(3)], [*retire, *alike]) == ()  # either budget is too small


@each_case(
    "never_lost",
    [
        {"status": Status.HELD, "content": ""},
        {"status": Status.HELD, "content": "waits"},
        {"status": Status.RETIRED, "ended_at": AT, "reason": "x", "owned": True},
        {"status": Status.REJECTED, "ended_at": AT, "reason": "x"},
        {"status": Status.SUPERSEDED, "ended_at": AT, "reason": CONDENSED},
        {"status": Status.RETIRED, "ended_at": AT, "reason": REREAD},
    ],
)
def test_what_waits_was_rejected_or_condensed_or_ended_by_its_owner_spends_nothing_of_the_thirty_days(never_lost):
    others = [replace(each, id=f"old{i}", **never_lost) for i, each in enumerate(memories(10))]
    some = [Retire(memory=f"decision{i}", at=AT, reason="x") for i in range(3)]
    assert find_overreach([*others, *memories(10)], some) == ()


@each_case("pinned", [False, True])
@each_case(("content", "category"), [("", ""), ("other words", ""), ("", "convention")])
def test_a_persons_own_gives_way_only_unpinned_in_its_own_words_and_category(pinned, content, category):
    mine, heir = memories(2)
    said = Evidence(quote="x", event="k", session="s", path="f", at=AT, author="x", origin=Origin.USER)
    own = replace(mine, owned=True, pinned=pinned)
    facts = replace(emptied("x").facts, content=content or mine.content, category=category or mine.category)
    way = [Revise(memory=mine.id, at=AT, reason="", facts=facts), Supersede(memory=mine.id, at=AT, reason=GAVE_WAY, by=heir.id)]
    expected = (mine.id,) if pinned or content or category else ()
    assert find_protected_changes([own, replace(heir, evidence=(said,))], way) == expected


def test_faded_memories_of_the_days_before_are_told_and_make_a_small_category_large_enough():
    faded = [
        replace(each, id=f"old{i}", status=Status.RETIRED, reason=FADED, ended_at=AT - timedelta(days=1))
        for i, each in enumerate(memories(4))
    ]
    (stop,) = find_overreach([*memories(3), *faded], [Retire(memory="decision0", at=AT, reason=FADED)])
    assert (stop.lost, stop.active, stop.spent) == (1, 3, 4)


def test_memories_that_replaced_each_other_in_a_circle_are_lost():
    one, other = (
        replace(each, content="boats", status=Status.SUPERSEDED, superseded_by=by, ended_at=AT)
        for each, by in zip(memories(2), ("decision1", "decision0"), strict=True)
    )
    standing = [replace(each, id=f"other{i}") for i, each in enumerate(memories(2))]
    (stop,) = find_overreach([one, other, *standing], [Retire(memory="other0", at=AT, reason="")])
    assert (stop.lost, stop.active, stop.spent) == (1, 2, 2)


def test_memories_that_would_end_are_those_that_are_active_and_lose_their_words_or_their_state():
    everything = [*memories(3), replace(memories(4)[3], status=Status.RETIRED)]
    gone = find_ended(everything, [ENDINGS["retire"]("decision2"), emptied("decision0"), ENDINGS["retire"]("decision3")])
    assert {memory.id for memory in gone} == {"decision0", "decision2"}


def test_what_should_never_have_been_active_is_neither_counted_nor_lost():
    retire = [ENDINGS["retire"](f"decision{i}") for i in range(6)]
    assert find_overreach(memories(10), retire[:4], corrected=frozenset({"decision0"})) == ()
    (stop,) = find_overreach(memories(10), retire, corrected=frozenset({"decision0"}))
    assert (stop.active, stop.lost) == (9, 5)
    gone = [replace(each, id=f"old{i}", status=Status.RETIRED, ended_at=AT, reason="x") for i, each in enumerate(memories(10))]
    assert find_overreach([*gone, *memories(10)], retire[:3]) != ()
    assert find_overreach([*gone, *memories(10)], retire[:3], corrected=frozenset(each.id for each in gone)) == ()


def test_where_a_part_is_given_the_numbers_of_the_whole_count_without_what_should_never_have_been_active():
    retire = [ENDINGS["retire"](f"decision{i}") for i in range(4)]
    for whole, corrected, stops in (
        ({"decision": 8}, (), False),
        ({"decision": 7}, (), True),
        ({"decision": 8}, ("decision5",), True),
    ):
        found = find_overreach(memories(6), retire, corrected=frozenset(corrected), active=whole)
        assert [(stop.active, stop.lost) for stop in found] == [(7, 4)] * stops
    assert find_overreach(memories(6), retire, active={}) == ()


def test_a_machine_ends_nothing_of_a_persons_own_by_the_reason_alone():
    mine, heir = memories(2)
    said = Evidence(quote="x", event="k", session="s", path="f", at=AT, author="x", origin=Origin.USER)
    waits = replace(mine, owned=True, status=Status.HELD, superseded_by=heir.id)
    retire = Retire(memory=mine.id, at=AT, reason=f"{GAVE_WAY} today")
    assert find_protected_changes([waits, replace(heir, evidence=(said,))], [retire]) == (mine.id,)
