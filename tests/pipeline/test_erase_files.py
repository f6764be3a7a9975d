"""What forgetting does to each file: which ones it reaches, what is left of one that is damaged, and which it does not touch."""

import json
from datetime import date
from itertools import count
from pathlib import PurePath

import pytest

from kept.core.erasure import ErasureWords
from kept.journal.entry import OUTSIDE, OUTSIDE_END, is_entry_edited
from kept.local import files
from kept.memories import person
from kept.memories.backups import create_backup
from kept.pipeline.erase.files import JournalEntries, OutputFiles, SampleHome, entries_between, erase_feed_from_entries
from kept.pipeline.erase.forget import find_erasure_places, forget, make_erasure_request
from kept.pipeline.erase.holders import list_holders
from kept.pipeline.erase.proof import find_matching_names, find_out_of_reach, find_remaining_words
from kept.pipeline.erase.store import BackupCopies
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import export_archive
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from kept.store.sqlite import SqliteStore
from kept.store.traces import traces
from talking import say

SAID = "Never deploy the harbour service on Fridays, because the tide crew is away."
NEAR = "Don't deploy the harbour service on a Friday, the tide crew is away."
OTHER = "Never use pip in this repo, always use `uv sync` instead."
WORDS = ErasureWords(sentences=(SAID,))
DAY = date(2026, 1, 5)


def told(workspace, *said):
    return make_erasure_request(workspace, said=said or [SAID])


KEPT_IN = {  # files below the state folder, and the holder that answers for them
    "what agents observed": ("agents/one/two.jsonl",),
    "logs and notes of runs": (
        *("night.log", "night.log.1", "errors.log", "errors.log.1", "night.json", "failures.json", "setup.json", "unread.json"),
        *("written.json", "first_commits.json", "branches.json", "held.json", "judged.jsonl"),
    ),
    "what hooks left": ("hooks/x.jsonl",),
    "changes that wait for the server": ("outbox.jsonl",),
    "files put aside": ("aside/memory.md.1", "prompts/p.txt"),
}
GONE = {
    "questions for the user's own agent": ("jobs/q.md",),
    "an archive that was being fetched": ("fetched/a/b.jsonl",),
}
SILENT = (  # files of kept's that hold nobody's words, or that a holder reads otherwise
    *("run.lock", "web.key", "web.port", "embed.sock", "vectors.bin", "vectors.bin.new", "used.log", "used.taken", "program"),
    *("mcp.key", "plugin.since", ".written.json.new", "kept.db.restoring", "kept.db", "kept.db-journal", "replies.db"),
    *("replies.db-journal", "feeds/quay.jsonl", "backups/kept-1.db", "aside/kept.db", "aside/kept.db.1", "aside/kept.db-journal"),
    *("erasing/copy.db", "sample-home/notes/memory.md"),
)


def plant(workspace, *names, text=SAID):
    paths = [workspace.paths.state / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([f"so: {text}"]) if ".json" in path.suffix else f"so: {text}\nRain.\n")
    return paths


def test_every_small_file_below_the_state_folder_is_found_in_order_loses_the_words_and_is_counted(home, desk_at):
    with desk_at(home) as workspace:
        stay = plant(workspace, *(name for names in KEPT_IN.values() for name in names))
        gone = plant(workspace, *(name for names in GONE.values() for name in names))
        holders = {holder.name: holder for holder in list_holders(workspace)}
        for name, names in (KEPT_IN | GONE).items():
            assert [place.where for place in holders[name].find(WORDS)] == [
                *map(str, sorted(workspace.paths.state / each for each in names))
            ]
        done = forget(workspace, told(workspace))
        assert (done.problems, done.remains) == ((), ())
        assert done.places == {name: len(names) for name, names in (KEPT_IN | GONE).items()}
        assert not [path for path in gone if path.exists()]
        for path in stay:
            if path.name != "written.json":  # kept has written it again
                plain = "so: [forgotten].\nRain.\n"
                assert path.read_text() == ('["so: [forgotten]."]' if ".json" in path.suffix else plain), path


def test_a_file_of_json_with_half_a_pair_of_code_points_loses_the_words(home, desk_at):
    with desk_at(home) as workspace:
        (path,) = plant(workspace, "hooks/x.jsonl")
        path.write_text(json.dumps([f"\ud83d {SAID}"]) + "\n")
        done = forget(workspace, told(workspace))
        assert (done.problems, done.remains) == ((), ())
        assert path.read_text() == '["\\ud83d [forgotten]."]\n'


