"""Settings in the browser and over the API: every one by its name, checked as on the command line, never against what was seen."""

import json
import re

import pytest

from kept.local import settings
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.trial import TrialScore
from talking import say

EVIL = '"><img src=x onerror=alert(1)>'


def own(home, text=""):
    path = home / ".config" / "kept" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_setting_is_there_by_the_name_it_has_in_the_file(served):
    body = served.ask("GET", "/api/settings")[2]
    assert {each["name"] for each in body["settings"]} == set(settings.flatten_settings(settings.Settings()))
    assert all(each["meaning"] for each in body["settings"])


def test_a_setting_is_changed_with_its_comments_kept_and_only_against_what_was_seen(served, home):
    path = own(home, '# mine\n[llm]\nmodel = "m"  # the small one\n')
    _, headers, _ = served.ask("GET", "/api/settings/llm.timeout")
    seen = {"If-Match": headers["etag"]}
    assert served.ask("PUT", "/api/settings/llm.timeout", {"value": 60}, headers=seen)[2]["value"] == 60
    assert served.ask("PUT", "/api/settings/llm.timeout", {"value": 30}, headers=seen)[0] == 412
    assert "# the small one" in path.read_text()
    assert "# mine" in path.read_text()
    assert served.ask("PUT", "/api/settings/profiles", {"value": "vault\njournal\n"})[2]["value"] == ["vault", "journal"]
    assert served.ask("PUT", "/api/settings/llm.batch", {"value": True})[2]["value"] is True
    assert served.ask("PUT", "/api/settings/llm.timeout", {"value": None})[2]["value"] == 180.0


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("at_session_end", "dance", "at_session_end cannot be 'dance'"),
        ("timezone", "Mars/Base", "there is no time zone 'Mars/Base'"),
        ("llm.attempts", 2.5, "llm.attempts must be a whole number, not '2.5'"),
        ("profile", "nosuch", "nosuch"),
        ("llm.day_usd", -1, "day_usd must be a number from 0 on"),
    ],
)
def test_a_wrong_value_is_refused_with_the_line_that_the_command_line_gives(served, home, name, value, told):
    path = own(home, "# mine\n")
    status, _, problem = served.ask("PUT", f"/api/settings/{name}", {"value": value})
    assert status == 409
    assert told in problem["error"]
    assert path.read_text() == "# mine\n"


def test_what_is_no_setting_is_not_there(served):
    assert served.ask("GET", "/api/settings/spam")[0] == 404
    assert served.ask("PUT", "/api/settings/spam.eggs", {"value": 1})[0] == 404
    assert served.ask("PUT", "/api/sources/spam", {"on": True})[0] == 404
    assert served.ask("POST", "/api/settings/llm.model/items", {"profile": "x"})[0] == 409


def test_rules_are_added_and_taken_out(served):
    body = served.ask("POST", "/api/settings/use/items", {"profile": "vault", "sources": "vault\n", "projects": ""})[2]
    assert body["value"] == [{"profile": "vault", "sources": ["vault"]}]
    seen = body["revision"]
    assert served.ask("DELETE", "/api/settings/use/items/0", {}, headers={"If-Match": f'"{seen}"'})[2]["value"] == []
    assert served.ask("DELETE", "/api/settings/use/items/0", {}, headers={"If-Match": f'"{seen}"'})[0] == 412
    assert served.ask("POST", "/api/settings/use/items", {"profile": ""})[0] == 409


def test_a_source_is_turned_off_and_on(served):
    assert served.ask("PUT", "/api/sources/codex", {"on": False})[2]["value"] == ["codex"]
    assert served.ask("PUT", "/api/sources/codex", {"on": False})[2]["value"] == ["codex"]
    assert served.ask("PUT", "/api/sources/codex", {"on": True})[2]["value"] == []


def test_no_request_enters_the_night_or_takes_it_out(served, no_scheduler):
    assert {served.ask(method, "/api/schedule", {})[0] for method in ("PUT", "DELETE", "POST")} == {404}
    assert no_scheduler == []


GUARDED = {
    "llm.adapter": "command",
    "llm.command": "sh -c evil",
    "llm.base_url": "https://evil.example",
    "llm.key_env": "HOME",
    "llm.env": ["AWS_SECRET_ACCESS_KEY"],
    "llm.script": "/tmp/x",
    "llm.recording": "/tmp/x",
    "journal.folder": ".ssh",
    "linked_folders": [".ssh"],
    "exclude": ["*/talks/*"],
    "sections": ["codex"],
    "client_memory": ["claude"],
    "recall.embeddings": "https://evil.example/v1",
    "recall.embeddings_model": "m",
    "trust_agents": True,
    "handover": "ask",
    "store.url": "postgresql://evil.example/x",
    "sync.folder": "/tmp/evil",
}


