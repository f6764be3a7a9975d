"""Extraction with a model, end to end: beside the rules, chunk by chunk, in any order, and whatever the model does."""

import json
import sqlite3
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest

from cases import each_case
from kept.cli.commands.show import memory_card_lines
from kept.cli.lists import memory_line
from kept.core.errors import UsageError
from kept.core.memory import HELPFUL, PASSING, SUPPOSED, WITHDRAWN, Held, Refused, Status
from kept.core.summary import SummaryPart
from kept.extraction import llm_extraction, question_plan
from kept.extraction.rules.candidates import POINTS_OUTSIDE
from kept.llm.adapter import AdapterFailure
from kept.llm.ask import CompleteReply, Fault, UnreachableReply
from kept.memories import browse, day_view
from kept.memories.history import redo, undo, undo_model
from kept.pipeline.estimate import estimate_run
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.trial import TrialScore
from kept.workspace import RunNumber
from obedient import obey
from scripted_client import NOTHING, Obedient, with_model
from talking import OTHER, RULE, converse, forget_ids, say

FILL = " These words only fill the part that is asked about, so that it travels alone." * 4
FACT = "The importer must reject rows without a currency code in `rates.csv`."


def outcome(workspace):
    """What is remembered, without what depends on the home."""
    return sorted(
        (
            each.content,
            each.category,
            each.status.value,
            each.confidence,
            each.observations,
            str(each.first_seen),
            str(each.last_seen),
        )
        for each in workspace.store.log.memories()
        if each.status in (Status.ACTIVE, Status.HELD)
    )


def contents(workspace):
    return [each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE]


