"""Searching on the server, from a machine that has no copy of the memory: by words of any language and by meaning, one's own and
what teams share.
"""

import os
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from urllib.parse import urlsplit

import pytest

from cli_world import kept, told
from kept.changes import apply_person_change
from kept.core.errors import UsageError
from kept.local.recall_settings import RecallSettings
from kept.memories import person
from kept.memories.configure import change_setting
from kept.memories.team import share_project
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.recall.server_search import search_server
from postgres_server import owner_of, with_database, with_role
from store_world import add, commit, replica
from talking import forget_ids, say

psycopg = pytest.importorskip("psycopg")
NOW = datetime(2026, 11, 1, tzinfo=UTC)
OFF = RecallSettings(embeddings="off")
HASHING = RecallSettings(embeddings="hashing")


def found(url, question, recall=OFF, **options):
    return [hit.text for hit in search_server(url, question, recall, {}, NOW, **options)]


@pytest.fixture
def remembering(postgres, tmp_path):
    """The address of an owner who remembers these texts, on a machine that is gone."""

    def made(*texts):
        url = postgres()
        with replica(tmp_path / owner_of(url) / "kept.db", url) as store:
            commit(store, *(add(f"{number:010x}", text) for number, text in enumerate(texts)))
        return url

    return made


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("when did we deploy", "Deploys go out on Tuesdays only."),
        ("welches Haus", "Die alten Häuser werden mit der neuen Datenbank gebaut."),
        ("bases de données", "La base de donnée des clients est en lecture seule."),
        ("базы данных", "Мы используем базу данных только для тестов."),
        ("连接", "数据库连接失败时重试三次。"),
        ("user name", "Call getUserName before every request."),
        ("main.py", "The entry point is src/app/main.py of this repository."),
        ("quotes", "It's `quoted` with \"quotes\" and \\ and 'more'."),
    ],
)
def test_a_memory_is_found_by_words_in_the_forms_of_its_language(remembering, question, text):
    url = remembering("Something else entirely.", text, "Nothing of the sort: 8080.")
    assert found(url, question) == [text]


def test_a_word_that_few_memories_have_counts_more_than_one_that_many_have(remembering):
    many = [f"The server of {name} is restarted on Sundays." for name in ("anna", "ben", "carl", "dora")]
    url = remembering(*many, "The harbor is closed in winter.")
    assert found(url, "is the server in the harbor restarted", limit=1) == ["The harbor is closed in winter."]
    assert len(found(url, "server", limit=3)) == 3


def test_no_question_is_an_operator_or_too_long_and_one_with_a_secret_is_not_sent(remembering):
    url = remembering("Deploys go out on Tuesdays only.")
    for question in ("' | deploys & !x:*", "\\", "\x00", "\ud800", "%s {near}", "", "x" * 100_000):
        found(url, question, HASHING)
    assert found(url, "' | deploys & !x:*") == ["Deploys go out on Tuesdays only."]
    with pytest.raises(UsageError, match="looks like a secret"):
        found(url, "which token is " + "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8")


def test_memories_that_postgresql_cannot_index_are_kept_all_the_same(postgres, remembering):
    url = remembering("a nul \x00 inside", "plain words")
    assert found(url, "plain") == ["plain words"]


@pytest.fixture
def home_with(tmp_path, desk_at):
    """A home on a server in which a person added some memories, with vectors of its own after a run."""

    def made(name, url, *texts):
        home = tmp_path / name
        home.mkdir()
        change_setting(find_paths(str(home), {"HOME": str(home)}), "store.url", url)
        say(home, "s1", "Please look at the harbor.")
        with desk_at(home) as workspace:
            for text in texts:
                apply_person_change(workspace, lambda text=text: person.create_memory(workspace, text, "constraint"))
            run_pipeline(workspace, [], RunOptions())
        return home

    return made


def vectors(url):
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*), max(vector_dims(vector)) FROM kept.vectors").fetchone()


def test_after_a_run_memories_are_found_by_meaning_too_and_a_change_or_forgetting_takes_the_vector_along(
    postgres, home_with, desk_at
):
    url = postgres()
    home = home_with("home", url, "Deploys go out on Tuesdays only.", "The harbor is closed in winter.")
    assert vectors(url)[0] == 2
    (hit, *_) = search_server(url, "deploys tuesdays", HASHING, {}, NOW)
    assert hit.text == "Deploys go out on Tuesdays only."
    assert any("its meaning" in reason for reason in hit.reasons)
    with desk_at(home) as workspace:
        edited, gone = (memory.id for memory in sorted(workspace.store.log.memories(), key=lambda each: each.content))
        apply_person_change(workspace, lambda: person.edit(workspace, edited, "Deploys go out on Fridays only."))
        assert vectors(url)[0] == 1
        forget_ids(workspace, [gone])
        assert vectors(url)[0] == 0
        run_pipeline(workspace, [], RunOptions())


