"""The card, the notes of days, the pages, the rules of projects: what they say, how edits come back, and that nothing else
changes.
"""

from datetime import date

import pytest

from kept.core.memory import Status
from kept.memories.person import create_memory, retire
from kept.outputs.routing import extracted_between, routes_by_memory
from kept.outputs.write import FileState, file_states
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import read_profile_text
from kept.profiles.profile import OutputPlace
from talking import OTHER, RULE, say

NOTE = """\
# 2026-02-10 Log

### People
- **Ana** - runs the allotment society, answers mail on Sundays

### Lessons
- Never send files over 10 MB to the upload API in `upload.py`.
- Always pass `parent_id` when answering in `forum.py`.
"""
LATER = """\
# 2026-02-11 Log

### Lessons
- Always check the size in `upload.py` before sending.
- **Lesson:** Never retry a post in `upload.py` that returned an id.
"""


@pytest.fixture
def agent_folder(home):
    """An agent's workspace with two daily notes of its own, remembered by the profile `workspace`."""
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "workspace"\n')
    folder = home / ".openclaw" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-02-10.md").write_text(NOTE)
    (folder / "memory" / "2026-02-11.md").write_text(LATER)
    return folder


def active(workspace):
    return {each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE}


def test_a_days_note_keeps_what_the_agent_wrote_and_gets_what_was_learnt_on_the_day(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    text = (agent_folder / "memory" / "2026-02-10.md").read_text()
    assert text.startswith(NOTE)
    assert "- Never send files over 10 MB to the upload API in `upload.py`. (2026-02-10)" in text
    assert "Never retry" not in text


def test_what_kept_wrote_into_a_note_is_not_read_as_a_note(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = {each.id: each.observations for each in workspace.store.log.memories()}
        second = run_pipeline(workspace, [], RunOptions())
        assert {each.id: each.observations for each in workspace.store.log.memories()} == before
        assert not second.written.files
        assert not run_pipeline(workspace, [], RunOptions()).run


def test_the_card_is_short_and_points_to_pages_that_hold_everything(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        for number in range(60):
            create_memory(
                workspace, f"Rule {number} of the harbour says that boat {number} leaves {'slowly ' * 40}at high tide.", "rules"
            )
        run_pipeline(workspace, [], RunOptions())
        card = (agent_folder / "MEMORY.md").read_text()
        pages = "".join(each.read_text() for each in (agent_folder / "knowledge").rglob("*.md"))
        assert len(card) < 15_000
        assert "[[entities/you]]: " in card
        assert all(each in pages for each in active(workspace))
        assert not all(each in card for each in active(workspace))


def test_pages_link_each_other_both_ways(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    leaves = agent_folder / "knowledge"
    (project,) = (leaves / "projects").glob("*.md")
    resource = leaves / "resources" / "upload-py.md"
    assert "Never retry a post" in resource.read_text()
    assert f"[[projects/{project.stem}]]" in resource.read_text()
    assert "[[resources/upload-py]]" in project.read_text()
    assert "**Ana** - runs the allotment society" in (leaves / "entities" / "ana.md").read_text()


def test_an_edit_in_any_output_is_taken_over_and_shown_in_all(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        note, page = agent_folder / "memory" / "2026-02-10.md", agent_folder / "knowledge" / "entities" / "ana.md"
        page.write_text(page.read_text().replace("answers mail on Sundays", "answers mail on Mondays"))
        text = note.read_text()
        (line,) = [
            each for each in text.splitlines() if each.startswith("- Always pass `parent_id`") and each.endswith("(2026-02-10)")
        ]
        note.write_text(text.replace(f"{line}\n", ""))
        run_pipeline(workspace, [], RunOptions())
        assert "**Ana** - runs the allotment society, answers mail on Mondays" in active(workspace)
        assert "on Mondays" in (agent_folder / "MEMORY.md").read_text()
        assert not any("parent_id" in each for each in active(workspace))
        assert "parent_id" not in (agent_folder / "MEMORY.md").read_text()
        assert run_pipeline(workspace, [], RunOptions()).run == 0


def test_lines_of_ones_own_in_a_page_stay_and_are_nobodys_memory(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        page = agent_folder / "knowledge" / "entities" / "ana.md"
        page.write_text(page.read_text().replace("# Ana\n", "# Ana\n\nSee also my mail folder.\n", 1))
        before = active(workspace)
        create_memory(workspace, "Ana answers within a day.", "people")
        run_pipeline(workspace, [], RunOptions())
        assert "See also my mail folder." in page.read_text()
        assert {each for each in active(workspace) if "mail folder" in each} == set()
        assert before < active(workspace)


def test_a_page_nothing_is_left_to_say_on_goes(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        page = agent_folder / "knowledge" / "entities" / "ana.md"
        card = agent_folder / "MEMORY.md"
        card.write_text("".join(each for each in card.read_text().splitlines(keepends=True) if not each.startswith("- **Ana**")))
        run_pipeline(workspace, [], RunOptions())
        assert not page.exists()


def test_every_output_lies_below_the_home_and_a_first_run_writes_nothing_else(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.written.files
        assert all(path.startswith(str(home)) for path, _ in report.written.files)


def test_rules_about_one_folder_of_a_project_load_only_with_it(home, desk_at):
    (home / ".config" / "kept" / "profiles").mkdir(parents=True)
    project = home / "harbor"
    project.mkdir()
    text = read_profile_text("coding")[0]
    (home / ".config" / "kept" / "profiles" / "mine.toml").write_text(
        text.replace('id = "coding"', 'id = "mine"', 1).replace("project_rules = false", "project_rules = true")
    )
    (home / ".config" / "kept" / "config.toml").write_text('profile = "mine"\n')
    say(home, "s1", RULE, OTHER, cwd=project)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        for each in (
            "Keep web/app.ts free of state.",
            "Sort imports in web/main.ts by hand.",
            "Name views in web/view.ts by noun.",
        ):
            create_memory(workspace, each, "convention", project=str(project))
        run_pipeline(workspace, [], RunOptions())
    rules = project / ".claude" / "rules"
    assert (rules / "kept-web.md").read_text().startswith('---\npaths: ["web/**"]\n---\n# Rules for web\n')
    assert "Sort imports" in (rules / "kept-web.md").read_text()
    assert "ISO 8601" in (rules / "kept.md").read_text()
    assert "Sort imports" not in (rules / "kept.md").read_text()
    assert (
        not (home / ".claude" / "rules" / "memory.md").exists()
        or "Sort imports" not in (home / ".claude" / "rules" / "memory.md").read_text()
    )


def test_where_a_memory_goes_is_told_with_the_reason(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (ana,) = [each for each in workspace.store.log.memories() if each.content.startswith("**Ana**")]
        told = {each.place: (each.where, each.why) for each in routes_by_memory(workspace, [ana])[ana.id]}
    assert told[OutputPlace.DAILY] == (".openclaw/workspace/memory/2026-02-10.md", "it was first said on that day")
    assert told[OutputPlace.PAGE] == (".openclaw/workspace/knowledge/entities/ana.md", "it is about Ana")
    assert told[OutputPlace.CARD][0] == ".openclaw/workspace/MEMORY.md"
    assert told[OutputPlace.CARD][1] == "all memories fit"
    assert all((home / where).is_file() for where, _ in told.values())


def test_everything_extracted_of_a_day_is_told_with_where_it_went_the_refused_too(agent_folder, desk_at, home):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        day = date(2026, 2, 10)
        whole = extracted_between(workspace, day, day)
        here = [each for each in workspace.store.log.memories() if each.first_seen and each.first_seen.date() == day]
        assert {each.id for each in whole.memories} == {each.id for each in here}
        gone = here[0]
        retire(workspace, gone.id)
        told = routes_by_memory(workspace, extracted_between(workspace, day, day).memories)
        assert {each.why for each in told[gone.id]} >= {"it is retired"}
        assert not any(each.where for each in told[gone.id])
        assert all(each.candidate.at and each.candidate.at.date() == day for each in whole.refused)


SECRET_LINES = (
    ["- The vault password is Mango-Ridge-72."],
    ["- The login of the vault:", "  user: rosa", "  pass: Mango-Ridge-72"],
    [
        "- The key of the vault:",
        "  -----BEGIN PRIVATE KEY-----",
        "  " + "MangoRidge72abcd" * 4,
        "  " + "cD3f" * 16,
        "  -----END PRIVATE KEY-----",
    ],
)


@pytest.mark.parametrize("lines", SECRET_LINES)
def test_a_secret_in_a_line_of_the_person_stays_in_the_file_and_is_not_in_the_store(desk_at, home, lines):
    secret = next(line for line in lines if "72" in line)
    with desk_at(home) as workspace:
        create_memory(workspace, "Use uv, never pip.", "convention")
        run_pipeline(workspace, [], RunOptions())
        memory = home / ".claude" / "rules" / "memory.md"
        memory.write_text(memory.read_text().replace("<!-- kept: end", "\n".join([*lines, "<!-- kept: end"])))
        for words in ("Never push to main.", "Dates are ISO.", ""):
            run_pipeline(workspace, [], RunOptions())
            assert all(line in memory.read_text().splitlines() for line in lines)
            if words:
                create_memory(workspace, words, "convention")
        held = [each for each in workspace.store.log.memories() if each.status is Status.HELD]
        assert [state for _, state, _ in file_states(workspace)].count(FileState.EDITED) == 0
        stored = str(workspace.store.output_states(str(memory)))
        assert "Ridge" not in stored
        memory.write_text(memory.read_text().replace(f"{secret}\n", ""))
        run_pipeline(workspace, [], RunOptions())
        assert secret not in memory.read_text()
        assert len([each for each in workspace.store.log.memories() if each.status is Status.HELD]) <= len(held)
    assert not [path for path in (home / ".local").rglob("*") if path.is_file() and b"Ridge" in path.read_bytes()]
