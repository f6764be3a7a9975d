"""``kept projects``: seeing which directories are one project, joining two, taking that back."""

import json

import pytest

from cli_world import OTHER, RULE, kept, told, transcript


@pytest.fixture
def two(capsys, home):
    place = home / ".claude/projects/p"
    place.mkdir(parents=True)
    transcript(place / "a.jsonl", RULE, cwd="/old/harbor")
    transcript(place / "b.jsonl", OTHER, cwd="/new/harbor")
    kept(capsys, "run", "--no-llm")


def groups(capsys):
    return sorted(each["directories"] for each in told(capsys, "projects")["projects"])


def test_projects_are_joined_with_their_memories_and_separated_again(capsys, two):
    assert groups(capsys) == [["/new/harbor"], ["/old/harbor"]]
    (pair,) = told(capsys, "projects")["suggestions"]
    assert pair == {"project": "/new/harbor", "other": "/old/harbor", "evidence": "both are called harbor"}
    assert "may be the same project: both are called harbor" in kept(capsys, "projects")[1]
    assert kept(capsys, "projects", "join", "/old/harbor", "/new/harbor")[0] == 0
    kept(capsys, "run", "--no-llm")
    assert groups(capsys) == [["/new/harbor", "/old/harbor"]]
    assert len({each["scope"] for each in told(capsys, "list")}) == 1
    assert kept(capsys, "projects", "undo")[0] == 0
    kept(capsys, "run", "--no-llm")
    assert groups(capsys) == [["/new/harbor"], ["/old/harbor"]]
    assert len({each["scope"] for each in told(capsys, "list")}) == 2


@pytest.mark.parametrize(
    "arguments",
    [("join",), ("join", "/old/harbor"), ("join", "/old/harbor", "/nowhere"), ("join", "harbor", "/new/harbor"), ("undo",)],
)
def test_what_cannot_be_joined_or_undone_is_refused(capsys, two, arguments):
    assert kept(capsys, "projects", *arguments)[0] == 2
    assert told(capsys, "projects")["joined"] == {}


def test_a_wish_for_this_repository_stays_with_one_also_where_its_folder_is_unknown(capsys, home, tmp_path):
    place = home / ".claude/projects/-srv-quay"
    transcript(place / "gone.jsonl", "From now on never push to the main branch of this repo without a review.", cwd="/gone/away")
    path = transcript(place / "nowhere.jsonl", "From now on never use pip in this repo, always use `uv sync` instead.")
    path.write_text(path.read_text().replace('"cwd": "/home/u/harbor", ', ""))
    (tmp_path / "chat.md").write_text("**User:** From now on always squash commits in this repo.\n\n**Assistant:** Noted.\n")
    (tmp_path / "screen.txt").write_text("❯ From now on never edit generated files in this repo.\n\n⏺ OK.\n\n⏺ Bash(ls)\n  ⎿  x\n")
    told(capsys, "run", "--no-llm")
    told(capsys, "run", tmp_path / "chat.md", tmp_path / "screen.txt", "--no-llm")
    memories = told(capsys, "list", "--all")
    assert len(memories) == 4
    assert all(memory["scope"].startswith("project:") for memory in memories)


def outcome(command, output, status):
    """The same run of a command as Claude Code's blocks and as Codex's records, with what each client writes around its output."""
    shown = f"Exit code {status}\n{output}" if status else output
    wrapped = f"Chunk ID: 1\nWall time: 1.0 seconds\nProcess exited with code {status}\nOutput:\n{output}"
    return command, shown, wrapped, status


STEPS = (
    outcome("npm test", "Error: listen EADDRINUSE: address already in use :::5173", 1),
    outcome("fuser -k 5173/tcp", "5173/tcp: 4242", 0),
    outcome("npm test", "12 passed", 0),
)


def rollout(home, words, *items):
    """A session of Codex's in the folder /x/harbor, begun with a prompt; its id."""
    meta = {"id": "019a0000-0000-7000-8000-000000000000", "cwd": "/x/harbor", "timestamp": "2026-01-06T10:00:00Z"}
    path = home / ".codex/sessions/2026/01/06" / f"rollout-2026-01-06T10-00-00-{meta['id']}.jsonl"
    path.parent.mkdir(parents=True)
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    typed = ("event_msg", {"type": "user_message", "message": words})
    records = [("session_meta", meta), ("response_item", prompt), typed, *(("response_item", item) for item in items)]
    path.write_text(
        "".join(
            json.dumps({"timestamp": f"2026-01-06T10:{number:02}:00.000Z", "type": kind, "payload": payload}) + "\n"
            for number, (kind, payload) in enumerate(records)
        )
    )
    return meta["id"]


@pytest.mark.parametrize("again", [RULE, f"{RULE[:-1]}!", RULE.lower()])
def test_the_same_rule_through_two_clients_is_one_memory_with_the_words_of_both(capsys, home, again):
    transcript(home / ".claude/projects/p/first.jsonl", RULE, cwd="/x/harbor")
    session = rollout(home, again)
    told(capsys, "run", "--no-llm")
    (rule,) = told(capsys, "list", "--all")
    assert {evidence["session"] for evidence in rule["evidence"]} == {"first", session}


def test_the_same_fix_through_two_clients_is_one_memory_without_their_wrappers(capsys, home):
    claude, codex = [], []
    for number, (command, shown, wrapped, status) in enumerate(STEPS):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": shown, "is_error": status != 0}
        claude += [("assistant", [call]), ("user", [result])]
        arguments = json.dumps({"cmd": command})
        codex += [
            {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"c{number}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": wrapped},
        ]
    path = transcript(home / ".claude/projects/p/first.jsonl", "run the tests", cwd="/x/harbor")
    with path.open("a") as file:
        for number, (role, content) in enumerate(claude):
            record = {"type": role, "uuid": f"r{number}", "parentUuid": None, "sessionId": "first", "cwd": "/x/harbor"}
            message = {"role": role, "content": content}
            file.write(json.dumps({**record, "timestamp": f"2026-01-05T11:{number:02}:00.000Z", "message": message}) + "\n")
    session = rollout(home, "run the tests", *codex)
    told(capsys, "run", "--no-llm")
    (fix,) = [memory for memory in told(capsys, "list", "--all") if memory["category"] == "known_fix"]
    assert {evidence["session"] for evidence in fix["evidence"]} == {"first", session}
    assert "fuser -k 5173/tcp" in fix["content"]
    assert not [mark for mark in ("Chunk ID", "Wall time", "Process exited", "Exit code") if mark in fix["content"]]
