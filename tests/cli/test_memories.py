"""Looking at memories, and a person's own operations."""

import json
import os
import re
from dataclasses import replace
from itertools import islice

import pytest

from cli_world import OTHER, RULE, kept, memory_file, told, transcript
from kept.cli.commands import search
from kept.cli.lists import BY
from kept.core.memory import Refused
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.client import LlmClient
from kept.memories import waiting
from kept.paths import find_paths
from kept.store.memories import Memories
from prepared import Prepared, do
from store_world import judged
from talking import say


def run_once(home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", "Hello, have a look around first.", RULE)
    do("run")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Prepared(tmp_path_factory, run_once)


@pytest.fixture
def filled(made, monkeypatch):
    """A home after a run that found one memory."""
    return made.again(monkeypatch)


@pytest.fixture
def rule(capsys, filled):
    """The id of that memory."""
    (memory,) = told(capsys, "list")
    return memory["id"]


def test_a_list_shows_ids_that_other_commands_accept(capsys, rule):
    out = kept(capsys, "list")[1]
    assert out.splitlines()[0] == "harbor"
    assert f"    {rule}  " in out
    assert "(2026-01-05)" in out
    for name in ("show", "why"):
        assert kept(capsys, name, rule)[0] == 0
        assert kept(capsys, name, rule[:5])[0] == 0


def test_a_list_reads_no_more_memories_than_are_looked_at(capsys, home, monkeypatch):
    for number in range(4):
        kept(capsys, "add", f"The gauge number {number} is read at noon.", "--type", "preference")
    kept(capsys, "add", "Harbor is built with make.", "--type", "project_fact", "--project", str(home / "code/harbor"))
    chosen, outlines = [], Memories.outlines
    monkeypatch.setattr(Memories, "outlines", lambda self, at, scope: chosen.append(scope) or outlines(self, at, scope))
    read, some = [], Memories.some
    monkeypatch.setattr(Memories, "some", lambda self, ids: read.extend(ids) or some(self, ids))
    monkeypatch.setattr("kept.memories.browse._LOADED", 1)
    monkeypatch.setattr(
        "kept.cli.commands.list.page_lines", lambda lines: list(islice(lines, 4))
    )  # a project, a category, two memories
    assert kept(capsys, "list")[0] == 0
    assert (len(read), chosen) == (2, ["user"])


def test_show_tells_what_is_known_of_a_memory(capsys, rule):
    out = kept(capsys, "show", rule)[1]
    assert "ISO 8601" in out
    assert "active" in out
    assert "first seen 2026-01-05, last seen 2026-01-05, in 1 session" in out
    assert told(capsys, "show", rule)["evidence"][0]["author"] == "human"


def test_words_of_a_memory_find_it_and_where_several_say_them_they_are_listed(capsys, home):
    kept(capsys, "add", "The staging port is 8731.", "--type", "preference")
    assert "The staging port is 8731." in kept(capsys, "why", "port", "staging")[1]
    assert "The staging port is 8731." in kept(capsys, "show", "staging")[1]
    kept(capsys, "add", "The staging server is called harbour.", "--type", "preference")
    code, out, _ = kept(capsys, "why", "staging")
    assert (code, out.splitlines()[0], "8731" in out, "harbour" in out) == (2, "2 match; which one?", True, True)
    kept(capsys, "add", "Subjects of commits are in the imperative.", "--type", "preference")
    assert "imperative" in kept(capsys, "why", "commit", "subject")[1]  # the beginnings of its words
    assert kept(capsys, "why", "nothing", "says", "this")[0] == 2


@pytest.mark.parametrize(("words", "category"), [("Use pnpm, never npm.", "constraint"), ("The port is 8731.", "project_fact")])
def test_a_sentence_added_without_a_category_gets_the_most_likely_one(capsys, home, words, category):
    assert kept(capsys, "add", words)[0] == 0
    assert [each["category"] for each in told(capsys, "list")] == [category]


def test_what_a_session_says_twice_in_the_same_words_is_shown_once_as_evidence(capsys, home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE, RULE)
    kept(capsys, "run", "--no-llm")
    (memory,) = told(capsys, "list")
    assert kept(capsys, "why", memory["id"])[1].count("    > ") == 1


def test_a_memory_moves_to_another_project_and_reading_again_brings_no_second_one(capsys, filled, rule):
    transcript(filled / ".claude/projects/-home-u-barn/b.jsonl", OTHER, cwd="/home/u/barn")
    kept(capsys, "run")
    words = told(capsys, "show", rule)["content"]
    assert kept(capsys, "edit", rule, "--project", "nowhere")[0] == 2
    assert kept(capsys, "edit", rule, "--project", "barn")[0] == 0
    kept(capsys, "run", "--force")
    assert words in {each["content"] for each in told(capsys, "list", "--project", "barn")}
    assert [each["content"] for each in told(capsys, "list")].count(words) == 1


def test_why_shows_the_words_and_whose_they_are(capsys, filled, rule):
    out = kept(capsys, "why", rule, "--tz", "Asia/Tokyo")[1]
    assert "2026-01-05 19:01  you  session a  " in out
    assert f"{filled}/.claude/projects/-home-u-harbor/a.jsonl:3" in out
    assert "    > “" in out
    assert "the assistant: Done." in out
    assert "pass " in out
    body = told(capsys, "why", rule)
    assert body["evidence"][0]["quote"] in RULE
    assert (body["evidence"][0]["whose"], body["evidence"][0]["line"]) == ("you", 3)
    assert [each["kind"] for each in body["history"]] == ["add"]
    assert len(body["evidence"][0]["context"]) == 3


def test_why_shows_the_new_words_of_an_edit_and_that_it_is_undone(capsys, rule):
    out = kept(capsys, "edit", rule, "Dates are ISO 8601 in UTC.")[1]
    undo = out.rpartition("→ kept undo ")[2].strip()
    assert "“Dates are ISO 8601 in UTC.”" in kept(capsys, "why", rule)[1]
    assert kept(capsys, "undo", undo)[0] == 0
    (edited,) = [each for each in kept(capsys, "why", rule)[1].splitlines() if "revise" in each]
    assert edited.endswith("undone")


def test_what_a_session_reads_by_itself_is_shown_of_its_start(capsys, filled, rule):
    assert kept(capsys, "add", "Subjects of commits are in the imperative.", "--type", "convention")[0] == 0
    out = kept(capsys, "context", "--project", "/home/u/harbor", "--why")[1]
    assert out.splitlines()[0] == "The session reads this from its memory file:"
    assert out.count("ISO 8601") == out.count("in the imperative") == 1  # all lines of the file, each once
    assert "shown earlier" not in out


def test_the_models_that_could_be_asked_are_told_without_asking_any(capsys, home, monkeypatch):
    monkeypatch.setattr("kept.cli.commands.models.find_models", lambda _: ())
    out = kept(capsys, "llm")[1]
    assert out.startswith("No language model is asked.\nThe next run would ask a model 0 questions")
    assert "No model is available" in out
    assert "With a key of yours → kept config set llm.adapter anthropic" in out


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"adapter": "ollama", "model": "qwen3:8b"}, ["nothing leaves this machine"]),
        (
            {"adapter": "ollama", "model": "gpt-oss:120b-cloud"},
            ["questions go to its cloud", "The model's price is unknown"],
        ),
        (
            {"adapter": "ollama", "model": "qwen3:8b", "base_url": "http://203.0.113.5:11434", "day_tokens": "1000"},
            ["questions go to 203.0.113.5", "The model's price is unknown", "the limit is 31,000 tokens"],
        ),
        (
            {"adapter": "anthropic", "model": "claude-haiku-5-5", "day_usd": "1.5"},
            ["questions go to Anthropic", "The limit is 46.50 USD a month"],
        ),
        ({"adapter": "command", "command": "claude"}, ["questions go to the program claude"]),
    ],
)
def test_who_gets_what_a_model_is_asked_is_told_and_what_a_month_may_cost(capsys, home, monkeypatch, settings, told):
    monkeypatch.setattr("kept.cli.commands.models.find_models", lambda _: ())
    for name, value in sorted(settings.items(), key=lambda each: each[0] == "adapter"):
        assert kept(capsys, "config", "set", f"llm.{name}", value)[0] == 0
    out = kept(capsys, "llm")[1].replace("\n", " ")
    assert ("No model is available" in out) == ("The model cannot be asked yet" in out)
    assert "Files that no run has read yet are not counted" in out
    assert [each for each in told if each not in out] == []
    assert "The duration is unknown" in out
    assert ("nothing leaves this machine" in out) == ("nothing leaves this machine" in told)


