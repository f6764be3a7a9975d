"""Replies made to deceive: nothing of them is believed, and no question is paid for twice."""

from pathlib import Path

from kept.evaluation.replies import run_adversarial_cases

REPLIES = Path(__file__).parents[2] / "benchmarks" / "replies" / "replies"


def test_of_replies_made_to_deceive_nothing_is_believed_and_no_question_is_asked_twice(desk_at):
    found = run_adversarial_cases(desk_at, REPLIES)
    assert len(found) >= 20
    assert [(each.name, each.believed, each.paid) for each in found if each.believed or each.paid] == []
    taken = {each.name: each.taken for each in found}
    rule = ("In this repo we only publish from tagged commits.",)
    assert taken["prose and a fence around it"] == taken["sixty claims on one quote"] == rule
    assert taken["half a reply"] == ()


def test_a_folder_without_such_replies_gives_none(desk_at, tmp_path):
    assert run_adversarial_cases(desk_at, tmp_path) == ()
