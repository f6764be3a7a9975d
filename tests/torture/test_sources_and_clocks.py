"""Transcripts that vanish, shrink or move, an old SQLite and a clock that jumps delete nothing."""

import shutil
import sqlite3
import subprocess

import pytest
from faults import SAMPLE, desk_at, kept, memory_file, need, ran, remembered, state, store_of, tmpfs, written

from kept.memories.browse import to_export


@pytest.fixture
def transcripts(tmp_path):
    folder = tmp_path / "transcripts"
    shutil.copytree(SAMPLE, folder)
    return folder


def opened_evidence(home):
    """How many quotes of evidence still open in the archive, and that every one does."""
    with desk_at(home) as workspace:
        quotes = [(quote.event, quote.quote) for each in workspace.store.log.memories() for quote in each.evidence]
        for event, quote in quotes:
            found = workspace.store.archive.event(event)
            assert found is not None
            assert quote in "\n".join(filter(None, (found.text, *((found.tool.target, found.tool.detail) if found.tool else ()))))
        return len(quotes)


def test_transcripts_that_are_deleted_leave_memories_and_evidence(tmp_path, transcripts):
    home = tmp_path / "home"
    before, evidence = ran(home, transcripts), opened_evidence(home)
    for path in transcripts.rglob("*.jsonl"):
        path.unlink()
    assert kept(home, "run", transcripts).code == 0
    assert state(home) == before
    assert opened_evidence(home) == evidence > 0


def _shrunk(folder):
    for path in folder.rglob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[: len(lines) // 2]))


def _emptied(folder):
    for path in folder.rglob("*.jsonl"):
        path.write_bytes(b"")


def _rewritten(folder):
    for path in folder.rglob("*.jsonl"):
        text = path.read_bytes()
        path.unlink()
        path.write_bytes(text)


def _moved(folder):
    for path in list(folder.rglob("*.jsonl")):
        (folder / "elsewhere").mkdir(exist_ok=True)
        path.rename(folder / "elsewhere" / path.name)


@pytest.mark.parametrize("change", [_shrunk, _emptied, _rewritten, _moved])
def test_transcripts_that_are_changed_remove_and_double_nothing(tmp_path, transcripts, change):
    home = tmp_path / "home"
    before = ran(home, transcripts)
    with desk_at(home) as workspace:
        seen = {each.id: each.observations for each in workspace.store.log.memories()}
    change(transcripts)
    assert ran(home, transcripts) == before
    with desk_at(home) as workspace:
        assert {each.id: each.observations for each in workspace.store.log.memories()} == seen
    assert state(home) == before


def test_a_folder_of_transcripts_that_is_away_for_a_while_deletes_nothing(tmp_path):
    home, place = tmp_path / "home", tmp_path / "home/.claude/projects"
    with tmpfs(place, "size=2m") as folder:
        shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
        assert kept(home, "run").code == 0
        before, text = state(home), written(home)
        subprocess.run(["umount", str(folder)], check=True)
        assert kept(home, "run").code == 0
        assert kept(home, "run", place / "no-such-project").code == 2
        assert (state(home), written(home)) == (before, text)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], check=True)
        shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
        assert kept(home, "run").code == 0
        assert (state(home), written(home)) == (before, text)


def test_the_store_is_never_in_wal_mode_whatever_sqlite_and_whoever_had_it(tmp_path):
    """SQLite before 3.51.3 can damage a WAL database that several processes use."""
    before = ran(tmp_path)
    for mode in ("delete", "wal"):
        connection = sqlite3.connect(store_of(tmp_path))
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE other (value)")
        connection.execute("DROP TABLE other")
        connection.commit()
        connection.close()
        assert kept(tmp_path, "list").code == 0
        assert store_of(tmp_path).read_bytes()[18:20] == b"\x01\x01", "the file header says WAL"
        assert not store_of(tmp_path).with_name("kept.db-wal").exists()
        assert state(tmp_path) == before


ALSO = "Freeze the harbour release until the audit is over."


@pytest.mark.slow
@pytest.mark.parametrize("jump", ["-1y", "+10y"])
def test_a_clock_that_jumps_expires_and_reorders_nothing_for_good(tmp_path, jump):
    """What ends on a date is not shown while the clock is past it, and is there again when the clock is right."""
    shifted = [need("faketime"), "-f", jump]
    ran(tmp_path)
    assert kept(tmp_path, "add", ALSO, "--type", "decision", "--until", "2035-01-01").code == 0
    before, text = state(tmp_path), written(tmp_path)
    assert kept(tmp_path, "run", SAMPLE, "--force", prefix=shifted).code == 0
    assert kept(tmp_path, "check", prefix=shifted).code == 0
    assert state(tmp_path) == before
    assert kept(tmp_path, "add", "Kiwis pack crate 9 first.", "--type", "constraint", prefix=shifted).code == 0
    assert kept(tmp_path, "undo", prefix=shifted).code == 0
    assert kept(tmp_path, "run", SAMPLE).code == 0
    after = [each for each in state(tmp_path) if "Kiwis" not in each[1]]
    assert after == before
    assert written(tmp_path) == text
    assert kept(tmp_path, "undo").code == 0, "the order of passes is that of their numbers, not of the clock"
    with desk_at(tmp_path) as workspace:
        assert ALSO not in {content for _, content, status, _ in remembered(workspace) if status == "active"}
        assert all(to_export(workspace, each) for each in workspace.store.log.memories())
    assert memory_file(tmp_path).exists()