def test_of_every_file_that_holds_no_words_or_is_read_otherwise_a_holder_takes_care(home, desk_at):
    with desk_at(home) as workspace:
        claims = [claim for holder in list_holders(workspace) for claim in holder.claims]
    for name in SILENT:
        path = PurePath(name)
        assert any(
            name.startswith(claim.removesuffix("**/*"))
            if claim.endswith("**/*")
            else len(path.parts) == len(PurePath(claim).parts) and path.match(claim)
            for claim in claims
        ), name


def test_a_file_without_the_words_is_not_written(home, desk_at):
    recording = home / "recording.jsonl"
    recording.write_text(json.dumps({"key": "k", "text": OTHER}) + "\n\n")
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text(f'[llm]\nrecording = "{recording}"\n')
    with desk_at(home) as workspace:
        paths = [recording, *plant(workspace, *(name for names in (KEPT_IN | GONE).values() for name in names), text=OTHER)]
        before = [(path.stat().st_ino, path.read_bytes()) for path in paths]
        assert {holder.name: count for holder in list_holders(workspace) if (count := holder.erase(WORDS))} == {}
        assert [(path.stat().st_ino, path.read_bytes()) for path in paths] == before


DAMAGED = {
    "bytes.json": (f'["caf\xe9", "{SAID}"]'.encode("latin-1"), '["caf\ufffd","[forgotten]."]'.encode()),
    "bytes.log": (f"caf\xe9 {SAID}\n".encode("latin-1"), "caf\ufffd [forgotten].\n".encode()),
    "half.json": (f'["a", "{SAID}"'.encode(), b'["a", "[forgotten]."'),
    "deep.json": (b"[" * 50_000 + f'"{SAID}"'.encode(), b"[" * 50_000 + b'"[forgotten]."'),
    "pair.json": (f'["\\ud800", "{SAID}"]'.encode(), b'["\\ud800", "[forgotten]."]'),
    "lines.jsonl": (
        f'{{"a": "{SAID}"}}\n{{"b": "{SAID}\n{{"c": 1}}\n'.encode(),
        b'{"a":"[forgotten]."}\n{"b": "[forgotten].\n{"c": 1}\n',
    ),
    "empty.json": (b"", b""),
}


def test_a_damaged_file_loses_the_words_and_nothing_else(home, desk_at):
    with desk_at(home) as workspace:
        (folder := workspace.paths.state / "hooks").mkdir()
        for name, (before, _) in DAMAGED.items():
            (folder / name).write_bytes(before)
        assert forget(workspace, told(workspace)).problems == ()
    assert {name: (folder / name).read_bytes() for name in DAMAGED} == {name: after for name, (_, after) in DAMAGED.items()}


@pytest.mark.parametrize("name", ["night.log", "jobs/q.md"])
def test_a_file_that_changes_while_it_is_read_is_left_to_whoever_writes_it_and_told(home, desk_at, monkeypatch, name):
    with desk_at(home) as workspace:
        (path,) = plant(workspace, name)
        real, times = files.read_file, count()

        def read_then_change(each):
            content = real(each)
            if each == path:
                each.write_text(f"{next(times)} {SAID}")
            return content

        monkeypatch.setattr(files, "read_file", read_then_change)
        done = forget(workspace, told(workspace))
        assert len(done.problems) == 1
        assert str(path) in done.problems[0]
        assert SAID in path.read_text()


