"""Single places that forgetting reaches: views, damaged files, folders, spans of days, and what the report says of them."""

import json
from datetime import date

import pytest

from kept.core.erasure import ErasureWords
from kept.core.summary import Passage, PassageForm
from kept.memories import person
from kept.pipeline.erase.files import OutputFiles
from kept.pipeline.erase.forget import (
    erase_forgotten,
    find_erasure_places,
    forget,
    list_left,
    make_erasure_request,
    preview_out_of_reach,
)
from kept.pipeline.erase.holders import list_holders
from kept.pipeline.erase.proof import find_out_of_reach
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from talking import say

SAID = "Never deploy the harbour service on Fridays, because the tide crew is away."
OTHER = "Never use pip in this repo, always use `uv sync` instead."


def read_and_forget(workspace, said=SAID):
    run_pipeline(workspace, [], RunOptions())
    return forget(workspace, make_erasure_request(workspace, said=[said]))


def test_what_is_left_is_listed_where_words_are_forgotten_once_more_that_another_session_says(home, desk_at):
    says, other = say(home, "a", SAID), say(home, "b", OTHER)
    with desk_at(home) as workspace:
        read_and_forget(workspace)
        forget(workspace, make_erasure_request(workspace, said=[OTHER]))
        again = say(home, "c", SAID, day="2026-01-06")
        read_and_forget(workspace)
        newest, oldest = list_left(workspace).values()
        assert [path for path in (says, other, again) if any(str(path) in told for told in newest)] == [says, other, again]
        assert [path for path in (says, other, again) if any(str(path) in told for told in oldest)] == [says]


ENDS = [
    ("at noon", "by the crane"),
    ("every single morning at noon with the long lens of Ana", "by the crane on every second Friday in autumn and winter"),
]


@pytest.mark.parametrize("ends", ENDS, ids=["most of them", "a part of them"])
def test_two_memories_that_begin_alike_leave_nothing_of_their_common_words(home, desk_at, ends):
    begin = "the old grey heron of the harbour"
    with desk_at(home) as workspace:
        both = [person.create_memory(workspace, f"Photograph {begin} {end}", "constraint") for end in ends]
        log = workspace.paths.state / "night.log"
        log.write_text(f"before {begin} behind\n")
        gone = forget(workspace, make_erasure_request(workspace, both))
        assert (gone.problems, gone.remains) == ((), ())
        assert log.read_text() == "before [forgotten] behind\n"


