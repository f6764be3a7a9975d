"""Names that look like orders, wishes that follow each other, and what a pointer stands for."""

import pytest
from talk import active, agent, edit, user

DONE = agent("I moved the retry logic into `client.py` and updated the tests.")


@pytest.mark.parametrize(
    "words",
    ["go-kafka is the old version of the consumer.", "test-server lives in tools/test-server, it is not deployed."],
)
def test_a_name_that_begins_with_a_verb_and_a_hyphen_is_no_order(words):
    assert active(DONE, user(words)) == [words]


@pytest.mark.parametrize(
    "words", ["Commit at sensible points.", "Push as you go along.", "Update the changelog as you go, not at the end."]
)
def test_a_habit_that_is_asked_for_is_a_preference(words):
    assert active(DONE, user(words)) == [words]


def test_short_wishes_that_follow_each_other_are_one():
    said = user("Ask me before you push. Commit as you go.")
    assert active(DONE, said) == ["Ask me before you push. Commit as you go."]


def test_a_reproach_about_a_file_whose_name_the_prompt_before_gave_is_a_rule_about_that_file():
    talked = (user("read docs/release-steps.md and start"), edit("docs/release-steps.md"), agent("I rewrote the steps."))
    said = user("i never asked you to edit that file, it was given to you as a checklist to follow")
    assert active(*talked, said) == ["Do not edit `docs/release-steps.md`, it was given to you as a checklist to follow."]
