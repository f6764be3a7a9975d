"""The trial of a language model: who reads with care passes, who takes what a trap offers does not."""

import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from kept.core.errors import UsageError
from kept.llm.adapters.scripted import Scripted
from kept.llm.client import LlmClient
from kept.pipeline.trial import try_models

ROWS = tomllib.loads((files("kept.pipeline") / "trial.toml").read_text())["question"]
NOTES = {"problems": [], "solutions": [], "decisions": [], "questions": []}


def reply(ask, *, of):
    row = next(row for row in ROWS if f"[e0] {row['talk'][0]}" in ask.prompt)
    claim = {"category": "constraint", "event": "e0", "about": "", "rewording": "", "quotes": []}
    return {"hints": [], "memories": [claim | {"passage": words} for kind in of for words in row[kind]], "notes": NOTES}


def tried(workspace, *of):
    return try_models(replace(workspace, llm=LlmClient(lambda: Scripted(lambda ask: reply(ask, of=of)))))


def test_a_model_that_finds_what_is_wanted_and_nothing_else_passes(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted")
    assert (score.right, score.unwanted, score.passes, len(ROWS)) == (10, 0, True, 10)


def test_a_model_that_takes_what_a_trap_offers_does_not_pass_however_much_it_finds(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace, "wanted", "unwanted")
    assert not score.passes
    assert score.unwanted == sum(bool(row["unwanted"]) for row in ROWS)


def test_a_model_that_finds_nothing_does_not_pass(desk_at, home):
    with desk_at(home) as workspace:
        (score,) = tried(workspace)
    assert not score.passes
    assert len(score.faults) == sum(bool(row["wanted"]) for row in ROWS)


def test_without_a_model_there_is_nothing_to_try(desk_at, home):
    with desk_at(home) as workspace, pytest.raises(UsageError):
        try_models(replace(workspace, llm=None))
