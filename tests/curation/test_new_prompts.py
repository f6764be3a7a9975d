"""What the user types later makes a model's memory untrue, though no memory says it: shown to a model once, undone, forgotten."""

import pytest

from kept.core.memory import Status
from kept.memories.history import undo
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home
from scripted_client import NOTHING, Obedient, with_model
from talking import converse, say

RATES = "Cached rates must live 15 minutes because the carriers change them."
OFFER = "Then the table of rates would be asked for three times as often."


def active(workspace):
    return sorted(each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE)


class Attentive(Obedient):
    """A model that finds the rule about rates, and lets the words "40 then" end it where both are shown."""

    def __init__(self):
        super().__init__()
        self.tables = []

    def outdated(self, ask):
        self.tables.append(ask.prompt)
        lines = ask.prompt.splitlines()
        old = next((line.split(" ")[0] for line in lines if RATES in line), "")
        new = next((line.split(" ")[0] for line in lines if line.endswith("make it 5 then")), "")
        change = {"id": int(old or 0), "op": "supersede", "with": int(new or 0), "reason": "5 minutes"}
        return {"operations": [change] if old and new else []}

    def run(self, workspace, **options):
        return run_pipeline(with_model(workspace, self, outdated=self.outdated), [], RunOptions(**options))


@pytest.fixture
def changed(desk_at, home):
    """A workspace in which a rule was found, and then changed by three words."""
    model = Attentive()
    with desk_at(home) as workspace:
        say(home, "one", "Please look at the cache.", RATES)
        model.run(workspace)
        assert active(workspace) == [RATES]
        turns = [("user", "Operations complains about stale rates."), ("agent", OFFER), ("user", "make it 5 then")]
        converse(home, "two", *turns, day="2026-01-19")
        model.run(workspace)
        yield workspace, model


def test_a_memory_ends_by_the_words_that_changed_it_and_is_not_asked_about_again(changed):
    workspace, model = changed
    (memory,) = workspace.store.log.memories()
    assert (memory.status, memory.ended_at.day) == (Status.RETIRED, 19)
    assert memory.reason == "the model says: 5 minutes (you on 2026-01-19, in session two)"
    shown = [line for line in model.tables[-1].splitlines() if ", said) " in line]
    assert [line.split(") ", 1)[1] for line in shown] == [
        "Operations complains about stale rates.",
        f"[{OFFER}] make it 5 then",
    ]
    count = len(model.tables)
    assert model.run(workspace).run == 0
    assert len(model.tables) == count


def test_prompts_before_the_memory_and_those_it_quotes_are_not_shown(changed):
    _, model = changed
    assert not any("look at the cache" in table or "said) " + RATES in table for table in model.tables)


def test_what_was_ended_by_a_prompt_comes_back_by_undo_and_stays(changed, home):
    workspace, model = changed
    made = [head for head in workspace.store.log.pass_heads() if head.stage == "advise"][-1]
    undo(workspace, str(made.id))
    assert active(workspace) == [RATES]
    say(home, "three", "Something else entirely, about boats.", day="2026-01-29")
    model.run(workspace)
    assert active(workspace) == [RATES]


def test_prompts_wait_until_a_model_has_read_the_sessions_of_the_project(desk_at, home):
    model = Attentive()
    with desk_at(home) as workspace:
        say(home, "one", RATES)
        model.run(workspace)
        converse(home, "two", ("user", "What now?"), ("agent", OFFER), ("user", "make it 5 then"), day="2026-01-19")
        deaf = Obedient(lambda ask: "No." if ask.purpose == "extract" else NOTHING)
        run_pipeline(with_model(workspace, deaf, outdated=model.outdated), [], RunOptions())
        assert active(workspace) == [RATES]
        model.run(workspace)
        assert active(workspace) == []


def test_forgetting_the_session_takes_what_the_model_said_of_it_out_of_the_reason(changed):
    workspace, _ = changed
    forget(workspace, make_erasure_request(workspace, source="two"))
    (memory,) = workspace.store.log.memories()
    assert (memory.content, memory.status) == (RATES, Status.RETIRED)
    assert "says: 5 minutes" not in memory.reason
    assert not any("says: 5 minutes" in str(operation) for pass_ in workspace.store.log.passes() for operation in pass_.operations)
    assert check_home(workspace).damage == ()
