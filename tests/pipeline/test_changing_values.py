"""Weeks in which what is so changes: the latest of each holds, and everything else is in the story."""

import pytest

from kept.core.memory import Status
from kept.memories import decisions, person
from kept.memories.waiting import find_later_contradiction, list_pending_proposals
from kept.pipeline.run import RunOptions, run_pipeline
from kept.recall.embed import PACK
from talking import say

WEEKS = (
    (
        "2026-01-05",
        (
            "Remember that the launch is in May.",
            "Remember that we have 500 subscribers.",
            "Remember that the site is hosted on Heroku.",
            "Remember that the config file is `settings.ini`.",
            "Remember that the api of the shop has 3 workers.",
        ),
    ),
    (
        "2026-01-12",
        (
            "Remember that the launch is planned for July.",
            "Remember that we have 800 subscribers.",
            "Remember that we moved the site from Heroku to Fly.",
            "Remember that the importer of the shop has 5 workers.",
        ),
    ),
    (
        "2026-01-19",
        (
            "Remember that the launch is in May.",
            "Remember that we have 950 subscribers.",
            "Remember that the config file is `settings.toml` (formerly `settings.ini`).",
        ),
    ),
)
HELD_AT_LAST = {
    "the launch is in May",
    "we have 950 subscribers",
    "we moved the site from Heroku to Fly",
    "the config file is `settings.toml` (formerly `settings.ini`)",
    "the api of the shop has 3 workers",
    "the importer of the shop has 5 workers",
}


def contents(workspace, *statuses):
    return {each.content.rstrip(".") for each in workspace.store.log.memories() if each.status in statuses}


def test_values_that_change_twice_or_are_taken_back_hold_as_they_were_said_last(desk_at, home):
    with desk_at(home) as workspace:
        for number, (day, told) in enumerate(WEEKS):
            say(home, f"week{number}", *told, day=day)
            run_pipeline(workspace, [], RunOptions())
        assert contents(workspace, Status.ACTIVE, Status.HELD) == HELD_AT_LAST
        assert {"we have 500 subscribers", "we have 800 subscribers", "the launch is planned for July"} <= contents(
            workspace, Status.SUPERSEDED
        )


def test_in_whatever_order_the_weeks_are_read_the_same_holds(desk_at, tmp_path):
    for order in ((2, 1, 0), (1, 2, 0)):
        home = tmp_path / "".join(map(str, order))
        with desk_at(home) as workspace:
            for number in order:
                day, told = WEEKS[number]
                say(home, f"week{number}", *told, day=day)
                run_pipeline(workspace, [], RunOptions())
            assert contents(workspace, Status.ACTIVE, Status.HELD) == HELD_AT_LAST


def test_a_companion_knows_where_a_person_lives_now_and_says_one_preference_once(desk_at, home):
    with desk_at(home, profile="companion") as workspace:
        say(home, "one", "Remember that I live in Bergen.", "Remember that I prefer short answers without emojis.")
        run_pipeline(workspace, [], RunOptions())
        say(home, "two", "As you know I prefer short answers without emojis!", day="2026-01-12")
        say(home, "three", "Ich wohne jetzt in Lissabon.", "Remember that I live in Lisbon now.", day="2026-01-19")
        run_pipeline(workspace, [], RunOptions())
        assert contents(workspace, Status.ACTIVE) == {"I live in Lisbon now", "I prefer short answers without emojis"}


POSTGRES = "Remember that we use Postgres for the orders table."
MYSQL = "Remember that we use MySQL for the orders table."


def remembered(home):
    return (home / ".claude" / "rules" / "memory.md").read_text()


