"""History and safety: what happened, going back, proof."""

import sqlite3

import pytest

from cli_world import RULE, contents, kept, memory_file, run_once, told, transcript


def test_undo_takes_back_the_last_run_and_redo_brings_it_back(capsys, ran):
    before = memory_file(ran).read_bytes()
    code, out, _ = kept(capsys, "undo")
    assert code == 0
    assert out.splitlines()[0].startswith("Undone: ")
    assert out.count("  - ") == 2
    assert told(capsys, "list") == []
    assert not memory_file(ran).exists()
    assert kept(capsys, "check")[0] == 0
    code, out, _ = kept(capsys, "redo")
    assert code == 0
    assert out.count("  + ") == 2
    assert memory_file(ran).read_bytes() == before
    assert kept(capsys, "check")[0] == 0


@pytest.mark.parametrize("command", ["journal", "restore"])
def test_a_bare_undo_after_a_change_that_it_cannot_take_back_leaves_the_older_change_alone(capsys, ran, command, tmp_path):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    if command == "journal":
        assert "  written" in kept(capsys, "journal", "write", "--date", "2026-01-05", "--template", "weekly")[1]
    else:
        kept(capsys, "backup", tmp_path / "k.db")
        assert kept(capsys, "restore", tmp_path / "k.db")[0] == 0
    record, changed = told(capsys, "log")[:2]
    assert (record["command"], record["passes"], changed["command"]) == (command, [], "add")
    first, second = kept(capsys, "log")[1].splitlines()[:2]
    assert first.startswith(f"r{record['run']}  ")
    assert first.endswith(f"  You: {command}  not taken back by undo")
    assert second.startswith(f"r{changed['run']}  ")
    assert kept(capsys, "log", f"r{record['run']}")[:2] == (0, f"{first}\n")
    last, before = f"kept undo r{changed['run']}", told(capsys, "list")
    code, _, err = kept(capsys, "undo")
    assert code == 2
    assert f"the last change was `kept {command}`, which undo does not take back → {last} takes back the change before it" in err
    assert told(capsys, "list") == before
    assert kept(capsys, *last.split()[1:])[0] == 0
    code, _, err = kept(capsys, "undo")
    assert (code, f"the last change was `kept {command}`" in err, "kept undo r1 takes back the change before it" in err) == (
        2,
        True,
        True,
    )


def test_a_bare_undo_after_a_journal_entry_takes_back_what_was_learnt_from_it_and_nothing_before_it(capsys, ran):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    before = told(capsys, "list")
    (entry,) = told(capsys, "journal", "write", "--date", "2026-01-05")["entries"]
    assert entry["new_memories"] == len(told(capsys, "list")) - len(before) > 0
    assert kept(capsys, "undo")[0] == 0
    assert told(capsys, "list") == before
    code, _, err = kept(capsys, "undo")
    assert (code, "the last change was `kept journal`" in err) == (2, True)
    assert told(capsys, "list") == before


def test_a_bare_undo_does_not_reach_behind_a_restore_after_another_undo(capsys, ran, tmp_path):
    kept(capsys, "backup", tmp_path / "k.db")
    kept(capsys, "restore", tmp_path / "k.db")
    before = told(capsys, "list")
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    assert kept(capsys, "undo")[0] == 0
    code, _, err = kept(capsys, "undo")
    assert (code, "the last change was `kept restore`" in err) == (2, True)
    assert told(capsys, "list") == before


def test_a_bare_redo_does_not_reach_behind_later_changes_and_history_tells_of_both(capsys, ran):
    first = told(capsys, "log")[0]["run"]
    kept(capsys, "undo")
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    code, _, err = kept(capsys, "redo")
    assert code == 2
    assert f"you made other changes after you undid r{first} (2 added)" in err
    assert f"kept redo r{first}" in err
    assert kept(capsys, "redo", f"r{first}")[0] == 0
    number = next(each["id"] for each in told(capsys, "list") if each["content"] == RULE)
    out = kept(capsys, "why", number)[1]
    assert out.index("  undo ") < out.index("  redo ")


def test_a_day_tells_what_was_said_then_and_what_is_said_now(capsys, ran):
    memory = next(each for each in told(capsys, "list") if each["content"] == RULE)
    kept(capsys, "edit", memory["id"], "Never print from library code.")
    out = kept(capsys, "day", memory["first_seen"][:10], "--tz", "UTC")[1]
    assert f"{RULE} (now: Never print from library code.)" in out


def test_a_night_stands_in_the_log_like_a_run_with_what_each_step_came_to(capsys, home):
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE)
    assert kept(capsys, "schedule", "run")[0] == 0
    out = kept(capsys, "log")[1]
    night, ran = told(capsys, "log")
    assert (night["command"], night["passes"], ran["command"]) == ("night", [], "run")
    assert f"r{night['run']}  " in out
    assert out.count("The night") == 2
    assert "The night: run" in out
    assert "read      done    1 file with something new" in out
    assert "backup    done    kept-" in out
    assert "check" not in out
    assert "check     done    the store is whole" in kept(capsys, "log", f"r{night['run']}")[1]
    assert f"r{ran['run']}" not in kept(capsys, "log", f"r{night['run']}")[1]
    assert kept(capsys, "undo")[1].startswith("Undone: 1 added")


def test_what_was_undone_does_not_come_back_with_the_next_run(capsys, ran):
    kept(capsys, "undo")
    kept(capsys, "run")
    assert told(capsys, "list") == []


