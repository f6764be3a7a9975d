"""Files in the browser: an edit in the page is an edit on disk, a stale tab loses nothing, and what is written never runs."""

import json

import pytest

from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import read_profile_text
from waiting import until

MEMORY = ".claude/rules/memory.md"
EDIT = f"/files/edit?name={MEMORY}"
UV = "Always use `uv sync` in `harbor`."
ISO = "Dates in `events.csv` are ISO 8601."


@pytest.fixture
def written(served):
    """A page over two memories and the file that tells them."""
    served.add(UV, "constraint")
    served.add(ISO, "convention")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    return served


def say(home, cwd):
    """A session in which a person states a convention."""
    words = "In this project we always write dates as ISO 8601 in UTC, never in local time."
    path = home / ".claude" / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    record = {
        "type": "user",
        "uuid": "s1-0",
        "parentUuid": None,
        "sessionId": "s1",
        "cwd": cwd,
        "timestamp": "2026-01-05T10:00:00.000Z",
    }
    path.write_text(json.dumps(record | {"message": {"role": "user", "content": words}}) + "\n")


def type_into(page, before, after):
    field = page.get_by_label("Text")
    field.fill(field.input_value().replace(before, after))


def test_editing_memory_md_in_the_page_changes_the_memory_and_emptying_it_is_asked_about_first(browse, written):
    path = written.home / MEMORY
    page = browse("/files")
    page.get_by_role("link", name=MEMORY).first.click()
    type_into(page, "`uv sync`", "`uv sync --frozen`")
    page.get_by_role("button", name="What would change").click()
    page.locator("#preview ins").get_by_text("--frozen").wait_for()
    assert written.memory("uv sync").content == UV
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved: 1 revise.").wait_for()
    assert written.memory("--frozen").owned
    assert "--frozen" in path.read_text()
    page.locator("#entries").get_by_text("--frozen").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone:").wait_for()
    assert written.memory("uv sync").content == UV
    page.goto(f"{written.url}{EDIT}")
    row = page.locator("#entries .row", has_text="ISO 8601")
    row.get_by_role("button", name="Delete").click()
    page.get_by_text("Deleted from the file").wait_for()
    row.wait_for(state="detached")
    until(lambda: "ISO 8601" not in page.locator("#text").input_value())
    assert written.memory("ISO").status is Status.RETIRED
    page.watched.expected.append("409")
    page.get_by_label("Text").fill("")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Do you mean it?").wait_for()
    assert UV in path.read_text()
    page.get_by_role("button", name="Save it all the same").click()
    page.get_by_text("Saved: 1 retire.").wait_for()
    assert written.memory("uv").status is Status.RETIRED


def test_what_the_next_run_would_take_over_is_told_in_the_list(written):
    path = written.home / MEMORY
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))
    assert 'hx-get="/files/coming" hx-trigger="load' in written.ask("GET", "/files")[2]
    text = written.ask("GET", "/files/coming")[2]
    assert "take over 1 edit made by hand" in text
    assert "RFC 3339" in text[text.index("What would change</summary>") :]


def test_a_stale_tab_is_shown_both_texts_and_loses_neither(browse, written):
    page, path = browse(EDIT), written.home / MEMORY
    page.watched.expected.append("412")
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))  # as another tab or an editor does
    type_into(page, "`uv sync`", "`uv lock`")
    page.keyboard.press("Control+s")
    page.get_by_role("heading", name="This file was changed meanwhile").wait_for()
    assert "RFC 3339" in page.locator("#conflict pre").first.inner_text()
    assert "uv lock" in page.locator("#conflict pre").last.inner_text()
    assert "uv lock" in page.get_by_label("Text").input_value()
    assert "RFC 3339" in path.read_text()
    page.get_by_role("button", name="Go on editing mine").click()
    type_into(page, "ISO 8601", "RFC 3339")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved:").wait_for()
    assert {written.memory("uv lock").status, written.memory("RFC 3339").status} == {Status.ACTIVE}


def test_markup_in_a_memory_and_in_a_file_is_only_words(browse, served):
    served.add("Never run <script>alert('a')</script> or <img src=x onerror=alert(1)> in `</textarea><script>alert(2)</script>`.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    page, dialogs = browse(EDIT), []

    def note(dialog):
        dialogs.append(dialog)

    page.on("dialog", note)
    assert "onerror" in page.get_by_label("Text").input_value()
    assert page.locator("main script, main img").count() == 0
    type_into(page, "Never run", "Never ever run")
    page.get_by_role("button", name="What would change").click()
    page.locator("#preview ins").wait_for()
    assert page.locator("main script, main img").count() == 0
    page.remove_listener("dialog", note)  # another test gets the window
    assert dialogs == []


def test_markup_in_the_name_of_a_file_is_only_words(browse, served):
    folder = served.home / "<img src=x onerror=alert(1)>"
    own = served.home / ".config" / "kept"
    (own / "profiles").mkdir(parents=True)
    made = (
        read_profile_text("coding")[0]
        .replace("project_section = false", "project_section = true")
        .replace('id = "coding"', 'id = "mine"')
    )
    (own / "profiles" / "mine.toml").write_text(made)
    (own / "config.toml").write_text('profile = "mine"\n')
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("# Mine\n")
    say(served.home, cwd=str(folder))
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    page = browse("/files")
    page.get_by_role("link", name="onerror").click()
    page.wait_for_url("**/files/edit?name=**")
    assert "ISO 8601" in page.get_by_label("Text").input_value()
    assert "Mine" not in page.get_by_label("Text").input_value()
    type_into(page, "ISO 8601", "RFC 3339")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved: 1 revise.").wait_for()
    assert page.locator("main img").count() == 0
    assert (folder / "CLAUDE.md").read_text().startswith("# Mine\n")


def test_what_nobody_sees_in_a_file_survives_saving_what_the_page_was_given(written):
    path, place = written.home / MEMORY, f"/api/files/file?name={MEMORY}"
    path.write_text(path.read_text() + "A remark\u200b of mine\n")
    seen = written.ask("GET", place)[2]
    body = {"text": seen["text"].replace("ISO 8601", "RFC 3339")}
    assert written.ask("PUT", place, body, headers={"If-Match": seen["revision"]})[0] == 200
    assert "RFC 3339" in path.read_text()
    assert "A remark\u200b of mine" in path.read_text()


def test_no_file_but_kepts_own_is_shown_or_saved(written):
    for name in ("../../etc/passwd", "/etc/passwd", ".config/kept/config.toml", "%00", "<script>"):
        path = f"/api/files/file?name={name}"
        assert written.ask("GET", path)[0] == 404, name
        assert written.ask("PUT", path, {"text": "x"}, headers={"If-Match": '"x"'})[0] == 404, name


def test_saving_without_saying_what_was_seen_is_refused(written):
    assert written.ask("PUT", f"/api/files/file?name={MEMORY}", {"text": "x"})[0] == 422
