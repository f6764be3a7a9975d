"""Mistyped and half-typed words of a search."""

import pytest

from kept.memories import person
from kept.recall.embed import MANY_PACK
from kept.recall.index import Index
from kept.recall.spelling import correct_spelling, excerpt, has_meaning


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


@pytest.mark.parametrize("word", ["nine", "spare"])
def test_a_common_word_that_nothing_has_stays_as_it_was_typed(desk, word):
    person.create_memory(desk, "None of the buttons separe the spaces and the lines.", "constraint")
    person.create_memory(desk, "The spores lie in the mine.", "constraint")
    assert correct_spelling(desk, f"stop the {word} key") == f"stop the {word} key"


@pytest.mark.skipif(not MANY_PACK.exists(), reason="the multilingual model is not installed")
@pytest.mark.parametrize(
    "asked",
    [
        "wie viele Leute singen im Chor",
        "¿desde qué hora puedo usar cierzo?",
        "qué cambios hicimos",
        "warum darf man freitags nicht ausliefern",
        "a qué horas se puede",
        "quels états",
    ],
)
def test_a_word_of_another_language_is_no_typing_mistake(desk, asked):
    person.create_memory(
        desk, "The singer says holas to his user when it is dark; chorister, cambias, viene, lefte, horns, éats.", "project_fact"
    )
    assert correct_spelling(desk, asked) == asked


@pytest.mark.parametrize("words", [("the walnnut", "the walnut"), ("dokumentaion", "dokumentation")])
def test_a_typing_mistake_is_corrected_whatever_the_language(desk, words):
    person.create_memory(desk, "Siege of the walnut; Dokumentation.", "project_fact")
    assert correct_spelling(desk, words[0]) == words[1]


@pytest.mark.skipif(not MANY_PACK.exists(), reason="the multilingual model is not installed")
def test_keys_pressed_at_random_mean_nothing():
    assert not has_meaning("asdfghjkl")
    assert all(map(has_meaning, ["asdfghjkl in the log", "kubernetes", "btrfs", "jwt", "数据库", "42", ""]))


def test_without_the_multilingual_model_only_english_is_corrected(desk, monkeypatch, tmp_path):
    for module in ("kept.recall.embed", "kept.recall.spelling"):
        monkeypatch.setattr(f"{module}.MANY_PACK", tmp_path / "none")
    assert correct_spelling(desk, "wo sind die chekpoints") == "wo sind die chekpoints"
    assert correct_spelling(desk, "where are the chekpoints") == "where are the checkpoints"


def test_a_word_that_only_a_day_summary_has_stays_as_it_was_typed(desk, monkeypatch):
    monkeypatch.setattr(Index, "count_matches", lambda _self, kind, words, _most: dict.fromkeys(words, int(kind == "summary")))
    assert correct_spelling(desk, "chekpoint now") == "chekpoint now"


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
