"""What a model says should become of memories, end to end: asked once, guarded, kept by later runs, undone as one pass."""

import json
from dataclasses import replace

import pytest

from kept.core.memory import Status
from kept.memories import person
from kept.memories.history import undo
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home, rebuild_store
from scripted_client import NOTHING, Obedient, with_model
from talking import say

SHORT = "I prefer reviews of pull requests that are short."
NAMED = "I prefer that reviews of pull requests name the file."
QUIET = json.dumps(NOTHING)


def merging(ask):
    """Merges the two wishes where both are shown, and does nothing else."""
    if ask.purpose != "curate":
        return QUIET
    numbers = {line.split(": ", 1)[1]: int(line.split(" ")[0]) for line in ask.prompt.splitlines()}
    if not {SHORT, NAMED} <= numbers.keys():
        return json.dumps({"operations": []})
    return json.dumps({"operations": [{"id": numbers[NAMED], "op": "merge", "with": numbers[SHORT], "reason": "one theme"}]})


def active(workspace):
    return sorted(each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE)


def curated(model):
    return [each for each in model.asked if each.purpose == "curate"]


def test_what_overlaps_becomes_one_and_stays_so_when_it_is_said_again(desk_at, home):
    say(home, "one", f"Remember that {SHORT}", f"Remember that {NAMED}")
    with desk_at(home) as workspace:
        model = Obedient(merging)
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert active(workspace) == [SHORT]
        assert report.body()["llm_curation"]["operations"] == {"merge": 1}
        assert len(curated(model)) == 1
        again = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert (again.run, len(curated(model))) == (0, 1)
        say(home, "two", f"Remember that {SHORT}", day="2026-01-07")
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        assert active(workspace) == [SHORT]
        (memory,) = (each for each in workspace.store.log.memories() if each.content == SHORT)
        assert (memory.observations, memory.last_seen.day) == (2, 7)
        assert {each.quote for each in memory.evidence} == {SHORT, NAMED}
        rebuild_store(workspace)
        assert active(workspace) == [SHORT]
        assert check_home(workspace).damage == ()


def test_advice_is_one_pass_that_can_be_taken_back_and_is_not_given_again(desk_at, home):
    say(home, "one", f"Remember that {SHORT}", f"Remember that {NAMED}")
    with desk_at(home) as workspace:
        model = Obedient(merging)
        run_pipeline(with_model(workspace, model), [], RunOptions())
        (made,) = (each for each in workspace.store.log.pass_heads() if each.stage == "advise")
        undo(workspace, str(made.id))
        assert active(workspace) == sorted([SHORT, NAMED])
        run_pipeline(with_model(workspace, model), [], RunOptions())
        say(home, "two", "Something else entirely, about boats.", day="2026-01-07")
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert active(workspace) == sorted([SHORT, NAMED])


def test_a_reply_that_cannot_be_used_changes_nothing_and_is_asked_for_again(desk_at, home):
    say(home, "one", f"Remember that {SHORT}", f"Remember that {NAMED}")
    with desk_at(home) as workspace:
        broken = Obedient(lambda ask: "No." if ask.purpose == "curate" else QUIET)
        report = run_pipeline(with_model(workspace, broken), [], RunOptions())
        assert (report.llm_curation.left, report.partly, active(workspace)) == (1, True, sorted([SHORT, NAMED]))
        run_pipeline(with_model(workspace, Obedient(merging)), [], RunOptions())
        assert active(workspace) == [SHORT]


RULES = [f"Never commit the generated file `{name}.lock` to this repository." for name in ("a", "b", "c", "d", "e")]


def every(op):
    """Does the same to every entry but the last."""

    def model(ask):
        if ask.purpose != "curate":
            return QUIET
        numbers = [int(line.split(" ")[0]) for line in ask.prompt.splitlines()]
        other = 0 if op == "retire" else numbers[-1]
        made = [{"id": n, "op": op, "with": other, "reason": "clutter"} for n in numbers[:-1]]
        return json.dumps({"operations": made})

    return model


def test_advice_that_would_wipe_a_category_is_thrown_out_whole_told_and_not_asked_for_again(desk_at, home):
    for number, rule in enumerate(RULES):
        say(home, f"s{number}", rule, day=f"2026-01-{10 + number}")
    with desk_at(home) as workspace:
        model = Obedient(every("supersede"))
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert active(workspace) == RULES
        (stop,) = report.llm_curation.stopped
        assert "it would deactivate 4 of 5 memories in constraint" in stop
        assert report.partly
        assert run_pipeline(with_model(workspace, model), [], RunOptions()).run == 0
        assert len(curated(model)) == 1


