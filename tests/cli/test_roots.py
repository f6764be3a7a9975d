"""Folders that a person says every run is to read."""

import json
import os

import pytest

from cli_world import OTHER, RULE, kept, told, transcript
from hostile_world import sampled
from kept.sources import documents


def note(path, words, answer="Understood."):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ndate: 2026-01-05\n---\n# A talk\n\n**User:** {words}\n\n**Assistant:** {answer}\n")


@pytest.fixture
def vault(tmp_path, home):
    place = tmp_path / "elsewhere" / "my vault"
    (place / ".obsidian").mkdir(parents=True)
    (place / ".obsidian" / "app.json").write_text("{}")
    (place / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    note(place / "chats" / "2026-01-05-1000-a.md", RULE)
    return place


def test_a_vault_anywhere_is_read_again_by_every_run_as_it_grows(capsys, vault):
    assert kept(capsys, "sources", "add", vault)[0] == 0
    first = told(capsys, "run", "--no-llm")
    assert (first["sources"], first["skipped"]) == ({"vault": 1}, [])
    note(vault / "chats" / "2026-01-06-1000-b.md", OTHER)
    second = told(capsys, "run", "--no-llm")
    assert (second["sources"]["vault"], second["events"]) == (2, 2)
    assert {each["profile"] for each in told(capsys, "list", "--all")} <= {"vault"}


def test_what_is_followed_is_listed_and_can_be_ended(capsys, vault):
    kept(capsys, "sources", "add", vault, "--as", "vault", "--project", "garden", "--author", "person")
    (root,) = told(capsys, "sources", "list")["roots"]
    assert root == {"path": str(vault), "as": "vault", "project": "garden", "author": "person", "exists": True}
    assert "project garden" in kept(capsys, "sources", "list")[1]
    assert kept(capsys, "sources", "add", vault)[0] == 2
    assert kept(capsys, "sources", "remove", vault)[0] == 0
    assert told(capsys, "sources", "list")["roots"] == []
    assert kept(capsys, "sources", "remove", vault)[0] == 2


@pytest.mark.parametrize("options", [("--as", "nonsense"), ("--author", "cat")])
def test_what_a_root_cannot_be_is_refused(capsys, vault, options):
    assert kept(capsys, "sources", "add", vault, *options)[0] == 2
    assert told(capsys, "sources", "list")["roots"] == []


def test_a_root_that_is_gone_is_named_by_every_run(capsys, vault, tmp_path):
    kept(capsys, "sources", "add", vault)
    vault.rename(tmp_path / "moved")
    code, out, _ = kept(capsys, "run", "--json", "--no-llm")
    assert (code, [each["path"] for each in json.loads(out)["skipped"]]) == (1, [str(vault)])


def test_the_project_and_the_author_of_a_root_hold_for_what_lies_in_it(capsys, home, tmp_path):
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "2026-01-05.md").write_text("# Today\n\nI always write dates as ISO 8601 in UTC in this project.\n")
    (diary / "thoughts.txt").write_text("I never use pip here, always `uv sync` instead.\n")
    kept(capsys, "sources", "add", diary, "--as", "journal", "--project", "garden", "--author", "person")
    body = told(capsys, "run", "--no-llm")
    assert body["sources"] == {"journal": 2}
    assert list(told(capsys, "sources")["projects"]) == ["garden"]


