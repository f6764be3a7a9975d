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


def test_what_to_keep_up_is_told_with_the_wish_that_follows_it():
    assert active(DONE, user("Keep a short log of the decisions. Commit at sensible points.")) == [
        "Keep a short log of the decisions. Commit at sensible points."
    ]
    assert active(DONE, user("Make the header blue. Commit at sensible points.")) == ["Commit at sensible points."]


def test_a_reproach_about_a_file_whose_name_the_prompt_before_gave_is_a_rule_about_that_file():
    talked = (user("read docs/release-steps.md and start"), edit("docs/release-steps.md"), agent("I rewrote the steps."))
    said = user("i never asked you to edit that file, it was given to you as a checklist to follow")
    assert active(*talked, said) == ["Do not edit `docs/release-steps.md`, it was given to you as a checklist to follow."]


def test_a_reason_in_brackets_is_told_with_the_claim_that_the_assistant_confirms():
    said = user(
        "using the shell script for this should be fine, since it only runs on one host, right? (we use ansible on purpose to not depend on one host)"
    )
    told = "Using the shell script should be fine, since it only runs on one host (we use ansible on purpose to not depend on one host)."
    assert told in active(DONE, said, agent("Exactly. The shell script only ever runs on one host, so it is fine."))
    assert told not in active(DONE, said, agent("No, that script would have to run on every host."))


def test_a_but_after_a_question_names_what_it_limits():
    said = user(
        "we know the rows that changed, could we use them to decide if we could skip the nightly export? But we must keep in mind that a user may run `restore --all`"
    )
    (made,) = active(DONE, said)
    assert made == "Whether we could skip the nightly export: we must keep in mind that a user may run `restore --all`."


def test_a_supposition_that_the_assistant_confirms_is_known():
    said = user("but the copy on disk has the problem if we now rename the bucket since then the paths in the copy would be wrong")
    assert active(DONE, said, agent("You're right. The paths in the copy on disk would be wrong after the bucket is renamed."))
    assert active(DONE, said, agent("I renamed the bucket.")) == []
