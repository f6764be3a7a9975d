"""Owners on one server: each sees and writes its own rows alone, whatever it tries; machines write at once and lose nothing."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from kept.core.errors import StoreError
from kept.core.operation import fold
from kept.store.replica.database import OWN, SHARED, read_tables
from kept.store.sqlite import SqliteStore
from postgres_server import with_database
from store_world import add, archive, commit, event, replica

psycopg = pytest.importorskip("psycopg")
WRITER = Path(__file__).parents[1] / "helpers" / "shared_writer.py"


def owner_of(url: str) -> str:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT current_user").fetchone()[0]


def tables(connection) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'kept' AND column_name = 'role' ORDER BY 1"
    )
    return [name for (name,) in rows]


@pytest.fixture
def two(postgres, tmp_path):
    """The addresses of two owners who both remember something."""
    urls = postgres(), postgres()
    for number, url in enumerate(urls):
        with replica(tmp_path / f"{number}" / "kept.db", url) as store:
            archive(store, event(f"e{number}", text=f"words of owner {number}"))
            commit(store, add("0123456789", f"what owner {number} decided"))
    return urls


def test_an_owner_reads_no_row_of_another_in_any_table(two):
    mine, other = map(owner_of, two)
    with psycopg.connect(two[0], autocommit=True) as connection:
        seen = {name: connection.execute(f"SELECT DISTINCT role FROM kept.{name}").fetchall() for name in tables(connection)}
        assert len(seen) == 24
        assert seen["operations"] == seen["blocks"] == seen["owners"] == [(mine,)]
        assert {role for rows in seen.values() for (role,) in rows} == {mine}
        for name in seen:
            assert connection.execute(f"SELECT count(*) FROM kept.{name} WHERE role = %s", (other,)).fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f'SET ROLE "{other}"')


def test_an_owner_writes_changes_and_erases_no_row_of_another(two):
    other = owner_of(two[1])
    with psycopg.connect(two[0], autocommit=True) as connection:
        for name in tables(connection):
            assert connection.execute(f"DELETE FROM kept.{name} WHERE role = %s", (other,)).rowcount == 0
            if connection.execute(f"SELECT count(*) FROM kept.{name}").fetchone()[0]:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):  # a forged owner
                    connection.execute(f"UPDATE kept.{name} SET role = %s", (other,))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO kept.dirty (role, version, profile, scope, checksum) VALUES (%s, 1, 'x', 'y', 0)", (other,)
            )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE kept.operations DISABLE ROW LEVEL SECURITY")


def test_owners_with_the_same_ids_have_chains_of_their_own(two, tmp_path):
    for number, url in enumerate(two):
        with replica(tmp_path / f"again{number}" / "kept.db", url) as store:
            store.refresh()
            (memory,) = store.log.memories()
            assert memory.content == f"what owner {number} decided"
            assert store.find_damage() == ()


def test_people_who_may_take_the_role_of_a_project_share_its_memory(postgres, tmp_path):
    anna, ben, project = postgres(), postgres(), postgres()
    name = owner_of(project)
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        for url in (anna, ben):
            connection.execute(f'GRANT "{name}" TO "{owner_of(url)}"')
    shared = [f"{url}{'&' if '?' in url else '?'}options=-c%20role%3D{name}" for url in (anna, ben)]
    with replica(tmp_path / "a" / "kept.db", shared[0]) as store:
        commit(store, add("0123456789", "we deploy on Mondays"))
    with replica(tmp_path / "b" / "kept.db", shared[1]) as store:
        store.refresh()
        assert [memory.content for memory in store.log.memories()] == ["we deploy on Mondays"]
    with replica(tmp_path / "c" / "kept.db", ben) as store:
        store.refresh()
        assert store.log.memories() == ()


def test_a_database_without_kept_and_a_role_that_may_not_make_it_are_told(postgres):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there

    url = postgres()
    elsewhere = with_database(url, "template1")
    with pytest.raises(StoreError, match="contains no store of kept"):
        PostgresServer(elsewhere)
    with pytest.raises(StoreError, match="does not allow it"):
        PostgresServer(elsewhere, create=True)


def test_two_administrators_prepare_a_database_one_after_the_other(postgres):
    from kept.store.postgres.server import _LOCK, PostgresServer  # noqa: PLC0415 - psycopg is there

    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(postgres.admin) as first, ThreadPoolExecutor(1) as pool:
        first.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        second = pool.submit(lambda: PostgresServer(postgres.admin, create=True).close())
        while not (waits := first.execute(waiting).fetchone()[0]) and not second.done():
            pass
        first.commit()
        second.result()
    assert waits


def test_the_server_has_the_columns_of_every_shared_table_and_every_other_is_a_machines_own(postgres, tmp_path):
    kinds = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}
    SqliteStore(tmp_path / "kept.db").__exit__()
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database, psycopg.connect(postgres()) as connection:
        here = {name: [(column, kinds[kind]) for column, kind in table.columns] for name, table in read_tables(database).items()}
        names = {
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        }
        rows = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'kept' ORDER BY ordinal_position"
        ).fetchall()
    there = {name: [(column, kind) for table, column, kind in rows if table == name] for name in here}
    here["memories"].append(("words", "tsvector"))  # made there, to be found by
    assert there == {name: [("role", "text"), ("version", "bigint"), *columns] for name, columns in here.items()}
    assert {name for name in names if not re.search(r"_(index|data|idx|docsize|config|content)$", name)} == {*SHARED, *OWN}


SCHEMA = (
    "SELECT table_name, column_name, data_type, generation_expression FROM information_schema.columns WHERE table_schema = 'kept'",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'kept' ORDER BY 1",
    "SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'kept' ORDER BY 1, 2",
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'kept'::regnamespace ORDER BY 1",
    "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    "SELECT relname, relrowsecurity, relforcerowsecurity, relacl FROM pg_class WHERE relnamespace = 'kept'::regnamespace",
)


def test_a_server_that_an_older_kept_made_gets_the_schema_of_a_new_one(postgres):
    schemas = [schema_made_from(postgres.admin, version) for version in range(6)]
    assert schemas[1:] == schemas[:1] * 5
    assert "vectors_pkey" in schemas[0]


def schema_made_from(admin: str, version: int) -> str:
    """What a database looks like of which an older kept made the first migrations (0: none), and this one the others."""
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there

    name = f"older_{os.getpid()}"
    url = with_database(admin, name)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            with psycopg.connect(url) as older:
                for number in range(1, version + 1):
                    older.execute(files("kept.store.postgres").joinpath(f"migrations/{number}.sql").read_text())
                    older.execute("INSERT INTO kept.migrations (version) VALUES (%s)", (number,))
            PostgresServer(url, create=True).close()
            with psycopg.connect(url) as made:
                return "\n".join(sorted(str(row) for query in SCHEMA for row in made.execute(query)))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def written(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("*.acked")) for line in path.read_text().splitlines()]


def start(folder: Path, name: str, url: str, count: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(WRITER), str(folder), name, url, str(count)], stdout=subprocess.PIPE, text=True)


def test_machines_of_one_owner_and_of_others_write_at_once_and_nothing_is_lost(postgres, tmp_path):
    mine, other = postgres(), postgres()
    started = [start(tmp_path, name, url, 6) for name, url in (("a", mine), ("b", mine), ("c", other))]
    assert [(each.communicate()[0].count("."), each.returncode) for each in started] == [(6, 0)] * 3
    with replica(tmp_path / "all" / "kept.db", mine) as store:
        store.refresh()
        assert len(store.log.memories()) == 12
        assert {memory.id: memory for memory in store.log.memories()} == fold(store.log.passes())
        assert store.find_damage() == ()
        store.prove_server()


def killed(folder: Path, url: str, kills: int) -> None:
    """Kill a machine that writes, again and again, each time one step later."""
    for number in range(kills):
        process = start(folder, "k", url, 10_000)
        assert process.stdout is not None
        for _ in range(1 + number % 5):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    with replica(folder / "k" / "kept.db", url) as store:
        store.refresh()
        assert {memory.content for memory in store.log.memories()} >= set(written(folder))
        assert store.find_damage() == ()
        store.prove_server()


def test_a_machine_that_is_killed_while_it_writes_has_lost_nothing_it_was_told_is_kept(postgres, tmp_path):
    killed(tmp_path, postgres(), 2)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_many_kills_of_a_machine_lose_nothing(postgres, tmp_path):
    killed(tmp_path, postgres(), int(os.environ.get("KEPT_KILLS", "100")))


def commit_and_drop(store) -> None:
    with store.transaction():
        commit(store, add("1123456789", "lost"))
        store._database.run("drop_memory", rowid=1)


class Failing:
    """A server that goes away at a certain step."""

    def __init__(self, server, step: str) -> None:
        self.server, self.step = server, step

    def __getattr__(self, name):
        if name == self.step:
            self.server.close()
        return getattr(self.server, name)


def test_a_connection_that_ended_since_the_last_change_is_made_again(postgres, tmp_path):
    url = postgres()
    with replica(tmp_path / "kept.db", url) as store:
        commit(store, add("0123456789", "before"))
        with psycopg.connect(postgres.admin, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE usename = %s", (owner_of(url),))
        commit(store, add("2123456789", "after"))
        assert len(store.log.memories()) == 2


@pytest.mark.parametrize("step", ["lock", "put", "drop", "commit"])
def test_a_server_that_goes_away_in_the_middle_of_a_change_changes_nothing(postgres, tmp_path, step):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there
    from kept.store.replica.store import ReplicaStore  # noqa: PLC0415

    url, servers = postgres(), []

    def connect():
        servers.append(PostgresServer(url))
        return Failing(servers[-1], step) if len(servers) == 2 else servers[-1]

    with ReplicaStore(tmp_path / "kept.db", connect) as store:
        commit(store, add("0123456789", "before"))
        store.log.mark_group_curated("coding", "user")
        rows = list(store.export_rows())
        servers[0].close()
        with pytest.raises(StoreError, match=r"went away|cannot be reached"), store.transaction():
            store.log.mark_group_curated("coding", "user")
        with pytest.raises(StoreError, match=r"went away|cannot be reached"):
            commit_and_drop(store)
        assert list(store.export_rows()) == rows
        commit(store, add("2123456789", "after"))
        assert store.find_damage() == ()


def test_a_full_disk_on_the_server_is_told_and_changes_nothing_here_or_there(postgres, tmp_path):
    url = postgres()
    with replica(tmp_path / "kept.db", url) as store, psycopg.connect(postgres.admin, autocommit=True) as admin:
        commit(store, add("0123456789", "before"))
        admin.execute(
            "CREATE FUNCTION kept.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"
        )
        admin.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON kept.memories FOR EACH ROW"
            f" WHEN (NEW.role = '{owner_of(url)}') EXECUTE FUNCTION kept.full_disk()"
        )
        try:
            with pytest.raises(StoreError, match="the server's disk is full"):
                commit(store, add("2123456789", "after"))
        finally:
            admin.execute("DROP FUNCTION kept.full_disk CASCADE")
        assert [memory.content for memory in store.log.memories()] == ["before"]
        store.prove_server()
        commit(store, add("2123456789", "after"))
        assert store.find_damage() == ()
        store.prove_server()


def test_a_client_that_is_two_versions_older_than_the_server_is_told_and_writes_nothing(postgres, tmp_path, monkeypatch):
    from kept.store.postgres import server  # noqa: PLC0415 - psycopg is there

    url = postgres()
    with replica(tmp_path / "kept.db", url) as store:
        commit(store, add("0123456789", "before"))
        rows = list(store.export_rows())
    monkeypatch.setattr(server, "_NEWEST", 1)
    with replica(tmp_path / "kept.db", url) as store:
        with pytest.raises(StoreError, match="the tables on the server are from a newer kept"):
            commit(store, add("2123456789", "after"))
        assert list(store.export_rows()) == rows
        assert len(store.log.memories()) == 1
