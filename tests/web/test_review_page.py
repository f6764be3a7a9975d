"""Review in a real browser: decided by keys alone, with the words and the conversation; nothing decided is lost, all of it
undone.
"""

import json
import re

import pytest

import crowd
from kept.core.memory import Status
from kept.memories import person
from kept.memories.waiting import best_of_each_scope, list_pending_proposals
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.archive import blocks
from kept.store.packing import unpack
from kept.web.pages.review import _describe_budget
from talking import say
from waiting import until

WORDS = ("Never ship walnuts on a Friday.", "Always count the crates twice.", "Never store almonds in the barn.")
CRATES = [f"Crate {number} of the northern warehouse is for walnuts, and never for almonds or dates." for number in range(130)]
TOTALS = "Our reports should show the totals without any rounding, so that the auditors can compare all with the lists of the bank."


@pytest.fixture
def queue(served):
    for each in WORDS:
        served.hold(each)
    return served


def test_every_decision_is_undone_by_u_or_on_its_card_and_on_other_pages_by_name_and_others_stay_decided(queue, browse):
    page = browse("/review")
    words = page.locator(".decide .says").first.inner_text()

    def undone():
        page.locator("nav .count", has_text="3").wait_for()
        page.locator(".decide.done").wait_for(state="detached")
        assert queue.memory(words).status is Status.HELD

    page.keyboard.press("p")
    page.locator("nav .count", has_text="2").wait_for()
    assert queue.memory(words).status is Status.RETIRED
    assert "it was so then" in queue.memory(words).reason
    page.keyboard.press("u")
    undone()
    page.locator(".decide:focus .says", has_text=words).wait_for()
    page.keyboard.press("e")
    page.get_by_label("What it should say").wait_for()
    page.keyboard.press("Control+A")
    page.keyboard.type("Other words altogether.")
    page.keyboard.press("Enter")
    page.locator("nav .count", has_text="2").wait_for()
    assert queue.memory("Other words").status is Status.ACTIVE
    page.locator(".decide.done").get_by_role("button", name="Undo").click()
    undone()
    first, second = page.locator(".decide").nth(0), page.locator(".decide .says").nth(1).inner_text()
    first.focus()
    page.locator("#said p", has_text="Undone").last.wait_for()
    page.keyboard.press("n")
    page.locator(".decide.done").wait_for()
    assert page.locator("#said p", has_text="Undone").count() == 0, "it stands above a card that is rejected now"
    page.locator(".decide:focus:not(.done)").wait_for()
    page.keyboard.press("y")
    page.locator(".decide.done").nth(1).wait_for()
    page.locator("nav .count", has_text="1").wait_for()
    first.get_by_role("button", name="Undo").click()
    page.locator("nav .count", has_text="2").wait_for()
    page.locator(".decide:focus:not(.done)").wait_for()
    assert page.locator(".decide.done").get_by_role("button", name="Undo").count() == 1
    assert [queue.memory(each).status for each in (words, second)] == [Status.HELD, Status.ACTIVE]
    page.goto(f"{queue.url}/days")
    page.keyboard.press("u")
    page.get_by_text(f"Undone: “{second}” – held again").wait_for()
    page.keyboard.press("u")
    page.get_by_text("You changed nothing in this tab").wait_for()
    with queue.workspace() as workspace:
        assert [each.status for each in workspace.store.log.memories()] == [Status.HELD] * 3