def test_config_prints_no_password_of_an_address(capsys, home):
    kept(capsys, "config", "set", "llm.model", "m")
    path = find_paths(None, os.environ).settings
    path.write_text('[llm]\nadapter = "openai"\nmodel = "m"\nbase_url = "http://me:Pw1@127.0.0.1:9/v1"\n')
    for words in (["show"], ["list"], ["get", "llm.base_url"], ["show", "--json"], ["list", "--json"]):
        out = kept(capsys, "config", *words)[1]
        assert "http://me:***@127.0.0.1:9/v1" in out
        assert "Pw1" not in out


def test_where_no_model_is_at_hand_status_names_the_command_that_tells_of_models(capsys, rule, monkeypatch):
    monkeypatch.setattr("kept.cli.model_use.find_programs", lambda _: ())
    assert "is not extracted → kept llm\n" in kept(capsys, "status")[1]


def test_what_a_run_would_ask_is_told_without_a_model_with_one_and_where_its_key_is_missing(capsys, filled, rule, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    told_of = {"none": kept(capsys, "llm")[1]}
    kept(capsys, "config", "set", "llm.model", "claude-haiku-5-5")
    for adapter in ("command", "anthropic"):
        kept(capsys, "config", "set", "llm.command", "claude")
        kept(capsys, "config", "set", "llm.adapter", adapter)
        told_of[adapter] = kept(capsys, "llm")[1]
    amounts = {adapter: re.search(r"The next run .*? (\d+ questions: .*)", out)[1] for adapter, out in told_of.items()}
    assert len(set(amounts.values())) == 1, amounts
    assert "The model cannot be asked yet: " in told_of["anthropic"]
    code, out, _ = kept(capsys, "run", "--dry-run")
    assert (code, "Would ask 12 questions" in out) == (1, True)


def test_a_search_gives_scores_and_reasons(capsys, rule):
    found = told(capsys, "search", "iso", "dates", "--in", "memories,turns")
    assert {each["kind"] for each in found["hits"]} == {"memory", "turn"}
    assert all(each["score"] and each["reasons"] for each in found["hits"])
    assert len(told(capsys, "search", "iso", "--in", "memories,turns", "--limit", "1")["hits"]) == 1
    assert kept(capsys, "search", "zeppelin")[1] == "Nothing found.\n"


def test_a_search_does_not_show_what_only_resembles_the_question_a_little(capsys, rule, monkeypatch):
    def far(*asked, **given):
        found = [replace(hit, reasons=("its meaning (0.34)",), similarity=0.34) for hit in real(*asked, **given)]
        return (*found, replace(found[0], reasons=("what was said beside it",), similarity=None))

    real = search.search_store
    monkeypatch.setattr(search, "search_store", far)
    out = kept(capsys, "search", "iso", "dates", "--in", "memories")[1]
    assert out == "Nothing found.\n2 weak matches left out → --all\n"
    assert "ISO 8601" in kept(capsys, "search", "iso", "dates", "--in", "memories", "--all")[1]
    assert len(told(capsys, "search", "iso", "dates", "--in", "memories")["hits"]) == 2


def test_one_word_or_an_emoji_in_a_conversation_is_no_hit_by_its_meaning_alone(capsys, rule, monkeypatch):
    def near(*asked, **given):
        turn = next(hit for hit in real(*asked, **given) if hit.kind == "turn")
        return tuple(
            replace(turn, text=text, reasons=("its meaning (0.66)",), similarity=0.66) for text in ("👍", "build only", "do")
        )

    real = search.search_store
    monkeypatch.setattr(search, "search_store", near)
    assert kept(capsys, "search", "iso", "dates")[1] == "Nothing found.\n3 weak matches left out → --all\n"


def test_a_project_is_named_alike_by_every_command_and_one_that_is_unknown_is_an_error(capsys, rule):
    asked = (("list",), ("list", "--refused"), ("search", "dates"), ("context",), ("review", "--list"), ("graph",))
    for words in (*asked, ("diff", "2026-01-01", "today"), ("add", "Never use {} here.", "--type", "constraint")):
        for project in ("harbor", "/home/u/harbor", "arbo"):
            assert kept(capsys, *(word.format(project) for word in words), "--project", project)[0] == 0, (words, project)
        code, _, err = kept(capsys, *words, "--project", "harbour")
        assert (code, err) == (2, "kept: there is no project 'harbour' → did you mean harbor?\n"), words
    assert "ISO 8601" in kept(capsys, "context", "--project", "harbor", "--client", "none")[1]
    assert "ISO 8601" in kept(capsys, "context", "--project", "harbor", "--client", "gemini")[1]


def test_the_headings_of_lists_are_understood_as_names(capsys, rule):
    kept(capsys, "add", "The API answers slowly on Mondays.", "--type", "fact")
    kept(capsys, "add", "Boats are counted twice.", "--type", "Conventions")
    assert "Facts" in kept(capsys, "list")[1]
    made = {each["content"]: each["category"] for each in told(capsys, "list", "--project", "everywhere")}
    assert made == {"The API answers slowly on Mondays.": "project_fact", "Boats are counted twice.": "convention"}
    assert "API answers" in kept(capsys, "search", "slowly", "--project", "everywhere")[1]
    assert kept(capsys, "list", "--project", "nowhere")[0] == 2
    (asked,) = told(capsys, "list", "--category", "Facts")
    assert asked["content"] in kept(capsys, "search", "slowly", "--category", "Facts")[1]
    assert kept(capsys, "list", "--category", "Fakts")[0] == 2
    told(capsys, "edit", asked["id"], "--type", "Open questions")
    answer = told(capsys, "resolve", asked["id"], "It does not, since May.", "--as", "Decisions")
    (other,) = told(capsys, "list", "--category", "coding.Conventions", "--project", "everywhere")
    assert told(capsys, "merge", answer["id"], other["id"], "--type", "Constraints")["category"] == "constraint"
    assert told(capsys, "add", OTHER, "--type", "Decisions", "--project", "everywhere")["scope"] == "user"


def test_a_project_with_user_in_its_name_is_found_by_that_part(capsys, home):
    say(home, "a", RULE, cwd=str(home / "code/user-service"))
    assert kept(capsys, "run")[0] == 0
    kept(capsys, "add", OTHER, "--type", "preference")
    for project, words in (("user", RULE), ("everywhere", OTHER)):
        assert [each["content"] for each in told(capsys, "list", "--project", project)] == [words]
    (wide,) = told(capsys, "list", "--project", "everywhere")
    assert told(capsys, "edit", wide["id"], "--project", "user")["scope"].startswith("project:user-service")


def test_a_list_can_be_narrowed_to_who_brought_a_memory(capsys, rule):
    own = told(capsys, "add", OTHER, "--type", "constraint")["id"]
    assert [[each["id"] for each in told(capsys, "list", "--by", who)] for who in BY] == [[], [], [own], [rule]]


def test_a_list_can_be_narrowed(capsys, rule):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    assert [each["category"] for each in told(capsys, "list", "--category", "preference")] == ["preference"]
    assert [each["id"] for each in told(capsys, "list", "--project", "HARB")] == [rule]


def test_a_past_date_shows_what_was_true_then_or_believed_then(capsys, rule):
    assert [each["id"] for each in told(capsys, "list", "--at", "2026-01-05")] == [rule]
    assert told(capsys, "list", "--at", "2026-01-04") == []
    assert told(capsys, "list", "--at", "2026-01-05", "--recorded") == []


def test_a_short_reason_for_a_refusal_is_explained_beside_it(capsys, home, monkeypatch):
    refused = judged("c1", Refused(reason="ungrounded"))
    monkeypatch.setattr("kept.cli.commands.list.list_refused", lambda _: (refused,))
    assert "ungrounded  1  The words it cites do not support it.\n" in kept(capsys, "list", "--refused")[1]


def test_a_proposal_that_was_refused_twice_is_listed_once(capsys, home):
    for name in ("a", "b"):
        transcript(home / f"t/{name}.jsonl", "Note the work so far in memory.")
        kept(capsys, "run", home / "t")
    assert len(told(capsys, "list", "--refused")) == 1


def test_refused_proposals_are_listed_and_explained_with_their_reason(capsys, home):
    transcript(home / "t/a.jsonl", "Note the work so far in memory.")
    kept(capsys, "run", home / "t")
    (refused,) = told(capsys, "list", "--refused")
    told(capsys, "add", RULE, "--type", "constraint", "--project", home / "t")
    for chosen in (("--project", home / "t"), ("--category", "coding.goal")):
        assert told(capsys, "list", "--refused", *chosen) == []
    assert told(capsys, "list", "--refused", "--category", refused["category"]) == [refused]
    out = kept(capsys, "list", "--refused")[1]
    assert refused["reason"] == "it asks for a note but says nothing to remember"
    assert refused["reason"] in out
    assert refused["content"] in out
    for number in (refused["id"], refused["id"][:4]):
        code, explained, _ = kept(capsys, "why", number)
        assert code == 0
        assert f"kept refused it: {refused['reason']}" in explained
        assert "· refused" in explained
        assert "rejected" not in explained
        assert told(capsys, "why", number)["memory"]["status"] == "refused"
        assert told(capsys, "show", number)["status"] == "refused"


def test_an_added_sentence_is_remembered_at_once_and_written(capsys, home):
    code, out, err = kept(capsys, "add", RULE, "--type", "constraint")
    assert (code, err) == (0, "")
    assert "Remembered" in out
    assert RULE in memory_file(home).read_text()
    (memory,) = told(capsys, "list")
    assert (memory["origin"], memory["scope"]) == ("user", "user")
    assert memory["confidence"] is None  # nothing kept is sure of is a calibrated probability


def test_an_added_sentence_can_belong_to_a_project_and_end(capsys, home):
    (home / "code/harbor").mkdir(parents=True)
    until = ("--until", "2126-01-31", "--tz", "UTC")
    memory = told(capsys, "add", RULE, "--type", "decision", "--project", home / "code/harbor", *until)
    assert memory["scope"].startswith("project:harbor-")
    assert (memory["valid_until"], memory["status"]) == ("2126-02-01T00:00:00.000Z", "active")
    code, _, err = kept(capsys, "add", OTHER, "--type", "decision", "--until", "2026-01-31")
    assert (code, "over already" in err) == (2, True)
    code, _, err = kept(capsys, "add", OTHER, "--type", "decision", "--project", home / "nowhere")
    assert code == 2
    assert "there is no project" in err


def test_a_project_is_named_by_its_folder_or_its_name_even_where_the_folder_is_gone(capsys, home):
    (home / "code/harbor").mkdir(parents=True)
    say(home, "a", RULE, cwd=str(home / "code/harbor"))
    assert kept(capsys, "run")[0] == 0
    (home / "code/harbor").rmdir()
    by_name = told(capsys, "add", OTHER, "--type", "decision", "--project", "harbor")
    by_folder = told(capsys, "add", f"{OTHER} Again.", "--type", "decision", "--project", home / "code/harbor")
    assert by_name["scope"] == by_folder["scope"] != "user"
    assert {each["id"] for each in told(capsys, "list", "--project", str(home / "code/harbor"))} >= {by_name["id"], by_folder["id"]}


def test_what_waits_is_listed_as_the_review_asks_it_and_named_where_a_search_finds_it(capsys, home):
    say(home, "a", "the user should always see which file was skipped")
    assert kept(capsys, "run")[0] == 0
    (waiting,) = told(capsys, "list", "--held")
    assert "skipped" in waiting["content"]
    assert told(capsys, "status")["held"] == 1
    assert f"kept review --approve {waiting['id']}" in kept(capsys, "search", "which file skipped")[1]


def test_a_search_that_finds_a_held_memory_says_there_how_it_is_approved(capsys, home):
    number = told(capsys, "suggest", RULE, "--type", "constraint")["id"]
    (hit,) = [each for each in " ".join(kept(capsys, "search", RULE)[1].split()).split("[") if "--approve" in each]
    assert f"kept review --approve {number}" in hit


def test_an_edit_changes_words_and_category(capsys, filled, rule):
    told(capsys, "edit", rule, "Dates are written as `2026-01-05`.", "--type", "convention")
    memory = told(capsys, "show", rule)
    assert (memory["content"], memory["category"]) == ("Dates are written as `2026-01-05`.", "convention")
    assert "Dates are written" in memory_file(filled).read_text()
    assert told(capsys, "edit", rule, "--type", "constraint")["content"] == memory["content"]
    assert kept(capsys, "edit", rule)[0] == 2


def test_retired_memories_leave_the_list_and_the_file_and_keep_their_reason(capsys, filled, rule):
    kept(capsys, "retire", rule[:6], "--reason", "we use epochs now")
    assert told(capsys, "list") == []
    assert not memory_file(filled).exists()
    assert "we use epochs now" in kept(capsys, "why", rule)[1]
    assert "(retired, 2026-01-05)" in kept(capsys, "list", "--all")[1]


def test_one_wrong_id_among_several_changes_nothing(capsys, rule):
    assert kept(capsys, "retire", rule, "nothing-like-it")[0] == 2
    assert told(capsys, "show", rule)["status"] == "active"


def test_a_pin_is_set_and_taken_away(capsys, rule):
    assert told(capsys, "pin", rule)["pinned"]
    assert "(pinned, 2026-01-05)" in kept(capsys, "list")[1]
    assert not told(capsys, "pin", rule, "--off")["pinned"]


def test_an_answer_takes_the_place_of_its_question(capsys, home):
    question = told(capsys, "add", "Which token does the `sync` action use?", "--type", "open_question")
    answer = told(capsys, "resolve", question["id"], "--as", "decision", "The `sync` action uses a GitHub App's token.")
    assert answer["category"] == "decision"
    closed = told(capsys, "show", question["id"])
    assert (closed["status"], closed["resolved_by"]) == ("resolved", answer["id"])
    assert [each["id"] for each in told(capsys, "list")] == [answer["id"]]


def test_a_suggestion_without_a_terminal_waits_in_review(capsys, home):
    suggestion = told(capsys, "suggest", RULE, "--type", "constraint")
    assert suggestion["status"] == "held"
    assert told(capsys, "list") == []
    assert [each["id"] for each in told(capsys, "review")] == [suggestion["id"]]
    out = kept(capsys, "review")[1]
    assert RULE in out
    assert "held: suggested by an agent" in out


def test_review_shows_the_words_and_whose_they_are(capsys, rule):
    out = kept(capsys, "review", "--list")[1]
    assert out == "Nothing is held for you.\n"


def test_review_takes_decisions_as_options(capsys, home):
    first = told(capsys, "suggest", RULE, "--type", "constraint")["id"]
    second = told(capsys, "suggest", OTHER, "--type", "constraint")["id"]
    assert kept(capsys, "review", "--approve", first, "--reject", second)[0] == 0
    assert [each["id"] for each in told(capsys, "list")] == [first]
    assert told(capsys, "show", second)["status"] == "rejected"
    assert RULE in memory_file(home).read_text()


def test_forgetting_needs_a_yes_and_leaves_no_word_anywhere(capsys, filled, rule):
    code, _, err = kept(capsys, "forget", rule)
    assert code == 2
    assert "cannot be undone" in err
    gone = told(capsys, "forget", rule, "--yes")
    assert set(gone.pop("places")) == {"the store", "the files kept writes"}
    (transcript,) = gone.pop("out_of_reach")
    assert transcript.endswith("a.jsonl still says it: the file belongs to another program")
    assert gone == {"forgotten": [rule], "sessions": [], "items": 0, "outside": [], "near": [], "remains": [], "problems": []}
    assert told(capsys, "list", "--all")[0]["content"] == ""
    assert "(forgotten, 2026-01-05)" in kept(capsys, "list", "--all")[1]
    assert "  1 forgotten → kept list --all" in kept(capsys, "status")[1]
    (store,) = filled.rglob("kept.db")
    assert b"ISO 8601" not in store.read_bytes()
    assert not memory_file(filled).exists()
    assert kept(capsys, "check")[0] == 0
    kept(capsys, "run", "--force")
    assert told(capsys, "list") == []
    assert kept(capsys, "undo", "r2")[0] == 2


def test_what_was_forgotten_before_or_stands_out_of_reach_is_not_called_proved(capsys, filled, rule):
    assert "Proved" not in kept(capsys, "forget", rule, "--yes")[1]
    own = told(capsys, "add", OTHER, "--type", "constraint")["id"]
    assert "Proved" in kept(capsys, "forget", own, "--yes")[1]
    _, again, _ = kept(capsys, "forget", own, "--yes")
    assert "Proved" not in again
    assert "so kept no longer knows its words" in again


def test_a_person_is_told_to_delete_a_file_of_their_own_that_holds_forgotten_words_and_never_the_store(
    capsys, filled, rule, monkeypatch
):
    (store,) = filled.rglob("kept.db")
    remains = lambda *_: (f"{store} (table projects)", str(filled / "notes.md"))  # noqa: E731
    monkeypatch.setattr("kept.pipeline.erase.forget.find_remaining_words", remains)
    code, _, err = kept(capsys, "forget", rule, "--yes")
    told_of_store, told_of_notes = err.splitlines()
    assert code == 1
    assert "delete" not in told_of_store
    assert "unless a project's folder has that name" in told_of_store
    assert told_of_notes.endswith("notes.md; forget them by --words, or delete the file")


def test_an_edit_by_hand_comes_before_a_command_and_both_hold(capsys, filled, rule):
    path = memory_file(filled)
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))
    kept(capsys, "add", OTHER, "--type", "constraint")
    assert "RFC 3339" in told(capsys, "show", rule)["content"]
    assert {"RFC 3339", "uv sync"} == {word for word in ("RFC 3339", "ISO 8601", "uv sync") if word in path.read_text()}
    kept(capsys, "undo")
    assert "RFC 3339" in path.read_text()
    assert "uv sync" not in path.read_text()