def test_of_two_that_may_contradict_the_file_shows_the_newer_and_review_asks_with_the_newer_first(desk_at, home):
    with desk_at(home) as workspace:
        say(home, "one", POSTGRES)
        run_pipeline(workspace, [], RunOptions())
        say(home, "two", MYSQL, day="2026-01-12")
        run_pipeline(workspace, [], RunOptions())
        assert "- we use MySQL for the orders table. (was: we use Postgres for the orders table.) (2026-01-12)" in remembered(home)
        (pair,) = [each.memory for each in list_pending_proposals(workspace)]
        assert (pair.content, find_later_contradiction(workspace, pair).content) == (
            "we use Postgres for the orders table.",
            "we use MySQL for the orders table.",
        )
        decisions.approve(workspace, pair.id)
        run_pipeline(workspace, [], RunOptions(force=True))
        assert {"we use MySQL for the orders table", "we use Postgres for the orders table"} <= contents(workspace, Status.ACTIVE)


def test_what_was_said_before_is_over_once_a_person_deletes_it_from_the_line(desk_at, home):
    with desk_at(home) as workspace:
        say(home, "one", POSTGRES)
        say(home, "two", MYSQL, day="2026-01-12")
        run_pipeline(workspace, [], RunOptions())
        path = home / ".claude" / "rules" / "memory.md"
        path.write_text(path.read_text().replace(" (was: we use Postgres for the orders table.)", ""))
        run_pipeline(workspace, [], RunOptions())
        assert "(was:" not in remembered(home)
        assert list_pending_proposals(workspace) == ()
        assert contents(workspace, Status.RETIRED) == {"we use Postgres for the orders table"}
        run_pipeline(workspace, [], RunOptions(force=True))
        assert list_pending_proposals(workspace) == ()


def test_a_line_with_what_was_said_before_is_edited_without_it(desk_at, home):
    with desk_at(home) as workspace:
        say(home, "one", POSTGRES)
        say(home, "two", MYSQL, day="2026-01-12")
        run_pipeline(workspace, [], RunOptions())
        path = home / ".claude" / "rules" / "memory.md"
        path.write_text(path.read_text().replace("we use MySQL for", "we use MySQL 9 for"))
        run_pipeline(workspace, [], RunOptions())
        assert "we use MySQL 9 for the orders table" in contents(workspace, Status.ACTIVE)


def test_what_a_person_edited_gives_way_to_their_plain_words_alone(desk_at, home, clock):
    with desk_at(home) as workspace:
        say(home, "one", "Remember that the site is hosted on Heroku.")
        run_pipeline(workspace, [], RunOptions())
        (memory,) = workspace.store.log.memories()
        clock.parse_moment = clock.parse_moment.replace(month=1, day=6)
        person.edit(workspace, memory.id, "The site is hosted on Heroku in Dublin.")
        say(home, "two", "Remember that the site is hosted on Fly in Dublin.", day="2026-01-12")
        run_pipeline(workspace, [], RunOptions())
        assert contents(workspace, Status.ACTIVE) == {"The site is hosted on Heroku in Dublin"}
        say(home, "three", "Remember that we moved the site from Heroku to Fly in Dublin.", day="2026-01-19")
        run_pipeline(workspace, [], RunOptions())
        assert "The site is hosted on Heroku in Dublin" in contents(workspace, Status.SUPERSEDED)
        assert "we moved the site from Heroku to Fly in Dublin" in contents(workspace, Status.ACTIVE)


@pytest.mark.skipif(not PACK.exists(), reason="the local embedding model is not here")
def test_one_decision_in_other_words_in_three_sessions_is_one_convention_by_the_local_embedding(desk_at, home):
    told = (
        "We decided to cache results in Redis for an hour.",
        "Remember that results shall be cached in Redis with a TTL of one hour.",
        "Remember: cache all results in Redis for one hour.",
    )
    with desk_at(home, variables={"KEPT_EMBEDDINGS": "local"}) as workspace:
        for number, words in enumerate(told):
            say(home, f"s{number}", words, day=f"2026-01-{5 + 7 * number:02}")
            run_pipeline(workspace, [], RunOptions())
        (memory,) = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        assert memory.observations == 3
        assert memory.content.rstrip(".") in " ".join(told)
