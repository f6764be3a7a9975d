"""Whatever is damaged is named or refused, is never served as if it were whole, and is never written over."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from faults import (
    SAMPLE,
    Point,
    changed,
    copy,
    desk_at,
    injected,
    kept,
    memory_file,
    ran,
    remembered,
    state,
    store_of,
    written,
)

from kept.core.errors import DamagedError, KeptError
from kept.pipeline.safety import check_home
from kept.store.sqlite import SqliteStore

PAGE = 4096
OWN = "name NOT LIKE '%\\_index%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A home with the sample in it and something undone and forgotten, nothing wrong."""
    home = tmp_path_factory.mktemp("whole")
    ran(home)
    with desk_at(home) as workspace:
        first, second, *_ = sorted(each.id for each in workspace.store.log.memories())
    assert kept(home, "forget", first, "--yes").code == 0
    assert kept(home, "retire", second).code == 0
    assert kept(home, "undo").code == 0
    state(home)
    return home, copy(home, home.with_name("before"))


@pytest.fixture
def hurt(whole):
    home, before = whole
    return copy(before, home)


def tables(home: Path) -> dict[str, list[str]]:
    """Every row of every table of the store that is no index."""
    connection = sqlite3.connect(store_of(home))
    try:
        names = [row[0] for row in connection.execute(f"SELECT name FROM sqlite_master WHERE type = 'table' AND {OWN}")]
        return {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in names}
    finally:
        connection.close()


def found(home: Path) -> tuple[str, ...]:
    """What ``check`` names; the refusal to open or read the store counts as naming it."""
    try:
        with desk_at(home) as workspace:
            return check_home(workspace).damage
    except KeptError as error:
        return (str(error),)


def amiss(home: Path) -> bool:
    """Whether the store by itself finds damage: what `found` asks as well, in half the time."""
    try:
        with SqliteStore(store_of(home)) as store:
            return bool(store.find_damage())
    except KeptError:
        return True


PLANTED = {
    "a byte of an archive block": "UPDATE blocks SET body = CAST(substr(body, 1, 40) || "
    "iif(substr(body, 41, 1) = x'00', x'01', x'00') || substr(body, 42) AS BLOB) WHERE id = 1",
    "an archive block that is gone": "DELETE FROM blocks WHERE id = 1",
    "events told to be somewhere else": "UPDATE blocks SET id = id + 1 WHERE id = (SELECT max(id) FROM blocks)",
    "an event with another time": "UPDATE events SET at = 1000 WHERE id = 2",
    "an event with another author": "UPDATE events SET voice = 'ph' WHERE id = (SELECT min(id) FROM events WHERE voice <> 'ph')",
    "an event that is gone": "DELETE FROM events WHERE id = 3",
    "an event missing from its thread": "UPDATE thread_events SET events = events - 1 WHERE ordinal = 0 AND thread = 1",
    "a thread of another length": "UPDATE threads SET events = events - 1 WHERE id = 1",
    "a run that is gone": "DELETE FROM runs WHERE id = 1",
    "words of an operation": "UPDATE sealed SET words = replace(words, 'e', 'i') WHERE owner = (SELECT max(owner) FROM sealed "
    "WHERE owner "
    "LIKE 'o%')",
    "words that are gone": "DELETE FROM sealed WHERE owner = (SELECT max(owner) FROM sealed WHERE owner LIKE 'o%')",
    "words of a candidate": "UPDATE sealed SET words = replace(words, 'e', 'i') WHERE owner = (SELECT max(owner) FROM sealed "
    "WHERE owner "
    "LIKE 'c%')",
    "an operation that is gone": "DELETE FROM operations WHERE id = 1",
    "an operation of another kind": "UPDATE operations SET body = replace(body, 'a', 'o') WHERE id = 1",
    "a pass that is gone": "DELETE FROM passes WHERE id = 2",
    "the last pass gone": "DELETE FROM passes WHERE id = (SELECT max(id) FROM passes)",
    "a pass by somebody else": "UPDATE passes SET actor = 'person' WHERE id = (SELECT min(id) FROM passes WHERE actor = 'machine')",
    "a candidate that is gone": "DELETE FROM candidates WHERE row = 1",
    "a candidate that came alive": "UPDATE candidates SET live = 1 - live WHERE row = 1",
    "a memory that is gone": "DELETE FROM memories WHERE rowid = (SELECT max(rowid) FROM memories)",
    "a memory in other words": "UPDATE memories SET body = replace(body, 'the', 'teh') WHERE body LIKE '%the%'",
    "a memory of another status": "UPDATE memories SET status = 'held' WHERE status = 'active'",
    "words missing from the index of memories": "INSERT INTO memory_index (memory_index) VALUES ('delete-all')",
    "words missing from the index of turns": "INSERT INTO turn_index (turn_index) VALUES ('delete-all')",
    "words missing from the index of replies": "INSERT INTO reply_index (reply_index) VALUES ('delete-all')",
    "a passage noted that nobody said": "INSERT INTO passage_hashes (hash, event, session) VALUES (1, 1, 1)",
    "a forgotten statement that may come back": "DELETE FROM forgotten",
    "another key of forgetting": (
        "UPDATE settings SET value = iif(value LIKE '0%', '1', '0') || substr(value, 2) WHERE name = 'key:forget'"
    ),
    "how a project is called, gone": "DELETE FROM projects",
    "what was written, gone": "DELETE FROM outputs",
    "a mark that recognises copies, gone": "DELETE FROM marks WHERE mark = (SELECT min(mark) FROM marks)",
    "a note of what was worked on, gone": "DELETE FROM notes WHERE id = (SELECT max(id) FROM notes)",
    "a setting that is gone": "DELETE FROM settings WHERE name = (SELECT min(name) FROM settings)",
    "a project put in the place of another": "UPDATE projects SET directory = directory || 'x', checksum = checksum + 1",
    "the count of rows gone": "DELETE FROM tallies",
    "a table that is not kept's": "CREATE TABLE notes_of_somebody (words TEXT)",
    "an index that is not kept's": "CREATE INDEX by_kind ON operations (kind)",
    "another line in what was written": "UPDATE outputs SET lines = replace(lines, 'the', 'teh')",
}