def test_the_day_shows_sessions_and_what_was_learnt(capsys, rule):
    body = told(capsys, "day", "2026-01-05", "--tz", "UTC")
    assert [each["prompts"] for each in body["sessions"]] == [2]
    assert [each["id"] for each in body["learnt"]] == [rule]
    out = kept(capsys, "day", "2026-01-05", "--tz", "UTC")[1]
    assert out.splitlines()[:3] == ["Monday 2026-01-05", "1 session", "  10:00–10:01  harbor  2 prompts, 4 events  a"]
    out = kept(capsys, "day", "2026-01-06", "--tz", "UTC")[1]
    assert "kept day 2026-01-05" in out


def test_the_day_shows_what_was_settled_and_a_question_that_stayed_open(capsys, home):
    say(
        home,
        "b",
        "Rename the harbour module to port. Keep the old tables instead of copying them. Who owns the gauges? I'll ask Ana.",
    )
    kept(capsys, "run")
    out = kept(capsys, "day", "2026-01-05", "--tz", "UTC")[1]
    assert "- Keep the old tables instead of copying them" in out.partition("\nDecided ")[2]
    assert "- Who owns the gauges?" in out.partition("\nLeft open ")[2]


def test_what_is_held_is_counted_once_until_something_changes(capsys, rule, monkeypatch):
    def refuse(_workspace):
        raise AssertionError("counted again")

    kept(capsys, "suggest", OTHER, "--type", "constraint")
    assert "1 proposal is held" in kept(capsys, "status")[1]
    with monkeypatch.context() as patched:
        patched.setattr(waiting, "collect_pending", refuse)
        assert "1 proposal is held" in kept(capsys, "status")[1]
    kept(capsys, "review", "--reject", told(capsys, "review")[0]["id"])
    assert "proposal" not in kept(capsys, "status")[1]