def test_a_wish_in_diaries_of_three_folders_counts_once_the_person_says_that_they_are_one_project(capsys, home, tmp_path):
    notes, wish = tmp_path / "notes", "I would prefer that the greenhouse readings go to Postgres tables."
    for day, (folder, words) in enumerate((("a", "I planted beans."), ("b", "We mended the fence."), ("c", "It rained.")), 5):
        (notes / folder).mkdir(parents=True)
        (notes / folder / f"2026-01-0{day}.md").write_text(f"# Today\n\n{words}\n\n{wish}\n")
    kept(capsys, "sources", "add", notes, "--as", "journal", "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert (len(told(capsys, "list", "--held")), told(capsys, "list")) == (3, [])
    kept(capsys, "sources", "add", notes, "--project", "garden")
    assert "New: 1 memory" in kept(capsys, "run", "--no-llm")[1]
    assert [(each["content"], each["scope"].partition("-")[0]) for each in told(capsys, "list")] == [(wish, "project:garden")]
    assert "Nothing new" in kept(capsys, "run", "--no-llm")[1]
    assert kept(capsys, "check")[0] == 0


ALWAYS = "Remember that we always use pnpm in this repository, never npm."


def statuses(capsys):
    return sorted(each["status"] for each in told(capsys, "list", "--all"))


def test_memories_of_notes_that_turn_out_an_agents_are_retired_told_of_and_can_be_brought_back(capsys, home, tmp_path):
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "2026-01-05.md").write_text(f"# Today\n\n{ALWAYS}\n")
    other = "Remember that we always indent with tabs in this repository."
    (diary / "2026-01-06.md").write_text(f"---\nauthor: me\n---\n# Today\n\n{other}\n")
    kept(capsys, "sources", "add", diary, "--as", "journal", "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert statuses(capsys) == ["held", "held"]
    assert kept(capsys, "sources", "add", diary, "--author", "agent")[0] == 0
    assert [(each["as"], each["author"]) for each in told(capsys, "sources", "list")["roots"]] == [("journal", "agent")]
    assert "Retired: 1 memory whose evidence no longer counts" in kept(capsys, "run", "--no-llm")[1]
    assert statuses(capsys) == ["held", "retired"]
    assert kept(capsys, "undo")[0] == 0
    assert "Retired" not in kept(capsys, "run", "--no-llm")[1]
    assert statuses(capsys) == ["held", "held"]


def test_notes_that_are_a_persons_again_count_again(capsys, home, tmp_path):
    (diary := tmp_path / "diary").mkdir()
    (diary / "2026-01-05.md").write_text(f"# Today\n\n{ALWAYS}\n")
    kept(capsys, "sources", "add", diary, "--as", "journal", "--author", "person")
    for author, status in (("person", "held"), ("agent", "retired"), ("person", "held")):
        kept(capsys, "sources", "add", diary, "--author", author)
        kept(capsys, "run", "--no-llm")
        assert statuses(capsys) == [status]


def test_what_waited_as_a_repositorys_counts_once_the_person_follows_its_folder(capsys, home, tmp_path):
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (chats := repository / ".specstory" / "history").mkdir(parents=True)
    (chats / "2026-01-05_10-00Z-a-talk.md").write_text(
        "<!-- Generated by SpecStory -->\n\n# A talk (2026-01-05 10:00Z)\n\n"
        f"_**User (2026-01-05 10:00Z)**_\n\n{ALWAYS}\n\n---\n\n_**Agent**_\n\nUnderstood.\n\n---\n"
    )
    kept(capsys, "run", repository, "--no-llm")
    assert statuses(capsys) == ["held"]
    kept(capsys, "sources", "add", repository)
    kept(capsys, "run", "--no-llm")
    assert statuses(capsys) == ["active"]


ISO = "From now on always write dates as ISO 8601 in UTC, never as local times."
PNPM = "Remember that the production database is called osprey."


@pytest.fixture
def notebook(tmp_path, home):
    folder = tmp_path / "notebook"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "2026-01-05.md").write_text(
        f"# Today\n\n{ISO}\n\n> **Human:** {PNPM}\n\n> **Claude:** From now on deploy on Fridays.\n"
    )
    (folder / "ideas.md").write_text("# Ideas\n\nRemember that the billing service listens on port 9944.\n")
    return folder


def persons_words(capsys):
    """Whether each of four sentences was proposed or remembered as the person's words."""
    told(capsys, "run", "--no-llm")
    contents = " ".join(memory["content"] for memory in told(capsys, "list", "--all") if memory["origin"] == "user")
    return [words in contents for words in ("osprey", "ISO 8601", "port 9944", "Fridays")]


@pytest.mark.parametrize("reader", ["journal", "vault"])
def test_notes_are_the_agents_but_for_the_persons_quoted_words_until_their_root_names_a_person(capsys, notebook, reader):
    kept(capsys, "sources", "add", notebook, "--as", reader)
    assert persons_words(capsys) == [True, False, False, False]
    kept(capsys, "sources", "remove", notebook)
    kept(capsys, "sources", "add", notebook, "--as", reader, "--author", "person")
    assert persons_words(capsys) == [True, True, True, False]
    assert told(capsys, "run", "--no-llm")["events"] == 0


def test_a_note_whose_front_matter_names_an_agent_is_no_persons_below_a_persons_root(capsys, notebook):
    (notebook / "2026-01-05.md").write_text(f"---\nauthor: agent\n---\n# Today\n\n{ISO}\n")
    kept(capsys, "sources", "add", notebook, "--as", "journal", "--author", "person")
    assert persons_words(capsys) == [False, False, True, False]