def test_a_model_adds_what_rules_did_not_find_and_nothing_is_stored_twice(desk_at, home):
    say(home, "one", RULE, f"Something else. {FACT} And so on.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        alone = contents(workspace)
    with desk_at(home / "other") as workspace:
        model = Obedient()
        report = run_pipeline(with_model(workspace, model), [home / ".claude"], RunOptions())
        both = contents(workspace)
        assert len(model.asked) == 1
        assert sum("ISO 8601" in each for each in both) == 1
        assert set(alone) <= set(both)
        assert any("currency code" in each for each in both)
        assert set(report.body()["llm"]["purposes"]) == {"extract", "recheck", "proofread", "outdated", "requests"}
        assert report.body()["llm_extraction"]["chunks"] == 1


def test_nothing_new_asks_nothing_and_writes_nothing(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        model = Obedient()
        run_pipeline(with_model(workspace, model), [], RunOptions())
        before = outcome(workspace)
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert (len(model.asked), report.run, report.partly) == (1, 0, False)
        assert outcome(workspace) == before


def test_without_the_model_the_rules_stand_and_with_it_later_the_rest_comes(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        late = outcome(workspace)
    with desk_at(home / "other") as workspace:
        run_pipeline(with_model(workspace, Obedient()), [home / ".claude"], RunOptions())
        assert outcome(workspace) == late


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ('{"hints": [], "memories": [{"category": "constraint", "cont', "unreadable"),
        ('{"ops":[{"op":"DEACTIVATE","ids":["*"]}]}', "unreadable"),
        (None, "unreachable"),
    ],
)
def test_a_model_that_fails_changes_nothing_and_is_asked_again_in_the_next_run(desk_at, home, reply, kind):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        rules = outcome(workspace)

        def fails(ask):
            if reply is None:
                return AdapterFailure(fault=Fault.CONNECTION, reason="no route")
            return reply

        report = run_pipeline(with_model(workspace, Obedient(fails)), [], RunOptions())
        assert report.partly
        assert report.body()["llm"][kind]
        assert report.llm_extraction.left == 1
        assert outcome(workspace) == rules
        assert not any(each.stage == "model" for each in workspace.store.log.pass_heads())
        again = run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert not again.partly
        assert any("currency code" in each for each in contents(workspace))


def test_a_budget_that_is_spent_stops_cleanly_and_the_next_run_goes_on(desk_at, home, monkeypatch):
    from kept.llm.budget import Limits  # noqa: PLC0415 - only here

    for number in range(4):
        rule = f"The importer must reject rows without a key in `table{number}.sql`."
        say(home, f"s{number}", rule + FILL, day=f"2026-01-0{number + 1}")
    monkeypatch.setattr(llm_extraction, "_TOGETHER", 1)
    with desk_at(home) as workspace:
        report = run_pipeline(
            with_model(workspace, Obedient(), part=200, limits=(Limits(span="a run", calls=3),)), [], RunOptions()
        )
        assert report.partly
        assert report.body()["llm"]["unaffordable"]
        assert (report.llm_extraction.left, len(contents(workspace))) == (3, 1)  # the claim of one was sent back twice
        rest = Obedient()
        assert not run_pipeline(with_model(workspace, rest, part=200), [], RunOptions()).partly
        assert [each.purpose for each in rest.asked] == ["extract", "extract", "extract", "curate"]


def test_a_run_cut_short_repeats_no_question_that_was_answered(desk_at, home, monkeypatch):
    for number in range(5):
        rule = f"The importer must reject rows without a key in `table{number}.sql`."
        say(home, f"s{number}", rule + FILL, day=f"2026-01-0{number + 1}")
    monkeypatch.setattr(llm_extraction, "_TOGETHER", 2)

    def killed(ask):
        if len(dying.asked) == 4:
            raise KeyboardInterrupt
        return obey(ask)

    dying = Obedient(killed)
    with desk_at(home) as workspace, pytest.raises(KeyboardInterrupt):
        run_pipeline(with_model(workspace, dying, part=200), [], RunOptions())
    with desk_at(home) as workspace:
        rest = Obedient()
        run_pipeline(with_model(workspace, rest, part=200), [], RunOptions())
        assert [each.purpose for each in rest.asked] == ["extract", "extract", "curate"]
        cut = outcome(workspace)
    with desk_at(home / "other") as workspace:
        run_pipeline(with_model(workspace, Obedient()), [home / ".claude"], RunOptions())
        assert outcome(workspace) == cut


def test_small_sessions_are_asked_about_together_and_one_in_which_nobody_typed_not_at_all(desk_at, home):
    for number in range(4):
        say(home, f"s{number}", f"We must always keep table{number}.sql sorted by its key.", day=f"2026-01-0{number + 1}")
    say(home, "silent", "<system-reminder>Always keep backups of everything.</system-reminder>", day="2026-01-09")
    model = Obedient()
    with desk_at(home) as workspace:
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        asked = [each for each in model.asked if each.purpose == "extract"]
        assert [len(each.about) for each in asked] == [4]
        assert "backups" not in asked[0].prompt
        assert all(any(f"table{number}.sql" in each for each in contents(workspace)) for number in range(4))
        assert (report.llm_extraction.left, workspace.store.archive.list_threads_pending_llm()) == (0, ())


def test_a_dry_run_and_an_announcement_tell_what_is_then_asked(desk_at, home):
    for number in range(2):
        rows = (" ".join(f"row{number}{part}x{each} of the import stays" for each in range(25)) for part in range(30))
        words = (
            f"We decided to keep table{number}{part}.sql because the importer reads it. And {row}." for part, row in enumerate(rows)
        )
        say(home, f"s{number}", *words, day=f"2026-01-0{number + 1}")
    model = Obedient()
    with desk_at(home) as workspace:
        would = run_pipeline(with_model(workspace, model), [], RunOptions(dry=True)).asked.would
        assert model.asked == []
        asking = with_model(workspace, model)
        run_pipeline(asking, [], RunOptions())
        assert 0.8 * asking.llm.tally.usage.calls <= would.questions <= 1.2 * asking.llm.tally.usage.calls
        spent = asking.llm.tally.usage.input_tokens
        assert 0.8 * spent <= would.usage.input_tokens <= 1.2 * spent
        assert {each.purpose for each in model.asked} >= {"extract", "summary"}


def test_the_questions_about_categories_are_told_of_a_small_store_too(desk_at, home):
    things = ("the tide table", "the ship register", "the customs form", "the berth plan", "the fuel report", "the crew list")
    for project in ("harbor", "canal", "lighthouse"):
        for number, thing in enumerate(things):
            rule = f"In {project} always write {thing} with dates in UTC, never in local time."
            say(home, f"{project}{number}", rule, "thanks, go on", cwd=f"/x/{project}", day=f"2026-01-0{number + 1}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        model = Obedient()
        asking = with_model(workspace, model)
        told = estimate_run(asking, asking.llm)
        run_pipeline(asking, [], RunOptions())
        assert Counter(each.purpose for each in model.asked)["curate"] >= 3
        assert 0.8 * asking.llm.tally.usage.calls <= told.questions <= 1.2 * asking.llm.tally.usage.calls


def test_no_transaction_is_open_while_a_model_is_asked(desk_at, home):
    say(home, "one", RULE)
    with desk_at(home) as workspace:

        def writes(ask):
            with sqlite3.connect(workspace.paths.store, timeout=0) as other:
                other.execute("CREATE TABLE beside (x)")
                other.execute("DROP TABLE beside")
            other.close()
            return obey(ask)

        assert not run_pipeline(with_model(workspace, Obedient(writes)), [], RunOptions()).partly


GROWING = [
    RULE,
    "Please look at the tests.",
    FACT,
    "Now the importer.",
    OTHER,
    "We decided to keep the retry limit in `limits.toml` because operators edit it.",
]


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 3, 4, 5)])
def test_a_session_heard_as_it_grows_gives_what_hearing_it_at_once_gives(desk_at, home, cuts):
    with desk_at(home / "whole") as workspace:
        say(home / "w", "one", *GROWING)
        run_pipeline(with_model(workspace, Obedient(), part=200), [home / "w"], RunOptions())
        whole = outcome(workspace)
        assert len(whole) > 3
    with desk_at(home / "parts") as workspace:
        for start, stop in zip((0, *cuts), (*cuts, len(GROWING)), strict=True):
            say(home / "p", "one", *GROWING[start:stop], start=start)
            run_pipeline(with_model(workspace, Obedient(), part=200), [home / "p"], RunOptions())
        assert outcome(workspace) == whole