def test_the_marked_proposal_has_keys_and_its_place_each_sentence_is_whole_and_no_quote_says_it_again(queue, home, browse):
    say(home, "a", "hello there", TOTALS)
    with queue.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    for start in ("Never ship hazelnuts", "Always tare the scales"):
        queue.hold(f"{start} {'before the sorting crew has gone home and the lorry is loaded ' * 12}on a Friday.")
    page = browse("/review")
    first = page.locator(".decide").first
    assert first.bounding_box()["y"] < 200
    assert first.evaluate("each => each === document.activeElement")
    assert page.locator("#place").inner_text() == "6 proposals left"
    page.keyboard.press("j")
    assert page.locator(".decide").nth(1).evaluate("each => each === document.activeElement")
    assert page.locator(".decide:has(kbd:visible)").count() == 1
    said = page.locator(".decide", has_text="totals")
    assert said.inner_text().count("totals") == 1
    assert "you, 2026-01-05" in said.inner_text()
    page = browse("/review", phone=True)
    assert page.locator(".decide").first.bounding_box()["y"] < 280
    assert page.locator(".decide kbd:visible, .keyed:visible").count() == 0
    long = page.locator(".decide", has_text="on a Friday").filter(has_text="sorting crew")
    heights = long.locator(".says").evaluate_all("all => all.map(each => each.offsetHeight)")
    assert heights[1] == heights[0] > 200
    long.nth(1).get_by_text("on a Friday").click(position={"x": 5, "y": 5})
    assert page.locator(".decide:has(.verdict:visible)").count() == 1
    assert (
        len(set(page.locator(".unfolded .verdict button:not(.quiet)").evaluate_all("all => all.map(each => each.offsetTop)"))) == 1
    )


def test_each_decision_counts_at_once_who_comes_back_finds_order_place_and_undo_and_no_fast_key_is_lost(served, browse):
    for number in range(9):
        served.hold(f"The gauge number {number} is read at {number} o'clock.")
    page = browse("/review")
    order = page.locator(".row").evaluate_all("all => all.map(each => each.id)")
    for key, left in (("n", 8), ("y", 7)):
        page.keyboard.press(key)
        page.locator("nav .count", has_text=re.compile(f"^{left}$")).wait_for()
        assert page.locator("#place").inner_text() == f"{left} proposals left"
    page.keyboard.press("j")
    marked = page.evaluate("document.activeElement.id")
    page.goto(f"{served.url}/settings")
    page.go_back()
    page.locator(f"#{marked}:focus").wait_for()
    assert page.locator(".row").evaluate_all("all => all.map(each => each.id)") == order
    assert marked == order[3]
    page.locator(".row.done").first.get_by_role("button", name="Undo").click()
    page.locator("#place", has_text="8 proposals left").wait_for()
    page.goto(f"{served.url}/review")
    assert page.locator("#place").inner_text() == "8 proposals left"
    shown = page.locator(".decide .says").all_inner_texts()
    held = []
    page.route("**/api/memories/**", lambda route: route.continue_() if held else held.append(route))  # the first waits
    for each in "ynnnuynn":  # the third of these is undone before it is sent, and then kept
        page.keyboard.press(each)
    assert page.locator("#place").inner_text() == "2 proposals left"
    assert page.locator(".decide:focus .says").inner_text() == shown[6]
    held[0].continue_()
    page.locator("nav .count", has_text="2").wait_for()
    with served.workspace() as workspace:
        found = {each.content: each.status for each in workspace.store.log.memories() if each.content in shown}
    keys = dict(zip(shown, "ynnynn", strict=False))
    assert found == {each: {"y": Status.ACTIVE, "n": Status.REJECTED, None: Status.HELD}[keys.get(each)] for each in shown}


def test_several_are_decided_in_one_run_that_leaving_does_not_stop_and_each_is_undone_by_itself(queue, browse):
    def statuses():
        with queue.workspace() as workspace:
            return sorted(each.status.value for each in workspace.store.log.memories())

    page = browse("/review")
    for each in "xjx":
        page.keyboard.press(each)
    page.get_by_text("2 chosen").wait_for()
    page.keyboard.press("Y")
    page.get_by_text("Kept 2 proposals").wait_for()
    assert page.locator("#chosen").is_hidden()
    assert page.locator(".decide:focus:not(.done)").count() == 1
    page.locator("nav .count", has_text="1").wait_for()
    page.locator(".decide.done").nth(1).get_by_role("button", name="Undo").click()
    page.get_by_text("” – held again").wait_for()
    assert statuses() == ["active", "held", "held"]
    page.keyboard.press("u")  # the marker is on an open card: the last decision as a whole
    page.get_by_text("” – held again").nth(1).wait_for()
    assert statuses() == ["held"] * 3
    for row in page.locator(".decide").all()[:2]:
        row.focus()
        page.keyboard.press("x")
    page.get_by_text("2 chosen").wait_for()
    with page.expect_request("**/api/several") as asked:
        page.keyboard.press("N")
        page.goto(f"{queue.url}/days")
    assert len(asked.value.post_data_json["memories"]) == 2
    until(lambda: statuses() == ["held", "rejected", "rejected"])
    with queue.workspace() as workspace:
        assert [run.command for run in workspace.store.log.runs(1)] == ["reject"]


