"""A disk that is full, read-only, out of bounds or not ours: one clear line, nothing torn, everything earlier still there."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults import SAMPLE, Result, cold, kept, leftovers, need, need_root, ran, state, store_of, stuffed, tmpfs, written

ADD = ("add", "Quokka releases go out on Tuesdays only.", "--type", "constraint")


def clear(done: Result) -> None:
    """Whether a command said in one line that it did not do its work."""
    assert done.code == 2, done
    assert done.err.startswith("kept: "), done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "unexpected" not in done.err, done.err
    assert done.out == ""


def test_a_disk_that_fills_up_during_a_run_keeps_what_was_read_and_resumes(tmp_path):
    with tmpfs(tmp_path / "disk", "size=370k,mode=700") as disk:
        first = kept(disk, "run", SAMPLE)
        clear(first)
        assert "full" in first.err
        if store_of(disk).exists():
            state(disk)
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        assert ran(disk) == ran(tmp_path / "undisturbed")
        assert not leftovers(disk)


def test_a_full_disk_refuses_changes_and_lets_everything_be_read(tmp_path):
    with tmpfs(tmp_path / "disk", "size=2m,mode=700") as disk:
        before, text = ran(disk), kept(disk, "list").out
        stuffed(disk)
        clear(kept(disk, *ADD))
        assert kept(disk, "list").out == text
        assert kept(disk, "check").code == 0
        assert state(disk) == before


def test_an_export_onto_a_full_disk_leaves_nothing_behind(tmp_path):
    ran(tmp_path)
    with tmpfs(tmp_path / "disk", "size=64k,mode=700") as disk:
        ballast = stuffed(disk)
        clear(kept(tmp_path, "export", "--output", disk / "out.jsonl"))
        assert list(disk.iterdir()) == [ballast]
    state(tmp_path)


@pytest.mark.parametrize("size", [2_000, 20_000, 200_000])
def test_a_file_size_limit_is_one_clear_line(tmp_path, size):
    before = ran(tmp_path)
    done = kept(tmp_path, *ADD, limits={resource.RLIMIT_FSIZE: size})
    clear(done)
    assert state(tmp_path) == before
    assert kept(tmp_path, *ADD).code == 0


def test_a_read_only_file_system_lets_everything_be_read_and_nothing_be_changed(tmp_path):
    with tmpfs(tmp_path / "disk", "size=2m,mode=700") as disk:
        before, text = ran(disk), kept(disk, "list").out
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = kept(disk, *ADD)
        clear(done)
        assert "read-only" in done.err
        assert kept(disk, "list").out == text
        for command in (["search", "Parquet"], ["day", "2026-09-14"], ["export"], ["check"], ["status"], ["log"]):
            assert kept(disk, *command).code == 0, command
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        assert state(disk) == before


@pytest.fixture(scope="module")
def nobody():
    """A prefix that makes a command nobody's."""
    need_root()
    prefix = [need("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if subprocess.run([*prefix, sys.executable, "-c", "import kept"], capture_output=True, check=False).returncode:
        pytest.skip("another user cannot run this interpreter")
    return prefix


@pytest.fixture
def powerless(tmp_path, nobody):
    """A prefix that makes a command nobody's, in a home that is nobody's."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o001 == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    home = tmp_path / "home"
    home.mkdir()
    ran(home)
    for path in (home, *home.rglob("*")):
        os.chown(path, 65534, 65534)
    return home, nobody


@pytest.mark.parametrize(
    ("place", "mode"),
    [
        (".local/share/kept", 0o500),
        pytest.param(".local/share/kept", 0o000, marks=pytest.mark.slow),
        pytest.param(".local/share/kept/kept.db", 0o400, marks=pytest.mark.slow),
        (".local/share/kept/kept.db", 0o000),
    ],
)
def test_a_place_one_may_not_write_is_one_clear_line(powerless, place, mode):
    home, prefix = powerless
    before = state(home)
    (home / place).chmod(mode)
    clear(kept(home, *ADD, prefix=prefix))
    (home / place).chmod(0o700)
    assert state(home) == before


def test_a_memory_file_one_may_not_write_is_told_and_the_change_stands(powerless):
    home, prefix = powerless
    before = written(home)
    (home / ".claude/rules").chmod(0o500)
    done = kept(home, *ADD, prefix=prefix)
    assert done.code == 1, done
    assert "permission denied" in done.err
    assert written(home) == before
    assert any("Quokka" in content for _, content, _, _ in state(home))


@pytest.mark.parametrize("most", [9, 12, 20])
def test_too_few_descriptors_tear_nothing(tmp_path, most):
    before = ran(tmp_path)
    done = kept(tmp_path, *ADD, limits={resource.RLIMIT_NOFILE: most})
    after = state(tmp_path)
    assert (len(after) == len(before) + 1) if done.code in (0, 1) else after == before, done


@pytest.mark.slow
@pytest.mark.parametrize("which", [resource.RLIMIT_NOFILE, resource.RLIMIT_AS], ids=["descriptors", "memory"])
def test_any_limit_of_descriptors_or_memory_tears_nothing(tmp_path, which):
    limits = range(4, 24) if which == resource.RLIMIT_NOFILE else range(20 * 2**20, 220 * 2**20, 5 * 2**20)
    template = tmp_path / "template"
    before = ran(template)
    codes = set()
    for limit in limits:
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)
        done = cold(home, *ADD, limits={which: limit})
        codes.add(done.code)
        after = state(home)
        assert (len(after) == len(before) + 1) if done.code in (0, 1) and done.out else after == before, (limit, done)
    assert 0 in codes
    assert len(codes) > 1
