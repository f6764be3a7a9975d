"""Runs in the browser and over the API: begun, followed, told, stopped, taken back; what a guard stopped needs a person's word."""

import json
import os
from functools import partial

import pytest

from kept.core.errors import BusyError
from kept.core.memory import Actor
from kept.memories import person
from kept.memories.waiting import list_pending_proposals
from kept.paths import find_paths
from kept.pipeline.nightly import run_nightly
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import list_runs, list_stopped_groups
from kept.store.values import GUARD, Draft
from kept.web.background import BackgroundRun
from kept.workspace import open_workspace

LONG = 600  # seconds: a run takes less than one
EVIL = "<img src=x onerror=alert(1)>"

TOTALS = "Our reports should show the totals without any rounding, so that the auditors can compare all with the lists of the bank."


def transcript(home, *prompts, name="s1"):
    """A Claude Code session in which a person says each prompt."""
    path = home / ".claude" / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "type": "user",
            "uuid": f"{name}-{number}",
            "parentUuid": None,
            "sessionId": name,
            "cwd": "/x/harbour",
            "timestamp": f"2026-01-05T10:0{number}:00.000Z",
            "message": {"role": "user", "content": words},
        }
        for number, words in enumerate(prompts)
    ]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))


def over(served):
    """The run that the page has under way, once it is over."""
    served.background_run.wait(LONG)
    return served.ask("GET", "/api/runs/now")[2]


RULE = "Never use pip in this repo, always use `uv sync` instead."


def test_a_run_is_begun_followed_and_told_and_stands_in_the_list(served, home):
    transcript(home, RULE)
    status, _, now = served.ask("POST", "/api/runs", {})
    assert (status, now["number"]) == (202, 1)
    done = over(served)
    assert (done["problem"], done["report"]["sessions"]) == ("", 1)
    page = served.ask("GET", "/history")[2]
    assert "A run: 1 added" in page
    assert "A guard stopped" not in page


def test_a_trial_run_changes_nothing(served, home):
    transcript(home, RULE)
    served.ask("POST", "/api/runs", {"dry": True})
    assert over(served)["dry"]
    with served.workspace() as workspace:
        assert workspace.store.log.memories() == ()


def test_what_a_guard_stopped_is_told_and_let_through_only_with_a_persons_word(served, home):
    transcript(home, RULE)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
        (memory,) = workspace.store.log.memories()
        number = workspace.store.log.start_run("run", workspace.clock())
        subject = f"{memory.profile} · {memory.scope}"
        note = f"stopped by the guard: it would lose {EVIL}"
        workspace.store.log.commit(
            Draft(run=number, stage=GUARD, subject=subject, actor=Actor.MACHINE, recorded_at=workspace.clock(), note=note)
        )
        assert list_stopped_groups(workspace) == ()  # nothing waits there any more
    transcript(home, RULE, "In this project we always write dates as ISO 8601 in UTC, never in local time.", name="s2")
    with served.workspace() as workspace:
        workspace.store.log.groups_to_curate = lambda: ((memory.profile, memory.scope),)
        (stop,) = list_stopped_groups(workspace)
        assert (stop.scope, stop.why) == (memory.scope, f"it would lose {EVIL}")
    status, _, problem = served.ask("POST", "/api/runs", {"allow": True})
    assert status == 409
    assert "confirmation" in problem["error"]
    assert served.ask("GET", "/api/runs/now")[2]["number"] == 0
    assert served.ask("POST", "/api/runs", {"allow": True, "confirm": True})[0] == 202
    assert over(served)["problem"] == ""


@pytest.mark.parametrize(
    ("body", "status"), [({"since": "2026-02-01", "until": "2026-01-01"}, 409), ({"since": "soon"}, 422), ({"spam": 1}, 422)]
)
def test_a_run_that_makes_no_sense_is_not_begun(served, body, status):
    assert served.ask("POST", "/api/runs", body)[0] == status
    assert not served.ask("GET", "/api/runs/now")[2]["running"]


def test_one_run_at_a_time_and_a_stopped_one_says_so(home, monkeypatch):
    work, began = BackgroundRun(), []

    def endless(workspace, paths, options, *, progress):
        began.append(options)
        while True:
            progress("reading", len(began), 9)

    class Workspace:
        llm = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    monkeypatch.setattr("kept.web.background.run_pipeline", endless)
    work.start(find_paths(str(home), os.environ), Workspace, RunOptions())
    with pytest.raises(BusyError):
        work.start(find_paths(str(home), os.environ), Workspace, RunOptions())
    work.stop()
    now = work.wait(LONG)
    assert (now.running, now.stopped, len(began)) == (False, True, 1)
    assert "the next run continues from there" in now.problem


