"""A run that asks a model and is killed at random moments ends as one that was left alone, and pays for no reply twice."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

HELPERS = Path(__file__).parents[1] / "helpers"
KILLS = 8
CONCURRENCY = 2
MODEL = f"""
import hashlib, json, sys, time
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, {str(HELPERS)!r})
from obedient import obey
text = sys.stdin.read()
time.sleep(0.1)  # a model takes its time, so that kills fall into it
with Path(sys.argv[1]).open("a") as file:
    file.write(hashlib.sha256(text.encode()).hexdigest() + "\\n")
purpose = "extract" if "<conversation>" in text else "requests" if '"requests"' in text else "curate"
print(json.dumps(obey(SimpleNamespace(purpose=purpose, system=text, prompt=text))))
"""


def session(path, number):
    said = [f"We must always keep table{number}_{n}.sql sorted by its key, because the diff tool compares lines." for n in range(3)]
    records, parent = [], None
    for n, words in enumerate(said):
        for role, content in (("user", words), ("assistant", [{"type": "text", "text": "Done."}])):
            uuid = f"{number}-{n}-{role}"
            records.append(
                {
                    "type": role,
                    "uuid": uuid,
                    "parentUuid": parent,
                    "sessionId": f"s{number}",
                    "cwd": "/x/harbor",
                    "timestamp": f"2026-01-{number % 28 + 1:02}T10:{n:02}:00.000Z",
                    "message": {"role": role, "content": content, "id": uuid},
                }
            )
            parent = uuid
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def settle(home, script):
    """A home whose model is the script; the file that notes each question it answered."""
    config = home / ".config/kept/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    command = f"{sys.executable} {script} {home / 'calls'}"
    # What is proposed counts without a trial, which this model would fail: else nothing is active, and no file to compare.
    config.write_text(f'[llm]\nadapter = "command"\ncommand = "{command}"\nconcurrency = {CONCURRENCY}\ntrial = false\n')
    return home / "calls"


def kept(home, *arguments):
    command = [sys.executable, "-m", "kept", *map(str, arguments), "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(home)})


def remembered(home):
    rows = [json.loads(line) for line in kept(home, "export").stdout.splitlines()]
    return sorted(json.dumps(row, sort_keys=True) for row in rows if row["status"] in ("active", "held"))


@pytest.mark.slow
def test_kills_while_a_model_is_asked_lose_nothing_and_repeat_no_reply_that_came(tmp_path):
    script = tmp_path / "model.py"
    script.write_text(MODEL)
    corpus = tmp_path / "corpus"
    for number in range(24):
        session(corpus / f"s{number}.jsonl", number)
    calm = tmp_path / "calm"
    answered = settle(calm, script)
    started = time.monotonic()
    assert kept(calm, "run", corpus).returncode == 0
    span = time.monotonic() - started
    questions = Counter(answered.read_text().split())
    assert set(questions.values()) == {1}

    home = tmp_path / "home"
    calls = settle(home, script)
    chance = random.Random(11)
    for _ in range(KILLS):
        command = [sys.executable, "-m", "kept", "run", str(corpus), "--home", str(home)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(home)},
            start_new_session=True,
        )
        try:
            process.wait(timeout=chance.uniform(0.2, span))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if (home / ".local/share/kept/kept.db").exists():
            checked = kept(home, "check")
            assert checked.returncode == 0, checked.stdout + checked.stderr
    assert kept(home, "run", corpus).returncode == 0
    again = Counter(calls.read_text().split())
    assert set(again) == set(questions)
    # Only what was under way when a kill fell can have been asked again.
    assert again.total() <= questions.total() + KILLS * CONCURRENCY
    assert remembered(home) == remembered(calm)
    text = (home / ".claude/rules/memory.md").read_text()
    assert text == (calm / ".claude/rules/memory.md").read_text()
    shutil.rmtree(home)
