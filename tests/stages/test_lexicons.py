"""The lexicons are complete enough to be compiled, alone and together."""

from dataclasses import fields
from itertools import combinations

import pytest
import re2

from kept.model.errors import ConfigError
from kept.model.lexicon import Lexicon
from kept.profiles.lexicons import lexicon

LANGUAGES = ("en", "de", "es", "fr", "pt", "zh", "ja")


@pytest.mark.parametrize("languages", [(each,) for each in LANGUAGES] + list(combinations(LANGUAGES, 2)) + [LANGUAGES])
def test_every_cue_of_every_language_is_a_pattern(languages):
    words = lexicon(languages)
    for field in fields(Lexicon):
        source = getattr(words, field.name)
        if isinstance(source, str) and source:
            match = re2.compile(source).search("nothing to see")
            assert match is None or match.lastindex


def test_english_has_every_cue():
    words = lexicon(("en",))
    assert [field.name for field in fields(Lexicon) if not getattr(words, field.name)] == []


def test_the_first_language_gives_the_words_that_are_added():
    assert lexicon(("de", "en")).phrase("chosen") == "Wir verwenden"
    assert lexicon(("en", "de")).phrase("chosen") == "We use"


@pytest.mark.parametrize("name", ["xx", "../en", ""])
def test_a_language_without_a_lexicon_is_an_error_that_names_it(name):
    with pytest.raises(ConfigError, match="lexicon"):
        lexicon((name,))


def test_words_match_between_word_borders_only_also_beside_accents():
    words = lexicon(("fr", "en"))
    assert re2.compile(words.refusal).match("non, pas ça")
    assert not re2.compile(words.refusal).match("nonante fichiers")