def test_in_the_browser_a_run_reads_the_chosen_transcripts_is_told_and_is_taken_back_and_brought_back(browse, served, home):
    transcript(home, RULE)
    transcript(home, "From now on always sign commits with the harbour key.", name="s2")
    page = browse("/history")
    page.get_by_role("heading", name="Nothing has happened yet").wait_for()
    page.get_by_text("Which sessions").click()
    page.get_by_text("2 transcripts").wait_for()
    page.get_by_text("Only some of claude-code").click()
    page.get_by_role("checkbox", name="claude-code").first.uncheck()
    page.get_by_role("checkbox", name="s2.jsonl").check()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("1 session, 1 new event").wait_for()
    assert page.get_by_text("Under way.").count() == 0
    with served.workspace() as workspace:
        (memory,) = workspace.store.log.memories()
        assert memory.content == "From now on always sign commits with the harbour key."
    page.reload()  # the list is drawn anew only where the run was seen to end
    row = page.locator(".row", has_text="run: 1 added")
    row.wait_for()
    row.hover()
    row.get_by_role("button", name="Undo").first.click()
    page.get_by_role("button", name="Undo it").click()
    page.locator(".row.gone", has_text="run: 1 added").wait_for()
    with served.workspace() as workspace:
        assert not [each for each in workspace.store.log.memories() if each.status == "active"]
        assert any(each.undone for each in list_runs(workspace, 5))
    page.locator(".row.gone").hover()
    page.locator(".row.gone").get_by_role("button", name="Redo").first.click()
    page.locator(".row:not(.gone)", has_text="run: 1 added").wait_for()
    with served.workspace() as workspace:
        assert [each for each in workspace.store.log.memories() if each.status == "active"]


def test_the_history_tells_in_words_what_entered_changed_and_left_and_compares_two_dates(browse, served):
    for number in range(6):
        served.add(f"The harbour has {number} docks.", "project_fact")
    memory = served.add("Releases go out on Tuesdays only.")
    with served.workspace() as workspace:
        person.edit(workspace, memory.id, "Releases go out on Fridays only.")
        person.retire(workspace, memory.id, "no more releases")
        today = workspace.clock().astimezone(workspace.zone).date().isoformat()
    page = browse("/history")
    assert page.locator("#runs .day h2").all_inner_texts() == [today]
    assert page.locator(".row:visible").count() == 0
    page.locator("summary", has_text="You: 7 added").click()  # many changes one after the other are one entry
    assert page.locator(".row:visible").count() == 9
    told = page.locator(".row .told").all_inner_texts()
    assert ["no more releases" in told[0], "Releases" in told[1]] == [True, True]
    assert page.locator(".row").nth(1).locator("del").inner_text() == "Tuesdays"
    assert page.locator(".row").nth(1).locator("ins").inner_text() == "Fridays"
    row = page.locator(".row", has_text="Releases go out on Tuesdays only.").last
    row.focus()
    page.keyboard.press("Enter")
    row.locator("details[open]", has_text="Pass").wait_for()
    row.locator("details .told").get_by_text("Releases go out on Tuesdays only.").wait_for()
    page.get_by_text("Compare two dates").click()
    page.get_by_label("From", exact=True).fill("2026-01-01")
    page.get_by_role("button", name="Compare").click()
    page.locator("#compared").get_by_text("The harbour has 5 docks.").wait_for()


def test_in_the_browser_what_a_guard_stopped_is_shown_as_text_and_asked_about(browse, served, home, monkeypatch):
    monkeypatch.setattr("kept.web.pages.runs.list_stopped_groups", lambda _: (Waiting(),))
    page = browse("/history")
    notice = page.locator(".stop")
    notice.wait_for()
    assert EVIL in notice.inner_text()
    page.get_by_role("button", name="Allow the loss").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert served.ask("GET", "/api/runs/now")[2]["number"] == 0
    page.get_by_role("button", name="Allow the loss").click()
    page.get_by_role("dialog").get_by_role("button", name="Allow the loss").click()
    page.get_by_role("heading", name="The last run").wait_for()


class Waiting:
    """A stop with hostile words."""

    scope, profile, why = "user", "coding", f"it would lose {EVIL}"

    @property
    def at(self):
        return None


