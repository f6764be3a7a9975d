"""Files as a page shows them: what a saved text does is what the same edit on disk would, and nothing is lost to a stale tab."""

import json

import pytest

from kept.changes import settle
from kept.core.errors import GuardError, StaleError, UsageError
from kept.core.memory import Status
from kept.memories.person import add, edit
from kept.pipeline.edit_file import Condition, catalogue, delete, look, preview, save
from kept.pipeline.run import Options, run
from kept.profiles import source
from talking import RULE, say

MEMORY = ".claude/rules/memory.md"
UV = "Always use `uv sync` in `harbor`."
ISO = "Dates in `events.csv` are ISO 8601."


@pytest.fixture
def workspace(home, desk_at):
    with desk_at(home) as workspace:
        add(workspace, UV, "constraint")
        add(workspace, ISO, "convention")
        run(workspace, [], Options())
        yield workspace


def told(workspace, status=Status.ACTIVE):
    return {each.content for each in workspace.store.log.memories() if each.status is status}


def test_every_file_that_kept_writes_is_listed_with_what_it_is(workspace):
    assert (MEMORY, "memory", ("coding",)) in {(each.name, each.form, each.profiles) for each in catalogue(workspace)}


def test_a_file_is_shown_with_the_lines_of_each_memory(workspace):
    file = look(workspace, MEMORY)
    lines = file.text.split("\n")
    by_id = {each.id: each.content for each in workspace.store.log.memories()}
    assert file.condition is Condition.THERE
    assert {by_id[each.memory] for each in file.entries} == {UV, ISO}
    assert all(by_id[each.memory] in lines[each.first] for each in file.entries)


def test_a_file_that_is_not_keptss_is_never_shown(workspace, home):
    (home / "secret.txt").write_text("no")
    for name in ("secret.txt", "../../etc/passwd", "/etc/passwd", ""):
        with pytest.raises(UsageError):
            look(workspace, name)


def test_an_edited_line_saved_revises_its_memory(workspace, home):
    file = look(workspace, MEMORY)
    saved = save(workspace, MEMORY, file.text.replace("`uv sync`", "`uv sync --frozen`"), if_match=file.revision)
    assert told(workspace) == {UV.replace("`uv sync`", "`uv sync --frozen`"), ISO}
    assert saved.operations == {"revise": 1}
    assert saved.file.revision == look(workspace, MEMORY).revision
    assert not run(workspace, [], Options()).written.files


def test_a_saved_edit_does_what_the_same_edit_on_disk_does(home, desk_at, tmp_path):
    results = []
    for name in ("page", "disk"):
        with desk_at(home / name) as workspace:
            add(workspace, UV, "constraint")
            add(workspace, ISO, "convention")
            run(workspace, [], Options())
            file = look(workspace, MEMORY)
            text = file.text.replace("`uv sync`", "`uv lock`") + "- Never squash `main`.\n\nA remark of mine\n"
            if name == "page":
                save(workspace, MEMORY, text, if_match=file.revision)
            else:
                file.path.write_text(text)
                run(workspace, [], Options())
            memories = {(each.content, each.status, each.owned, each.reason) for each in workspace.store.log.memories()}
            results.append((memories, file.path.read_bytes().split(b"<!-- kept")[0]))
    assert results[0] == results[1]


def test_a_text_for_a_file_that_changed_meanwhile_is_refused_and_nothing_is_lost(workspace, home):
    file = look(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == UV)
    other = file.text.replace("ISO 8601", "ISO 8601 in UTC")
    file.path.write_text(other)
    with pytest.raises(StaleError):
        save(workspace, MEMORY, file.text.replace("`uv sync`", "`pip`"), if_match=file.revision)
    assert file.path.read_text() == other
    assert workspace.store.log.memory(memory.id).content == UV


def test_a_line_deleted_in_the_page_retires_and_only_it(workspace):
    file = look(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == ISO)
    saved = delete(workspace, MEMORY, memory.id, if_match=file.revision)
    assert told(workspace) == {UV}
    assert told(workspace, Status.RETIRED) == {ISO}
    assert ISO not in saved.file.text


