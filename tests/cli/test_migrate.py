"""The command line of a memory that lies on a server: moved there, read, written, and taken back."""

import pytest

from cli_world import OTHER, RULE, kept, told, transcript
from postgres_server import owner_of, with_database

pytest.importorskip("psycopg")


def test_every_command_of_the_day_works_with_a_server_and_says_what_it_does_without_one(capsys, home, postgres):
    path = transcript(home / "s1.jsonl", RULE, OTHER)
    assert kept(capsys, "run", path)[0] == 0
    before = {name: told(capsys, name, *more) for name, *more in (("list",), ("search", "dates"))}
    context = kept(capsys, "context", "how do we write dates?")[1]
    url = postgres()
    code, out, err = kept(capsys, "migrate", "--to", url)
    assert (code, err) == (0, "")
    assert out.startswith("Moved and verified: ")
    assert {name: told(capsys, name, *more) for name, *more in (("list",), ("search", "dates"))} == before
    assert kept(capsys, "context", "how do we write dates?")[1] == context
    for call in (
        ("run", path),
        ("add", "Deploy on Mondays only.", "--type", "constraint"),
        ("undo",),
        ("check",),
        ("rebuild",),
        ("check",),
    ):
        assert kept(capsys, *call)[::2] == (0, ""), call
    (memory, *_) = before["list"]
    assert kept(capsys, "forget", memory["id"], "--yes")[0] == 0
    assert kept(capsys, "check")[0] == 0
    code, out, err = kept(capsys, "migrate", "--to", "sqlite", "--drop")
    assert (code, err) == (0, "")
    assert "which no longer holds them" in out
    assert memory["id"] not in [each["id"] for each in told(capsys, "list")]
    assert kept(capsys, "check")[0] == 0


def test_tables_are_made_by_a_role_that_may_and_no_owner_can_open_them(capsys, home, postgres):
    import psycopg  # noqa: PLC0415 - where there is no such package, the tests here are skipped

    url = postgres()
    assert kept(capsys, "migrate", "--prepare", postgres.admin)[::2] == (0, "")
    code, out, err = kept(capsys, "migrate", "--prepare", with_database(url, "template1"))
    assert (code, out) == (2, "")
    assert "does not allow it" in err
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("ALTER TABLE kept.blocks NO FORCE ROW LEVEL SECURITY")
    assert kept(capsys, "migrate")[0] == 2


def test_a_server_that_is_not_there_is_one_clear_line(capsys, home):
    assert kept(capsys, "run", transcript(home / "s1.jsonl", RULE))[0] == 0
    code, out, err = kept(capsys, "migrate", "--to", "postgresql://anna@127.0.0.1:1/kept")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the server cannot be reached" in err
    assert kept(capsys, "migrate", "--to", "mysql://x/y")[0] == 2
    assert kept(capsys, "migrate", "--to", "sqlite")[0] == 2
    assert kept(capsys, "config", "get", "store.url")[1].strip() == ""


def test_lines_are_shared_with_a_team_listed_accepted_and_taken_back(capsys, home, postgres, tmp_path):
    import psycopg  # noqa: PLC0415

    anna, ben, team = postgres(), postgres(), owner_of(postgres())
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(f'GRANT "{team}" TO "{owner_of(anna)}", "{owner_of(ben)}"')
    for place, url in ((home, anna), (tmp_path / "ben", ben)):
        assert kept(capsys, "--home", place, "config", "set", "store.url", url)[0] == 0
        assert kept(capsys, "--home", place, "run", transcript(place / "s1.jsonl", RULE))[0] == 0
    assert kept(capsys, "team", "share", "harbor", "--with", team, "--what", "certain", "--quotes")[::2] == (0, "")
    there = ("--home", tmp_path / "ben")
    assert kept(capsys, *there, "team")[1].startswith("No project is shared.")
    assert kept(capsys, *there, "team", "share", "harbor", "--with", team, "--what", "nothing")[0] == 0
    code, out, err = kept(capsys, *there, "team")
    assert (code, err) == (0, "")
    assert f"({owner_of(anna)})" in out
    assert f"“{RULE}”" in out
    (fact,) = told(capsys, *there, "team")["facts"]
    assert (fact["content"], fact["known"]) == (RULE, True)
    assert kept(capsys, *there, "team", "accept", fact["id"])[0] == 2
    assert kept(capsys, "team", "share", "harbor")[0] == 2
    assert "kept team leave" in kept(capsys, "migrate", "--to", "sqlite")[2]
    assert kept(capsys, "team", "leave", "harbor")[::2] == (0, "")
    assert told(capsys, *there, "team")["facts"] == []
