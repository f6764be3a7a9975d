"""What the person takes back in a later prompt does not become active, wherever the session is divided for extraction."""

import pytest

from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline
from talking import converse

TOLD = "From now on always call the harbour desk before a tide table is printed."


@pytest.mark.parametrize("before", range(16, 24))
def test_the_next_prompt_takes_a_telling_back_even_if_the_telling_ends_an_episode(desk_at, tmp_path, before):
    home = tmp_path / str(before)
    talk = [("user" if number % 2 == 0 else "agent", f"Part {number} of the tide table is fine.") for number in range(before)]
    converse(home, "one", *talk, ("user", TOLD), ("agent", "Yes."), ("user", "Nah dont, that got old fast."), ("agent", "Fine."))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = {memory.content: memory.status for memory in workspace.store.log.memories()}
    assert found[TOLD] is Status.HELD


def test_a_telling_that_a_later_prompt_takes_back_is_held_although_it_was_active_before(desk_at, home):
    told = (("user", TOLD), ("agent", "Yes."))
    with desk_at(home) as workspace:
        for more in ((), (("user", "Scrap that."), ("agent", "Fine."))):
            converse(home, "one", *told, *more)
            run_pipeline(workspace, [], RunOptions())
        found = {memory.content: memory.status for memory in workspace.store.log.memories()}
    assert found[TOLD] is Status.HELD
