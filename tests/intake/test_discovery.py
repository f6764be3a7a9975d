"""What is on this machine: what is read, what is not and why; and what is not to be remembered."""

import json
import os

import pytest

from kept.core.erasure import ErasureWords
from kept.core.errors import UsageError
from kept.core.event import FORGOTTEN_MARK
from kept.core.memory import Status
from kept.intake.discovery import discover
from kept.intake.survey import survey
from kept.memories.backups import make_daily_backup
from kept.memories.browse import load_conversation
from kept.memories.configure import include_item
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.traces import traces
from talking import OTHER, RULE, say

DAY = 86_400


def tool(workspace, name="claude-code"):
    return next(each for each in survey(workspace).tools if each.name == name)


def active(workspace):
    return [each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE]


def aged(path, days, clock):
    then = clock.parse_moment.timestamp() - days * DAY
    os.utime(path, (then, then))


def test_what_is_new_and_what_has_grown_is_told_before_and_after_a_run(desk_at, home):
    path = say(home, "s1", RULE)
    with desk_at(home) as workspace:
        assert (tool(workspace).files, tool(workspace).fresh, tool(workspace).grown, tool(workspace).sessions) == (1, 1, 0, 0)
        run_pipeline(workspace, [], RunOptions())
        found = tool(workspace)
        assert (found.fresh, found.grown, found.sessions, found.size) == (0, 0, 1, path.stat().st_size)
        assert found.first_at.date().isoformat() == "2026-01-05"
        say(home, "s1", OTHER, start=1)
        assert (tool(workspace).fresh, tool(workspace).grown) == (0, 1)
        with path.open("a") as file:
            file.write('{"type":"user"')
        run_pipeline(workspace, [], RunOptions())
        assert tool(workspace).grown == 0
        path.unlink()
        assert (tool(workspace).files, tool(workspace).gone) == (0, 1)


def test_only_the_new_part_of_a_grown_file_counts_as_new(desk_at, home):
    say(home, "s1", f"{RULE} {'x' * 5_000}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = say(home, "s1", RULE, start=1).stat().st_size
        path = say(home, "s1", f"{OTHER} {'y' * 10_000}", start=2)
        grown = discover(workspace, [])
    assert grown.new >= path.stat().st_size - before
    assert grown.new < path.stat().st_size - 5_000


def test_files_that_a_tool_deletes_soon_are_named_until_they_are_archived(desk_at, home, clock):
    old, young = say(home, "old", RULE), say(home, "young", OTHER)
    aged(old, 25, clock)
    aged(young, 3, clock)
    with desk_at(home) as workspace:
        assert tool(workspace).expiring == [str(old)]
        (home / ".claude" / "settings.json").write_text(json.dumps({"cleanupPeriodDays": 90}))
        assert (tool(workspace).expiring, tool(workspace).days_kept) == ([], 90)
        (home / ".claude" / "settings.json").write_text("not JSON")
        assert tool(workspace).days_kept == 30
        run_pipeline(workspace, [], RunOptions())
        assert tool(workspace).expiring == []


def test_what_cannot_be_read_and_what_is_no_transcript_is_told(desk_at, home):
    folder = say(home, "s1", RULE).parent
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "notes.txt").write_text("nothing")
    with desk_at(home) as workspace:
        found = survey(workspace)
        assert tool(workspace).unreadable == [(str(folder / "pipe.jsonl"), "not a regular file")]
        assert found.others == {"unknown format": 1}
        assert found.named == ((str(folder / "notes.txt"), "unknown format"),)


def test_a_source_that_is_switched_off_is_found_and_not_read(desk_at, home):
    say(home, "s1", RULE)
    include_item(find_paths(str(home), {}), "sources_off", "claude-code", included=True)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = tool(workspace)
        assert (found.enabled, found.files, found.sessions) == (False, 1, 0)


@pytest.mark.parametrize("pattern", ["/x/secret", "/x/sec*", "/x/secret/", "*/secret/*"])
def test_what_is_said_in_an_excluded_project_is_not_archived_and_counted(desk_at, home, pattern):
    say(home, "s1", RULE, cwd="/x/secret")
    say(home, "s2", OTHER, cwd="/x/open")
    say(home, "s3", RULE, cwd="/x/secret/deep")
    include_item(find_paths(str(home), {}), "exclude", pattern, included=True)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.reading.account.noted["events-of-excluded-projects"] == 4
        assert active(workspace) == [OTHER]


def test_an_excluded_path_is_not_read(desk_at, home):
    path = say(home, "s1", RULE)
    include_item(find_paths(str(home), {}), "exclude", str(path.parent), included=True)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert not [*workspace.store.archive.files()]
        assert tool(workspace).excluded == 1


MARKERS = (
    "<!-- kept: ignore -->",
    "kept: ignore this conversation",
    "Kept: ignore this conversation.",
    "Please note:\n<!-- kept: ignore -->\nthanks",
    "kept: off the record",
    "Kept: off the record.\n\nlets talk about my salary",
    "i earn 4000\n\nkept: off the record\n\nwhat do the others earn?",
    "got this mail:\n\nHi Sam,\n\nsee you soon\n\nBest regards,\nBob\n\nkept: off the record",
    "/kept:off",
    "<command-message>kept:off</command-message>\n<command-name>/kept:off</command-name>",
)


