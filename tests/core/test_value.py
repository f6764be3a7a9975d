"""Values: what they share with those of the standard library."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict
from functools import cached_property

import pytest

from kept.core.event import leave_twin_open, make_twin
from kept.core.value import dataclass, field, fields, make_builder, replace
from talk import talk, user


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    name: str
    parts: list[str] = field(default_factory=list, compare=False)
    count: int = 1


def test_a_value_is_equal_to_its_copies_and_shows_its_fields():
    thing = Thing(name="a")
    assert {thing, Thing(name="a", parts=["x"])} == {thing}
    assert [copy.copy(thing), pickle.loads(pickle.dumps(thing)), replace(thing, count=1)] == [thing] * 3
    assert thing != Thing(name="b")
    assert repr(thing) == "Thing(name='a', parts=[], count=1)"
    assert [each.name for each in fields(Thing)] == list(asdict(thing))


def test_a_value_built_by_position_is_that_of_the_same_fields_by_name():
    thing = make_builder(Thing)("a", ["x"], 2)
    assert (thing, thing.parts) == (Thing(name="a", count=2), ["x"])
    with pytest.raises(FrozenInstanceError):
        thing.name = "b"
    with pytest.raises(TypeError):
        make_builder(Thing)("a")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part(Thing):
    whole: str = ""


def test_a_value_whose_class_has_a_base_has_the_fields_of_both_and_is_no_value_of_the_base():
    part = Part(name="a", whole="b")
    assert [each.name for each in fields(Part)] == ["name", "parts", "count", "whole"]
    assert [pickle.loads(pickle.dumps(part)), replace(part, count=1), make_builder(Part)("a", [], 1, "b")] == [part] * 3
    assert part != Thing(name="a")
    for value in (part, Thing(name="a")):
        with pytest.raises(FrozenInstanceError):
            value.name = "b"


def test_values_do_not_share_what_a_factory_makes():
    assert Thing(name="a").parts is not Thing(name="a").parts


def test_no_field_of_a_value_is_set_deleted_left_out_or_unknown():
    thing = Thing(name="a")
    with pytest.raises(FrozenInstanceError):
        thing.name = "b"
    with pytest.raises(FrozenInstanceError):
        del thing.name
    for given in ({}, {"name": "a", "other": 1}):
        with pytest.raises(TypeError):
            Thing(**given)
    with pytest.raises(TypeError):
        replace(thing, other=1)


def test_a_twin_that_was_left_open_is_that_of_the_text_as_it_was():
    event = replace(talk(user("Use tabs."))[0], twin="")
    twin = make_twin(event)
    assert replace(leave_twin_open(event), text="Use [forgotten].").twin == event.twin == twin


@dataclass(kw_only=True, slots=True)
class Count:
    of: str
    seen: list[int] = field(default_factory=list, repr=False)


def test_a_value_that_may_change_is_equal_by_its_fields_and_has_no_hash():
    count = Count(of="a")
    count.seen.append(1)
    count.of = "b"
    assert [count, copy.copy(count), pickle.loads(pickle.dumps(count))] == [Count(of="b", seen=[1])] * 3
    assert (repr(count), Count(of="b") == count) == ("Count(of='b')", False)
    with pytest.raises(TypeError):
        hash(count)


@dataclass(frozen=True, kw_only=True)
class Words:
    text: str

    @cached_property
    def split(self) -> list[str]:
        return self.text.split()


def test_a_frozen_value_without_slots_remembers_what_it_computed():
    words = Words(text="a b")
    assert words.split is words.split
    assert {words, Words(text="a b")} == {words}
    with pytest.raises(FrozenInstanceError):
        words.text = "c"
