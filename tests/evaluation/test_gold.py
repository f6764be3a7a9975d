"""Extraction measured on annotated transcripts."""

import json
import random
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from kept.cli.dispatch import main
from kept.core.errors import UsageError
from kept.evaluation.extraction import compare_gold_sets, compare_with_gold
from kept.paths import Paths
from kept.workspace import open_workspace
from talking import OTHER, RULE, say

ITEM = {
    "category": "constraint",
    "importance": 3,
    "trigger": "teaching",
    "origin": "user",
    "must_mention": [["ISO 8601", "RFC 3339"], ["UTC"]],
}
TEMPTING = "Merge conflicts are resolved in favour of the release branch."


@contextmanager
def workspace(folder):
    with open_workspace(Paths(root=folder, user=folder), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as found:
        yield found


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def world(home):
    """Two transcripts, and two sets of annotations that cite one each."""
    for number, words in enumerate((RULE, OTHER)):
        path = say(home / "world", f"s{number}", words, "thanks, go on")
        path.rename(home / "world" / f"s{number}.jsonl")
    for number, (name, item) in enumerate(
        {"dates": ITEM, "packages": ITEM | {"must_mention": [["poetry"]], "importance": 1}}.items()
    ):
        cited = [{"file": f"s{number}.jsonl", "ref": "x", "quote": "q"}]
        lines(home / "world" / "gold" / name / "gold.jsonl", [item | {"id": f"{name}-1", "text": name, "evidence": cited}])
        lines(
            home / "world" / "gold" / name / "negatives.jsonl", [{"file": f"s{number}.jsonl", "quote": TEMPTING, "why": "report"}]
        )
    return home / "world"


def test_each_set_is_read_alone_and_its_memories_are_compared_with_what_it_would_keep(world):
    dates, packages = compare_gold_sets(workspace, world / "gold")
    assert (dates.name, dates.files, dates.comparison.active, dates.comparison.matched) == ("dates", 1, 1, 1)
    assert dates.size == (world / "s0.jsonl").stat().st_size
    assert dates.comparison.recall["importance 3"] == (1, 1)
    assert ["ISO 8601" in each["content"] for each in dates.memories] == [True]
    assert packages.comparison.recall["importance 1"] == (0, 1)
    assert [each["id"] for each in packages.comparison.missed] == ["packages-1"]
    assert ["uv sync" in each["content"] for each in packages.memories] == [True]


def test_nothing_of_the_home_is_read_or_changed(world, home):
    before = sorted(home.rglob("*"))
    assert len(list(compare_gold_sets(workspace, world / "gold" / "dates", world))) == 1
    assert sorted(home.rglob("*")) == before


def test_what_is_no_set_or_cites_what_is_not_there_is_told(world, tmp_path):
    with pytest.raises(UsageError, match=r"no gold\.jsonl"):
        list(compare_gold_sets(workspace, tmp_path / "world"))
    with pytest.raises(UsageError, match="1 of the 1 transcripts"):
        list(compare_gold_sets(workspace, world / "gold" / "dates", tmp_path))
    (world / "s0.jsonl").unlink()
    with pytest.raises(UsageError, match="not near it"):
        list(compare_gold_sets(workspace, world / "gold" / "dates"))
    for text in ("nonsense", "[1]", '{"text": "x"}'):
        (world / "gold" / "packages" / "gold.jsonl").write_text(text)
        with pytest.raises(UsageError, match="not a list of JSON objects"):
            list(compare_gold_sets(workspace, world / "gold" / "packages"))


def told(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_command_prints_recall_by_importance_category_and_trigger(world, capsys):
    code, out, _ = told(capsys, "eval", "extraction", "--gold", world / "gold", "--misses")
    assert code == 0
    assert re.search(r"100.0% +1 of 1 +importance 3", out)
    assert re.search(r"0.0% +0 of 1 +importance 1", out)
    assert re.search(r"100.0% +1 of 1 +trigger teaching", out)
    assert "1 active: 1 match, 0 marked as junk; 0 held" in out
    assert "missed  constraint/1  packages" in out


def test_the_command_gives_the_measures_as_json_and_writes_the_memories(world, capsys, tmp_path):
    code, out, _ = told(
        capsys, "eval", "extraction", "--gold", world / "gold", "--corpus", world, "--out", tmp_path / "m.jsonl", "--json"
    )
    assert code == 0
    found = json.loads(out)["sets"]
    assert found["dates"]["recall"]["importance 3"] == {"found": 1, "of": 1}
    assert found["packages"]["missed"] == ["packages-1"]
    rows = [json.loads(each) for each in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [(each["set"], each["status"]) for each in rows] == [("dates", "active"), ("packages", "active")]


def test_a_gold_set_or_a_corpus_that_is_not_given_is_asked_for(capsys, home):
    assert "needs --gold" in told(capsys, "eval", "extraction", "--corpus", home / "c.jsonl")[2]
    assert "needs --corpus" in told(capsys, "eval", "extraction", "--gold", home / "facts.jsonl")[2]
    assert "needs --queries" in told(capsys, "eval", "retrieval", "--corpus", home / "c.jsonl")[2]


def test_junk_is_counted_apart_among_the_active_and_the_held():
    rows = [
        {"content": words, "category": "decision", "status": status, "evidence": [{"quote": TEMPTING}]}
        for words, status in (("A b.", "active"), ("C d.", "held"), ("E f.", "superseded"))
    ]
    found = compare_with_gold([], [{"quote": TEMPTING}], rows)
    assert (found.active, found.held, len(found.junk), found.held_junk) == (1, 1, 1, 1)


def test_a_memory_is_credited_with_two_items_at_most_and_for_its_first_300_characters_only():
    items = [ITEM | {"text": str(number), "must_mention": [["uv"]], "importance": number} for number in (1, 2, 3)]
    found = compare_with_gold(items, [], [{"content": "Use `uv`.", "category": "decision"}])
    assert [each["text"] for each in found.missed] == ["1"]
    assert compare_with_gold(items, [], [{"content": f"{'x' * 300} uv", "category": "decision"}]).recall["all"] == (0, 3)


@pytest.mark.parametrize("name", ["entireio", "others"])
def test_memories_stand_as_the_scorer_of_the_annotations_says(shared: Path, tmp_path, name):
    folder, draw = shared / "gold" / name, random.Random(7)
    gold, negatives = (
        [json.loads(each) for each in (folder / f"{kind}.jsonl").read_text().splitlines()] for kind in ("gold", "negatives")
    )
    memories = [
        {
            "content": each["text"],
            "category": draw.choice(("decision", each["category"])),
            "status": draw.choice(("active", "active", "held")),
            "evidence": [],
        }
        for each in draw.sample(gold, 50)
    ] + [
        {"content": "Something else entirely.", "category": "decision", "status": "active", "evidence": [{"quote": each["quote"]}]}
        for each in draw.sample(negatives, 20)
    ]
    lines(tmp_path / "m.jsonl", memories)
    out = subprocess.run(
        [sys.executable, shared / "gold" / "score_memories.py", "--gold", folder, "--memories", tmp_path / "m.jsonl"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = compare_with_gold(gold, negatives, memories)
    assert f"memories {found.active}  gold-matched {found.matched}  junk-marked {len(found.junk)} " in out
    assert f"held {found.held}\n" in out
    assert f"category agreement {found.agreeing}/{found.recall['all'][0]}\n" in out
    for key, (hit, of) in found.recall.items():
        told_of = key.removeprefix("category ")
        assert re.search(rf"recall {re.escape(told_of)} +{hit}/{of} ", out), key
