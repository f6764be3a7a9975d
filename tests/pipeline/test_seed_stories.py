"""For each of the texts that kept was built from, weeks as its author would live them: values change twice, are taken back, come in
other words and languages, and a person edits in between.
"""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_memory_loop import chat

from clock import Clock
from kept.core.memory import Status
from kept.memories.history import undo
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace
from scripted_client import NOTHING, Obedient, with_model
from talking import say

MEMORY = ".claude/rules/memory.md"


def lines(path):
    """The facts of a file, without dates and ids."""
    return [
        line.removeprefix("- ").rpartition(" (2026-")[0].rstrip(".")
        for line in path.read_text().splitlines()
        if line.startswith("- ")
    ]


def active(workspace):
    return {each.content.rstrip(".") for each in workspace.store.log.memories() if each.status is Status.ACTIVE}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def drop(path, words):
    """Delete the line that has these words, as an editor would."""
    kept = [line for line in path.read_text().splitlines(keepends=True) if words not in line]
    path.write_text("".join(kept))


def test_a_journals_author_finds_one_theme_each_ground_decisions_that_stay_and_questions_that_close(desk_at, home):
    folder = home / "notes"
    folder.mkdir()

    def note(day, **parts):
        heads = {"themes": "Themes", "decisions": "Decisions", "questions": "Open questions", "insights": "Insights"}
        body = "\n\n".join(f"## {heads[part]}\n" + "\n".join(f"- {one}" for one in told) for part, told in parts.items())
        (folder / f"{day}.md").write_text(f"# {day}\n\n{body}\n")

    weeks = (
        lambda: note(
            "2026-01-05",
            themes=["Decoupling worker registration in `registry.go` from project directories"],
            decisions=["Workflows are discovered through plugin entry points in `registry.go`"],
            questions=["Does discovery through plugin entry points in `registry.go` hold under four concurrent workflows?"],
        ),
        lambda: note(
            "2026-01-13",
            themes=["Decoupling worker registration in `registry.go` from project directories and queues"],
            insights=["Cache keys of `intake.go` must hold the cardinality of the input"],
        ),
        lambda: note(
            "2026-01-20",
            themes=["Drawing the harbour map in `map.py`"],
            insights=["Discovery through plugin entry points in `registry.go` does hold under four concurrent workflows"],
            decisions=["Die Hafenkarte wird mit Cairo gezeichnet"],
        ),
        lambda: note(
            "2026-01-26",
            decisions=["Die Hafenkarte wird jetzt mit Skia gezeichnet, nicht mehr mit Cairo", "Tides are stored in `tides.db`"],
        ),
        lambda: note("2026-02-02", decisions=["Tides are now stored in `tides.parquet`, no longer in `tides.db`"]),
    )
    with desk_at(home, profile="journal") as workspace:
        for week in weeks:
            week()
            run_pipeline(workspace, [folder], RunOptions())
            text = (home / MEMORY).read_text()
            (home / MEMORY).write_text(text.replace("the harbour map in `map.py`", "the harbour map and its legend in `map.py`"))
        held = {(each.category, each.status) for each in workspace.store.log.memories() if "registry.go" in each.content}
        assert ("decisions", Status.ACTIVE) in held
        assert ("open_questions", Status.RESOLVED) in held
        themes = {
            each.content for each in workspace.store.log.memories() if each.category == "themes" and each.status is Status.ACTIVE
        }
        assert themes == {
            "Decoupling worker registration in `registry.go` from project directories and queues",
            "Drawing the harbour map and its legend in `map.py`",
        }
        decisions = {each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE} - themes
        assert {each for each in decisions if "Hafenkarte" in each or "tides" in each} == {
            "Die Hafenkarte wird jetzt mit Skia gezeichnet, nicht mehr mit Cairo",
            "Tides are now stored in `tides.parquet`, no longer in `tides.db`",
        }
        (view,) = home.rglob("journal.json")
        assert themes <= {
            each if isinstance(each, str) else each.get("content", "") for each in _leaves(json.loads(view.read_text()))
        }


def _leaves(body):
    if isinstance(body, dict):
        return [leaf for each in body.values() for leaf in _leaves(each)]
    return [leaf for each in body for leaf in _leaves(each)] if isinstance(body, list) else [body]