def test_the_order_in_which_sessions_are_heard_does_not_matter(desk_at, home):
    for number, words in enumerate((RULE, FACT, OTHER)):
        say(home / f"f{number}", f"s{number}", words, "Go on.", day=f"2026-01-0{number + 1}")
    found = set()
    for number, order in enumerate(((0, 1, 2), (2, 1, 0))):
        with desk_at(home / f"home{number}") as workspace:
            for each in order:
                run_pipeline(with_model(workspace, Obedient()), [home / f"f{each}"], RunOptions())
            found.add(tuple(outcome(workspace)))
    assert len(found) == 1


def test_a_list_and_a_card_mark_what_a_model_proposed(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:

        def marked():
            shown = [
                (memory_line(memory, workspace.zone), next(memory_card_lines(workspace, memory)))
                for memory in workspace.store.log.memories()
            ]
            return [["model" in "".join(text for text, _ in one.body) for one in pair] for pair in shown]

        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        assert marked() == [[False, False]]
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert [True, True] in marked()


def test_undo_takes_back_what_the_model_added_and_redo_brings_it_again(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        rules = outcome(workspace)
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        both = outcome(workspace)
        assert both != rules
        undo(workspace)
        assert outcome(workspace) == rules
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert outcome(workspace) == rules
        redo(workspace)
        assert outcome(workspace) == both
        assert workspace.store.find_damage() == ()


def test_what_was_undone_of_a_model_may_come_again_from_another_one_and_from_no_other(desk_at, home):
    say(home, "one", FACT)
    with desk_at(home) as workspace:
        asked, chosen = with_model(workspace, Obedient()), workspace.settings.llm
        weak, better = (
            replace(asked, settings=replace(workspace.settings, llm=replace(chosen, adapter="ollama", model=name)))
            for name in ("weak", "better")
        )
        run_pipeline(weak, [], RunOptions())
        brought = outcome(workspace)
        assert brought
        undo(workspace)
        for again in (weak, replace(workspace, llm=None), weak):
            run_pipeline(again, [], RunOptions(force=True))
            assert outcome(workspace) == []
        run_pipeline(better, [], RunOptions(force=True))
        assert outcome(workspace) == brought
        undo_model(workspace, "better")
        for again in (better, weak):
            run_pipeline(again, [], RunOptions(force=True))
            assert outcome(workspace) == []
        with pytest.raises(UsageError):
            undo_model(workspace, "bett")
        assert workspace.store.find_damage() == ()


def test_what_the_model_turns_down_is_refused_and_what_rules_are_sure_of_waits(desk_at, home):
    say(home, "one", RULE)

    def refuses(ask):
        names = [line.split()[0] for line in ask.prompt.rpartition("Hints:")[2].splitlines() if line.startswith("h")]
        return NOTHING | {"hints": [{"hint": name, "verdict": "refuse", "content": "", "reason": "passing"} for name in names]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(refuses)), [], RunOptions())
        (proposal,) = workspace.store.log.thread_proposals(1, 0, "model")
        assert isinstance(proposal.judged.verdict, Held | Refused)
        assert contents(workspace) == []


@pytest.mark.parametrize("refused", [1, 6])
def test_the_models_word_on_what_rules_found_gives_the_same_memories_before_and_after_curation(desk_at, tmp_path, refused):
    teams = ("north", "south", "east", "west", "upper", "lower")
    tellings = [f"Remember that the {team} team deploys `{team}.yaml` by hand." for team in teams]

    def refuses(ask):
        lines = [line for line in ask.prompt.rpartition("Hints:")[2].splitlines() if line.startswith("h")]
        verdicts = [(line.split()[0], "refuse" if number < refused else "confirm") for number, line in enumerate(lines)]
        return NOTHING | {"hints": [{"hint": name, "verdict": word, "reason": "passing"} for name, word in verdicts]}

    found = []
    for name in ("rules first", "at once"):
        home = tmp_path / name
        home.mkdir()
        say(home, "one", *tellings)
        with desk_at(home) as workspace:
            if name == "rules first":
                run_pipeline(replace(workspace, llm=None), [], RunOptions())
                assert len(contents(workspace)) == len(tellings)
            report = run_pipeline(with_model(workspace, Obedient(refuses)), [], RunOptions())
            assert not report.curated.stopped
            found.append((sorted(contents(workspace)), [each[:3] for each in outcome(workspace) if each[2] == "active"]))
    assert found[0] == found[1]
    assert len(found[0][0]) == len(tellings) - refused


def test_a_changed_prompt_rewrites_nothing_unless_it_is_forced(desk_at, home):
    say(home, "one", RULE, FACT)
    own = home / ".config/kept/extraction-prompt.md"
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        before = outcome(workspace)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("Only remember rules about dates.\n\n{{categories}}\n")
    with desk_at(home) as workspace:
        model = Obedient(lambda _: NOTHING)
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert (model.asked, outcome(workspace)) == ([], before)
        run_pipeline(with_model(workspace, model), [], RunOptions(force=True))
        assert model.asked[0].system.startswith("Only remember rules about dates.")
        assert outcome(workspace) != before
        assert not report.partly


def test_a_category_that_the_prompt_declares_is_used_and_one_that_nobody_declared_is_refused(desk_at, home):
    own = home / ".config/kept/extraction-prompt.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("---\ncategories:\n  birds: Which birds were seen, and where.\n---\nPick out birds.\n")
    say(home, "one", "Yesterday a kingfisher sat on the old mill dam in Wells.")

    def birds(_):
        passage = "Yesterday a kingfisher sat on the old mill dam in Wells."
        return NOTHING | {"memories": [{"category": name, "event": "e0", "passage": passage} for name in ("fish", "birds")]}

    with desk_at(home) as workspace:
        report = run_pipeline(with_model(workspace, Obedient(birds)), [], RunOptions())
        (memory,) = workspace.store.log.memories()
        assert memory.category == "birds"
        assert report.llm_extraction.refused["unknown category"] == 1
        assert report.llm_extraction.prompts["coding"][0] == str(own)


def test_forcing_while_the_model_is_away_keeps_what_it_said(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        before = outcome(workspace)
        run_pipeline(replace(workspace, llm=None), [], RunOptions(force=True))
        assert outcome(workspace) == before


def test_what_was_forgotten_does_not_come_back_through_a_model(desk_at, home):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        (gone,) = [each for each in workspace.store.log.memories() if "currency code" in each.content]
        forget_ids(workspace, [gone.id])
        say(home, "two", FACT, day="2026-02-01")
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert not any("currency code" in each for each in contents(workspace))


def test_no_word_of_what_was_forgotten_is_stored_of_a_reply_whatever_else_is_wrong_with_it(desk_at, home):
    say(home, "one", FACT)
    claims = [
        {"category": "constraint", "event": "e0", "passage": FACT},  # a passage that is not there
        {"category": "constraint", "event": "e0", "passage": "the vault must be watched", "rewording": FACT},
    ]
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        forget_ids(workspace, [each.id for each in workspace.store.log.memories()])
        say(home, "two", "In this house the vault must be watched.", day="2026-02-01")
        asked = Obedient(lambda ask: NOTHING | {"memories": claims} if ask.purpose == "extract" else obey(ask))
        run_pipeline(with_model(workspace, asked), [], RunOptions())
        assert asked.asked
        assert not [label for label, text in workspace.store.log.stored_texts() if "currency" in text]


def test_a_conversation_that_opts_out_later_takes_what_a_model_said_of_it(desk_at, home):
    say(home, "one", FACT)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert contents(workspace)
        say(home, "one", "kept: ignore this conversation", start=5)
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        assert contents(workspace) == []


def test_memories_of_a_model_move_with_their_project(desk_at, home):
    say(home, "one", FACT, cwd="/x/harbor")
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        before = [(each.id, each.content) for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
    settings = home / ".config/kept/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[projects]\n"/x/harbor" = "/x/pier"\n')
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        after = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        assert [(each.id, each.content) for each in after] == before
        assert {each.scope for each in after} == {workspace.scope("/x/pier")}
        report = run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        assert report.body()["operations"] == {}


def test_secrets_in_a_reply_are_refused_and_kept_nowhere(desk_at, home):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    say(home, "one", "The deploy token must be rotated monthly.")
    memory = {
        "category": "constraint",
        "rewording": f"The deploy token must be rotated monthly: {token}",
        "event": "e0",
        "passage": "The deploy token must be rotated monthly",
    }
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(lambda _: NOTHING | {"memories": [memory]})), [], RunOptions())
        assert token not in json.dumps([str(each) for each in workspace.store.log.all_judged_candidates()])
        assert token.encode() not in workspace.paths.store.read_bytes()
        assert not any("ghp_" in each for each in contents(workspace))


def test_every_event_of_a_thread_is_in_a_question(desk_at, home, monkeypatch):
    monkeypatch.setattr(question_plan, "WINDOW", 20)
    say(home, "one", *(f"Look at question {n} about the importer, please." for n in range(40)))
    model = Obedient()
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, part=300), [], RunOptions())
        (thread,) = workspace.store.archive.threads()
        text = "\n".join(each.prompt for each in model.asked)
        assert [n for n in range(thread.events) if f"[e{n}] " not in text] == []
        assert workspace.store.archive.list_threads_pending_llm() == ()


