"""The trial of a language model: who reads with care passes, who takes what a trap offers does not."""

import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.llm.adapter import AdapterFailure
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import CompleteReply, Fault
from kept.llm.budget import Limits
from kept.llm.client import LlmClient
from kept.llm.replies import ReplyCache
from kept.local.settings import LlmSettings
from kept.memories.waiting import best_of_each_scope, list_pending_proposals
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.trial import MOST_TAKEN, score_replies, trial_asks, try_models
from obedient import events, obey
from talking import RULE, say

ROWS = tomllib.loads((files("kept.pipeline") / "trial.toml").read_text())["question"]
NOTES = {"problems": [], "solutions": [], "decisions": [], "questions": []}


def claims_of(row, *of):
    claim = {"category": "constraint", "event": "e0", "about": "", "rewording": "", "quotes": [], "later": "", "worth": 3}
    found = [ways[0] for ways in row["wanted"]] if "wanted" in of else []
    return [
        claim | {"passage": words} for words in found + [words for kind in of if kind != "wanted" for words in row.get(kind, ())]
    ]


def reply(ask, *of):
    row = next(row for row in ROWS if f"[e0] {row['talk'][0]}" in ask.prompt)
    return {"hints": [], "memories": claims_of(row, *of), "notes": NOTES}


def tried(workspace, *of):
    return try_models(replace(workspace, llm=LlmClient(lambda: ScriptedModel(lambda ask: reply(ask, *of)))))


def scored(change, *of):
    """The score of replies after a change of their claims."""
    bodies = [reply(ask, *of) for ask in trial_asks()]
    return score_replies("any", [CompleteReply(body=body | {"memories": change(body["memories"])}) for body in bodies])


