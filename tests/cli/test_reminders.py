"""What hooks tell an agent about handing over: at a session's start, before a prompt, at a compaction, at the end of a turn."""

import json
import os

import pytest

from cli_world import kept, told, transcript
from hook_world import hook, injected, payload
from kept.core.fence import ASK, OPEN, REMINDER, START, estimate_token_count, fence_text
from kept.intake.reminders import is_interactive, load_reminder_costs
from prepared import Prepared, do

RULE = "no, never push to main without a review"
CALL = {
    "type": "tool_use",
    "id": "t1",
    "name": "mcp__kept__save_what_user_said",
    "input": {"text": "never push to main without a review"},
}


def run_there(home):
    do("run")
    (home / "s.jsonl").write_text("{}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Prepared(tmp_path_factory, run_there)


@pytest.fixture
def remembering(made, monkeypatch):
    """A home where kept was run, and a transcript of a session in it."""
    return made.again(monkeypatch)


def prompt(home, words, **fields):
    return payload("UserPromptSubmit", prompt=words, transcript_path=str(home / "s.jsonl"), **fields)


def stop(home, **fields):
    return payload("Stop", transcript_path=str(home / "s.jsonl"), **{"stop_hook_active": False, **fields})


def start(source="startup"):
    return injected("session-start", payload("SessionStart", source=source))


def calls(home):
    with (home / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [CALL]}}) + "\n")


def test_what_is_said_about_handing_over_is_short():
    assert estimate_token_count(fence_text(START)) <= 80
    assert estimate_token_count(fence_text(REMINDER)) <= 15


def test_a_session_is_told_once_how_to_hand_over(remembering):
    assert start() == fence_text(START)
    assert start("resume") == ""
    assert start("fork") == ""


def test_a_prompt_that_may_hold_a_rule_is_reminded_and_another_is_not(remembering):
    assert injected("user-prompt", prompt(remembering, RULE)) == fence_text(REMINDER)
    assert injected("user-prompt", prompt(remembering, "please run the tests of the parser")) == ""


@pytest.mark.parametrize(
    ("said", "reminded"),
    [
        ("kept: off the record", False),
        ("my salary\n/kept:off\nis low", False),
        ("<command-message>off</command-message>\n<command-name>/kept:off</command-name>", False),
        ("what does kept: off the record do?", True),
        ([{"type": "tool_result", "tool_use_id": "t1", "content": "kept: off the record"}], True),
    ],
)
def test_a_session_off_the_record_is_told_nothing_about_handing_over(remembering, said, reminded):
    with (remembering / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "message": {"role": "user", "content": said}}) + "\n")
    assert bool(injected("user-prompt", prompt(remembering, RULE))) is reminded
    assert (
        bool(injected("session-start", payload("SessionStart", source="compact", transcript_path=str(remembering / "s.jsonl"))))
        is reminded
    )


def test_the_prompt_that_takes_a_session_off_the_record_is_not_reminded(remembering):
    assert injected("user-prompt", prompt(remembering, f"kept: off the record\n{RULE}")) == ""


def test_after_a_hand_over_the_turn_gets_no_further_reminder_and_the_next_turn_does(remembering):
    calls(remembering)
    assert injected("user-prompt", prompt(remembering, RULE)) == ""
    assert hook("stop", stop(remembering)) == (0, "", "")
    assert injected("user-prompt", prompt(remembering, RULE)) == fence_text(REMINDER)