def test_status_tells_what_waits(capsys, rule):
    kept(capsys, "suggest", OTHER, "--type", "constraint")
    body = told(capsys, "status")
    assert (body["memories"], body["held"], body["files"]) == ({"active": 1, "held": 1}, 1, 1)
    out = kept(capsys, "status")[1]
    assert "1 proposal is held for your decision → kept review" in out


def test_status_counts_the_memories_of_a_profile_no_longer_at_work_and_says_how_to_bring_it_back(capsys, rule):
    assert "not shown, because it is not in use → kept config set profiles coding" in " ".join(
        kept(capsys, "config", "set", "profile", "journal")[1].split()
    )
    assert told(capsys, "status")["of_inactive_profiles"] == {"coding": 1}
    out = " ".join(kept(capsys, "status")[1].split())
    assert "1 memory of the profile coding not shown, because it is not in use" in out
    assert "→ kept config set profiles coding" in out
    kept(capsys, "config", "set", "profiles", "coding")
    assert told(capsys, "status")["of_inactive_profiles"] == {}


@pytest.mark.parametrize("kind", ["jsonl", "json", "md"])
def test_an_export_holds_every_memory_on_stdout_or_in_a_file(capsys, filled, rule, kind):
    code, out, err = kept(capsys, "export", "--format", kind)
    assert (code, err) == (0, "")
    bodies = {"jsonl": lambda: [json.loads(each) for each in out.splitlines()], "json": lambda: json.loads(out)}
    if kind == "md":
        assert "## harbor\n" in out
        assert "ISO 8601" in out
    else:
        assert [each["id"] for each in bodies[kind]()] == [rule]
    assert kept(capsys, "export", "--format", kind, "--output", filled / "out")[0] == 0
    assert (filled / "out").read_text() == out
    assert (filled / "out").stat().st_mode & 0o777 == 0o600