def test_the_log_names_runs_and_passes_that_undo_accepts(capsys, ran):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    entries = told(capsys, "log")
    assert [each["command"] for each in entries] == ["add", "run"]
    assert entries[0]["passes"][0]["operations"][0]["kind"] == "add"
    out = kept(capsys, "log")[1]
    assert out.splitlines()[0].startswith(f"r{entries[0]['run']}  ")
    assert told(capsys, "undo", f"r{entries[1]['run']}")["passes"] == [each["pass"] for each in entries[1]["passes"]]
    assert [each["content"] for each in told(capsys, "list")] == ["Answer in short sentences."]
    assert "undone" in kept(capsys, "log")[1]
    assert len(told(capsys, "log", "--limit", "1")) == 1
    assert told(capsys, "undo", str(entries[0]["passes"][0]["pass"]))["changed"][0]["after"] is None


def test_the_log_says_in_words_what_each_run_changed(capsys, ran):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    number = told(capsys, "list", "--category", "preference")[0]["id"]
    kept(capsys, "edit", number, "Answer in long sentences.")
    out = kept(capsys, "log")[1]
    assert f"~ {number}  Answer in [-short-]{{+long+}} sentences." in out
    assert f"+ {number}  Answer in short sentences." in out
    first = told(capsys, "log")[-1]
    assert [each["what"] for each in first["changes"]] == ["entered", "entered"]
    whole = kept(capsys, "log", f"r{first['run']}")[1]
    assert whole.count("  + ") == 2
    assert f"kept undo r{first['run']}" in whole
    assert kept(capsys, "log", "r999")[0] == 2


def test_a_difference_may_be_that_of_one_project(capsys, ran):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    assert "ISO" in kept(capsys, "diff", "2026-01-01", "today", "--project", "harbor")[1]
    assert "short" not in kept(capsys, "diff", "2026-01-01", "today", "--project", "harbor")[1]


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_with_nothing_to_take_back_nothing_happens(capsys, home, command):
    code, _, err = kept(capsys, command)
    assert code == 2
    assert f"there is nothing to {command}" in err


def test_a_bare_undo_leaves_edits_by_hand_alone(capsys, ran):
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    path = memory_file(ran)
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))
    kept(capsys, "undo")
    assert "short sentences" not in path.read_text()
    assert "RFC 3339" in path.read_text()


def test_two_dates_are_compared_in_either_order(capsys, ran):
    found = told(capsys, "diff", "2026-01-04", "2026-01-05")["changed"]
    assert [each["before"] for each in found] == [None, None]
    assert told(capsys, "diff", "2026-01-05", "2026-01-04")["changed"] == found
    assert kept(capsys, "diff", "2026-01-04", "2026-01-05")[1].count("  + ") == 2
    assert kept(capsys, "diff", "2026-02-01", "2026-02-02")[1] == "No memory changed.\n"


def test_looking_changes_nothing(capsys, home):
    run_once(home)  # a home that was copied has notes about its files made anew
    before = contents(home)
    for call in ("status", "list", "review", "log", "day", "check", "sources", "profiles", "config", "export"):
        assert kept(capsys, call)[0] == 0
    assert contents(home) == before


def test_check_finds_planted_damage_and_rebuild_mends_what_derives(capsys, ran):
    assert kept(capsys, "check")[1].startswith("All is well")
    (store,) = ran.rglob("kept.db")
    with sqlite3.connect(store) as database:
        database.execute("UPDATE memories SET body = replace(body, 'ISO 8601', 'ISO 9000')")
    database.close()
    code, out, _ = kept(capsys, "check")
    assert code == 2
    assert "cannot be read" in out
    assert kept(capsys, "rebuild")[0] == 0
    assert told(capsys, "check")["ok"] is True


def test_a_store_that_is_no_store_is_one_clear_line(capsys, home):
    (home / ".local/share/kept").mkdir(parents=True)
    (home / ".local/share/kept/kept.db").write_bytes(b"this is no database " * 100)
    code, out, err = kept(capsys, "list")
    assert (code, out) == (2, "")
    assert err.startswith("kept: the store file is damaged")
    assert err.count("\n") == 1


def test_undoing_the_run_of_a_forgotten_memory_leaves_a_whole_store(capsys, ran):
    gone = told(capsys, "list")[0]["id"]
    kept(capsys, "forget", gone, "--yes")
    assert kept(capsys, "undo", "r1")[0] == 0
    assert kept(capsys, "check")[:2] == (0, "All is well: the log, the archive and the memories agree.\n")


def test_a_forgotten_memory_gets_no_new_words(capsys, ran):
    gone = told(capsys, "list")[0]["id"]
    kept(capsys, "forget", gone, "--yes")
    code, _, err = kept(capsys, "edit", gone, "Other words altogether.")
    assert code == 2
    assert "this memory was forgotten" in err


@pytest.mark.parametrize("name", ["held.json", "written.json", "night.json", "unread.json", "failures.json"])
@pytest.mark.parametrize("text", ["null", '{"a":' * 3_000], ids=["null", "deep"])
def test_a_spoilt_note_of_kept_itself_stops_nothing(capsys, ran, name, text):
    note = ran / ".local" / "share" / "kept" / name
    note.write_text(text)
    note.chmod(0o600)
    for command in ("run", "status", "doctor"):
        assert "went wrong" not in "".join(kept(capsys, command)[1:])
