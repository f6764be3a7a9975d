"""What a store file is made of: the statements of its schema and migrations, and what in a file is not of them.

A trigger or a view could change or hide what kept reads and writes, so a store with one of them is not opened. Knows nothing of
rows.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_OBJECTS = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"


def schema_statements() -> tuple[str, ...]:
    """The statements of schema.sql, one by one."""
    return _statements("schema.sql")


def migration_statements(version: int) -> tuple[str, ...]:
    """The statements that lead from the format before to a version."""
    return _statements("migrations", f"{version}.sql")


def foreign_programs(connection: sqlite3.Connection) -> Iterator[str]:
    """The triggers and views of a store, by kind and name: kept never makes any."""
    return (f"{kind} {name}" for kind, name in _list_objects(connection) if kind in ("trigger", "view"))


def foreign_objects(connection: sqlite3.Connection) -> Iterator[str]:
    """The tables and indexes (triggers and views too) of a store of the newest format that kept did not make, by kind and name."""
    return (f"{kind} {name}" for kind, name in _list_objects(connection) if (kind, name) not in _current_objects())


def _list_objects(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return [(str(row[0]), str(row[1])) for row in connection.execute(_OBJECTS)]


@cache
def _current_objects() -> frozenset[tuple[str, str]]:
    """What a new store is made of."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in schema_statements():
            made.execute(statement)
        return frozenset(_list_objects(made))


def _statements(*place: str) -> tuple[str, ...]:
    text = _HERE.joinpath(*place).read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return tuple(part.strip() for part in bare.split(";") if part.strip())