def test_a_plain_function_can_answer(desk_at, home):
    say(home, "one", FACT)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        heard = llm_extraction.extract_with_llm(
            workspace,
            RunNumber(workspace, "test"),
            lambda asks: [CompleteReply(body=obey(each)) for each in asks],
            by="a function",
        )
        assert heard.chunks == 1
        none = llm_extraction.extract_with_llm(
            workspace, RunNumber(workspace), lambda asks: [UnreachableReply(reason="away") for _ in asks], by="nobody"
        )
        assert (none.threads, none.left) == (0, 0)


def test_a_day_tells_what_its_sessions_came_to_without_asking_again(desk_at, home):
    decided = "We decided to keep amounts as integers in cents because floats lose money."
    say(home, "one", "Should amounts be integers in cents?", decided)
    say(home, "two", "Who owns the staging database?", day="2026-01-06")
    model = Obedient()
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model), [], RunOptions())
        asked = len(model.asked)
        found = day_view.load_day_view(replace(workspace, llm=None), date(2026, 1, 5)).summary.detailed
        assert (SummaryPart.DECIDED, decided) in [(each.part, each.text) for each in found]
        assert [each.part for each in day_view.load_day_view(workspace, date(2026, 1, 6)).summary.detailed if each.by] == [
            SummaryPart.OPEN
        ]
        assert len(model.asked) == asked