def test_others_find_nothing_of_an_owner_and_a_team_finds_what_its_people_share(postgres, home_with, desk_at):
    url, other, stranger, team = (postgres() for _ in range(4))
    with psycopg.connect(postgres.admin, autocommit=True) as admin:
        for each in (url, other):
            admin.execute(f'GRANT "{owner_of(team)}" TO "{owner_of(each)}"')
    home = home_with("home", url, "I like the harbor.")
    with desk_at(home) as workspace:
        project = "/x/harbor"
        apply_person_change(
            workspace, lambda: person.create_memory(workspace, "Harbor releases need two people.", "constraint", project=project)
        )
        share_project(workspace, "harbor", owner_of(team), what="approved", quotes=False)
    assert found(stranger, "harbor", HASHING) == []
    (hit,) = search_server(other, "harbor releases", HASHING, {}, NOW)
    assert (hit.text, hit.author, hit.project) == ("Harbor releases need two people.", owner_of(url), owner_of(team))
    assert sorted(found(url, "harbor")) == ["Harbor releases need two people.", "I like the harbor."]


def test_a_machine_without_a_copy_finds_memories_by_the_command_and_makes_no_store(capsys, home, remembering):
    url = remembering("Deploys go out on Tuesdays only.", "The harbor is closed in winter.")
    code, out, err = kept(capsys, "search", "--store", url, "which day for deploys?")
    assert (code, err) == (0, "")
    assert "0000000000" in out
    assert "Deploys go out on Tuesdays only." in out
    assert "winter" not in out
    assert [hit["text"] for hit in told(capsys, "search", "--store", url, "harbor")["hits"]] == ["The harbor is closed in winter."]
    assert kept(capsys, "search", "--store", url, "quokka")[:2] == (0, "Nothing found.\n")
    assert kept(capsys, "search", "--store", url, "harbor", "--sessions")[0] == 2
    assert not find_paths(str(home), os.environ).store.exists()


@pytest.fixture
def database(postgres):
    """A database of the test's own, as the administrator."""
    name = f"searched_{os.getpid()}"
    with psycopg.connect(postgres.admin, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield with_database(postgres.admin, name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def has_vectors(url):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there

    with closing(PostgresServer(url)) as server:
        return server.has_vectors


def test_a_server_without_pgvector_answers_by_words_until_an_administrator_makes_it(postgres, database, tmp_path):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there

    role = owner_of(postgres())
    url = with_role(database, role)
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(f'GRANT CREATE ON DATABASE {urlsplit(database).path.strip("/")} TO "{role}"')
    PostgresServer(url, create=True).close()
    with replica(tmp_path / "kept.db", url) as store:
        commit(store, add("0123456789", "Deploys go out on Tuesdays only."))
    assert found(url, "deploys", HASHING) == ["Deploys go out on Tuesdays only."]
    assert not has_vectors(url)
    PostgresServer(database, create=True).close()
    assert has_vectors(url)


def indexes(connection):
    return " ".join(row[0] for row in connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'vectors'"))


@pytest.mark.slow
def test_beyond_fifty_thousand_vectors_of_an_owner_the_nearest_are_found_by_an_index(database, remembering):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is there

    PostgresServer(database, create=True).close()
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")  # vectors alone, of no memories
        admin.execute(
            "INSERT INTO kept.vectors SELECT 'anna', n, 'm', ARRAY[1, n % 100]::halfvec FROM generate_series(1, 50000) AS n"
        )
        PostgresServer(database, create=True).close()
        assert "hnsw" not in indexes(admin)
        admin.execute("INSERT INTO kept.vectors VALUES ('anna', 0, 'm', '[1, 0]')")
        PostgresServer(database, create=True).close()
        assert "hnsw (((vector)::halfvec(2)) halfvec_ip_ops)" in indexes(admin)
        admin.execute("ANALYZE kept.vectors")
        near = (
            files("kept.store.postgres")
            .joinpath("near.sql")
            .read_text()
            .replace("{size}", "2")
            .replace("SELECT rowid FROM worded", "SELECT 0")
        )
        admin.execute("SET enable_seqscan = off; SET enable_sort = off")  # as it is of itself where vectors are long
        plan = admin.execute(f"EXPLAIN {near}", {"vector": "[0,1]", "model": "m", "most": 10}).fetchall()
        assert any("Index Scan using vectors_near_2" in line for (line,) in plan)
