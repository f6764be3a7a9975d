"""Forgetting in a real browser, on one store with journals, backups and 100 memories."""

import re
import sqlite3
import threading
from contextlib import closing
from datetime import date

import pytest

import crowd
from conftest import PATIENCE, serving
from kept.memories import person
from kept.memories.backups import create_backup, make_daily_backup
from kept.pipeline.erase import forget
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from talking import say

DAY = date(2026, 1, 5)
SAID = "Never deploy the harbour service on Fridays, because the tide crew is away."
NEAR = "Don't deploy the harbour service on a Friday, the tide crew is away."
PRICES = "Never round the prices of walnuts, because the auditors add them up again."
ALMONDS = "Ship the almonds by sea and never by air, whatever the board says."
NEAR_PRICES = "Don't round prices of walnuts, the auditors add them up again."


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store of 100 memories, with a journal entry, a daily backup and one made by hand. Each test takes its own memories."""
    home = tmp_path_factory.mktemp("large")
    say(home, "a", SAID, "Please rewrite the tide reader in `tides.py` so that it reads all gauges.", PRICES, day=DAY.isoformat())
    say(home, "b", f"As I said: {SAID.upper()} So wait.", day="2026-01-06")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("KEPT_HOME", str(home))
        with serving(home) as served:
            with served.workspace() as workspace:
                run_pipeline(workspace, [], RunOptions())
                assert {SAID, PRICES} <= {each.content for each in workspace.store.log.memories()}
                crowd.tell(
                    workspace,
                    [f"Warehouse {each} keeps its walnuts in crate {each * 7} of hall {each % 13}." for each in range(100)],
                )
                for each in (NEAR, NEAR_PRICES, ALMONDS):
                    person.create_memory(workspace, each, "decision")
                for each in ("Never ship walnuts on a Friday.", "Always count the crates twice."):
                    person.create_memory(workspace, each, "constraint", agent=True)
                write_journal_entry(workspace, make_entry_options(workspace), DAY)
                make_daily_backup(workspace)
                create_backup(workspace, tmp_path_factory.mktemp("backups") / "by-hand.db")
            yield served


@pytest.fixture
def served(large):
    """The page that ``browse`` opens."""
    return large


def held(home, words):
    """The files of kept's below a home with these words in their bytes or rows, in any case."""
    found = []
    for path in home.rglob("*"):
        if path.is_file() and "projects" not in path.parts:
            texts = [path.read_bytes().decode("utf-8", "ignore")]
            if path.suffix == ".db":
                with closing(sqlite3.connect(path)) as database:
                    texts += [str(row) for row in database.execute("SELECT words FROM sealed UNION ALL SELECT body FROM memories")]
            found += [path for text in texts if words.casefold() in text.casefold()]
    return found


def test_the_question_stands_before_what_it_is_about_is_found_and_backups_and_a_ticked_copy_are_forgotten_too(
    large, browse, monkeypatch
):
    proved, seen = forget.find_remaining_words, threading.Event()
    monkeypatch.setattr(forget, "find_remaining_words", lambda *given: seen.wait(PATIENCE) and proved(*given))
    page = browse("/?q=tide+crew")
    row = page.locator(".row", has_text="Never deploy").first
    row.locator("summary").click()
    waiting = []
    page.route("**/memories/forget?*", lambda route: waiting.append(route))  # noqa: PLW0108 - Playwright marks it
    row.get_by_role("button", name="Forget …").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_text("Looking where it stands …").wait_for()
    assert "Never deploy" in dialog.inner_text()
    assert dialog.get_by_role("button", name="Erase for good").is_disabled()
    waiting[0].continue_()
    dialog.get_by_text("Backups: at most 2 places").wait_for()
    assert "This cannot be undone." in dialog.inner_text()
    assert dialog.get_by_role("button", name="Erase for good").is_enabled()
    boxes = dialog.get_by_role("checkbox")
    assert boxes.count() >= 1
    assert not any(box.is_checked() for box in boxes.all())
    dialog.get_by_role("checkbox", name="Don't deploy").first.check()
    dialog.get_by_role("button", name="Erase for good").click()
    page.get_by_text("Forgetting: reading everything again …").wait_for()
    assert large.ask("GET", "/api/forget")[2] == {"doing": "reading everything again"}
    seen.set()
    page.get_by_text("Forgotten for good.").wait_for()
    assert large.ask("GET", "/api/forget")[2] == {"doing": ""}
    assert "Backups: 2 places" in dialog.inner_text()
    assert "none has the words" in dialog.inner_text()
    assert held(large.home, "tide crew is away") == []
    with large.workspace() as workspace:
        assert len([each for each in workspace.store.log.memories() if "Warehouse" in each.content]) == 100
        assert workspace.store.find_damage() == ()


