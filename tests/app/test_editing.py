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
def desk(home, desk_at):
    with desk_at(home) as desk:
        add(desk, UV, "constraint")
        add(desk, ISO, "convention")
        run(desk, [], Options())
        yield desk


def told(desk, status=Status.ACTIVE):
    return {each.content for each in desk.store.log.memories() if each.status is status}


def test_every_file_that_kept_writes_is_listed_with_what_it_is(desk):
    assert (MEMORY, "memory", ("coding",)) in {(each.name, each.form, each.profiles) for each in catalogue(desk)}


def test_a_file_is_shown_with_the_lines_of_each_memory(desk):
    file = look(desk, MEMORY)
    lines = file.text.split("\n")
    by_id = {each.id: each.content for each in desk.store.log.memories()}
    assert file.condition is Condition.THERE
    assert {by_id[each.memory] for each in file.entries} == {UV, ISO}
    assert all(by_id[each.memory] in lines[each.first] for each in file.entries)


def test_a_file_that_is_not_keptss_is_never_shown(desk, home):
    (home / "secret.txt").write_text("no")
    for name in ("secret.txt", "../../etc/passwd", "/etc/passwd", ""):
        with pytest.raises(UsageError):
            look(desk, name)


def test_an_edited_line_saved_revises_its_memory(desk, home):
    file = look(desk, MEMORY)
    saved = save(desk, MEMORY, file.text.replace("`uv sync`", "`uv sync --frozen`"), if_match=file.revision)
    assert told(desk) == {UV.replace("`uv sync`", "`uv sync --frozen`"), ISO}
    assert saved.operations == {"revise": 1}
    assert saved.file.revision == look(desk, MEMORY).revision
    assert not run(desk, [], Options()).written.files


def test_a_saved_edit_does_what_the_same_edit_on_disk_does(home, desk_at, tmp_path):
    results = []
    for name in ("page", "disk"):
        with desk_at(home / name) as desk:
            add(desk, UV, "constraint")
            add(desk, ISO, "convention")
            run(desk, [], Options())
            file = look(desk, MEMORY)
            text = file.text.replace("`uv sync`", "`uv lock`") + "- Never squash `main`.\n\nA remark of mine\n"
            if name == "page":
                save(desk, MEMORY, text, if_match=file.revision)
            else:
                file.path.write_text(text)
                run(desk, [], Options())
            memories = {(each.content, each.status, each.owned, each.reason) for each in desk.store.log.memories()}
            results.append((memories, file.path.read_bytes().split(b"<!-- kept")[0]))
    assert results[0] == results[1]


def test_a_text_for_a_file_that_changed_meanwhile_is_refused_and_nothing_is_lost(desk, home):
    file = look(desk, MEMORY)
    memory = next(each for each in desk.store.log.memories() if each.content == UV)
    other = file.text.replace("ISO 8601", "ISO 8601 in UTC")
    file.path.write_text(other)
    with pytest.raises(StaleError):
        save(desk, MEMORY, file.text.replace("`uv sync`", "`pip`"), if_match=file.revision)
    assert file.path.read_text() == other
    assert desk.store.log.memory(memory.id).content == UV


def test_a_line_deleted_in_the_page_retires_and_only_it(desk):
    file = look(desk, MEMORY)
    memory = next(each for each in desk.store.log.memories() if each.content == ISO)
    saved = delete(desk, MEMORY, memory.id, if_match=file.revision)
    assert told(desk) == {UV}
    assert told(desk, Status.RETIRED) == {ISO}
    assert ISO not in saved.file.text


def test_an_emptied_file_is_not_saved_unless_the_person_means_it(desk):
    file = look(desk, MEMORY)
    with pytest.raises(GuardError):
        save(desk, MEMORY, "", if_match=file.revision)
    assert look(desk, MEMORY).text == file.text
    assert told(desk) == {UV, ISO}
    saved = save(desk, MEMORY, "", if_match=file.revision, accept_loss=True)
    assert (told(desk), saved.problems) == (set(), ())
    assert told(desk, Status.RETIRED) == {UV, ISO}


def test_a_preview_tells_what_saving_would_do_and_does_nothing(desk):
    file = look(desk, MEMORY)
    seen = preview(desk, MEMORY, file.text.replace(f"- {ISO}", "- Dates are local."))
    assert [(each.kind, each.before, each.after) for each in seen.changes] == [("revise", ISO, "Dates are local.")]
    assert look(desk, MEMORY) == file
    assert told(desk) == {UV, ISO}


def test_a_preview_shows_what_the_next_writing_changes(desk):
    assert preview(desk).files == {}
    file = look(desk, MEMORY)
    file.path.unlink()
    assert f"+- {UV}" in "\n".join(preview(desk).files[MEMORY])
    assert look(desk, MEMORY).condition is Condition.MISSING


def test_line_endings_of_the_file_survive_a_page_that_knows_only_one(desk):
    path = look(desk, MEMORY).path
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    file = look(desk, MEMORY)
    assert "\r" not in file.text
    save(desk, MEMORY, file.text.replace("ISO 8601", "ISO 8601-1"), if_match=file.revision)
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
    with desk_at(home) as desk:
        run(desk, [], Options())
        file = look(desk, "harbor/CLAUDE.md")
        assert RULE[:20] in file.text
        assert "Mine" not in file.text
        save(desk, "harbor/CLAUDE.md", file.text.replace("ISO 8601", "RFC 3339"), if_match=file.revision)
        assert any("RFC 3339" in each for each in told(desk))
    assert (folder / "CLAUDE.md").read_bytes().startswith(own.encode("latin-1"))


def test_an_entry_deleted_from_the_view_retires(home, desk_at):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    with desk_at(home) as desk:
        number = add(desk, "Decoupling worker registration from directories.", "themes").id
        add(desk, "Switched to discovery in `registry.go`.", "decisions")
        run(desk, [], Options())
        file = look(desk, "kept/journal.json")
        assert len(file.entries) == 2
        saved = delete(desk, "kept/journal.json", number, if_match=file.revision)
        assert json.loads(saved.file.text)["themes"] == []
        assert desk.store.log.memory(number).status is Status.RETIRED


def test_words_that_came_by_a_command_make_an_open_page_stale(desk):
    file = look(desk, MEMORY)
    memory = next(each for each in desk.store.log.memories() if each.content == UV)
    settle(desk, lambda: edit(desk, memory.id, "Use `uv`."))
    with pytest.raises(StaleError):
        delete(desk, MEMORY, memory.id, if_match=file.revision)
