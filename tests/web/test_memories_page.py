"""Memories in a real browser: found as one types, changed in their place, several at once; and always the way back."""

import json
import os
import re

import pytest

import crowd
from kept.core.memory import Status
from kept.local.files import hold_lock
from kept.memories import person
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from talking import say


@pytest.fixture
def harvest(served):
    """Three memories, and one that waits."""
    for words, kind in (
        ("The walnut harvest is on Tuesday.", "decision"),
        ("Never ship walnuts without `pack --tight`.", "constraint"),
        ("The almond harvest is in May.", "decision"),
    ):
        served.add(words, kind)
    served.hold("Walnuts are stored in the barn.", "project_fact")
    return served


def rows(page):
    return page.locator(".row .says > a").all_inner_texts()


def test_the_list_of_a_past_day_shows_what_was_true_then_and_offers_no_change(served, home):
    say(home, "one", "Remember that we use Postgres for the orders table.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        person.retire(workspace, next(iter(workspace.store.log.memory_ids())))
    assert "Postgres" not in served.ask("GET", "/")[2]
    then = served.ask("GET", "/?at=2026-01-06")[2]
    assert ("Postgres" in then, "What was true at the end of 2026-01-06" in then, "/retire" in then) == (True, True, False)
    assert "Postgres" not in served.ask("GET", "/?at=2025-12-31")[2]


def test_the_address_says_what_is_filtered_and_typed_and_going_back_or_opening_it_again_shows_the_same(harvest, browse):
    page = browse()
    page.get_by_label("Category").select_option("coding.constraint")
    page.wait_for_url("**/?category=coding.constraint")
    page.get_by_text("1 memory that fits").wait_for()
    page.get_by_label("Category").select_option("coding.decision")
    page.get_by_text("2 memories that fit").wait_for()
    page.go_back()
    page.wait_for_url("**/?category=coding.constraint")
    page.get_by_text("1 memory that fits").wait_for()
    assert page.get_by_label("Category").input_value() == "coding.constraint"
    page.go_back()
    page.get_by_text("3 memories", exact=True).wait_for()
    tall = page.locator(".row").first.bounding_box()["height"]
    page.keyboard.press("d")
    assert page.locator(".row").first.bounding_box()["height"] < tall
    page.keyboard.press("/")
    page.keyboard.type("walnut", delay=20)
    page.wait_for_url("**/?q=walnut")
    page.get_by_text("hits, best first").wait_for()
    assert all("alnut" in each for each in rows(page)[:2])
    assert page.locator("mark").first.inner_text().lower() == "walnut"
    found = rows(page)
    page.reload()
    assert rows(page) == found
    assert page.locator("#q").input_value() == "walnut"
    assert page.locator(".row").first.bounding_box()["height"] < tall  # rows stay dense
    held = []
    page.route("**/?q=walnut&category*", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Category").select_option("coding.constraint")  # holds when another layer is opened meanwhile
    page.get_by_role("link", name="memories", exact=True).click()
    page.wait_for_url("**/?q=walnut&within=memories&category=coding.constraint")
    page.get_by_text("1 hit").wait_for()


def test_a_mistyped_word_a_status_and_an_order_find_what_was_meant(harvest):
    def found(query):
        text = harvest.ask("GET", f"/?{query}")[2]
        return text, re.findall(r'<p class="says" dir="auto"><a [^>]*>(.*?)</a>', text)

    text, (first, *_) = found("q=wallnut")
    assert "this is what has <strong>walnut</strong>" in text
    assert "alnut" in first
    assert found("status=held")[1] == ["Walnuts are stored in the barn."]
    text, shown = found("group=category")
    assert text.index("Constraints") < text.index("Decisions")
    text, shown = found("category=coding.decision&group=category&sort=oldest")
    assert shown == ["The walnut harvest is on Tuesday.", "The almond harvest is in May."]
    assert "\u202e" not in found("q=The+wal%E2%80%AE%E2%80%8B")[0]


def test_a_row_is_edited_pinned_and_retired_as_wrong_by_keys_alone_and_u_takes_the_last_change_back(harvest, browse):
    page = browse("/?q=tuesday")
    page.keyboard.press("j")
    page.keyboard.press(".")
    assert page.locator(".menu[open] :focus").inner_text().startswith("Open its page")
    page.keyboard.press("ArrowDown")
    assert page.locator(".menu[open] :focus").inner_text().startswith("Edit")
    page.keyboard.press("Escape")
    assert page.locator(".menu[open]").count() == 0
    assert page.locator(".row:focus").count() == 1
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("Something else.")
    page.keyboard.press("Escape")
    page.get_by_label("What it says").wait_for(state="detached")
    assert rows(page) == ["The walnut harvest is on Tuesday."]
    page.keyboard.press("p")  # the focus is where it was
    page.get_by_text("Pinned.").wait_for()
    assert harvest.memory("Tuesday").pinned
    page.keyboard.press("e")
    box = page.get_by_label("What it says")
    box.wait_for()
    assert box.evaluate("(each) => each === document.activeElement")
    page.keyboard.press("Control+A")
    page.keyboard.type("The walnut harvest is on Friday.")
    page.keyboard.press("Enter")
    page.get_by_text("Changed.").wait_for()
    assert rows(page) == ["The walnut harvest is on Friday."]
    assert harvest.memory("Friday").owned
    page.keyboard.press("u")
    page.get_by_text("Undone: “The walnut harvest is on Tuesday.” – reworded back").wait_for()
    page.locator(".row", has_text="Tuesday").focus()
    page.keyboard.press("w")
    page.get_by_label("This is wrong because").fill("It was moved to Friday.")
    page.keyboard.press("Enter")
    page.locator(".row.gone").wait_for()  # stays in its place until one looks again
    assert (harvest.memory("Tuesday").status, harvest.memory("Tuesday").reason) == (Status.RETIRED, "It was moved to Friday.")
    page.keyboard.press("u")
    page.locator(".row.gone").wait_for(state="detached")


def test_a_question_is_answered_a_memory_split_in_two_and_made_one_again_and_its_page_opened_by_keys_alone(served, browse):
    served.add("Who drives the truck?", "open_question")
    served.add("The crates are new. The barn is red.")
    page = browse()
    page.locator(".row", has_text="truck").focus()
    page.keyboard.press("a")
    page.get_by_label("The answer, as one sentence").fill("Ada drives the truck.")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Answered.").wait_for()
    assert served.memory("Ada drives").category == "decision"
    assert served.memory("Who drives").status is Status.RESOLVED
    page.locator(".row", has_text="crates are new").focus()
    page.keyboard.press("s")
    assert page.get_by_label("The first says").input_value() == "The crates are new."
    assert page.get_by_label("The second says").input_value() == "The barn is red."
    page.get_by_label("The second says").fill("The barn is green.")
    page.get_by_role("button", name="Split", exact=True).click()
    page.get_by_text("Split.").wait_for()
    assert {"The barn is green.", "The crates are new."} <= set(rows(page))
    page.keyboard.press("u")
    page.locator(".row", has_text="The crates are new. The barn is red.").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The crates are new. The barn is red.").wait_for()


def test_forgetting_says_what_it_does_before_does_nothing_on_no_and_waits_for_a_run_where_an_edit_need_not(harvest, browse):
    page = browse("/?q=almond")
    page.watched.expected.append("409")
    row, dialog = page.locator(".row"), page.locator("dialog[open]")
    with hold_lock(find_paths(str(harvest.home), os.environ).lock):
        page.keyboard.press("j")
        page.keyboard.press("e")
        page.get_by_label("What it says").fill("The almond harvest is in June.")
        page.keyboard.press("Enter")
        page.get_by_text("Changed.").wait_for()
        assert harvest.memory("June").status is Status.ACTIVE
        row.locator("summary").click()
        row.get_by_role("button", name="Forget …").click()
        dialog.get_by_text("This cannot be undone.").wait_for()
        dialog.get_by_role("button", name="Erase for good").click()
        page.get_by_text("nothing was forgotten: already running").wait_for()
    page.goto(f"{harvest.url}/?q=almond")
    row.locator("summary").click()
    row.get_by_role("button", name="Forget …").click()
    dialog.get_by_text("This cannot be undone.").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert harvest.memory("almond").content
    row.locator("summary").click()
    row.get_by_role("button", name="Forget …").click()
    dialog.get_by_role("button", name="Erase for good").click()
    page.get_by_text("Forgotten for good.").wait_for()
    with harvest.workspace() as workspace:
        assert not any("almond" in each.content for each in workspace.store.log.memories())


def test_several_are_retired_or_merged_at_once_and_one_undo_takes_all_of_it_back(harvest, browse):
    page = browse("/?category=coding.decision")

    def choose():
        for row in page.locator(".row").all():
            row.focus()
            page.keyboard.press("x")
        page.get_by_text("2 chosen").wait_for()

    choose()
    page.locator("#chosen").get_by_role("button", name="Retire").click()
    page.get_by_text("2 retired.").wait_for()
    assert {harvest.memory(each).status for each in ("walnut harvest", "almond")} == {Status.RETIRED}
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone:").wait_for()
    assert {harvest.memory(each).status for each in ("walnut harvest", "almond")} == {Status.ACTIVE}
    page.reload()
    choose()
    page.get_by_role("button", name="Merge …").click()
    page.get_by_label("Text of the merged memory").fill("Walnuts are harvested on Tuesday, almonds in May.")
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_text("Merged.").wait_for()
    page.locator(".row .says", has_text="almonds in May").wait_for()
    assert rows(page) == ["Walnuts are harvested on Tuesday, almonds in May."]
    page.get_by_role("button", name="Undo").click()
    page.locator(".row .says", has_text="almond harvest").wait_for()
    assert len(rows(page)) == 2


def test_what_another_changed_meanwhile_or_a_lost_connection_kept_back_is_told_and_loses_nothing(harvest, browse):
    page = browse("/?q=tuesday")
    page.watched.expected += ["412", "ERR_INTERNET_DISCONNECTED"]
    change_elsewhere(harvest, "Tuesday", "The walnut harvest is on Thursday.")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.get_by_text("this memory was changed meanwhile").wait_for()
    page.locator(".row .says", has_text="Thursday").wait_for()
    assert harvest.memory("Thursday").status is Status.ACTIVE
    page.locator(".row").focus()
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("The walnut harvest is on Sunday.")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    page.get_by_text("kept web does not answer").wait_for()
    assert harvest.memory("Thursday").status is Status.ACTIVE
    page.context.set_offline(False)
    change_elsewhere(harvest, "Thursday", "The walnut harvest is on Friday.")
    page.keyboard.press("Enter")
    page.get_by_text("it is now active: “The walnut harvest is on Friday.”").wait_for()
    assert harvest.memory("Friday").status is Status.ACTIVE
    assert page.get_by_label("What it says").input_value() == "The walnut harvest is on Sunday."
    page.keyboard.press("Enter")  # having read that: what is typed is not lost, and is meant
    page.get_by_text("Changed.").wait_for()
    assert harvest.memory("Sunday").status is Status.ACTIVE


def change_elsewhere(served, words, content):
    with served.workspace() as workspace:
        person.edit(workspace, served.memory(words).id, content)


HOSTILE = (
    "<script>document.title='owned'</script> walnut",
    "<img src=x onerror=\"document.title='owned'\"> walnut",
    "`</code><svg onload=document.title='owned'>` walnut",
    "walnut \"><input autofocus onfocus=document.title='owned'>",
    "javascript:document.title='owned' walnut [x](javascript:alert(1))",
    "{{ 7 * 7 }} ${7 * 7} {% raw %} walnut",
    'walnut <div hx-get="//evil.example/x" hx-trigger="load"> data-send="POST /api/forget"',
    "walnut </textarea><script src=//evil.example></script>",
)


def test_whatever_a_memory_says_it_is_only_words_on_every_page(served, browse):
    halves = " ".join(HOSTILE[:4]), " ".join(HOSTILE[4:])  # a row shows 320 characters
    made = [served.add(each) for each in halves]
    served.hold(f"{' '.join(HOSTILE)} held")
    page = browse()
    assert sorted(rows(page)) == sorted(each.replace("`", "") for each in halves)
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("What it says").wait_for()
    page.goto(f"{served.url}/review")
    assert page.locator(".decide").count() == 1
    for memory, words in zip(made, halves, strict=True):
        page.goto(f"{served.url}/memories/{memory.id}")
        assert page.locator("h1").inner_text() == words.replace("`", "")
        assert page.title() != "owned"
    assert page.locator("script:not([src]), main svg, main img, main [onload], main [onerror], main [onfocus]").count() == 0


def test_a_search_with_a_filter_finds_what_ranks_low(served):
    with served.workspace() as workspace:
        crowd.tell(workspace, [f"The widget number {number} is a widget." for number in range(110)])
    kept_last = served.add("On some days of the year there may also be a widget, besides all else that is made and sold here.")
    with served.workspace() as workspace:
        person.pin(workspace, kept_last.id)
    headers = {"HX-Request": "true"}
    _, _, body = served.ask("GET", "/?q=widget&status=pinned", headers=headers)
    assert kept_last.id in body
    assert "number 7 " not in body


def test_on_a_phone_no_sentence_is_left_without_its_keys_and_code_breaks_between_its_words_only(served, browse):
    served.add("Where the socket is shared, run `install --umask 0117 -m 660 --no-cloud-sync #[0-9]* target-folder` instead.")
    page = browse("/")
    words = page.locator(".says code span")
    for width in range(320, 460, 60):
        page.set_viewport_size({"width": width, "height": 844})
        assert words.evaluate_all("all => all.map((each) => each.getClientRects().length + (each.clientHeight > 30))") == [1] * 5
    page.locator(".row summary").first.click()
    page.get_by_role("button", name="Edit").click()
    note = page.locator(".row.editing p.small")
    note.wait_for()
    assert note.inner_text().strip() == "Later runs keep what you write."


def test_the_passages_of_a_memory_are_what_its_parts_say_where_one_chooses_them(served, browse, home):
    say(home, "one", "From now on the harvest is on Tuesday.", day="2026-01-05")
    say(home, "two", "From now on the barn is painted red.", day="2026-01-06")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        person.merge(workspace, [served.memory("harvest").id, served.memory("barn").id], "Harvest on Tuesday, barn red.")
    page = browse(f"/memories/{served.memory('Harvest on').id}")
    page.keyboard.press("s")
    page.get_by_text("2 passages it rests on").click()
    page.locator("li", has_text="painted red").get_by_role("button", name="as the first").click()
    page.locator("li", has_text="on Tuesday").get_by_role("button", name="as the second").click()
    page.get_by_role("button", name="Split", exact=True).click()
    page.locator("h1.says", has_text="painted red").wait_for()
    with served.workspace() as workspace:
        parts = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
    assert sorted([each.session for each in part.evidence] for part in parts) == [["one"], ["two"]]


def test_what_is_called_wrong_is_noted_for_the_score_with_its_reason_until_that_is_taken_back(harvest):
    notes = harvest.home / ".local" / "share" / "kept" / "judged.jsonl"

    def told():
        return [(each["words"], each["reason"]) for each in map(json.loads, notes.read_text().splitlines())]

    tuesday, barn = harvest.memory("Tuesday"), harvest.memory("barn")
    harvest.ask("POST", f"/api/memories/{barn.id}/retire", {})
    assert not notes.exists()
    undo = harvest.ask("POST", f"/api/memories/{tuesday.id}/retire", {"reason": "it is on Friday"})[2]["undo"]
    assert told() == [(tuesday.content, "it is on Friday")]
    assert json.loads(notes.read_text())["terms"]
    harvest.ask("POST", "/api/undo", {"what": undo})
    assert told()[-1] == (tuesday.content, "")
    assert harvest.ask("POST", "/api/forget", {"memories": [tuesday.id], "sure": True})[0] == 200
    assert "walnut" not in notes.read_text()
