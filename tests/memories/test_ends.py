"""When a memory ends whose words a person changed, split or confirmed."""

from datetime import UTC, datetime

import pytest

from kept.core.memory import Status
from kept.core.value import replace
from kept.memories import person
from kept.memories.wording import find_new_end
from kept.pipeline.run import RunOptions, run_pipeline
from talking import say

UNTIL = "Remember that we freeze the main branch of this repo until 2026-01-20."
LATER = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def workspace(desk_at, home):
    say(home, "s1", UNTIL)
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        yield opened


def only(workspace):
    (memory,) = workspace.store.log.memories()
    return memory


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("We freeze the main branch of this repo, always.", None),
        ("We freeze the main branch of this repo until 2026-03-05.", "2026-03-05"),
        ("We froze the main branch of this repo until 2026-01-20.", "2026-01-20"),
    ],
)
def test_a_memory_ends_as_its_new_words_say(workspace, words, day):
    assert only(workspace).valid_until is not None
    person.edit(workspace, only(workspace).id, words)
    run_pipeline(workspace, [], RunOptions(model=False, force=True))
    end = only(workspace).valid_until
    assert (end and f"{end:%Y-%m-%d}") == day


def test_a_memory_without_a_time_ends_as_its_new_words_say(workspace):
    undated = replace(only(workspace), content="We freeze the main branch.", last_seen=None, valid_until=None)
    assert f"{find_new_end(workspace, undated, 'We freeze main until 2099-03-05.'):%Y-%m-%d}" == "2099-03-05"


def test_an_end_that_was_given_apart_from_the_words_outlasts_a_change_of_them(workspace):
    told = person.create_memory(workspace, "The lift is out of order.", "project_fact", until=LATER)
    assert person.edit(workspace, told.id, "The lift in the hall is out of order.").valid_until == LATER


def test_of_two_parts_only_the_one_whose_words_say_an_end_has_it(workspace):
    first, second = person.split(workspace, only(workspace).id, "We freeze main until 2026-01-20.", "The main branch is protected.")
    assert (first.valid_until is not None, second.valid_until) == (True, None)


def test_what_expired_and_is_confirmed_holds_again(workspace):
    late = replace(workspace, clock=lambda: LATER)
    number = only(late).id
    assert only(late).status_at(LATER) is Status.EXPIRED
    assert person.keep(late, number).status_at(LATER) is Status.ACTIVE
