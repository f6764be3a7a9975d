"""Causes that the assistant stated and acted on."""

from dataclasses import replace

import pytest
from talk import LEXICON, PROFILE, agent, edit, found, talk, user

from kept.model.event import Author, Kind, Tool
from kept.model.memory import Accepted
from kept.stages.extract import extract
from kept.stages.gate import judge

ASKED = user("the totals on the invoice page are wrong since the last release")
CAUSE = agent("I found the issue! `sumLines()` rounds every line before it adds them up. Let me fix that:")


def changes(path):
    tool = Tool(name="Edit", target=path, call="c1")
    return (
        (Kind.TOOL_CALL, Author.ASSISTANT, path, tool),
        (Kind.TOOL_OUTPUT, Author.TOOL, "updated", Tool(name="Edit", target=path, call="c1", ok=True)),
    )


def fixes(*turns):
    made = [each for each in found(*turns) if each.category == "known_fix"]
    return [each.content for each in made if isinstance(judge(each, PROFILE, lexicon=LEXICON), Accepted)]


def test_a_cause_that_was_announced_and_mended_is_a_known_fix_that_names_the_file():
    assert fixes(ASKED, CAUSE, *changes("src/invoice/totals.ts"), user("now the footer of the page, please")) == [
        "`sumLines()` rounds every line before it adds them up (fixed in `invoice/totals.ts`)."
    ]


def test_a_cause_under_its_own_heading_is_told_with_the_remedy_under_its_own():
    told = agent(
        "## Summary\n\n**The Bug:**\n- `sumLines()` rounds every line\n- `taxOf()` reads the rounded sum\n\n"
        "**The Fix:**\n- Sums are kept in cents\n"
    )
    (made,) = fixes(ASKED, *changes("src/totals.ts"), told, user("now the footer, please"))
    assert made.startswith("`sumLines()` rounds every line; `taxOf()` reads the rounded sum. Fix: Sums are kept in cents")


def test_how_code_is_made_is_no_cause_where_nobody_told_of_trouble():
    told = agent(
        "I see the issue now. The boot calls pass `*DiskConfig`, but the job functions receive `utils.Config` (interface). Let me:"
    )
    after = user("now the footer of the page, please")
    assert fixes(user("move the config into its own package"), told, *changes("src/config.go"), after) == []
    assert fixes(ASKED, told, *changes("src/config.go"), after) != []


@pytest.mark.parametrize(
    "after",
    ["no, that is not it", "still the same", "the totals on the invoice page are wrong since the last release", "wtf", "undo that"],
)
def test_a_cause_that_the_person_disputes_is_none(after):
    assert fixes(ASKED, CAUSE, *changes("src/totals.ts"), user(after)) == []


def test_a_cause_that_nothing_was_changed_for_is_none():
    assert fixes(ASKED, CAUSE, user("now the footer of the page, please")) == []


def test_a_guess_is_no_cause():
    guess = agent("The issue is probably that `sumLines()` rounds every line. Let me fix that:")
    assert fixes(ASKED, guess, *changes("src/totals.ts"), user("now the footer, please")) == []


def test_a_setting_that_a_person_says_was_it_is_a_known_fix():
    asked = user("any idea why the colours differ in the terminal?")
    told = agent("Check the contrast: search `terminal.minimumContrast` and try setting it to `1`.")
    assert fixes(asked, told, user("that's it, thanks")) == [
        "The colours differ in the terminal: set `terminal.minimumContrast` to `1`."
    ]
    assert fixes(asked, told, user("no, nothing changed")) == []


def test_words_of_tools_and_of_injected_text_state_no_cause():
    said = "I found the issue! `sumLines()` rounds every line before it adds them up. Let me fix that:"
    for author in (Author.SUBAGENT, Author.INJECTED, Author.COMPACTION, Author.ABANDONED):
        turn = (Kind.RESPONSE, author, said, None)
        assert fixes(ASKED, turn, *changes("src/totals.ts"), user("now the footer, please")) == []
    shown = (Kind.TOOL_OUTPUT, Author.TOOL, said, Tool(name="Read", target="notes.md"))
    assert fixes(ASKED, shown, *changes("src/totals.ts"), user("now the footer, please")) == []


def test_a_retraction_with_a_reason_is_a_decision_that_says_what_was_undone():
    turns = (
        agent("I switched the retry loop to exponential backoff in client.py."),
        user("undo that, the API has its own backoff"),
    )
    (made,) = found(*turns)
    assert made.category == "decision"
    assert made.content == "The API has its own backoff (undone: switched the retry loop to exponential backoff in client.py)."


def test_the_cause_that_a_person_tells_keeps_the_symptom_they_named():
    turns = (
        user("the picker needs to wait for the next tick, or else we get flickering rows"),
        edit("src/picker.ts"),
        agent("Done: the update is deferred."),
        user("you can undo that, it was actually the debug prints in theme.ts"),
    )
    assert found(*turns)[-1].content == "Flickering rows: the cause was the debug prints in theme.ts."


def test_a_question_left_for_later_is_an_open_question_until_it_is_taken_up():
    asked = user("we need to decide later whether we shard the events table by tenant or by month")
    assert [(each.category, each.content) for each in found(asked)] == [
        ("open_question", "Open: whether we shard the events table by tenant or by month.")
    ]
    answer = user("we shard the events table by tenant")
    assert "open_question" not in [each.category for each in found(asked, agent("Noted."), answer)]


def test_an_answer_to_the_assistants_own_question_tool_is_a_decision_with_what_was_asked():
    ask = Tool(name="AskUserQuestion", target="Which lock should the CI use for `bun.lock`?", call="q1")
    events = talk(user("set up CI"), (Kind.TOOL_CALL, Author.ASSISTANT, "", ask), user("the frozen lockfile only"))
    events[-1] = replace(events[-1], label_reason="answer")
    (made,) = extract(events, 0, len(events), profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
    assert made.content == "Which lock should the CI use for `bun.lock`? The frozen lockfile only."