def test_what_could_not_be_saved_or_is_decided_already_is_said_and_the_next_open_one_is_marked(queue, browse):
    page = browse("/review")
    first = page.locator(".decide .says").first.inner_text()
    with queue.workspace() as workspace:
        person.edit(workspace, queue.memory(first).id, "Something else by now.")
    page.watched.expected.append("412")
    page.keyboard.press("n")
    page.get_by_text(f"Not rejected: “{first}”. this memory was changed meanwhile").wait_for()
    page.locator(".decide .says ins").first.wait_for()
    page.keyboard.press("n")  # the marker stands on the next open card
    page.locator("nav .count", has_text="2").wait_for()
    page.locator(".decide:focus:not(.done)").wait_for()
    page.locator(".decide.done").focus()
    page.keyboard.press("y")
    page.get_by_text("That one was decided already").wait_for()
    assert page.locator(".decide:focus:not(.done)").count() == 1
    page.keyboard.press("y")
    page.keyboard.press("y")
    page.keyboard.press("y")
    page.get_by_text("Nothing else is open here").wait_for()
    page.locator("nav .count").wait_for(state="detached")
    with queue.workspace() as workspace:
        assert sorted(each.status.value for each in workspace.store.log.memories()) == ["active", "active", "rejected"]
    assert 'Rejected by yourself: <a href="/?status=rejected">1 memory</a>' in queue.ask("GET", "/review/refused")[2]


def test_what_was_refused_is_listed_by_project_the_latest_first_and_says_so(served, home):
    for day, project in (("05", "harbor"), ("07", "harbor"), ("06", "barn")):
        say(
            home,
            day,
            f"Put the crates of day {day} on our todo list with less priority.",
            cwd=f"/x/{project}",
            day=f"2026-01-{day}",
        )
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    text = served.ask("GET", "/review/refused")[2]
    assert "then by project, the latest first" in text
    days = re.findall(r'<p class="says">[^<]* day (\d\d) ', text)
    headings = re.findall(r'<h3 class="small soft">(\w+) <span class="num">(\d)</span>', text)
    assert (headings, days) == ([("barn", "1"), ("harbor", "2")], ["06", "07", "05"])
    assert text.count("harbor") == 1


def test_a_card_names_what_waits_in_nearly_the_same_words(served):
    served.hold("Never ship walnuts on a Friday.")
    served.hold("Never ship walnuts on a Sunday.")
    served.hold("Dates are written in UTC.")
    page = served.ask("GET", "/review")[2]
    assert page.count("Nearly the same is held too") == 2


def test_each_page_of_review_says_what_it_is_for_when_it_is_empty(served):
    for path, told in (("", "is held for you"), ("/lingering", "seems outdated"), ("/refused", "was refused")):
        assert f"<h2>Nothing {told}" in served.ask("GET", f"/review{path}")[2]