def test_a_programmers_rules_hold_as_they_were_last_said_or_edited(desk_at, home):
    with desk_at(home) as workspace:
        say(home, "one", "Remember that the api listens on port 8080.", "Remember: never commit to main in this repo.")
        say(home, "two", "We decided to run `make lint` before every push.", day="2026-01-06")
        run_pipeline(workspace, [], RunOptions())
        say(
            home,
            "three",
            "Remember that the api listens on port 9090 now.",
            "Decision: run `make lint` before every push.",
            day="2026-01-13",
        )
        run_pipeline(workspace, [], RunOptions())
        assert "the api listens on port 9090 now" in active(workspace)
        edit(home / MEMORY, "never commit to main in this repo", "never commit to main or release in this repo")
        say(
            home,
            "four",
            "Remember that the api listens on port 8080 now.",
            "We decided to run `make lint` before every push.",
            day="2026-01-20",
        )
        run_pipeline(workspace, [], RunOptions())
        shown = lines(home / MEMORY)
        assert [each for each in shown if "port" in each] == ["the api listens on port 8080 now"]
        assert sum("make lint" in each for each in shown) == 1
        assert any("main or release" in each for each in shown)
        (lint,) = [each for each in workspace.store.log.memories() if "make lint" in each.content and each.status is Status.ACTIVE]
        assert (lint.category, lint.observations) == ("convention", 3)
        say(home, "five", "Remember that the api listens on port 9191 again.", day="2026-01-27")
        run_pipeline(workspace, [], RunOptions())
        assert [each for each in lines(home / MEMORY) if "port" in each] == ["the api listens on port 9191 again"]


def test_a_vaults_owner_is_known_by_one_line_each_and_what_they_delete_stays_deleted(desk_at, home):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profiles = ["vault"]\n')
    vault = home / "vaults" / "notes"
    vault.mkdir(parents=True)
    (vault / ".memory-loop.json").write_text("{}")
    with desk_at(home) as workspace:
        chat(vault, "1001", "I prefer short answers without emojis.")
        chat(vault, "1002", "I live in Bergen.")
        chat(vault, "1003", "my newsletter has 500 subscribers.")
        run_pipeline(workspace, [], RunOptions())
        chat(vault, "1004", "As you know I prefer short answers without emojis!", day="2026-03-09")
        chat(vault, "1005", "I moved to Oslo, I no longer live in Bergen.", day="2026-03-09")
        chat(vault, "1006", "my newsletter now has 800 subscribers.", day="2026-03-10")
        run_pipeline(workspace, [], RunOptions())
        drop(home / MEMORY, "subscribers")
        chat(vault, "1007", "I dislike emojis, keep answers short.", day="2026-03-17")
        chat(vault, "1008", "Ich wohne jetzt in Lissabon.", day="2026-03-18")
        chat(vault, "1009", "my newsletter now has 800 subscribers.", day="2026-03-18")
        run_pipeline(workspace, [], RunOptions())
        shown = lines(home / MEMORY)
        assert sum("emojis" in each for each in shown) == 1
        assert [each for each in shown if "Oslo" in each or "Bergen" in each or "Lissabon" in each] == [
            "Ich wohne jetzt in Lissabon"
        ]
        assert not any("subscribers" in each for each in shown)
        chat(vault, "1010", "I moved to Porto, I no longer live in Lissabon.", day="2026-03-24")
        chat(vault, "1011", "I prefer short answers without emojis.", day="2026-03-24")
        run_pipeline(workspace, [], RunOptions())
        shown = lines(home / MEMORY)
        assert sum("emojis" in each for each in shown) == 1
        assert [each for each in shown if any(place in each for place in ("Oslo", "Bergen", "Lissabon", "Porto"))] == [
            "I moved to Porto, I no longer live in Lissabon"
        ]
        assert not any("subscribers" in each for each in shown)


