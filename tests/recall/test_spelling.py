"""Mistyped and half-typed words of a search."""

import pytest

from kept.memories import person
from kept.recall.spelling import correct_spelling, excerpt


@pytest.fixture
def desk(desk_at, tmp_path):
    with desk_at(tmp_path) as workspace:
        person.create_memory(workspace, "Store every checkpoint under .saves, never in the repository.", "constraint")
        yield workspace


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("where do chekpoints go", "where do checkpoints go"),
        ("checkpiont", "checkpoint"),
        ("reposittory", "repository"),
        ("the checkp", "the checkpoint"),
        ("checkpoint", "checkpoint"),
        ("zeppelin", "zeppelin"),
        ("checkpoint7", "checkpoint7"),
        ("", ""),
    ],
)
def test_a_word_that_nothing_has_becomes_the_one_that_is_meant(desk, typed, meant):
    assert correct_spelling(desk, typed) == meant


def test_a_token_too_long_to_be_a_word_stays_as_it_was_typed(desk):
    token = "aGVsbG8gd29ybGQgaG93IGFyZSB5b3U".lower()
    person.create_memory(desk, f"The badge of the front gate says {token}.", "constraint")
    assert correct_spelling(desk, token[:-2] + token[-1]) == token[:-2] + token[-1]


def test_an_excerpt_has_the_words_in_the_middle_of_a_long_text():
    text = f"{'before ' * 200}the walnut fell {'after ' * 200}"
    found = excerpt(text, ["walnut"], 120)
    assert "the walnut fell" in found
    assert len(found) <= 122
    assert (found[0], found[-1]) == ("…", "…")
    assert "the walnut" in excerpt(f"{'ß' * 300} the walnut fell {'after ' * 200}", ["walnut"], 60)
    assert "walnut" in excerpt(f"{'x' * 500}walnut{'y' * 500}", ["walnut"], 60)
    assert excerpt("short", ["walnut"], 120) == "short"
