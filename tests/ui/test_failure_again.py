"""The story of the third seed: a script failed, was debugged; two weeks later it fails again, and the fix is there before anyone
debugs.
"""

import json

from cli_world import kept
from hook_world import harbor, injected, payload

FAILURE = "Error: Failed to parse remote port from server output: bind [127.0.0.1]:8081: Address already in use"


def told(path, *turns, day):
    """A Claude Code session: each turn is what the user said, what the agent said, or a command with its output and exit status."""
    records, parent = [], None
    for number, turn in enumerate(turns):
        match turn:
            case ("user", words):
                parts = [("user", words)]
            case ("agent", words):
                parts = [("assistant", [{"type": "text", "text": words}])]
            case (command, output, status):
                call = f"call{number}"
                result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": status != 0}
                use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
                parts = [("assistant", [use]), ("user", [result])]
        for place, (role, content) in enumerate(parts):
            uuid = f"{path.stem}-{number}-{place}"
            message = {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})}
            records.append(
                {
                    "type": role,
                    "uuid": uuid,
                    "parentUuid": parent,
                    "sessionId": path.stem,
                    "cwd": harbor(),
                    "isSidechain": False,
                    "userType": "external",
                    "timestamp": f"{day}T10:{number:02}:{place:02}.000Z",
                    "message": message,
                }
            )
            parent = uuid
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def test_the_prompt_of_the_second_failure_brings_the_fix_of_the_first(home, capsys):
    (home / "harbor").mkdir()
    told(
        home / ".claude" / "projects" / "-harbor" / "first.jsonl",
        ("user", "Review pull request 41 with the review script."),
        ("./scripts/review.sh 41", f"Exit code 1\n{FAILURE}", 1),
        ("agent", "The port is still held. I look at what the script takes as options."),
        ("./scripts/review.sh 41 --port 0", "Reviewed 12 files.\nNo problems.", 0),
        ("user", "That works, thanks."),
        day="2026-01-05",
    )
    assert kept(capsys, "run")[0] == 0
    (home / ".claude" / "rules" / "memory.md").unlink()  # so that nothing but the hook can tell
    words = (
        "the review script fails again for pull request 57:\n\n$ ./scripts/review.sh 57\nExit code "
        f"1\n{FAILURE.replace('8081', '9090')}\n"
    )
    start = payload("SessionStart", source="startup", session_id="second")
    injected("session-start", start, "--client", "codex")
    text = injected("user-prompt", payload("UserPromptSubmit", prompt=words, session_id="second"), "--client", "codex")
    assert "This failed before; what helped then:" in text
    assert "--port 0" in text
    assert "2026-01-05" in text
    said = f"why does it say again: {FAILURE}"  # quoted in a sentence, in another session
    text = injected("user-prompt", payload("UserPromptSubmit", prompt=said, session_id="third"), "--client", "codex")
    assert "This failed before; what helped then:" in text
    code, out, _ = kept(capsys, "context", words, "--client", "none", "--json")
    assert code == 0
    first = json.loads(out)["lines"][0]
    assert (first["layer"], first["reason"]) == ("fixes", "the message tells of the same failure, met in another project")


def test_a_message_about_another_failure_brings_no_fix(home, capsys):
    test_the_prompt_of_the_second_failure_brings_the_fix_of_the_first(home, capsys)
    words = "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree"
    assert injected("user-prompt", payload("UserPromptSubmit", prompt=words, session_id="second"), "--client", "codex") == ""
