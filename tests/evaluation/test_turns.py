"""Memories against turns that are annotated completely: precision, recall, reliability, by source, and what each rule adds."""

import json

import pytest

from kept.cli.dispatch import main
from kept.core.errors import UsageError
from kept.evaluation.turns import compare_with_turns, load_annotations
from talking import OTHER, RULE, say

TURNS = [
    {"id": "a", "source": "harbor", "session": "s1", "before": "", "text": RULE},
    {"id": "b", "source": "pier", "session": "s2", "before": "Done.", "text": OTHER},
]
LABELS = [
    {"id": "a", "label": "keep", "quote": RULE, "importance": 3},
    {"id": "b", "label": "drop", "quote": OTHER, "why": "one_off"},
]


def lines(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "annotated"
    made.mkdir()
    lines(made / "turns.jsonl", TURNS)
    lines(made / "labels.jsonl", LABELS)
    return made


def memory(quote, status="active", confidence=0.95):
    return {"content": quote, "status": status, "confidence": confidence, "evidence": [{"quote": quote}]}


def test_a_memory_is_right_where_its_words_are_worth_keeping_and_wrong_where_they_are_not(folder):
    score = compare_with_turns(load_annotations(folder), [memory(RULE), memory(OTHER), memory("It stands in no turn at all.")])
    assert (score.count_right("active"), score.elsewhere["active"]) == ((1, 2), 1)
    assert (score.count_right("active", "harbor"), score.count_right("active", "pier")) == ((1, 1), (0, 1))
    assert [each.why for each in score.judged] == ["", "one_off"]


def test_only_active_memories_count_as_found(folder):
    score = compare_with_turns(load_annotations(folder), [memory(RULE, "held", 0.5)])
    assert (score.found[3], score.wanted[3], score.count_right("held")) == (0, 1, (1, 1))
    assert score.reliability() == {0.5: (1, 1)}


def test_a_row_without_its_fields_is_named_with_its_line(folder):
    lines(folder / "turns.jsonl", [*TURNS, {"id": "c"}])
    with pytest.raises(UsageError, match="line 3 has not all of"):
        load_annotations(folder)


def test_the_command_reports_precision_by_source_and_what_each_rule_adds(folder, home, capsys):
    say(home / "read", "s1", RULE, "thanks, go on")
    say(home / "read", "s2", OTHER, "thanks, go on")
    with pytest.raises(SystemExit) as ended:
        main(["eval", "extraction", "--turns", str(folder), "--corpus", str(home / "read"), "--ablate", "--json"])
    assert ended.value.code == 0
    body = json.loads(capsys.readouterr().out)
    assert body["precision"]["active"] == {"right": 1, "of": 2}
    assert body["by_source"]["pier"]["active"] == {"right": 0, "of": 1}
    assert body["recall"]["3"] == {"found": 1, "of": 1}
    without = body["ablation"]["here"]
    assert (without["harbor"]["active right"], without["pier"]["active wrong"]) == (-1, -1)
    assert body["ablation"]["reminisce"] == {}
