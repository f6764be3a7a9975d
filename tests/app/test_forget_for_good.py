"""What was forgotten stays forgotten: over real sessions read again from their start, an import, a backup of the words, undo and redo."""

import json
from pathlib import Path

import pytest

from kept.changes import settle
from kept.core.errors import UsageError
from kept.core.fingerprint import fingerprint, recognised
from kept.core.memory import Status
from kept.memories.browse import exported
from kept.memories.history import redo, undo
from kept.pipeline.run import Options, run
from kept.pipeline.safety import export_archive, import_file
from kept.store import SqliteStore
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


def gone(desk, words: dict[str, str]) -> None:
    """Nothing that stands says one of the forgotten things, in its words or others, and no file holds their words."""
    key = desk.store.key("forget")
    wanted = {fingerprint(each, key) for each in words.values()}
    for memory in desk.store.log.memories():
        assert not (memory.content and recognised(memory.content, wanted, key)), memory.content
        assert memory.id not in words or not memory.content
    for proposal in desk.store.log.every_proposal():
        assert not recognised(proposal.candidate.content, wanted, key)
    assert desk.store.damage() == ()
    for path in desk.home.root.rglob("*"):
        if path.is_file() and path.suffix in (".db", ".md", ".bin"):
            assert not [each for each in words.values() if each.encode() in path.read_bytes()], path


def test_forgetting_outlasts_reading_again_importing_undoing_and_redoing(desk_at, home, tmp_path, shared: Path):
    sessions = shared / "transcripts/inputs/claude-code-jsonl/entireio-cli"
    lines, archive = tmp_path / "before.jsonl", tmp_path / "after.jsonl.gz"
    with desk_at(home) as desk:
        say(home, "one", *(f"Remember that {each}." for each in TOLD))
        run(desk, [sessions, home / ".claude"], Options())
        found = [each for each in desk.store.log.memories() if each.status in (Status.ACTIVE, Status.HELD)]
        lines.write_text("".join(f"{json.dumps(exported(desk, each))}\n" for each in found))
        words = {each.id: each.content for each in found[::3]}
        assert len(words) >= 4
        forget_ids(desk, list(words))
        gone(desk, words)
        run(desk, [sessions], Options(force=True))
        gone(desk, words)
        done, _ = settle(desk, lambda: import_file(desk, lines))
        assert done.left_out["forgotten"] == len(words)
        gone(desk, words)
        left = len([each for each in desk.store.log.memories() if each.content])
        for number in range(3):
            try:
                settle(desk, lambda: undo(desk))
            except UsageError:
                assert number, "there is something to take back"
                break
        gone(desk, words)
        settle(desk, lambda: redo(desk))
        gone(desk, words)
        with pytest.raises(UsageError, match="forg"):
            undo(desk, str(next(each.id for each in desk.store.log.heads() if each.stage == "forget")))
        assert left >= len(found) - len(words)
        export_archive(desk, archive)
    with desk_at(tmp_path / "other") as desk:
        settle(desk, lambda: import_file(desk, archive))
        gone(desk, words)
        run(desk, [sessions], Options(force=True))
        gone(desk, words)
        import_file(desk, lines)
        gone(desk, words)
    with SqliteStore(home / ".local/share/kept/kept.db") as store:
        assert store.damage() == ()
