"""A day with kept in which secrets come in at every door: no file below the home holds any of their bytes, whatever its name."""

import gzip
import json
import re
import sqlite3
import zlib

from test_hostile_secrets import SECRETS, everywhere

from hook_world import hook
from hostile_world import answer, bytes_below, called, desk_at, human, leaked, lines, output, run_at, write
from kept.llm.adapters.scripted import ScriptedModel
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.archive.turns import Archive
from obedient import obey

TEXTS = [place.replace("{}", secret) for place, secret in SECRETS.values()]
EVENTS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")
COMMANDS = [each.split() for each in ("run --verbose", "run --force --json", "jobs prepare", "sources --verbose", "rebuild")]
COMMANDS += [["day", "2026-03-01"]]


def leaky(ask):
    """A model that says what it was asked, and secrets besides: it may have read them anywhere."""
    body = obey(ask)
    if ask.purpose == "summary":
        body["problems"] += [{"text": text[:200], "points": ["p1"]} for text in TEXTS]
        return body
    if ask.purpose in ("curate", "outdated"):
        lines = dict(re.findall(r"(?m)^(\d+) \([^)]*\): (.+)$", ask.prompt))
        told = [f"{words} {TEXTS[int(number) % len(TEXTS)]}" for number, words in lines.items()]
        rows = zip(lines, told, strict=True)
        return {"operations": [{"id": int(n), "op": "merge", "with": 1, "reason": words} for n, words in rows]}
    if "notes" not in body:  # a claim that is sent back
        return body
    body["notes"]["problems"] += [{"text": text[:200], "events": ["e1"]} for text in TEXTS]
    body["memories"] += [{"category": "decision", "content": text, "evidence": [{"event": "e1", "quote": text}]} for text in TEXTS]
    return body


def run_with_model(home, path, monkeypatch):
    monkeypatch.setattr("kept.llm.models.create_model", lambda *_: ScriptedModel(leaky))
    write(home / ".config" / "kept", b'[llm]\nadapter = "scripted"\n', "config.toml")
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [path], RunOptions())
    assert report.asked.usage.calls
    assert report.asked.secrets


def test_no_file_that_kept_writes_in_a_day_holds_a_byte_of_a_secret(tmp_path, monkeypatch):
    home, told = tmp_path / "home", b""
    path = write(tmp_path / "in", b"".join(everywhere(text) for text in TEXTS))
    run_with_model(home, path, monkeypatch)
    payload = {"session_id": "s", "transcript_path": str(path), "cwd": "/home/u/harbor", "hook_event_name": "x"}
    for number, event in enumerate(EVENTS):
        text = "\n".join(TEXTS)
        whole = json.dumps(payload | {"prompt": text, "last_assistant_message": text, "error": text, "custom_instructions": text})
        code, *said = hook(event, (whole if number % 2 else whole[:-20]).encode(), env={"HOME": str(home), "KEPT_HOME": str(home)})
        assert code == 0
        told += "".join(said).encode()
    path.write_bytes(path.read_bytes() + lines(human(TEXTS[0]), answer(TEXTS[1]), output(TEXTS[2]))[:-9])
    outputs = [("export", "--format", each, "--output", home / f"out.{each}") for each in ("jsonl", "archive")]
    for command in (*COMMANDS, *outputs, ("backup", home / "copy.db")):
        told += called(*command, "--home", home, home=home).told.encode()
    held = bytes_below(home)
    assert {name: found for name, (_, secret) in SECRETS.items() if (found := leaked(secret, held))} == {}
    assert {name: found for name, (_, secret) in SECRETS.items() if (found := leaked(secret, told))} == {}


def test_the_search_for_leaks_finds_what_is_packed_wherever_it_lies(tmp_path):
    secret = b"hunter2hunter2"
    for number, data in enumerate((secret, zlib.compress(secret), gzip.compress(secret))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "odd name").write_bytes(data)
        assert leaked(secret.decode(), bytes_below(folder))
    with sqlite3.connect(tmp_path / "cache") as store:
        store.execute("CREATE TABLE things (body BLOB)")
        store.execute("INSERT INTO things VALUES (?)", (zlib.compress(b"x" * 100 + secret),))
    store.close()
    (tmp_path / "alone").mkdir()
    (tmp_path / "cache").rename(tmp_path / "alone" / "cache")
    assert leaked(secret.decode(), bytes_below(tmp_path / "alone"))


def test_the_journal_of_a_run_under_way_holds_no_secret_either(tmp_path, monkeypatch):
    home, folder, seen = tmp_path / "home", tmp_path / "in", []
    archive = Archive.add_slice

    def watched(self, *given, **named):
        added = archive(self, *given, **named)
        seen.extend(path.read_bytes() for path in home.rglob("*-journal"))
        return added

    monkeypatch.setattr(Archive, "add_slice", watched)
    for number, text in enumerate(TEXTS):
        write(folder, everywhere(text), f"{number}.jsonl")
    run_at(home, folder)
    assert max(map(len, seen)) > 4096
    held = b"\n".join(seen)
    assert {name: found for name, (_, secret) in SECRETS.items() if (found := leaked(secret, held))} == {}