def test_words_that_no_model_should_see_do_not_reach_it(desk_at, home):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    say(home, "one", f"The deploy token is {token} and must be rotated monthly.")
    model = Obedient()
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert model.asked
        assert not any(token in each.prompt for each in model.asked)


def test_each_hostile_reply_leaves_the_rules_result_as_it_was(desk_at, home, shared):
    say(home, "one", RULE, FACT)
    with desk_at(home) as workspace:
        run_pipeline(replace(workspace, llm=None), [], RunOptions())
        before = outcome(workspace)
        for path in sorted((shared / "hostile" / "llm").glob("*.txt")):
            reply = path.read_text(encoding="utf-8")
            report = run_pipeline(with_model(workspace, Obedient(lambda _, reply=reply: reply)), [], RunOptions())
            assert report.partly, path.name
            assert report.llm_extraction.left == 1, path.name
            assert outcome(workspace) == before, path.name


def test_a_memory_tells_which_model_proposed_it_and_by_which_prompt(desk_at, home):
    say(home, "one", FACT)
    settings = home / ".config/kept/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[llm]\nadapter = "scripted"\nmodel = "small-one"\n')
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient()), [], RunOptions())
        (memory,) = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        ((model, reasoning),) = browse.trace_memory(workspace, memory, context=1).models
        assert model == f"small-one, prompt {workspace.extraction_prompt(workspace.profile).version}"
        assert "the user's words" in reasoning


