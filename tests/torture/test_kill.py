"""A run that is killed at random moments, again and again, ends as one that was left alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from corpus import repeat

KILLS = 10


def kept(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kept", *arguments, "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(home)})


def remembered(home: Path) -> list[str]:
    rows = [json.loads(line) for line in kept("export", home=home).stdout.splitlines()]
    return sorted(json.dumps(row, sort_keys=True) for row in rows if row["status"] in ("active", "held"))


@pytest.mark.slow
def test_ten_kills_lose_nothing_and_change_nothing(tmp_path, monkeypatch):
    corpus = tmp_path / "corpus"
    repeat(Path(str(files("kept.sample") / "projects")), corpus, 6)
    undisturbed = tmp_path / "undisturbed"
    started = time.monotonic()
    assert kept("run", str(corpus), home=undisturbed).returncode == 0
    span = time.monotonic() - started
    chance = random.Random(7)
    home, kills = tmp_path / "home", 0
    while kills < KILLS:
        if kills and kills % 5 == 0:  # so that kills fall on first runs as well as on continued ones
            shutil.rmtree(home)
        command = [sys.executable, "-m", "kept", "run", str(corpus), "--home", str(home)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"HOME": str(home)}
        )
        try:
            process.wait(timeout=chance.uniform(0.1, span * 1.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        kills += 1
        if (home / ".local/share/kept/kept.db").exists():
            checked = kept("check", home=home)
            assert checked.returncode == 0, checked.stdout + checked.stderr
    assert kept("run", str(corpus), home=home).returncode == 0
    assert kept("check", home=home).returncode == 0
    assert remembered(home) == remembered(undisturbed)
    text = (home / ".claude/rules/memory.md").read_text()
    assert text == (undisturbed / ".claude/rules/memory.md").read_text()
