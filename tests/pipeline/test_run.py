"""The main job, end to end, over the bundled sample."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from kept.changes import apply_person_change
from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.curation import passes as curating
from kept.curation.guard import GuardStop
from kept.memories import person
from kept.memories.browse import select_memories, to_export
from kept.memories.history import redo, run_history, undo
from kept.pipeline.run import RunOptions, run_pipeline
from kept.recall.index import UnitKind
from kept.recall.search import search
from scripted_client import Obedient, with_model
from talking import RULE, converse, say


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def outcome(workspace) -> list[str]:
    """Everything that is remembered, without what depends on where the home is."""
    rows = [to_export(workspace, each) for each in workspace.store.log.memories()]
    for row in rows:
        for quote in row["evidence"]:
            quote["source"] = Path(quote["source"]).name
    return sorted(json.dumps(row, sort_keys=True) for row in rows if row["status"] in ("active", "held"))


def memory_file(folder: Path) -> Path:
    return folder / ".claude" / "rules" / "memory.md"


def test_a_run_over_the_sample_writes_a_memory_file_a_person_would_want(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.active >= 4
        text = memory_file(home).read_text()
    for words in ("rejected.csv", "ISO 8601", "Parquet", "pip install -e ."):
        assert words in text, words


def test_a_second_run_writes_nothing_at_all(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    before = snapshot(home)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
    assert report.body()["operations"] == {}
    assert snapshot(home) == before


def test_nothing_outside_the_home_is_written(desk_at, tmp_path, transcripts, home):
    other = tmp_path / "trial"
    before = snapshot(home / ".claude")
    with desk_at(other) as workspace:
        run_pipeline(workspace, [transcripts], RunOptions())
    assert snapshot(home / ".claude") == before
    assert memory_file(other).is_file()


def test_a_session_read_as_it_grows_gives_what_reading_it_at_once_gives(desk_at, tmp_path, transcripts):
    with desk_at(tmp_path / "whole") as workspace:
        run_pipeline(workspace, [transcripts], RunOptions())
        whole = outcome(workspace)
    growing = tmp_path / "growing"
    shutil.copytree(transcripts, growing)
    full = {path: path.read_bytes() for path in sorted(growing.rglob("*.jsonl"))}
    for path, data in full.items():
        path.write_bytes(data[: int(len(data) * 0.55)])
    with desk_at(tmp_path / "parts") as workspace:
        run_pipeline(workspace, [growing], RunOptions())
        for path, data in full.items():
            with path.open("ab") as file:
                file.write(data[int(len(data) * 0.55) :])
        run_pipeline(workspace, [growing], RunOptions())
        assert outcome(workspace) == whole
        assert workspace.store.find_damage() == ()


def without_ids(workspace) -> list[dict[str, object]]:
    """The outcome without what tells under which of its statements a memory was known first."""
    rows = map(json.loads, outcome(workspace))
    return sorted(
        ({name: value for name, value in row.items() if name not in ("id", "revision")} for row in rows),
        key=lambda row: (str(row["content"]), json.dumps(row, sort_keys=True)),
    )


@pytest.mark.parametrize(("latest", "first"), [(0, 7_000), (2, 8_000)])
def test_files_written_from_the_latest_sessions_first_end_as_those_of_one_reading(desk_at, tmp_path, transcripts, latest, first):
    said: list[str] = []
    for number, path in enumerate(sorted(transcripts.rglob("*.jsonl"))):
        os.utime(path, (1_000, 2_000 if number == latest else 1_000 + number))
    with desk_at(tmp_path / "whole") as workspace:
        whole_report = run_pipeline(workspace, [transcripts], RunOptions())
        whole = without_ids(workspace)
    with desk_at(tmp_path / "parts") as workspace:
        report = run_pipeline(workspace, [transcripts], RunOptions(first=first, tell=said.append))
        assert without_ids(workspace) == whole
        assert workspace.store.find_damage() == ()
    assert len(said) == (first == 7_000)
    texts = [memory_file(tmp_path / name).read_text().splitlines() for name in ("whole", "parts")]
    lines = [[each for each in text if not each.startswith("<!-- kept:")] for text in texts]  # with ids
    assert lines[0] == lines[1]
    bodies = [made.body() | {"seconds": 0, "operations": 0, "outputs": 0} for made in (whole_report, report)]
    assert bodies[0] == bodies[1]


def test_a_session_that_an_earlier_one_has_looked_at_again_counts_once(desk_at, home):
    passage = "Please go through the list of imports once more and tell me which of them could be slow. " * 8
    for number, name in enumerate(("a", "b", "c", "d")):
        say(home, name, f"Now part {number}.\n\n{passage}", "And thank you for that.", day=f"2026-01-0{number + 1}")
    files = sorted((home / ".claude" / "projects").rglob("*.jsonl"))
    for number, path in enumerate(files):
        os.utime(path, (1_000, 1_000 + number))
    said: list[str] = []
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions(first=max(4_096, files[-1].stat().st_size), tell=said.append))
    assert said
    assert report.extracted.threads == len(files)


def test_the_progress_of_reading_counts_the_bytes_of_records_once_and_of_prose_four_times(desk_at, tmp_path, transcripts):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "2026-01-02.md").write_text("We moved the import to Parquet.\n" * 300)
    steps = []
    with desk_at(tmp_path / "h") as workspace:
        places = [transcripts, tmp_path / "notes"]
        run_pipeline(workspace, places, RunOptions(), progress=lambda *step: steps.append(step))
    sizes = [path.stat().st_size * (4 if path.suffix == ".md" else 1) for place in places for path in place.rglob("*.*")]
    reading = [step for step in steps if step[0] == "reading"]
    assert reading[-1] == ("reading", sum(sizes), sum(sizes))
    assert {one[1] - other[1] for one, other in zip(reading[1:], reading, strict=False)} == set(sizes)


def test_a_run_stopped_after_its_first_part_leaves_a_memory_file_and_is_gone_on_with(desk_at, tmp_path, transcripts):
    latest = min(transcripts.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    for path in transcripts.rglob("*.jsonl"):
        os.utime(path, (1_000, 2_000 if path == latest else 1_000))
    with desk_at(tmp_path / "whole") as workspace:
        run_pipeline(workspace, [transcripts], RunOptions())
        whole = without_ids(workspace)

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with desk_at(tmp_path / "parts") as workspace:
        with pytest.raises(KeyboardInterrupt):
            run_pipeline(workspace, [transcripts], RunOptions(first=latest.stat().st_size, tell=stop))
        assert [Path(file.path).name for file in workspace.store.archive.files()] == [latest.name]
        assert "- " in memory_file(tmp_path / "parts").read_text()
        assert run_pipeline(workspace, [transcripts], RunOptions()).resumed
        assert without_ids(workspace) == whole


def test_undo_takes_back_the_run_and_redo_brings_it_back(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before, text = outcome(workspace), memory_file(home).read_text()
        apply_person_change(workspace, lambda: undo(workspace))
        assert outcome(workspace) == []
        assert not memory_file(home).exists()
        assert workspace.store.find_damage() == ()
        report = run_pipeline(workspace, [], RunOptions())
        assert report.body()["operations"] == {}
        assert outcome(workspace) == []
        apply_person_change(workspace, lambda: redo(workspace))
        assert outcome(workspace) == before
        assert memory_file(home).read_text() == text
        assert workspace.store.find_damage() == ()


def test_an_undo_with_nothing_to_undo_says_so(desk_at, home):
    with desk_at(home) as workspace, pytest.raises(UsageError, match="nothing to undo"):
        undo(workspace)


def test_hand_edits_survive_ten_runs(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path = memory_file(home)
        lines = path.read_text().splitlines()
        facts = [line for line in lines if line.startswith("- ")]
        changed, deleted = facts[0], facts[1]
        lines[lines.index(changed)] = "- Dates are ISO 8601 in UTC, everywhere, said Sam."
        lines.remove(deleted)
        lines += ["", "My own paragraph about the harbour.", "- Call the harbour office before noon."]
        path.write_text("\n".join(lines) + "\n")
        for number in range(10):
            report = run_pipeline(workspace, [], RunOptions(force=number % 2 == 1))
            text = path.read_text()
            assert "- Dates are ISO 8601 in UTC, everywhere, said Sam." in text
            assert deleted not in text
            assert "My own paragraph about the harbour." in text
            assert text.count("Call the harbour office before noon.") == 1
            assert (report.body()["operations"] == {}) == (number > 0)
        assert workspace.store.find_damage() == ()


def test_an_added_line_waits_for_a_person_and_stays_where_it_is(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        with memory_file(home).open("a") as file:
            file.write("- Always deploy from the release branch.\n")
        run_pipeline(workspace, [], RunOptions())
        (held,) = [each for each in workspace.store.log.memories() if "release branch" in each.content]
        assert held.status is Status.HELD
        apply_person_change(workspace, lambda: person.approve(workspace, held.id))
        assert memory_file(home).read_text().count("Always deploy from the release branch.") == 1


def test_an_emptied_file_is_put_aside_and_written_anew(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path, before = memory_file(home), outcome(workspace)
        text = path.read_text()
        path.write_text("\0\0\0")
        report = run_pipeline(workspace, [], RunOptions())
        assert report.partly
        assert path.read_text() == text
        assert outcome(workspace) == before
        aside = list((home / ".local/share/kept/aside").iterdir())
        assert [each.read_bytes() for each in aside] == [b"\0\0\0"]


def test_a_missing_file_is_written_again_and_deletes_nothing(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before, text = outcome(workspace), memory_file(home).read_text()
        memory_file(home).unlink()
        run_pipeline(workspace, [], RunOptions())
        assert outcome(workspace) == before
        assert memory_file(home).read_text() == text


def test_a_file_of_that_name_from_before_keeps_its_bytes(desk_at, home, transcripts):
    memory_file(home).parent.mkdir(parents=True)
    memory_file(home).write_text("# Mine\n\n- I wrote this myself.\n")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        run_pipeline(workspace, [], RunOptions())
    assert "# Mine\n\n- I wrote this myself.\n" in memory_file(home).read_text()


def test_a_dry_run_changes_nothing_and_says_what_would_change(desk_at, home, transcripts):
    with desk_at(home) as workspace:
        workspace.store.key("redaction")
    before = snapshot(home)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions(dry=True))
    after = {name: state for name, state in snapshot(home).items() if not name.endswith(".lock")}
    assert report.active >= 4
    assert report.body()["outputs"]
    assert {name: state[0] for name, state in after.items()} == {name: state[0] for name, state in before.items()}


def test_a_file_that_cannot_be_read_is_skipped_counted_and_named(desk_at, home, transcripts):
    bad = next(transcripts.iterdir()) / "wide.jsonl"
    bad.write_bytes('{"type":"user"}\n'.encode("utf-16"))
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [bad, transcripts], RunOptions())
        assert [path for path, _ in report.reading.skipped] == [str(bad)]
        assert report.partly
        assert report.active >= 4


def test_only_sessions_of_the_days_asked_for_are_extracted_and_the_others_wait(desk_at, home, transcripts):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions(since=workspace.day("2026-09-20")))
        assert all(each.last_seen.day == 21 for each in workspace.store.log.memories())
        run_pipeline(workspace, [], RunOptions())
        assert any(each.first_seen.day == 14 for each in workspace.store.log.memories())


def test_a_told_memory_is_in_the_file_at_once_and_undo_takes_it_out(desk_at, home):
    with desk_at(home) as workspace:
        apply_person_change(
            workspace, lambda: person.create_memory(workspace, "Always run the linter before a commit.", "constraint")
        )
        assert "Always run the linter before a commit." in memory_file(home).read_text()
        apply_person_change(workspace, lambda: undo(workspace))
        assert not memory_file(home).exists()


def test_memories_and_turns_are_found_by_their_words(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert any("Parquet" in hit.text for hit in search(workspace, "how do we store predictions in parquet?"))
        assert search(workspace, "rsync permission", where=(UnitKind.TURN,))[0].kind is UnitKind.TURN
        assert search(workspace, '"; -- ( * ^ : {') == ()


def test_the_history_lists_what_each_run_did(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (entry,) = run_history(workspace, None)
        assert entry.run.command == "run"
        assert {made.stage for made, _ in entry.passes} == {"extract", "curate"}
        assert entry.run.report["accepted"] >= 4


def test_a_line_made_longer_than_a_memory_can_be_stays_as_the_person_wrote_it(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path = memory_file(home)
        lines = path.read_text().splitlines()
        long = "- " + "a very long explanation of it all " * 100
        lines[next(i for i, line in enumerate(lines) if line.startswith("- "))] = long.rstrip()
        path.write_text("\n".join(lines) + "\n")
        for _ in range(3):
            run_pipeline(workspace, [], RunOptions())
            assert long.rstrip() in path.read_text()


def test_what_was_first_seen_since_a_day_can_be_forgotten_together(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        start, _ = workspace.day_bounds(workspace.day("2026-09-20"))
        chosen = select_memories(workspace, since=start)
        assert {each.first_seen.day for each in chosen} == {21}
        with pytest.raises(UsageError, match="say what"):
            select_memories(workspace)


def test_what_a_guard_stopped_is_noted_once_waits_and_is_let_through_by_a_person(desk_at, home, transcripts, monkeypatch):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = outcome(workspace)
        stop = [GuardStop(category="constraint", active=8, lost=7, spent=0)]
        monkeypatch.setattr(curating, "find_overreach", lambda *_, **__: tuple(stop))
        grown = next(transcripts.rglob("*.jsonl"))
        grown.write_text(
            grown.read_text() + said("from now on we always tag releases as harbor-2026.x in release.yml, never with a v")
        )
        report = run_pipeline(workspace, [], RunOptions())
        assert report.partly
        assert report.curated.stopped
        assert outcome(workspace) == before
        passes = len(list(workspace.store.log.pass_heads()))
        assert run_pipeline(workspace, [], RunOptions()).curated.stopped
        assert len(list(workspace.store.log.pass_heads())) == passes
        report = run_pipeline(workspace, [], RunOptions(allow=True))
        assert report.curated.operations["add"] == 1
        assert any("release.yml" in each.content for each in workspace.store.log.memories())


def said(words: str) -> str:
    record = {
        "type": "user",
        "uuid": "11111111-aaaa-4aaa-8aaa-111111111111",
        "parentUuid": None,
        "sessionId": "s",
        "isSidechain": False,
        "timestamp": "2026-09-25T10:00:00.000Z",
        "cwd": "/home/sam/code/harbor",
        "message": {"role": "user", "content": words},
    }
    return json.dumps(record) + "\n"


def test_by_force_only_the_sessions_at_the_named_paths_are_extracted_again(desk_at, home):
    say(home, "a", RULE)
    say(home, "b", "We decided to keep the retry limit in `limits.toml` because operators edit it.")
    (one,) = home.rglob("a.jsonl")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        for options in (RunOptions(force=True, dry=True), RunOptions(force=True)):
            assert run_pipeline(workspace, [one], options).extracted.threads == 1
        asking = with_model(workspace, Obedient())
        assert run_pipeline(asking, [one], RunOptions(force=True, dry=True)).asked.would.questions
        assert run_pipeline(workspace, [], RunOptions(force=True)).extracted.threads == 2


def test_a_secret_that_answers_a_question_of_an_earlier_run_is_not_stored(home, desk_at):
    asked = [("user", "please migrate the database"), ("agent", "What is the database password?")]
    with desk_at(home) as workspace:
        for turns in (asked, [*asked, ("user", "quietmango7")]):
            converse(home, "a", *turns)
            run_pipeline(workspace, [], RunOptions())
        (answer,) = workspace.store.archive.latest_prompts(1)
    assert answer.text.startswith("[redacted:password:")
