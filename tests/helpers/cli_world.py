"""Call the command line in this process, and write small transcripts."""

import json
import sys

import pytest

from kept.cli import main
from prepared import do

RULE = "In this project we always write dates as ISO 8601 in UTC, never in local time."
OTHER = "Never use pip in this repo, always use `uv sync` instead."


def kept(capsys, *arguments):
    """Call the command line; returns exit code, stdout and stderr."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def uninstall(monkeypatch, library, room):
    """Have a library missing, for a room of kept that imports it."""
    for name in [each for each in sys.modules if each == room or each.startswith((f"{room}.", f"{library}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)


def told(capsys, *arguments):
    """Make a call that must succeed; returns its JSON document."""
    code, out, err = kept(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def transcript(path, *prompts, day="2026-01-05", cwd="/home/u/harbor"):
    """Write a Claude Code session in which a person types each prompt and gets an answer."""
    records, parent = [], None
    for number, words in enumerate(prompts):
        for role, content in (("user", words), ("assistant", [{"type": "text", "text": "Done."}])):
            uuid = f"{path.stem}-{number}-{role}"
            records.append(
                {
                    "type": role,
                    "uuid": uuid,
                    "parentUuid": parent,
                    "sessionId": path.stem,
                    "cwd": cwd,
                    "gitBranch": "main",
                    "isSidechain": False,
                    "userType": "external",
                    "timestamp": f"{day}T10:{number:02}:00.000Z",
                    "message": {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})},
                }
            )
            parent = uuid
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def memory_file(home):
    return home / ".claude" / "rules" / "memory.md"


def contents(home):
    """The bytes of every file below a folder, by path."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


def command(*arguments):
    """The command that runs kept in a separate process."""
    return [sys.executable, "-m", "kept", *map(str, arguments)]


def run_once(home):
    """Write a session with both rules and read it."""
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE, OTHER)
    do("run")
