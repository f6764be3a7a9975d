"""Memory Loop's acceptance list, end to end, on chats in a vault; each of the specification's rules is a test of its own."""

import json
import re

import pytest

from kept.core.memory import Status
from kept.install import background_run
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import read_profile_text
from kept.profiles.profile import Occasion
from talking import forget_ids

CHATS = {
    "1001": "I'm a nurse in Rotterdam and work nights.",
    "1002": "I want to finish the first draft of the book by May.",
    "1003": "Please keep your answers short, I hate long explanations.",
    "1004": "I prefer Obsidian over Notion for notes.",
    "1005": "We decided to send the newsletter on Thursdays instead of Fridays, because the printer closes early.",
}
MORE = {"1006": "My sister Ana is a vet in Porto.", "1007": "I prefer Obsidian over Notion for notes."}


def chat(vault, number, words, day="2026-03-02"):
    """A chat as Memory Loop writes it."""
    folder = vault / "00_Inbox" / "chats"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{day}-{number}-abc{number[-2:]}.md"
    path.write_text(
        f'---\ndate: {day}\ntime: "10:00"\nsession_id: s{number}\ntitle: "A chat"\n---\n\n# Discussion - A chat\n\n'
        f"## [10:00] User\n\nRemember: {words}\n\n## [10:01] Assistant\n\nUnderstood.\n"
    )
    return path


@pytest.fixture
def vault(home):
    """A vault of Memory Loop's with five chats, beside a project that has none of its marks."""
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profiles = ["vault"]\n')
    folder = home / "vaults" / "notes"
    folder.mkdir(parents=True)
    (folder / ".memory-loop.json").write_text("{}")
    (folder / "CLAUDE.md").write_text("# Notes\n\nMine.\n")
    for number, words in CHATS.items():
        chat(folder, number, words)
    return folder


def memory_file(home):
    return home / ".claude" / "rules" / "memory.md"


def lines(home):
    return [each for each in memory_file(home).read_text().splitlines() if each.startswith("- ")]


def test_five_transcripts_give_a_categorised_memory_file(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    text = memory_file(home).read_text()
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == ["Identity", "Goals", "Preferences"]
    assert "- I'm a nurse in Rotterdam and work nights. (2026-03-02)" in text


def test_insights_of_the_vault_go_into_its_section_and_nothing_else_of_the_file_changes(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    text = (vault / "CLAUDE.md").read_text()
    assert text.startswith("# Notes\n\nMine.\n\n## Memory Loop Insights\n<!-- kept:begin ")
    assert "### Project context" in text
    assert "newsletter" in text
    assert "newsletter" not in memory_file(home).read_text()


def test_forgetting_or_deleting_the_last_line_of_a_section_takes_the_section_out(vault, home, desk_at):
    path = vault / "CLAUDE.md"
    with desk_at(home) as workspace:
        for gone in ("forgotten", "deleted by hand"):
            run_pipeline(workspace, [], RunOptions())
            (number,) = (
                each.id for each in workspace.store.log.memories() if each.content and f"{each.content} (" in path.read_text()
            )
            if gone == "forgotten":
                assert forget_ids(workspace, [number]).problems == ()
            else:
                path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "Tuesdays" not in line))
                assert run_pipeline(workspace, [], RunOptions()).written.problems == []
            assert path.read_text() == "# Notes\n\nMine.\n"
            chat(
                vault,
                "1009",
                "We decided to open the archive on Tuesdays, because the reading room is free then.",
                day="2026-03-06",
            )