@pytest.mark.parametrize("what", PLANTED)
def test_check_finds_planted_damage(hurt, what):
    changed(hurt, PLANTED[what])
    before = store_of(hurt).read_bytes()
    assert found(hurt)
    assert store_of(hurt).read_bytes() == before, "checking repaired what it found"


ANOTHER = {int: lambda value: value + 1, str: lambda value: f"{value}x", bytes: lambda value: value[:-1], type(None): lambda _: "x"}
UNIMPORTANT = {"migrations", "noted", "unembedded", "uses", "looks"}  # history; what is derived or read again; a count
UNIMPORTANT |= {"texts", "tellings", "rests", "settled", "unsettled"}  # made by curation where a group is large, and made anew


@pytest.mark.slow
def test_another_value_in_any_column_of_any_table_is_named(hurt, tmp_path):
    """A row of each table, each of its columns in turn; a table without rows in this home proves nothing and is told."""
    with closing(sqlite3.connect(store_of(hurt))) as store:
        columns = {each: [row[1] for row in store.execute(f"PRAGMA table_info({each})")] for each in tables(hurt)}
    before, silent, empty = copy(hurt, tmp_path / "hurt"), [], []
    for table in sorted(columns.keys() - UNIMPORTANT):
        for number, column in enumerate(columns[table]):
            copy(before, hurt)
            with closing(sqlite3.connect(store_of(hurt), isolation_level=None)) as store:
                rows = store.execute(f"SELECT * FROM {table}").fetchall()
                if not rows:
                    empty.append(table)
                    break
                row = rows[-1]
                where = " AND ".join(f"{each} IS ?" for each in columns[table])
                made = ANOTHER[type(row[number])](row[number])
                store.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (made, *row))
            if not found(hurt):
                silent.append(f"{table}.{column}")
    assert not silent, " ".join(silent)
    assert set(empty) <= EMPTY, "nothing was proven of these"


def test_every_count_of_rows_is_compared(hurt, tmp_path):
    before, silent = copy(hurt, tmp_path / "hurt"), []
    with closing(sqlite3.connect(store_of(hurt))) as store:
        names = [row[0] for row in store.execute("SELECT name FROM tallies")]
    for name in names:
        copy(before, hurt)
        changed(hurt, "UPDATE tallies SET count = count + 1 WHERE name = ?", name)
        if not amiss(hurt):
            silent.append(name)
    assert len(names) >= 9
    assert not silent, silent


