"""A person merges memories, and admits what was refused: undoable, and it holds against later runs."""

from functools import partial

import pytest

from kept.core.errors import MissingError, StaleError, UsageError
from kept.core.memory import Status
from kept.memories import person
from kept.memories.browse import refused
from kept.memories.history import undo
from kept.pipeline.run import Options, run
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
    desk = kept_desk
    run(desk, [said("one", RULE), said("two", OTHER)], Options())
    rule, other = (next(each for each in desk.store.log.memories() if words in each.content) for words in ("ISO 8601", "uv sync"))
    made = person.merge(desk, [rule.id, other.id], "Dates are ISO 8601 in UTC; packages come from `uv sync`.")
    assert (made.id, made.status, made.owned) == (rule.id, Status.ACTIVE, True)
    assert {each.session for each in made.evidence} == {"one", "two"}
    assert set(made.candidates) == {*rule.candidates, *other.candidates}
    assert made.observations == 2
    taken = desk.store.log.memory(other.id)
    assert (taken.status, taken.superseded_by) == (Status.SUPERSEDED, rule.id)
    undo(desk)
    assert desk.store.log.memory(rule.id).content == rule.content
    assert desk.store.log.memory(other.id).status is Status.ACTIVE


def test_what_a_person_merged_stays_one_through_later_runs_that_say_either_again(kept_desk, said):
    desk = kept_desk
    run(desk, [said("one", RULE), said("two", OTHER)], Options())
    rule, other = (next(each for each in desk.store.log.memories() if words in each.content) for words in ("ISO 8601", "uv sync"))
    person.edit(desk, other.id, "Never use pip here, use `uv sync`.")  # a person's own words are taken in as well
    person.merge(desk, [rule.id, other.id], "Dates are ISO 8601 in UTC; packages come from `uv sync`.")
    run(desk, [said("three", RULE, day="2026-02-05"), said("four", OTHER, day="2026-02-06")], Options())
    active = [each for each in desk.store.log.memories() if each.status in (Status.ACTIVE, Status.HELD)]
    assert [each.content for each in active] == ["Dates are ISO 8601 in UTC; packages come from `uv sync`."]
    assert active[0].last_seen.date().isoformat() >= "2026-02-05"
    assert desk.store.damage() == ()


def test_a_merge_needs_two_of_one_project_that_are_as_they_were_seen(kept_desk):
    desk = kept_desk
    first = person.add(desk, "The walnut harvest is on Tuesday.", "decision")
    second = person.add(desk, "The harvest of walnuts begins on Tuesdays.", "decision")
    away = person.add(desk, "The almond harvest is in May.", "decision", scope="project:x")
    with pytest.raises(UsageError, match="two memories"):
        person.merge(desk, [first.id, first.id])
    with pytest.raises(UsageError, match="stay apart"):
        person.merge(desk, [first.id, away.id])
    seen = [person.revision(first), person.revision(second)]
    person.edit(desk, second.id, "The harvest of walnuts begins on Fridays.")
    with pytest.raises(StaleError):
        person.merge(desk, [first.id, second.id], if_match=seen)
    assert desk.store.log.memory(first.id) == first


def test_what_was_refused_is_remembered_where_a_person_says_so_and_a_later_run_leaves_it(kept_desk, said):
    desk = kept_desk
    run(
        desk,
        [said("one", *VAGUE, RULE)],
        Options(),
    )
    judged = refused(desk)
    assert judged
    made = person.admit(desk, judged[0].candidate.id)
    assert (made.status, made.owned, made.content) == (Status.ACTIVE, True, judged[0].candidate.content)
    assert made.evidence == judged[0].candidate.evidence
    with pytest.raises(UsageError, match="remembered already"):
        person.admit(desk, judged[0].candidate.id)
    run(desk, [said("two", OTHER, day="2026-02-05")], Options(force=True))
    assert desk.store.log.memory(made.id).status is Status.ACTIVE
    undo(desk, f"{max(each.id for each, _ in desk.store.log.operations_on(made.id))}")
    assert desk.store.log.memory(made.id) is None
    with pytest.raises(MissingError):
        person.admit(desk, "nothing")
