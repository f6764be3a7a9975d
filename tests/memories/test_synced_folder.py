"""One person, two machines, no server: what is remembered goes through a folder that another program keeps the same."""

import json
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest

from kept.changes import apply_person_change
from kept.core.errors import KeptError, UsageError
from kept.core.memory import Status
from kept.memories import person
from kept.memories.backups import create_backup
from kept.memories.configure import change_setting
from kept.memories.history import undo
from kept.memories.synced_folder import SyncFolder
from kept.memories.waiting import list_pending_proposals
from kept.paths import find_paths
from kept.pipeline.machines import sync_machines
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import restore_store
from talking import OTHER, RULE, forget_ids, say

SHIFT, THEIRS, OURS = (f"The harbor crane is served from {times}." for times in ("six to two", "seven to three", "five to one"))
KEY = "ab" * 32


class Machine:
    """A home whose person works in the project harbor and shares a folder with the others."""

    def __init__(self, home, folder, desk_at, key=KEY) -> None:
        self.home, self._desk_at = home, desk_at
        home.mkdir()
        change_setting(find_paths(str(home), {"HOME": str(home)}), "sync.folder", str(folder))
        with self.desk() as workspace:
            SyncFolder(workspace=workspace).join(key)

    def desk(self):
        return self._desk_at(self.home)

    def run(self):
        with self.desk() as workspace:
            report = run_pipeline(workspace, [], RunOptions())
            assert workspace.store.find_damage() == ()
            return report

    def sync(self):
        with self.desk() as workspace:
            return sync_machines(workspace)[0]

    def change(self, change, *arguments):
        with self.desk() as workspace:
            return apply_person_change(workspace, lambda: change(workspace, *arguments))[0]

    def add(self, text):
        return self.change(lambda workspace: person.create_memory(workspace, text, "constraint", project="/x/harbor")).id

    def memories(self):
        with self.desk() as workspace:
            assert workspace.store.find_damage() == ()
            return {memory.id: memory for memory in workspace.store.log.memories()}

    def active(self):
        return {memory.content for memory in self.memories().values() if memory.status is Status.ACTIVE}

    def file(self):
        return (self.home / ".claude" / "rules" / "memory.md").read_text()


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


def invent(chance):
    """A sentence of words that nobody said before."""
    words = ("".join(chance.choice("bcdfgklmnprst") + chance.choice("aeiou") for _ in range(3)) for _ in range(6))
    return f"{' '.join(words).capitalize()}."


def do_something(machine, chance, forgotten):
    """One change of a person's, where it can be made, or an exchange."""
    known = sorted((memory.id, memory.content) for memory in machine.memories().values() if memory.content)
    changes = (person.retire, person.pin, person.approve, person.reject)
    number, content = chance.choice(known) if known else ("", "")
    with suppress(KeptError):
        match chance.choice(("add", "edit", "edit", "change", "change", "undo", "forget", "sync", "sync", "sync")):
            case "add":
                machine.add(invent(chance))
            case "edit":
                machine.change(person.edit, number, invent(chance))
            case "change":
                machine.change(chance.choice(changes), number)
            case "undo":
                machine.change(undo)
            case "forget" if number:
                with machine.desk() as workspace:
                    forget_ids(workspace, [number])
                forgotten.add(content)
            case _:
                machine.sync()


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))])
def test_two_machines_that_heard_each_other_remember_the_same_whatever_was_done_apart(seed, desk_at, folder, tmp_path):
    chance, forgotten = Random(seed), set()
    machines = [Machine(tmp_path / name, folder, desk_at) for name in ("desk", "laptop")]
    for _ in range(45):
        do_something(chance.choice(machines), chance, forgotten)
    for machine in machines * 5:
        machine.sync()
    assert [report for machine in machines if (report := machine.sync()).received or report.sent or report.clashes] == []
    first, *others = (
        {
            (memory.id, memory.content, memory.status, memory.pinned)
            for memory in machine.memories().values()
            if memory.status in (Status.ACTIVE, Status.HELD)
        }
        for machine in machines
    )
    assert all(other == first for other in others)
    assert forgotten.isdisjoint(content for _, content, _, _ in first)


def test_a_word_that_is_no_key_is_refused(two):
    with two[0].desk() as workspace, pytest.raises(UsageError, match="no key"):
        SyncFolder(workspace=workspace).join("letmein")
