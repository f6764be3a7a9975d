"""A store of an older format that is being migrated when its process is killed or the power goes is of the old format or of the
new.
"""

import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from faults import Disk, Point, copy, desk_at, environment, injected, kept, ran, state, store_of, traced

from kept.core.event import Origin
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Add
from kept.store.database import FORMAT
from kept.store.values import Draft
from older_store import write_older_store
from waiting import until

OLD = FORMAT - 1
CUTS = 4
MANY = 20_000


def aged(home: Path) -> None:
    """Make the store what a program of the format before made of it."""
    store = store_of(home)
    new = store.rename(home / "new.db")
    write_older_store(new, store, OLD)
    store.chmod(0o600)
    new.unlink()


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        found: int = store.execute("PRAGMA user_version").fetchone()[0]
        return found


def survived(home: Path, expected: list) -> None:
    """The store is of one of the two formats, a backup of the old one is there where it is the new, and nothing is lost."""
    now = version(store_of(home))
    assert now in (OLD, FORMAT)
    copies = list(store_of(home).parent.joinpath("backups").glob(f"format-{OLD}*.db"))
    assert now == OLD or any(version(each) == OLD for each in copies), "migrated without a backup"
    assert state(home) == expected
    assert version(store_of(home)) == FORMAT


@pytest.fixture
def old(tmp_path):
    """A home of the format before, its state, and the writing calls on its store that bring it to the new one."""
    home = tmp_path / "home"
    expected = ran(home)
    aged(home)
    before = copy(home, tmp_path / "before")
    calls = tmp_path / "calls"
    assert kept(home, "list", prefix=[*traced("pwrite64,fdatasync,fsync,unlink,rename", calls)]).code == 0
    names = [line.split("(")[0].split()[-1] for line in calls.read_text().splitlines() if "(" in line]
    points = [Point(call=name, number=names[: place + 1].count(name)) for place, name in enumerate(names)]
    return home, before, expected, points


def killed(old, points: list[Point]) -> None:
    home, before, expected, _ = old
    for point in points:
        copy(before, home)
        kept(home, "list", prefix=injected("signal=KILL", point))
        survived(home, expected)


def test_a_migration_killed_here_and_there_is_all_or_nothing(old):
    points = old[-1]
    killed(old, [points[int(len(points) * part)] for part in (0.3, 0.7, 0.95)])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_migration_killed_at_each_writing_call_is_all_or_nothing(old, part):
    killed(old, old[-1][part::4])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_power_cut_during_the_migration_of_a_large_store_loses_nothing(tmp_path, kind):
    """The power is cut at a random moment of the time that the migration takes when nothing cuts it off."""
    disk, chance = Disk(tmp_path, kind, megabytes=2048), random.Random(13)
    try:
        home = disk.place / "home"
        with desk_at(home) as workspace:
            now = workspace.clock()
            adds = tuple(
                Add(memory=each.id, at=now, reason="large", value=each)
                for each in (
                    Memory(
                        id=f"{number:010x}",
                        profile="coding",
                        category="decision",
                        scope="user",
                        status=Status.ACTIVE,
                        content=f"Crate {number} goes to dock {number % 77} by way of the river.",
                        confidence=0.8,
                        origin=Origin.USER,
                        first_seen=now,
                        last_seen=now,
                    )
                    for number in range(MANY)
                )
            )
            run = workspace.store.log.start_run("large", now)
            workspace.store.log.commit(
                Draft(run=run, stage="import", subject="", actor=Actor.PERSON, recorded_at=now, operations=adds)
            )
            workspace.store.log.end_run(run, now, {})
        expected = state(home)
        aged(home)
        before = copy(home, tmp_path / "before")
        command = [sys.executable, "-m", "kept", "list", "--home", str(home)]
        begun = time.monotonic()
        subprocess.run(command, env=environment(home), stdout=subprocess.DEVNULL, check=True)
        whole = time.monotonic() - begun
        formats = set()
        for number in range(CUTS):
            shutil.rmtree(home)
            copy(before, home)
            subprocess.run(["sync"], check=True)
            process = subprocess.Popen(command, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if number:
                time.sleep(chance.uniform(0.3, whole))
            else:  # the first cut falls into it however busy the machine is
                until(store_of(home).with_name(f"{store_of(home).name}-journal").exists)
            disk.cut()
            process.kill()
            process.wait()
            disk.again()
            formats.add(version(store_of(home)))
            survived(home, expected)
        assert OLD in formats
    finally:
        disk.close()
