"""The overview: what is new and what waits stand on it, and each picture has a table."""


def test_it_shows_what_is_new_what_waits_and_pictures_with_tables(served, browse):
    served.add("The walnut harvest is on Tuesday.")
    served.hold("Never ship walnuts on a Friday.")
    page = browse("/overview")
    new = page.get_by_role("region", name="What is new")
    assert "walnuts on a Friday" in new.inner_text()
    assert "Never ship walnuts" in page.get_by_role("region", name="Waits for you").inner_text()
    page.get_by_role("link", name="Decide on 1 proposal").wait_for()
    figures = page.locator("figure")
    assert figures.count() >= 3
    assert figures.locator("summary", has_text="As a table").count() == figures.count()
    rows = page.locator("figure", has_text="Memories over time").locator("tbody tr")
    assert rows.last.locator("td.num").first.text_content() == "1"


def test_a_nightly_job_that_never_ran_and_a_missing_backup_are_warnings(served, browse):
    served.add("The walnut harvest is on Tuesday.")
    health = browse("/overview").get_by_role("region", name="Health")
    assert health.locator(".warn").all_inner_texts() == ["never ran", "none"]
