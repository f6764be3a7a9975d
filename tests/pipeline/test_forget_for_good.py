"""What was forgotten stays forgotten: over real sessions read again from their start, an import, a backup of the words, undo and
redo.
"""

import json
from pathlib import Path

import pytest

from kept.changes import apply_person_change
from kept.core.errors import UsageError
from kept.core.fingerprint import fingerprint_statement, is_known_statement
from kept.core.memory import Status
from kept.memories.browse import to_export
from kept.memories.history import redo, undo
from kept.pipeline.importing import import_file
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import export_archive
from kept.store.sqlite import SqliteStore
from talking import forget_ids, say

pytestmark = pytest.mark.shared


TOLD = (
    "the crane on pier four needs two operators",
    "invoices leave on the first Monday",
    "the mirror of the archive is read only",
    "Ana renews the certificates in March",
    "topics are named team.event.v1",
    "the lighthouse API speaks XML alone",
    "fixtures come from gen_fixtures.py",
    "backups are encrypted with age",
    "the scanner wants grayscale pages",
)


def gone(workspace, words: dict[str, str]) -> None:
    """Nothing that stands says one of the forgotten things, in its words or others, and no file holds their words."""
    key = workspace.store.key("forget")
    wanted = {fingerprint_statement(each, key) for each in words.values()}
    for memory in workspace.store.log.memories():
        assert not (memory.content and is_known_statement(memory.content, wanted, key)), memory.content
        assert memory.id not in words or not memory.content
    for proposal in workspace.store.log.all_judged_candidates():
        assert not is_known_statement(proposal.candidate.content, wanted, key)
    assert workspace.store.find_damage() == ()
    for path in workspace.paths.root.rglob("*"):
        if path.is_file() and path.suffix in (".db", ".md", ".bin"):
            assert not [each for each in words.values() if each.encode() in path.read_bytes()], path


@pytest.mark.parametrize("largest", [100_000, pytest.param(10**9, marks=pytest.mark.slow)], ids=["a small session", "all sessions"])
def test_forgetting_outlasts_reading_again_importing_undoing_and_redoing(desk_at, home, tmp_path, shared: Path, largest):
    folder = shared / "transcripts/inputs/claude-code-jsonl/entireio-cli"
    sessions = [each for each in sorted(folder.rglob("*.jsonl")) if each.stat().st_size < largest]
    lines, archive = tmp_path / "before.jsonl", tmp_path / "after.jsonl.gz"
    with desk_at(home) as workspace:
        say(home, "one", *(f"Remember that {each}." for each in TOLD))
        run_pipeline(workspace, [*sessions, home / ".claude"], RunOptions())
        found = [each for each in workspace.store.log.memories() if each.status in (Status.ACTIVE, Status.HELD)]
        lines.write_text("".join(f"{json.dumps(to_export(workspace, each))}\n" for each in found))
        words = {each.id: each.content for each in found[::3]}
        assert len(words) >= 4
        forget_ids(workspace, list(words))
        gone(workspace, words)
        run_pipeline(workspace, sessions, RunOptions(force=True))
        gone(workspace, words)
        done, _ = apply_person_change(workspace, lambda: import_file(workspace, lines))
        assert done.left_out["forgotten"] == len(words)
        gone(workspace, words)
        left = len([each for each in workspace.store.log.memories() if each.content])
        say(home, "two", "Remember that the bells of the harbour ring at noon.")
        run_pipeline(workspace, [home / ".claude"], RunOptions())
        for number in range(3):
            try:
                apply_person_change(workspace, lambda: undo(workspace))
            except UsageError:
                assert number, "there is something to take back"
                break
        gone(workspace, words)
        apply_person_change(workspace, lambda: redo(workspace))
        gone(workspace, words)
        with pytest.raises(UsageError, match="forg"):
            undo(workspace, str(next(each.id for each in workspace.store.log.pass_heads() if each.stage == "forget")))
        assert left >= len(found) - len(words)
        export_archive(workspace, archive)
    with desk_at(tmp_path / "other") as workspace:
        apply_person_change(workspace, lambda: import_file(workspace, archive))
        gone(workspace, words)
        run_pipeline(workspace, sessions, RunOptions(force=True))
        gone(workspace, words)
        import_file(workspace, lines)
        gone(workspace, words)
    with SqliteStore(home / ".local/share/kept/kept.db") as store:
        assert store.find_damage() == ()
