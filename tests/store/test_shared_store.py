"""One memory on a PostgreSQL server, for several machines: each a home of its own that reads what it holds itself."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from kept.changes import apply_person_change
from kept.core.errors import ConfigError, StoreError, UsageError
from kept.install.doctor import run_checks
from kept.local.settings import load_settings
from kept.memories import person
from kept.memories.backups import create_backup
from kept.memories.browse import to_export
from kept.memories.configure import change_setting
from kept.memories.history import undo
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import move_to_file, move_to_server, restore_store
from kept.store.packing import unpack_text
from kept.store.sqlite import SqliteStore
from postgres_server import with_role
from talking import OTHER, RULE, forget_ids, say

pytest.importorskip("psycopg")
SAMPLE = Path(str(files("kept.sample") / "projects"))


def paths_of(folder):
    return find_paths(str(folder), {"HOME": str(folder)})


@pytest.fixture
def machine(tmp_path):
    """A new machine: its home, with the server in its settings where it has one."""

    def made(name: str, url: str = "", *, sample: bool = False) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if sample:
            shutil.copytree(SAMPLE, folder / ".claude" / "projects")
        if url:
            change_setting(paths_of(folder), "store.url", url)
        return folder

    return made


def memory_file(home):
    return (home / ".claude" / "rules" / "memory.md").read_text()


def run(desk_at, home, **options):
    with desk_at(home) as workspace:
        return run_pipeline(workspace, [], RunOptions(**options))


def told(desk_at, home):
    """What a home remembers and says of it, every field."""
    with desk_at(home) as workspace:
        assert workspace.store.find_damage() == ()
        return [to_export(workspace, memory) for memory in workspace.store.log.memories()]


def test_a_run_on_a_server_remembers_and_writes_what_a_run_without_one_does(desk_at, machine, postgres):
    alone, shared = machine("alone", sample=True), machine("shared", postgres(), sample=True)
    run(desk_at, alone)
    run(desk_at, shared)
    assert memory_file(shared) == memory_file(alone)
    assert [{**each, "evidence": ()} for each in told(desk_at, shared)] == [
        {**each, "evidence": ()} for each in told(desk_at, alone)
    ]


def test_another_machine_takes_part_in_what_one_remembers_and_each_hears_the_others_changes(desk_at, machine, postgres):
    url = postgres()
    first, second = machine("first", url, sample=True), machine("second", url)
    run(desk_at, first)
    run(desk_at, second)
    assert memory_file(second) == memory_file(first)
    say(second, "s2", OTHER)
    run(desk_at, second)
    with desk_at(first) as workspace:
        apply_person_change(workspace, lambda: person.create_memory(workspace, "Deploy on Mondays only.", "constraint"))
        assert any("uv sync" in memory.content for memory in workspace.store.log.memories())
        undo(workspace, "1")
    run(desk_at, first)
    run(desk_at, second)
    assert told(desk_at, first) == told(desk_at, second)
    assert memory_file(first) == memory_file(second)
    assert "Deploy on Mondays only." in memory_file(second)


@pytest.fixture
def away(desk_at, machine, postgres):
    """A machine that knows a memory, whose server is gone; the machine that others of its owner have; and what brings it back."""
    url = postgres()
    home, other = machine("home", url), machine("other", url)
    say(home, "s1", RULE)
    run(desk_at, home)
    run(desk_at, other)
    change_setting(paths_of(home), "store.url", "postgresql://anna@127.0.0.1:1/gone")
    return home, other, lambda: change_setting(paths_of(home), "store.url", url)


def test_without_its_server_a_home_goes_on_alone_and_the_next_run_that_reaches_it_brings_everything_there(desk_at, away):
    home, other, come_back = away
    say(home, "s2", OTHER)
    report = run(desk_at, home)
    assert "wait for the server" in report.written.problems[0]
    with desk_at(home) as workspace:
        (ours,) = (memory.id for memory in workspace.store.log.memories() if "ISO 8601" in memory.content)
        apply_person_change(workspace, lambda: person.create_memory(workspace, "Deploy on Mondays only.", "constraint"))
        apply_person_change(workspace, lambda: person.pin(workspace, ours))
        (new,) = (memory.id for memory in workspace.store.log.memories() if "uv sync" in memory.content)
        apply_person_change(workspace, lambda: person.edit(workspace, new, "Only uv is used here."))
        assert [item.partition(":")[0] for item in workspace.store.find_damage()] == ["not compared with the server"]
    file = home / ".claude" / "rules" / "memory.md"
    assert "Deploy on Mondays only." in file.read_text()
    with desk_at(other) as workspace:
        apply_person_change(workspace, lambda: person.create_memory(workspace, "The crane is painted yellow.", "constraint"))
    come_back()
    assert run(desk_at, home).written.problems == []
    run(desk_at, other)
    assert told(desk_at, home) == told(desk_at, other)
    shown = {entry["content"]: entry["pinned"] for entry in told(desk_at, other) if entry["status"] == "active"}
    assert set(shown) == {RULE, "Only uv is used here.", "Deploy on Mondays only.", "The crane is painted yellow."}
    assert shown[RULE]
    before = told(desk_at, home)
    run(desk_at, home)
    assert told(desk_at, home) == before


def test_of_two_changes_of_one_memory_made_with_and_without_the_server_one_stands_and_the_other_waits(desk_at, away):
    home, other, come_back = away
    for place, words in ((other, "Dates are written as they say them there."), (home, "Dates are written as they say them here.")):
        with desk_at(place) as workspace:
            (number,) = (memory.id for memory in workspace.store.log.memories())
            apply_person_change(workspace, lambda number=number, words=words: person.edit(workspace, number, words))
    come_back()
    run(desk_at, home)
    run(desk_at, other)
    found = {entry["content"]: entry["status"] for entry in told(desk_at, other)}
    assert found == {"Dates are written as they say them here.": "active", "Dates are written as they say them there.": "held"}
    assert told(desk_at, home) == told(desk_at, other)


def test_what_was_forgotten_on_the_server_meanwhile_does_not_come_back_with_a_machine_that_was_away(desk_at, away):
    home, other, come_back = away
    with desk_at(home) as workspace:
        (number,) = (memory.id for memory in workspace.store.log.memories())
        apply_person_change(workspace, lambda: person.pin(workspace, number))
    with desk_at(other) as workspace:
        forget_ids(workspace, [number])
    come_back()
    run(desk_at, home)
    run(desk_at, other)
    for place in (home, other):
        assert not any(entry["content"] for entry in told(desk_at, place))


def test_nothing_is_forgotten_without_the_server_that_holds_it_too(desk_at, away):
    home, _, come_back = away
    with desk_at(home) as workspace:
        (number,) = (memory.id for memory in workspace.store.log.memories())
        assert any("without it" in problem for problem in forget_ids(workspace, [number]).problems)
        assert workspace.store.log.memory(number).content
    come_back()
    run(desk_at, home)
    with desk_at(home) as workspace:
        assert forget_ids(workspace, [number]).problems == ()


def test_a_home_that_never_reached_its_server_writes_nothing(desk_at, machine):
    home = machine("home", "postgresql://anna@127.0.0.1:1/gone")
    say(home, "s1", RULE)
    with desk_at(home) as workspace, pytest.raises(StoreError, match="cannot be reached"):
        run_pipeline(workspace, [], RunOptions())


def test_what_is_remembered_moves_to_a_server_and_back_unchanged(desk_at, machine, postgres):
    url, home = postgres(), machine("home", sample=True)
    run(desk_at, home)
    with desk_at(home) as workspace:
        rows = list(workspace.store.export_rows())
    move_to_server(paths_of(home), url)
    move_to_server(paths_of(home), url)  # again, as after one that was cut short
    assert load_settings(paths_of(home).settings).store.url == url
    other = machine("other", url)
    run(desk_at, other)
    with desk_at(other) as workspace:
        assert list(workspace.store.export_rows()) == rows
    with pytest.raises(UsageError, match="already"):
        move_to_server(paths_of(home), with_role(url, "another"))
    assert move_to_file(paths_of(home), drop=True) == url
    assert load_settings(paths_of(home).settings).store.url == ""
    with SqliteStore(paths_of(home).store) as store:
        assert list(store.export_rows()) == rows
        assert store.find_damage() == ()
    with desk_at(other) as workspace, pytest.raises(StoreError, match="no store of this owner"):
        run_pipeline(workspace, [], RunOptions())


def test_a_home_that_remembers_something_takes_no_part_in_another_memory_by_its_settings(desk_at, machine, postgres):
    url, full, home = postgres(), machine("full", sample=True), machine("home")
    run(desk_at, full)
    move_to_server(paths_of(full), url)
    say(home, "s1", RULE)
    run(desk_at, home)
    change_setting(paths_of(home), "store.url", url)
    with desk_at(home) as workspace, pytest.raises(StoreError, match="not on the server"):
        run_pipeline(workspace, [], RunOptions())
    change_setting(paths_of(home), "store.url", "")
    with pytest.raises(UsageError, match="already has a store of this owner"):
        move_to_server(paths_of(home), url)
    assert len(told(desk_at, home)) == 1


def test_an_address_with_a_password_is_written_nowhere(machine):
    home = machine("home")
    for url in ("postgresql://anna:geheim@db/kept", "postgresql://db/kept?user=anna&password=geheim"):
        with pytest.raises(ConfigError, match="password"):
            change_setting(paths_of(home), "store.url", url)
        with pytest.raises(ConfigError, match="password"):
            move_to_server(paths_of(home), url)
    assert "geheim" not in "".join(path.read_text() for path in home.rglob("*") if path.is_file())


def test_a_backup_that_is_put_back_is_what_the_other_machines_have_too(desk_at, machine, postgres):
    url = postgres()
    first, second = machine("first", url, sample=True), machine("second", url)
    run(desk_at, first)
    with desk_at(first) as workspace:
        made = create_backup(workspace, first / "copy.db")
        before = workspace.store.log.memories()
        apply_person_change(workspace, lambda: person.create_memory(workspace, "Deploy on Mondays only.", "constraint"))
    run(desk_at, second)
    restore_store(paths_of(first), made, lambda: desk_at(first))
    run(desk_at, second)
    for home in (first, second):
        with desk_at(home) as workspace:
            assert workspace.store.log.memories() == before
            assert workspace.store.find_damage() == ()


def test_what_is_forgotten_on_one_machine_is_nowhere_on_the_server_nor_on_the_others(desk_at, machine, postgres):
    import psycopg  # noqa: PLC0415 - where there is no such package, the tests here are skipped

    url = postgres()
    first, second = machine("first", url), machine("second", url)
    say(first, "s1", "Remember that the vault door opens with quokka marmalade.", "What else is there to do today?")
    run(desk_at, first)
    run(desk_at, second)
    with desk_at(first) as workspace:
        (memory,) = workspace.store.log.memories()
        forget_ids(workspace, [memory.id])
    run(desk_at, second)
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'kept'").fetchall()
        cells = [cell for (table,) in tables for row in connection.execute(f"SELECT * FROM kept.{table}") for cell in row]
    assert not [cell for cell in cells if "marmalade" in unpacked(cell)]
    with desk_at(second) as workspace:
        assert "marmalade" not in "".join(map(str, workspace.store.export_rows()))
        assert workspace.store.find_damage() == ()


def unpacked(cell) -> str:
    return unpack_text(cell) if isinstance(cell, bytes) else str(cell)


def test_rows_that_somebody_changed_on_the_server_are_named(desk_at, machine, postgres):
    import psycopg  # noqa: PLC0415

    url = postgres()
    home = machine("home", url, sample=True)
    run(desk_at, home)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE kept.sealed SET words = replace(words, 'Parquet', 'CSV') WHERE words LIKE '%Parquet%'")
        connection.execute("DELETE FROM kept.operations WHERE id = 1")
    with desk_at(home) as workspace:
        found = workspace.store.find_damage()
    assert [each.partition(":")[0] for each in found] == ["operations", "sealed"]


def test_a_client_of_another_format_writes_nothing_and_is_told(desk_at, machine, postgres):
    import psycopg  # noqa: PLC0415

    url = postgres()
    home = machine("home", url, sample=True)
    run(desk_at, home)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE kept.owners SET format = format + 1")
    with desk_at(home) as workspace:
        before = workspace.store.log.memories()
        with pytest.raises(StoreError, match="newer kept"):
            person.create_memory(workspace, "Deploy on Mondays only.", "constraint")
        assert workspace.store.log.memories() == before


def test_rows_of_an_older_format_are_sent_again_by_a_machine_that_has_all_of_them(desk_at, machine, postgres):
    import psycopg  # noqa: PLC0415

    url = postgres()
    home, behind = machine("home", url, sample=True), machine("behind", url)
    run(desk_at, behind)
    run(desk_at, home)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE kept.owners SET format = format - 1")
        connection.execute("UPDATE kept.blocks SET body = 'of an older format'")
    with desk_at(behind) as workspace, pytest.raises(StoreError, match="older kept"):
        person.create_memory(workspace, "Deploy on Mondays only.", "constraint")
    with desk_at(home) as workspace:
        person.create_memory(workspace, "Deploy on Mondays only.", "constraint")
        assert workspace.store.find_damage() == ()
    with desk_at(behind) as workspace:
        person.create_memory(workspace, "Deploy on Fridays never.", "constraint")
        assert any(memory.content == "Deploy on Mondays only." for memory in workspace.store.log.memories())
        assert workspace.store.find_damage() == ()


def test_doctor_says_whether_the_server_can_be_reached_and_as_whom(desk_at, machine, postgres):
    url = postgres()
    home = machine("home", url)
    say(home, "s1", RULE)
    run(desk_at, home)
    for address, well, told in (
        (url, True, "it knows this home as owner_"),
        ("postgresql://anna@127.0.0.1:1/gone", False, "the server cannot be reached"),
    ):
        change_setting(paths_of(home), "store.url", address)
        findings = {each.name: each for each in run_checks(paths_of(home))}
        assert (findings["server"].ok, findings["server"].detail.startswith(told)) == (well, True)
        assert findings["store"].ok is True