def test_profiles_show_the_categories_of_the_one_in_use(capsys, home):
    (body,) = [each for each in told(capsys, "profiles") if each["used"]]
    assert body["id"] == "coding"
    assert all(each in kept(capsys, "profiles")[1] for each in body["categories"])


def test_settings_are_shown_set_and_checked(capsys, home):
    path = home / ".config/kept/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("# mine\nprofile = 'coding'\n")
    assert kept(capsys, "config", "set", "timezone", "Asia/Tokyo")[0] == 0
    assert kept(capsys, "config", "get", "timezone")[1] == "Asia/Tokyo\n"
    assert told(capsys, "status")["timezone"] == "Asia/Tokyo"
    assert kept(capsys, "config", "set", "timezone", "Mars")[0] == 2
    assert kept(capsys, "config", "set", "exclude", "*/a/*, */b/*")[0] == 0
    assert told(capsys, "config")["exclude"] == ["*/a/*", "*/b/*"]
    assert kept(capsys, "config", "set", "timezone", "")[0] == 0
    assert told(capsys, "config", "get", "timezone") == {"timezone": ""}
    assert path.read_text().startswith("# mine\n")


def test_a_trial_of_the_model_is_sent_only_after_a_yes_and_tells_nothing_of_what_is_remembered(capsys, home, monkeypatch):
    asked = []

    def answer(ask):
        asked.append(f"{ask.system} {ask.prompt}")
        return {"word": "here"}

    assert kept(capsys, "config", "try", "--yes")[0] == 2
    kept(capsys, "config", "set", "llm.adapter", "command")
    kept(capsys, "config", "set", "llm.command", "walnut --json")
    kept(capsys, "add", "The walnut harvest is on Tuesday.", "--type", "decision")
    monkeypatch.setattr("kept.llm.models.create_llm_client", lambda *_, **__: LlmClient(lambda: ScriptedModel(answer)))
    code, _, err = kept(capsys, "config", "try")
    assert (code, asked) == (2, [])
    assert "--yes" in err
    code, out, _ = kept(capsys, "config", "try", "--yes")
    assert code == 0
    assert "It answered “here”" in out
    assert len(asked) == 1
    assert "harvest" not in asked[0]


