"""A model's proposals when their thread changes or moves, and when proposals are committed at all."""

from dataclasses import replace

import pytest

from kept.core.event import Author
from kept.core.memory import UNDERSTOOD, Accepted, Actor, Refused
from kept.extraction.verdicts import commit_span, last_pass_note, move_proposals, revalidate_threads
from kept.store.values import MODEL, Span
from kept.workspace import RunNumber
from store_world import archive, event, judged

GONE = Refused(reason="no longer said")
BY = "model a, prompt 1"


def heard(workspace, *events):
    """The thread of a session with these events."""
    archive(workspace.store, *events)
    (thread,) = workspace.store.archive.threads()
    return thread


def proposed(number="c1", *, quotes=(("e1", "pnpm"),), verdict=None, **changes):
    """A model's proposal that rests on quotes, given as pairs of an event and words."""
    made = judged(number, verdict or Accepted())
    (quote,) = made.candidate.evidence
    evidence = tuple(replace(quote, event=key, quote=words) for key, words in quotes)
    return replace(made, candidate=replace(made.candidate, trigger=UNDERSTOOD, evidence=evidence, **changes))


def store(workspace, thread, *placed, note=BY, stage=MODEL):
    """Commit a stage's proposals of a thread in place of those before; returns the passes this adds."""
    log = workspace.store.log
    known = {each.id for each in log.passes()}
    span = Span(thread=thread.id, start=0, judged=placed)
    before = log.thread_proposals(thread.id, 0, stage)
    commit_span(workspace, RunNumber(workspace), thread, span, before, stage=stage, note=note)
    return [each for each in log.passes() if each.id not in known]


def proposals(workspace, thread):
    return [(each.ordinal, each.judged) for each in workspace.store.log.thread_proposals(thread.id, 0, MODEL)]


def revalidate(workspace, thread):
    """Revalidate a thread; returns the passes this adds."""
    known = {each.id for each in workspace.store.log.passes()}
    revalidate_threads(workspace, RunNumber(workspace), [thread])
    return [each for each in workspace.store.log.passes() if each.id not in known]


SAID = (event("e0", text="go on"), event("e1", text="we use pnpm here"), event("e2", text="and tabs"))


def test_a_pass_says_of_which_thread_it_is_and_who_made_it(desk_at, home):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        (made,) = store(workspace, thread, (1, proposed()))
        assert (made.stage, made.subject, made.actor, made.note) == (MODEL, "claude-code:s", Actor.MACHINE, BY)
        assert proposals(workspace, thread) == [(1, proposed())]


@pytest.mark.parametrize(
    ("note", "commits"), [(BY, False), ("model a, prompt 2", False), ("model b, prompt 1", True), ("model ab", True)]
)
def test_unchanged_proposals_are_committed_again_only_under_the_name_of_another_model(desk_at, home, note, commits):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, (1, proposed()))
        assert [each.note for each in store(workspace, thread, (1, proposed()), note=note)] == [note] * commits


def test_nothing_is_committed_where_nothing_was_proposed_before_or_since(desk_at, home):
    with desk_at(home) as workspace:
        assert store(workspace, heard(workspace, *SAID)) == []


@pytest.mark.parametrize("placed", [(), ((0, proposed()),), ((1, proposed(content="other words")),), ((1, proposed()),) * 2])
def test_other_proposals_or_other_places_are_committed(desk_at, home, placed):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, (1, proposed()))
        assert len(store(workspace, thread, *placed)) == 1


def test_the_note_of_several_passes_is_that_of_the_last(desk_at, home):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, (0, proposed("c0")))
        earlier = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
        store(workspace, thread, (1, proposed()), note="model b, prompt 1")
        later = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
        assert [last_pass_note(workspace, each) for each in (earlier, (*later, *earlier))] == [BY, "model b, prompt 1"]


