"""The story of a memory in a real browser: whose words it rests on, in their conversation, what happened to it, and the way
back.
"""

import json
import os
import re
from importlib.resources import files
from pathlib import Path

import pytest

from kept.core.event import Origin
from kept.core.memory import Status
from kept.core.value import replace
from kept.memories.browse import find_main_evidence, format_author, trace_memory
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.web.pages.story import find_next_starts
from kept.workspace import open_workspace
from talking import say

RULE = "In this project we always write dates as ISO 8601 in UTC, never in local time."


@pytest.fixture
def told(served):
    """A memory out of a conversation."""
    path, records = served.home / "sessions" / "s1.jsonl", []
    for number, (role, words) in enumerate(
        (
            ("user", "Good morning, please look at the export."),
            ("assistant", "The export writes local times."),
            ("user", f"{RULE} Please mend it <b>now</b>."),
            ("assistant", "Mended: all dates are in UTC."),
        )
    ):
        records.append(
            {
                "type": role,
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "sessionId": "s1",
                "cwd": "/home/u/harbor",
                "isSidechain": False,
                "userType": "external",
                "timestamp": f"2026-01-05T10:0{number}:00.000Z",
                "message": {"role": role, "content": words if role == "user" else [{"type": "text", "text": words}]},
            }
        )
    path.parent.mkdir()
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    with open_workspace(find_paths(str(served.home), os.environ)) as workspace:
        run_pipeline(workspace, [path], RunOptions())
    return served.memory("ISO 8601")


def test_it_shows_the_words_it_rests_on_in_their_conversation(told, served):
    text = served.ask("GET", f"/memories/{told.id}")[2]
    assert re.search(rf"<h1[^>]*>{told.content}</h1>", text)
    turns = re.split(r'<div class="turn(?!s)', text)[1:]
    assert "please look at the export." in turns[0]
    assert "The export writes local times." in turns[1]
    assert turns[2].startswith(" cited")
    assert "<mark>In this project we always" in turns[2]
    assert "you · " in turns[2]
    assert "&lt;b&gt;now&lt;/b&gt;" in turns[2]


def test_a_story_shows_more_of_the_conversation_what_an_edit_changed_what_an_undo_would_do_and_leads_back(told, served, browse):
    page = browse("/?q=dates")
    page.get_by_role("link", name="In this project we always").click()
    page.get_by_role("button", name="More of the conversation").click()
    page.locator("[data-row$='around=10']").wait_for()
    assert page.get_by_role("button", name="More of the conversation").count() == 0  # it is whole
    assert page.locator(".where code").count() == 0  # the file is called as its session
    assert "Mended" in page.locator(".turns").inner_text()
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("In this project dates are ISO 8601 in UTC.")
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="In this project dates are").wait_for()
    page.locator(".timeline del").first.wait_for()
    assert "Changed by you" in page.locator(".timeline").inner_text()
    page.locator(".timeline li").first.get_by_role("button", name="Undo").click()
    dialog = page.locator("dialog[open]")
    dialog.locator("ins").first.wait_for()
    dialog.get_by_role("button", name="Undo").click()
    page.locator("h1", has_text="never in local time").wait_for()
    assert served.memory("never in local time").content == told.content
    page.locator(".timeline .tag", has_text="undone").wait_for()
    page.get_by_role("button", name="Redo").click()
    page.locator("h1", has_text="In this project dates are").wait_for()
    page.locator(".timeline li").last.get_by_role("button", name="Undo").click()
    dialog.get_by_text("will not be remembered").wait_for()
    page.keyboard.press("Escape")  # a look changes nothing
    assert served.memory("ISO 8601").status is Status.ACTIVE
    page.get_by_role("link", name="← Memories").click()
    page.wait_for_url("**/?q=dates")


def test_what_a_person_told_directly_or_an_agent_proposed_says_so_and_counts_no_conversation(served):
    text = served.ask("GET", f"/memories/{served.add('Ship the walnuts on Monday.').id}")[2]
    assert "You told kept this yourself on" in text
    assert not [words for words in ("1 conversation", "the user", ">Resolve") if words in text]
    text = served.ask("GET", f"/memories/{served.hold('Store the almonds dry.').id}")[2]
    assert "An agent suggested this on" in text
    assert re.search(r'<a href="/review"[^>]* aria-current="page">Review', text)
    assert "← Review</a>" in text
    assert re.findall("<strong>([^<]+)", text[text.index('class="timeline"') :]) == ["Proposed"]


