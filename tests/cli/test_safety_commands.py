"""Backup and restore, export and import, the past of one memory, from the command line."""

import json
import shutil

import pytest

from cli_world import RULE, kept, memory_file, told, transcript
from kept.local.files import hold_lock


def test_a_backup_can_be_restored_and_the_present_store_is_put_aside(capsys, ran, tmp_path):
    file = tmp_path / "copies" / "one.db"
    code, out, err = kept(capsys, "backup", file)
    assert (code, err) == (0, "")
    assert out.startswith("Backed up and verified: ")
    before = memory_file(ran).read_bytes()
    kept(capsys, "add", "Answer in short sentences.", "--type", "preference")
    code, out, err = kept(capsys, "restore", file)
    assert (code, err) == (0, "")
    assert "The previous store is now at" in out
    assert memory_file(ran).read_bytes() == before
    assert kept(capsys, "check")[0] == 0


def test_a_restore_says_what_may_be_in_it_again_where_no_store_tells_what_was_forgotten(capsys, ran, tmp_path):
    kept(capsys, "backup", tmp_path / "one.db")
    assert "may contain words that you forgot" not in kept(capsys, "restore", tmp_path / "one.db")[1]
    (ran / ".local/share/kept/kept.db").unlink()
    assert (
        "The restored store may contain words that you forgot after this backup was made"
        in kept(capsys, "restore", tmp_path / "one.db")[1]
    )


def test_nothing_is_proven_of_a_home_without_a_store(capsys, tmp_path):
    code, out, err = kept(capsys, "check", "--home", tmp_path / "nowhere")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no store" in err