def test_words_go_out_of_a_memory_file_in_another_encoding(home, desk_at):
    say(home, "a", SAID)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory_file = home / ".claude" / "rules" / "memory.md"
        memory_file.write_bytes(memory_file.read_bytes() + "\nMy café.\n".encode("latin-1"))
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert all("was not taken as an edit" in problem for problem in gone.problems), gone.problems
    assert gone.problems
    assert gone.remains == ()
    assert [path for path in home.rglob("memory.md*") if SAID.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("content", ["", f'{{"mine": "{SAID}'])
def test_a_view_that_a_person_emptied_or_broke_hinders_no_forgetting(home, desk_at, content):
    with desk_at(home, also=("journal",)) as workspace:
        person.create_memory(workspace, SAID, "journal.insights")
        run_pipeline(workspace, [], RunOptions())
        view = home / "kept" / "journal.json"
        assert SAID in view.read_text()
        view.write_text(content)
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert all("was not taken as an edit" in problem for problem in gone.problems), gone.problems
    assert gone.problems
    assert gone.remains == ()
    assert [path for path in home.rglob("*.json*") if SAID in path.read_text()] == []


def test_the_report_counts_a_file_once_of_which_one_line_went(home, desk_at):
    say(home, "a", SAID)
    with desk_at(home) as workspace:
        assert read_and_forget(workspace).places["the files kept writes"] == 1


def test_the_entry_of_the_day_after_a_span_is_not_named(home, desk_at):
    say(home, "a", SAID, day="2026-01-05")
    say(home, "b", OTHER, day="2026-01-06")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        for day in (5, 6):
            write_journal_entry(workspace, make_entry_options(workspace), date(2026, 1, day))
        gone = forget(workspace, make_erasure_request(workspace, until=workspace.day_bounds(date(2026, 1, 5))[1]))
    named = [told for told in gone.out_of_reach if "journal entry" in told]
    assert ["2026-01-05.md" in told for told in named] == [True]


def test_words_go_out_of_files_in_folders_and_the_folders_are_no_problem(home, desk_at):
    with desk_at(home) as workspace:
        deep = workspace.paths.state / "agents" / "one" / "log.jsonl"
        deep.parent.mkdir(parents=True)
        deep.write_text(json.dumps({"text": SAID}) + "\n")
        (workspace.paths.state / "aside" / "old").mkdir(parents=True)
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert (gone.problems, gone.remains) == ((), ())
    assert json.loads(deep.read_text()) == {"text": "[forgotten]."}


def test_a_sentence_that_another_machine_forgot_goes_although_it_never_was_a_memory(home, desk_at):
    said = "Why does the crane inspector come on the second Tuesday only?"
    say(home, "a", said)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert erase_forgotten(workspace, (), said=[said]) == ()
        archive = workspace.store.archive
        assert [event.text for thread in archive.threads() for event in archive.events(thread.id, 0, 9)] == [
            "[forgotten]?",
            "Done.",
        ]


def test_a_recording_with_bytes_that_are_no_text_loses_the_words_and_is_counted(home, desk_at):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text(f'[llm]\nrecording = "{home / "recording.jsonl"}"\n')
    (home / "recording.jsonl").write_bytes(b'{"key": "a", "text": "caf\xe9"}\n' + json.dumps({"key": "b", "text": SAID}).encode())
    with desk_at(home) as workspace:
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert (gone.problems, gone.places["the recording of a model"]) == ((), 1)
    assert [line["key"] for line in map(json.loads, (home / "recording.jsonl").read_text("utf-8").splitlines())] == ["a"]


def test_what_was_worked_on_is_a_place_where_the_task_alone_has_the_words(home, desk_at):
    said = "Rewrite the tide reader of the harbour in `tides.py` so that it reads all gauges."
    say(home, "a", said, "Thanks.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        places = find_erasure_places(workspace, make_erasure_request(workspace, said=[said]))
    assert "what was worked on, 2026-01-05" in [place.where for place in places]


def test_a_file_below_the_state_folder_is_kepts_own_and_never_out_of_reach(home, desk_at):
    with desk_at(home) as workspace:
        own = workspace.paths.state / "agents" / "x.jsonl"
        own.parent.mkdir(parents=True)
        own.write_text(SAID)
        assert find_out_of_reach(workspace, ErasureWords(sentences=(SAID,)), [str(own)]) == ()


def test_a_file_that_is_no_valid_json_loses_the_words_alone(home, desk_at):
    with desk_at(home) as workspace:
        broken = workspace.paths.state / "failures.json"
        broken.write_text(f'[["night read", "{SAID}"')
        forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert broken.read_text() == '[["night read", "[forgotten]."'


def test_a_line_of_a_day_that_says_it_in_another_order_goes_and_is_counted(home, desk_at):
    text = "Because the tide crew is away, on Fridays never deploy the harbour service."
    with desk_at(home) as workspace:
        line = Passage(
            id="0a0b0c0d0e0f00",
            form=PassageForm.OWN,
            day=date(2026, 1, 5),
            scope="user",
            thread=0,
            ordinal=0,
            at=workspace.clock(),
            kind="decisions",
            text=text,
            events=(),
        )
        workspace.store.days.save_passage(line)
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert gone.places["the store"] >= 1
        assert text not in [passage.text for passage in workspace.store.days.passages()]


def test_the_entry_of_a_span_that_was_forgotten_before_is_named_again(home, desk_at):
    say(home, "a", SAID, day="2026-01-05")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        write_journal_entry(workspace, make_entry_options(workspace), date(2026, 1, 5))
        for _ in range(2):
            gone = forget(workspace, make_erasure_request(workspace, until=workspace.day_bounds(date(2026, 1, 5))[1]))
            assert [told for told in gone.out_of_reach if "2026-01-05.md is a journal entry" in told]


def test_whoever_waits_is_told_how_far_the_search_and_the_erasing_are(home, desk_at):
    told = []
    with desk_at(home) as workspace:
        request = make_erasure_request(workspace, said=[SAID])
        forget(workspace, request, progress=lambda *step: told.append(step))
        count = len(list_holders(workspace))
    steps = [(step, number, count) for step in ("searching for the words", "erasing") for number in range(count)]
    assert told == [*steps, ("reading everything again", 0, 0)]


def test_a_view_without_the_words_is_neither_written_nor_counted(home, desk_at):
    with desk_at(home, also=("journal",)) as workspace:
        person.create_memory(workspace, OTHER, "journal.insights")
        run_pipeline(workspace, [], RunOptions())
        assert forget(workspace, make_erasure_request(workspace, said=[SAID])).places.total() == 0


def test_what_could_not_be_erased_of_what_another_machine_forgot_is_told(home, desk_at, monkeypatch):
    def refuse(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kept.pipeline.erase.forget.drop_stale_vectors", refuse)
    with desk_at(home) as workspace:
        (problem,) = erase_forgotten(workspace, (), said=[SAID])
    assert "the search index" in problem
    assert "No space left" in problem


def test_a_file_that_a_link_in_the_state_folder_leads_to_is_the_persons_own(home, desk_at):
    mine = home / "mine.jsonl"
    mine.write_text(f"{SAID}\n")
    with desk_at(home) as workspace:
        link = workspace.paths.state / "hooks" / "x.jsonl"
        link.parent.mkdir(parents=True)
        link.symlink_to(mine)
        done = forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert (done.places.total(), done.problems, done.remains) == (0, (), ())
    assert mine.read_text() == f"{SAID}\n"


def test_a_view_that_nobody_edited_waits_for_the_next_write(home, desk_at):
    with desk_at(home, also=("journal",)) as workspace:
        person.create_memory(workspace, SAID, "journal.insights")
        run_pipeline(workspace, [], RunOptions())
        view = home / "kept" / "journal.json"
        before = view.read_bytes()
        OutputFiles(workspace=workspace).erase(ErasureWords(sentences=(SAID,)))
        assert view.read_bytes() == before


def test_a_look_at_what_was_forgotten_before_says_which_run_left_what(home, desk_at):
    says, other = say(home, "a", SAID), say(home, "b", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memories = workspace.store.log.memories()
        for said in (SAID, OTHER):
            forget(workspace, make_erasure_request(workspace, [each for each in memories if each.content == said]))
        (gone,) = (each.id for each in memories if each.content == SAID)
        (again,) = (each for each in workspace.store.log.memories() if each.id == gone)
        run = max(run for run, left in list_left(workspace).items() if any(str(says) in text for text in left))
        told = preview_out_of_reach(workspace, make_erasure_request(workspace, [again]))
    assert f"{says} still says it: the file belongs to another program (as r{run} found it)" in told
    assert not [text for text in told if str(other) in text]
    assert len({text.partition(" (as r")[0] for text in told}) == len(told)
