"""The story of the third seed: a script failed, was debugged; two weeks later it fails again, and the fix is there before anyone
debugs.
"""

import json

import pytest

from cli_world import kept
from failed_session import FAILURE, failed_before
from hook_world import harbor, injected, payload


def failed_and_was_fixed(home, capsys):
    """A session in which a script failed and an option helped, read by a run."""
    (home / "harbor").mkdir()
    failed_before(home / ".claude" / "projects" / "-harbor" / "first.jsonl", harbor())
    assert kept(capsys, "run")[0] == 0


def test_the_prompt_of_the_second_failure_brings_the_fix_of_the_first(home, capsys):
    failed_and_was_fixed(home, capsys)
    (home / ".claude" / "rules" / "memory.md").unlink()  # so that nothing but the hook can tell
    words = (
        "the review script fails again for pull request 57:\n\n$ ./scripts/review.sh 57\nExit code "
        f"1\n{FAILURE.replace('8081', '9090')}\n"
    )
    start = payload("SessionStart", source="startup", session_id="second")
    assert "--port 0" in injected("session-start", start, "--client", "codex")  # and the session's prompts do not say it again
    text = injected("user-prompt", payload("UserPromptSubmit", prompt=words, session_id="a resumed one"), "--client", "codex")
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


AGAIN = f"Exit code 1\n{FAILURE.replace('8081', '9090')}"
# What each client sends after a command that failed, as its current version does.
FAILED = {
    "claude": {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": AGAIN, "is_interrupt": False},
    "codex": {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": f"Reviewing 57\n{AGAIN}\n"},
    "gemini": {
        "hook_event_name": "AfterTool",
        "tool_name": "run_shell_command",
        "tool_response": {"llmContent": f"Output: {AGAIN}\nExit Code: 1", "returnDisplay": AGAIN},
    },
}


@pytest.mark.parametrize("client", FAILED)
def test_after_its_own_command_failed_an_agent_is_told_the_fix_of_last_time_once(home, capsys, client):
    failed_and_was_fixed(home, capsys)
    body = payload("", tool_input={"command": "./scripts/review.sh 57"}) | FAILED[client]
    text = injected("tool-failure", body, "--client", client)
    assert "This failed before; what helped then:" in text
    assert "--port 0" in text
    assert text.count("\n- ") == 1
    assert injected("tool-failure", body, "--client", client) == ""
    assert "--port 0" in injected("tool-failure", body | {"session_id": "another"}, "--client", client)


@pytest.mark.parametrize(
    "sent",
    [
        {"hook_event_name": "PostToolUse", "tool_response": "12 passed"},
        {"hook_event_name": "PostToolUseFailure", "error": "Exit code 2\nerror: unexpected argument '--fast' found"},
        {"hook_event_name": "PostToolUseFailure", "error": AGAIN, "is_interrupt": True},
        {"hook_event_name": "PostToolUse", "tool_response": {"stdout": [1], "error": {"code": 3}}},
    ],
)
def test_after_any_other_command_a_hook_says_nothing(home, capsys, sent):
    failed_and_was_fixed(home, capsys)
    assert injected("tool-failure", payload("", tool_input={"command": "x"}) | sent) == ""