def test_reminders_stay_below_a_hundredth_of_the_session(remembering):
    def reminders():
        return sum(bool(injected("user-prompt", prompt(remembering, RULE))) for _ in range(4))

    while reminders() == 4:
        pass
    assert load_reminder_costs(str(remembering / ".local/share/kept"))["reminder"][1] <= 120
    assert reminders() == 0
    with (remembering / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write("x" * 100_000)
    assert reminders() > 0


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_place_of_a_transcript_is_not_read(remembering, kind):
    os.mkfifo(remembering / "pipe")
    place = {"pipe": str(remembering / "pipe"), "device": "/dev/zero"}[kind]
    assert injected("user-prompt", prompt(remembering, RULE) | {"transcript_path": place}) == fence_text(REMINDER)


def test_one_setting_turns_all_of_it_off(remembering, capsys):
    assert kept(capsys, "config", "set", "handover", "off")[0] == 0
    assert start() == ""
    assert injected("user-prompt", prompt(remembering, RULE)) == ""
    assert hook("stop", stop(remembering), env={"CLAUDE_CODE_ENTRYPOINT": "cli"}) == (0, "", "")


@pytest.mark.skipif(not is_interactive({"CLAUDE_CODE_ENTRYPOINT": "cli"}), reason="a client that prints runs these tests")
def test_only_where_the_person_wants_it_the_end_of_an_unanswered_turn_is_asked_about_and_only_once(remembering, capsys):
    cli = {"CLAUDE_CODE_ENTRYPOINT": "cli"}
    injected("user-prompt", prompt(remembering, RULE))
    assert hook("stop", stop(remembering), env=cli) == (0, "", "")
    assert kept(capsys, "config", "set", "handover", "ask")[0] == 0
    injected("user-prompt", prompt(remembering, RULE))
    code, out, _ = hook("stop", stop(remembering), env=cli)
    assert (code, json.loads(out)) == (0, {"decision": "block", "reason": fence_text(ASK)})
    assert hook("stop", stop(remembering, stop_hook_active=True), env=cli) == (0, "", "")
    assert hook("stop", stop(remembering), env=cli) == (0, "", "")


def test_an_answer_that_is_printed_for_a_program_is_never_held_up(remembering, capsys):
    assert kept(capsys, "config", "set", "handover", "ask")[0] == 0
    for env in ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"CLAUDE_CODE_ENTRYPOINT": ""}):
        injected("user-prompt", prompt(remembering, RULE))
        assert hook("stop", stop(remembering), env=env) == (0, "", "")


def test_a_client_that_another_one_started_or_that_prints_is_not_interactive(monkeypatch):
    def ancestors(*lines):
        monkeypatch.setattr("kept.intake.reminders._ancestor_commands", lambda _: lines)
        return is_interactive({"CLAUDE_CODE_ENTRYPOINT": "cli"})

    assert ancestors("/bin/sh\0-c\0kept hook stop", "/usr/bin/claude", "bash")
    assert not ancestors("claude", "bash", "node\0/usr/bin/claude", "zsh")
    assert not ancestors("node\0/usr/bin/claude\0-p\0question", "bash")


def test_a_turn_that_handed_over_is_not_asked_about(remembering, capsys):
    assert kept(capsys, "config", "set", "handover", "ask")[0] == 0
    injected("user-prompt", prompt(remembering, RULE))
    calls(remembering)
    assert hook("stop", stop(remembering), env={"CLAUDE_CODE_ENTRYPOINT": "cli"}) == (0, "", "")


def test_where_kept_was_never_run_nothing_is_said_about_handing_over(home):
    assert start() == ""
    assert injected("user-prompt", payload("UserPromptSubmit", prompt=RULE)) == ""


def test_only_the_tool_that_hands_over_is_called_without_a_question(remembering, capsys):
    def decided(name):
        out = hook("allow-suggest", payload("PreToolUse", tool_name=name, tool_input={}))[1]
        return json.loads(out)["hookSpecificOutput"]["permissionDecision"] if out else ""

    assert decided("mcp__plugin_kept_kept__save_what_user_said") == "allow"
    assert decided("mcp__plugin_kept_kept__search_memory") == ""
    assert decided("Bash") == ""
    assert kept(capsys, "config", "set", "handover", "off")[0] == 0
    assert decided("mcp__plugin_kept_kept__save_what_user_said") == ""