def test_the_list_is_told_whatever_a_run_reported(served):
    served.add("The walnut harvest is on Tuesday.")
    with served.workspace() as workspace:
        workspace.store.log.start_run("run", workspace.clock())  # cut short: it has no report
    assert "cut short" in served.ask("GET", "/history/list")[2]


def test_what_was_decided_on_a_proposal_and_its_undo_are_told_as_what_they_were(served, home):
    transcript(home, TOTALS)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        number = list_pending_proposals(workspace)[0].memory.id
    undo = served.ask("POST", f"/api/memories/{number}/reject", {})[2]["undo"]
    assert "You: 1 rejected" in served.ask("GET", "/history")[2]
    assert served.ask("POST", "/api/undo", {"what": undo})[2]["said"].endswith("…” – held again")
    assert "You undid: a change: 1 held again" in served.ask("GET", "/history")[2]
    served.ask("POST", f"/api/memories/{number}/approve", {})
    assert "You: 1 kept" in served.ask("GET", "/history")[2]
    assert "right after all" not in served.ask("GET", "/history")[2]


def test_a_run_that_was_stopped_goes_on_as_it_was_begun(home, monkeypatch):
    stops, asked = [True, False], []

    def run(_workspace, _paths, options, **_):
        asked.append(options)
        if stops.pop(0):
            raise KeyboardInterrupt
        raise BusyError("the second came to its end")

    monkeypatch.setattr("kept.web.background.run_pipeline", run)
    runs, home_paths = BackgroundRun(), find_paths(str(home), os.environ)
    chosen = RunOptions(only=frozenset({"codex"}))
    for options in (chosen, None):
        runs.start(home_paths, partial(open_workspace, home_paths), options)
        runs.wait(LONG)
    assert asked == [chosen, chosen]


def test_a_run_that_was_cut_short_is_offered_to_go_on(served, home):
    transcript(home, RULE)
    with served.workspace() as workspace:
        workspace.store.log.start_run("run", workspace.clock())
    assert "Continue</button>" in served.ask("GET", "/history")[2]
    served.ask("POST", "/api/runs", {})
    over(served)
    assert "Continue</button>" not in served.ask("GET", "/history")[2]


def test_what_the_last_night_did_stands_in_history_and_is_linked_from_where_it_is_named(served, home):
    transcript(home, RULE)
    with served.workspace() as workspace:
        run_nightly(workspace)
    text = served.ask("GET", "/history")[2]
    assert "The night: 1 added" in text
    night = text[text.index('id="night"') :].partition("</details>")[0]
    assert "The last night, " in night
    assert "<dt>Read what is new</dt><dd>1 file with something new</dd>" in night
    assert [word for word in ("discover", "curate", "render", "vectors", "sessions 1:") if word in night] == []
    with served.workspace() as workspace:  # one in which nothing was new
        run_nightly(workspace)
    assert "nothing to change" in served.ask("GET", "/history")[2]
    for path in ("/overview", "/settings/night"):
        assert 'href="/history#night"' in served.ask("GET", path)[2]


def test_the_sessions_to_choose_from_say_which_were_read_before(served, home):
    transcript(home, RULE)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    path = home / ".claude" / "projects" / "p" / "s1.jsonl"
    os.utime(path, (1, 1))  # another stamp, the same words
    transcript(home, "From now on always sign commits with the harbour key.", name="s2")
    told = served.ask("GET", "/history/new")[2]
    assert "1 transcript not read to the end" in told
    assert "; 1 read before" in told
    assert told.index("s2.jsonl") < told.index("s1.jsonl") < told.index(">read before<")
    assert told.count(">read before<") == 1


def test_a_part_that_changed_no_memory_does_not_take_the_mark_off_an_undone_run(served, home):
    transcript(home, RULE)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        (run,) = list_runs(workspace, 5)
        part = next(each for each in run.passes if not each.operations)
    question = served.ask("GET", "/history")[2]
    assert "The sessions it read still count as read" in question
    served.ask("POST", "/api/undo", {"what": f"r{run.run.id}"})
    assert served.ask("POST", "/api/redo", {"what": str(part.made.id)})[2]["said"] == "no memory changed"
    row = served.ask("GET", f"/history/{run.run.id}/row")[2]
    assert '<span class="tag">undone</span>' in row
    assert "Its sessions still count as read" in row
    assert (row.count(">Redo</button>"), row.count(">Undo</button>")) == (1, 0)