def test_a_named_folder_is_followed_where_the_person_says_so(capsys, home, tmp_path):
    transcript(tmp_path / "talks" / "a.jsonl", RULE)
    out = kept(capsys, "run", tmp_path / "talks", "--no-llm")[1]
    assert "was read only this time" in out
    assert told(capsys, "sources", "list")["roots"] == []
    kept(capsys, "run", tmp_path / "talks", "--follow", "--no-llm")
    transcript(tmp_path / "talks" / "b.jsonl", OTHER)
    assert told(capsys, "run", "--no-llm")["events"] == 2
    assert "was read only this time" not in kept(capsys, "run", tmp_path / "talks", "--no-llm")[1]


def test_what_is_followed_from_its_first_reading_on_is_read_by_the_rules_of_a_root(capsys, vault):
    kept(capsys, "run", vault, "--follow", "--no-llm")
    assert {each["profile"] for each in told(capsys, "list", "--all")} == {"vault"}


def test_a_change_of_what_is_followed_that_is_refused_leaves_it_followed(capsys, vault):
    kept(capsys, "sources", "add", vault, "--author", "agent")
    before = told(capsys, "sources", "list")["roots"]
    assert kept(capsys, "sources", "add", vault, "--project", "ghp_" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5")[0] != 0
    assert told(capsys, "sources", "list")["roots"] == before
    assert kept(capsys, "sources", "add", vault, "--project", "garden")[0] == 0
    assert told(capsys, "sources", "list")["roots"] == [before[0] | {"project": "garden"}]


def test_what_stands_far_down_in_a_long_note_turns_out_an_agents_as_well(capsys, home, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "SLICE_EVENTS", 2)
    (note := tmp_path / "notes.md").write_text("# Today\n\n" + "".join(f"## Topic {n}\n\nA line.\n\n" for n in range(5)) + ALWAYS)
    for author, status in (("person", "active"), ("agent", "retired")):
        kept(capsys, "sources", "add", note, "--as", "journal", "--author", author)
        kept(capsys, "run", "--no-llm")
        assert statuses(capsys) == [status]


def use_profile(home, name):
    """Have a profile of one's own remember what is read of vaults."""
    settings = home / ".config" / "kept" / "config.toml"
    settings.write_text(f'{settings.read_text()}\n[[use]]\nprofile = "{name}"\nsources = ["vault", "journal"]\n')


PREFERENCE = "Remember that I prefer short answers without bullet points."


def test_a_preference_told_in_a_followed_vault_stands_in_the_memory_file(capsys, home, vault):
    note(vault / "chats" / "2026-01-06-1000-b.md", PREFERENCE)
    kept(capsys, "sources", "add", vault, "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert "short answers without bullet points" in (home / ".claude" / "rules" / "memory.md").read_text()


OWN = 'memory_file = "vault/Kept/Memory.md"'


@pytest.fixture
def vault_with_memory(capsys, home):
    """A followed vault in which kept's memory file lies, with one preference in it."""
    place = home / "vault"
    (place / ".obsidian").mkdir(parents=True)
    note(place / "chats" / "2026-01-06-1000-b.md", PREFERENCE)
    kept(capsys, "profiles", "new", "mine", "--like", "vault")
    own = home / ".config" / "kept" / "profiles" / "mine.toml"
    own.write_text(own.read_text().replace('memory_file = ".claude/rules/memory.md"', OWN))
    kept(capsys, "config", "set", "profile", "mine")
    kept(capsys, "sources", "add", place, "--as", "vault", "--author", "person")
    use_profile(home, "mine")
    kept(capsys, "run", "--no-llm")
    return place


@pytest.mark.parametrize("more", ["", "\nA line that I added in the editor.\n"])
def test_a_memory_file_in_a_followed_vault_is_no_source(capsys, vault_with_memory, more):
    memory = vault_with_memory / "Kept" / "Memory.md"
    assert "short answers" in memory.read_text()
    memory.write_text(memory.read_text() + more)
    assert told(capsys, "run", "--no-llm", "--force")["sources"] == {"vault": 1}


def test_a_memory_file_that_was_moved_in_a_vault_is_no_source(capsys, vault_with_memory):
    memory = vault_with_memory / "Kept" / "Memory.md"
    memory.rename(vault_with_memory / "2026-01-07.md")
    assert told(capsys, "run", "--no-llm")["events"] == 0


@pytest.mark.parametrize(("mine", "events"), [("", 0), ("# Notes\n\nThe shed is green.\n", 1)])
def test_kepts_section_in_a_followed_vault_is_nobodys_words(capsys, home, vault, mine, events):
    section = f"{mine}## Memory Loop Insights\n<!-- kept:begin 0123456789ab own 0 -->\n- I sing on Sundays.\n<!-- kept:end -->\n"
    (vault / "CLAUDE.md").write_text(section)
    (vault / "2026-01-08.md").write_text(f"**User:** Hello.\n\n**Assistant:** Hello.\n\n{section}")
    kept(capsys, "sources", "add", vault, "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert "sing on Sundays" not in kept(capsys, "search", "sing on Sundays")[1]
    assert ("shed is green" in kept(capsys, "search", "shed green")[1]) is bool(events)


def test_what_was_deleted_stays_deleted_after_its_profile_is_migrated(capsys, home, vault):
    note(vault / "chats" / "2026-01-06-1000-b.md", PREFERENCE)
    kept(capsys, "sources", "add", vault, "--author", "person")
    kept(capsys, "run", "--no-llm")
    memory = home / ".claude" / "rules" / "memory.md"
    memory.write_text("".join(line for line in memory.read_text().splitlines(keepends=True) if "bullet points" not in line))
    kept(capsys, "run", "--no-llm")
    kept(capsys, "profiles", "new", "mine", "--like", "vault")
    use_profile(home, "mine")
    assert kept(capsys, "profiles", "migrate", "vault", "mine")[0] == 0
    note(vault / "chats" / "2026-01-06-1000-b.md", PREFERENCE, "Understood, and noted.")
    kept(capsys, "run", "--no-llm", "--force")
    assert [each["status"] for each in told(capsys, "list", "--all") if "bullet points" in each["content"]] == ["retired"]


def test_a_section_file_that_kept_made_goes_when_nothing_is_left_to_say_in_it(capsys, home, vault):
    place = home / "vault"
    vault.rename(place)
    note(place / "chats" / "2026-01-06-1000-b.md", "Remember that we decided to draw the maps in blue ink, because red fades.")
    kept(capsys, "sources", "add", place, "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert (place / "CLAUDE.md").exists()
    for each in told(capsys, "list"):
        kept(capsys, "retire", each["id"])
    assert not (place / "CLAUDE.md").exists()


TOLD = "From now on always answer me in Dutch.\nRemember that I prefer tea over coffee.\n"


def active_after(capsys, place, text):
    """What is active after a run on a daily note in a vault whose notes a person called their own."""
    (place / "Daily").mkdir()
    (place / "Daily" / "2026-01-09.md").write_text(text)
    kept(capsys, "sources", "add", place, "--as", "vault", "--author", "person")
    kept(capsys, "run", "--no-llm")
    return {each["content"] for each in told(capsys, "list") if "Dutch" in each["content"] or "tea" in each["content"]}


@pytest.mark.parametrize("heading", ["", "# [[2026-01-09]]\n", "## Friday, 2026-01-09\n\n"])
def test_plain_tellings_below_the_date_of_ones_own_note_hold_at_once(capsys, vault, heading):
    assert active_after(capsys, vault, heading + TOLD) == {"From now on always answer me in Dutch.", "I prefer tea over coffee."}


QUOTED = "> From now on always answer me in Dutch.\n> Remember that I prefer tea over coffee.\n"


@pytest.mark.parametrize(
    "text",
    sampled(
        [
            f"# Claude 2026-01-09\n\n{TOLD}",
            f"# 2026-01-09 standup of Bob\n\n{TOLD}",
            f"# 2026-01-09\n\n## Answer\n\n{TOLD}",
            f"# 2026-01-09\n\nBob wrote:\n\n{TOLD}",
            f"# 2026-01-09\n\n**Claude:** {TOLD}",
            f"# 2026-01-09\n\nClaude:\n{TOLD}",
            f"# 2026-01-09\n\n{QUOTED}",
            f"# 2026-01-09\n\n```\n{TOLD}```\n",
            f"# 2026-01-09\n\n<!--\n{TOLD}-->\n",
            f"---\nauthor: Claude\n---\n# 2026-01-09\n\n{TOLD}",
            f"---\nsource: https://example.org/prompts\n---\n# 2026-01-09\n\n{TOLD}",
            f"# 2026-01-09\n\n{TOLD}\nThat was the prompt from the page.\n",
            f"**LLM:** GitHub Copilot\n\n## Changes\n\n{TOLD}",
            f"# 2026-01-09\n\n- Model: gpt-4\n\n# 2026-01-10\n\n{TOLD}",
        ],
        3,
    ),
)
def test_tellings_that_a_note_shows_to_be_anothers_do_not_hold_at_once(capsys, vault, text):
    assert active_after(capsys, vault, text) == set()


def test_setup_names_the_memory_file_of_the_profile_at_work(capsys, vault_with_memory):
    out = "".join(kept(capsys, "setup", "--show")[1].split())
    assert "vault/Kept/Memory.md" in out
    assert ".claude/rules/memory.md" not in out


def test_a_line_that_a_person_edits_keeps_the_day_on_which_it_was_told(capsys, vault_with_memory):
    memory = vault_with_memory / "Kept" / "Memory.md"
    memory.write_text(memory.read_text().replace("short answers", "brief answers"))
    kept(capsys, "run", "--no-llm")
    assert "I prefer brief answers without bullet points. (2026-01-05)" in memory.read_text()


@pytest.mark.parametrize("command", [("list",), ("status",), ("add", RULE, "--type", "constraint"), ("sources", "list"), ("run",)])
def test_a_followed_folder_that_is_closed_to_the_person_stops_no_command(capsys, home, vault, monkeypatch, command):
    kept(capsys, "sources", "add", vault)
    stat = os.stat

    def closed(path, *args, **options):
        if str(path).startswith(f"{vault}/"):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *args, **options)

    monkeypatch.setattr(os, "stat", closed)
    code, _, err = kept(capsys, *command)
    assert (code, err) == (int(command == ("run",)), "")  # a run says that it did not read all


def test_a_folder_that_cannot_be_read_is_not_followed(capsys, home, vault, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, _, err = kept(capsys, "sources", "add", vault)
    assert (code, err) == (2, f"kept: permission denied ({vault}) → make it readable for you\n")
    assert told(capsys, "sources", "list")["roots"] == []


def test_whoever_adds_notes_that_name_no_author_hears_whose_they_count_as_and_how_to_change_it(capsys, home, tmp_path):
    diary = tmp_path / "my diary"
    (diary / ".obsidian").mkdir(parents=True)
    (diary / "2026-01-05.md").write_text("# Today\n\n## Decisions\n\n- Invoices are kept for ten years because of GoBD.\n")
    out = kept(capsys, "sources", "add", diary)[1]
    assert "count as an agent's" in out
    command = out.partition("kept sources add ")[2].strip()
    assert command == f"'{diary}' --author person"
    kept(capsys, "run", "--no-llm")
    assert statuses(capsys) == ["held"]
    assert "count as" not in kept(capsys, "sources", "add", diary, "--author", "person")[1]
    kept(capsys, "run", "--no-llm")
    assert [each["content"] for each in told(capsys, "list")] == ["Invoices are kept for ten years because of GoBD."]


def test_whoever_adds_conversations_is_not_told_of_authors(capsys, vault):
    assert "count as" not in kept(capsys, "sources", "add", vault)[1]


def test_a_person_at_a_terminal_is_asked_whose_notes_they_are(capsys, home, tmp_path, monkeypatch):
    monkeypatch.setattr("kept.cli.commands.sources.is_interactive", lambda: True)
    for name, yours in (("mine", True), ("summaries", False)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "2026-01-05.md").write_text("# Today\n\nIt rained.\n")
        monkeypatch.setattr("kept.cli.commands.sources.confirm", lambda *_, yours=yours: yours)
        kept(capsys, "sources", "add", tmp_path / name)
    assert [each["author"] for each in told(capsys, "sources", "list")["roots"]] == ["person", "agent"]


@pytest.fixture
def lessons(capsys, home):
    """A followed folder of dated notes whose rule stands in kept's section of the folder's CLAUDE.md."""
    place = home / "notes"
    (place / "Journal").mkdir(parents=True)
    (place / "Journal" / "2026-01-05.md").write_text(f"# Today\n\n## Lessons\n\n- {ISO}\n")
    kept(capsys, "sources", "add", place, "--as", "vault", "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert "ISO 8601" in (place / "CLAUDE.md").read_text()
    return place


def test_a_section_in_a_folder_that_is_no_longer_followed_is_listed_and_its_edits_are_read(capsys, lessons):
    kept(capsys, "sources", "remove", lessons)
    kept(capsys, "run", "--no-llm")
    shown = lessons / "CLAUDE.md"
    assert "notes/CLAUDE.md" in kept(capsys, "files")[1]
    shown.write_text(shown.read_text().replace("ISO 8601", "RFC 3339"))
    kept(capsys, "run", "--no-llm")
    assert "RFC 3339" in next(each["content"] for each in told(capsys, "list", "--all") if each["status"] == "active")


@pytest.mark.parametrize("purge", [(), ("--purge", "--yes")])
def test_uninstalling_takes_the_section_out_of_a_folder_that_is_no_longer_followed(capsys, lessons, purge):
    kept(capsys, "sources", "remove", lessons)
    kept(capsys, "run", "--no-llm")
    kept(capsys, "uninstall", *purge)
    assert not (lessons / "CLAUDE.md").exists()


def test_uninstalling_takes_away_the_day_notes_of_a_profile_that_is_no_longer_used(capsys, home):
    kept(capsys, "profiles", "new", "mine", "--like", "coding")
    own = home / ".config" / "kept" / "profiles" / "mine.toml"
    own.write_text(own.read_text().replace("[outputs]", '[outputs]\ndaily_folder = "days"', 1))
    kept(capsys, "config", "set", "profile", "mine")
    transcript(home / ".claude/projects/-home-u-harbor/a.jsonl", RULE)
    kept(capsys, "run", "--no-llm")
    assert list((home / "days").iterdir())
    kept(capsys, "config", "set", "profile", "coding")
    own.unlink()
    kept(capsys, "uninstall")
    assert not (home / "days").exists()


def decisions(*lines):
    return "# Today\n\n## Decisions\n\n" + "".join(f"- {each}\n" for each in lines)


WEDNESDAY, THURSDAY = (f"The workshop closes on {day} in winter" for day in ("Wednesdays", "Thursdays"))
VAN, BOILER = "We buy the blue van", "The boiler is serviced by Mr Ito every March"


def active(capsys):
    return {each["content"]: each["id"] for each in told(capsys, "list")}


@pytest.fixture
def workshop(capsys, home):
    """A dated note of one's own with three decisions, which are remembered."""
    place = home / "notes" / "Journal" / "2026-01-05.md"
    place.parent.mkdir(parents=True)
    place.write_text(decisions(WEDNESDAY, VAN, BOILER))
    kept(capsys, "sources", "add", home / "notes", "--as", "vault", "--author", "person")
    kept(capsys, "run", "--no-llm")
    return place


def test_a_line_that_is_corrected_or_deleted_in_a_note_is_no_longer_remembered_and_the_others_stay_the_same(capsys, workshop):
    before = active(capsys)
    assert set(before) == {WEDNESDAY, VAN, BOILER}
    kept(capsys, "pin", before[BOILER])
    workshop.write_text(decisions(THURSDAY, BOILER))
    assert "Retired: 2 memories whose evidence no longer counts" in kept(capsys, "run", "--no-llm")[1]
    now = active(capsys)
    assert set(now) == {THURSDAY, BOILER}
    assert now[BOILER] == before[BOILER]
    assert "Nothing new" in kept(capsys, "run", "--no-llm")[1]
    workshop.write_text(decisions(WEDNESDAY, VAN, BOILER))
    kept(capsys, "run", "--no-llm")
    assert active(capsys) == before
    assert kept(capsys, "check")[0] == 0


def test_text_that_is_added_to_a_note_changes_none_of_its_memories(capsys, workshop):
    before = active(capsys)
    workshop.write_text(decisions(WEDNESDAY, VAN, BOILER, "The attic stays empty until May"))
    assert "Retired" not in kept(capsys, "run", "--no-llm")[1]
    assert before.items() < active(capsys).items()


def test_an_empty_note_takes_nothing_back(capsys, workshop):
    workshop.write_text("")
    kept(capsys, "run", "--no-llm")
    assert set(active(capsys)) == {WEDNESDAY, VAN, BOILER}


@pytest.mark.parametrize(
    "item",
    [
        '> "Measure twice, cut once" – grandfather',
        "> Always leave the keys on the hook.",
        '"Stay hungry, stay foolish" (Steve Jobs)',
    ],
)
def test_a_list_item_that_quotes_somebody_waits(capsys, home, item):
    (place := home / "notes" / "Journal").mkdir(parents=True)
    (place / "2026-01-05.md").write_text(f"# Today\n\n## Rules\n\n- {item}\n- Keys always hang on the hook.\n")
    kept(capsys, "sources", "add", home / "notes", "--as", "vault", "--author", "person")
    kept(capsys, "run", "--no-llm")
    assert list(active(capsys)) == ["Keys always hang on the hook."]
    assert [each["content"] for each in told(capsys, "list", "--held")] == [item]
