"""Replies made to deceive: nothing of them is believed, and no question is paid for twice."""

import shutil
from pathlib import Path

import pytest

from kept.evaluation.replies import run_adversarial_cases

REPLIES = Path(__file__).parents[2] / "benchmarks" / "replies" / "replies"


NAMED = ("prose and a fence around it", "sixty claims on one quote", "half a reply")


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_of_replies_made_to_deceive_nothing_is_believed_and_no_question_is_asked_twice(desk_at, tmp_path, every):
    shutil.copytree(REPLIES, tmp_path, dirs_exist_ok=True)
    (cases,) = tmp_path.glob("*/cases.jsonl")
    lines = cases.read_text().splitlines(keepends=True)
    named = [line for line in lines if any(map(line.__contains__, NAMED))]
    cases.write_text("".join([*named, *(line for line in lines[::every] if line not in named)]))
    found = run_adversarial_cases(desk_at, tmp_path)
    assert len(found) >= 20 / every
    assert [(each.name, each.believed, each.paid) for each in found if each.believed or each.paid] == []
    taken = {each.name: each.taken for each in found}
    rule = ("In this repo we only publish from tagged commits.",)
    assert taken["prose and a fence around it"] == taken["sixty claims on one quote"] == rule
    assert taken["half a reply"] == ()


def test_a_folder_without_such_replies_gives_none(desk_at, tmp_path):
    assert run_adversarial_cases(desk_at, tmp_path) == ()