def test_two_more_transcripts_are_the_only_ones_processed_and_an_existing_fact_merges(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = len(lines(home))
        for number, words in MORE.items():
            chat(vault, number, words, day="2026-03-05")
        second = run_pipeline(workspace, [], RunOptions())
        assert second.extracted.threads == 2
        assert len(lines(home)) == before + 1
        (notes,) = [each for each in workspace.store.log.memories() if "Obsidian" in each.content]
        assert notes.observations == 2
        assert not run_pipeline(workspace, [], RunOptions()).run


def test_an_edit_persists(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path = memory_file(home)
        path.write_text(path.read_text().replace("work nights", "work days now"))
        chat(vault, "1008", "I'm a nurse in Rotterdam and work nights.", day="2026-03-09")
        run_pipeline(workspace, [], RunOptions())
        run_pipeline(workspace, [], RunOptions())
        assert "work days now" in path.read_text()
        assert "work nights" not in path.read_text()


def test_a_new_session_sees_it_because_it_lies_where_rules_are_loaded_from(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    assert memory_file(home).is_file()
    assert not memory_file(home).read_text().startswith("---")  # a path would keep it from being loaded everywhere


def test_the_most_bytes_of_a_file_hold_and_what_leaves_it_stays_in_the_store(vault, home, desk_at):
    (home / ".config" / "kept" / "profiles").mkdir()
    text = (
        read_profile_text("vault")[0]
        .replace("memory_bytes = 24000", "memory_bytes = 3000")
        .replace("memory_lines = 240", "memory_lines = 5000")
    )
    (home / ".config" / "kept" / "profiles" / "vault.toml").write_text(text)
    for number in range(25):
        word = "".join(chr(97 + number // 26**each % 26) for each in range(3))
        chat(
            vault,
            str(2000 + number),
            f"I want to learn the {word} dance of island {number} before the {word} festival begins there, "
            f"because my grandmother danced it on {word} evenings and nobody else of us still knows its {word} steps and songs.",
        )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        active = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        assert memory_file(home).stat().st_size < 3_000
        assert len(lines(home)) < len(active)


def test_extraction_never_runs_when_a_session_ends(vault, home, desk_at):
    with desk_at(home) as workspace:
        ended = run_pipeline(workspace, [], RunOptions(occasion=Occasion.SESSION_END))
        assert ended.extracted.threads == 0
        assert not memory_file(home).exists()
        assert run_pipeline(workspace, [], RunOptions(occasion=Occasion.NIGHTLY)).extracted.threads == 5


def test_memories_lie_outside_of_the_vault(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    written = {path.name for path in vault.rglob("*") if path.is_file()} - {path.name for path in (vault / "00_Inbox").rglob("*")}
    assert written == {".memory-loop.json", "CLAUDE.md"}


def test_a_vault_without_the_mark_is_remembered_by_the_default_profile(vault, home, desk_at):
    (vault / ".memory-loop.json").unlink()
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert {each.profile for each in workspace.store.log.memories()} <= {"coding"}


def test_what_is_forgotten_does_not_come_back(vault, home, desk_at):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (nurse,) = [each.id for each in workspace.store.log.memories() if "nurse" in each.content]
        forget_ids(workspace, [nurse])
        chat(vault, "1009", "I'm a nurse in Rotterdam and work nights.", day="2026-03-09")
        run_pipeline(workspace, [], RunOptions())
        assert not [each for each in workspace.store.log.memories() if "nurse" in each.content]
        assert "nurse" not in memory_file(home).read_text()


def test_an_inbox_of_another_name_is_found_by_the_vaults_settings(vault, home, desk_at):
    (vault / ".memory-loop.json").write_text(json.dumps({"inboxPath": "In"}))
    (vault / "00_Inbox").rename(vault / "In")
    with desk_at(home) as workspace:
        assert run_pipeline(workspace, [], RunOptions()).extracted.threads == 5


def test_an_unreadable_chat_is_told_and_the_others_are_read(vault, home, desk_at):
    bad = chat(vault, "1010", "x")
    bad.write_bytes(b"\xff\xfe\x00" * 50)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.extracted.threads >= 5
        assert "I'm a nurse" in memory_file(home).read_text()


def test_the_run_that_a_hook_starts_when_a_session_ends_says_that_it_is_one(home, monkeypatch):
    started = []
    monkeypatch.setattr(background_run.subprocess, "Popen", lambda command, **_: started.append(command))
    (home / ".local" / "share" / "kept" / "hooks").mkdir(parents=True)
    assert background_run.start_run(str(home), "chat.md")
    assert started[0][started[0].index("--occasion") + 1] == Occasion.SESSION_END.value
