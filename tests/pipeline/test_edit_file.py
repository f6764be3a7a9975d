"""Files as a page shows them: what a saved text does is what the same edit on disk would, and nothing is lost to a stale tab."""

import json

import pytest

from kept.changes import apply_person_change
from kept.core.errors import GuardError, StaleError, UsageError
from kept.core.memory import Status
from kept.memories.person import create_memory, edit
from kept.pipeline.edit_file import (
    FileCondition,
    delete_file_entry,
    list_output_files,
    load_output_file,
    preview_write,
    save_file_text,
)
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import read_profile_text
from talking import RULE, say

MEMORY = ".claude/rules/memory.md"
UV = "Always use `uv sync` in `harbor`."
ISO = "Dates in `events.csv` are ISO 8601."


@pytest.fixture
def workspace(home, desk_at):
    with desk_at(home) as workspace:
        create_memory(workspace, UV, "constraint")
        create_memory(workspace, ISO, "convention")
        run_pipeline(workspace, [], RunOptions())
        yield workspace


def told(workspace, status=Status.ACTIVE):
    return {each.content for each in workspace.store.log.memories() if each.status is status}


def test_every_file_that_kept_writes_is_listed_with_what_it_is(workspace):
    assert (MEMORY, "memory", ("coding",)) in {(each.name, each.form, each.profiles) for each in list_output_files(workspace)}


def test_a_file_is_shown_with_the_lines_of_each_memory(workspace):
    file = load_output_file(workspace, MEMORY)
    lines = file.text.split("\n")
    by_id = {each.id: each.content for each in workspace.store.log.memories()}
    assert file.condition is FileCondition.THERE
    assert {by_id[each.memory] for each in file.entries} == {UV, ISO}
    assert all(by_id[each.memory] in lines[each.first] for each in file.entries)


def test_a_file_that_is_not_keptss_is_never_shown(workspace, home):
    (home / "secret.txt").write_text("no")
    for name in ("secret.txt", "../../etc/passwd", "/etc/passwd", ""):
        with pytest.raises(UsageError):
            load_output_file(workspace, name)


def test_an_edited_line_saved_revises_its_memory(workspace, home):
    file = load_output_file(workspace, MEMORY)
    saved = save_file_text(workspace, MEMORY, file.text.replace("`uv sync`", "`uv sync --frozen`"), if_match=file.revision)
    assert told(workspace) == {UV.replace("`uv sync`", "`uv sync --frozen`"), ISO}
    assert saved.operations == {"revise": 1}
    assert saved.file.revision == load_output_file(workspace, MEMORY).revision
    assert not run_pipeline(workspace, [], RunOptions()).written.files


def test_a_saved_edit_does_what_the_same_edit_on_disk_does(home, desk_at, tmp_path):
    results = []
    for name in ("page", "disk"):
        with desk_at(home / name) as workspace:
            create_memory(workspace, UV, "constraint")
            create_memory(workspace, ISO, "convention")
            run_pipeline(workspace, [], RunOptions())
            file = load_output_file(workspace, MEMORY)
            text = file.text.replace("`uv sync`", "`uv lock`") + "- Never squash `main`.\n\nA remark of mine\n"
            if name == "page":
                save_file_text(workspace, MEMORY, text, if_match=file.revision)
            else:
                file.path.write_text(text)
                run_pipeline(workspace, [], RunOptions())
            memories = {(each.content, each.status, each.owned, each.reason) for each in workspace.store.log.memories()}
            results.append((memories, file.path.read_bytes().split(b"<!-- kept")[0]))
    assert results[0] == results[1]


def test_a_text_for_a_file_that_changed_meanwhile_is_refused_and_nothing_is_lost(workspace, home):
    file = load_output_file(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == UV)
    other = file.text.replace("ISO 8601", "ISO 8601 in UTC")
    file.path.write_text(other)
    with pytest.raises(StaleError):
        save_file_text(workspace, MEMORY, file.text.replace("`uv sync`", "`pip`"), if_match=file.revision)
    assert file.path.read_text() == other
    assert workspace.store.log.memory(memory.id).content == UV


