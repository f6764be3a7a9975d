"""What a client remembers itself: the agent's voice, that waits for the person's own words and is not written out twice."""

import pytest

from kept.core.event import Origin
from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline
from talking import RULE, say

NOTE = "Releases are tagged from the branch `stable` only."


@pytest.fixture
def noted(home):
    """A home whose settings name Claude Code's own memory, with a project and the notes of that memory."""
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('client_memory = ["claude"]\n', encoding="utf-8")
    path = say(home, "a", RULE)
    folder = path.parent / "memory"
    folder.mkdir()
    return folder / "notes.md"


def memories(workspace):
    return {memory.content: memory for memory in workspace.store.log.memories()}


def test_a_note_of_the_client_waits_and_is_taken_up_once(desk_at, home, noted):
    noted.write_text(f"- {NOTE}\n", encoding="utf-8")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = memories(workspace)[NOTE]
        assert (memory.status, memory.origin, memory.owned) == (Status.HELD, Origin.ASSISTANT, False)
        assert (memory.evidence[0].author, memory.evidence[0].path) == ("claude", str(noted))
        before = workspace.store.log.passes()
        count = sum(1 for _ in before)
        run_pipeline(workspace, [], RunOptions())
        assert sum(1 for _ in workspace.store.log.passes()) == count
    assert noted.read_text(encoding="utf-8") == f"- {NOTE}\n"


def test_the_persons_own_words_make_it_active_and_one(desk_at, home, noted):
    noted.write_text(f"- {RULE.rstrip('.')}\n", encoding="utf-8")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = [memory for memory in workspace.store.log.memories() if memory.status in (Status.ACTIVE, Status.HELD)]
        assert [(memory.status, memory.origin) for memory in found] == [(Status.ACTIVE, Origin.USER)]


def test_what_the_client_injects_itself_does_not_stand_in_the_file_it_reads(desk_at, home, noted):
    noted.write_text(f"- {RULE}\n", encoding="utf-8")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert any(memory.status is Status.ACTIVE for memory in workspace.store.log.memories())
    file = home / ".claude" / "rules" / "memory.md"
    assert not file.exists() or RULE not in file.read_text(encoding="utf-8")


def test_unless_the_settings_name_it_a_clients_memory_is_not_read(desk_at, home, noted):
    (home / ".config" / "kept" / "config.toml").unlink()
    noted.write_text(f"- {NOTE}\n", encoding="utf-8")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert NOTE not in memories(workspace)