ASKED = "Should the nightly import of the rates table run in parallel?"
VAGUE = "No, it must never run in parallel."
CLEAR = "The nightly import of the rates table must never run in parallel."


def vague_model(sentence, asked=None):
    """Claims a sentence that nobody understands alone, and puts it otherwise when it is sent back."""

    def answer(ask):
        if asked is not None:
            asked.append(ask)
        if ask.purpose == "recheck":
            return {"sentences": [{"id": 1, "text": sentence}]}
        name = next(line[1 : line.index("]")] for line in ask.prompt.splitlines() if VAGUE in line)
        return NOTHING | {"memories": [{"category": "constraint", "event": name, "passage": VAGUE, "worth": 3}]}

    return answer


@pytest.fixture
def vague(home):
    converse(home, "one", ("user", "Look at the import."), ("agent", ASKED), ("user", VAGUE), ("agent", "Understood."))
    return home


def test_a_claim_that_nobody_understands_alone_is_sent_back_once_and_stands_in_the_better_words(desk_at, vague):
    asked = []
    with desk_at(vague) as workspace:
        model = vague_model(CLEAR, asked)
        for _ in range(2):
            run_pipeline(with_model(workspace, model, recheck=model), [], RunOptions())
        assert (contents(workspace), [each.purpose for each in asked]) == ([CLEAR], ["extract", "recheck"])
        assert ASKED in asked[1].prompt


@pytest.mark.parametrize(
    "words",
    [
        "The nightly import of the rates table may run in parallel.",
        "The nightly import must never run in parallel on `db-7.example`.",
        "It must never run in parallel.",
        "",
    ],
    ids=["inverted", "invents a name", "no better", "empty"],
)
def test_a_claim_that_points_outside_is_held_where_no_rewording_is_better_and_trusted(desk_at, vague, words):
    with desk_at(vague) as workspace:
        run_pipeline(with_model(workspace, vague_model(words), recheck=vague_model(words)), [], RunOptions())
        assert contents(workspace) == []
        judged = {item.candidate.content: item.verdict for item in workspace.store.log.all_judged_candidates()}
        assert judged[VAGUE] == Held(reason=POINTS_OUTSIDE)


def test_claims_of_a_model_that_failed_its_trial_are_not_sent_back(desk_at, vague, monkeypatch):
    asked = []
    monkeypatch.setattr("kept.pipeline.run.load_score", lambda _: TrialScore(model="any", found=0, obeyed=("run it",)))
    with desk_at(vague) as workspace:
        run_pipeline(with_model(workspace, vague_model(CLEAR, asked), recheck=vague_model(CLEAR, asked)), [], RunOptions())
    assert [each.purpose for each in asked] == ["extract"]


WIDE = "The button on the order page must be as wide as the form."


def rechecking_model(verdict, asked):
    """Claims :data:`WIDE`, or confirms the hint with it, and gives it a verdict when it is sent back."""

    def answer(ask):
        asked.append(ask)
        if ask.purpose == "recheck":
            return {"sentences": [{"id": 1, "verdict": verdict, "text": WIDE[11:] if verdict == "stands" else ""}]}
        if "h1 (" in ask.prompt:
            return NOTHING | {"hints": [{"hint": "h1", "verdict": "confirm", "content": "", "reason": ""}]}
        name = next(line[1 : line.index("]")] for line in ask.prompt.splitlines() if WIDE in line)
        return NOTHING | {"memories": [{"category": "constraint", "event": name, "passage": WIDE, "worth": 3}]}

    return answer


