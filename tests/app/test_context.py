"""What is put before a prompt: nothing where it is about nothing that is stored, and of the last days what it is about."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kept.core.fence import DAYS
from kept.core.memory import Actor
from kept.core.operation import Revise, as_facts
from kept.memories import person
from kept.pipeline.run import Options, run
from kept.recall.context import assemble
from kept.recall.nearby import Asked, Place
from kept.store.values import Draft

UNRELATED = (
    "What is a good recipe for banana bread with walnuts?",
    "Translate 'good morning' into Finnish and Hungarian.",
    "Who won the chess olympiad in 1972?",
    "Write a limerick about a lighthouse keeper.",
    "How many moons does Neptune have?",
    "My knee hurts after running; which stretches help?",
    "Plan a weekend in Lisbon with two children.",
    "Explain the rules of cricket to a beginner.",
    "What should I plant on a balcony that faces north?",
    "Convert 14 stone to kilograms.",
    "Summarise the plot of Hamlet in three sentences.",
    "Fix the typo in the footer, please.",
    "commit",
    "yes, go on",
    "continue",
    "run it again",
    "/pr-review 154",
    "ok, thanks! that looks right to me",
    "Make the button green and round its corners.",
    "Why does the elevator in our building squeak?",
    "Compare oat milk and almond milk for coffee.",
    "Draw an ASCII cat.",
    "Please rename the variable to something shorter.",
    "Use fewer words in that paragraph.",
    "Which chord comes after G in this progression?",
    "Solve x squared minus five x plus six.",
    "Erkläre mir den Unterschied zwischen Efeu und Wein.",
    "¿Cuál es la capital de Mongolia?",
    "京都でおすすめの抹茶の店は?",
    "Is it safe to mix vinegar and baking soda in a closed bottle?",
)


@pytest.fixture
def workspace(desk_at, home, transcripts):
    with desk_at(home) as workspace:
        run(workspace, [], Options())
        yield workspace


def offered(workspace, message, thread=None, **fields):
    thread = thread or max(workspace.store.archive.threads(), key=lambda each: each.last_at)
    asked = Asked(message=message, directory=thread.project, session="another", core=False, **fields)
    place = Place(str(workspace.paths.store), "/", seconds=30.0)
    return assemble(place, asked, now=thread.last_at + timedelta(hours=6)).pieces


def test_a_memory_is_shown_with_what_it_is_about(workspace):
    memory = person.add(workspace, "Never restart it on a Friday.", "constraint")
    facts = replace(as_facts(memory), about="the walnut server")
    person.pin(workspace, memory.id)
    workspace.store.log.commit(
        Draft(
            run=1,
            stage="edit",
            subject="",
            actor=Actor.PERSON,
            recorded_at=workspace.clock(),
            operations=(Revise(memory=memory.id, at=workspace.clock(), reason="", facts=facts),),
        )
    )
    thread = max(workspace.store.archive.threads(), key=lambda each: each.last_at)
    asked = Asked(message="", directory=thread.project, session="another", core=True)
    shown = assemble(Place(str(workspace.paths.store), "/", seconds=30.0), asked, now=thread.last_at).pieces
    assert "Never restart it on a Friday. (about: the walnut server)" in [each.text for each in shown]


def test_a_prompt_about_nothing_that_is_stored_brings_no_line(workspace):
    assert {message: found for message in UNRELATED if (found := offered(workspace, message))} == {}


def test_of_the_last_days_a_first_prompt_brings_what_it_is_about(workspace):
    of_days = [
        (thread, each)
        for thread in workspace.store.archive.threads()
        for each in offered(workspace, "", thread)
        if each.layer == DAYS
    ]
    assert of_days
    thread, piece = of_days[0]
    about = f"Let us go on: {piece.text}"
    assert piece.key in {each.key for each in offered(workspace, about, thread)}
    assert piece.key not in {each.key for each in offered(workspace, UNRELATED[0], thread)}
    assert [each for each in offered(workspace, about, thread, days=False) if each.layer == DAYS] == []


@pytest.mark.parametrize("message", ["create a PR", "erstelle einen Pull Request", "创建一个合并请求"])
def test_a_request_of_few_words_brings_the_rules_of_its_project_for_it(workspace, message):
    rule = "Pull requests go to the develop branch and link their ticket."
    thread = max(workspace.store.archive.threads(), key=lambda each: each.last_at)
    person.add(workspace, rule, "constraint", scope=workspace.scope(thread.project))
    assert rule in [each.text for each in offered(workspace, message)]
    assert rule not in [each.text for each in offered(workspace, "Draw an ASCII cat.")]


def test_a_question_for_yesterday_brings_the_notes_of_the_last_days(workspace):
    asked = [
        piece
        for thread in workspace.store.archive.threads()
        for piece in offered(workspace, "what did we do yesterday?", thread, days=False)
    ]
    assert asked
    assert {each.layer for each in asked} == {DAYS}
