"""Memory for whoever builds an agent."""

import pytest

import kept
from kept.core.errors import UsageError
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace as desk_of
from talking import OTHER


def opened(home, session="s1", **options):
    return kept.Memory.open(str(home), session=session, project=str(home / "shop"), **options)


def said(memory, *texts: str) -> None:
    for text in texts:
        memory.observe({"role": "user", "content": text})
        memory.observe({"role": "assistant", "content": f"Done: {text}"})


def test_what_a_session_told_is_known_in_the_next(home):
    with opened(home) as memory:
        said(memory, "Have a look at the import job.", OTHER)
        assert "uv sync" not in memory.context("shall I always use pip in this repo").text
        memory.end_session()
    with opened(home, "s2") as memory:
        assert "uv sync" in memory.context("shall I always use pip in this repo").text


def test_past_fifty_entries_the_older_become_notes_and_twenty_stay(home):
    with opened(home) as memory:
        said(memory, *(f"Please write chapter number {number} of the manual." for number in range(25)))
        assert len(memory.recent().entries) == 50
        said(memory, "Please write the appendix of the manual.")
        window = memory.recent()
        assert len(window.entries) == 21
        assert window.entries[-1].text == "Done: Please write the appendix of the manual."
        assert window.summarized + len(window.entries) == 52
        assert "chapter number 0" in window.notes[0].asked


def test_thresholds_are_settings_and_must_make_sense(home):
    with opened(home, most=4, keep=2) as memory:
        said(memory, "Please write the first chapter.", "Please write the second chapter.", "Please write the third chapter.")
        assert len(memory.recent().entries) <= 4
    with pytest.raises(UsageError), opened(home, most=2, keep=3):
        pass


def test_a_session_that_was_cut_off_goes_on_where_it_was(home):
    with opened(home, most=4, keep=2) as memory:
        said(memory, *(f"Please write chapter {number} of the manual." for number in range(6)))
        before = memory.recent()
    with opened(home, most=4, keep=2) as memory:
        assert memory.recent() == before


def test_a_session_that_never_ended_is_read_by_the_next_run(home):
    with opened(home) as memory:
        said(memory, OTHER)
    with desk_of(find_paths(str(home), {})) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert any("uv sync" in each.content for each in workspace.store.log.memories())


def test_secrets_are_taken_out_before_anything_is_written(home):
    token = "ghp_" + "a1B2" * 9
    with opened(home) as memory:
        said(memory, f"use the token {token} for the release")
    assert token not in "".join(path.read_text() for path in home.rglob("*.jsonl"))


def test_an_entry_without_a_speaker_and_a_session_with_a_path_for_a_name_are_refused(home):
    with opened(home) as memory, pytest.raises(UsageError):
        memory.observe({"role": "nobody", "content": "x"})
    with pytest.raises(UsageError), opened(home, "../x"):
        pass


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "uv sync"}'}}
SHAPES = {
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": OTHER}, {"type": "image", "source": {"data": "aGk="}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "uv sync"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}]},
    ],
    "openai chat": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": OTHER}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ],
    "openai responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": OTHER}]},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "uv sync"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ],
    "plain": [
        {"role": "user", "content": OTHER},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "ok"},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_messages_of_every_model_api_teach_the_same_and_show_call_and_result(home, shape):
    with opened(home) as memory:
        memory.observe(SHAPES[shape])
        entries = memory.recent().entries
        assert [entry.text for entry in entries if entry.tool] == ["uv sync", "ok"]
        assert {entry.tool.call for entry in entries if entry.tool} <= {"c1", ""}
        assert [made.text for made in memory.end_session().new] == [OTHER]


def test_a_rule_of_the_project_comes_with_every_context_and_in_no_other_project(home):
    with opened(home) as memory:
        memory.add("Never use npm here, pnpm only.", "constraint")
        assert "pnpm" in memory.context("which package manager do we use?").text
        assert "pnpm" in memory.context("banana bread").text
    with kept.Memory.open(str(home), project=str(home / "other")) as memory:
        assert memory.context("which package manager do we use?").text == ""
        assert memory.search("pnpm") == ()


def test_what_is_added_is_found_until_it_is_deleted(home):
    with opened(home) as memory:
        number = memory.add("The staging server is db2.internal.").id
        (found,) = memory.search("which staging server?")
        assert (found.id, found.text) == (number, "The staging server is db2.internal.")
        assert found.reasons
    with kept.Memory.open(str(home), project=str(home / "other")) as memory, pytest.raises(UsageError):
        memory.delete(number)
    with opened(home) as memory:
        memory.delete(number)
        assert memory.search("which staging server?") == ()
        with pytest.raises(UsageError):
            memory.add("The staging server is db2.internal.", "nonsense")


def test_a_session_without_entries_ends_quietly(home):
    with opened(home) as memory:
        assert memory.recent().entries == ()
        assert memory.end_session().new == ()


def test_what_closed_episodes_bring_live_is_what_a_run_finds_in_the_transcript_later(home):
    told = [
        "In this project we always use pnpm, never npm.",
        "please run the tests",
        "Remember that the staging server is db2.internal, not db1",
        "no, never push to main without asking me first",
    ]
    closed, live = [], []
    with opened(home) as memory:
        for number in range(40):
            at = f"2026-11-20T10:{number:02}:00+00:00"
            message = told[number // 10] if number % 10 == 0 else f"go on with part {number}"
            for role, text in (("user", message), ("assistant", f"Part {number} is done.")):
                noticed = memory.observe({"role": role, "content": text, "timestamp": at})
                live += noticed.live
                closed += noticed.closed
        memory.end_session()
    with desk_of(find_paths(str(home), {})) as workspace:
        (number,) = workspace.store.archive.threads(pending=False)
        batch = [each.judged.candidate for each in workspace.store.log.thread_proposals(number.id, 0)]
    assert len(closed) >= 2
    assert [(each.id, each.content, each.confidence) for each in closed] == [
        (each.id, each.content, each.confidence) for each in batch[: len(closed)]
    ]
    assert {each.content for each in live} <= {each.content for each in batch}
    assert any("pnpm" in each.content for each in live)