def test_a_model_that_finds_what_is_wanted_and_nothing_else_passes(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted")
    assert (score.found, score.missed, score.unwanted, score.suits, len(ROWS)) == (15, (), (), True, 10)


def test_a_model_that_copies_well_and_keeps_what_ends_with_the_task_does_not_pass_however_much_it_finds(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted", "unwanted")
    assert score.failed
    assert (score.found, len(score.unwanted)) == (15, sum(len(row["unwanted"]) for row in ROWS))


@pytest.mark.parametrize(("many", "passes"), [(MOST_TAKEN, True), (MOST_TAKEN + 1, False)])
def test_two_lines_too_many_are_a_slip_and_three_are_not(many, passes):
    left = iter(range(many))
    extra = {words for row in ROWS for words in row["unwanted"]}
    score = scored(
        lambda claims: [each for each in claims if each["passage"] not in extra or next(left, None) is not None],
        "wanted",
        "unwanted",
    )
    assert (len(score.unwanted), score.passes, score.failed) == (many, passes, not passes)


def test_what_is_graded_below_the_highest_would_wait_and_is_not_counted_as_taken():
    score = scored(lambda claims: [each | {"worth": 2} for each in claims], "wanted", "unwanted")
    assert (score.found, score.unwanted, score.passes) == (15, (), True)


def test_a_model_that_repeats_what_a_page_tells_agents_to_do_fails_whatever_it_grades_it():
    score = scored(lambda claims: [each | {"worth": 1} for each in claims], "wanted", "planted")
    assert (score.found, len(score.obeyed), score.failed) == (15, 4, True)


def test_a_passage_that_is_copied_loosely_is_no_find_and_costs_no_trust():
    score = scored(lambda claims: [each | {"passage": f"{each['passage']} as agreed"} for each in claims], "wanted")
    assert (score.found, score.suits, score.passes) == (0, False, True)


def test_what_a_model_puts_aside_as_over_with_the_task_is_no_trap_it_took(desk_at, home):
    def answer(ask):
        body = reply(ask, "wanted", "unwanted")
        traps = {words for row in ROWS for words in row["unwanted"]}
        for claim in body["memories"]:
            claim["category"] = "task" if claim["passage"] in traps else claim["category"]
        return body

    with desk_at(home) as workspace:
        asked = replace(workspace, llm=LlmClient(lambda: ScriptedModel(answer)))
        (score,) = try_models(asked)
        before = asked.llm.tally.usage.calls
        assert try_models(asked) == (score,)
        assert asked.llm.tally.usage.calls == before
        assert try_models(asked, again=True) == (score,)
        assert asked.llm.tally.usage.calls == 2 * before > 0
    assert (score.unwanted, score.passes) == ((), True)


def test_a_model_that_finds_nothing_is_trusted_and_not_suggested(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace)
    assert (score.passes, score.suits, len(score.missed)) == (True, False, 15)


def run_with_trial(opened, answer, *, trial=True, dry=False, **limits):
    """Run with a local model that answers the trial by one function and obeys else: how its proposals stand, what was asked for and
    told, and the report.
    """
    asked = []

    def spoken(ask):
        asked.append(ask.purpose)
        return answer(ask) if ask.purpose == "trial" else obey(ask)

    settings = replace(opened.settings, llm=LlmSettings(adapter="ollama", model="small", trial=trial))
    asking = LlmClient(
        lambda: ScriptedModel(spoken),
        replies=ReplyCache(opened.paths.replies),
        clock=opened.clock,
        limits=[Limits(span="a run", **limits)],
    )
    told = []
    asking.tell = told.append
    workspace = replace(opened, settings=settings, llm=asking)
    report = run_pipeline(workspace, [], RunOptions(dry=dry))
    statuses = [each.status for each in workspace.store.log.memories() if each.trigger == "model"]
    return statuses, asked, told, report


@pytest.fixture
def told_once(home):
    say(home, "s1", "The harbor map must be drawn without any shadows in `map.py`.", "thanks, go on")
    return home


@pytest.mark.parametrize(
    ("of", "trial", "status"),
    [
        (("wanted",), True, Status.ACTIVE),
        (("wanted", "unwanted"), True, Status.HELD),
        (("wanted", "unwanted"), False, Status.ACTIVE),
        ((), True, Status.ACTIVE),
    ],
)
def test_what_a_model_proposes_is_active_unless_it_failed_its_trial_and_the_person_says_nothing_else(
    desk_at, told_once, of, trial, status
):
    with desk_at(told_once) as opened:
        statuses, asked, told, *_ = run_with_trial(opened, lambda ask: reply(ask, *of), trial=trial)
    assert statuses == [status]
    assert asked.count("trial") == (10 if trial else 0)
    assert any("failed kept's trial" in words and "llm.trial false" in words for words in told) == (status is Status.HELD)


def test_a_model_takes_its_trial_once_and_only_where_there_is_something_to_ask(desk_at, home):
    with desk_at(home) as opened:
        assert run_with_trial(opened, lambda ask: reply(ask, "wanted"))[1] == []
        say(home, "s1", "The harbor map must be drawn without any shadows in `map.py`.", "thanks, go on")
        assert run_with_trial(opened, lambda ask: reply(ask, "wanted"))[1].count("trial") == 10
        say(home, "s2", "The harbor walls must be drawn in grey in `walls.py`.", "thanks, go on")
        assert run_with_trial(opened, lambda ask: reply(ask, "wanted"))[1].count("trial") == 0


def test_a_dry_run_counts_the_trial(desk_at, told_once):
    with desk_at(told_once) as opened:
        would = [run_with_trial(opened, None, trial=trial, dry=True)[3].asked.would.questions for trial in (True, False)]
    assert would[0] == would[1] + 10


def test_a_trial_that_the_budget_cuts_short_leaves_the_sessions_to_the_run_that_ends_it(desk_at, told_once):
    with desk_at(told_once) as opened:
        statuses, asked, _, report = run_with_trial(opened, lambda ask: reply(ask, "wanted"), calls=6)
        assert (statuses, asked, report.llm_extraction.left) == ([], ["trial"] * 6, 1)
        statuses, asked, *_ = run_with_trial(opened, lambda ask: reply(ask, "wanted"), calls=7)
    assert (statuses, asked.count("trial")) == ([Status.ACTIVE], 4)


def test_without_a_model_there_is_nothing_to_try(desk_at, home):
    with desk_at(home) as workspace, pytest.raises(UsageError):
        try_models(replace(workspace, llm=None))


def asked_about_hints(workspace, verdict, content=""):
    """Run with a model that fails its trial and that says this of each hint."""

    def answer(ask):
        names = [line.split()[0] for line in ask.prompt.rpartition("Hints:")[2].splitlines() if line.startswith("h")]
        hints = [{"hint": name, "verdict": verdict, "content": content, "reason": ""} for name in names]
        return {"hints": hints, "memories": [], "notes": NOTES}  # also to the trial, so that it is failed

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


def test_a_model_that_failed_its_trial_changes_nothing_that_rules_found_and_its_own_is_held_apart(desk_at, home):
    say(home, "s1", "Remember: we deploy with make ship.", "The harbor map must be drawn without any shadows in `map.py`.")
    say(home, "s2", "If there is an error, always exit with os.Exit(1).", "The harbor walls must be drawn in grey in `walls.py`.")

    def answer(ask):
        rows = [(name, text) for name, author, _, text in events(ask.prompt) if author == "person"]
        claims = [{"category": "preference", "event": name, "passage": text, "worth": 3} for name, text in rows]
        names = [line.split()[0] for line in ask.prompt.rpartition("Hints:")[2].splitlines() if line.startswith("h")]
        hints = [{"hint": name, "verdict": "refuse", "content": "", "reason": "no"} for name in names]
        return {"hints": hints, "memories": claims, "notes": NOTES}

    with desk_at(home) as opened:
        run_pipeline(replace(opened, llm=None), [], RunOptions())
        before = opened.store.log.memories()
        best = {item.memory.id for item in best_of_each_scope(list_pending_proposals(opened))}
        settings = replace(opened.settings, llm=LlmSettings(adapter="ollama", model="small"))
        asking = LlmClient(lambda: ScriptedModel(lambda ask: reply(ask, "unwanted") if ask.purpose == "trial" else answer(ask)))
        run_pipeline(replace(opened, settings=settings, llm=asking), [], RunOptions())
        after = opened.store.log.memories()
        assert {item.memory.id for item in best_of_each_scope(list_pending_proposals(opened))} == best
    known = {memory.id for memory in before}
    assert before
    assert [memory for memory in after if memory.id in known] == list(before)
    assert {memory.status for memory in after if memory.id not in known} == {Status.HELD}


def test_a_telling_that_the_person_took_back_waits_also_where_a_model_confirms_it(desk_at, home):
    say(home, "s1", "Remember: we deploy with make ship.", "Scratch that, we do not.")
    with desk_at(home) as workspace:
        memories = asked_about_hints(workspace, "confirm")
    assert {each.status for each in memories} == {Status.HELD}


@pytest.mark.parametrize("silent", ["no JSON", "", "I cannot help with that."])
def test_a_model_of_whose_trial_no_reply_can_be_read_is_not_trusted_and_tried_again(desk_at, told_once, silent):
    with desk_at(told_once) as opened:
        statuses, asked, told, _ = run_with_trial(opened, lambda _: silent)
        assert statuses == [Status.HELD]
        assert any("could not be tested" in words for words in told)
        say(told_once, "s2", "The harbor walls must be drawn in grey in `walls.py`.", "thanks, go on")
        statuses, asked, *_ = run_with_trial(opened, lambda ask: reply(ask, "wanted", "unwanted"))
    assert asked.count("trial") == 10
    assert statuses == [Status.HELD, Status.HELD]


def test_a_program_that_ends_with_an_error_at_the_trial_is_asked_about_sessions_all_the_same(desk_at, told_once):
    error = AdapterFailure(fault=Fault.FAILED, reason="it ended with code 1")
    with desk_at(told_once) as opened:
        statuses, *_ = run_with_trial(opened, lambda _: error)
    assert statuses == [Status.HELD]


def test_what_was_taken_counts_although_other_questions_of_the_trial_have_no_reply(desk_at, told_once):
    answered = {f"[e0] {row['talk'][0]}" for row in ROWS[:5]}

    def answer(ask):
        return reply(ask, "unwanted") if any(words in ask.prompt for words in answered) else "no JSON"

    with desk_at(told_once) as opened:
        assert run_with_trial(opened, answer)[0] == [Status.HELD]


@pytest.mark.parametrize("failed", [False, True])
def test_a_model_that_failed_is_not_asked_for_curation_and_days(desk_at, home, failed):
    asking = [f"Who reads gauge {number} on a day without wind?" for number in range(9)]
    say(home, "s1", RULE, RULE.replace("dates", "times of tides"), *asking)
    with desk_at(home) as opened:
        of = ("wanted", "unwanted") if failed else ("wanted",)
        _, asked, *_ = run_with_trial(opened, lambda ask: reply(ask, *of))
    assert {"curate", "summary"} & set(asked) == (set() if failed else {"curate", "summary"})


def test_of_a_model_that_failed_no_more_is_estimated_than_is_asked(desk_at, told_once):
    with desk_at(told_once) as opened:
        run_with_trial(opened, lambda ask: reply(ask, "unwanted"))
        say(told_once, "s2", RULE, RULE.replace("dates", "times of tides"))
        would = run_with_trial(opened, None, dry=True)[3].asked.would.questions
        assert run_with_trial(opened, None)[1] == ["extract"] * would
