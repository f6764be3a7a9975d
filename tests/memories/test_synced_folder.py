"""One person, two machines, no server: what is remembered goes through a folder that another program keeps the same."""

import json
from datetime import timedelta

import pytest

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.curation.llm_curation import write_requests
from kept.llm.ask import CompleteReply
from kept.memories import person
from kept.memories.backups import create_backup
from kept.memories.history import undo
from kept.memories.synced_folder import SyncFolder
from kept.memories.waiting import list_pending_proposals
from kept.paths import find_paths
from kept.pipeline.safety import restore_store
from kept.workspace import RunNumber
from machines import KEY, Machine
from talking import OTHER, RULE, forget_ids, say

SHIFT, THEIRS, OURS = (f"The harbor crane is served from {times}." for times in ("six to two", "seven to three", "five to one"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "synced").mkdir()
    return tmp_path / "synced"


@pytest.fixture
def two(desk_at, folder, tmp_path):
    return tuple(Machine(tmp_path / name, folder, desk_at) for name in ("desk", "laptop"))


def test_what_either_machine_was_told_stands_in_the_files_of_both(two):
    desk, laptop = two
    say(desk.home, "s1", RULE)
    say(laptop.home, "s2", OTHER)
    for machine in (desk, laptop, desk):
        machine.run()
    assert desk.active() == laptop.active()
    assert len(desk.active()) == 2
    assert desk.file() == laptop.file()


def test_a_change_on_one_machine_is_a_change_on_the_other_and_undoing_it_too(two):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    laptop.sync()
    laptop.change(person.edit, number, THEIRS)
    laptop.change(person.pin, number)
    laptop.sync()
    desk.sync()
    assert (desk.memories()[number].content, desk.memories()[number].pinned) == (THEIRS, True)
    laptop.change(undo)
    laptop.sync()
    desk.sync()
    assert not desk.memories()[number].pinned
    desk.change(person.retire, number)
    desk.sync()
    laptop.sync()
    assert laptop.active() == desk.active() == set()


def test_a_change_on_one_machine_leaves_the_requests_that_a_model_wrote_on_the_other(two):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    laptop.sync()
    reply = CompleteReply(body={"memories": [{"id": 1, "requests": ["plan the unloading of the next ship"]}]})
    with laptop.desk() as workspace:
        write_requests(workspace, RunNumber(workspace, "run"), lambda asks: [reply for _ in asks], by="m")
    desk.change(person.pin, number)
    desk.sync()
    laptop.sync()
    memory = laptop.memories()[number]
    assert (memory.pinned, memory.needed_for) == (True, ("plan the unloading of the next ship",))


def test_a_project_that_a_machine_never_saw_is_called_as_where_it_is(two):
    desk, laptop = two
    number = desk.change(lambda workspace: person.create_memory(workspace, SHIFT, "constraint", project="/x/Häfen & Co")).id
    desk.sync()
    laptop.sync()
    scope = laptop.memories()[number].scope
    names = []
    for machine in two:
        with machine.desk() as workspace:
            names.append(workspace.name(scope))
            assert workspace.find_scope("Häfen-Co") == scope
    assert names == ["Häfen-Co"] * 2


def test_reading_the_folder_again_changes_nothing_and_writes_nothing(two, folder):
    desk, laptop = two
    say(desk.home, "s1", RULE)
    say(laptop.home, "s1-too", RULE)
    for machine in (desk, laptop, desk, laptop, desk):
        machine.run()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for machine in (laptop, desk, laptop):
        report = machine.sync()
        assert (report.received, report.sent, report.clashes) == (0, 0, 0)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_same_words_told_on_both_machines_are_one_memory_on_both(two):
    desk, laptop = two
    say(desk.home, "s1", RULE)
    say(laptop.home, "s2", RULE)
    for machine in (desk, laptop, desk, laptop):
        machine.run()
    assert len(desk.active()) == 1
    (ours,), (theirs,) = (
        [number for number, memory in machine.memories().items() if memory.status is Status.ACTIVE] for machine in two
    )
    assert ours == theirs
    laptop.change(person.edit, theirs, THEIRS)
    laptop.sync()
    desk.run()
    assert desk.active() == {THEIRS}


def test_of_two_edits_made_apart_the_later_stands_and_the_other_waits_beside_it_on_both(two):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    laptop.sync()
    desk.change(person.edit, number, OURS)
    laptop.change(person.edit, number, THEIRS)
    desk.sync()
    assert laptop.sync().clashes == 1
    desk.sync()
    for machine in two:
        found = machine.memories()
        (held,) = (memory for memory in found.values() if memory.status is Status.HELD)
        assert {found[number].content, held.content} == {OURS, THEIRS}
        assert held.superseded_by == number
        with machine.desk() as workspace:
            assert [pending.memory.id for pending in list_pending_proposals(workspace)] == [held.id]
    assert desk.memories()[number].content == laptop.memories()[number].content
    laptop.change(person.reject, held.id)
    laptop.sync()
    desk.sync()
    assert desk.memories()[held.id].status is Status.REJECTED


def test_what_one_machine_forgot_goes_on_the_other_and_does_not_come_back_through_the_folder(two, folder):
    desk, laptop = two
    say(desk.home, "s1", RULE)
    for machine in (desk, laptop):
        machine.run()
    (number,) = laptop.memories()
    laptop.change(person.pin, number)
    laptop.run()
    with desk.desk() as workspace:
        forget_ids(workspace, [number])
    own = [path for path in folder.iterdir() if "ISO 8601" not in path.read_text()]
    assert len(own) == 1
    for machine in (desk, laptop, desk):
        machine.run()
    assert all("ISO 8601" not in path.read_text() for path in folder.iterdir())
    for machine in two:
        assert machine.active() == set()


def test_what_the_rules_of_another_machine_make_of_words_that_were_forgotten_before_goes_there_too(two, folder):
    desk, laptop = two
    for machine in two:
        say(machine.home, f"{machine.home.name}-1", f"Please remember this. {RULE}", RULE)
        machine.sync()
    desk.run()
    with desk.desk() as workspace:
        forget_ids(workspace, list(desk.memories()))
    laptop.run()
    assert len(laptop.active()) == 1
    for machine in (desk, laptop, desk):
        machine.run()
    assert desk.active() == laptop.active() == set()
    assert all("ISO 8601" not in path.read_text() for path in folder.iterdir())


def test_lines_that_are_not_signed_with_the_key_of_the_machines_are_told_and_not_taken_up(two, folder, desk_at, tmp_path):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    (path,) = folder.iterdir()
    path.write_text(path.read_text().replace("six to two", "any to any"))
    report = laptop.sync()
    assert laptop.memories() == {}
    assert "not signed" in report.problems[0]
    stranger = Machine(tmp_path / "stranger", folder, desk_at, key="cd" * 32)
    stranger.add("Anybody may paint the harbor crane.")
    stranger.sync()
    desk.sync()
    laptop.sync()
    assert laptop.active() == {SHIFT}
    assert number in laptop.memories()


def test_a_line_that_is_not_whole_yet_is_read_when_it_is(two, folder):
    desk, laptop = two
    desk.add(SHIFT)
    desk.sync()
    (path,) = folder.iterdir()
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert laptop.sync().problems == ()
    path.write_text(whole)
    assert laptop.sync().received == 1


def test_a_backup_that_is_put_back_begins_a_new_file_and_takes_up_again_what_others_told(two, folder, tmp_path):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    with desk.desk() as workspace:
        create_backup(workspace, tmp_path / "copy.db")
    desk.change(person.edit, number, OURS)
    desk.sync()
    laptop.sync()
    restore_store(find_paths(str(desk.home), {"HOME": str(desk.home)}), tmp_path / "copy.db", desk.desk)
    desk.add(THEIRS)
    desk.sync()
    laptop.sync()
    desk.sync()
    assert desk.active() == laptop.active() == {SHIFT, THEIRS}
    assert len(list(folder.iterdir())) == 2


def test_a_clock_that_is_a_day_wrong_loses_no_words(two, folder, clock):
    desk, laptop = two
    number = desk.add(SHIFT)
    desk.sync()
    laptop.sync()
    laptop.change(person.edit, number, THEIRS)
    clock.parse_moment -= timedelta(days=1)
    desk.change(person.edit, number, OURS)
    for machine in (desk, laptop, desk):
        machine.sync()
    for machine in two:
        assert {memory.content for memory in machine.memories().values()} == {OURS, THEIRS}


def test_no_secret_and_no_key_stands_in_the_folder(two, folder):
    desk, _ = two
    desk.add("The harbor token is ghp_a8Kd93kLmQ2xV7bN4tR6wY1zC5eH0jP9sUfG.")
    desk.sync()
    (path,) = folder.iterdir()
    assert "ghp_a8" not in path.read_text()
    assert KEY not in path.read_text()
    assert json.loads(path.read_text())["memory"]["content"]


def test_a_folder_that_is_not_there_is_told_and_everything_else_is_done(two, folder):
    desk, _ = two
    folder.rmdir()
    say(desk.home, "s1", RULE)
    report = desk.run()
    assert len(desk.active()) == 1
    assert any("is not there" in problem for problem in report.written.problems)


def test_a_word_that_is_no_key_is_refused(two):
    with two[0].desk() as workspace, pytest.raises(UsageError, match="not a key"):
        SyncFolder(workspace=workspace).join("letmein")