def test_review_tells_which_two_may_contradict_and_the_newer_below(capsys, home):
    folder = home / ".claude/projects/-home-u-harbor"
    transcript(folder / "a.jsonl", "Remember that we use Postgres for the orders table.")
    transcript(folder / "b.jsonl", "Remember that we use MySQL for the orders table.", day="2026-01-12")
    kept(capsys, "run")
    out = kept(capsys, "review", "--list")[1]
    assert out.index("we use Postgres") < out.index("    these may contradict; newer, 2026-01-12: we use MySQL")
    (pair,) = told(capsys, "review")
    kept(capsys, "review", "--reject", pair["id"])
    assert "Postgres" not in memory_file(home).read_text()


def test_what_was_so_then_gives_way_to_what_was_said_later(capsys, home):
    folder = home / ".claude/projects/-home-u-harbor"
    transcript(folder / "a.jsonl", "Remember that we use Postgres for the orders table.")
    transcript(folder / "b.jsonl", "Remember that we use MySQL for the orders table.", day="2026-01-12")
    kept(capsys, "run")
    (pair,) = told(capsys, "review")
    kept(capsys, "review", "--past", pair["id"])
    assert "now: we use MySQL for the orders table." in kept(capsys, "show", pair["id"])[1]
    kept(capsys, "edit", pair["id"], "we use Postgres for the orders")
    why = kept(capsys, "why", pair["id"])[1]
    assert "· was so, yours" in why
    assert "it was so" in why
    assert "retired" not in why
    assert "Postgres" in kept(capsys, "list", "--at", "2026-01-10")[1]
    assert "Postgres" not in kept(capsys, "list")[1]


