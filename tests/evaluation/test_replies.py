"""Recorded replies of readers: what kept's checks let through of them, and by what each passage was lost."""

import json

import pytest

from kept.core.errors import UsageError
from kept.core.memory import UNTRIED
from kept.evaluation.replies import UNPROPOSED, collect_questions, format_typed, replay_recordings
from kept.evaluation.turns import ACTIVE
from kept.pipeline.trial import load_questions
from talking import OTHER, RULE, say

LOST = "The harbor map must be drawn without any shadows in `map.py`."


@pytest.fixture
def sessions(home, tmp_path):
    say(home / "read", "s1", RULE, "thanks, go on")
    say(home / "read", "s2", OTHER, "thanks, go on")
    say(home / "read", "s3", LOST, "thanks, go on")
    folder = tmp_path / "annotated"
    folder.mkdir()
    turns = [
        {"id": text[:9], "source": "harbor", "session": f"s{number}", "before": "", "text": text}
        for number, text in enumerate((RULE, OTHER, LOST), 1)
    ]
    labels = [
        {"id": RULE[:9], "label": "keep", "quote": RULE, "importance": 3},
        {"id": OTHER[:9], "label": "drop", "quote": OTHER, "why": "one_off"},
        {"id": LOST[:9], "label": "keep", "quote": LOST, "importance": 3},
    ]
    for name, rows in (("turns", turns), ("labels", labels)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return home / "read", folder


def test_the_fate_of_each_passage_is_told_of_recorded_replies(desk_at, home, sessions, tmp_path):
    read, folder = sessions
    reader = tmp_path / "replies" / "careful"
    reader.mkdir(parents=True)
    for number, ask in collect_questions(desk_at, read)[0].items():
        lines = [line for line in ask.prompt.splitlines() if RULE in line and line.startswith("[e")]
        claims = [{"category": "constraint", "event": line[1 : line.index("]")], "passage": RULE} for line in lines]
        (reader / f"{number}.json").write_text(json.dumps({"memories": claims}))
    (found,) = replay_recordings(desk_at, reader.parent, folder, read)
    assert found.losses[3] == {ACTIVE: 1, UNPROPOSED: 1}
    assert (found.reader, found.unreadable, found.score.count_right("active")) == ("careful", {}, (1, 1))
    assert [(memory["content"], memory["status"]) for memory in found.memories] == [(RULE, "active")]


@pytest.mark.parametrize("right", [True, False])
def test_what_a_reader_proposes_waits_where_its_replies_to_the_trial_fail(desk_at, sessions, tmp_path, right):
    read, folder = sessions
    reader = tmp_path / "replies" / "careful"
    (reader / "trial").mkdir(parents=True)
    for number, row in enumerate(load_questions(), 1):
        said = [ways[0] for ways in row["wanted"]] if right else row["unwanted"]
        claims = [{"category": "constraint", "event": "e0", "passage": words} for words in said]
        (reader / "trial" / f"{number:02}.json").write_text(json.dumps({"memories": claims}))
    for number, ask in collect_questions(desk_at, read)[0].items():
        lines = [line for line in ask.prompt.splitlines() if LOST in line and line.startswith("[e")]
        claims = [{"category": "constraint", "event": line[1 : line.index("]")], "passage": LOST} for line in lines]
        (reader / f"{number}.json").write_text(json.dumps({"memories": claims}))
    (found,) = replay_recordings(desk_at, reader.parent, folder, read)
    assert found.trial.passes == right
    assert found.losses[3][f"held: {UNTRIED}"] == (not right)


def test_half_a_reply_is_told_and_gives_nothing(desk_at, sessions, tmp_path):
    read, folder = sessions
    for number in collect_questions(desk_at, read)[0]:
        (tmp_path / f"{number}.json").write_text('{"memories": [{"category": "constraint", "eve')
    (found,) = [each for each in replay_recordings(desk_at, tmp_path, folder, read) if each.reader == tmp_path.name]
    assert found.questions == 0
    assert set(found.unreadable.values()) == {"the reply ends in the middle of its JSON"}


def test_a_folder_without_replies_is_named(desk_at, sessions, tmp_path):
    read, folder = sessions
    with pytest.raises(UsageError, match="no replies"):
        replay_recordings(desk_at, folder, folder, read)


def test_readers_share_one_reading_of_the_transcripts_and_none_sees_anothers_memories(desk_at, sessions, tmp_path):
    read, folder = sessions
    opened = []

    def counted(place):
        opened.append(place)
        return desk_at(place)

    for number, ask in collect_questions(desk_at, read)[0].items():
        (line,) = [line for line in ask.prompt.splitlines() if LOST in line and line.startswith("[e")]
        claim = {"category": "constraint", "event": line[1 : line.index("]")], "passage": LOST}
        for reader, claims in (("careful", [claim]), ("silent", [])):
            (tmp_path / "replies" / reader).mkdir(parents=True, exist_ok=True)
            (tmp_path / "replies" / reader / f"{number}.json").write_text(json.dumps({"memories": claims}))
    careful, silent = replay_recordings(counted, tmp_path / "replies", folder, read)
    assert len(opened) == 1
    assert (careful.losses[3][ACTIVE], silent.losses[3][ACTIVE]) == (2, 1)  # rules find the other one


def test_a_reply_is_found_again_where_its_events_have_other_numbers_and_its_question_another_id(desk_at, sessions, tmp_path):
    read, folder = sessions
    asks, files = collect_questions(desk_at, read)
    rows = []
    (tmp_path / "replies" / "careful").mkdir(parents=True)
    for number, ask in asks.items():
        old = " ".join(f"{int(event) + 70}:{mark}" for event, mark in (each.split(":") for each in format_typed(ask).split()))
        rows.append({"id": f"old{number}", "sessions": ask.about, "files": [files[each] for each in ask.about], "typed": old})
        line = next(line for line in ask.prompt.splitlines() if RULE in line and line.startswith("[e"))
        claim = {"category": "constraint", "event": f"e{int(line[2 : line.index(']')]) + 70}", "passage": RULE}
        (tmp_path / "replies" / "careful" / f"old{number}.json").write_text(json.dumps({"memories": [claim]}))
    (tmp_path / "manifest.json").write_text(json.dumps({"questions": rows}))
    (found,) = replay_recordings(desk_at, tmp_path / "replies", folder, read)
    assert (found.replies, found.turns[0]) == ((1, 1), found.turns[1])
    assert found.losses[3][ACTIVE] == 1


def test_typed_turns_that_are_in_no_question_any_more_are_told(desk_at, sessions, tmp_path):
    read, folder = sessions
    (ask,) = collect_questions(desk_at, read)[0].values()
    typed = f"{format_typed(ask)} 900:deadbeef"
    (tmp_path / "replies" / "careful").mkdir(parents=True)
    (tmp_path / "replies" / "careful" / "old.json").write_text('{"memories": []}')
    (tmp_path / "manifest.json").write_text(json.dumps({"questions": [{"id": "old", "sessions": ask.about, "typed": typed}]}))
    (found,) = replay_recordings(desk_at, tmp_path / "replies", folder, read)
    assert found.turns == (len(typed.split()) - 1, len(typed.split()))