def test_an_emptied_file_is_not_saved_unless_the_person_means_it(workspace):
    file = look(workspace, MEMORY)
    with pytest.raises(GuardError):
        save(workspace, MEMORY, "", if_match=file.revision)
    assert look(workspace, MEMORY).text == file.text
    assert told(workspace) == {UV, ISO}
    saved = save(workspace, MEMORY, "", if_match=file.revision, accept_loss=True)
    assert (told(workspace), saved.problems) == (set(), ())
    assert told(workspace, Status.RETIRED) == {UV, ISO}


def test_a_preview_tells_what_saving_would_do_and_does_nothing(workspace):
    file = look(workspace, MEMORY)
    seen = preview(workspace, MEMORY, file.text.replace(f"- {ISO}", "- Dates are local."))
    assert [(each.kind, each.before, each.after) for each in seen.changes] == [("revise", ISO, "Dates are local.")]
    assert look(workspace, MEMORY) == file
    assert told(workspace) == {UV, ISO}


def test_a_preview_shows_what_the_next_writing_changes(workspace):
    assert preview(workspace).files == {}
    file = look(workspace, MEMORY)
    file.path.unlink()
    assert f"+- {UV}" in "\n".join(preview(workspace).files[MEMORY])
    assert look(workspace, MEMORY).condition is Condition.MISSING


def test_line_endings_of_the_file_survive_a_page_that_knows_only_one(workspace):
    path = look(workspace, MEMORY).path
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    file = look(workspace, MEMORY)
    assert "\r" not in file.text
    save(workspace, MEMORY, file.text.replace("ISO 8601", "ISO 8601-1"), if_match=file.revision)
    assert b"ISO 8601-1" in path.read_bytes()
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")


def test_only_the_section_of_a_file_of_the_users_is_shown_and_changed(home, desk_at):
    folder = home / "harbor"
    folder.mkdir()
    own = "# Mine\r\n\r\nKeep \xe9 off. \r\n"
    (folder / "CLAUDE.md").write_bytes(own.encode("latin-1"))
    made = home / ".config" / "kept" / "profiles" / "mine.toml"
    made.parent.mkdir(parents=True)
    made.write_text(
        source("coding")[0].replace("project_section = false", "project_section = true", 1).replace('id = "coding"', 'id = "mine"')
    )
    (home / ".config" / "kept" / "config.toml").write_text('profile = "mine"\n')
    say(home, "s1", RULE, cwd=str(folder))
    with desk_at(home) as workspace:
        run(workspace, [], Options())
        file = look(workspace, "harbor/CLAUDE.md")
        assert RULE[:20] in file.text
        assert "Mine" not in file.text
        save(workspace, "harbor/CLAUDE.md", file.text.replace("ISO 8601", "RFC 3339"), if_match=file.revision)
        assert any("RFC 3339" in each for each in told(workspace))
    assert (folder / "CLAUDE.md").read_bytes().startswith(own.encode("latin-1"))


def test_an_entry_deleted_from_the_view_retires(home, desk_at):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    with desk_at(home) as workspace:
        number = add(workspace, "Decoupling worker registration from directories.", "themes").id
        add(workspace, "Switched to discovery in `registry.go`.", "decisions")
        run(workspace, [], Options())
        file = look(workspace, "kept/journal.json")
        assert len(file.entries) == 2
        saved = delete(workspace, "kept/journal.json", number, if_match=file.revision)
        assert json.loads(saved.file.text)["themes"] == []
        assert workspace.store.log.memory(number).status is Status.RETIRED


def test_words_that_came_by_a_command_make_an_open_page_stale(workspace):
    file = look(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == UV)
    settle(workspace, lambda: edit(workspace, memory.id, "Use `uv`."))
    with pytest.raises(StaleError):
        delete(workspace, MEMORY, memory.id, if_match=file.revision)