@pytest.mark.parametrize(
    ("ordinal", "proposal", "verdict"),
    [
        (1, proposed(), Accepted()),
        (1, proposed(quotes=(("e1", "pnpm"), ("e2", "tabs"))), Accepted()),
        (1, proposed(quotes=(("e1", "pnpm"), ("e2", "spaces"))), GONE),  # one of its quotes is gone
        (1, proposed(quotes=(("e9", "pnpm"),)), GONE),  # the event is gone
        (9, proposed(), GONE),  # so is the place of its episode
        (3, proposed(), GONE),  # its episode is in a branch that was left
        (1, proposed(quotes=(("e2", "spaces"),), verdict=Refused(reason="secret")), Refused(reason="secret")),
    ],
)
def test_a_proposal_stands_while_all_of_its_words_do_and_a_refused_one_keeps_its_reason(desk_at, home, ordinal, proposal, verdict):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID, replace(event("e3"), author=Author.ABANDONED))
        store(workspace, thread, (ordinal, proposal))
        passes = revalidate(workspace, thread)
        assert proposals(workspace, thread) == [(ordinal, replace(proposal, verdict=verdict))]
        assert [each.note for each in passes] == ([] if verdict == proposal.verdict else [BY])  # it stays the model's


def test_a_thread_without_proposals_of_a_model_is_left_alone(desk_at, home):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, (1, proposed(quotes=(("e1", "gone"),))), stage="extract", note="")
        assert revalidate(workspace, thread) == []


SCOPES = ("user", "project:pier")


def moved(workspace, thread, renamed):
    return move_proposals(workspace, RunNumber(workspace), thread, renamed, SCOPES)


def test_a_models_proposals_move_with_their_thread_and_rest_on_the_renamed_ones_of_the_rules(desk_at, home):
    ruled = proposed("r1", scope="project:pier")
    before = (
        (1, proposed("c1")),
        (1, proposed("c2", scope="project:other")),
        (1, proposed("c3", rewords="r0")),
        (1, proposed("c4", rewords="elsewhere")),
        (2, proposed("c5", content="content c1")),
        (9, proposed("c6")),  # the place of its episode is gone
    )
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, *before)
        result = moved(workspace, thread, {"r0": ruled})
        after = proposals(workspace, thread)
        assert list(result) == [each.candidate.id for _, each in before]
        assert [(place, each) for (place, _), each in zip(before, result.values(), strict=True)] == after
        by_id = {old: new.candidate for old, new in result.items()}
        assert by_id["c2"] == before[1][1].candidate
        assert {by_id[each].scope for each in by_id if each != "c2"} == {"project:pier"}
        assert [by_id[each].rewords for each in ("c1", "c3", "c4")] == ["", "r1", "elsewhere"]
        assert len({each.id for each in by_id.values()} - {each.candidate.id for _, each in before}) == 5  # all others are new
        assert [each.note for each in workspace.store.log.passes()][-1] == BY
        again = moved(workspace, thread, {"r0": ruled})
        assert [each.candidate for each in again.values()] == list(by_id.values())


@pytest.mark.parametrize("left", ["", "[forgotten]"])
def test_proposals_of_one_place_whose_words_were_forgotten_stay_apart_where_their_thread_moves(desk_at, home, left):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        store(workspace, thread, (1, proposed("c1", content=left)), (1, proposed("c2", content=left)))
        result = moved(workspace, thread, {})
        assert {each.candidate.scope for each in result.values()} == {"project:pier"}
        assert len({each.candidate.id for each in result.values()}) == len(proposals(workspace, thread)) == 2


def test_what_a_model_said_of_a_rules_proposal_follows_it_to_its_new_name(desk_at, home):
    overruled = [replace(each, candidate=replace(each.candidate, trigger="remember")) for each in (proposed("r0"), proposed("r9"))]
    ruled = proposed("r1", scope="project:pier", content="new")
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        refused = [replace(each, verdict=Refused(reason="turned down")) for each in overruled]
        store(workspace, thread, *((1, each) for each in refused))
        result = moved(workspace, thread, {"r0": ruled})
        assert result == {"r0": replace(refused[0], candidate=ruled.candidate), "r9": refused[1]}


def test_moving_a_thread_without_proposals_of_a_model_commits_nothing(desk_at, home):
    with desk_at(home) as workspace:
        thread = heard(workspace, *SAID)
        assert moved(workspace, thread, {}) == {}
        assert list(workspace.store.log.passes()) == []