def test_no_request_changes_a_setting_that_names_a_program_a_server_or_a_path_or_says_whom_to_trust(served, home):
    text = '[llm]\ncommand = "claude"\n[[feed]]\nkind = "git"\npath = "/x"\n'
    path = own(home, text)
    for name, value in GUARDED.items():
        status, _, problem = served.ask("PUT", f"/api/settings/{name}", {"value": value})
        assert (status, problem["where"]) == (403, name)
        assert served.ask("PUT", f"/api/settings/{name}", {"value": None})[0] == 403
        table, _, field = name.partition(".")
        written = json.dumps(value)
        line = f"[{table}]\n{field} = {written}\n" if field else f"{name} = {written}\n"
        assert served.ask("PUT", "/api/settings-file", {"text": line})[0] == 403
    assert served.ask("POST", "/api/settings/feed/items", {"profile": "x"})[0] == 403
    assert served.ask("DELETE", "/api/settings/feed/items/0", {})[0] == 403
    assert served.ask("PUT", "/api/settings/projects", {"value": "/a"})[0] == 403
    assert served.ask("PUT", "/api/settings-file", {"text": text.replace("claude", "evil")})[0] == 403
    assert path.read_text() == text


def test_the_api_says_which_settings_are_changed_on_the_terminal_only(served):
    guarded = {each["name"] for each in served.ask("GET", "/api/settings")[2]["settings"] if each["terminal_only"]}
    assert guarded == {*GUARDED, "feed", "root", "share", "projects", "backup.folder"}


def test_every_setting_whose_name_speaks_of_a_program_a_server_or_a_path_is_for_the_terminal_only():
    telling = ("command", "url", "path", "file", "folder", "root", "script", "recording", "env", "links", "feed", "adapter")
    named = {name for name in settings.flatten_settings(settings.Settings()) if any(word in name for word in telling)}
    assert named - {"profile", "profiles"} <= settings.TERMINAL_ONLY


def test_in_the_sample_nothing_of_the_persons_is_set_run_or_entered(served, home, no_scheduler):
    path = own(home, "# mine\n")
    assert served.ask("POST", "/api/sample", {"on": True})[0] == 200
    assert served.ask("PUT", "/api/settings/llm.timeout", {"value": 60})[0] == 200
    assert served.ask("POST", "/api/runs", {})[0] == 409
    assert path.read_text() == "# mine\n"
    assert no_scheduler == []


# --- in the browser


def test_a_group_is_saved_as_one_refused_in_its_place_undone_and_overwrites_nothing_of_another_tab(browse, served, home):
    path = own(home, "# mine\n")
    page = browse("/settings")
    row, group = page.locator("#s-llm-timeout"), page.locator("#model")
    group.locator("summary", has_text="for when a model is asked").click()
    row.get_by_label("Timeout of a question", exact=True).fill("60")
    group.get_by_label("Attempts at a question", exact=True).fill("2")
    group.get_by_role("button", name="Save Language model").click()
    row.get_by_role("button", name="Reset to 180").wait_for()
    page.get_by_text("Saved llm.timeout, llm.attempts").wait_for()
    assert "timeout = 60" in path.read_text()
    assert "# mine" in path.read_text()
    sync_api = pytest.importorskip("playwright.sync_api")
    file = sync_api.expect(page.get_by_label("The settings file"))
    file.to_have_value(re.compile("attempts = 2"), timeout=300_000)
    page.locator("body").press("u")
    page.get_by_text("Undone: llm.timeout, llm.attempts").wait_for()
    file.to_have_value(re.compile(r"^# mine\s*(\[llm\])?\s*$"), timeout=60_000)
    served.ask("PUT", "/api/settings/llm.timeout", {"value": 75})  # as another tab does
    group.get_by_label("Attempts at a question", exact=True).fill("3")
    row.get_by_label("Timeout of a question", exact=True).fill("90")
    page.watched.expected.append("412")
    group.get_by_role("button", name="Save Language model").click()
    page.locator("#said .bad", has_text="changed meanwhile").wait_for()
    sync_api.expect(page.locator("#s-llm-timeout-value")).to_have_value("75", timeout=300_000)
    zone = page.locator("#s-timezone")
    zone.get_by_label("Time zone", exact=True).fill(EVIL)
    page.watched.expected.append("409")
    zone.get_by_label("Time zone", exact=True).press("Enter")
    zone.get_by_role("alert").get_by_text("there is no time zone").wait_for()
    page.get_by_label("Search settings").fill("seconds question")
    assert page.locator(".setting:visible").count() > 0
    assert not page.locator("#s-timezone").is_visible()


