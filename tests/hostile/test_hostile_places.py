"""A home that is missing, odd, read-only, full or in use: one clear line, the right exit code, nothing lost, and the next run goes
on.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hostile_world import (
    KEPT_OF_OTHER,
    KEPT_OF_RULE,
    OTHER,
    RULE,
    answer,
    called,
    human,
    kept,
    lines,
    memories,
    memory_file,
    one_line,
    remembered,
    run_at,
    snapshot,
    unprivileged,
    write,
)

SEVERAL = lines(
    *(each for n in range(15) for each in (human(f"Never edit `lib/part{n}.js` by hand, it is generated."), answer("word " * 900)))
)


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    write(folder, lines(human(RULE), answer("Done."), human(OTHER), answer("Done.")), "a.jsonl")
    return write(folder, SEVERAL, "b.jsonl").parent


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, transcripts):
    """The memory file of a run that nothing disturbed."""
    home = tmp_path_factory.mktemp("undisturbed")
    run_at(home, transcripts)
    return memory_file(home).read_bytes()


def test_an_empty_home_is_told_so_and_shown_the_sample(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    done = called("run", home=home)
    assert (done.code, done.err) == (0, "")
    assert "No transcripts were found on this machine: this is kept's bundled sample." in done.out
    assert not memory_file(home).exists()
    assert called("status", home=home).code == 0
    assert called("check", home=home).code == 0


@pytest.mark.parametrize(
    ("env", "drop"),
    [({}, ("HOME", "USERPROFILE")), ({"HOME": "/tmp/a\nb"}, ()), ({"HOME": "/tmp/\x1b[31m"}, ()), ({"HOME": ""}, ())],
    ids=["unset", "with a newline", "with an escape", "empty"],
)
def test_without_a_usable_home_nothing_is_done_and_one_line_says_so(tmp_path, env, drop):
    done = called("run", home=tmp_path, env=env, drop=drop)
    assert done.code == 2
    assert "home" in one_line(done)
    assert "--home DIR" in one_line(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("make", ["file", "pipe", "loop", "file above", "not UTF-8"])
def test_a_home_that_can_be_none_is_refused_in_one_line(tmp_path, transcripts, make):
    home = tmp_path / "home"
    match make:
        case "file":
            home.write_text("mine")
        case "pipe":
            os.mkfifo(home)
        case "loop":
            home.symlink_to(home)
        case "file above":
            home.write_text("mine")
            home = home / "below"
        case "not UTF-8":
            home = os.fsencode(home) + b"\xff"
    before = snapshot(tmp_path)
    done = called("run", transcripts, "--home", os.fsdecode(home), home=tmp_path)
    assert done.code == 2
    assert "unexpected" not in one_line(done)
    assert snapshot(tmp_path) == before


def test_a_read_only_home_is_told_in_one_line_and_the_next_run_goes_on(tmp_path, transcripts, undisturbed):
    prefix = unprivileged()
    if prefix is None:
        pytest.skip("file modes do not hold here")
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    done = kept("run", transcripts, "--home", home, home=home, prefix=prefix)
    assert done.code == 2
    assert "permission denied" in one_line(done).lower()
    home.chmod(0o700)
    assert called("run", transcripts, "--home", home, home=home).code == 0
    assert memory_file(home).read_bytes() == undisturbed


@pytest.mark.parametrize(
    "closed",
    [".local/share/kept", *(pytest.param(each, marks=pytest.mark.slow) for each in (".local/share/kept/kept.db", ".claude/rules"))],
)
def test_a_place_below_the_home_that_turns_read_only_costs_nothing_that_was_there(tmp_path, transcripts, closed):
    prefix = unprivileged()
    if prefix is None:
        pytest.skip("file modes do not hold here")
    home = tmp_path / "home"
    run_at(home, transcripts / "a.jsonl")
    before, text = remembered(home), memory_file(home).read_bytes()
    mode = (home / closed).stat().st_mode
    (home / closed).chmod(0o400 if (home / closed).is_file() else 0o500)
    done = kept("run", transcripts, "--home", home, home=home, prefix=prefix)
    (home / closed).chmod(mode)
    assert done.code in (1, 2)
    assert "Traceback" not in done.told
    assert "unexpected" not in done.told
    assert done.code == 1 or one_line(done)
    assert memory_file(home).read_bytes() == text
    assert KEPT_OF_RULE in before
    assert called("check", "--home", home, home=home).code == 0
    assert called("run", transcripts, "--home", home, home=home).code == 0
    run_at(tmp_path / "other", transcripts)
    assert {each.content for each in memories(home)} == {each.content for each in memories(tmp_path / "other")}


def full_disk(folder, kilobytes):
    """A file system of that size; None where none can be mounted."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], capture_output=True, check=False)
    return folder if made.returncode == 0 else None


@pytest.mark.parametrize("kilobytes", [8, 200])
def test_a_full_disk_is_told_and_the_next_run_goes_on(tmp_path, transcripts, undisturbed, kilobytes):
    place = full_disk(tmp_path / "small", kilobytes)
    if place is None:
        pytest.skip("no file system can be mounted here")
    home = place / "home"
    try:
        done = called("run", transcripts, "--home", home, home=tmp_path)
        assert done.code in (1, 2)
        assert "unexpected" not in done.told
        assert "disk is full" in done.told
        assert len(done.err.splitlines()) <= 1
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
        if (home / ".local/share/kept/kept.db").exists():
            assert called("check", "--home", home, home=tmp_path).code == 0
        assert called("run", transcripts, "--home", home, home=tmp_path).code == 0
        assert called("check", "--home", home, home=tmp_path).code == 0
        assert memory_file(home).read_bytes() == undisturbed
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.slow
def test_runs_at_the_same_time_lose_nothing(tmp_path, transcripts, undisturbed):
    home = tmp_path / "home"
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda _: kept("run", transcripts, "--home", home, home=tmp_path), range(2)))
    assert [each.code for each in ended] == [0] * 2
    assert all("already running" in one_line(each) for each in ended if each.err)
    assert called("check", "--home", home, home=tmp_path).code == 0
    assert memory_file(home).read_bytes() == undisturbed


def test_a_run_that_is_interrupted_says_so_and_the_next_one_goes_on(tmp_path, transcripts, undisturbed):
    home = tmp_path / "home"
    code = (
        "import os, signal, sys\n"
        "from kept.extraction import stretches\n"
        "stretches.segment = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from kept.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", code, "run", transcripts, "--home", home]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(tmp_path)})
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["kept: stopped; nothing is lost, the next run continues"]
    assert called("run", transcripts, "--home", home, home=tmp_path).code == 0
    assert memory_file(home).read_bytes() == undisturbed


def test_a_home_that_vanishes_between_runs_is_made_anew(tmp_path, transcripts, undisturbed):
    home = tmp_path / "home"
    for _ in range(2):
        assert called("run", transcripts, "--home", home, home=tmp_path).code == 0
        assert memory_file(home).read_bytes() == undisturbed
        assert KEPT_OF_OTHER in undisturbed.decode()
        shutil.rmtree(home)
