"""A forgotten statement is recognised in small rewordings, and another one is not taken for it."""

import pytest

from cases import each_case
from kept.core.fingerprint import fingerprint_statement, is_known_statement, mark_known_statements

KEY = b"a key for tests"
SAID = "The vault of client Gribblesnatch is in Oslo."


def knows(said, text):
    return is_known_statement(text, [fingerprint_statement(said, KEY)], KEY)


@each_case(
    "text",
    [
        "the vault of client gribblesnatch is in oslo",
        "THE VAULT OF CLIENT GRIBBLESNATCH IS IN OSLO",
        "The vault of the client Gribblesnatch is in Oslo now",
        "The vault of that client is in Oslo.",
        "The vault of client Gribblesnatcher is in Oslo.",
    ],
)
def test_a_small_rewording_is_the_same_statement(text):
    assert knows(SAID, text)
    assert knows(text, SAID)


def test_letters_that_are_written_as_entities_are_the_same_letters():
    assert knows("Das Café-Menü für Gäste: Großschrift", "Das Caf&eacute;-Men&uuml; f&#252;r G&auml;ste: Gro&szlig;schrift")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (SAID, "The vault of client Tromblefitz is in Oslo."),
        ("Let the metrics server of the mill listen on port 8080.", "Let the metrics server of the mill listen on port 9090."),
        ("The staging server runs release v2 of the mill", "The staging server runs release v3 of the mill"),
    ],
)
def test_a_statement_with_another_name_or_value_in_its_place_is_another_one(said, text):
    assert knows(said, said)
    assert not knows(said, text)


LONG = "The vault of client Gribblesnatch is in Oslo behind the old harbour and opens at nine."


def test_a_large_part_of_a_statement_is_that_statement_and_a_small_one_or_one_with_other_words_is_not():
    assert knows(LONG, "The vault of client Gribblesnatch is in Oslo.")
    assert knows(LONG, "The vault behind the old harbour opens at nine.")
    assert not knows(LONG, "The old vault.")
    assert not knows(LONG, "The vault of client Gribblesnatch burnt down yesterday evening.")


def test_a_fingerprint_from_before_names_were_hashed_recognises_as_it_did():
    early = fingerprint_statement(SAID, KEY)[:128]
    assert is_known_statement("The vault of client Tromblefitz is in Oslo.", [early], KEY)
    assert not is_known_statement("Something else was said.", [early], KEY)


def test_a_text_without_words_has_no_fingerprint():
    assert fingerprint_statement("...", KEY) == ""
    assert not is_known_statement("...", [""], KEY)


def test_each_sentence_that_is_known_becomes_a_mark_and_the_others_stay():
    known = [fingerprint_statement(SAID, KEY)]
    text = f"First. {SAID}\nThe vault of client Tromblefitz is in Oslo."
    assert mark_known_statements(text, known, KEY, "[x]") == "First. [x]\nThe vault of client Tromblefitz is in Oslo."
    assert mark_known_statements("First.", known, KEY, "[x]") == "First."
