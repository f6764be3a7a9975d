"""Going back: any pass, what was done later, and what was true or believed at a past moment."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cases import each_case
from kept.core.errors import MissingError, UsageError
from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.operation import Add, Anticipate, Forget, Pin, Reaffirm, Retire, Revise, Supersede, operation_kind, to_facts
from kept.local.queue import NIGHT
from kept.memories.day_view import find_wordings_at
from kept.memories.differences import DifferenceKind, MemoryDifference, count_given_back, describe_given_back, list_differences
from kept.memories.history import (
    describe_command,
    describe_counts,
    diff_moments,
    find_run,
    is_nightly_job,
    last_undoable_run,
    memories_at,
    redo,
    run_changes,
    run_history,
    undo,
    undo_in_scopes,
    undo_model,
    was_at_night,
)
from kept.memories.waiting import JUDGED, record_judgement
from kept.store.values import Draft, Run

JAN, MAR, MAY = (datetime(2026, month, 1, 12, tzinfo=UTC) for month in (1, 3, 5))


def memory(number: str, seen: datetime | None, content: str = "words") -> Memory:
    quote = Evidence(quote=f"{number} {seen}", event="", session="s", path="f", at=seen, author="human", origin=Origin.USER)
    return Memory(
        id=number,
        profile="coding",
        category="decision",
        scope="user",
        status=Status.ACTIVE,
        content=content,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=seen,
        last_seen=seen,
        evidence=(quote,),
    )


def add(number: str, seen: datetime | None = MAR, content: str = "words") -> Add:
    return Add(memory=number, at=seen, reason="new", value=memory(number, seen, content))


def commit(workspace, *operations, stage="curate", run=None, **changes):
    now = workspace.clock()
    draft = Draft(
        run=run or workspace.store.log.start_run("run", now),
        stage=stage,
        subject="",
        actor=Actor.MACHINE,
        recorded_at=now,
        operations=operations,
    )
    return workspace.store.log.commit(replace(draft, **changes))


@pytest.fixture
def workspace(desk_at, home):
    with desk_at(home) as opened:
        yield opened


def test_any_past_pass_can_be_undone_and_what_was_done_later_is_told(workspace):
    first = commit(workspace, add("m1"), add("m2"))
    commit(workspace, add("m3"))
    pinned = commit(workspace, Pin(memory="m1", at=MAR, reason="x"))
    replaced = commit(workspace, Supersede(memory="m3", at=MAR, reason="x", by="m2"))
    done = undo(workspace, str(first.id))
    assert sorted(done.changed) == ["m1", "m2"]
    assert [(each.made.id, each.operation.memory, each.idle) for each in done.later] == [
        (pinned.id, "m1", True),
        (replaced.id, "m3", False),
    ]
    back = redo(workspace, str(first.id))
    assert workspace.store.log.memory("m1").pinned
    assert not any(each.idle for each in back.later)
    assert workspace.store.find_damage() == ()


def test_an_undo_in_the_middle_keeps_what_came_after(workspace):
    commit(workspace, add("m1"))
    middle = commit(workspace, Retire(memory="m1", at=MAR, reason="x"))
    commit(workspace, Pin(memory="m1", at=MAR, reason="x"))
    done = undo(workspace, str(middle.id))
    assert [(type(each.operation).__name__, each.idle) for each in done.later] == [("Pin", False)]
    found = workspace.store.log.memory("m1")
    assert (found.status, found.pinned) == (Status.ACTIVE, True)


@pytest.mark.parametrize("what", ["99", "r99", "x", "-1", "²", "9" * 40])
def test_a_pass_that_is_not_there_is_told_so(workspace, what):
    commit(workspace, add("m1"))
    with pytest.raises(UsageError):
        undo(workspace, what)


def test_the_history_is_that_of_the_last_runs_with_their_operations(workspace):
    for number in range(5):
        commit(workspace, add(f"m{number}"))
    found = run_history(workspace, 2)
    assert [each.run.id for each in found] == [5, 4]
    assert [operation.memory for each in found for made, _ in each.passes for operation in made.operations] == ["m4", "m3"]


def test_what_was_true_then_counts_by_event_time_whenever_it_was_read(workspace):
    commit(workspace, add("m1", MAR))
    facts = replace(to_facts(memory("m1", MAR)), first_seen=JAN, last_seen=MAY)
    facts = replace(facts, added=tuple(memory("m1", at).evidence[0] for at in (JAN, MAY)))
    commit(workspace, Reaffirm(memory="m1", at=MAY, reason="seen again", facts=facts))
    commit(workspace, Retire(memory="m1", at=MAY, reason="x"))
    day = timedelta(days=1)
    assert memories_at(workspace, JAN - day) == ()
    (then,) = memories_at(workspace, JAN + day)
    assert (then.status, then.first_seen) == (Status.ACTIVE, JAN)
    (then,) = memories_at(workspace, MAR + day)
    assert (then.status, then.last_seen) == (Status.ACTIVE, MAR)
    (then,) = memories_at(workspace, MAY)
    assert (then.status, len(then.evidence)) == (Status.RETIRED, 3)


def test_what_kept_believed_then_counts_by_when_it_was_recorded(workspace):
    before = workspace.clock()
    made = commit(workspace, add("m1", JAN))
    between = workspace.clock()
    undo(workspace, str(made.id))
    assert memories_at(workspace, before, recorded=True) == ()
    assert [each.id for each in memories_at(workspace, between, recorded=True)] == ["m1"]
    assert memories_at(workspace, workspace.clock(), recorded=True) == ()
    assert memories_at(workspace, between) == ()


def test_as_of_now_what_was_true_is_what_is_remembered_undated_memories_included(workspace):
    commit(workspace, add("m1"), add("m2", None), add("m3", MAY))
    commit(workspace, Supersede(memory="m1", at=MAY, reason="x", by="m3"))
    assert sorted(each.id for each in memories_at(workspace, workspace.clock())) == ["m1", "m2", "m3"]
    assert {each.id: each for each in memories_at(workspace, workspace.clock())} == {
        each.id: each for each in workspace.store.log.memories()
    }
    changed = diff_moments(workspace, MAR, MAY)
    assert set(changed) == {"m1", "m3"}


KNOWN = memory("m", MAR)
GONE = replace(KNOWN, status=Status.RETIRED, reason="no more releases")
HELD = replace(KNOWN, status=Status.HELD, reason="said once")


@each_case(
    ("before", "after", "what", "why"),
    [
        (None, KNOWN, DifferenceKind.ENTERED, ""),
        (None, replace(KNOWN, reason="accepted"), DifferenceKind.ENTERED, ""),
        (None, replace(KNOWN, reason="a person said so"), DifferenceKind.ENTERED, "a person said so"),
        (GONE, KNOWN, DifferenceKind.ENTERED, ""),
        (HELD, KNOWN, DifferenceKind.ENTERED, ""),
        (KNOWN, replace(KNOWN, content="other words"), DifferenceKind.CHANGED, ""),
        (KNOWN, replace(KNOWN, category="goal"), DifferenceKind.MOVED, "decision → goal"),
        (KNOWN, replace(KNOWN, scope="project:harbour"), DifferenceKind.MOVED, ""),
        (KNOWN, GONE, DifferenceKind.LEFT, "retired: no more releases"),
        (KNOWN, replace(GONE, reason="retired by you"), DifferenceKind.LEFT, "retired by you"),
        (KNOWN, replace(GONE, reason=""), DifferenceKind.LEFT, "retired"),
        (KNOWN, None, DifferenceKind.LEFT, "undone"),
        (None, HELD, DifferenceKind.HELD, "said once"),
        (replace(KNOWN, status=Status.REJECTED), None, DifferenceKind.HELD, "undone"),
        (HELD, None, DifferenceKind.LEFT, "undone"),
        (GONE, None, DifferenceKind.LEFT, "undone"),
        (KNOWN, HELD, DifferenceKind.LEFT, "held: said once"),
        (HELD, replace(KNOWN, status=Status.REJECTED, reason="no"), DifferenceKind.REJECTED, "no"),
        (KNOWN, replace(KNOWN, pinned=True), DifferenceKind.MARKED, "pinned"),
        (replace(KNOWN, pinned=True), KNOWN, DifferenceKind.MARKED, "no longer pinned"),
        (KNOWN, replace(KNOWN, observations=2), DifferenceKind.CONFIRMED, ""),
    ],
)
def test_what_became_of_a_memory_is_told_with_its_reason(before, after, what, why):
    (difference,) = list_differences({"m": (before, after)})
    assert (difference.what, difference.why) == (what, why)


def test_the_most_important_differences_come_first():
    changed = {"a": (KNOWN, replace(KNOWN, observations=2)), "b": (None, HELD), "c": (KNOWN, GONE), "d": (None, KNOWN)}
    assert [difference.id for difference in list_differences(changed)] == ["d", "c", "b", "a"]


def test_words_that_went_stand_before_what_came_in_their_place():
    (difference,) = list_differences({"m": (memory("m", MAR, "Ship on Tuesdays."), memory("m", MAR, "Ship on Fridays."))})
    assert difference.words == (("same", "Ship on "), ("del", "Tuesdays"), ("ins", "Fridays"), ("same", "."))
    assert difference.text == "Ship on Fridays."
    assert list_differences({"m": (None, KNOWN)})[0].words == ()


def test_what_an_undo_gave_back_is_told_by_what_is_so_now():
    old, new = memory("m", MAR, "The port is 8731."), memory("m", MAR, "The port is 8732.")
    assert describe_given_back(list_differences({"m": (new, old)})) == "“The port is 8731.” – reworded back"
    assert describe_given_back(list_differences({"m": (old, None)})) == "“The port is 8731.” – no longer remembered"
    assert describe_given_back(list_differences({"m": (new, old), "n": (KNOWN, HELD)})) == "1 reworded back, 1 held again"
    assert describe_given_back(list_differences({"m": (GONE, KNOWN)})).endswith(" – remembered again")
    assert describe_given_back(list_differences({"m": (replace(KNOWN, category="goal"), KNOWN)})).endswith(" – moved back")
    assert describe_given_back(list_differences({"m": (replace(KNOWN, pinned=True), KNOWN)})).endswith(" – marked as before")
    assert describe_given_back(list_differences({"m": (replace(KNOWN, observations=2), KNOWN)})).endswith(" – dated as before")
    rejected = replace(KNOWN, status=Status.REJECTED, reason="no")
    assert describe_given_back(list_differences({"m": (HELD, rejected)})).endswith(" – rejected again")
    for words, told in (("w" * 80, "w" * 80), ("w" * 81, "w" * 80 + "…")):
        assert describe_given_back(list_differences({"m": (None, memory("m", MAR, words))})).startswith(f"“{told}” – ")
    assert describe_given_back(()) == ""


def test_operations_are_counted_the_most_first():
    assert describe_counts({"add": 1, "retire": 1_200, "pin": 0}) == "1,200 retired, 1 added"
    assert [describe_command(name) for name in ("run", "approve")] == ["A run", "You"]


def test_undoing_without_a_name_takes_back_the_last_run_alone(workspace):
    commit(workspace, add("m1"))
    commit(workspace, add("m2"))
    assert [*undo(workspace).changed] == ["m2"]
    assert [each.id for each in workspace.store.log.memories()] == ["m1"]


def test_a_run_that_changed_nothing_is_not_found(workspace):
    run = workspace.store.log.start_run("run", workspace.clock())
    made = commit(workspace, add("m1"))
    for name in (f"r{run}", "99"):
        with pytest.raises(MissingError, match="no run"):
            find_run(workspace, name)
    assert find_run(workspace, f"r{made.run}").run.id == made.run


def test_the_last_change_of_some_scopes_leaves_runs_of_other_scopes(workspace):
    commit(workspace, add("m1"))
    other = add("m2")
    commit(workspace, replace(other, value=replace(other.value, scope="project:x")))
    assert [*undo_in_scopes(workspace, ["user"]).changed] == ["m1"]
    with pytest.raises(UsageError):
        undo_in_scopes(workspace, ["user"])


def test_an_operation_is_named_by_what_it_does():
    held = add("m1")
    held = replace(held, value=replace(held.value, status=Status.HELD))
    assert operation_kind(Retire(memory="m1", at=MAR, reason="x")) == "retire"
    assert (operation_kind(held), operation_kind(add("m1"))) == ("hold", "add")


def test_redo_without_a_name_brings_back_what_the_last_undo_took_until_there_is_nothing(workspace):
    first, second = commit(workspace, add("m1")), commit(workspace, add("m2"))
    undo(workspace, str(first.id))
    undo(workspace, str(second.id))
    assert redo(workspace).passes == (second.id,)
    assert redo(workspace).passes == (first.id,)
    with pytest.raises(UsageError, match="there is nothing to redo"):
        redo(workspace)
    assert sorted(each.id for each in workspace.store.log.memories()) == ["m1", "m2"]


def test_what_is_not_undone_cannot_be_redone_nor_what_is_undone_be_undone(workspace):
    first = commit(workspace, add("m1"))
    with pytest.raises(UsageError, match="there is nothing to redo"):
        redo(workspace, str(first.id))
    undo(workspace, str(first.id))
    with pytest.raises(UsageError, match="there is nothing to undo"):
        undo(workspace, str(first.id))


def test_a_number_names_a_pass_and_one_behind_an_r_a_run(workspace):
    log, now = workspace.store.log, workspace.clock()
    run = log.start_run("run", now)
    for number in ("m1", "m2"):
        log.commit(Draft(run=run, stage="curate", subject="", actor=Actor.MACHINE, recorded_at=now, operations=(add(number),)))
    other = commit(workspace, add("m3"))
    assert (run, other.run, other.id) == (1, 2, 3)
    assert sorted(undo(workspace, "2").changed) == ["m2"]
    assert sorted(undo(workspace, "r2").changed) == ["m3"]
    assert sorted(undo(workspace, "run 1").changed) == ["m1"]


@pytest.mark.parametrize(("what", "told"), [("9" * 18, "there is no pass"), ("9" * 19, "is not a pass or run")])
def test_a_number_that_no_pass_can_have_names_none(workspace, what, told):
    with pytest.raises(UsageError, match=told):
        undo(workspace, what)


def test_an_undo_is_a_run_that_ended_and_is_none_to_take_back(workspace):
    assert last_undoable_run(workspace) == ""
    commit(workspace, add("m1"))
    last = commit(workspace, add("m2"))
    assert last_undoable_run(workspace) == f"r{last.run}"
    undo(workspace)
    (newest,) = workspace.store.log.runs(1)
    assert (newest.command, newest.ended_at is not None) == ("undo", True)
    assert last_undoable_run(workspace) == "r1"


def test_what_some_passes_changed_is_told_from_before_the_first_to_behind_the_last(workspace):
    first = commit(workspace, add("m1", content="one"))
    second = commit(workspace, add("m2"), Pin(memory="m1", at=MAR, reason="x"))
    commit(workspace, Retire(memory="m1", at=MAR, reason="x"))
    ((before, after),) = [pair for key, pair in run_changes(workspace, [second]).items() if key == "m1"]
    assert (before.pinned, after.pinned, after.status) == (False, True, Status.ACTIVE)
    assert run_changes(workspace, [first])["m1"][0] is None
    assert sorted(run_changes(workspace, [first, second])) == ["m1", "m2"]
    assert run_changes(workspace, []) == {}
    undo(workspace, str(second.id))
    (undone,) = (pass_ for pass_ in workspace.store.log.passes() if pass_.stage == "undo")
    assert run_changes(workspace, [undone])["m2"][1] is None
    assert run_changes(workspace, [second])["m2"][0] is None


def revised(number: str, at: datetime | None, content: str) -> Revise:
    return Revise(memory=number, at=at, reason="x", facts=replace(to_facts(memory(number, MAR)), content=content))


def test_what_a_memory_said_then_is_told_where_it_says_something_else_now(workspace):
    day = timedelta(days=1)
    commit(workspace, add("m1", JAN, "first"), add("m2", JAN, "same"))
    commit(workspace, revised("m1", MAR, "second"))
    commit(workspace, Pin(memory="m1", at=MAR, reason="x"))
    taken_back = commit(workspace, revised("m1", MAR, "a slip"))
    commit(workspace, revised("m1", MAY, "third"))
    undo(workspace, str(taken_back.id))
    memories = workspace.store.log.memories()
    for moment, expected in ((JAN - day, "first"), (JAN + day, "first"), (MAR, "first"), (MAR + day, "second"), (MAY + day, None)):
        assert find_wordings_at(workspace, memories, moment) == ({"m1": expected} if expected else {})


def test_a_change_without_a_time_counts_from_when_it_was_recorded(workspace):
    commit(workspace, add("m1", JAN, "first"))
    changed = commit(workspace, revised("m1", None, "second"))
    (found,) = workspace.store.log.memories()
    assert find_wordings_at(workspace, [found], changed.recorded_at) == {"m1": "first"}
    assert find_wordings_at(workspace, [found], changed.recorded_at + timedelta(seconds=1)) == {}


def test_a_memory_was_last_seen_then_by_its_latest_evidence_of_then(workspace):
    quotes = tuple(memory("m1", at).evidence[0] for at in (JAN, MAR, MAY))
    value = replace(memory("m1", JAN), last_seen=MAY, evidence=quotes)
    commit(workspace, Add(memory="m1", at=JAN, reason="new", value=value))
    commit(workspace, Add(memory="m2", at=JAN, reason="new", value=replace(memory("m2", JAN), last_seen=MAR)))
    seen = {each.id: each.last_seen for each in memories_at(workspace, MAR + timedelta(days=1))}
    assert seen == {"m1": MAR, "m2": MAR}


def test_what_is_recorded_at_a_moment_was_believed_then(workspace):
    made = commit(workspace, add("m1", JAN))
    assert [each.id for each in memories_at(workspace, made.recorded_at, recorded=True)] == ["m1"]
    assert memories_at(workspace, made.recorded_at - timedelta(microseconds=1), recorded=True) == ()


def test_a_difference_tells_what_a_memory_said_last(workspace):
    some, empty = memory("m1", JAN), replace(memory("m1", JAN), content="")
    for before, after, text in ((some, empty, "words"), (some, None, "words"), (None, some, "words"), (None, empty, "")):
        assert MemoryDifference(id="m1", what=DifferenceKind.LEFT, before=before, after=after).text == text


def test_what_was_moved_is_one_change_and_what_was_split_or_was_so_has_the_persons_word():
    before = memory("old", JAN)
    gone = replace(before, status=Status.SUPERSEDED, superseded_by="new", ended_at=MAR, reason="moved to web by the user")
    there = replace(before, id="new", scope="project:web", reason=gone.reason)
    (moved,) = list_differences({"old": (before, gone), "new": (None, there)})
    assert (moved.id, moved.what, moved.why) == ("new", DifferenceKind.MOVED, "moved to web by the user")
    (back,) = list_differences({"old": (gone, before), "new": (there, None)})
    assert back.what is DifferenceKind.MOVED
    for reason, word in (("split by the user", "split"), ("it was so then and is no more", "was so")):
        ended = replace(gone, superseded_by="", reason=reason)
        (left,) = list_differences({"old": (before, ended)})
        assert (left.word, left.why, ended.outcome) == (word, reason, word)


def test_a_night_is_listed_where_it_is_asked_for_and_what_began_during_it_is_a_part_of_it(workspace):
    log, steps = workspace.store.log, {"steps": [{"name": "run", "done": True}]}
    commit(workspace, add("m1"))
    night = log.start_run(NIGHT, workspace.clock())
    made = commit(workspace, add("m2"))
    log.end_run(night, workspace.clock(), steps)
    other = commit(workspace, add("m3"))
    log.end_run(other.run, workspace.clock(), steps)
    log.start_run(NIGHT, workspace.clock())  # it did not end yet, so nothing is known to be a part of it
    last = commit(workspace, add("m4"))
    assert [(each.run.id, each.night) for each in run_history(workspace, None)] == [
        (last.run, False),
        (other.run, False),
        (made.run, True),
        (1, False),
    ]
    assert [each.run.id for each in run_history(workspace, 4, also=is_nightly_job)] == [last.run, last.run - 1, other.run, made.run]
    assert find_run(workspace, f"r{night}").account == steps["steps"]
    assert (find_run(workspace, f"r{night}").passes, find_run(workspace, f"r{other.run}").account) == ((), ())
    with pytest.raises(MissingError, match="kept log"):
        find_run(workspace, f"r{last.run - 1}")


@each_case(
    ("started", "ended", "moment", "at_night"),
    [(JAN, MAR, JAN, True), (JAN, MAR, MAR, True), (JAN, MAR, MAY, False), (MAR, MAY, JAN, False), (JAN, None, MAR, False)],
)
def test_a_run_is_of_the_night_from_its_beginning_to_its_end(started, ended, moment, at_night):
    night = Run(id=1, command=NIGHT, started_at=started, ended_at=ended, report={})
    run = replace(night, id=2, command="run", started_at=moment, ended_at=None)
    assert was_at_night(run, [run, night]) is at_night
    assert not was_at_night(run, [run, replace(night, command="run")])


@pytest.mark.parametrize("name", ["{}", "r{}", " R{} ", "run {}", "Run  {}"])
def test_a_run_is_found_by_its_number_however_a_person_writes_it(workspace, name):
    commit(workspace, add("m1"))
    made = commit(workspace, add("m2"))
    assert find_run(workspace, name.format(made.run)).passes == ((made, False),)
    assert [*undo(workspace, name.format(made.run) if name != "{}" else f"r{made.run}").changed] == ["m2"]
    assert find_run(workspace, name.format(made.run)).passes == ((made, True),)


def test_what_a_redo_changed_is_what_it_brought_back(workspace):
    made = commit(workspace, add("m1"))
    undo(workspace)
    redo(workspace)
    undone, redone = (pass_ for pass_ in workspace.store.log.passes() if pass_.stage != "curate")
    assert [(undone.subject, undone.undoes), (redone.subject, redone.redoes)] == [("1", (made.id,)), ("1", (made.id,))]
    ((before, after),) = run_changes(workspace, [redone]).values()
    assert (before, after.id) == (None, "m1")
    assert [run.command for run in workspace.store.log.runs(2)] == ["redo", "undo"]


def test_an_undo_of_a_model_takes_the_runs_with_its_proposals_and_no_others(workspace):
    log = workspace.store.log
    run = log.start_run("run", workspace.clock())
    commit(workspace, stage="extract", run=run, note="model a, prompt 1")
    commit(workspace, add("m1"), run=run)
    commit(workspace, add("m2"), note="model ab, prompt 1")
    commit(workspace, add("m3"))
    assert undo_model(workspace, "model a").passes == (1, 2)
    assert sorted(each.id for each in log.memories()) == ["m2", "m3"]
    with pytest.raises(UsageError, match="there is nothing to undo"):
        undo_model(workspace, "model a")


def test_the_last_change_of_some_scopes_is_of_passes_that_change_nothing_else(workspace):
    foreign = replace(memory("m2", MAR), scope="project:x")
    run = commit(workspace, add("m1")).run
    commit(workspace, Add(memory="m2", at=MAR, reason="new", value=foreign), run=run)
    commit(workspace, Pin(memory="m1", at=MAR, reason="x"), Pin(memory="m2", at=MAR, reason="x"))
    gone = commit(workspace, add("m4"))
    commit(workspace, Pin(memory="m4", at=MAR, reason="x"))
    undo(workspace, str(gone.id))
    commit(workspace, stage="extract")
    assert [*undo_in_scopes(workspace, ["user"]).changed] == ["m1"]
    assert [each.id for each in workspace.store.log.memories()] == ["m2"]
    assert undo_in_scopes(workspace, ["user", "project:x"]).passes == (2,)


def test_a_run_with_a_forget_is_not_undone_and_stays_whole(workspace):
    run = commit(workspace, add("m1"), add("m2")).run
    commit(workspace, Forget(memory="m1", at=MAR, reason="x", fingerprints=()), run=run)
    for what in ("", f"r{run}"):
        with pytest.raises(UsageError, match="a forget cannot be undone: the words are gone") as refused:
            undo(workspace, what)
        assert "kept log" in refused.value.hint
    assert {each.id for each in workspace.store.log.memories() if each.content} == {"m2"}
    assert [*undo(workspace, "1").changed] == ["m1", "m2"]
    moment = workspace.clock()
    for recorded in (False, True):
        assert memories_at(workspace, moment, recorded=recorded) == ()


@pytest.mark.parametrize(
    ("take", "what", "told"),
    [
        (undo, "99", "there is no pass 99 to undo"),
        (redo, "99", "there is no pass 99 to redo"),
        (undo, "r99", "there is no run 99 to undo"),
        (redo, "run 99", "there is no run 99 to redo"),
        (undo, "2", "there is no pass 2 to undo"),
        (undo, "r2", "there is no run 2 to undo"),
        (undo, "1", "there is nothing to undo → see `kept log`"),
        (undo, "", "there is nothing to undo → see `kept log`"),
        (redo, "3", "there is nothing to redo → see `kept log`"),
        (redo, "x", "'x' is not a pass or run → give a pass number, or r3 for run 3; see `kept log`"),
    ],
)
def test_what_cannot_be_taken_back_is_told_with_what_it_is(workspace, take, what, told):
    commit(workspace, add("m1"))
    undo(workspace)
    if take is redo and what == "3":
        commit(workspace, add("m2"))
    with pytest.raises(UsageError) as error:
        take(workspace, what)
    assert str(error.value) == told


def test_a_retirement_that_is_undone_is_no_judgement_any_more_and_others_stay(workspace):
    commit(workspace, add("m1"), add("m2"))
    judged = workspace.paths.state / JUDGED
    retired = commit(workspace, Retire(memory="m1", at=MAR, reason="not true"), actor=Actor.PERSON)
    undo(workspace)
    assert not judged.exists()  # nobody said why
    redo(workspace)
    record_judgement(workspace, workspace.store.log.memory("m1"), "not true")
    pinned = commit(workspace, Pin(memory="m1", at=MAR, reason="x"))
    undo(workspace, str(pinned.id))
    undo(workspace, str(retired.id))
    redo(workspace)
    assert [line.rpartition('"reason":')[2][:10] for line in judged.read_text().splitlines()] == [
        '"not true"',
        '"","terms"',
        '"not true"',
    ]


def test_requests_given_later_are_no_later_change(workspace):
    first = commit(workspace, add("m3"), add("m1"), add("m2"))
    commit(workspace, Anticipate(memory="m1", at=MAR, reason="x", content="words", needed_for=("deploying",)))
    pinned = commit(workspace, Pin(memory="m3", at=MAR, reason="x"))
    done = undo(workspace, str(first.id))
    assert [(each.made.id, each.operation.memory) for each in done.later] == [(pinned.id, "m3")]
    assert [*done.changed] == ["m1", "m2", "m3"]


def test_what_kept_believed_at_two_moments_differs_by_what_was_recorded_between(workspace):
    commit(workspace, add("m1", MAR))
    first = workspace.clock()
    commit(workspace, add("m2", JAN))
    last = workspace.clock()
    commit(workspace, add("m3", JAN))
    assert [*diff_moments(workspace, first, last, recorded=True)] == ["m2"]
    assert [*diff_moments(workspace, JAN, MAR)] == ["m1"]


def test_a_memory_without_evidence_of_then_was_last_seen_when_it_was_first_and_undated_evidence_stays(workspace):
    dated, undated = memory("m1", MAY).evidence[0], memory("m2", None).evidence[0]
    seen = replace(memory("m1", JAN), last_seen=MAY)
    commit(workspace, Add(memory="m1", at=JAN, reason="new", value=replace(seen, evidence=(dated, undated))))
    commit(workspace, Add(memory="m3", at=JAN, reason="new", value=replace(seen, id="m3", last_seen=MAR, evidence=(dated,))))
    first, second = sorted(memories_at(workspace, MAR), key=lambda each: each.id)
    assert (first.first_seen, first.last_seen, first.evidence) == (JAN, JAN, (undated,))
    assert (second.last_seen, second.evidence) == (MAR, ())


def test_what_moved_beside_something_that_was_there_before_are_two_changes():
    before = memory("old", JAN)
    gone = replace(before, status=Status.SUPERSEDED, superseded_by="new", ended_at=MAR, reason="moved to web by the user")
    there = memory("new", JAN)
    assert [each.id for each in list_differences({"old": (before, gone)})] == ["old"]
    both = list_differences({"old": (before, gone), "new": (there, replace(there, pinned=True))})
    assert [(each.id, each.what) for each in both] == [("old", DifferenceKind.LEFT), ("new", DifferenceKind.MARKED)]
    assert [each.id for each in list_differences({"b": (None, there), "a": (None, there)})] == ["a", "b"]


def test_a_memory_that_holds_again_has_no_word_for_its_end():
    again = replace(KNOWN, reason="it was so then and is no more")
    assert MemoryDifference(id="m", what=DifferenceKind.ENTERED, before=GONE, after=again).word == ""
    assert MemoryDifference(id="m", what=DifferenceKind.LEFT, before=again, after=None).word == ""


def test_every_kind_of_difference_operation_and_run_has_its_words():
    assert [*DifferenceKind] == [
        *("entered", "changed", "moved", "left", "held", "rejected", "pinned or unpinned", "seen again"),
    ]
    words = """add:added hold:held revise:reworded move:moved reword:reworded merge:merged supersede:superseded resolve:resolved
        retire:retired reaffirm:seen_again promote:promoted approve:kept reject:rejected anticipate:given_requests pin:pinned
        forget:forgotten past:was_so split:split other:other"""
    table = dict(pair.split(":") for pair in words.split())
    assert describe_counts(dict.fromkeys(table, 1)) == ", ".join(f"1 {word.replace('_', ' ')}" for word in table.values())
    makers = {
        "A run": ["run"],
        "The night": ["sleep", NIGHT],
        "A hook": ["flush"],
        "A program": ["observe"],
        "Your agent's replies": ["jobs"],
        "An agent": ["suggest"],
        "An import": ["import"],
        "A migration": ["migrate"],
        "Your edit of a file": ["absorb"],
        "You undid": ["undo"],
        "You redid": ["redo"],
        "You": ["add"],
    }
    assert {who: [each for each in commands if describe_command(each) == who] for who, commands in makers.items()} == makers


def test_what_is_given_back_without_words_is_counted():
    silent = replace(KNOWN, content="")
    assert describe_given_back(list_differences({"m": (None, silent)})) == "1 remembered again"
    assert count_given_back(list_differences({"m": (None, KNOWN), "n": (None, KNOWN)})) == "2 remembered again"
    assert describe_given_back(list_differences({"m": (None, replace(KNOWN, content="w" * 79 + " end"))})).startswith(
        f"“{'w' * 79}…” –"
    )
