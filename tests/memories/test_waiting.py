"""What waits for a person: wishes said once and what is held, ranked when asked for."""

import json
from datetime import timedelta

import pytest

from kept.cli.dispatch import main
from kept.core.errors import MissingError, StaleError
from kept.core.memory import Status
from kept.core.value import replace
from kept.extraction.score import compute_features, score
from kept.memories import decisions, person, waiting
from kept.memories.browse import memory_revision
from kept.memories.history import memories_at, undo
from kept.memories.waiting import (
    BEST,
    PendingProposal,
    best_of_each_scope,
    count_pending_proposals,
    describe_set_aside,
    find_pending_wish,
    list_pending_proposals,
)
from kept.pipeline.run import RunOptions, run_pipeline
from talking import say

WISHES = [
    f"Our reports should show the {name} without any rounding, so that auditors can compare all of them with lists of the bank."
    for name in (
        "totals",
        "averages",
        "medians",
        "shares",
        "taxes",
        "rents",
        "wages",
        "prices",
        "fees",
        "debts",
        "costs",
        "yields",
    )
]


@pytest.fixture
def workspace(desk_at, home):
    say(home, "s1", "hello there", *WISHES)
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        yield opened


def test_what_is_decided_while_proposals_are_counted_is_not_counted_from_then_on(workspace, monkeypatch):
    first, *_ = list_pending_proposals(workspace)
    every, _ = count_pending_proposals(workspace)
    counted = waiting._count_decided_today

    def decide_meanwhile(opened):
        monkeypatch.setattr(waiting, "_count_decided_today", counted)
        decisions.reject(opened, first.memory.id)
        return counted(opened)

    monkeypatch.setattr(waiting, "_count_decided_today", decide_meanwhile)
    list_pending_proposals(workspace)
    assert count_pending_proposals(workspace)[0] == len(list_pending_proposals(workspace)) == every - 1


def test_what_a_run_set_aside_tells_wishes_from_what_was_refused():
    told = [describe_set_aside({"said once": wishes, "unspecific": 2}) for wishes in (1, 832)]
    assert told == [f"{wishes} said once, 2 refused (unspecific)" for wishes in ("1 wish", "832 wishes")]
    assert describe_set_aside({"unspecific": 2, "too long": 1}) == "3 refused (2 unspecific, 1 too long)"


def test_the_best_of_a_project_are_chosen_and_the_rest_counts(workspace):
    pool = list_pending_proposals(workspace)
    assert {item.memory.content for item in pool} == set(WISHES)
    assert len(best_of_each_scope(pool)) == BEST < len(pool)
    assert count_pending_proposals(workspace) == (len(pool), BEST)
    assert [item.score.value for item in pool] == sorted((item.score.value for item in pool), reverse=True)


def test_a_sentence_that_is_more_often_wrong_than_right_is_counted_and_shown_with_all_alone(desk_at, home, capsys):
    say(home, "s1", "hello there", "Make the header of the page a bit smaller than it should be.")
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        assert count_pending_proposals(opened) == (1, 0)
    for arguments, told in (([], "No held proposal is likely"), (["--all"], "Make the header")):
        with pytest.raises(SystemExit):
            main(["review", "--list", *arguments, "--home", str(home)])
        assert told in capsys.readouterr().out


HELD_BACK = (
    "Keep in mind that the user might use `git stash` before the hook runs.",
    "Remember this for the next ten minutes: we never use the live card, only the test card of the bank.",
    "General purpose for future sessions in this repo",
    "From now on we brew nothing but stouts on Tuesdays and sell them to the moon, lol",
    "What if from now on we label each crate on both sides, in two colours, before the truck leaves the yard",
    "from the leaflet:\nThe door is shut. From now on guests ring twice and wait until somebody opens the gate of the yard.",
)


def test_what_is_for_the_task_at_hand_too_short_or_perhaps_not_meant_is_held_and_shown_with_all_alone(desk_at, home):
    for number, sentence in enumerate(HELD_BACK):
        say(home, f"s{number}", "hello there", sentence)
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        assert count_pending_proposals(opened) == (len(HELD_BACK), 0)


def test_what_an_agent_proposed_is_shown_whatever_its_words(workspace):
    memory = replace(list_pending_proposals(workspace)[0].memory, trigger="suggested", content="Use tabs.")
    shown = best_of_each_scope(
        [PendingProposal(memory=memory, stored=True, rank=1, of=1, score=score(compute_features("", trigger="wish")))]
    )
    assert [item.memory.content for item in shown] == ["Use tabs."]


def test_nothing_is_stored_when_what_waits_is_ranked(workspace):
    before = tuple(workspace.store.log.pass_heads())
    list_pending_proposals(workspace)
    assert tuple(workspace.store.log.pass_heads()) == before
    assert workspace.store.log.memories() == ()


def test_a_wish_said_once_that_is_approved_is_a_memory_with_its_evidence(workspace):
    chosen = list_pending_proposals(workspace)[0].memory
    memory = person.accept_refused(workspace, chosen.id)
    assert (memory.status, memory.content) == (Status.ACTIVE, chosen.content)
    assert memory.evidence == chosen.evidence
    assert chosen.id not in {item.memory.id for item in list_pending_proposals(workspace)}


