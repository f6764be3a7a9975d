"""Evaluating on public sets: rankings, measures, and what a set must look like."""

import json
from contextlib import contextmanager

import pytest

from kept.core.errors import UsageError
from kept.evaluation.retrieval import (
    average_measures,
    bootstrap_interval,
    covered_share,
    ranking_measures,
    run_extraction,
    run_retrieval,
)
from kept.paths import Paths
from kept.workspace import open_workspace

TURNS = {
    "a1": ("s1", "user", "March-15-2024", "We store predictions as Parquet files in the harbor bucket."),
    "a2": ("s1", "assistant", "March-15-2024", "Understood, Parquet it is."),
    "a3": ("s2", "user", "1:56 pm on 8 May, 2024", "Lunch was good today."),
    "a4": ("s2", "user", "2024-05-09 10:00:00", "Always use uv instead of pip for installing packages."),
}


@contextmanager
def workspace(folder):
    with open_workspace(Paths(root=folder, user=folder), zone="UTC", env={"KEPT_EMBEDDINGS": "hashing"}) as found:
        yield found


def lines(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def corpus(tmp_path):
    rows = [{"ns": "x", "id": name, "session": s, "role": r, "date": d, "text": t} for name, (s, r, d, t) in TURNS.items()]
    return lines(
        tmp_path / "corpus.jsonl", [*rows, {"ns": "y", "id": "b1", "session": "s", "role": "user", "date": "", "text": "Parquet"}]
    )


def question(gold, level="turn", query="where are the parquet predictions"):
    return {"qid": "q1", "ns": "x", "query": query, "category": "where", "gold": {level: gold}}


def test_a_space_is_searched_alone_and_its_ranking_measured(tmp_path, corpus):
    queries = lines(tmp_path / "q.jsonl", [question(["a1"])])
    found = run_retrieval(workspace, corpus, queries)
    assert found.rankings["q1"][0] == "a1"
    assert "b1" not in found.rankings["q1"]
    assert found.measures["all"] == {"R@1": 1, "R@5": 1, "R@10": 1, "all@5": 1, "NDCG@10": 1, "MRR": 1}
    assert found.counts == {"all": 1, "where": 1}


def test_sessions_are_ranked_by_their_best_turns(tmp_path, corpus):
    queries = lines(tmp_path / "q.jsonl", [question(["s2"], "session", "which tool installs packages, uv or pip?")])
    assert run_retrieval(workspace, corpus, queries, level="session").rankings["q1"][0] == "s2"


def test_stores_that_are_kept_are_asked_again_and_not_made_again(tmp_path, corpus):
    queries = lines(tmp_path / "q.jsonl", [question(["a1"])])
    first = run_retrieval(workspace, corpus, queries, stores=tmp_path / "stores")
    made = sorted((each, each.stat().st_mtime_ns) for each in (tmp_path / "stores").rglob("*.bin"))
    assert made
    assert run_retrieval(workspace, corpus, queries, stores=tmp_path / "stores").rankings == first.rankings
    assert sorted((each, each.stat().st_mtime_ns) for each in (tmp_path / "stores").rglob("*.bin")) == made


def test_times_of_a_set_are_understood(tmp_path, corpus):
    queries = lines(tmp_path / "q.jsonl", [question(["a1"], query="what happened in March?")])
    assert set(run_retrieval(workspace, corpus, queries).rankings["q1"][:2]) == {"a1", "a2"}


def test_memories_are_measured_against_facts(tmp_path, corpus):
    facts = [{"ns": "x", "fid": "f", "text": "Use uv instead of pip for installing packages.", "sources": ["a4"]}]
    found = run_extraction(workspace, corpus, lines(tmp_path / "f.jsonl", facts))
    assert found.facts == 1
    assert found.measures["found"] == 1
    assert found.measures["told@.7"] == 1
    assert any(each["sources"] == ["a4"] for each in found.memories)


def test_a_file_that_is_no_set_is_told(tmp_path, corpus):
    for text in ("nonsense", "[1]", '{"ns": "x"}'):
        (tmp_path / "q.jsonl").write_text(text)
        with pytest.raises(UsageError, match="not a list of JSON objects"):
            run_retrieval(workspace, corpus, tmp_path / "q.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        run_retrieval(workspace, corpus, tmp_path / "missing")


def test_the_measures_are_those_of_the_textbook():
    found = ranking_measures(("x", "a", "y", "y", "b"), frozenset({"a", "b", "c"}))
    assert found["R@1"] == 0
    assert found["R@5"] == pytest.approx(2 / 3)
    assert found["MRR"] == 0.5
    assert found["all@5"] == 0
    assert found["NDCG@10"] == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093 + 0.5), abs=1e-4)
    assert average_measures([{"a": 1.0}, {"a": 0.0}]) == {"a": 0.5}
    assert average_measures([]) == {}
    assert covered_share("parquet files", []) == 0


def test_an_interval_holds_the_mean_narrows_with_more_questions_and_is_the_same_each_time():
    few, many = ([(float(number % 2), 1.0) for number in range(count)] for count in (20, 400))
    (low, high), (lower, upper) = bootstrap_interval(few), bootstrap_interval(many)
    assert low < lower < 0.5 < upper < high
    assert bootstrap_interval(few) == (low, high)
    assert bootstrap_interval([]) == bootstrap_interval([(0.0, 0.0)]) == (0.0, 0.0)
