"""The tables of an SQLite store that are shared with a server, and their columns. Knows no server."""

import sqlite3
from collections.abc import Mapping

from kept.store.replica.protocol import Table

#: The shared tables, each after the tables it refers to. Of the settings, only the key of fingerprints is shared.
SHARED = (
    *("settings", "files", "blocks", "threads", "thread_events", "hearings", "projects", "opted_out"),
    *("runs", "passes", "operations", "mentions", "spans", "candidates", "sealed", "dirty", "memories", "forgotten"),
    *("notes", "noted", "summaries"),
)
#: Tables that are local to a machine or derived from the shared rows.
OWN = frozenset(
    {"migrations", "looks", "events", "marks", "passage_hashes", "unembedded", "uses", "outputs", "tallies"}
    | {"texts", "tellings", "rests", "settled", "unsettled"}
)
SHARED_SETTING = "key:forget"


def read_tables(connection: sqlite3.Connection) -> Mapping[str, Table]:
    """The shared tables of a store, by name."""
    return {name: _read_table(connection, name) for name in SHARED}


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    info = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = sorted((int(row[5]), str(row[1])) for row in info if row[5])
    return Table(name=name, columns=tuple((str(row[1]), str(row[2])) for row in info), key=tuple(key for _, key in keys))


def capture_statements(tables: Mapping[str, Table]) -> str:
    """The SQL of a temporary table and triggers that record the keys (at most two values) of shared rows that are changed."""
    made = ["CREATE TEMP TABLE changed (name TEXT NOT NULL, first NOT NULL, second);"]
    for table in tables.values():
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            only = f" WHEN {row}.name = '{SHARED_SETTING}'" if table.name == "settings" else ""
            first, second = (*(f'{row}."{name}"' for name in table.key), "NULL")[:2]
            made.append(
                f"CREATE TEMP TRIGGER {table.name}_{event.lower()}_shared AFTER {event} ON main.{table.name}{only}"  # noqa: S608 - kept's own names
                f" BEGIN INSERT INTO changed (name, first, second) VALUES ('{table.name}', {first}, {second}); END;"
            )
    return "\n".join(made)


def changed_rows_query(table: Table) -> str:
    """The SQL query for the recorded changes of a table: both values of each key, whether the row exists, and its columns."""
    names = ", ".join(f't."{name}"' for name in table.names)
    same = " AND ".join(f't."{name}" = c.{place}' for name, place in zip(table.key, ("first", "second"), strict=False))
    return (
        f'SELECT c.first, c.second, t."{table.key[0]}" IS NOT NULL, {names}'  # noqa: S608 - kept's own names
        f" FROM (SELECT DISTINCT first, second FROM temp.changed WHERE name = '{table.name}') AS c"
        f" LEFT JOIN main.{table.name} AS t ON {same}"
    )