def test_a_line_deleted_in_the_page_retires_and_only_it(workspace):
    file = load_output_file(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == ISO)
    saved = delete_file_entry(workspace, MEMORY, memory.id, if_match=file.revision)
    assert told(workspace) == {UV}
    assert told(workspace, Status.RETIRED) == {ISO}
    assert ISO not in saved.file.text


def test_an_emptied_file_is_not_saved_unless_the_person_means_it(workspace):
    file = load_output_file(workspace, MEMORY)
    with pytest.raises(GuardError):
        save_file_text(workspace, MEMORY, "", if_match=file.revision)
    assert load_output_file(workspace, MEMORY).text == file.text
    assert told(workspace) == {UV, ISO}
    saved = save_file_text(workspace, MEMORY, "", if_match=file.revision, accept_loss=True)
    assert (told(workspace), saved.problems) == (set(), ())
    assert told(workspace, Status.RETIRED) == {UV, ISO}


def test_a_preview_tells_what_saving_would_do_and_does_nothing(workspace):
    file = load_output_file(workspace, MEMORY)
    seen = preview_write(workspace, MEMORY, file.text.replace(f"- {ISO}", "- Dates are local."))
    assert [(each.kind, each.before, each.after) for each in seen.changes] == [("revise", ISO, "Dates are local.")]
    assert load_output_file(workspace, MEMORY) == file
    assert told(workspace) == {UV, ISO}


def test_a_preview_shows_what_the_next_writing_changes(workspace):
    assert preview_write(workspace).files == {}
    file = load_output_file(workspace, MEMORY)
    file.path.unlink()
    assert f"+- {UV}" in "\n".join(preview_write(workspace).files[MEMORY])
    assert load_output_file(workspace, MEMORY).condition is FileCondition.MISSING


def test_line_endings_of_the_file_survive_a_page_that_knows_only_one(workspace):
    path = load_output_file(workspace, MEMORY).path
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    file = load_output_file(workspace, MEMORY)
    assert "\r" not in file.text
    save_file_text(workspace, MEMORY, file.text.replace("ISO 8601", "ISO 8601-1"), if_match=file.revision)
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
        read_profile_text("coding")[0]
        .replace("project_section = false", "project_section = true", 1)
        .replace('id = "coding"', 'id = "mine"')
    )
    (home / ".config" / "kept" / "config.toml").write_text('profile = "mine"\n')
    say(home, "s1", RULE, cwd=str(folder))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        file = load_output_file(workspace, "harbor/CLAUDE.md")
        assert RULE[:20] in file.text
        assert "Mine" not in file.text
        save_file_text(workspace, "harbor/CLAUDE.md", file.text.replace("ISO 8601", "RFC 3339"), if_match=file.revision)
        assert any("RFC 3339" in each for each in told(workspace))
    assert (folder / "CLAUDE.md").read_bytes().startswith(own.encode("latin-1"))


def test_an_entry_deleted_from_the_view_retires(home, desk_at):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    with desk_at(home) as workspace:
        number = create_memory(workspace, "Decoupling worker registration from directories.", "themes").id
        create_memory(workspace, "Switched to discovery in `registry.go`.", "decisions")
        run_pipeline(workspace, [], RunOptions())
        file = load_output_file(workspace, "kept/journal.json")
        assert len(file.entries) == 2
        saved = delete_file_entry(workspace, "kept/journal.json", number, if_match=file.revision)
        assert json.loads(saved.file.text)["themes"] == []
        assert workspace.store.log.memory(number).status is Status.RETIRED


def test_words_that_came_by_a_command_make_an_open_page_stale(workspace):
    file = load_output_file(workspace, MEMORY)
    memory = next(each for each in workspace.store.log.memories() if each.content == UV)
    apply_person_change(workspace, lambda: edit(workspace, memory.id, "Use `uv`."))
    with pytest.raises(StaleError):
        delete_file_entry(workspace, MEMORY, memory.id, if_match=file.revision)
