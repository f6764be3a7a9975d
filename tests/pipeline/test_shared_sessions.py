"""The main job over real sessions (../shared), as the acceptance of the main job asks."""

import json
import shutil
from datetime import date
from pathlib import Path

import pytest

from kept.changes import apply_person_change
from kept.core.memory import Status
from kept.memories.browse import to_export
from kept.memories.day_view import list_active_days, load_day_view
from kept.memories.history import redo, undo
from kept.pipeline.run import RunOptions, run_pipeline

pytestmark = pytest.mark.shared


FEW = ("22c5d52e", "d563fb6b")  # one that leaves memories, and another small one


@pytest.fixture(params=["few", pytest.param("all", marks=pytest.mark.slow)])
def sessions(request, shared: Path, tmp_path: Path) -> Path:
    """A folder of real sessions."""
    folder = shared / "transcripts/inputs/claude-code-jsonl/entireio-cli"
    if request.param == "all":
        return folder
    few = tmp_path / "sessions"
    few.mkdir()
    for path in folder.rglob("*.jsonl"):
        if path.name.startswith(FEW):
            shutil.copy(path, few)
    return few


def outcome(workspace) -> list[str]:
    rows = [to_export(workspace, each) for each in workspace.store.log.memories()]
    for row in rows:
        del (
            row["reason"],
            row["revision"],
        )  # they tell of the last operation: parts add and then confirm what the whole adds at once
        for quote in row["evidence"]:
            quote["source"] = Path(quote["source"]).name
    return sorted(json.dumps(row, sort_keys=True) for row in rows if row["status"] in ("active", "held"))


def test_every_active_memory_but_a_fix_has_the_users_own_words(desk_at, home, sessions):
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [sessions], RunOptions())
        assert report.active >= 1
        for memory in workspace.store.log.memories():
            assert memory.evidence
            if memory.status is Status.ACTIVE and memory.category != "known_fix":
                assert any(each.author == "human" for each in memory.evidence), memory.content


def test_running_again_undoing_and_redoing_keep_the_store_whole(desk_at, home, sessions):
    path = home / ".claude/rules/memory.md"
    with desk_at(home) as workspace:
        run_pipeline(workspace, [sessions], RunOptions())
        text, before = path.read_bytes(), outcome(workspace)
        assert workspace.store.find_damage() == ()
        assert run_pipeline(workspace, [sessions], RunOptions()).body()["operations"] == {}
        assert path.read_bytes() == text
        apply_person_change(workspace, lambda: undo(workspace))
        assert (outcome(workspace), path.exists(), workspace.store.find_damage()) == ([], False, ())
        apply_person_change(workspace, lambda: redo(workspace))
        assert (outcome(workspace), path.read_bytes(), workspace.store.find_damage()) == (before, text, ())


def test_half_a_session_and_then_the_rest_equals_the_whole(desk_at, tmp_path, sessions):
    with desk_at(tmp_path / "whole") as workspace:
        run_pipeline(workspace, [sessions], RunOptions())
        whole = outcome(workspace)
    growing = tmp_path / "growing"
    shutil.copytree(sessions, growing)
    full = {path: path.read_bytes() for path in sorted(growing.rglob("*.jsonl"))}
    with desk_at(tmp_path / "parts") as workspace:
        for share in (0.5, 1.0):
            for path, data in full.items():
                path.chmod(0o600)
                path.write_bytes(data[: int(len(data) * share)])
            run_pipeline(workspace, [growing], RunOptions())
        assert outcome(workspace) == whole


def test_the_order_of_files_makes_no_difference(desk_at, tmp_path, sessions):
    files = sorted(sessions.rglob("*.jsonl"))
    found = []
    half = len(files) // 2
    for number, order in enumerate((files[::-1], files[half:] + files[:half])):
        with desk_at(tmp_path / f"h{number}") as workspace:
            for start in range(0, len(order), half):
                run_pipeline(workspace, order[start : start + half], RunOptions())
            found.append(outcome(workspace))
    assert found[0] == found[1]


def test_sessions_over_several_days_land_on_each_of_them(desk_at, home, shared):
    folder = shared / "transcripts/inputs/claude-code-jsonl/entireio-cli"
    with desk_at(home, zone="UTC") as workspace:
        run_pipeline(
            workspace, [each for each in folder.rglob("*.jsonl") if each.name.startswith(("130d7b7e", "4fec7ea0"))], RunOptions()
        )
        spread = {
            start: [
                each
                for each in list_active_days(workspace)
                if any(activity.session.startswith(start) for activity in load_day_view(workspace, each).sessions)
            ]
            for start in ("130d7b7e", "4fec7ea0")
        }
    assert spread["130d7b7e"] == [date(2026, 1, 20), date(2026, 1, 21)]
    assert spread["4fec7ea0"] == [date(2026, 1, 24), date(2026, 1, 26)]


@pytest.mark.slow
def test_everything_that_is_shared_read_twice_and_from_its_start_adds_nothing(desk_at, tmp_path, shared):
    paths = [shared / "transcripts", shared / "samples"]
    with desk_at(tmp_path / "home") as workspace:
        first = run_pipeline(workspace, paths, RunOptions()).reading
        assert first.account.records == first.account.kept + sum(first.account.dropped.values())
        assert first.account.events >= first.fresh > 0
        before, held = outcome(workspace), [(each.path, each.account) for each in workspace.store.archive.files()]
        again = run_pipeline(workspace, paths, RunOptions())
        assert (again.reading.fresh, again.body()["operations"]) == (0, {})
        forced = run_pipeline(workspace, paths, RunOptions(force=True))
        assert forced.reading.fresh == 0
        assert forced.reading.account.records == first.account.records
        assert forced.body()["operations"] == {}
        assert (outcome(workspace), [(each.path, each.account) for each in workspace.store.archive.files()]) == (before, held)
        assert workspace.store.find_damage() == ()
