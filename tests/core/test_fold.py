"""The fold of operations into memories."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import Origin
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import (
    Add,
    Approve,
    Facts,
    Forget,
    Merge,
    Operation,
    Pass,
    Pin,
    Reaffirm,
    Reject,
    Resolve,
    Retire,
    Revise,
    Supersede,
    apply_operation,
    find_undone_passes,
    fold,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = datetime(2026, 5, 5, tzinfo=UTC)


def memory(number: str = "a", **changes) -> Memory:
    made = Memory(
        id=number,
        profile="coding",
        category="decision",
        scope="user",
        status=Status.ACTIVE,
        content=f"content {number}",
        confidence=0.8,
        origin=Origin.USER,
        first_seen=AT,
        last_seen=AT,
    )
    return replace(made, **changes)


def facts(content: str) -> Facts:
    return Facts(
        content=content,
        category="decision",
        confidence=0.9,
        origin=Origin.USER,
        first_seen=AT,
        last_seen=AT,
        observations=2,
        artifacts=(),
        candidates=("c",),
    )


def add(number: str = "a", **changes) -> Add:
    return Add(memory=number, at=AT, reason="new", value=memory(number, **changes))


def history(*groups: tuple[Operation, ...], actor: Actor = Actor.MACHINE) -> list[Pass]:
    return [
        Pass(id=i, run=i, stage="curate", subject="", actor=actor, recorded_at=STAMP, operations=group)
        for i, group in enumerate(groups, 1)
    ]


def switch(number: int, *, undoes: tuple[int, ...] = (), redoes: tuple[int, ...] = ()) -> Pass:
    return Pass(
        id=number,
        run=number,
        stage="undo",
        subject="",
        actor=Actor.PERSON,
        recorded_at=STAMP,
        operations=(),
        undoes=undoes,
        redoes=redoes,
    )


def test_an_undone_pass_leaves_no_trace_in_the_memories():
    passes = history((add("a"),), (add("b"), Retire(memory="a", at=AT, reason="x")))
    assert fold([*passes, switch(3, undoes=(2,))]) == fold(passes[:1])


def test_a_redo_restores_exactly_what_the_undo_took():
    passes = history((add("a"),), (Retire(memory="a", at=AT, reason="x"),))
    assert fold([*passes, switch(3, undoes=(2,)), switch(4, redoes=(2,))]) == fold(passes)


def test_later_operations_on_a_memory_whose_adding_was_undone_change_nothing():
    passes = history((add("a"),), (Retire(memory="a", at=AT, reason="x"), Pin(memory="a", at=AT, reason="x")))
    assert fold([*passes, switch(3, undoes=(1,))]) == {}


def test_undoing_an_edit_restores_the_words_and_category_of_a_memory_that_was_seen_again_since():
    edit = Revise(memory="a", at=AT, reason="edited", facts=replace(facts("mine"), category="lesson", artifacts=("mine.py",)))
    again = Reaffirm(memory="a", at=STAMP, reason="again", facts=replace(edit.facts, last_seen=STAMP, observations=3))
    after = fold([*history((add("a"),), (edit,), (again,)), switch(4, undoes=(2,))])["a"]
    assert (after.content, after.category, after.artifacts) == ("content a", "decision", ())
    assert (after.last_seen, after.observations) == (STAMP, 3)


def test_undoing_a_change_of_category_restores_it_although_the_memory_was_seen_again_since():
    moved = Revise(memory="a", at=AT, reason="edited", facts=replace(facts("content a"), category="lesson"))
    again = Reaffirm(memory="a", at=STAMP, reason="again", facts=moved.facts)
    assert fold([*history((add("a"),), (moved,), (again,)), switch(4, undoes=(2,))])["a"].category == "decision"


def test_a_merge_keeps_the_losers_and_says_what_replaced_them():
    after = fold(history((add("a"), add("b"), Merge(memory="a", at=AT, reason="same", losers=("b",), facts=facts("both")))))
    assert after["a"].content == "both"
    assert after["a"].supersedes == ("b",)
    assert (after["b"].status, after["b"].superseded_by, after["b"].content) == (Status.SUPERSEDED, "a", "content b")


def test_superseding_links_both_memories():
    after = fold(history((add("a"), add("b"), Supersede(memory="a", at=AT, reason="newer", by="b"))))
    assert (after["a"].status, after["a"].superseded_by, after["b"].supersedes) == (Status.SUPERSEDED, "b", ("a",))


def test_a_resolved_question_says_what_answered_it():
    after = fold(history((add("q"), add("d"), Resolve(memory="q", at=AT, reason="answered", by="d"))))
    assert (after["q"].status, after["q"].resolved_by) == (Status.RESOLVED, "d")


def test_what_a_person_edits_is_theirs_but_an_approval_or_a_pin_is_not_an_edit():
    edited = apply_operation({"a": memory()}, Revise(memory="a", at=AT, reason="x", facts=facts("mine")), Actor.PERSON)
    pinned = apply_operation({"a": memory()}, Pin(memory="a", at=AT, reason="x"), Actor.PERSON)
    approved = apply_operation({"a": memory(status=Status.HELD)}, Approve(memory="a", at=AT, reason="x"), Actor.PERSON)
    assert edited["a"].owned
    assert not pinned["a"].owned
    assert not approved["a"].owned
    assert approved["a"].status is Status.ACTIVE


def test_a_forgotten_memory_keeps_no_words():
    after = apply_operation(
        {"a": memory(artifacts=("x.py",))}, Forget(memory="a", at=AT, reason="x", fingerprints=("f",)), Actor.PERSON
    )
    assert (after["a"].content, after["a"].artifacts, after["a"].evidence) == ("", (), ())


def test_a_rejected_memory_is_not_active():
    assert (
        apply_operation({"a": memory(status=Status.HELD)}, Reject(memory="a", at=AT, reason="x"), Actor.PERSON)["a"].status
        is Status.REJECTED
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=12))
def test_a_pass_is_off_exactly_when_its_last_switch_turned_it_off(switches):
    passes = [switch(10 + i, **({"undoes": (n,)} if off else {"redoes": (n,)})) for i, (off, n) in enumerate(switches)]
    last = {number: off for off, number in switches}
    assert find_undone_passes(passes) == {number for number, off in last.items() if off}


def test_expiry_is_read_off_the_moment_and_never_stored():
    soon = memory(valid_until=AT)
    assert soon.status_at(STAMP) is Status.EXPIRED
    assert soon.status is Status.ACTIVE
