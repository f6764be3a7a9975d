"""The schema of a store file: its SQL statements and migrations, and the detection of foreign objects in a file.

A trigger or view could change or hide what kept reads and writes, so a store that has one is not opened.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_OBJECTS = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"


def schema_statements() -> tuple[str, ...]:
    """The statements of schema.sql."""
    return _statements("schema.sql")


def migration_statements(version: int) -> tuple[str, ...]:
    """The statements that migrate a store from the previous format to ``version``."""
    return _statements("migrations", f"{version}.sql")


def foreign_programs(connection: sqlite3.Connection) -> Iterator[str]:
    """The triggers and views in a store file, by kind and name; kept never creates any in the file."""
    return (f"{kind} {name}" for kind, name in _list_objects(connection) if kind in ("trigger", "view"))


def foreign_objects(connection: sqlite3.Connection) -> Iterator[str]:
    """The tables, indexes, triggers and views that kept did not create, by kind and name, in a store of the newest format."""
    return (f"{kind} {name}" for kind, name in _list_objects(connection) if (kind, name) not in _current_objects())


def _list_objects(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return [(str(row[0]), str(row[1])) for row in connection.execute(_OBJECTS)]


@cache
def _current_objects() -> frozenset[tuple[str, str]]:
    """The kind and name of every object in a new store."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in schema_statements():
            made.execute(statement)
        return frozenset(_list_objects(made))


def _statements(*place: str) -> tuple[str, ...]:
    text = _HERE.joinpath(*place).read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return tuple(part.strip() for part in bare.split(";") if part.strip())
