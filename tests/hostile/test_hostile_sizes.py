"""Too much of everything: lines, records, files, what a compressed file unpacks to. Memory stays bounded and nothing is read
twice.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from hostile_world import (
    KEPT_OF_OTHER,
    KEPT_OF_RULE,
    OTHER,
    RULE,
    answer,
    human,
    kept,
    lines,
    memory_file,
    remembered,
    run_at,
    write,
)

RESIDENT = 200 * 2**20
# Runs the command line in a process and tells the most memory it ever held. The counter of the memory map begins with the program;
# that of getrusage would begin with the process that started it.
MEASURED = r"""
import re, sys
from kept.cli import main
try:
    main(sys.argv[1:])
finally:
    print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


def measured(*arguments, home):
    """The exit code of a command, what it printed, and the bytes of memory it held at most."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how much memory a process held")
    command = [sys.executable, "-c", MEASURED, *map(str, arguments), "--home", str(home)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HOME": str(home.parent), "KEPT_EMBEDDINGS": "hashing"},
    )  # reading is measured, not the model
    *told, peak = done.stderr.splitlines()
    assert told == []
    return done.returncode, done.stdout, int(peak) * 1024


def long_line(path, length):
    """Two good records, and between them one whose text is so many bytes."""
    before, after = lines(human(RULE), answer("Done.")), lines(human(OTHER), answer("Done."))
    opening, closing_ = b'{"type":"user","sessionId":"hostile","message":{"role":"user","content":"', b'"}}\n'
    with path.open("wb") as file:
        file.write(before + opening)
        chunk = b"never commit secrets, always lint; " * 30_000
        for _ in range(length // len(chunk)):
            file.write(chunk)
        file.write(closing_ + after)
    return len(before), path.stat().st_size - len(after)


def bounded_and_skipped(tmp_path, length):
    path = tmp_path / "long.jsonl"
    start, end = long_line(path, length)
    home = tmp_path / "home"
    code, out, peak = measured("run", path, "--json", home=home)
    report = json.loads(out)
    assert (code, report["records"], report["dropped"]) == (0, 5, {"line-too-long": 1})
    assert peak < RESIDENT
    text = remembered(home)
    assert KEPT_OF_RULE in text
    assert KEPT_OF_OTHER in text
    with closing(sqlite3.connect(home / ".local/share/kept/kept.db")) as store:
        account = json.loads(store.execute("SELECT account FROM files").fetchone()[0])
    (problem,) = account["problems"]
    assert (problem["reason"], problem["line"], problem["start"], problem["end"]) == ("line-too-long", 3, start, end)


def test_a_line_of_150_megabytes_costs_bounded_memory_and_only_itself(tmp_path):
    bounded_and_skipped(tmp_path, 150 * 2**20)


@pytest.mark.slow
def test_a_line_of_two_gigabytes_costs_bounded_memory_and_only_itself(tmp_path):
    bounded_and_skipped(tmp_path, 2 * 2**30)


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"user","sessionId":"s","message":{"role":"user","content":[' + '{"a":0},' * 300_000 + "0]}}",
        *(
            pytest.param(line, marks=pytest.mark.slow)
            for line in (
                '{"type":"user","sessionId":"s","message":{"role":"user","content":"\U0001f600' + "x" * (16 * 2**20 - 200) + '"}}',
                '{"type":"user","sessionId":"s","message":{"role":"user","content":[' + "[]," * 1_000_000 + "[]]}}",
                '{"type":"user"}' * 200_000,
            )
        ),
    ],
    ids=["small objects", "wide characters", "empty lists", "records"],
)
def test_the_most_that_a_line_may_hold_costs_bounded_memory(tmp_path, line):
    path = write(tmp_path, lines(human(RULE), answer("Done.")) + line.encode() + b"\n" + lines(human(OTHER), answer("Done.")))
    code, _, peak = measured("run", path, "--json", home=tmp_path / "home")
    assert code == 0
    assert peak < RESIDENT * 1.5
    assert KEPT_OF_OTHER in memory_file(tmp_path / "home").read_text()


RECORDS = 60_000


def many(path, number):
    """So many small records: a person speaks in each twentieth, and gives a rule in each ten thousandth."""
    said, told = (json.dumps(make("WORDS", uuid="ID", sessionId="many", timestamp="STAMP")) for make in (human, answer))
    with path.open("w") as file:
        for n in range(number):
            words = (
                f"In this project we always keep part {n} in `lib/part{n}.py`, never elsewhere." if n % 10_000 == 0 else f"note {n}"
            )
            stamp = f"2026-03-{1 + n // 86_400 % 28:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"
            template = said if n % 20 == 0 else told
            file.write(template.replace("WORDS", words).replace("ID", f"r{n}", 1).replace("STAMP", stamp) + "\n")
    return path


@pytest.mark.slow
def test_three_times_the_records_take_a_quarter_more_memory_at_most_and_are_read_once_though_the_run_is_killed(tmp_path):
    _, _, third = measured("run", many(tmp_path / "third.jsonl", RECORDS // 3), home=tmp_path / "other")
    path, home = many(tmp_path / "many.jsonl", RECORDS), tmp_path / "home"
    process = subprocess.Popen(
        [sys.executable, "-m", "kept", "run", path, "--home", home], env=os.environ | {"HOME": str(tmp_path)}
    )
    store, half = home / ".local/share/kept/kept.db", path.stat().st_size // 2
    while process.poll() is None and reached(store) < half:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert half <= reached(store) < path.stat().st_size
    code, out, peak = measured("run", path, "--json", home=home)
    assert code == 0
    assert peak < third * 1.25
    assert 0 < json.loads(out)["records"] <= RECORDS // 2 + 1
    with closing(sqlite3.connect(store)) as held:
        assert held.execute("SELECT count(*) FROM events").fetchone() == (RECORDS,)
        assert json.loads(held.execute("SELECT account FROM files").fetchone()[0])["records"] == RECORDS
    assert kept("check", "--home", home, home=tmp_path).code == 0


def reached(store):
    """The byte up to which the only file was read."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as held:
            return (held.execute("SELECT offset FROM files").fetchone() or (0,))[0]
    except sqlite3.OperationalError:
        return 0


