"""How a tool behaves, as the assistant explained it to somebody who asked."""

from dataclasses import replace

import pytest
from talk import LEXICON, PROFILE, agent, found, talk, user

from kept.model.event import Author, Kind, Origin, Tool
from kept.model.memory import Accepted
from kept.stages.extract import extract
from kept.stages.gate import judge
from kept.stages.segment import segment

ASKED = user("why is the lock file not written when I run the update?")
TOLD = agent("I looked into it. `cargo update` does not touch the lock file of a path dependency - it only rewrites its own.")
RUN = (
    (Kind.TOOL_CALL, Author.ASSISTANT, "cargo update", Tool(name="Bash", target="cargo update", call="c1")),
    (Kind.TOOL_OUTPUT, Author.TOOL, "ok", Tool(name="Bash", target="cargo update", call="c1", ok=True, exit_code=0)),
)
NEXT = user("ok, then let's look at the tests of the parser")


def learnt(*turns):
    made = [
        each for each in found(*turns) if each.category == "insight" and isinstance(judge(each, PROFILE, lexicon=LEXICON), Accepted)
    ]
    return [each.content for each in made]


def test_a_limit_of_a_program_that_was_run_is_an_insight_in_the_assistants_words():
    (made,) = [each for each in found(ASKED, *RUN, TOLD, NEXT) if each.category == "insight"]
    assert made.content == "`cargo update` does not touch the lock file of a path dependency - it only rewrites its own."
    assert made.origin is Origin.ASSISTANT
    assert [each.author for each in made.evidence] == ["assistant", "human"]
    assert isinstance(judge(made, PROFILE, lexicon=LEXICON), Accepted)


@pytest.mark.parametrize("after", ["no, that is not it, still the same", "that's wrong", "the lock file is still not written"])
def test_what_the_person_disputes_is_none(after):
    assert learnt(ASKED, *RUN, TOLD, user(after)) == []


def test_what_a_tool_printed_is_not_the_assistants_word():
    words = "`cargo update` does not touch the lock file of a path dependency."
    read = ((Kind.TOOL_OUTPUT, Author.TOOL, f"# Notes\n{words}\n", Tool(name="Read", target="README.md", call="c2", ok=True)),)
    assert learnt(ASKED, *RUN, agent(words), NEXT) == [words]
    assert learnt(ASKED, *RUN, *read, agent(words), NEXT) == []


@pytest.mark.parametrize(
    "words", ["`cargo update` must be run with the key of the owner.", "Use `cargo update` with the key of the owner."]
)
def test_what_shall_be_done_is_no_explanation(words):
    assert learnt(ASKED, *RUN, agent(words), NEXT) == []


def test_what_nobody_has_answered_yet_is_none():
    assert learnt(ASKED, *RUN, TOLD) == []


@pytest.mark.parametrize(
    "words",
    [
        "`parseLock()` does not touch the lock file of a path dependency.",  # the project's own code
        "The new test does not touch the lock file of a path dependency.",
        "`cargo update` probably does not touch the lock file of a path dependency.",
        "`cargo update` did not touch the lock file of the path dependency.",
        "`cargo update` now does not touch the lock file of this branch.",
        "Our build does not touch the lock file of a path dependency.",
    ],
)
def test_own_code_guesses_and_what_was_are_none(words):
    assert learnt(ASKED, *RUN, agent(words), NEXT) == []


def test_what_was_explained_to_somebody_who_only_ordered_something_is_none():
    assert learnt(user("rename the parser module"), *RUN, TOLD, NEXT) == []


def test_reading_episode_by_episode_tells_the_same():
    events = talk(ASKED, *RUN, TOLD, NEXT, user("and the next one"), agent("Done."))
    whole = extract(events, 0, len(events), profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
    parts = [
        each
        for episode in segment(events, PROFILE.buffer)
        for each in extract(events, episode.start, episode.stop, profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
    ]
    assert [each.id for each in whole if each.category == "insight"] == [each.id for each in parts if each.category == "insight"]


def test_the_fields_and_entries_of_a_diary_explain_nothing():
    field = agent("**Intent:** `cargo update` does not touch the lock file of a path dependency, it only rewrites its own.")
    assert learnt(ASKED, *RUN, field, NEXT) == []
    events = talk(ASKED, *RUN, TOLD, NEXT)
    noted = [replace(each, label_reason="memory-folder") if each.kind is Kind.RESPONSE else each for each in events]
    assert "behaviour" not in [each.trigger for each in extract(noted, 0, len(noted), profile=PROFILE, lexicon=LEXICON, scope=str)]


def test_what_is_explained_in_a_talk_in_which_nothing_is_done_is_common_knowledge():
    told = agent(
        "A limitation of mortgages: Fannie Mae does not accept a loan without an appraisal. Savings accounts do not support it."
    )
    assert learnt(user("what are the limits of a mortgage?"), told, user("ok, then tell me about taxes")) == []
    assert learnt(ASKED, TOLD, NEXT) == []
