"""Review in a real browser: decided by keys alone, with the words and the conversation; nothing decided is lost, all of it undone."""

import pytest

from kept.model.memory import Status

WORDS = ("Never ship walnuts on a Friday.", "Always count the crates twice.", "Never store almonds in the barn.")


@pytest.fixture
def queue(served):
    for each in WORDS:
        served.hold(each)
    return served


def test_a_queue_is_worked_off_by_keys_alone(queue, browse):
    page = browse("/review")
    assert page.locator("nav .count").inner_text() == "3"
    shown = page.locator(".decide .says").all_inner_texts()
    page.keyboard.press("j")
    page.keyboard.press("y")
    page.locator("nav .count", has_text="2").wait_for()
    page.locator(".decide:focus:not(.done)").wait_for()
    page.keyboard.press("n")
    page.locator("nav .count", has_text="1").wait_for()
    page.locator(".decide:focus:not(.done)").wait_for()
    page.keyboard.press("e")
    page.get_by_label("What it should say").wait_for()
    page.keyboard.press("Control+A")
    page.keyboard.type("Almonds never go into the barn.")
    page.keyboard.press("Enter")
    page.locator("nav .count").wait_for(state="detached")
    assert queue.memory(shown[0]).status is Status.ACTIVE
    assert queue.memory(shown[1]).status is Status.REJECTED
    assert queue.memory("Almonds never go").status is Status.ACTIVE
    page.reload()
    assert "Nothing waits for you" in page.locator("main").inner_text()


def test_a_decision_is_taken_back_by_one_key(queue, browse):
    page = browse("/review")
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.locator(".decide.done").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Taken back.").wait_for()
    page.locator(".decide.done").wait_for(state="detached")
    with queue.desk() as desk:
        assert [each.status for each in desk.store.log.memories()] == [Status.HELD] * 3


def test_edit_and_keep_is_one_undo(queue, browse):
    page = browse("/review")
    before = page.locator(".decide .says").first.inner_text()
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("What it should say").fill("Other words altogether.")
    page.get_by_role("button", name="Keep so").click()
    page.get_by_text("Kept in your words.").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Taken back.").wait_for()
    assert queue.memory(before).status is Status.HELD


def test_each_page_of_review_says_what_it_is_for_when_it_is_empty(served, browse):
    page = browse("/review")
    assert "Nothing waits for you" in page.locator("main").inner_text()
    page.get_by_role("link", name="Lingering").click()
    page.get_by_text("Nothing lingers").wait_for()
    page.get_by_role("link", name="Refused").click()
    page.get_by_text("Nothing was refused").wait_for()
