"""What would be put before a session, in the browser: typed, shown with reasons and tokens, what was left out with why."""

import re

from kept.install.setup import install_hooks, plan_hooks
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from talking import say

FIX = "`deploy.sh` fails with `EACCES`: run `chmod +x deploy.sh` in the `harbor` checkout first."


def test_a_message_shows_what_would_be_put_before_it_and_why(browse, served):
    served.add(FIX, "known_fix")
    served.add("Answer in short sentences.", "preference")
    page = browse("/context")
    page.get_by_role("link", name="Answer in short sentences.").wait_for()
    page.get_by_label("Message").fill("deploy.sh fails in the harbor checkout, with EACCES and chmod")
    line = page.locator("#shown li", has_text="chmod +x")
    line.wait_for()
    assert "with the message" in line.inner_text()
    assert "tokens" in line.inner_text()
    assert "message=" in page.url


def test_it_says_where_nothing_is_about_the_message(served):
    served.add("Answer in short sentences.", "preference")
    assert (
        "about this message in particular" in served.ask("GET", "/context?message=Who%20pays%20for%20the%20walnut%20harvest%3F")[2]
    )
    assert "about this message" not in served.ask("GET", "/context")[2]


def test_what_is_left_out_is_told_with_the_reason(served):
    for number in range(12):
        served.add(
            f"Rule number {number}: check the walnut sorter in hall {number} before the shift of team {number} begins.",
            "preference",
        )
    text = served.ask("GET", "/context?budget=200")[2]
    assert re.search("<summary>[^<]*over the budget", text)
    assert re.search('role="status">[^<]* of 200', text)


def test_what_is_near_but_not_near_enough_is_told_with_what_it_shares(served):
    served.add("Keep the sorting crew away from the walnut harvest until the scales are tared.", "convention")
    text = served.ask("GET", "/context?message=Who%20pays%20for%20the%20walnut%20bread%3F")[2]
    assert "<h2>Nothing would be added" in text
    near = text[text.index("not relevant enough") :]
    assert "which is too little" in near[near.index("sorting crew") :].partition("</li>")[0]


def test_what_a_session_starts_with_stays_while_a_message_is_typed(served):
    made = served.add("Never ship walnuts on a Friday.", "constraint")
    served.ask("POST", f"/api/memories/{made.id}/pin", {})
    text = served.ask("GET", "/context?project=&message=Ship%20the%20walnuts")[2]
    start, _, rest = text.partition("<h2>Nothing would be added")
    assert "A session starts with 1 memory" in start
    assert rest
    assert re.findall("<mark>(.*?)</mark>", start.partition("</section>")[0]) == ["ship", "walnuts"]


def test_markup_in_a_message_and_in_a_memory_is_only_words(served):
    served.add("Answer <img src=x onerror=alert(1)> in short.", "preference")
    text = served.ask("GET", "/context?message=%3Cscript%3Ealert(1)%3C/script%3E%3C/textarea%3E%3Cimg%20src=x%3E")[2]
    assert not re.search(r"<img|<script>|<script [^s]", text)
    assert ">&lt;script&gt;alert(1)&lt;/script&gt;&lt;/textarea&gt;" in text


def test_it_opens_on_the_project_that_was_worked_on_last(served, home):
    say(home, "a", "hello there", cwd="/x/harbor", day="2026-01-06")
    say(home, "b", "hello there", cwd="/x/anchor", day="2026-01-05")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    served.add("Answer in short sentences.", "preference")
    assert re.findall("<option[^>]* selected[^>]*>([^<]*)", served.ask("GET", "/context")[2])[0].strip() == "harbor"


def test_what_stands_in_the_file_that_a_session_reads_is_shown_as_read(served):
    made = served.add("Never ship walnuts on a Friday.", "constraint")
    served.ask("POST", f"/api/memories/{made.id}/pin", {})
    text = served.ask("GET", "/context?project=")[2]
    assert text.index("A session starts with 1 memory") < text.index("Never ship walnuts")
    assert "shown earlier in this session" not in text


def test_lines_of_other_projects_in_the_file_that_a_session_reads_whole_are_counted(served, home):
    for number, name in enumerate(("harbor", "anchor")):
        say(home, name, "hello there", cwd=f"/x/{name}", day=f"2026-01-0{number + 5}")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        scope = workspace.scope("/x/anchor")
    for words in ("Never ship walnuts on a Friday.", "Tare the scales before each harvest."):
        made = served.add(words, "constraint", scope=scope)
        served.ask("POST", f"/api/memories/{made.id}/pin", {})
    assert "Of other projects" not in served.ask("GET", "/context?project=/x/anchor")[2]
    told = served.ask("GET", "/context?project=/x/harbor")[2]
    assert "and 2 lines of other projects</h2>" in told
    assert told.count('<ol class="seen"') == 1
    assert "Never ship walnuts" in told.partition("Of other projects")[2]
    assert "Tare the scales" in told.partition("Of other projects")[2]


def test_lines_that_a_session_reads_are_numbered_on_through_projects_each_with_its_reason(served, home):
    for number, name in enumerate(("harbor", "anchor")):
        say(home, name, f"From now on write the {name} log in the past tense.", cwd=f"/x/{name}", day=f"2026-01-0{number + 5}")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
        scope = workspace.scope("/x/anchor")
    made = served.add("Never ship walnuts on a Friday.", "constraint", scope=scope)
    served.ask("POST", f"/api/memories/{made.id}/pin", {})
    told = served.ask("GET", "/context?project=/x/harbor")[2]
    assert re.findall(r'<ol class="seen" start="(\d+)">', told) == ["1", "2"]
    assert re.findall(r"· (pinned|you told it|you kept it|weighs enough) ·", told) == ["you told it", "pinned", "you told it"]


def count_lines_of_the_start(served, memory):
    """What three pages say of the next session in the harbor: how many memories it starts with, twice, and whether it sees one."""
    heading = re.search(r"<h2>A session in harbor starts with (\d+)", served.ask("GET", "/context?project=/x/harbor")[2])
    counted = re.search(r">harbor</a></th><td class=\"num\">\d+</td><td class=\"num\">(\d+)", served.ask("GET", "/overview")[2])
    routes = served.ask("GET", f"/memories/{memory.id}/routes")[2]
    return heading[1], counted[1], "</strong>: a hook puts it there" in routes


def test_pages_agree_on_what_a_session_sees_with_a_hook_and_without(served, home):
    say(home, "a", "From now on write dates as ISO 8601 in this project.", cwd="/x/harbor")
    (home / ".claude" / "settings.json").write_text("{}")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    made = served.add("Moor the ferry at pier 5 only.", "constraint", project="/x/harbor")  # after the file was written
    assert count_lines_of_the_start(served, made) == ("1", "1", False)
    text = served.ask("GET", "/context?project=/x/harbor&message=ferry")[2]
    assert "No hook is installed in Claude Code" in text
    assert "With this message a hook, which is not installed, would add" in text
    paths = find_paths(None, {"HOME": str(home)})
    install_hooks(paths, plan_hooks(paths))
    assert count_lines_of_the_start(served, made) == ("2", "2", True)
