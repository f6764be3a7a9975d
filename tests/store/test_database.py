"""The file of a store and its connection, whatever its rows mean."""

import sqlite3
import stat
from contextlib import closing

import pytest

from kept.core.errors import DamagedError, StoreError
from kept.store import database
from kept.store.database import (
    FORMAT,
    Database,
    checksum,
    create_file,
    delete_database,
    free_name,
    match_all_words,
    match_any_word,
)


@pytest.fixture
def base(tmp_path):
    opened = Database(tmp_path / "kept.db")
    yield opened
    opened.close()


def told(call, *arguments, **values):
    with pytest.raises(StoreError) as error:
        call(*arguments, **values)
    return str(error.value)


@pytest.mark.parametrize(
    "statement", ["CREATE TRIGGER sly AFTER INSERT ON runs BEGIN SELECT 1; END", "CREATE VIEW sly AS SELECT 1"]
)
def test_a_file_with_a_program_in_it_is_not_opened(base, tmp_path, statement):
    base.execute_sql(statement)
    with pytest.raises(DamagedError) as error:
        Database(tmp_path / "kept.db")
    kind = statement.split()[1].lower()
    assert str(error.value).startswith(
        f"the store contains triggers or views that kept did not create: {kind} sly ({tmp_path / 'kept.db'}) → restore"
    )


@pytest.mark.parametrize(
    ("statement", "found"), [("CREATE TABLE extra (a)", "table extra"), ("CREATE INDEX extra ON runs (command)", "index extra")]
)
def test_what_kept_did_not_make_is_listed(base, statement, found):
    assert base.list_foreign_objects() == ()
    base.execute_sql(statement)
    assert base.list_foreign_objects() == (found,)


def test_another_programs_database_and_one_of_a_newer_kept_are_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / "kept.db")) as other:
        other.execute("CREATE TABLE theirs (a)")
        assert told(Database, tmp_path / "kept.db").startswith("this file is a database, but not kept's (")
        other.execute("DROP TABLE theirs")
        other.execute(f"PRAGMA user_version = {FORMAT + 1}")
    assert f"format {FORMAT + 1}, this program knows {FORMAT} (" in told(Database, tmp_path / "kept.db")


def test_a_link_is_no_store(base, tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "kept.db")
    assert (
        told(Database, tmp_path / "link.db")
        == f"the store is a link ({tmp_path / 'link.db'}) → replace the link by the file it leads to"
    )


def test_a_store_in_a_place_that_is_no_folder_cannot_be_opened(base, tmp_path):
    place = tmp_path / "kept.db" / "kept.db"
    assert told(Database, place) == f"the store cannot be opened: Not a directory ({place}) → check the permissions and the disk"


@pytest.mark.parametrize("read", [list, lambda cursor: cursor.fetchall(), lambda cursor: (cursor.fetchone(), cursor.fetchone())])
def test_an_error_while_rows_are_read_is_one_of_the_store(base, tmp_path, read):
    cursor = base.execute_sql("SELECT json(value) FROM (SELECT '1' AS value UNION ALL SELECT '{')")
    assert told(read, cursor) == f"the store file is damaged ({tmp_path / 'kept.db'}) → restore a backup: kept restore FILE"


def test_a_statement_that_fails_is_an_error_of_the_store(base):
    assert "kept check" in told(base.execute_many, "add_mention", [{}])
    assert "the store answered: no such table: nowhere" in told(base.execute_sql, "SELECT * FROM nowhere")


def test_rows_are_found_by_name_and_a_statement_needs_no_values(base):
    assert base.fetch_one("last_pass") is None
    assert base.execute_sql("SELECT 1 AS one").fetchone()["one"] == 1


def test_a_change_by_another_connection_is_noticed(base, tmp_path):
    before = base.data_version()
    with closing(Database(tmp_path / "kept.db")) as other, other.transaction():
        other.run("put_setting", name="a", value="b")
    assert base.data_version() != before


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_written_is_read_back_once_after_the_outermost_commit(base, fails):
    read = []

    def proof(name):
        return lambda: (read.append(name), True)[1]

    base.verify_after_commit("outside", proof("outside"))
    try:
        with base.transaction():
            base.verify_after_commit("one", proof("first"))
            base.verify_after_commit("one", proof("second"))
            with base.transaction():
                base.verify_after_commit("two", proof("third"))
            assert read == []
            assert {False: "it goes on"}[fails]  # or breaks off with a KeyError
    except KeyError:
        assert fails
    assert read == ([] if fails else ["second", "third"])
    with base.trial_transaction():
        base.verify_after_commit("trial", proof("trial"))
    with base.transaction():
        pass
    assert read == ([] if fails else ["second", "third"])


