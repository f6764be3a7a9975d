"""Which tables of an SQLite store a server keeps, and what they are made of. Knows no server."""

import sqlite3
from collections.abc import Mapping

from kept.store.replica.protocol import Table

#: In the order in which what refers to others comes after them. Of the settings, the key of fingerprints alone.
SHARED = (
    *("settings", "files", "blocks", "events", "threads", "thread_events", "hearings", "projects", "opted_out", "likenesses"),
    *("runs", "passes", "operations", "mentions", "spans", "candidates", "sealed", "dirty", "memories", "forgotten"),
    *("notes", "noted", "summaries"),
)
#: What a machine keeps for itself or makes of the shared rows.
OWN = frozenset({"migrations", "looks", "passage_hashes", "unembedded", "uses", "outputs", "tallies"})
SHARED_SETTING = "key:forget"


def read_tables(connection: sqlite3.Connection) -> Mapping[str, Table]:
    """The shared tables of a store, by name."""
    return {name: _read_table(connection, name) for name in SHARED}


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    info = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = sorted((int(row[5]), str(row[1])) for row in info if row[5])
    return Table(name=name, columns=tuple((str(row[1]), str(row[2])) for row in info), key=tuple(key for _, key in keys))


def capture_statements(tables: Mapping[str, Table]) -> str:
    """The triggers that note which shared rows a connection changes, and the table they note them in."""
    made = ["CREATE TEMP TABLE changed (name TEXT NOT NULL, key TEXT NOT NULL);"]
    for table in tables.values():
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            only = f" WHEN {row}.name = '{SHARED_SETTING}'" if table.name == "settings" else ""
            key = ", ".join(f'{row}."{name}"' for name in table.key)
            made.append(
                f"CREATE TEMP TRIGGER {table.name}_{event.lower()}_shared AFTER {event} ON main.{table.name}{only}"  # noqa: S608 - kept's own names
                f" BEGIN INSERT INTO changed (name, key) VALUES ('{table.name}', json_array({key})); END;"
            )
    return "\n".join(made)


def matching(table: Table, here: str, there: str) -> str:
    """The condition that a row (of ``here``) has a key, a JSON list (the expression ``there``)."""
    return " AND ".join(f"{here}.\"{name}\" = json_extract({there}, '$[{number}]')" for number, name in enumerate(table.key))
