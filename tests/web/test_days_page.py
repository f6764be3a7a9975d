"""Days in the browser: a calendar that leads to each day, and what the day was; a journal in it never runs."""

import json
import re

from kept.pipeline.run import RunOptions, run_pipeline
from talking import say as talk

PROMPT = "In this project we always write dates as ISO 8601 in UTC, never in local time."


def say(home, prompt=PROMPT, day="2026-01-05"):
    path = home / ".claude" / "projects" / "p" / f"{day}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "type": role,
            "uuid": f"{day}-{role}",
            "parentUuid": None,
            "sessionId": day,
            "cwd": "/x/harbor",
            "timestamp": f"{day}T10:00:00.000Z",
            "message": {"role": role, "content": words, "id": f"{day}-{role}"},
        }
        for role, words in (("user", prompt), ("assistant", [{"type": "text", "text": "Done."}]))
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def test_the_calendar_opens_where_something_happened_and_leads_to_the_day(served):
    say(served.home)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
        today = workspace.clock().astimezone(workspace.zone).date().isoformat()
    text = served.ask("GET", "/days")[2]
    assert "January 2026</h" in text
    assert re.search(r'<td[^>]*>\s*<a href="/days/2026-01-05"', text)
    assert re.search(rf'href="/days\?month={today[:7]}[^"]*"[^>]*>Today<', text)
    assert ' today"' in served.ask("GET", f"/days?month={today[:7]}")[2]
    text = served.ask("GET", "/days/2026-01-05")[2]
    assert "Monday, 5 January 2026</h1>" in text
    assert f">{PROMPT}</a>" in text
    assert re.search(r"<section.*harbor", text, re.DOTALL)


def test_a_journal_entry_is_shown_as_text_of_its_own_and_nothing_in_it_runs_or_leads_away(served):
    say(served.home)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions())
    folder = served.home / "journal"
    folder.mkdir(exist_ok=True)
    evil = (
        "# A day\n\n<script>alert(1)</script> ![x](http://example.org/x.png) [go](javascript:alert(2)) **bold** <b "
        "onclick=alert(3)>b</b>\n"
    )
    (folder / "2026-01-05.md").write_text(evil)
    text = served.ask("GET", "/days/2026-01-05")[2]
    prose = text[text.index('<article class="prose') :].partition("</article>")[0]
    assert "<strong>bold</strong>" in prose
    assert not re.search("<(script|img|a|b)[ >]", prose)
    assert "onclick" in prose


def test_a_month_and_a_day_of_one_project_tell_what_was_decided_and_worked_on_there_alone(served, home):
    talk(home, "one", PROMPT, cwd="/x/harbor", day="2026-01-05")
    talk(home, "two", "In this project we always ship on Fridays, never on Mondays.", cwd="/x/barn", day="2026-01-06")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        scopes = {name: scope for scope, name in workspace.scope_names().items()}
    every = served.ask("GET", "/days?month=2026-01")[2]
    assert (every.count("1 session<"), "Fridays" in every) == (2, False)
    month = served.ask("GET", f"/days?month=2026-01&project={scopes['barn']}")[2]
    assert (month.count("<span>1 session</span>"), "ISO 8601" in month) == (1, False)
    assert month.index("<h2>Worked on") > month.index("Fridays")
    assert f"/days/2026-01-06?project={scopes['barn'].replace(':', '%3A')}" in month
    assert "Fridays" not in served.ask("GET", f"/days/2026-01-06?project={scopes['harbor']}")[2]
    assert "Fridays" in served.ask("GET", f"/days/2026-01-06?project={scopes['barn']}")[2]
    assert served.ask("GET", "/days?project=nowhere")[0] == 404


def test_a_day_tells_what_was_said_then_and_what_holds_now(served, home):
    talk(home, "one", "We decided to keep the lamp readings in Postgres, because two people edit them.", day="2026-01-05")
    talk(home, "two", PROMPT, day="2026-01-05")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    served.ask("PATCH", f"/api/memories/{served.memory('ISO 8601').id}", {"content": "Write dates as day month year."})
    served.ask("POST", f"/api/memories/{served.memory('Postgres').id}/retire", {"reason": "SQLite since"})
    told = served.ask("GET", "/days/2026-01-05")[2]
    changed = told[told.rindex("<s>", 0, told.index("<p>now: ")) :]
    then, now = changed.index("ISO 8601 in UTC"), changed.index(">Write dates as day month year.</a>")
    assert changed.index("<s>") < then < changed.index("</s>") < changed.index("<p>now: ") < now
    decided = told[told.index("<h2>Decided") :]
    assert decided.index("no longer holds") < decided.index("Postgres, because")


def test_a_month_or_day_that_is_none_is_told(served):
    assert served.ask("GET", "/days?month=soon")[0] == 409
    assert served.ask("GET", "/days/2026-02-31")[0] == 409


def test_what_was_so_and_a_rule_in_new_words_count_on_their_days_in_the_cells_and_in_the_list(served, home):
    talk(home, "one", "From now on write commit messages in the imperative.", cwd="/x/barn", day="2026-01-05")
    talk(home, "two", "We decided to keep the readings in Postgres, because two people edit them.", cwd="/x/barn", day="2026-01-05")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        today = workspace.clock().astimezone(workspace.zone).date().isoformat()
        (scope,) = (scope for scope, name in workspace.scope_names().items() if name == "barn")
    served.ask("PATCH", f"/api/memories/{served.memory('imperative').id}", {"content": "Write commits in the past tense."})
    served.ask("POST", f"/api/memories/{served.memory('Postgres').id}/retire", {"reason": "it was so then and is no more"})
    pages = [
        served.ask("GET", f"/days{at}project={scope}")[2]
        for at in ("?month=2026-01&", "/2026-01-05?", f"?month={today[:7]}&", f"/{today}?")
    ]
    decided = [page[page.index("<h2>Decided") :].split("</section>")[0] for page in pages]
    assert ["Postgres" in part for part in decided] == [True, True, False, False]
    assert ["2 decided<" in pages[0], "1 decided<" in pages[2]] == [True, True]
    assert [part.count("<li>") for part in decided] == [2, 2, 1, 1]
    for part in decided[2:]:
        assert part.index("past tense") < part.index("before: <s>") < part.index("imperative") < part.index(today)
    assert "<h2>Confirmed" not in pages[3]


def test_a_day_shows_each_sentence_once_folds_what_its_sessions_repeat_and_leads_to_the_next_by_a_key(browse, served, home):
    task = "Rename the lamp table to lamps, and then run the tests of the harbor."
    for session in ("one", "two", "three", "four"):
        talk(home, session, PROMPT, task)
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    page = browse("/days/2026-01-05")
    shown = page.locator("main").inner_text()
    assert (shown.count("ISO 8601"), shown.count("Rename the lamp table"), shown.count("in the words used then")) == (1, 1, 1)
    page.locator(".sessions summary").first.click()
    assert page.locator("main").inner_text().count("Rename the lamp table") == 2
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/days/2026-01-06")
    page.get_by_role("heading", name="Nothing happened").wait_for()
