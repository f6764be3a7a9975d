"""A first visit, with nothing remembered: it explains itself, offers the sample, and leaves it again; a person finds, understands,
corrects and undoes a wrong memory with nothing but the page.
"""


def test_an_empty_store_explains_itself_and_in_the_sample_a_wrong_memory_is_found_understood_corrected_and_undone(served, browse):
    page = browse()
    assert page.locator("h1").inner_text() == "Nothing is remembered yet"
    page.get_by_text("None were found in their usual places yet.").wait_for()
    page.get_by_role("button", name="Look around in a sample first").click()
    page.get_by_text("This is kept’s bundled sample.").wait_for()
    with served.workspace() as workspace:
        assert workspace.store.log.memory_ids() == frozenset()
    page.get_by_label("Search memories, days and conversations").fill("parquet")
    page.get_by_text("hits, best first").wait_for()
    page.locator(".row .says a").first.click()
    page.locator("h1", has_text="Parquet").wait_for()
    before = page.locator("h1").inner_text()
    assert page.locator(".turn.cited mark").count() >= 1
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("What it says").fill("We use one Parquet file per year.")
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="per year").wait_for()
    page.locator("#said").get_by_role("button", name="Undo").click()
    page.locator("h1", has_text=before[:30]).wait_for()
    page.wait_for_load_state("networkidle")  # what is still on its way would ask for the sample's memory outside of it
    page.get_by_role("button", name="Leave the sample").click()
    page.get_by_text("Nothing is remembered yet").wait_for()
    page.keyboard.press("n")
    page.get_by_label("One sentence").fill("Crates come from the mill.")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.get_by_text("Remembered.").wait_for()
    assert served.memory("Crates").owned


def test_a_sentence_that_waits_because_a_secret_was_taken_out_is_not_said_to_be_remembered(served, browse):
    page = browse()
    page.locator("h1", has_text="Nothing is remembered yet").wait_for()
    page.keyboard.press("n")
    page.get_by_label("One sentence").fill("The harbor token is " + "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.get_by_text("Held for review: a secret was taken out.").wait_for()
    assert page.get_by_text("Remembered.").count() == 0
