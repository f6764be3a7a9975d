"""The overview: what is new and what waits stand on it, and each picture has a table."""

import re

from kept.install.schedule import CommandResult, install_job
from kept.paths import find_paths
from kept.pipeline.nightly import run_nightly
from kept.pipeline.run import RunOptions, run_pipeline
from talking import say


def test_it_shows_what_is_new_what_waits_pictures_with_tables_and_warns_without_a_night_and_a_backup(served, browse):
    served.add("The walnut harvest is on Tuesday.")
    served.hold("Never ship walnuts on a Friday.")
    page = browse("/overview")
    new = page.get_by_role("region", name="What is new")
    assert "walnuts on a Friday" in new.inner_text()
    assert "Never ship walnuts" in page.get_by_role("region", name="Held for you").inner_text()
    page.get_by_role("link", name="Decide on 1 proposal").wait_for()
    figures = page.locator("figure")
    assert figures.count() >= 3
    assert page.locator("figure:has(table, details)").count() == figures.count()
    origins = page.locator("figure", has_text="Where they come from").locator("tr")
    assert origins.first.inner_text().split() == ["told", "directly", "1"]
    assert page.get_by_role("region", name="Health").locator(".warn").all_inner_texts() == ["not installed", "none"]
    assert ": 1, 1 Decisions" in page.locator("figure", has_text="Memories over time").locator("li").first.text_content()


def test_a_night_that_went_well_does_not_hide_that_no_other_comes(served, home):
    served.add("The walnut harvest is on Tuesday.")
    with served.workspace() as workspace:
        run_nightly(workspace)
    for path, told in (("/overview", "not installed"), ("/settings/night", "No nightly job is installed")):
        assert told in served.ask("GET", path)[2]
    assert "New sessions are not read automatically." in served.ask("GET", "/overview")[2]
    install_job(
        find_paths(str(home), {"HOME": str(home)}),
        {"HOME": str(home)},
        kind="systemd",
        run=lambda *_: CommandResult(code=0, out="active"),
    )
    assert "not installed" not in served.ask("GET", "/overview")[2]


def test_the_last_days_with_work_stand_there_and_words_are_plain(served, home):
    say(home, "one", "In this project we always write dates as ISO 8601 in UTC, never in local time.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    served.add("The walnut harvest is on Tuesday.")
    text = served.ask("GET", "/overview")[2]
    assert "Monday, 5 January 2026" in text
    assert not {">Today<", ">Yesterday<", "Nothing was worked on."} & set(re.findall(r">[^<]+<|Nothing was worked on.", text))
    assert "You, " in text
    assert "0 refused proposals" in text


def test_a_backup_is_made_from_the_page(served):
    served.add("The walnut harvest is on Tuesday.")
    assert served.ask("POST", "/api/backup", {})[0] == 201
    assert 'Last backup</dt><dd class="cluster"><span class="num">20' in served.ask("GET", "/overview")[2]