def test_a_store_that_was_put_aside_stays_a_store(home, desk_at):
    say(home, "a", f"Remember: {SAID}", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        aside = workspace.paths.state / "aside" / "kept.db"
        workspace.store.copy_to(aside)
        done = forget(workspace, told(workspace))
        assert (done.problems, done.remains, done.places["backups"]) == ((), (), 1)
    with SqliteStore(aside) as store:
        assert store.find_damage() == ()
        assert [memory.content for memory in store.log.memories() if memory.content] == [OTHER]
    assert list(traces(aside, WORDS)) == []


def test_the_home_of_the_sample_is_one_place_wherever_in_it_the_words_stand(tmp_path):
    sample = SampleHome(folder=tmp_path / "sample-home")
    (sample.folder / "a" / "b").mkdir(parents=True)
    (sample.folder / "a" / "b" / "notes.md").write_text(OTHER)
    assert list(sample.find(WORDS)) == []
    assert sample.erase(WORDS) == 0
    (sample.folder / "a" / "more.md").write_text(SAID)
    assert [(place.where, place.text) for place in sample.find(WORDS)] == [(str(sample.folder), "")]
    assert sample.erase(WORDS) == 1
    assert not sample.folder.exists()


# backups


def test_a_copy_in_which_the_words_are_still_found_is_not_used(home, desk_at, monkeypatch, tmp_path_factory):
    class Idle:
        def __init__(self, **_):
            pass

        def erase(self, _):
            return 0

    say(home, "a", f"Remember: {SAID}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        theirs = create_backup(workspace, tmp_path_factory.mktemp("disk") / "theirs.db")
        own = create_backup(workspace, workspace.paths.backups / "kept-2025-01-01.db")
        before = theirs.read_bytes()
        monkeypatch.setattr("kept.pipeline.erase.store.StoreHolder", Idle)
        done = forget(workspace, told(workspace))
        (problem,) = done.problems
        hint = "delete what you do not need (it may still contain the words)"
        assert problem == f"backups: 1 rewritten, and not: {theirs} (the words are still in it) → {hint}"
        assert [place for place in done.remains if str(theirs) in place]
        assert (theirs.read_bytes() == before, own.exists()) == (True, False)
        assert not (workspace.paths.state / "erasing").exists()


def test_a_copy_that_disappears_while_it_is_rewritten_is_no_problem(home, desk_at, monkeypatch):
    say(home, "a", f"Remember: {SAID}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        own = create_backup(workspace, workspace.paths.backups / "kept-2025-01-01.db")

        def vanish(path, stage):
            path.unlink()
            raise FileNotFoundError(path)

        monkeypatch.setattr("kept.pipeline.erase.store.make_working_copy", vanish)
        assert forget(workspace, told(workspace)).problems == ()
        assert not own.exists()


def test_a_backup_outside_of_this_home_is_named_and_one_inside_is_not(home, desk_at, tmp_path_factory):
    say(home, "a", f"Remember: {SAID}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        theirs = create_backup(workspace, tmp_path_factory.mktemp("disk") / "theirs.db")
        create_backup(workspace, home / "mine.db")
        done = forget(workspace, told(workspace))
        assert (done.outside, done.places["backups"], done.problems) == ((str(theirs),), 2, ())
        assert list(BackupCopies(workspace=workspace).find(WORDS)) == []
        assert BackupCopies(workspace=workspace).erase(WORDS) == 0


def test_turns_that_are_forgotten_go_out_of_backups_also_where_no_words_are_looked_for(home, desk_at):
    say(home, "a", "How long is the old quay at low tide?", day="2026-01-05")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        copy = create_backup(workspace, home / "mine.db")
        request = make_erasure_request(workspace, until=workspace.day_bounds(DAY)[1])
        assert request.words.runs == ()
        done = forget(workspace, request)
        assert (done.problems, done.places["backups"]) == ((), 1)
    assert list(traces(copy, ErasureWords(sentences=("How long is the old quay at low tide?",)))) == []


# files that kept writes


def test_a_line_of_a_persons_own_in_a_file_that_kept_writes_goes_and_the_others_stay(home, desk_at):
    say(home, "a", f"Remember: {OTHER}")
    with desk_at(home, also=("journal",)) as workspace:
        person.create_memory(workspace, "The crane is blue since May.", "journal.insights")
        run_pipeline(workspace, [], RunOptions())
        memory_file, view = home / ".claude" / "rules" / "memory.md", home / "kept" / "journal.json"
        memory_file.write_text(f"{memory_file.read_text()}\nOne of mine: {SAID}\nAnother of mine.\nAgain: {SAID}\n")
        view.write_text(json.dumps(json.loads(view.read_text()) | {"mine": SAID}))
        outputs, before = OutputFiles(workspace=workspace), memory_file.read_text().split("\n")
        places = {place.where: place.text for place in outputs.find(WORDS)}
        assert places.keys() == {str(memory_file), str(view)}
        assert all("Never deploy the harbour service" in text for text in places.values())
        assert outputs.erase(WORDS) == 3
        assert memory_file.read_text().split("\n") == [line for line in before if SAID not in line]
        assert json.loads(view.read_text())["mine"] == "[forgotten]."
        assert outputs.erase(WORDS) == 0


def test_a_copy_of_a_section_above_it_stays_when_a_line_of_the_section_goes(home, desk_at):
    say(home, "a", f"Remember: {OTHER}", f"Remember: {SAID}")
    config, agents = home / ".config" / "kept" / "config.toml", home / ".codex" / "AGENTS.md"
    for path in (config, agents):
        path.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('sections = ["codex"]\n')
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        section = agents.read_text()
        assert SAID in section
        copy = f"# What kept wrote last week\n\n```\n{section}```\n\n"
        agents.write_text(copy + section)
        OutputFiles(workspace=workspace).erase(WORDS)
        assert agents.read_text() == copy + "".join(line for line in section.splitlines(keepends=True) if SAID not in line)


def test_what_was_last_written_loses_the_line_of_the_words_and_no_other(home, desk_at):
    say(home, "a", f"Remember: {OTHER}", f"Remember: {SAID}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path = next(name for name in workspace.store.outputs() if name.endswith("memory.md"))
        before = [line.text for line in workspace.store.output_states(path)[0].lines]
        assert [text for text in before if SAID in text]
        (home / ".claude" / "rules" / "memory.md").unlink()
        assert OutputFiles(workspace=workspace).erase(WORDS) == len(
            [name for name in workspace.store.outputs() if "memory.md" in name]
        )
        assert [line.text for line in workspace.store.output_states(path)[0].lines] == [text for text in before if SAID not in text]


# the journal


@pytest.fixture
def entry_of(home, desk_at):
    """A home with a journal entry that quotes what was said, and the entry."""
    say(home, "one-session", "Tell the pilots that the tide gauge key hangs behind the blue lantern.", OTHER, day="2026-01-05")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        yield workspace, write_journal_entry(workspace, make_entry_options(workspace), DAY).path


def test_an_entry_that_kept_wrote_stays_one_that_nobody_edited_and_its_lines_are_counted(entry_of):
    workspace, entry = entry_of
    words = ErasureWords(sentences=("the tide gauge key hangs behind the blue lantern",))
    lines = [line for line in entry.read_text().split("\n") if "blue lantern" in line]
    assert [place.where for place in JournalEntries(workspace=workspace).find(words)] == [str(entry)] * len(lines)
    assert JournalEntries(workspace=workspace).erase(words) == len(lines) > 0
    assert not is_entry_edited(entry.read_text())
    assert entry.read_text().count("\n- [forgotten]\n") >= 1
    assert JournalEntries(workspace=workspace).erase(words) == 0


def test_a_near_copy_that_a_person_wrote_into_an_entry_is_shown(entry_of):
    workspace, entry = entry_of
    entry.write_text(f"{entry.read_text()}\n{NEAR}\n")
    (near,) = [place for place in find_erasure_places(workspace, told(workspace)) if place.near]
    assert (near.holder, near.where, near.text) == ("the journal", str(entry), NEAR)
    done = forget(workspace, told(workspace), also=[near.id])
    assert (done.near, done.places["the journal"], NEAR in entry.read_text()) == ((), 1, False)


def test_what_a_memory_that_stays_says_stays_in_the_entry_of_a_session_that_is_forgotten(entry_of):
    workspace, entry = entry_of
    told = "Tell the pilots that the tide gauge key hangs behind the blue lantern."
    person.create_memory(workspace, told, "decision")
    forget(workspace, make_erasure_request(workspace, source="one-session"))
    assert "behind the blue lantern" in entry.read_text()


def test_an_entry_with_bytes_that_are_no_text_loses_the_words(entry_of):
    workspace, entry = entry_of
    entry.write_bytes(entry.read_bytes() + f"caf\xe9. {SAID}\n".encode("latin-1"))
    assert forget(workspace, told(workspace)).problems == ()
    assert entry.read_text().endswith("caf\ufffd. [forgotten].\n")


def test_lines_about_a_source_go_out_of_the_section_about_the_outside_alone(entry_of):
    workspace, entry = entry_of
    section = ("- quay: The water is high.", f"- dock: They say: {SAID}", "- dock: The crane is blue.")
    behind = ("- quay: my own line", f"They said: {SAID}")
    text = "\n".join((entry.read_text(), OUTSIDE, *section, OUTSIDE_END, *behind, ""))
    entry.write_text(text)
    erase_feed_from_entries(workspace, "quay", WORDS)
    left = entry.read_text()
    for line in (*section[:2],):
        text = text.replace(line, "- [forgotten]", 1)
    assert left == text


def test_entries_are_those_of_any_of_several_spans_in_the_persons_own_time(home, desk_at):
    with desk_at(home) as workspace:
        folder = home / "journal"
        folder.mkdir()
        for day in (5, 6, 9):
            head = f"---\ngenerated_by: kept\nkind: day\ndate: 2026-01-0{day}\nuntil: 2026-01-0{day}\n---\n"
            (folder / f"{day}.md").write_text(head)
        starts = {day: workspace.day_bounds(date(2026, 1, day))[0] for day in range(1, 11)}
        for spans, days in (
            ([(starts[6], None)], ["6", "9"]),
            ([(None, starts[5])], ["5"]),
            ([(starts[1], starts[2]), (starts[9], starts[10])], ["9"]),
            ([(starts[5], starts[5]), (starts[9], starts[9])], ["5", "9"]),
            ([], []),
        ):
            assert [path.stem for path in entries_between(workspace, spans)] == days


# the proof, and what is out of reach


@pytest.mark.parametrize(
    ("said", "folder", "remain"),
    [
        ("Never deploy the harbour on Fridays", "Never-deploy-the-harbour-on-Fridays", False),
        ("Never deploy the harbour on Fridays", "Never deploy the harbour on Fridays", True),
        ("Never deploy harbour on Fridays", "Never-deploy-harbour-on-Fridays", True),
    ],
)
def test_names_of_six_words_without_a_blank_are_no_prose_and_others_remain(home, desk_at, said, folder, remain):
    say(home, "a", OTHER, cwd=f"/x/{folder}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        remains = find_remaining_words(workspace, ErasureWords(sentences=(said,)))
        assert bool(remains) is remain
        assert list(remains) == sorted(remains)


def test_names_that_hold_the_words_are_listed_the_shortest_first(home, desk_at):
    folder, name = "zNever-deploy-the-harbour-service-on-Fridays", "a-never-deploy-the-harbour-service-on-Fridays-because"
    words = ErasureWords(sentences=("deploy the harbour service on fridays",))
    say(home, "a", OTHER, cwd=f"/x/{folder}", name=name)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert find_matching_names(workspace, words) == (folder, name, f"{name}.jsonl")


def test_what_is_out_of_reach_is_named_by_its_kind_and_in_order(home, desk_at):
    paths = [say(home, session, SAID) for session in ("b", "a")]
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        for name in ("all", "part"):
            export_archive(workspace, home / f"{name}.jsonl.gz")
        (home / "part.jsonl.gz").write_bytes(b"nothing")
        create_backup(workspace, home / "mine.db")
        mine = workspace.paths.config / "more" / "mine.toml"
        mine.parent.mkdir(parents=True)
        mine.write_text(f"# {SAID}\n")
        (workspace.paths.config / "also.toml").write_text(f"# {SAID}\n")
        (home / "journal").mkdir()
        note = home / "journal" / "note.md"
        note.write_text(SAID)
        names = [text.split(": ")[0] for text in find_out_of_reach(workspace, WORDS, map(str, [*paths, note]))]
        assert names == [
            *(f"{path} still says it" for path in (paths[1], paths[0], note)),
            *(f"{path} still says it" for path in (workspace.paths.config / "also.toml", mine)),
            *(f"{home / 'part.jsonl.gz'} may say it", f"{home / 'all.jsonl.gz'} still says it"),
        ]


def test_a_transcript_of_a_session_that_is_forgotten_is_named_while_it_is_there(home, desk_at):
    path, other = (say(home, f"{name}-session", OTHER) for name in ("one", "two"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        words = make_erasure_request(workspace, source="one-session").words
        assert [text for text in find_out_of_reach(workspace, words, ()) if "session" in text] == [
            f"{path} still contains the session: the file belongs to another program"
        ]
        path.unlink()
        assert not [text for text in find_out_of_reach(workspace, words, ()) if str(path) in text]
    assert other.exists()


def test_the_history_of_a_repository_is_named_once_if_kept_writes_files_there(home, desk_at):
    with desk_at(home) as workspace:
        person.create_memory(workspace, OTHER, "constraint")
        run_pipeline(workspace, [], RunOptions())
        assert not [text for text in find_out_of_reach(workspace, WORDS, ()) if "history" in text]
        (home / ".claude" / ".git").mkdir()
        (home / ".claude" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        assert [text for text in find_out_of_reach(workspace, WORDS, ()) if "history" in text] == [
            f"the history of the repository {home / '.claude'} may say it, because kept writes a file there"
        ]