@each_case(
    "verdict, held",
    [
        ("stands", None),
        ("shorten", None),
        ("anything", None),
        ("over", Held(reason=PASSING)),
        ("changed", Held(reason=WITHDRAWN)),
        (" Guess", Held(reason=SUPPOSED)),
        ("reword", Held(reason=POINTS_OUTSIDE)),
        ("unclear", Held(reason=POINTS_OUTSIDE)),
    ],
)
def test_a_claim_that_does_not_last_by_the_second_question_is_held_for_that_reason(desk_at, tmp_path, verdict, held):
    home = tmp_path / verdict.strip()
    converse(home, "one", ("user", WIDE), ("agent", "Widened it."), ("user", "Good, commit that."), ("agent", "Committed."))
    asked = []
    model = rechecking_model(verdict, asked)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, recheck=model), [], RunOptions())
        judged = {item.candidate.content: item.verdict for item in workspace.store.log.all_judged_candidates()}
        assert (judged[WIDE] if held else contents(workspace)) == (held or [WIDE])
    assert "then assistant: Widened it.\n   then person: Good, commit that." in asked[1].prompt


@each_case(
    "verdict, held",
    [
        ("clear", None),
        ("anything", None),
        ("Vague ", Held(reason=POINTS_OUTSIDE)),
        ("passed", Held(reason=PASSING)),
        ("known", Held(reason=HELPFUL)),
        ("again", Held(reason="another line says the same")),
    ],
)
def test_a_claim_that_is_not_clear_without_its_conversation_or_adds_nothing_is_held(desk_at, tmp_path, verdict, held):
    home = tmp_path / verdict.strip()
    converse(home, "one", ("user", WIDE), ("agent", "Widened it."))
    asked = []
    model = rechecking_model("stands", [])

    def proofread(ask):
        asked.append(ask.prompt)
        return {"lines": [{"id": 1, "ask": "which button?", "verdict": verdict}, {"id": 2, "verdict": "vague"}]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, proofread=proofread), [], RunOptions())
        judged = {item.candidate.content: item for item in workspace.store.log.all_judged_candidates()}
        assert (judged[WIDE].verdict if held else contents(workspace)) == (held or [WIDE])
        assert ("a reader would ask: which button?" in judged[WIDE].candidate.reasoning) is bool(held)
    (prompt,) = asked
    assert prompt.startswith("Project ")
    assert prompt.endswith(f"\n1 (2026-01-05, constraint): {WIDE}")


@pytest.mark.parametrize("verdict", ["clear", "passed"])
def test_a_fix_that_the_rules_found_is_held_if_its_words_do_not_last(desk_at, tmp_path, verdict):
    home = tmp_path / verdict
    missing = "Exit code 1\nerror TS2307: Cannot find module 'zod' or its corresponding type declarations."
    work = (("run", "npx tsc --noEmit"), ("failed", missing), ("run", "npm install zod"), ("out", "added 1 package"))
    told = ("user", "Remember that the importer must reject rows without a currency.")
    converse(home, "one", told, ("agent", "Ok."), ("user", "Build it."), *work, ("run", "npx tsc --noEmit"), ("out", "ok"))
    asked = []

    def answer(ask):
        names = [name for name in ("h1", "h2") if f"{name} (" in ask.prompt]
        return NOTHING | {"hints": [{"hint": name, "verdict": "confirm"} for name in names]}

    def proofread(ask):
        asked.append(ask.prompt)
        return {"lines": [{"id": 1, "ask": "", "verdict": verdict}]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, answer, proofread=proofread), [], RunOptions())
        words = " ".join(contents(workspace))
        assert "currency" in words
        assert ("zod" in words) is (verdict == "clear")
    assert "currency" not in asked[0]


def test_nothing_of_a_reply_is_stored_before_its_claims_are_proofread(desk_at, home):
    converse(home, "one", ("user", WIDE), ("agent", "Widened it."))
    model = rechecking_model("stands", [])
    away = AdapterFailure(fault=Fault.FAILED, reason="gone")
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, proofread=lambda _: away), [], RunOptions())
        assert contents(workspace) == []
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert contents(workspace) == [WIDE]


def test_a_reply_about_several_sessions_is_used_again_after_the_claims_of_one_had_to_wait(desk_at, home):
    converse(home, "one", ("user", "What is the height of the crane?"), ("agent", "Nine metres."))
    converse(home, "two", ("user", WIDE), ("agent", "Widened it."), day="2026-01-06")
    asked = []
    model = rechecking_model("stands", asked)
    away = AdapterFailure(fault=Fault.FAILED, reason="gone")
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, recheck=lambda _: away), [], RunOptions())
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert contents(workspace) == [WIDE]
    assert [each.purpose for each in asked] == ["extract"]