def test_what_the_next_run_would_ask_and_how_a_local_server_is_chosen_stand_with_the_model(served, home, monkeypatch):
    monkeypatch.setattr("kept.web.pages.settings.find_models", lambda _: ())
    say(home, "a", "In this project we always write dates as ISO 8601 in UTC, never in local time.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    text = served.ask("GET", "/settings/model")[2] + served.ask("GET", "/settings/model/estimate")[2]
    assert "No language model is asked." in text
    assert "A day at most" in text
    assert re.search(r"the next run would ask <strong class=\"num\">\d+ question", text)
    assert "kept config set llm.base_url http://127.0.0.1:11434/v1" in text


def test_a_model_that_was_found_is_chosen_tried_and_dropped_on_the_page(served, browse, home, monkeypatch):
    folder = home / "bin"
    folder.mkdir()
    (folder / "claude").write_text("#!/bin/sh\nexit 1\n")
    (folder / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("kept.llm.available.SERVERS", {})
    own(home, "[llm]\nbase_url = 'https://somewhere.example'\nkey_env = 'SECRET_KEY'\n")
    monkeypatch.setenv("SECRET_KEY", "mango-ridge-72")
    say(home, "a", "In this project we always write dates as ISO 8601 in UTC, never in local time.")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    page = browse("/settings")
    before = page.locator("#model-card [role=status]", has_text="because 1 session was read without a model").inner_text()
    page.get_by_role("button", name="Ask this one").click()
    page.get_by_role("dialog").get_by_role("button", name="Ask it from now on").click()
    page.get_by_text("Runs ask Claude Code, claude-haiku-5-5 chosen").wait_for()
    after = page.locator("#model-card [role=status]", has_text="because 1 session was read without a model").inner_text()
    assert re.findall(r"ask (\d+ questions?)", before) == re.findall(r"ask (\d+ questions?)", after) != []
    assert page.get_by_role("button", name="Ask this one").count() == 0
    with served.workspace() as workspace:
        llm = workspace.settings.llm
    assert (llm.adapter, llm.command, llm.model, llm.base_url) == ("command", "claude", "claude-haiku-5-5", "")
    assert "mango-ridge-72" not in page.content()
    tried = []
    score = TrialScore(model="claude-haiku-5-5", found=14)
    monkeypatch.setattr("kept.web.api.settings.try_models", lambda _, models: tried.append(models) or (score,))
    page.get_by_role("button", name="Take the trial now").click()
    with page.expect_response("**/api/model/trial"):
        page.get_by_role("dialog").get_by_role("button", name="Ask the ten questions").click()
    assert tried == [("claude-haiku-5-5",)]
    page.get_by_role("button", name="Ask none").click()
    page.get_by_text("No language model is asked.").wait_for()
    assert served.ask("PUT", "/api/model", {"title": "https://evil.example"})[0] == 404


def test_hostile_and_long_values_are_shown_as_text_within_the_page_and_a_broken_file_is_mended_there(browse, home):
    own(
        home,
        f"""# {EVIL}\nexclude = ['{EVIL}', '{"x" * 300}']\n[llm]\nmodel = '{EVIL}'\n[projects]
'/{EVIL}' = '/y'
[[use]]\nprofile = "vault"\nprojects = ['{EVIL}']\n""",
    )
    page = browse("/settings")
    assert page.get_by_label("Model", exact=True).input_value() == EVIL
    assert EVIL in page.locator("#s-use").inner_text()
    assert EVIL in page.locator("#s-projects").text_content()
    assert EVIL in page.get_by_label("The settings file").input_value()
    assert page.locator("img").count() == 0
    assert page.locator("label:not([for]):not(.check)").count() == 0
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#s-use").get_by_role("button", name="Take out").click()
    assert EVIL in page.get_by_role("dialog").inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Take it out").click()
    page.locator("#s-use", has_text="None.").wait_for()
    page.watched.expected.append("409")  # what a page asks for while its file breaks
    own(home, '[llm]\nadapter = "telepathy"\n')
    page.reload()
    assert "telepathy" in page.get_by_role("alert").inner_text()
    page.get_by_label("The settings file").fill('[llm]\nadapter = "none"\n')
    page.get_by_role("button", name="Save the file").click()
    page.locator("#s-llm-adapter").wait_for(state="attached")


def test_what_names_a_program_is_shown_and_has_no_field(served, home):
    own(home, '[llm]\nadapter = "command"\ncommand = "walnut --json"\n')
    (row,) = re.findall(r'id="s-llm-command".*?</li>', served.ask("GET", "/settings")[2], re.DOTALL)
    assert row.count("walnut --json") == 2
    assert "kept config set llm.command &#39;walnut --json&#39;" in row
    assert not re.search("data-setting|<input|<textarea|<select", row)
