"""What a person changes is what they saw: a stale edit is refused, with nothing changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kept.core.errors import StaleError
from kept.core.memory import Memory
from kept.memories import person
from kept.memories.history import undo

CHANGES: dict[str, Callable[..., object]] = {
    "edit": lambda workspace, number, seen: person.edit(workspace, number, "Something else.", if_match=seen),
    "retire": lambda workspace, number, seen: person.retire(workspace, number, if_match=seen),
    "pin": lambda workspace, number, seen: person.pin(workspace, number, if_match=seen),
    "resolve": lambda workspace, number, seen: person.resolve(workspace, number, "decision", if_match=seen),
}


@pytest.fixture
def workspace(desk_at, home):
    with desk_at(home) as opened:
        yield opened


@pytest.fixture
def memory(workspace) -> Memory:
    return person.create_memory(workspace, "Releases go out on Tuesdays only.", "constraint")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_was_changed_meanwhile_is_refused_and_changes_nothing(workspace, memory, name):
    seen = person.memory_revision(memory)
    person.edit(workspace, memory.id, "Releases go out on Fridays only.")
    before = list(workspace.store.export_rows())
    with pytest.raises(StaleError, match="active: “Releases go out on Fridays only"):
        CHANGES[name](workspace, memory.id, seen)
    assert list(workspace.store.export_rows()) == before


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_is_as_it_was_seen_is_made(workspace, memory, name):
    CHANGES[name](workspace, memory.id, person.memory_revision(memory))
    assert workspace.store.log.memory(memory.id) != memory


def test_a_held_memory_decided_elsewhere_is_not_decided_again(workspace):
    held = person.create_memory(workspace, "The CI image pins Node 20.", "constraint", agent=True)
    seen = person.memory_revision(held)
    person.reject(workspace, held.id, if_match=seen)
    with pytest.raises(StaleError, match="it is now rejected"):
        person.approve(workspace, held.id, if_match=seen)


def test_a_revision_is_that_of_what_a_person_sees(workspace, memory):
    seen = person.memory_revision(memory)
    assert person.memory_revision(replace(memory, observations=7, reason="confirmed")) == seen
    person.edit(workspace, memory.id, "Otherwise.")
    undo(workspace)
    assert person.memory_revision(person.find_memory(workspace, memory.id)) == seen