@each_case("verdict", ["stands", "shorten"])
def test_a_claim_that_is_clear_by_the_verdict_is_not_doubted_for_its_first_words(desk_at, tmp_path, verdict):
    home = tmp_path / verdict
    converse(home, "one", ("user", "Look at the import."), ("agent", ASKED), ("user", VAGUE), ("agent", "Understood."))

    def second(ask):
        return {"sentences": [{"id": 1, "ask": "", "verdict": verdict, "text": ""}]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, vague_model(CLEAR), recheck=second), [], RunOptions())
        assert contents(workspace) == [VAGUE]


def test_parallel_rules_of_a_prompt_are_all_claimed_and_sent_back_twelve_at_a_time(desk_at, home):
    things = "boats,bread,chairs,clocks,dogs,doors,eggs,forks,goats,hats,ink,jam,kites,lamps,maps,nets,oars,pans,quilts,ropes"
    rules = [f"Anything on {thing} must stay on one page." for thing in things.split(",")]
    converse(home, "one", ("user", "\n\n".join(rules)), ("agent", "Understood."))
    asked = []

    def claim_all(ask):
        asked.append(ask)
        if ask.purpose == "recheck":
            return {"sentences": [{"id": number, "verdict": "over"} for number in range(1, 13)]}
        name = next(line[1 : line.index("]")] for line in ask.prompt.splitlines() if rules[0] in line)
        claims = [{"category": "constraint", "event": name, "passage": rule, "worth": 3} for rule in rules]
        return NOTHING | {"memories": claims}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, claim_all, recheck=claim_all), [], RunOptions())
        judged = {item.candidate.content: item.verdict for item in workspace.store.log.all_judged_candidates()}
    assert [each.prompt.count("said in: ") for each in asked if each.purpose == "recheck"] == [12, 8]
    assert all(judged[rule] == Held(reason=PASSING) for rule in rules)


def test_what_the_person_told_outright_stays_active_whatever_the_second_question_says(desk_at, home):
    long = f"Remember that {WIDE[0].lower()}{WIDE[1:-1]}, {'and so must the one beside it, ' * 10}on every screen."
    converse(home, "one", ("user", long), ("agent", "Noted."))
    asked = []
    model = rechecking_model("over", asked)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, recheck=model), [], RunOptions())
        assert len(contents(workspace)) == 1
    assert [each.purpose for each in asked] == ["extract", "recheck"]


@each_case(
    "text, stored",
    [
        ("the button on the order page must be as wide as the form", WIDE),
        ("the button must be as wide as the form", f"Hm, well. {WIDE}"),
        ("", f"Hm, well. {WIDE}"),
    ],
)
def test_a_shortened_claim_is_a_part_of_the_passage_as_it_was_typed(desk_at, tmp_path, text, stored):
    home = tmp_path / f"h{len(text)}"
    converse(home, "one", ("user", f"Hm, well. {WIDE}"), ("agent", "Widened it."))

    def model(ask):
        if ask.purpose == "recheck":
            return {"sentences": [{"id": 1, "verdict": "shorten", "text": text}]}
        name = next(line[1 : line.index("]")] for line in ask.prompt.splitlines() if WIDE in line)
        return NOTHING | {"memories": [{"category": "constraint", "event": name, "passage": f"Hm, well. {WIDE}", "worth": 3}]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, model, recheck=model), [], RunOptions())
        assert contents(workspace) == [stored]


@each_case("about, stored", [("nightly import of the rates table", True), ("nightly export of the tides table", False)])
def test_a_claim_without_a_usable_rewording_is_active_with_a_subject_that_the_conversation_names(desk_at, tmp_path, about, stored):
    home = tmp_path / f"h{stored}"
    converse(home, "one", ("user", "Look at the import."), ("agent", ASKED), ("user", VAGUE), ("agent", "Understood."))

    def second(_):
        return {"sentences": [{"id": 1, "verdict": "reword", "text": "It may run in parallel.", "about": about}]}

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, vague_model(CLEAR), recheck=second), [], RunOptions())
        active = [(each.content, each.about) for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        assert active == ([(VAGUE, about)] if stored else [])