def test_words_that_stand_near_each_other_are_marked_in_one_conversation(served):
    path = Path(str(files("kept"))) / "sample"
    with open_workspace(find_paths(str(served.home), os.environ)) as workspace:
        run_pipeline(workspace, sorted(path.rglob("*.jsonl")), RunOptions())
    memory = served.memory("ModuleNotFoundError")  # a fix rests on what failed, what was changed and what passed
    assert len(memory.evidence) == 3
    text = served.ask("GET", f"/memories/{memory.id}")[2]
    assert (text.count("<article"), len(re.findall(r'class="turn cited', text))) == (1, 3)
    assert "Where it is shown</h2>" in served.ask("GET", f"/memories/{memory.id}/routes")[2]


def test_a_memory_says_whether_the_next_session_is_told_it_and_why_not(served, home):
    told, waits = served.add("The walnut harvest is on Tuesday."), served.hold("Never ship walnuts on a Friday.")
    served.ask("POST", f"/api/memories/{told.id}/pin", {})
    text = served.ask("GET", f"/memories/{told.id}/routes")[2]
    assert "sees it at its start</strong>: it is in" in text
    assert "memory.md" in text
    routes = served.ask("GET", f"/memories/{waits.id}/routes")[2]
    assert "does not see it at its start</strong>: it is held for your decision" in routes


def test_a_memory_that_is_moved_to_another_project_is_shown_there(served, home, browse):
    say(home, "a", "hello there", cwd="/x/harbor", day="2026-01-06")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    made = served.add("The lamp is on port 8731.")
    page = browse(f"/memories/{made.id}")
    page.keyboard.press("e")
    page.get_by_label("Project").select_option(label="harbor")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(lambda address: not address.endswith(made.id))
    assert page.locator("h1").inner_text() == "The lamp is on port 8731."
    assert "superseded" not in page.locator(".head-row").inner_text()


def test_the_words_of_a_correction_are_said_to_be_the_persons_own_and_of_that_day(told, served):
    assert "You worded it yourself" not in served.ask("GET", f"/memories/{told.id}/rest")[2]
    undo = served.ask("PATCH", f"/api/memories/{told.id}", {"content": "Write dates as day month year."})[2]["undo"]
    page = served.ask("GET", f"/memories/{told.id}/rest")[2]
    assert page.index("You worded it yourself on") < page.index("last seen 2026-01-05") < page.index("The words below are")
    assert "by you" in page
    assert "edited by you" not in page  # "Changed by you" says it
    assert ">yours<" in served.ask("GET", f"/memories/{told.id}/head")[2]
    served.ask("POST", "/api/undo", {"what": undo})
    assert "You worded it yourself" not in served.ask("GET", f"/memories/{told.id}/rest")[2]
    served.ask("POST", f"/api/memories/{told.id}/retire", {"reason": "It was a request for one day."})
    assert ">yours<" not in served.ask("GET", f"/memories/{told.id}/head")[2]  # what is wrong is not theirs


def test_a_sentence_of_the_assistant_beside_what_the_person_pasted_is_said_to_be_the_assistants(told, served):
    pasted, answer, confirmed = (
        replace(told.evidence[0], quote=quote, author=author, origin=origin)
        for quote, author, origin in (
            ("2025/01/29 [crit] connect() failed (13: Permission denied)", "human", Origin.TOOL),
            ("We use `--umask 0117`, as `-m` does not work.", "assistant", Origin.ASSISTANT),
            ("nice, now it works", "human", Origin.USER),
        )
    )
    memory = replace(told, content="We use `--umask 0117`, as `-m` does not work.", evidence=(pasted, answer, confirmed))
    source = find_main_evidence(memory)
    assert (source, format_author(source)) == (answer, "the assistant")
    assert [format_author(each) for each in (pasted, confirmed)] == ["pasted by you", "you"]
    with served.workspace() as workspace:
        assert trace_memory(workspace, memory, context=1).evidence[0][0] == answer


def test_a_moved_memory_leads_to_where_it_went_and_is_seen_as_that(served, home):
    say(home, "a", "hello there", cwd="/x/harbor", day="2026-01-06")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        scope = next(scope for scope, name in workspace.scope_names().items() if name == "harbor")
    made = served.add("The lamp is on port 8731.")
    served.ask("PATCH", f"/api/memories/{made.id}", {"scope": scope})
    with served.workspace() as workspace:
        new = workspace.store.log.memory(made.id).superseded_by
        (start,) = find_next_starts(workspace, [workspace.store.log.memory(made.id)])
        assert start == find_next_starts(workspace, [workspace.store.log.memory(new)])[0]
    row = served.ask("GET", f"/memories/{made.id}/row")[2]
    assert f'<a href="/memories/{new}">moved to harbor by you</a>' in row
