"""A backup made while others write is one moment of the store; restoring gives it back; a full disk costs no older one."""

import subprocess
import sys
from pathlib import Path

import pytest
from faults import SAMPLE, desk_at, environment, kept, ran, remembered, state, store_of, stuffed, tmpfs

from kept.core.errors import StoreError
from kept.memories.backups import make_daily_backup
from kept.store.backups import add_backup, is_intact
from kept.store.sqlite import SqliteStore

WRITER = Path(__file__).parent / "writer.py"
NEVER = "1000000"


def backups_under_writers(folder: Path, count: int) -> None:
    home = folder / "home"
    ran(home)
    writers = [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(home), str(folder / f"acked{number}"), f"p{number}x", NEVER, "store"],
            env=environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(2)
    ]
    try:
        acked = [folder / f"acked{number}" for number in range(2)]
        while not all(each.exists() and each.stat().st_size for each in acked):
            assert all(each.poll() is None for each in writers)
        with desk_at(home) as workspace:
            sizes = []
            for number in range(count):
                copy = folder / f"copy{number}.db"
                workspace.store.copy_to(copy)
                with SqliteStore(copy) as store:
                    assert store.find_damage() == ()
                    texts = {each.content for each in store.log.memories()}
                    sizes.append(len(texts))
                for writer in range(2):  # each writer's sentences are there from the first to some last one: one moment
                    own = sorted(int(each.split()[1]) for each in texts if f"of p{writer}x " in each)
                    assert own == list(range(len(own)))
                copy.unlink()
                written = sum(len(each.read_text().splitlines()) for each in acked)
                while sum(len(each.read_text().splitlines()) for each in acked) == written:
                    assert all(each.poll() is None for each in writers)
            assert sizes == sorted(set(sizes))
    finally:
        for each in writers:
            assert each.poll() is None, "a writer gave up"
            each.kill()
            each.wait()


def test_backups_made_while_two_others_write_are_whole(tmp_path):
    backups_under_writers(tmp_path, 2)


@pytest.mark.slow
def test_a_hundred_backups_made_while_two_others_write_are_whole(tmp_path):
    backups_under_writers(tmp_path, 100)


def test_a_store_that_was_emptied_is_restored_from_a_backup(tmp_path):
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    before = ran(home)
    assert kept(home, "backup", copy).code == 0
    store_of(home).write_bytes(b"")
    refused = kept(home, "run", SAMPLE)
    assert refused.code == 2
    assert "kept restore" in refused.err
    assert kept(home, "restore", copy).code == 0
    assert state(home) == before


def test_a_backup_onto_a_full_disk_leaves_nothing_behind(tmp_path):
    home = tmp_path / "home"
    before = ran(home)
    with tmpfs(tmp_path / "disk", "size=128k,mode=700") as disk:
        ballast = stuffed(disk, spare=65_536)
        done = kept(home, "backup", disk / "copy.db")
        assert done.code == 2, done
        assert "full" in done.err or "space" in done.err, done.err
        assert list(disk.iterdir()) == [ballast]
    assert state(home) == before


def test_a_daily_backup_onto_a_full_disk_is_told_and_leaves_the_old_ones(tmp_path):
    home = tmp_path / "home"
    before = ran(home)
    folder = store_of(home).parent / "backups"
    with tmpfs(folder, "size=1m,mode=700") as disk, desk_at(home) as workspace:
        old = add_backup(workspace.store, disk, "2020-01-01")
        stuffed(disk, spare=65_536)
        with pytest.raises(StoreError, match=r"full|space"):
            make_daily_backup(workspace)
        assert is_intact(old)
        assert sorted(each.name for each in disk.iterdir()) == sorted([old.name, "ballast"])
        assert remembered(workspace) == before
