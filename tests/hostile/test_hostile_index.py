"""Every entry of the shared set of hostile files: a row in docs/hostile.md that names its tests, and what those few lines leave
open.
"""

import json
import re
from functools import cache
from pathlib import Path
from time import process_time

import pytest

from hostile_world import answer, archived, desk_at, human, lines, run_at, snapshot, write
from kept.memories.day_view import list_active_days
from threats import THREATS

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "hostile.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [a-z]+\d* \|", line) and not line.startswith("| id ")
]


@cache
def named() -> frozenset[str]:
    """The names of all tests of the project."""
    tests = (ROOT / "tests").rglob("*.py")
    found = (re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE) for path in tests)
    return frozenset(name for names in found for name in names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_written_of_a_hostile_file_names_tests_that_exist(row):
    _, told, shown, own = row
    assert told
    assert shown in named() or shown == "none"
    assert own in named() or own.removeprefix("threat: ") in {each.name for each in THREATS}


@pytest.mark.shared
def test_every_entry_of_the_set_is_written_down_once(shared):
    index = json.loads((shared / "hostile" / "index.json").read_text(encoding="utf-8"))
    assert sorted(row[0] for row in ROWS) == sorted(each["id"] for each in index["files"])


def ran(shared, tmp_path, name, zone="UTC"):
    """The report of a run over a file of the set in a home of its own, the number of undated events, and the days with events."""
    (path,) = (shared / "hostile").glob(f"*/{name}_*")
    home = tmp_path / f"{name}-{zone.replace('/', '-')}"
    report = run_at(home, path, zone=zone)
    with desk_at(home, zone) as workspace:
        return report, workspace.store.archive.count_undated_events(), [each.isoformat() for each in list_active_days(workspace)]


@pytest.mark.shared
def test_times_of_the_set_are_days_of_their_own_or_none(shared, tmp_path):
    report, undated, found = ran(shared, tmp_path, "j13")
    assert 0 < undated < report.reading.account.events
    assert not [each for each in found if not each.startswith("2026-") or each == "2026-10-01"]
    assert ran(shared, tmp_path, "j14")[1:] == (0, ["2026-11-17", "2026-11-18"])
    assert ran(shared, tmp_path, "j14", "Asia/Tokyo")[1:] == (0, ["2026-11-18"])


@pytest.mark.shared
@pytest.mark.parametrize("name", ["j28", "j29"])
def test_what_the_set_hides_is_removed_and_counted(shared, tmp_path, name):
    assert ran(shared, tmp_path, name)[0].reading.removed["invisible"] > 0


@pytest.mark.shared
def test_unknown_kinds_of_the_set_are_counted_by_name(shared, tmp_path):
    report = ran(shared, tmp_path, "j34")[0]
    dropped = report.reading.account.dropped
    assert not report.partly
    assert len(dropped) == sum(dropped.values()) == report.reading.account.records - 1
    assert [each for each in dropped if each.startswith("unknown-type:")] == ["unknown-type:holo-frame"]


NOTES = {
    "m01": {"noted": "front-matter:alias", "reaches": "decided to use uv"},
    "m02": {"noted": "front-matter:tag"},
    "m04": {"undated": 1},
    "m08": {"noted": "removed:hidden-text"},
    "m11": {"reaches": "decided to use uv"},
    "m14": {"reaches": "decided to use uv"},
    "m16": {"dropped": "no-messages"},
    "m17": {"skipped": "is not UTF-8: byte"},
}


@pytest.mark.shared
@pytest.mark.parametrize("name", NOTES)
def test_the_notes_of_the_set_cost_little_and_lose_nothing(shared, tmp_path, name):
    started, told = process_time(), NOTES[name]
    report, undated, _ = ran(shared, tmp_path, name)
    assert process_time() - started < 3  # opening a home takes most of it
    account = report.reading.account
    assert told.get("noted", "nothing") in {**account.noted, "nothing": 0}
    assert told.get("dropped", "nothing") in {**account.dropped, "nothing": 0}
    assert undated == told.get("undated", undated)
    assert told.get("reaches", "") in archived(tmp_path / f"{name}-UTC")
    assert [told["skipped"] in reason for _, reason in report.reading.skipped] == [True] if "skipped" in told else not report.partly


@pytest.mark.shared
def test_the_names_of_the_set_lead_nowhere(shared, tmp_path):
    names = json.loads((shared / "hostile" / "names.json").read_text(encoding="utf-8"))
    home, folder = tmp_path / "home", tmp_path / "in"
    write(
        folder,
        lines(*(human(f"note {n}", cwd=f"/home/u/{each}", sessionId=f"s{n}") for n, each in enumerate(names["project_names"]))),
    )
    files = [each for each in names["file_names"] if "(" not in each and "sparse" not in each]
    for number, name in enumerate(files):
        write(folder, f"**User:** note {number}\n\n**Assistant:** fine\n".encode(), f"chats/{name}")
    transcripts = [each for each in files if each.endswith(".md")]
    before = snapshot(folder)
    report = run_at(home, folder)
    assert report.reading.files == len(transcripts) + 1
    assert snapshot(folder) == before
    assert {each.name for each in tmp_path.iterdir()} == {"home", "in"}
    assert report.reading.account.kept == len(names["project_names"]) + 2 * len(transcripts)


def test_a_note_without_words_is_counted_and_gives_nothing(tmp_path):
    report = run_at(tmp_path / "home", write(tmp_path / "in", b"---\ntitle: t\nsession_id: one\n---\n", "chats/a.md"))
    assert (report.reading.account.dropped, report.reading.account.events) == ({"no-messages": 1}, 0)


def test_a_document_in_another_encoding_is_refused_by_name(tmp_path):
    path = write(tmp_path / "in", "**User:** caf\u00e9\n\n**Assistant:** yes\n".encode("latin-1"), "chats/a.md")
    report = run_at(tmp_path / "home", path, write(tmp_path / "in", lines(human("hm"), answer("ok")), "good.jsonl"))
    assert [(each, reason.partition(":")[0]) for each, reason in report.reading.skipped] == [(str(path), "is not UTF-8")]
    assert (report.partly, report.reading.account.kept) == (True, 2)