def test_what_is_open_before_a_compaction_is_listed_once_after_it(remembering, capsys):
    path = transcript(remembering / "open" / "s9.jsonl", "look at the parser", f"fix it.\n{RULE}", "and run the tests")
    body = payload("PreCompact", trigger="auto", transcript_path=str(path))
    assert hook("pre-compact", body) == (0, "", "")
    text = start("compact")
    assert text.startswith(fence_text(START))
    assert OPEN in text
    assert f"- {RULE}" in text
    assert "parser" not in text
    assert start("compact") == fence_text(START)


def test_what_was_handed_over_is_not_open_at_a_compaction(remembering, capsys):
    path = transcript(remembering / "open" / "s9.jsonl", RULE)
    with path.open("a", encoding="utf-8") as file:
        record = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
        message = {"role": "assistant", "id": "m9", "content": [CALL]}
        file.write(json.dumps(record | {"uuid": "u9", "parentUuid": record["uuid"], "message": message}) + "\n")
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    assert start("compact") == fence_text(START)


def test_what_an_active_memory_quotes_is_not_open_at_a_compaction(remembering, capsys):
    path = transcript(remembering / "open" / "s9.jsonl", RULE, "look at the parser")
    assert kept(capsys, "run", path, "--no-llm")[0] == 0
    assert [each["content"] for each in told(capsys, "list")] == ["never push to main without a review"]
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    assert OPEN not in start("compact")


def test_a_long_prompt_that_an_active_memory_quotes_is_not_open_at_a_compaction(remembering, capsys):
    long = f"{RULE} of two people, {'and of the keepers of the tide tables ' * 8}who know the harbor"
    path = transcript(remembering / "open" / "s9.jsonl", long, "look at the parser")
    assert kept(capsys, "run", path, "--no-llm")[0] == 0
    assert [len(each["content"]) > 300 for each in told(capsys, "list")] == [True]
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    assert OPEN not in start("compact")


def test_the_status_tells_what_it_cost(remembering, capsys):
    start()
    injected("user-prompt", prompt(remembering, RULE))
    spent = {
        "start": {"times": 1, "tokens": estimate_token_count(fence_text(START))},
        "reminder": {"times": 1, "tokens": estimate_token_count(fence_text(REMINDER))},
    }
    assert told(capsys, "status")["handover"] == {"setting": "remind", **spent}
    total = sum(each["tokens"] for each in spent.values())
    assert f"Agents hand over your words: 1 reminder, {total} tokens in all" in kept(capsys, "status")[1]


def test_the_status_tells_by_day_what_was_put_before_sessions_and_prompts(remembering, capsys):
    texts = [start(), injected("user-prompt", prompt(remembering, RULE))]
    total = sum(map(estimate_token_count, texts))
    ((day, put),) = told(capsys, "status")["put"].items()
    assert put == {"times": 2, "tokens": total}
    assert f"{day}  {total} tokens in 2 texts" in kept(capsys, "status")[1]


def test_what_the_transcript_tells_of_kepts_own_words_and_tools_is_no_hand_over(remembering):
    with (remembering / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "attachment", "attachment": {"content": [start()]}}) + "\n")
        file.write(json.dumps({"type": "attachment", "attachment": {"addedNames": ["mcp__kept__save_what_user_said"]}}) + "\n")
    assert injected("user-prompt", prompt(remembering, RULE)) == fence_text(REMINDER)


def test_a_turn_that_ended_with_the_line_is_not_asked_about(remembering, capsys):
    assert kept(capsys, "config", "set", "handover", "ask")[0] == 0
    injected("user-prompt", prompt(remembering, RULE))
    body = stop(remembering, last_assistant_message=f'Done.\n\nkept: "{RULE}"')
    assert hook("stop", body, env={"CLAUDE_CODE_ENTRYPOINT": "cli"}) == (0, "", "")