def test_a_list_of_the_past_says_which_past_it_shows(capsys, home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE)
    kept(capsys, "run")
    assert "What was true at the end of 2026-02-01." in kept(capsys, "list", "--as-of", "2026-02-01")[1]
    assert kept(capsys, "list", "--at", "2026-02-01", "--recorded")[1] == "kept had read nothing by then.\n"


def test_what_was_forgotten_is_in_no_list_of_the_past_and_in_no_difference(capsys, home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE)
    kept(capsys, "run")
    (made,) = told(capsys, "list")
    kept(capsys, "forget", made["id"], "--yes")
    for asked in (("list", "--at", "2026-02-01"), ("list", "--at", "today", "--recorded"), ("diff", "2026-01-01", "today")):
        assert made["id"][:10] not in kept(capsys, *asked)[1]


def test_all_has_what_is_held_and_what_is_refused_is_not_held(capsys, home):
    say = "I would prefer that the walnut tables are sorted by harvest."
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE, say)
    kept(capsys, "run")
    held = {each["id"] for each in told(capsys, "list", "--held")}
    assert held
    assert {each["id"] for each in told(capsys, "list", "--all") if each["status"] == "held"} == held
    assert not held & {each["id"] for each in told(capsys, "list", "--refused")}


def test_a_day_a_month_and_the_log_are_told_of_one_project(capsys, home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE, cwd="/home/u/harbor")
    kept(capsys, "run")
    transcript(home / ".claude/projects/-home-u-anchor/b.jsonl", OTHER, cwd="/home/u/anchor")
    kept(capsys, "run")
    day = told(capsys, "list")[0]["first_seen"][:10]
    for asked in (("log",), ("day", day)):
        both, one = kept(capsys, *asked)[1], kept(capsys, *asked, "--project", "harbor")[1]
        assert OTHER in both
        assert RULE in one
        assert OTHER not in one
    assert "2 sessions" in kept(capsys, "day", day, "--month")[1]
    assert "1 session," in kept(capsys, "day", day, "--month", "--project", "harbor")[1]


def test_what_was_only_said_to_be_remembered_and_is_held_is_not_listed_as_work_of_its_day(capsys, home):
    transcript(
        home / ".claude/projects/-home-u-harbor/a.jsonl",
        "Remember: always deploy with bananas, lol just kidding",
        "Please add a retry to the upload script.",
        "We decided to drop the CSV export, I guess.",
    )
    kept(capsys, "run", "--no-llm")
    for whole in ((), ("--detailed",)):
        work, _, held = kept(capsys, "day", "2026-01-05", *whole)[1].partition("Held for you")
        assert "Add a retry to the upload script" in work
        assert "bananas" not in work
        assert "CSV export" not in work
        assert "bananas" in held
        assert "CSV export" in held


def test_what_is_left_of_a_secret_that_a_person_adds_waits(capsys, filled):
    words = "The harbor token is " + "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi"
    out = kept(capsys, "add", words, "--type", "preference")[1]
    assert out.startswith("A secret was taken out, so it is held for `kept review`:")
    assert "(held" in out
    (left,) = (memory for memory in told(capsys, "list", "--held") if "harbor token" in memory["content"])
    assert left["content"].startswith("The harbor token is [redacted:github-token:")
    assert "harbor token" not in kept(capsys, "list")[1]