def test_what_a_person_keeps_is_not_retired_because_a_model_says_so(desk_at, home):
    say(home, "one", *RULES)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        for memory in workspace.store.log.memories():
            person.keep(workspace, memory.id)
        say(home, "two", "Never commit the generated file `f.lock` to this repository.", day="2026-01-17")
        report = run_pipeline(with_model(workspace, Obedient(every("retire"))), [], RunOptions())
        assert set(RULES) <= set(active(workspace))
        assert report.llm_curation.refused == {"the person's own": 5}


def test_nothing_is_done_to_what_a_person_put_in_their_own_words(desk_at, home):
    say(home, "one", f"Remember that {SHORT}", f"Remember that {NAMED}")
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        (memory,) = (each for each in workspace.store.log.memories() if each.content == NAMED)
        person.edit(workspace, memory.id, "Reviews name the file and the line, always.")
        run_pipeline(with_model(workspace, Obedient(merging)), [], RunOptions())
        assert active(workspace) == sorted([SHORT, "Reviews name the file and the line, always."])


def test_what_a_model_retired_comes_back_when_it_is_said_again(desk_at, home):
    said = "We decided to keep amounts in cents because floats lose money."
    later = "We decided that amounts are kept as decimals because cents were too coarse."
    say(home, "one", said)
    say(home, "two", later, day="2026-01-07")

    def gives_way(ask):
        if ask.purpose != "curate":
            return QUIET
        numbers = {line.split(": ", 1)[1]: int(line.split(" ")[0]) for line in ask.prompt.splitlines()}
        made = [{"id": numbers[said], "op": "supersede", "with": numbers[later], "reason": "another unit"}]
        return json.dumps({"operations": made if {said, later} <= numbers.keys() else []})

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(gives_way)), [], RunOptions())
        assert active(workspace) == [later]
        run_pipeline(replace(workspace, llm=None), [], RunOptions(force=True))
        assert active(workspace) == [later]
        say(home, "three", said, day="2026-01-09")
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        assert said in active(workspace)


PAIR = ("we use Postgres for the orders table.", "we use MySQL for the orders table.")


def deciding(answer):
    """Says of the first of the pair what became of it, and nothing of anything else."""

    def reply(ask):
        if ask.purpose != "curate":
            return QUIET
        lines = {line.split(": ", 1)[1]: line for line in ask.prompt.splitlines()}
        if not set(PAIR) <= lines.keys():
            return json.dumps({"operations": []})
        old, new = (int(lines[each].split(" ")[0]) for each in PAIR)
        assert f"may contradict {new})" in lines[PAIR[0]]
        return json.dumps({"operations": [{"id": old, "op": answer, "with": new, "reason": "it moved"}] if answer else []})

    return Obedient(reply)


@pytest.mark.parametrize(("answer", "stand"), [("supersede", [PAIR[1]]), ("both", sorted(PAIR)), ("", [PAIR[1]])])
def test_a_model_decides_which_of_two_holds_that_may_contradict_and_rules_leave_it_so(desk_at, home, answer, stand):
    for number, words in enumerate(PAIR):
        say(home, f"s{number}", f"Remember that {words}", day=f"2026-01-0{number + 5}")
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, deciding(answer)), [], RunOptions())
        assert active(workspace) == stand
        say(home, "later", f"Remember that {PAIR[1]}", day="2026-01-09")
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        assert active(workspace) == stand
        assert check_home(workspace).damage == ()


def test_a_model_sees_a_whole_project_and_ends_what_a_later_memory_of_another_category_made_untrue(desk_at, home):
    rule = "I prefer that people sign in by links in mails only."
    change = "From now on the sign-in code always comes as a text message in this project."
    say(home, "one", f"Remember that {rule}")
    say(home, "two", change, day="2026-01-07")
    asked = []

    def outdated(ask):
        asked.append(ask.prompt)
        numbers = {line.split(": ", 1)[1]: int(line.split(" ")[0]) for line in ask.prompt.splitlines()}
        if not {rule, change} <= numbers.keys():
            return {"operations": []}
        return {"operations": [{"id": numbers[rule], "op": "supersede", "with": numbers[change], "reason": "by text message"}]}

    with desk_at(home) as workspace:
        for _ in range(2):
            run_pipeline(with_model(workspace, Obedient(), outdated=outdated), [], RunOptions())
        assert active(workspace) == [change]
    assert len(asked) == 1