@pytest.mark.slow
def test_a_row_of_any_table_that_is_gone_is_named(hurt, tmp_path):
    """The first row of each table, the last one, and all of them."""
    before, silent = copy(hurt, tmp_path / "hurt"), []
    for table, rows in tables(hurt).items():
        if not rows or table in UNIMPORTANT | {"hearings"}:  # progress only
            continue
        with closing(sqlite3.connect(store_of(hurt))) as store:
            key = ", ".join(row[1] for row in store.execute(f"PRAGMA table_info({table})") if row[5])
            some = [store.execute(f"SELECT {key} FROM {table} ORDER BY {key} {way} LIMIT 1").fetchone() for way in ("ASC", "DESC")]
        for row in (*some, None):
            copy(before, hurt)
            changed(
                hurt, f"DELETE FROM {table}" + (f" WHERE ({key}) = ({', '.join('?' for _ in row)})" if row else ""), *(row or ())
            )
            if not found(hurt):
                silent.append(f"{table} {row}")
    assert not silent, silent


EMPTY = {"dirty", "hearings", "opted_out", "summaries"}  # in the home of these tests; test_daybook has the last


def test_the_check_command_names_damage_and_exits_2(hurt):
    changed(hurt, PLANTED["a pass that is gone"])
    done = kept(hurt, "check")
    assert done.code == 2
    assert "pass 2: missing" in done.out


def test_an_undamaged_store_has_no_damage_and_checking_writes_nothing(hurt):
    before = store_of(hurt).read_bytes()
    assert found(hurt) == ()
    assert store_of(hurt).read_bytes() == before


