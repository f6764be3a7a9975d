"""Recall: what a question asks for."""

from kept.stages.recall.question import MOST_WORDS, telling_words


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