def test_what_would_be_erased_is_told_over_the_api_and_nothing_is(large):
    number = large.memory("Never round").id
    status, _, told = large.ask("POST", "/api/forget", {"memories": [number], "sure": False})
    assert status == 200
    assert told["places"]["backups"] == 2
    assert [copy["text"] for copy in told["near"]]
    assert large.memory("Never round").content
    status, _, told = large.ask("POST", "/api/forget", {"memories": [number], "sure": True})
    assert (status, told["remains"], told["problems"]) == (200, [], [])


def test_what_forgetting_left_is_named_and_the_same_call_tries_again(large, browse, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("kept.pipeline.erase.store.replace_with_copy", fail_to_replace)
        page = browse("/?q=almonds")
        row = page.locator(".row", has_text="Ship the almonds")
        row.locator("summary").click()
        row.get_by_role("button", name="Forget …").click()
        dialog = page.locator("dialog[open]")
        dialog.get_by_text("Backups: at most 2 places").wait_for()
        dialog.get_by_role("button", name="Erase for good").click()
        page.get_by_text("Forgotten, except in").wait_for()
        assert "by-hand.db" in dialog.inner_text()
        assert "for good" not in dialog.inner_text()
        assert "The store:" in dialog.inner_text()
    dialog.get_by_role("button", name="Try again").click()
    page.get_by_text("Forgotten for good.").wait_for()
    assert "Backups: 1 place" in dialog.inner_text()
    folders = (large.home, *large.home.parent.glob("backups*"))
    assert [file for folder in folders for file in held(folder, "almonds by sea")] == []
    assert dialog.get_by_role("button", name="Try again").count() == 0


def test_what_is_forgotten_and_left_nothing_is_not_said_to_be_erased_again(large):
    number = large.add("Sweep the drying hall before each new moon, and after it too.").id
    assert large.ask("POST", "/api/forget", {"memories": [number], "sure": True})[0] == 200
    status, _, told = large.ask("POST", "/api/forget", {"memories": [number], "sure": True})
    assert status == 409
    assert "no longer knows its words" in told["error"]


def fail_to_replace(*_):
    """A disk that takes no file from another."""
    raise OSError(18, "Invalid cross-device link")


def test_what_forgetting_could_not_reach_stays_on_every_page_until_it_is_closed_and_then_in_history(large, browse):
    say(large.home, "pistachio", "Remember that the pistachio hall is swept on Mondays.", day="2026-01-07")
    with large.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    number = large.memory("pistachio hall").id
    assert large.ask("POST", "/api/forget", {"memories": [number], "sure": True})[0] == 200
    with serving(large.home) as anew:  # another process of the page
        assert "pistachio.jsonl" in anew.ask("GET", "/overview")[2]
    assert "pistachio.jsonl" in large.ask("GET", f"/memories/{number}")[2]
    page = browse("/overview")
    page.locator(".notice", has_text="pistachio.jsonl").get_by_role("button", name="Done, close this").click()
    page.get_by_text("pistachio.jsonl").wait_for(state="detached")
    assert "pistachio.jsonl" not in large.ask("GET", "/overview")[2]
    assert re.search("dealt with by you, outside of kept’s reach: .*pistachio.jsonl", large.ask("GET", "/history")[2])