def contents(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of the store whose rows matter, in the order in which they lie."""
    with closing(sqlite3.connect(store_of(home))) as store:
        names = [row[0] for row in store.execute(f"SELECT name FROM sqlite_master WHERE type = 'table' AND {OWN}")]
        return {name: store.execute(f'SELECT * FROM "{name}"').fetchall() for name in names if name not in UNIMPORTANT}


def goes_unnoticed(home: Path, good: dict[str, list[tuple[object, ...]]], data: bytes, place: int) -> bool:
    """Turn some bits of one byte over, and tell whether a row is another since and nothing names it. Where no row is, it is
    harmless.
    """
    bad = bytearray(data)
    bad[place] ^= 0x41
    store_of(home).write_bytes(bad)
    with suppress(sqlite3.Error, UnicodeDecodeError):
        if contents(home) == good:
            return False
    return not (amiss(home) or found(home))


def rotten(home: Path, places: list[int]) -> list[int]:
    """The places where bit rot goes unnoticed."""
    data, good = store_of(home).read_bytes(), contents(home)
    return [place for place in places if goes_unnoticed(home, good, data, place)]


def test_bit_rot_here_and_there_is_named_or_harmless(hurt):
    chance, size = random.Random(3), store_of(hurt).stat().st_size
    assert not rotten(hurt, [page + chance.randrange(PAGE) for page in range(0, size, PAGE)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_bit_rot_in_any_page_is_named_or_harmless(hurt, proven, seed):
    chance, size = random.Random(seed), store_of(hurt).stat().st_size
    places = [page + chance.randrange(PAGE) for page in range(0, size, PAGE) for _ in range(10)]
    assert not rotten(hurt, places)
    proven("bytes turned over", len(places))


def test_damaged_words_are_never_served_as_if_they_were_whole(hurt):
    """Every byte of one memory's words, turned over, either is refused or does not show."""
    data = store_of(hurt).read_bytes()
    with desk_at(hurt) as workspace:
        good = remembered(workspace)
    content = next(content for _, content, status, _ in good if status == "active" and content.isascii()).encode()
    places = [place for place in range(len(data)) if data.startswith(content, place)]
    assert places
    for place in (each + step for each in places for step in range(0, len(content), 7)):
        bad = bytearray(data)
        bad[place] ^= 0x01
        store_of(hurt).write_bytes(bad)
        with suppress(DamagedError), desk_at(hurt) as workspace:
            assert remembered(workspace) == good, "damaged words were served"


def boundaries(home: Path, step: int) -> range:
    return range(0, store_of(home).stat().st_size, PAGE * step)


def cut_at(home: Path, data: bytes, size: int, command: list[object]) -> None:
    store_of(home).write_bytes(data[:size])
    before = written(home)
    done = kept(home, *command)
    assert done.code == 2, (size, done)
    assert "kept restore" in done.err
    assert store_of(home).read_bytes() == data[:size], "a damaged store was written over"
    assert written(home) == before


def test_a_store_cut_off_at_some_pages_is_refused_and_left_as_it_is(hurt):
    data = store_of(hurt).read_bytes()
    for number, size in enumerate(boundaries(hurt, 16)):
        cut_at(hurt, data, size, ["run", SAMPLE] if number % 2 else ["list"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["run", SAMPLE], ["add", "Some rule about crates.", "--type", "constraint"], ["list"], ["check"]]
)
def test_a_store_cut_off_at_any_page_is_refused_and_left_as_it_is(hurt, command):
    data = store_of(hurt).read_bytes()
    for size in boundaries(hurt, 1):
        cut_at(hurt, data, size, command)


def journal(home: Path) -> Path:
    return store_of(home).with_name("kept.db-journal")


@pytest.fixture
def interrupted(hurt):
    """A home whose store was left in the middle of a commit: the pages are half written, the journal holds the old ones."""
    before = state(hurt)
    untouched = store_of(hurt).read_bytes()
    for number in range(2, 60, 2):
        kill = injected("signal=KILL", Point(call="pwrite64", number=number), store_of(hurt))
        kept(hurt, "add", "Quokka releases go out on Tuesdays only.", "--type", "constraint", prefix=kill)
        if journal(hurt).exists() and store_of(hurt).read_bytes() != untouched:
            return hurt, before
        journal(hurt).unlink(missing_ok=True)
        store_of(hurt).write_bytes(untouched)
    raise AssertionError("no kill fell into a commit")


def test_a_journal_left_by_a_crash_brings_the_old_state_back(interrupted):
    home, before = interrupted
    assert state(home) == before
    assert not journal(home).exists()


def test_a_half_written_store_without_its_journal_is_named_or_whole(interrupted):
    home, before = interrupted
    journal(home).unlink()
    assert found(home) or state(home) == before


def test_a_journal_of_another_store_is_named_or_harmless(interrupted, whole, tmp_path):
    home, before = interrupted
    other = copy(whole[1], tmp_path / "other")
    assert kept(other, "add", "Wombats sleep in crate 5.", "--type", "constraint").code == 0
    with desk_at(other) as workspace:
        expected = remembered(workspace)
    shutil.copy(journal(home), journal(other))
    assert found(other) or state(other) in (before, expected)


def test_a_stale_journal_that_is_not_hot_is_harmless(hurt):
    before = state(hurt)
    for stale in (b"", bytes(512), b"not a journal at all" * 40):
        journal(hurt).write_bytes(stale)
        assert state(hurt) == before


@pytest.mark.parametrize("name", ["kept.db-wal", "kept.db-shm"])
def test_files_of_another_journal_mode_beside_the_store_are_harmless(hurt, name):
    before = state(hurt)
    store_of(hurt).with_name(name).write_bytes(random.Random(1).randbytes(8192))
    assert state(hurt) == before


@pytest.mark.parametrize(
    "spoil",
    [lambda path: path.write_bytes(b""), lambda path: path.write_bytes(bytes(2000)), Path.unlink],
    ids=["emptied", "NUL-filled", "missing"],
)
def test_a_spoilt_memory_file_deletes_nothing_and_is_written_anew(hurt, spoil: Callable[[Path], object]):
    before, text = state(hurt), written(hurt)
    spoil(memory_file(hurt))
    done = kept(hurt, "run", SAMPLE)
    assert done.code in (0, 1)
    assert state(hurt) == before
    assert written(hurt) == text
    if done.code:
        assert "aside" in f"{done.out}{done.err}"


def test_what_derives_is_rebuilt_byte_for_byte(hurt):
    """Memories, their index and the memory file, lost and rebuilt from the log alone, are what they were."""
    before, text = tables(hurt), memory_file(hurt).read_bytes()
    changed(hurt, "DELETE FROM memories")
    changed(hurt, "INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    changed(hurt, "UPDATE candidates SET live = 1 - live")
    changed(hurt, "DELETE FROM notes WHERE id = (SELECT max(id) FROM notes)")
    memory_file(hurt).unlink()
    assert kept(hurt, "rebuild").code == 0
    assert {**tables(hurt), "memories": []} == {**before, "memories": []}
    bodies = "SELECT id, profile, category, scope, status, body FROM memories ORDER BY id"
    rebuilt, original = sqlite3.connect(store_of(hurt)), before["memories"]
    assert len(rebuilt.execute(bodies).fetchall()) == len(original)
    rebuilt.close()
    assert memory_file(hurt).read_bytes() == text
    assert found(hurt) == ()