def test_a_backup_overwrites_nothing_and_a_restore_takes_no_other_file(capsys, ran, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    code, _, err = kept(capsys, "backup", tmp_path / "notes.txt")
    assert (code, err.count("\n")) == (2, 1)
    before = told(capsys, "list")
    code, _, err = kept(capsys, "restore", tmp_path / "notes.txt")
    assert (code, err.count("\n")) == (2, 1)
    assert "it is no backup of kept; nothing was changed" in err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert told(capsys, "list") == before


def test_an_archive_fills_an_empty_home_and_memories_can_be_imported_into_any(capsys, ran, tmp_path):
    before = told(capsys, "list")
    assert kept(capsys, "export", "--format", "archive", "--output", tmp_path / "all.gz")[0] == 0
    assert kept(capsys, "export", "--output", tmp_path / "m.jsonl")[0] == 0
    other = ("--home", tmp_path / "other")
    done = told(capsys, "import", tmp_path / "all.gz", *other)
    assert done["whole"]
    assert told(capsys, "list", *other) == before
    code, _, err = kept(capsys, "import", tmp_path / "all.gz", *other)
    assert (code, err.count("\n")) == (2, 1)
    third = ("--home", tmp_path / "third")
    done = told(capsys, "import", tmp_path / "m.jsonl", *third)
    assert done["added"] == {"held": len(before)}, "that home has none of the sessions"
    assert told(capsys, "list", *third) == []
    assert kept(capsys, "undo", *third)[0] == 0
    assert told(capsys, "list", *third) == []


def test_an_archive_needs_a_file_to_go_to(capsys, ran):
    code, _, err = kept(capsys, "export", "--format", "archive")
    assert code == 2
    assert "--output" in err


def test_a_memory_is_shown_with_its_history(capsys, ran):
    (memory, *_) = told(capsys, "list")
    kept(capsys, "pin", memory["id"])
    _, out, _ = kept(capsys, "show", memory["id"], "--history")
    assert "What happened to it" in out
    body = told(capsys, "show", memory["id"], "--history")
    assert [each["kind"] for each in body["history"]] == ["add", "pin"]
    assert body["history"][0]["evidence"]
    assert "history" not in told(capsys, "show", memory["id"])


def test_undoing_a_past_pass_tells_what_was_done_later(capsys, ran):
    (memory, *_) = told(capsys, "list")
    kept(capsys, "pin", memory["id"])
    made = next(each["pass"] for each in told(capsys, "show", memory["id"], "--history")["history"])
    code, out, _ = kept(capsys, "undo", str(made))
    assert code == 0
    assert "no longer have any effect" in out
    kept(capsys, "redo", str(made))
    later = told(capsys, "undo", str(made))["later"]
    assert [(each["kind"], each["idle"]) for each in later] == [("pin", True)]


def test_a_check_tells_which_files_were_edited_by_hand(capsys, ran):
    path = memory_file(ran)
    path.write_text(path.read_text().replace("UTC", "UTC or Zulu"))
    found = told(capsys, "check")
    assert found["damage"] == []
    assert [each["state"] for each in found["outputs"]] == ["edited by hand"]
    assert "edited by hand" in kept(capsys, "check")[1]


def test_a_list_as_of_a_date_knows_what_was_true_and_what_was_believed(capsys, ran):
    assert told(capsys, "list", "--at", "2026-01-04") == []
    assert len(told(capsys, "list", "--at", "2026-01-05")) == 2
    assert told(capsys, "list", "--at", "2026-01-05", "--recorded") == []
    assert len(json.loads(kept(capsys, "diff", "2026-01-04", "2026-01-05", "--json")[1])["changed"]) == 2


def test_a_store_that_is_gone_beside_its_backups_is_told_and_not_begun_anew(capsys, home):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    place = home / ".local/share/kept"
    made = place / "backups" / "kept-2026-01-01.0.db"
    kept(capsys, "backup", made)
    (place / "kept.db").unlink()
    for command in (["list"], ["run"], ["check"]):
        code, _, err = kept(capsys, *command)
        assert code == 2
        assert f"kept restore {made}" in err
        assert not (place / "kept.db").exists()
    assert kept(capsys, "list", "--new-store")[0] == 0
    (place / "kept.db").unlink()
    assert kept(capsys, "restore", made)[0] == 0
    assert len(told(capsys, "list")) == 1


@pytest.mark.parametrize("lost", [".local/share/kept", ".local/share/kept/kept.db"])
def test_a_store_that_is_gone_beside_what_was_made_from_it_is_told_and_not_begun_anew(capsys, home, lost):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    kept(capsys, "backup", home / "mine.db")
    shutil.rmtree(home / lost) if (home / lost).is_dir() else (home / lost).unlink()
    for command in ("list", "run", "check", "status"):
        code, _, err = kept(capsys, command)
        assert code == 2
        assert "kept restore FILE" in err
        assert "--new-store" in err
        assert not (home / ".local/share/kept/kept.db").exists()
    assert "Restored" in kept(capsys, "restore", home / "mine.db")[1]
    assert len(told(capsys, "list")) == 1


def test_a_restore_over_a_store_begun_anew_says_that_what_was_forgotten_may_be_back(capsys, home):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    kept(capsys, "backup", home / "mine.db")
    shutil.rmtree(home / ".local/share/kept")
    kept(capsys, "list", "--new-store")
    assert "may contain words that you forgot" in kept(capsys, "restore", home / "mine.db")[1]


def test_doctor_counts_a_backup_made_by_hand_as_long_as_it_is_there(capsys, home):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    kept(capsys, "backup", home / "mine.db")
    assert "the newest is 0 days old" in kept(capsys, "doctor")[1]
    (home / "mine.db").unlink()
    assert "there is none yet" in kept(capsys, "doctor")[1]


def test_doctor_counts_the_copy_that_an_upgrade_makes_as_a_backup(capsys, home):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    kept(capsys, "backup", home / "mine.db")
    copy = home / ".local/share/kept/backups/format-6.db"
    copy.parent.mkdir()
    (home / "mine.db").rename(copy)
    assert "the newest is 0 days old" in kept(capsys, "doctor")[1]


@pytest.mark.parametrize("begun_anew", [True, False])
def test_lines_of_a_store_that_is_gone_are_put_aside_and_not_taken_for_a_persons(capsys, home, begun_anew):
    kept(capsys, "add", "The lake house is blue.", "--type", "project_fact")
    kept(capsys, "backup", home / "mine.db")
    kept(capsys, "add", "The door code is four two.", "--type", "project_fact")
    shutil.rmtree(home / ".local/share/kept")
    if begun_anew:
        assert kept(capsys, "list", "--new-store")[0] == 0
    code, _, err = kept(capsys, "restore", home / "mine.db")
    assert code == 1
    assert len(err.splitlines()) == 1
    (aside,) = (home / ".local/share/kept/aside").glob("memory.md*")
    assert str(aside) in err
    assert "door code" in aside.read_text()
    assert "door code" not in memory_file(home).read_text()
    assert memory_file(home).read_text().count("# Memory") == 1


@pytest.mark.parametrize("edited", [True, False])
def test_a_section_of_a_store_that_is_gone_is_written_anew_and_put_aside_edited_or_not(capsys, home, edited):
    kept(capsys, "config", "set", "sections", "codex")
    kept(capsys, "add", "The door code is four two.", "--type", "project_fact")
    path = home / ".codex/AGENTS.md"
    assert "door code" in path.read_text()
    path.write_text("Mine.\n\n" + (path.read_text().replace("four two", "five") if edited else path.read_text()))
    shutil.rmtree(home / ".local/share/kept")
    kept(capsys, "add", "The lake house is blue.", "--type", "project_fact", "--new-store")
    assert "door code" not in path.read_text()
    assert path.read_text().startswith("Mine.\n")
    assert "lake house" in path.read_text()
    (aside,) = (home / ".local/share/kept/aside").glob("AGENTS.md*")
    assert "door code" in aside.read_text()
    assert "aside" in kept(capsys, "uninstall", "--purge", "--yes")[1]
    assert path.read_text() == "Mine.\n\n"
    shutil.rmtree(aside.parent)  # as a person who has moved them
    assert kept(capsys, "uninstall", "--purge", "--yes")[0] == 0
    assert not (home / ".local/share/kept").exists()


def test_a_section_that_another_store_wrote_is_saved_before_it_is_taken_away(capsys, home):
    kept(capsys, "config", "set", "sections", "codex")
    kept(capsys, "add", "The door code is four two.", "--type", "project_fact")
    shutil.rmtree(home / ".local/share/kept")
    assert kept(capsys, "uninstall")[0] == 0
    assert not (home / ".codex/AGENTS.md").exists()
    (aside,) = (home / ".local/share/kept/aside").glob("AGENTS.md*")
    assert "door code" in aside.read_text()


def test_leaving_takes_away_the_lines_of_a_store_that_is_gone(capsys, home):
    kept(capsys, "add", "The door code is four two.", "--type", "project_fact")
    shutil.rmtree(home / ".local/share/kept")
    assert kept(capsys, "uninstall")[0] == 0
    assert not memory_file(home).exists()
    (aside,) = (home / ".local/share/kept/aside").glob("memory.md*")
    assert "door code" in aside.read_text()


def test_a_look_before_forgetting_names_all_that_is_out_of_reach_as_the_erasing_does(capsys, ran):
    memory = told(capsys, "list")[0]["id"]
    kept(capsys, "export", "--output", ran / "mine.jsonl")
    mark = "kept cannot erase the words here:\n"
    before = kept(capsys, "forget", memory, "--dry-run")[1].partition(mark)[2]
    assert "mine.jsonl" in before
    assert "a.jsonl still says it" in before.replace("\n", " ")
    assert kept(capsys, "forget", memory, "--yes")[1].partition(mark)[2] == before


def test_a_look_after_forgetting_names_the_transcripts_that_still_say_it(capsys, ran):
    memory = told(capsys, "list")[0]
    kept(capsys, "forget", memory["id"], "--yes")
    for asked in (["--words", memory["content"]], [memory["id"]]):
        assert "a.jsonl still says it" in kept(capsys, "forget", *asked, "--dry-run")[1].replace("\n", " ")
    next(ran.rglob("a.jsonl")).unlink()
    assert "still says it" not in kept(capsys, "forget", "--words", memory["content"], "--dry-run")[1]


def test_what_was_forgotten_is_not_exported_and_is_shown_as_forgotten(capsys, home):
    for text in ("Releases go out on Tuesdays only.", "Wombats sleep in crate 5."):
        kept(capsys, "add", text, "--type", "constraint")
    number = next(each["id"] for each in told(capsys, "list") if "Wombats" in each["content"])
    kept(capsys, "forget", number, "--yes")
    assert [json.loads(each)["content"] for each in kept(capsys, "export")[1].splitlines()] == ["Releases go out on Tuesdays only."]
    assert "(forgotten)" in kept(capsys, "list", "--all")[1]
    assert [each["forgotten"] for each in told(capsys, "list", "--all") if each["id"] == number] == [True]


def test_an_edit_of_another_revision_is_refused_in_one_line(capsys, home):
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    (memory,) = told(capsys, "list")
    kept(capsys, "edit", memory["id"], "Releases go out on Fridays only.")
    code, _, err = kept(capsys, "edit", memory["id"], "Never.", "--if-match", memory["revision"])
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "was changed meanwhile" in err
    (now,) = told(capsys, "list")
    assert now["content"] == "Releases go out on Fridays only."
    assert kept(capsys, "edit", memory["id"], "Never.", "--if-match", now["revision"])[0] == 0


@pytest.mark.parametrize(
    ("verb", "left"), [(("retire",), []), (("edit", "Releases go out on Mondays."), ["Releases go out on Mondays."])]
)
def test_what_a_command_says_of_a_memory_holds_against_an_edit_of_its_line_that_no_run_has_read(capsys, home, verb, left):
    number = told(capsys, "add", "Releases go out on Tuesdays.", "--type", "constraint")["id"]
    memory_file(home).write_text(memory_file(home).read_text().replace("Tuesdays", "Fridays"))
    assert kept(capsys, verb[0], number, *verb[1:])[0] == 0
    for _ in range(2):
        assert [each["content"] for each in told(capsys, "list")] == left
        kept(capsys, "run")


def test_an_export_overwrites_no_file_but_an_earlier_export_and_never_keptss_own(capsys, home, tmp_path):
    told(capsys, "add", RULE, "--type", "constraint")
    (tmp_path / "mine.txt").write_text("mine")
    for target in (home / ".local/share/kept/kept.db", home / ".config/kept/config.toml", tmp_path / "mine.txt"):
        code, out, err = kept(capsys, "export", "--output", target)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert [kept(capsys, "export", "--output", tmp_path / "out.jsonl")[0] for _ in range(2)] == [0, 0]
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert [each["content"] for each in told(capsys, "list")] == [RULE]


def test_forgetting_a_memory_leaves_others_that_share_a_turn_of_phrase(capsys, home):
    rest = "on the first Monday of each month."
    others = [f"Invoices are sent to the tax office by Ben {rest}", f"My sister Clara visits us {rest}"]
    number = told(capsys, "add", f"The staging server is restarted by Anna {rest}", "--type", "constraint")["id"]
    for other in others:
        told(capsys, "add", other, "--type", "constraint")
    assert kept(capsys, "forget", number, "--yes")[0] == 0
    assert sorted(each["content"] for each in told(capsys, "list")) == others


def test_a_look_at_what_would_be_forgotten_is_no_failure_and_erases_nothing(capsys, home):
    number = told(capsys, "add", RULE, "--type", "constraint")["id"]
    code, out, err = kept(capsys, "forget", number, "--dry-run", "--yes")
    assert (code, err) == (0, "")
    assert RULE in out
    assert "the store" in {place["holder"] for place in told(capsys, "forget", number, "--dry-run")}
    assert [each["content"] for each in told(capsys, "list")] == [RULE]
    assert kept(capsys, "forget", "--words", "Wombats sleep in crate 5.", "--dry-run")[0] == 0


def test_a_look_names_a_backup_that_is_away_and_shows_what_would_go_of_sessions_and_days(capsys, ran, tmp_path):
    away = tmp_path / "stick" / "one.db"
    kept(capsys, "backup", away)
    away.unlink()
    number = told(capsys, "list")[0]["id"]
    assert f"{away} is not there: kept made a backup" in kept(capsys, "forget", number, "--dry-run")[1]
    for asked in (("--session", "a"), ("--since", "2026-01-05")):
        assert RULE in [place["text"] for place in told(capsys, "forget", *asked, "--dry-run")]
    (whole,) = (place for place in told(capsys, "forget", "--session", "a", "--dry-run") if "whole session" in place["where"])
    assert whole["text"] == RULE


def test_a_beginning_that_several_sessions_have_is_refused_and_lists_them(capsys, home):
    for place in ("p/5a5a5a5a-one", "p/5a5a5a5a-two", "p/twice", "q/twice"):
        transcript(home / f".claude/projects/{place}.jsonl", f"{RULE} In {place} too.")
    kept(capsys, "run")
    for option, name in (("--session", "5a5a5a5a"), ("--source", "5a5a5a5a"), ("--source", "twice.jsonl")):
        code, out, err = kept(capsys, "forget", option, name, "--yes")
        assert (code, out) == (2, "")
        for place in ("p/twice", "q/twice") if "twice" in name else ("5a5a5a5a-one", "5a5a5a5a-two"):
            assert place in err
    assert kept(capsys, "forget", "--source", "5a5a5a5a-o", "--yes")[0] == 0


def test_forgetting_while_a_run_is_under_way_fails(capsys, home):
    number = told(capsys, "add", RULE, "--type", "constraint")["id"]
    with hold_lock(home / ".local/share/kept/run.lock"):
        code, out, err = kept(capsys, "forget", number, "--yes")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert [each["content"] for each in told(capsys, "list")] == [RULE]


def test_an_audit_names_each_kind_of_fault_with_its_number(capsys, home):
    (home / "CLAUDE.md").write_text("- Deploys happen on Tuesdays.\n- Never use yarn here.\n- Never use yarn here.\n")
    code, out, _ = kept(capsys, "audit", str(home / "CLAUDE.md"))
    assert (code, "\nRepeats of another line: 1\n  - Never use yarn here." in out) == (1, True)
