"""When the power goes, everything that was told to be saved is there, every file is old or new, and the next run goes on."""

import random
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from faults import Disk, desk_at, environment, kept, leftovers, memory_file, ran, remembered, state, store_of

from kept.memories import person
from waiting import until

WRITER = Path(__file__).parent / "writer.py"
CUTS = 4
NEVER = "1000000"


@pytest.fixture(params=["ext4", pytest.param("xfs", marks=pytest.mark.slow)])
def disk(request, tmp_path):
    made = Disk(tmp_path, request.param)
    yield made
    made.close()


def cut_under(disk: Disk, home: Path, acked: Path, name: str, *, how: str, acks: int, after: float) -> None:
    """Let a writer begin and note so many sentences, cut the power after a moment (in seconds), and switch it on again.

    The moment only scatters the cuts over what a writer does; nothing has to happen in it.
    """
    command = [sys.executable, str(WRITER), str(home), str(acked), name, NEVER, how]
    noted = len(told(acked))
    errors = acked.with_suffix(".err")
    with errors.open("w") as said:
        process = subprocess.Popen(command, env=environment(home), stdout=said, stderr=said)
        until(lambda: process.poll() is not None or (store_of(home).exists() and len(told(acked)) >= noted + acks))
        assert process.poll() is None or how == "run", errors.read_text()
        time.sleep(after)
        disk.cut()
        process.kill()
        process.wait()
    disk.again()


def told(acked: Path) -> set[str]:
    """What a writer noted, a line that is not whole yet left out; its notes lie on a disk that stays on."""
    return set(acked.read_text().split("\n")[:-1]) if acked.exists() else set()


def survive(disk: Disk, folder: Path, how: str, cuts: int) -> None:
    home, acked, chance = disk.place / "home", folder / "acked", random.Random(11)
    for number in range(cuts):
        acks = (3, 0, 1, 10)[number % 4]  # the second cut falls while the store is opened, or before
        cut_under(disk, home, acked, f"c{number}x", how=how, acks=acks, after=chance.uniform(0.0, 0.1 if acks else 1.0))
        contents = {content for _, content, _, _ in state(home)}
        assert told(acked) <= contents, f"lost: {sorted(told(acked) - contents)[:3]}"
        if memory_file(home).exists():
            text = memory_file(home).read_text()
            assert text.startswith("# Memory\n")
            assert text.endswith("-->\n")
        ran(home)
        assert not leftovers(home)
    assert len(told(acked)) >= 3


@pytest.mark.parametrize("how", [pytest.param("store", marks=pytest.mark.slow), "files"])
def test_two_power_cuts_lose_nothing_that_was_told_to_be_saved(disk, tmp_path, how):
    survive(disk, tmp_path, how, 2)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["store", "files"])
def test_four_power_cuts_lose_nothing_that_was_told_to_be_saved(disk, tmp_path, how):
    survive(disk, tmp_path, how, CUTS)


@pytest.mark.slow
def test_a_power_cut_during_the_first_run_leaves_a_whole_store_or_none(disk, tmp_path):
    home, acked, chance = disk.place / "home", tmp_path / "acked", random.Random(5)
    undisturbed = tmp_path / "undisturbed"
    expected = ran(undisturbed)
    for _ in range(CUTS):
        shutil.rmtree(home, ignore_errors=True)
        cut_under(disk, home, acked, "first", how="run", acks=0, after=chance.uniform(0.0, 0.3))
        if store_of(home).exists():
            state(home)
        assert ran(home) == expected
        state(home)


def ended_or_begun(process: subprocess.Popen, folder: Path, old: set[Path]) -> bool:
    """Whether a process has begun a file in a folder, or has ended."""
    return process.poll() is not None or set(folder.iterdir()) != old


@pytest.mark.slow
def test_a_power_cut_during_an_export_leaves_the_old_file_or_the_new(disk, tmp_path):
    home, chance = disk.place / "home", random.Random(3)
    out = disk.place / "out.jsonl"
    ran(home)
    versions = {b""}
    for number in range(CUTS):
        with desk_at(home) as workspace:
            person.create_memory(workspace, f"Rule number {number} is for crate {number}.", "constraint")
        versions.add(kept(home, "export").out.encode())
        command = [sys.executable, "-m", "kept", "export", "--output", str(out), "--home", str(home)]
        old = set(disk.place.iterdir())
        process = subprocess.Popen(command, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(partial(ended_or_begun, process, disk.place, old))
        time.sleep(chance.uniform(0.0, 0.02))
        disk.cut()
        process.kill()
        process.wait()
        disk.again()
        if out.exists():
            assert out.read_bytes() in versions
        with desk_at(home) as workspace:
            assert len(remembered(workspace)) >= number
