"""Recall: what a question asks for, what facts score, how words and meanings add up."""

from datetime import UTC, datetime, timedelta

import pytest

from cases import each_case
from kept.local.recall_settings import RecallSettings
from kept.recall.indexing import LONGEST, MOST, split_pieces
from kept.recall.question import MOST_WORDS, telling_words
from kept.recall.rank import add_conversation_score, add_surroundings, conversation_scores, fuse_scores
from kept.recall.relevance import Spread, cosine_spread, fact_score


def test_words_of_grammar_are_not_looked_for_unless_there_are_no_others():
    assert telling_words("What did we decide about the release?") == ("decide", "release")
    assert telling_words("to be or not") == ("to", "be", "or", "not")


def test_identifiers_and_paths_are_looked_for_whole_and_by_their_parts():
    assert {"parseconfig", "parse", "config"} <= set(telling_words("where is parseConfig"))
    assert {"srcappmainpy", "src", "app", "main", "py"} <= set(telling_words("open src/app/main.py"))


def test_a_long_paste_keeps_the_words_at_both_of_its_ends_within_bounds():
    words = telling_words("deploy failed " + "x1 " * 500_000 + " permission denied")
    assert {"deploy", "permission", "denied"} <= set(words)
    assert len(words) <= MOST_WORDS


NOW = datetime(2026, 3, 1, tzinfo=UTC)


@each_case(
    ("likeness", "days", "uses", "confidence", "expected"),
    [
        (0.5, 0, 0, 1.0, 0.6),  # seen now: the whole boost
        (0.5, 3.5, 0, 1.0, 0.55),  # half of the seven days
        (0.5, 7, 0, 1.0, 0.5),
        (0.5, 400, 0, 1.0, 0.5),
        (0.5, -3, 0, 1.0, 0.6),  # a clock that was ahead
        (0.5, 400, 50, 1.0, 0.55),
        (0.5, 400, 10**9, 1.0, 0.55),
        (0.5, 0, 50, 0.5, 0.325),  # everything is weighted by confidence
    ],
)
def test_a_fact_scores_by_likeness_recency_and_use_weighted_by_confidence(likeness, days, uses, confidence, expected):
    seen = NOW - timedelta(days=days)
    score = fact_score(likeness, last_seen=seen, now=NOW, uses=uses, confidence=confidence, weights=RecallSettings())
    assert score == pytest.approx(expected)


def test_an_undated_fact_gets_no_boost_and_every_weight_is_a_setting():
    assert fact_score(0.5, last_seen=None, now=NOW, uses=0, confidence=1, weights=RecallSettings()) == 0.5
    flat = RecallSettings(recent_boost=0, use_boost=0)
    assert fact_score(0.5, last_seen=NOW, now=NOW, uses=9, confidence=1, weights=flat) == 0.5


def test_words_and_meaning_add_up_and_what_an_assistant_said_counts_less():
    scores = fuse_scores({1: 8.0, 2: 4.0, 3: 8.0}, {2: 0.6, 4: 0.35}, frozenset({3}))
    assert sorted(scores, key=scores.get, reverse=True) == [2, 1, 3, 4]
    assert scores[2] == pytest.approx(0.75)
    assert fuse_scores({}, {}) == {}
    assert fuse_scores({3: 5.0}, {}, frozenset({3})) == {3: pytest.approx(0.3)}


def test_what_was_said_beside_an_answer_comes_in_by_it_but_a_reply_does_not():
    scores = add_surroundings({5: 1.0, 6: 0.4}, {5: (4, 6), 6: (5, 7)}, frozenset({7}))
    assert scores == {5: pytest.approx(1.08), 6: pytest.approx(0.6), 4: pytest.approx(0.2)}


def test_a_conversation_that_tells_more_of_a_question_in_fewer_words_is_worth_more():
    rare, common = {1: (1, 20)}, {1: (1, 20), 2: (1, 20), 3: (1, 200)}
    worth = conversation_scores([rare, common], 40, 800)
    assert worth[1] == 1.0 > worth[2] > worth[3] > 0
    assert conversation_scores([], 0, 0) == conversation_scores([{}], 3, 30) == {}
    assert add_conversation_score(0.6, worth[1]) > add_conversation_score(0.6, worth[2]) > add_conversation_score(0.6, 0.0)
    assert add_conversation_score(1.0, 1.0) == 1.0


def test_a_long_text_is_cut_into_pieces_a_model_can_read():
    assert split_pieces("  short  ") == ("short",)
    assert split_pieces(" \n ") == ()
    text = "\n\n".join(f"Paragraph {n}. " + "words " * 60 for n in range(12))
    found = split_pieces(text)
    assert 1 < len(found) <= MOST
    assert all(len(each) <= LONGEST for each in found)
    assert found[0].startswith("Paragraph 0.")
    assert found[-1].endswith("words")
    assert all(len(each) <= LONGEST for each in split_pieces("x" * 100_000))


def test_what_a_message_has_in_common_with_a_project_is_average_and_deviation_and_supposed_where_there_are_few_memories():
    assert cosine_spread([], 0) == pytest.approx((0.08, 0.1, 0))
    usual, deviation, _ = cosine_spread([0.3, 0.35, 0.4, 0.45, 0.25] * 20, 100)
    assert (usual, deviation) == (pytest.approx(0.305, abs=0.01), pytest.approx(0.13, abs=0.01))


def test_a_memory_stands_out_among_others_or_by_a_high_cosine_where_all_of_them_are_near():
    assert Spread(0.1, 0.1, 84).deviations_above(0.4) == pytest.approx(3)
    assert Spread(0.4, 0.1, 84).deviations_above(0.4) < 2
    assert Spread(0.8, 0.1, 84).deviations_above(0.8) == pytest.approx(4)


def test_a_memory_of_a_small_project_stands_out_sooner_than_one_of_a_large_one():
    small, usual, large = (Spread(0.1, 0.1, count).deviations_above(0.4) for count in (10, 84, 1_000))
    assert small > usual + 0.5
    assert usual > large + 0.5