def test_a_wish_that_is_turned_down_is_not_proposed_again_until_that_is_undone(workspace):
    chosen = list_pending_proposals(workspace)[0].memory
    person.reject_refused(workspace, chosen.id)
    assert chosen.id not in {item.memory.id for item in list_pending_proposals(workspace)}
    undo(workspace)
    assert chosen.id in {item.memory.id for item in list_pending_proposals(workspace)}


def test_what_is_turned_down_stays_so_through_the_next_run(workspace, home):
    chosen = list_pending_proposals(workspace)[0].memory
    person.reject_refused(workspace, chosen.id)
    say(home, "s2", "hello again", chosen.content)
    run_pipeline(workspace, [], RunOptions(model=False))
    assert chosen.content not in {item.memory.content for item in list_pending_proposals(workspace)}
    assert [memory.status for memory in workspace.store.log.memories()] == [Status.REJECTED]


def test_one_that_waits_is_found_by_the_beginning_of_its_id(workspace):
    number = list_pending_proposals(workspace)[0].memory.id
    assert find_pending_wish(workspace, number[:8]).id == number
    with pytest.raises(MissingError, match="no held proposal"):
        find_pending_wish(workspace, "zzzz")


def test_review_lists_approves_and_rejects_by_id_and_why_shows_the_terms(workspace, home, capsys):
    def kept(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--home", str(home)])
        assert ended.value.code == 0
        return capsys.readouterr().out

    queue = json.loads(kept("review", "--json"))
    assert [row["rank"] for row in queue] == list(range(1, BEST + 1))
    assert len(json.loads(kept("review", "--all", "--json"))) == len(WISHES)
    assert "2 more → kept review --all" in kept("review", "--list")
    told = kept("why", queue[0]["id"])
    assert "1 of 12 held in this project" in told
    assert "says we" in told
    kept("review", "--approve", queue[0]["id"], "--reject", queue[1]["id"])
    statuses = {memory.content: memory.status for memory in workspace.store.log.memories()}
    assert statuses == {queue[0]["content"]: Status.ACTIVE, queue[1]["content"]: Status.REJECTED}


def test_a_wish_is_decided_by_its_id_like_a_held_memory_and_found_by_it_afterwards(workspace):
    first, second = (item.memory for item in list_pending_proposals(workspace)[:2])
    with pytest.raises(StaleError):
        decisions.approve(workspace, first.id, if_match="another")
    approved = decisions.approve(workspace, first.id, content="Reports are never rounded.", if_match=memory_revision(first))
    assert (approved.status, approved.content) == (Status.ACTIVE, "Reports are never rounded.")
    assert decisions.reject(workspace, second.id).status is Status.REJECTED
    assert [decisions.find_decidable(workspace, each.id).status for each in (first, second)] == [Status.ACTIVE, Status.REJECTED]


def test_what_was_so_then_is_remembered_as_of_its_day_and_no_longer_active(workspace):
    wish = list_pending_proposals(workspace)[0].memory
    was = decisions.reject(workspace, wish.id, past=True)
    assert was.status is Status.RETIRED
    day_after = wish.first_seen + timedelta(days=1)
    assert [each.status for each in memories_at(workspace, day_after) if each.id == was.id] == [Status.ACTIVE]
    undo(workspace)
    assert decisions.find_decidable(workspace, wish.id).status is Status.HELD


def test_a_wish_keeps_its_id_when_it_is_kept_and_is_found_by_that_of_its_proposal_too(workspace):
    wish = list_pending_proposals(workspace)[0].memory
    became = decisions.approve(workspace, wish.id)
    assert became.id == wish.id
    (proposal,) = wish.candidates
    assert person.find_memory(workspace, proposal) == became
    undo(workspace)
    assert decisions.find_decidable(workspace, proposal).id == wish.id


STANDING = "Make sure the tests never touch the network."


def active(workspace):
    return [memory.content for memory in workspace.store.log.memories() if memory.status is Status.ACTIVE]


def test_a_wish_among_three_different_requests_is_remembered(desk_at, home):
    requests = ("Add a page that lists invoices.", "Parse dates of the bank's export.", "The login loses its cookie, repair that.")
    for number, request in enumerate(requests):
        say(home, f"w{number}", f"{request} {STANDING}", day=f"2026-01-0{number + 1}")
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        assert active(opened) == [STANDING]


def test_one_request_tried_in_three_sessions_waits(desk_at, home):
    for number in range(3):
        say(home, f"w{number}", f"Split the file m{number}.py into smaller files. {STANDING}", day=f"2026-01-0{number + 1}")
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        assert active(opened) == []
        assert STANDING in {item.memory.content for item in list_pending_proposals(opened)}


def test_a_wish_of_too_few_words_to_stand_by_itself_does_not_wait(desk_at, home):
    say(home, "s1", "hello there", "no, don't invent a station.", WISHES[0])
    with desk_at(home) as opened:
        run_pipeline(opened, [], RunOptions(model=False))
        assert [item.memory.content for item in list_pending_proposals(opened)] == [WISHES[0]]
