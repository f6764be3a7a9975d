"""A person merges memories, and admits what was refused: undoable, and it holds against later runs."""

import sqlite3
from contextlib import closing
from functools import partial

import pytest

from kept.core.errors import MissingError, StaleError, UsageError
from kept.core.memory import Status
from kept.memories import person
from kept.memories.browse import refused_candidates
from kept.memories.history import undo
from kept.pipeline import run as pipeline_run
from kept.pipeline.run import RunOptions, run_pipeline
from talking import OTHER, RULE, say

VAGUE = ("Tests should not depend on the network.", "Keep the charts small, and do not use more than four colours.")


@pytest.fixture
def kept_desk(desk_at, home):
    with desk_at(home) as opened:
        yield opened


@pytest.fixture
def said(home):
    """Writes a session in which a person says each of some sentences, and tells its path."""
    return partial(say, home)


def test_the_first_takes_in_the_others_with_all_they_rest_on_and_undo_takes_them_apart(kept_desk, said):
    workspace = kept_desk
    run_pipeline(workspace, [said("one", RULE), said("two", OTHER)], RunOptions())
    rule, other = (
        next(each for each in workspace.store.log.memories() if words in each.content) for words in ("ISO 8601", "uv sync")
    )
    made = person.merge(workspace, [rule.id, other.id], "Dates are ISO 8601 in UTC; packages come from `uv sync`.")
    assert (made.id, made.status, made.owned) == (rule.id, Status.ACTIVE, True)
    assert {each.session for each in made.evidence} == {"one", "two"}
    assert set(made.candidates) == {*rule.candidates, *other.candidates}
    assert made.observations == 2
    taken = workspace.store.log.memory(other.id)
    assert (taken.status, taken.superseded_by) == (Status.SUPERSEDED, rule.id)
    undo(workspace)
    assert workspace.store.log.memory(rule.id).content == rule.content
    assert workspace.store.log.memory(other.id).status is Status.ACTIVE


def test_what_a_person_merged_stays_one_through_later_runs_that_say_either_again(kept_desk, said):
    workspace = kept_desk
    run_pipeline(workspace, [said("one", RULE), said("two", OTHER)], RunOptions())
    rule, other = (
        next(each for each in workspace.store.log.memories() if words in each.content) for words in ("ISO 8601", "uv sync")
    )
    person.edit(workspace, other.id, "Never use pip here, use `uv sync`.")  # a person's own words are taken in as well
    person.merge(workspace, [rule.id, other.id], "Dates are ISO 8601 in UTC; packages come from `uv sync`.")
    run_pipeline(workspace, [said("three", RULE, day="2026-02-05"), said("four", OTHER, day="2026-02-06")], RunOptions())
    active = [each for each in workspace.store.log.memories() if each.status in (Status.ACTIVE, Status.HELD)]
    assert [each.content for each in active] == ["Dates are ISO 8601 in UTC; packages come from `uv sync`."]
    assert active[0].last_seen.date().isoformat() >= "2026-02-05"
    assert workspace.store.find_damage() == ()


def test_a_merge_needs_two_of_one_project_that_are_as_they_were_seen(kept_desk):
    workspace = kept_desk
    first = person.create_memory(workspace, "The walnut harvest is on Tuesday.", "decision")
    second = person.create_memory(workspace, "The harvest of walnuts begins on Tuesdays.", "decision")
    away = person.create_memory(workspace, "The almond harvest is in May.", "decision", scope="project:x")
    with pytest.raises(UsageError, match="two memories"):
        person.merge(workspace, [first.id, first.id])
    with pytest.raises(UsageError, match="stay apart"):
        person.merge(workspace, [first.id, away.id])
    seen = [person.memory_revision(first), person.memory_revision(second)]
    person.edit(workspace, second.id, "The harvest of walnuts begins on Fridays.")
    with pytest.raises(StaleError):
        person.merge(workspace, [first.id, second.id], if_match=seen)
    assert workspace.store.log.memory(first.id) == first


def test_what_was_refused_is_remembered_where_a_person_says_so_and_a_later_run_leaves_it(kept_desk, said):
    workspace = kept_desk
    run_pipeline(
        workspace,
        [said("one", *VAGUE, RULE)],
        RunOptions(),
    )
    judged = refused_candidates(workspace)
    assert judged
    made = person.accept_refused(workspace, judged[0].candidate.id)
    assert (made.status, made.owned, made.content) == (Status.ACTIVE, True, judged[0].candidate.content)
    assert made.evidence == judged[0].candidate.evidence
    with pytest.raises(UsageError, match="remembered already"):
        person.accept_refused(workspace, judged[0].candidate.id)
    run_pipeline(workspace, [said("two", OTHER, day="2026-02-05")], RunOptions(force=True))
    assert workspace.store.log.memory(made.id).status is Status.ACTIVE
    undo(workspace, f"{max(each.id for each, _ in workspace.store.log.operations_on(made.id))}")
    assert workspace.store.log.memory(made.id) is None
    with pytest.raises(MissingError):
        person.accept_refused(workspace, "nothing")


def test_how_near_texts_are_is_asked_while_nobody_waits_to_write(kept_desk, said, monkeypatch):
    asked = []

    def meaning(pairs):
        with closing(sqlite3.connect(kept_desk.paths.store, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # fails where a transaction of the run holds the store
            other.execute("ROLLBACK")
        asked.append(len(pairs))
        return [0.9] * len(pairs)

    monkeypatch.setattr(pipeline_run, "create_meaning_scorer", lambda _workspace: meaning)
    told = ("We decided to cache results in Redis for an hour.", "We decided that all results are cached in Redis for one hour.")
    report = run_pipeline(kept_desk, [said(f"s{number}", f"Remember: {each}") for number, each in enumerate(told)], RunOptions())
    assert (asked, report.curated.stopped) == ([1], [])
    assert len([each for each in kept_desk.store.log.memories() if each.status is Status.ACTIVE]) == 1
