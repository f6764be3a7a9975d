"""What a person changes is what they saw: a stale edit is refused, with nothing changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kept.core.errors import StaleError
from kept.core.memory import Memory
from kept.memories import person
from kept.memories.history import undo

CHANGES: dict[str, Callable[..., object]] = {
    "edit": lambda desk, number, seen: person.edit(desk, number, "Something else.", if_match=seen),
    "retire": lambda desk, number, seen: person.retire(desk, number, if_match=seen),
    "pin": lambda desk, number, seen: person.pin(desk, number, if_match=seen),
    "resolve": lambda desk, number, seen: person.resolve(desk, number, "decision", if_match=seen),
}


@pytest.fixture
def desk(desk_at, home):
    with desk_at(home) as opened:
        yield opened


@pytest.fixture
def memory(desk) -> Memory:
    return person.add(desk, "Releases go out on Tuesdays only.", "constraint")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_was_changed_meanwhile_is_refused_and_changes_nothing(desk, memory, name):
    seen = person.revision(memory)
    person.edit(desk, memory.id, "Releases go out on Fridays only.")
    before = list(desk.store.rows())
    with pytest.raises(StaleError, match="says “Releases go out on Fridays only"):
        CHANGES[name](desk, memory.id, seen)
    assert list(desk.store.rows()) == before


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_is_as_it_was_seen_is_made(desk, memory, name):
    CHANGES[name](desk, memory.id, person.revision(memory))
    assert desk.store.log.memory(memory.id) != memory


def test_a_held_memory_decided_elsewhere_is_not_decided_again(desk):
    held = person.add(desk, "The CI image pins Node 20.", "constraint", agent=True)
    seen = person.revision(held)
    person.reject(desk, held.id, if_match=seen)
    with pytest.raises(StaleError, match="it is rejected"):
        person.approve(desk, held.id, if_match=seen)


def test_a_revision_is_that_of_what_a_person_sees(desk, memory):
    seen = person.revision(memory)
    assert person.revision(replace(memory, observations=7, reason="confirmed")) == seen
    person.edit(desk, memory.id, "Otherwise.")
    undo(desk)
    assert person.revision(person.find(desk, memory.id)) == seen