def test_a_companion_keeps_a_dossier_of_each_person_and_one_home(desk_at, home):
    with desk_at(home, profile="companion") as workspace:
        say(home, "one", "Remember that Ana is my sister and lives in Porto.", "Remember that I live in Berlin.")
        run_pipeline(workspace, [], RunOptions())
        say(home, "two", "Remember that my brother Rui is a vet.", "Remember that Ana got a puppy.", day="2026-01-12")
        run_pipeline(workspace, [], RunOptions())
        edit(home / MEMORY, "Ana got a puppy", "Ana got a puppy named Bolt")
        say(home, "three", "Remember that I live in Lisbon now.", "Remember that Ana works as a nurse.", day="2026-01-19")
        run_pipeline(workspace, [], RunOptions())
        people = [each for each in lines(home / MEMORY) if "Ana" in each or "Rui" in each]
        assert people == [
            "Ana is my sister and lives in Porto",
            "Ana got a puppy named Bolt",
            "Ana works as a nurse",
            "my brother Rui is a vet",
        ]
        assert "I live in Lisbon now" in active(workspace)
        assert "I live in Berlin" not in active(workspace)
        say(home, "four", "Merk dir: ich wohne jetzt in Wien.", "Remember that Ana no longer works as a nurse.", day="2026-01-26")
        run_pipeline(workspace, [], RunOptions())
        say(home, "five", "Remember that I moved back to Berlin, I no longer live in Vienna.", day="2026-02-02")
        run_pipeline(workspace, [], RunOptions())
        shown = lines(home / MEMORY)
        assert [each for each in shown if any(place in each for place in ("Berlin", "Lisbon", "Wien"))] == [
            "I moved back to Berlin, I no longer live in Vienna"
        ]
        assert "Ana works as a nurse" not in shown
        assert "Ana got a puppy named Bolt" in shown


def test_an_agents_workspace_has_every_day_its_note_and_the_latest_of_each_value(desk_at, home):
    with desk_at(home, profile="workspace") as workspace:
        (home / ".openclaw" / "workspace").mkdir(parents=True)
        for day, *told in (
            ("2026-02-06", "Remember that the launch is in May.", "Merk dir: der Server Alpha steht in Frankfurt."),
            ("2026-02-13", "Remember that the launch is now planned for July.", "Remember: never push to main in this repo."),
            ("2026-02-20", "Remember that the launch is in May.", "Merk dir: der Server Alpha steht jetzt in Paris."),
            (
                "2026-02-27",
                "Remember that the launch is now planned for June.",
                "Merk dir: der Server Alpha steht wieder in Frankfurt.",
            ),
        ):
            say(home, day, *told, day=day)
            run_pipeline(workspace, [], RunOptions())
            for path in home.rglob("MEMORY.md"):
                path.write_text(path.read_text().replace("push to main in", "push to main or release in"))
        assert active(workspace) == {
            "the launch is now planned for June",
            "der Server Alpha steht wieder in Frankfurt",
            "never push to main or release in this repo",
        }
        notes = {path.stem for path in home.rglob("2026-02-*.md")}
        assert {"2026-02-06", "2026-02-13", "2026-02-20", "2026-02-27"} <= notes


def test_a_teams_file_has_each_value_once_however_often_it_changed_and_went_back(desk_at, home):
    with desk_at(home) as workspace:
        for day, *told in (
            ("2026-02-02", "Merk dir: der Server Alpha steht in Frankfurt.", "We decided to store all timestamps in UTC."),
            (
                "2026-02-03",
                "Remember that the rate limit is 100 requests per minute.",
                "Remember that the api listens on port 8080.",
            ),
            (
                "2026-02-09",
                "Merk dir: der Server Alpha steht jetzt in Paris.",
                "Remember that timestamps are always stored in UTC.",
            ),
            ("2026-02-10", "Remember that the api listens on port 8080 and the worker on port 8081."),
            ("2026-02-11", "Remember that we raised the rate limit to 250 requests per minute."),
            ("2026-02-16", "From now on every timestamp is stored as UTC.", "Merk dir: der Server Alpha steht jetzt in Frankfurt."),
            ("2026-02-23", "Remember that the rate limit is 100 requests per minute again."),
        ):
            say(home, day, *told, day=day)
            run_pipeline(workspace, [], RunOptions())
        shown = lines(home / MEMORY)
        assert [each for each in shown if "Alpha" in each] == ["der Server Alpha steht jetzt in Frankfurt"]
        assert [each for each in shown if "rate limit" in each] == ["the rate limit is 100 requests per minute again"]
        assert [each for each in shown if "port" in each] == ["the api listens on port 8080 and the worker on port 8081"]
        assert sum("UTC" in each for each in shown) == 1
        (stamps,) = [each for each in workspace.store.log.memories() if "UTC" in each.content and each.status is Status.ACTIVE]
        assert (stamps.category, stamps.observations) == ("convention", 3)