def test_a_decision_and_its_card_read_no_archived_text(served, home, monkeypatch):
    say(home, "a", "In this project we always write dates as ISO 8601 in UTC, never in local time.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    held = served.hold(WORDS[0])
    unpacked = []
    monkeypatch.setattr(blocks, "unpack", lambda *given: unpacked.append(given[0]) or unpack(*given))
    assert served.ask("POST", f"/api/memories/{held.id}/approve", {})[0] == 200
    assert served.ask("GET", f"/review/{held.id}/card")[0] == 200
    assert served.ask("GET", "/review/lingering")[0] == 200
    assert unpacked == []


def test_the_page_shows_and_decides_the_wishes_that_the_command_shows(served, home):
    say(home, "w", "hello there", *(TOTALS.replace("totals", name) for name in "abcdefghijkl"))
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        shown = [item.memory for item in best_of_each_scope(list_pending_proposals(workspace))]
    _, _, text = served.ask("GET", "/review")
    assert [each.id in text for each in shown] == [True] * 10
    assert "10 here" in text
    assert served.ask("GET", "/review?all=true")[2].count('class="row decide') == 12
    assert served.ask("POST", f"/api/memories/{shown[0].id}/approve", {})[0] == 200
    assert served.ask("POST", f"/api/memories/{shown[1].id}/reject", {})[0] == 200
    assert "Kept" in served.ask("GET", f"/review/{shown[0].id}/card")[2]
    with served.workspace() as workspace:
        assert {each.status for each in workspace.store.log.memories()} == {Status.ACTIVE, Status.REJECTED}


def test_the_page_shows_what_may_contradict_with_the_newer_one_below_it(served, home):
    say(home, "one", "Remember that we use Postgres for the orders table.")
    say(home, "two", "Remember that we use MySQL for the orders table.", day="2026-01-12")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    text = served.ask("GET", "/review")[2]
    assert text.index("Postgres") < text.index("These may contradict") < text.index("MySQL") < text.index("Only the newer holds")


def test_beside_a_proposal_stands_what_was_said_later_of_the_same_and_was_so_ends_on_that_day(served, home):
    say(home, "a", "I would prefer that the lamp readings go to Postgres tables.", day="2026-01-05")
    say(home, "b", "Remember that the lamp readings go to SQLite, no longer to Postgres.", day="2026-01-12")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    page = served.ask("GET", "/review?all=true")[2]
    assert "Newer, of the same, 2026-01-12: " in page
    row = re.search(r'POST (/api/memories/\w+/reject)[^>]*data-body=.({"past"[^}]*})', page)
    value = served.ask("POST", row[1], json.loads(row[2]))[1 + 1]
    assert value["memories"][0]["status"] == "retired"
    page = served.ask("GET", "/?at=2026-01-10")[2], served.ask("GET", "/?at=2026-01-14")[2]
    assert ["Postgres tables" in each for each in page] == [True, False]


def test_a_row_says_whether_what_was_kept_reaches_a_session_and_what_it_pushes_out_and_one_project_is_alone(served, home, browse):
    with served.workspace() as workspace:
        crowd.tell(workspace, CRATES, "project_fact")
    say(home, "a", "hello there", TOTALS)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        person.edit(workspace, served.memory("Crate 0 ").id, "Crate 0 is empty.")  # the file is written
    served.hold(WORDS[0], "open_question")
    served.hold(WORDS[1], "constraint")
    page = browse("/review")
    assert re.search(r"room for \d+ of 130 memories now", page.locator("main").inner_text())
    row = page.locator(".decide", has_text=WORDS[0])
    row.click()
    page.keyboard.press("y")
    row.get_by_text(re.compile(r"Kept: no session sees it at its start: there is no room: it ranks \d+ of 131")).wait_for()
    row.get_by_role("button", name="Pin it").click()
    page.get_by_text("Pinned.").wait_for()
    row.get_by_text("sees it", exact=False).wait_for()
    row = page.locator(".decide", has_text=WORDS[1])
    row.click()
    page.keyboard.press("y")
    row.get_by_text(re.compile(r"sees it, in place of “Crate \d+ of")).wait_for()
    gone = row.get_by_role("link", name="Crate").inner_text()
    with served.workspace() as workspace:
        file = workspace.paths.output_path(workspace.profile.outputs.memory_file).read_text()
    assert (WORDS[1] in file, gone in file) == (True, False)
    page.get_by_label("Project").select_option(
        next(each for each in page.locator("#of option").all_inner_texts() if "everywhere" not in each and each != "all")
    )
    page.wait_for_url("**project=project*", timeout=60_000)
    assert page.locator(".decide .says").all_inner_texts() == [TOTALS]


def test_the_room_counts_memories_and_nothing_else_that_stands_in_the_file(served, monkeypatch):
    served.add("The lamp is on port 8731.")
    served.add("Never ship walnuts on a Friday.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        path = str(workspace.paths.output_path(workspace.profile.outputs.memory_file))
        (state,) = workspace.store.output_states(path)
        named = sum(bool(line.key) and ":" not in line.key for line in state.lines)
        monkeypatch.setattr("kept.web.pages.review._count_with_status", lambda *_: 9)
        assert (named, _describe_budget(workspace).partition("(")[2]) == (3, "room for 2 of 9 memories now).")