def files_of_one_record(folder, number):
    for n in range(number):
        place = folder / f"p{n % 100:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"s{n}.jsonl").write_bytes(
            lines(human(RULE if n == number // 2 else f"note {n}", sessionId=f"s{n}", uuid=f"u{n}"))
        )
    return folder


@pytest.mark.parametrize("number", [60, pytest.param(5_000, marks=pytest.mark.slow)])
def test_a_folder_of_many_files_is_read_once_and_then_only_looked_at(tmp_path, number):
    folder, home = files_of_one_record(tmp_path / "in", number), tmp_path / "home"
    report = run_at(home, folder)
    assert (report.reading.files, report.reading.fresh) == (number, number)
    assert KEPT_OF_RULE in remembered(home)
    again = run_at(home, folder)
    assert (again.reading.files, again.run) == (0, 0)


def test_a_compressed_file_that_unpacks_to_far_more_is_refused(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    name = "rollout-2026-03-01T10-00-00-019a0000-0000-7000-8000-000000000000.jsonl.zst"
    opening = b'{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/p"}}\n'
    packer = zstandard.ZstdCompressor().compressobj()
    packed = packer.compress(opening) + b"".join(packer.compress(b"\0" * 2**20) for _ in range(300)) + packer.flush()
    path = write(tmp_path / "in", packed, name)
    write(tmp_path / "in", lines(human(RULE), answer("Done.")), "good.jsonl")
    code, out, peak = measured("run", path.parent, "--json", home=tmp_path / "home")
    report = json.loads(out)
    assert code == 1
    assert [each["path"] for each in report["skipped"]] == [str(path)]
    assert "unpacks to more than a hundred times its size" in report["skipped"][0]["reason"]
    assert peak < RESIDENT
    assert KEPT_OF_RULE in memory_file(tmp_path / "home").read_text()


BOMB = "---\na0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))


def test_an_alias_bomb_costs_less_than_a_hundred_megabytes(tmp_path):
    """The whole process that reads it, whose words below the front matter are not lost."""
    note = write(tmp_path / "in", f"{BOMB}title: *a8\n---\n## User\n\n{RULE}\n\n## Assistant\n\nDone.\n".encode(), "bomb.md")
    code, out, peak = measured("run", note, "--json", home=tmp_path / "home")
    assert (code, json.loads(out)["skipped"]) == (0, [])
    assert peak < 100 * 2**20
    assert KEPT_OF_RULE in remembered(tmp_path / "home")


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.bz2", ".jsonl.xz"])
def test_other_compressed_files_are_no_transcripts(tmp_path, suffix):
    path = write(tmp_path / "in", b"\x1f\x8b\x08" + b"\0" * 500, f"a{suffix}")
    report = run_at(tmp_path / "home", path)
    assert [reason for _, reason in report.reading.skipped] == ["unknown format: a gzip archive: unpack it first"]