WEEKS = (
    ("2026-01-05", "Remember that we use Postgres for the orders table."),
    ("2026-01-06", "Remember that the launch is in May."),
    ("2026-01-08", "Remember that I prefer short answers without emojis."),
    ("2026-01-12", "Remember that we use MySQL for the orders table."),
    ("2026-01-13", "Remember that the launch is now planned for July."),
    ("2026-01-15", "Remember that I dislike emojis, keep answers short."),
    ("2026-01-19", "Remember that we moved the orders table from MySQL to SQLite."),
    ("2026-01-20", "Remember that the launch is in May."),
)


# What rules leave beside each other: a model says that the latest of them holds.
ALONE = (
    ("2026-01-07", "Remember that I drink my coffee black."),
    ("2026-01-14", "Remember that I take my coffee with oat milk."),
    ("2026-01-21", "Remember that coffee gives me a headache, I take green tea."),
)


def tell_latest(ask):
    """Says of each entry about coffee that the latest one shown took its place."""
    if ask.purpose != "curate":
        return json.dumps(NOTHING)
    shown = [re.match(r"(\d+) \((\S+?)[,)]", line) for line in ask.prompt.splitlines() if "coffee" in line]
    latest = max((each[2], each[1]) for each in shown)[1] if shown else ""
    named = [line.split(" ")[0] for line in ask.prompt.splitlines() if "elsewhere" in line]
    ended = [each[1] for each in shown if each[1] not in (latest, *named)]
    changes = [{"id": int(each), "op": "supersede", "with": int(latest), "reason": "it is so no more"} for each in ended]
    return json.dumps({"operations": changes})


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """What the weeks come to when all of them are read in one run."""
    return {}


@pytest.mark.parametrize("weeks", [WEEKS, WEEKS[4:] + ALONE], ids=["rules", "replies"])
@settings(max_examples=2, deadline=None)
@given(draw=st.data())
def test_in_whatever_order_and_parts_files_are_read_the_same_is_active(tmp_path_factory, weeks, at_once, draw):
    def read(parts):
        home = tmp_path_factory.mktemp("order")
        env = {"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
        with open_workspace(find_paths(str(home), env), zone="Europe/Berlin", clock=Clock(), env=env) as workspace:
            reader = with_model(workspace, Obedient(tell_latest)) if weeks is not WEEKS else workspace
            for part in parts:
                for number in part:
                    day, words = weeks[number]
                    say(home, f"s{number}", words, day=day)
                run_pipeline(reader, [], RunOptions())
            return {
                (each.content, each.status)
                for each in workspace.store.log.memories()
                if each.status in (Status.ACTIVE, Status.HELD)
            }

    order = draw.draw(st.permutations(range(len(weeks))))
    cuts = draw.draw(st.sets(st.integers(1, len(weeks) - 1), max_size=3))
    held = at_once.setdefault(weeks, None) or read([range(len(weeks))])
    at_once[weeks] = held
    assert weeks is WEEKS or {content for content, _ in held if "coffee" in content} == {
        ALONE[-1][1].removeprefix("Remember that ")
    }
    bounds = [0, *sorted(cuts), len(weeks)]
    assert read([order[a:b] for a, b in pairwise(bounds)]) == held


def test_every_pass_of_three_weeks_can_be_taken_back(desk_at, home):
    with desk_at(home) as workspace:
        states = []
        for number in (0, 1, 3, 4, 6, 7):
            day, words = WEEKS[number]
            states.append(active(workspace))
            say(home, f"s{number}", words, day=day)
            run_pipeline(workspace, [], RunOptions())
        for before in reversed(states):
            undo(workspace)
            assert active(workspace) == before