def test_a_conversation_in_which_the_user_says_so_is_not_remembered(desk_at, home):
    for number, marker in enumerate(MARKERS):
        say(home, f"s{number}", RULE, marker)
    say(home, "other", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert active(workspace) == [OTHER]
        assert {each.session for each in survey(workspace).opted_out} == {f"s{number}" for number in range(len(MARKERS))}
        assert "ISO 8601" not in str([workspace.store.archive.events(each.id, 0, 99) for each in workspace.store.archive.threads()])


def test_what_was_archived_of_it_is_erased_and_its_memories_retired_and_nothing_more_is_archived(desk_at, home):
    path = say(home, "s1", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert active(workspace) == [RULE]
        say(home, "s1", "<!-- kept: ignore -->", start=1)
        report = run_pipeline(workspace, [], RunOptions())
        assert report.reading.erased == 2
        assert active(workspace) == []
        say(home, "s1", OTHER, start=2)
        run_pipeline(workspace, [], RunOptions())
        say(home, "s1", OTHER, start=3, name="copy-under-another-name")
        run_pipeline(workspace, [], RunOptions(force=True))
        assert active(workspace) == []
        (_, turns), *_ = load_conversation(workspace, "s1")
        assert {each.text for each in turns} == {FORGOTTEN_MARK}
        assert workspace.store.find_damage() == ()
    assert path.exists()


def test_what_was_made_of_it_is_in_no_file_of_kepts_and_may_be_said_again_elsewhere(desk_at, home):
    say(home, "s1", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        make_daily_backup(workspace)
        say(home, "s1", "kept: off the record", start=1)
        run_pipeline(workspace, [], RunOptions())
        words = ErasureWords(sentences=(RULE,))
        files = [path for path in home.rglob("*") if path.is_file() and "projects" not in path.parts]
        assert [path for path in files if any(traces(path, words))] == []
        assert workspace.store.find_damage() == ()
        say(home, "s2", RULE, day="2026-01-07")
        run_pipeline(workspace, [], RunOptions())
        assert active(workspace) == [RULE]


TALK = (
    "```\n<!-- kept: ignore -->\n```",
    "what does <!-- kept: ignore --> do?",
    "why does this readme render badly\n\n# Harbor\n\nInstall it with pip.\n\n<!-- kept: ignore -->\n\nThen run it.",
    "what do you say to this page:\n\nHow to be private\n\nkept: off the record\n\nThat is it.",
    "got this mail:\n\nHi Sam,\n\nkept: off the record\n\nBest regards,\nBob\n\nwhat now?",
    "kept: ignore this conversation, please say the docs",
    "what does `/kept:off` do?",
    "<command-message>kept</command-message>\n<command-name>/kept</command-name>",
)


def test_talking_about_the_marker_is_not_asking_for_it(desk_at, home):
    for number, words in enumerate(TALK):
        say(home, f"s{number}", RULE, words)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert active(workspace) == [RULE]
        assert survey(workspace).opted_out == ()


def test_a_marker_that_only_an_assistant_or_a_tool_wrote_is_nobodys_wish(desk_at, home):
    path = say(home, "s1", RULE)
    with path.open("a") as file:
        content = [{"type": "text", "text": "<!-- kept: ignore -->"}]
        file.write(
            json.dumps(
                {
                    "type": "assistant",
                    "uuid": "x",
                    "sessionId": "s1",
                    "timestamp": "2026-01-05T11:00:00.000Z",
                    "message": {"role": "assistant", "id": "x", "content": content},
                }
            )
            + "\n"
        )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert survey(workspace).opted_out == ()


NOTE = "The harbour gate opens at seven."


@pytest.mark.parametrize(
    "note",
    [
        f"---\nkept: ignore\nauthor: me\n---\n{NOTE}\n",
        f"# Monday\n\n<!-- kept: ignore -->\n\n{NOTE}\n",
        f"---\nkept: ignore\n---\n## [10:00] User\n\n{NOTE}\n\n## [10:01] Assistant\n\nNoted.\n",
        f"## [10:00] User\n\n{NOTE}\n\n<!-- kept: ignore -->\n\n## [10:01] Assistant\n\nNoted.\n",
    ],
)
def test_a_note_that_says_so_is_not_remembered_and_what_was_read_of_it_is_erased(desk_at, home, note):
    path = home / "notes/journal/2026-01-05.md"
    path.parent.mkdir(parents=True)
    path.write_text(note.replace("kept: ignore", "topic: gates"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "notes"], RunOptions())
        assert NOTE in _archived_text(workspace)
        path.write_text(note)
        run_pipeline(workspace, [home / "notes"], RunOptions())
        assert NOTE not in _archived_text(workspace)


@pytest.mark.parametrize(
    "note",
    [
        f"{NOTE}\n\n```\n<!-- kept: ignore -->\n```\n",
        f"## [10:00] User\n\n{NOTE}\n\n## [10:01] Assistant\n\n<!-- kept: ignore -->\n",
    ],
)
def test_a_marker_in_code_or_in_a_reply_leaves_a_note_in(desk_at, home, note):
    path = home / "notes/journal/2026-01-05.md"
    path.parent.mkdir(parents=True)
    path.write_text(note)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "notes"], RunOptions())
        assert NOTE in _archived_text(workspace)


def _archived_text(workspace):
    archive = workspace.store.archive
    return "\n".join(event.text for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events))


def test_evidence_opens_after_the_transcript_is_gone_and_a_session_is_shown_once(desk_at, home):
    path = say(home, "session-1", RULE)
    say(home, "session-1", RULE, name="copy")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path.unlink()
        ((thread, turns),) = load_conversation(workspace, "session")
        assert [each.text for each in turns] == [RULE, "Done."]
        assert thread.session == "session-1"
        with pytest.raises(UsageError):
            load_conversation(workspace, "nobody")
