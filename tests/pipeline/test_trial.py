"""The trial of a language model: who reads with care passes, who takes what a trap offers does not."""

import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.llm.adapters.recorded import ScriptedModel
from kept.llm.client import LlmClient
from kept.llm.replies import ReplyCache
from kept.local.settings import LlmSettings
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.trial import is_trusted, try_models
from obedient import obey
from talking import say

ROWS = tomllib.loads((files("kept.pipeline") / "trial.toml").read_text())["question"]
NOTES = {"problems": [], "solutions": [], "decisions": [], "questions": []}


def reply(ask, *, of):
    row = next(row for row in ROWS if f"[e0] {row['talk'][0]}" in ask.prompt)
    claim = {"category": "constraint", "event": "e0", "about": "", "rewording": "", "quotes": []}
    return {"hints": [], "memories": [claim | {"passage": words} for kind in of for words in row[kind]], "notes": NOTES}


def tried(workspace, *of):
    return try_models(replace(workspace, llm=LlmClient(lambda: ScriptedModel(lambda ask: reply(ask, of=of)))))


def test_a_model_that_finds_what_is_wanted_and_nothing_else_passes(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted")
    assert (score.right, score.unwanted, score.passes, len(ROWS)) == (10, 0, True, 10)


def test_a_model_that_takes_what_a_trap_offers_does_not_pass_however_much_it_finds(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted", "unwanted")
    assert not score.passes
    assert score.unwanted == sum(bool(row["unwanted"]) for row in ROWS)


def test_what_a_model_puts_aside_as_over_with_the_task_is_no_trap_it_took(desk_at, home):
    def answer(ask):
        body = reply(ask, of=("wanted", "unwanted"))
        traps = {words for row in ROWS for words in row["unwanted"]}
        for claim in body["memories"]:
            claim["category"] = "task" if claim["passage"] in traps else claim["category"]
        return body

    with desk_at(home) as workspace:
        (score,) = try_models(replace(workspace, llm=LlmClient(lambda: ScriptedModel(answer))))
    assert (score.unwanted, score.passes) == (0, True)


def test_a_model_that_finds_nothing_does_not_pass(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace)
    assert not score.passes
    assert len(score.faults) == sum(bool(row["wanted"]) for row in ROWS)


@pytest.mark.parametrize(
    ("of", "adapter", "status"),
    [
        (("wanted",), "ollama", Status.ACTIVE),
        (("wanted", "unwanted"), "ollama", Status.HELD),
        (("wanted", "unwanted"), "anthropic", Status.HELD),
        ((), "", Status.ACTIVE),
        (None, "ollama", Status.HELD),
        (None, "anthropic", Status.ACTIVE),
    ],
)
def test_what_a_model_proposes_waits_where_it_failed_its_trial_or_is_unknown_and_untried(desk_at, home, of, adapter, status):
    def answer(ask):
        return reply(ask, of=of) if ask.purpose == "trial" else obey(ask)

    say(home, "s1", "The harbor map must be drawn without any shadows in `map.py`.", "thanks, go on")
    with desk_at(home) as opened:
        settings = replace(opened.settings, llm=LlmSettings(adapter=adapter or "scripted", model="small"))
        asking = LlmClient(lambda: ScriptedModel(answer), replies=ReplyCache(opened.paths.replies), clock=opened.clock)
        workspace = replace(opened, settings=settings, llm=asking)
        if of:
            try_models(workspace)
        run_pipeline(workspace, [], RunOptions())
        assert [each.status for each in workspace.store.log.memories() if each.trigger == "model"] == [status]


def test_without_a_model_there_is_nothing_to_try(desk_at, home):
    with desk_at(home) as workspace, pytest.raises(UsageError):
        try_models(replace(workspace, llm=None))


def asked_about_hints(workspace, verdict, content=""):
    """Run with a model that nobody tried and that says this of each hint."""

    def answer(ask):
        names = [line.split()[0] for line in ask.prompt.rpartition("Hints:")[2].splitlines() if line.startswith("h")]
        hints = [{"hint": name, "verdict": verdict, "content": content, "reason": ""} for name in names]
        return {"hints": hints, "memories": [], "notes": NOTES}

    settings = replace(workspace.settings, llm=LlmSettings(adapter="ollama", model="small"))
    asking = LlmClient(lambda: ScriptedModel(answer), replies=ReplyCache(workspace.paths.replies), clock=workspace.clock)
    run_pipeline(replace(workspace, settings=settings, llm=asking), [], RunOptions())
    return workspace.store.log.memories()


def test_a_model_without_a_trial_confirms_a_telling_and_its_own_wording_of_it_waits(desk_at, tmp_path):
    found = {}
    for verdict in ("confirm", "reword"):
        (home := tmp_path / verdict).mkdir()
        say(home, "s1", "Remember: we deploy with make ship.", "thanks, go on")
        with desk_at(home) as workspace:
            memories = asked_about_hints(workspace, verdict, "Deploy is done with make ship in this project.")
            found[verdict] = [each.content for each in memories if each.status is Status.ACTIVE]
    assert [words.rstrip(".") for words in found["confirm"]] == ["we deploy with make ship"]
    assert not any("Deploy is done" in words for words in found["reword"])


def test_a_telling_that_the_person_took_back_waits_also_where_a_model_confirms_it(desk_at, home):
    say(home, "s1", "Remember: we deploy with make ship.", "Scratch that, we do not.")
    with desk_at(home) as workspace:
        memories = asked_about_hints(workspace, "confirm")
    assert {each.status for each in memories} == {Status.HELD}


@pytest.mark.parametrize(("adapter", "right", "trusted"), [("ollama", 9, True), ("anthropic", 2, False)])
def test_a_reply_to_the_trial_that_cannot_be_read_is_one_wrong_answer_wherever_it_is_counted(
    desk_at, home, adapter, right, trusted
):
    unread = [f"[e0] {row['talk'][0]}" for row in ROWS[right:]]

    def answer(ask):
        return "no JSON" if any(words in ask.prompt for words in unread) else reply(ask, of=("wanted",))

    with desk_at(home) as opened:
        settings = replace(opened.settings, llm=LlmSettings(adapter=adapter, model="small"))
        asking = LlmClient(lambda: ScriptedModel(answer), replies=ReplyCache(opened.paths.replies), clock=opened.clock)
        workspace = replace(opened, settings=settings, llm=asking)
        (score,) = try_models(workspace)
        assert (score.passes, is_trusted(workspace)) == (trusted, trusted)
