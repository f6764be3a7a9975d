"""A store of earlier rules (`store_of_old_rules.db.gz`, two sessions read by them) is upgraded after a preview, and the upgrade is
undone.

The sessions said: "We use poetry here, not pip, …", "I think the button in the header should be blue instead of green.", "Never use
pip in this repo, always use `uv sync` instead.", "this repo should keep the config in `settings.toml`, …", "the staging server is
db2.internal, …", "we prefer short functions in the parser", "Remember that the broker is NATS and never RabbitMQ."
"""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from kept.core.memory import Actor, Status
from kept.curation.passes import curate_changed_groups
from kept.memories import person
from kept.memories.history import undo
from kept.memories.waiting import list_pending_proposals
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.upgrade import find_outdated_memories, preview_upgrade, run_upgrade
from kept.store.values import Draft, Span
from kept.workspace import RunNumber

PIP = "Never use pip in this repo, always use `uv sync` instead."
BROKER = "the broker is NATS and never RabbitMQ."
FALSE = "Never use pip in `api.py`, always use `uv sync` instead."
BUTTON = "The button in the header should be blue instead of green."


@pytest.fixture
def workspace(desk_at, home):
    place = home / ".local" / "share" / "kept" / "kept.db"
    place.parent.mkdir(parents=True)
    place.write_bytes(gzip.decompress((Path(__file__).parent / "store_of_old_rules.db.gz").read_bytes()))
    with desk_at(home) as workspace:
        yield workspace


def active(workspace):
    return sorted(each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE)


def test_a_preview_lists_what_retires_and_what_is_made_and_changes_nothing(workspace):
    before = workspace.store.log.memories()
    shown = preview_upgrade(workspace)
    assert BUTTON in [each.content for each in shown.retired]
    assert [each.content for each in shown.made] == [BROKER]
    assert (shown.run, len(shown.retired), shown.active) == (0, 5, 5)
    assert workspace.store.log.memories() == before


def test_an_upgrade_retires_what_nobody_told_and_is_undone_as_one(workspace):
    before = active(workspace)
    assert len(before) == 6
    done = run_upgrade(workspace)
    assert done.run
    assert active(workspace) == sorted([PIP, BROKER])
    assert find_outdated_memories(workspace) == ()
    assert preview_upgrade(workspace).retired == ()
    undo(workspace)
    assert active(workspace) == before
    assert workspace.store.find_damage() == ()


def test_an_upgrade_spares_what_a_person_pinned_edited_or_added(workspace):
    button = next(each for each in workspace.store.log.memories() if each.content == BUTTON)
    person.pin(workspace, button.id)
    poetry = next(each for each in workspace.store.log.memories() if "poetry" in each.content)
    person.edit(workspace, poetry.id, "We use poetry in `api/`.")
    person.create_memory(workspace, "Releases leave on Tuesdays.", "decision")
    run_upgrade(workspace)
    assert active(workspace) == sorted([PIP, BROKER, BUTTON, "We use poetry in `api/`.", "Releases leave on Tuesdays."])


def falsify(workspace, trigger):
    """Have rules of earlier versions put a file in the place of what the person said."""
    number = RunNumber(workspace, "run")
    for thread in workspace.store.archive.threads():
        judged = [(each.ordinal, each.judged) for each in workspace.store.log.thread_proposals(thread.id, 0)]
        worded = tuple(
            (place, replace(each, candidate=replace(each.candidate, content=FALSE, trigger=trigger, id="f" * 32)))
            if each.candidate.content == PIP
            else (place, each)
            for place, each in judged
        )
        span = Span(thread=thread.id, start=0, judged=worded)
        workspace.store.log.commit(
            Draft(run=number(), stage="extract", subject="s", actor=Actor.MACHINE, recorded_at=workspace.clock(), span=span)
        )
    curate_changed_groups(workspace, number, allow=True)


@pytest.mark.parametrize("trigger", ["correction", "remember"])
def test_an_upgrade_gives_people_the_words_back_that_rules_replaced_and_asks_nothing_in_review(workspace, trigger):
    falsify(workspace, trigger)
    before = active(workspace)
    assert FALSE in before
    assert PIP not in before
    shown = preview_upgrade(workspace)
    assert FALSE in [each.content for each in shown.retired]
    assert PIP in [each.content for each in shown.made]
    assert list_pending_proposals(workspace) == ()
    run_upgrade(workspace)
    assert active(workspace) == sorted([PIP, BROKER])
    undo(workspace)
    assert active(workspace) == before


def test_a_memory_of_a_living_rule_is_outdated_where_it_says_what_no_quote_of_it_does(workspace):
    run_upgrade(workspace)
    falsify(workspace, "remember")
    assert [each.content for each in find_outdated_memories(workspace)] == [FALSE]
    run_upgrade(workspace)
    assert active(workspace) == sorted([PIP, BROKER])


def test_a_run_says_how_many_memories_wait_for_an_upgrade(workspace):
    assert run_pipeline(workspace, [], RunOptions()).outdated == len(find_outdated_memories(workspace)) > 0
    run_upgrade(workspace)
    assert run_pipeline(workspace, [], RunOptions()).outdated == 0