def test_pages_in_memory_are_dropped_before_what_was_written_is_read_back(base):
    done = []
    with base.transaction():
        base.run("put_setting", name="a", value="b")
        base.verify_after_commit("one", lambda: (done.append("read"), True)[1])
        base._connection.set_trace_callback(done.append)
    base._connection.set_trace_callback(None)
    assert [each for each in done if each in ("COMMIT", "PRAGMA shrink_memory", "read")] == [
        "COMMIT",
        "PRAGMA shrink_memory",
        "read",
    ]


def test_one_row_that_cannot_be_read_back_among_others_is_an_error(base, tmp_path):
    def write():
        with base.transaction():
            base.verify_after_commit("one", lambda: True)
            base.verify_after_commit("two", lambda: False)

    assert told(write).startswith(
        f"what was written cannot be read back ({tmp_path / 'kept.db'}) → the disk is unreliable: run `kept check`"
    )


def test_an_inner_transaction_that_fails_and_is_caught_leaves_the_outer_one_whole(base):
    with base.transaction():
        base.run("put_setting", name="a", value="1")
        with pytest.raises(KeyError), base.transaction():
            raise KeyError
        base.run("put_setting", name="b", value="2")
    with base.transaction():
        assert [base.fetch_one("setting", name=name)["value"] for name in "ab"] == ["1", "2"]


def test_a_reading_block_within_another_or_within_a_change_ends_neither(base):
    with base.read_transaction(), base.read_transaction():
        pass
    with base.transaction():
        with base.read_transaction():
            base.run("put_setting", name="a", value="1")
        assert base._connection.in_transaction
    assert base.fetch_one("setting", name="a")["value"] == "1"
    with base.read_transaction():
        assert base._connection.in_transaction
    assert not base._connection.in_transaction


def test_a_new_file_is_its_owners_alone_and_none_is_left_if_it_cannot_be_filled(tmp_path, monkeypatch):
    place, journal = tmp_path / "deep" / "a.db", tmp_path / "deep" / "a.db-journal"
    with create_file(place):
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert told(create_file(place).__enter__) == f"the file cannot be written: File exists ({place}) → choose another place"
    place.unlink()

    def fill(error):
        with create_file(place):
            journal.touch()
            raise error

    assert told(fill, OSError(28, "No space left")) == f"the file cannot be written: No space left ({place}) → check the disk"
    assert "the disk is full" in told(fill, sqlite3.OperationalError("database or disk is full"))
    with pytest.raises(KeyError):
        fill(KeyError("x"))
    assert list(place.parent.iterdir()) == []
    flushed = []
    monkeypatch.setattr(database, "flush", flushed.append)
    with create_file(place):
        assert flushed == []
    assert flushed == [place, place.parent]


def test_a_damaged_copy_is_refused_and_not_left_behind(base, tmp_path):
    with base.transaction():
        for number in range(200):
            base.run("put_setting", name=f"{number}", value="x" * 400)
    path = tmp_path / "kept.db"
    data = bytearray(path.read_bytes())
    size = len(data) // 4096
    for page in range(size - 4, size):
        data[page * 4096 : page * 4096 + 64] = bytes(64)
    path.write_bytes(bytes(data))
    base._connection.execute("PRAGMA shrink_memory")
    with closing(Database(path)) as damaged:
        assert "damaged" in told(damaged.copy_to, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_the_sum_of_a_row_tells_its_columns_apart():
    rows = [("ab", ""), ("a", "b"), ("", "ab"), (None, "ab"), ("ab",), ("\ud800", "ab"), (1, 2), (12, None)]
    assert len({checksum(*row) for row in rows}) == len(rows)
    assert checksum(1, 2) == checksum("1", "2")


def test_no_character_of_a_word_is_an_operator():
    assert (match_any_word(['a"b', "OR"]), match_all_words(['a"b', "OR"])) == ('"a""b" OR "OR"', '"a""b" AND "OR"')
    assert match_any_word([]) == match_all_words([]) == '""'


def test_the_first_free_name_has_a_number_before_its_suffix(tmp_path):
    names = []
    for _ in range(3):
        names.append(free_name(tmp_path / "a.db").name)
        (tmp_path / names[-1]).touch()
    assert names == ["a.db", "a.2.db", "a.3.db"]


def test_a_deleted_database_takes_its_journal_with_it(tmp_path):
    for name in ("a.db", "a.db-journal", "b.db"):
        (tmp_path / name).touch()
    delete_database(tmp_path / "a.db")
    delete_database(tmp_path / "a.db")
    assert [each.name for each in tmp_path.iterdir()] == ["b.db"]


def test_two_processes_that_make_one_store_make_it_once(tmp_path, monkeypatch):
    version = Database._version
    answers = iter([0])
    with closing(Database(tmp_path / "kept.db")):
        monkeypatch.setattr(Database, "_version", lambda self: next(answers, version(self)))
        with closing(Database(tmp_path / "kept.db")) as second:
            assert second.execute_sql("SELECT count(*) FROM migrations").fetchone()[0] == 1
