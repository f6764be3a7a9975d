"""Other tools' memories: never read by themselves, never touched, taken up once where a person asks."""

import pytest

from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.memory import Status
from kept.memories.history import undo
from kept.memories.person import reject
from kept.pipeline.importing import count_importable_notes, import_from_tool
from kept.pipeline.run import RunOptions, run_pipeline
from talking import RULE, say

TOPIC = """---
name: release
description: "Releases are tagged from the branch `stable` only."
type: project
---

**Why:** the tags of main broke the packager.
"""
INDEX = """# Memory

- [Release](release.md): how releases are made
- The staging host of harbor is `stage-3`, not `stage-1`.

Prefers small pull requests, one concern each.
"""
BLOCK = """# Mine

Be brief.

<!-- BEGIN tracker v2 -->
- Use `track ready` to find work in this repository.
<!-- END tracker -->

<other-context>
- The user said on Monday that tests run under Python 3.12.
</other-context>

## Remembered
<!-- kept:begin 0123456789ab own 1 -->
- A line that kept itself wrote about harbor.
<!-- kept:end -->
"""
ADDED = (
    "# Notes\n\n- Mine, and no note of a tool.\n\n## Gemini Added Memories\n- The user prefers dark terminals with large "
    "type.\n\n## Other\n- Mine as well, whatever comes.\n"
)


@pytest.fixture
def notes(home):
    """What other tools wrote, as bytes by path."""
    files = {
        ".claude/projects/p/memory/release.md": TOPIC,
        ".claude/projects/p/memory/MEMORY.md": INDEX,
        ".claude/CLAUDE.md": BLOCK,
        ".gemini/GEMINI.md": ADDED,
        ".codex/memories/MEMORY.md": "- The tests of harbor need a running `redis` on port 6380.\n",
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {home / name: text for name, text in files.items()}


def contents(workspace):
    return {each.content: each for each in workspace.store.log.memories()}


def test_what_other_tools_remember_is_never_read_by_itself_and_never_touched(desk_at, home, notes):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.sources == {"claude-code": 1}
        assert [each.content for each in workspace.store.log.memories()] == [RULE]
        assert count_importable_notes(workspace) == {"claude": 3, "codex": 1, "gemini": 1, "blocks": 2}
        import_from_tool(workspace, "all")
    assert {path: path.read_text() for path in notes} == notes


def test_it_is_taken_up_once_as_held_with_the_file_it_stands_in(desk_at, home, notes):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert import_from_tool(workspace, "claude").added == {"held": 3}
        found = contents(workspace)["Releases are tagged from the branch `stable` only."]
        (evidence,) = found.evidence
        assert (found.status, found.origin, found.category) == (Status.HELD, Origin.ASSISTANT, "project_fact")
        assert found.scope == contents(workspace)[RULE].scope  # the project whose transcripts lie beside it
        assert (evidence.author, evidence.path) == ("claude", str(home / ".claude/projects/p/memory/release.md"))
        assert import_from_tool(workspace, "claude").added == {}
        assert "claude" not in count_importable_notes(workspace)


def test_what_a_person_turned_down_is_not_taken_up_again_and_undo_takes_all_of_it_back(desk_at, home, notes):
    with desk_at(home) as workspace:
        import_from_tool(workspace, "gemini")
        reject(workspace, contents(workspace)["The user prefers dark terminals with large type."].id)
        assert import_from_tool(workspace, "gemini").added == {}
        import_from_tool(workspace, "blocks")
        assert "Use `track ready` to find work in this repository." in contents(workspace)
        assert not any("kept itself" in each or "Mine" in each for each in contents(workspace))
        undo(workspace)
        assert not any("track ready" in each for each in contents(workspace))
        assert import_from_tool(workspace, "blocks").added == {"held": 2}


def test_a_tool_nobody_knows_is_refused(desk_at, home):
    with desk_at(home) as workspace, pytest.raises(UsageError, match="claude, codex, gemini, blocks, all"):
        import_from_tool(workspace, "sundial")


@pytest.mark.parametrize(
    "text",
    ["", "---\n", "---\ndescription\n---", "- " + "x" * 300_000, "\x00\xff", "<!-- x:begin -->\n- never closed, and so on\n"],
)
def test_a_note_of_any_form_is_read_or_left(desk_at, home, text):
    for name in (".claude/projects/p/memory/MEMORY.md", ".codex/memories/a.md", ".gemini/GEMINI.md", ".claude/CLAUDE.md"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with desk_at(home) as workspace:
        import_from_tool(workspace, "all")


def test_a_note_is_the_fact_below_its_description_where_one_stands_there(desk_at, home):
    folder = home / ".claude/projects/p/memory"
    folder.mkdir(parents=True)
    fact = "Deploys of harbor run only from the main branch."
    (folder / "deploys.md").write_text(
        f"---\nname: deploys\ndescription: how deploys work\ntype: feedback\n---\n\n{fact}\n\n**Why:** x\n"
    )
    with desk_at(home) as workspace:
        import_from_tool(workspace, "claude")
        assert [each.content for each in workspace.store.log.memories()] == [fact]
