"""The lexicons are complete enough to be compiled, alone and together."""

from dataclasses import fields
from itertools import combinations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each_case
from kept.core.errors import ConfigError
from kept.profiles import lexicons
from kept.profiles.lexicons import (
    LANGUAGES,
    LOCAL_LANGUAGES,
    Lexicon,
    TellingPatterns,
    build_telling_patterns,
    find_local_patterns,
    load_lexicon,
)


@each_case("languages", [(each,) for each in LANGUAGES] + list(combinations(LANGUAGES[:4], 2)) + [LANGUAGES])
def test_every_cue_of_every_language_is_a_pattern(languages):
    words = load_lexicon(languages)
    values = [getattr(words, field.name) for field in fields(Lexicon)]
    spoken = (*words.spoken, *map(build_telling_patterns, LOCAL_LANGUAGES))
    values += [getattr(each, field.name) for each in spoken for field in fields(TellingPatterns) if field.name != "language"]
    for source in values:
        if isinstance(source, str) and source:
            match = re2.compile(source).search("nothing to see")
            assert match is None or match.lastindex


def test_english_has_every_cue():
    words = load_lexicon(("en",))
    assert [field.name for field in fields(Lexicon) if not getattr(words, field.name)] == []


@pytest.mark.parametrize("name", ["xx", "../en", ""])
def test_a_language_without_a_lexicon_is_an_error_that_names_it(name):
    with pytest.raises(ConfigError, match="lexicon"):
        load_lexicon((name,))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[telling]\nremember = ['onthoud']", "has no `spaced`"),
        ("spaced = true", "has no `telling`"),
        ("spaced = true\n[telling\n", "line 2"),
    ],
)
def test_a_lexicon_that_cannot_be_read_is_an_error_that_names_the_file_and_what_is_wrong(monkeypatch, tmp_path, text, what):
    (tmp_path / "nl.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(lexicons, "_FOLDER", tmp_path)
    lexicons._read_lexicon.cache_clear()
    with pytest.raises(ConfigError, match=rf"nl\.toml.*{what}"):
        load_lexicon(("nl",))
    lexicons._read_lexicon.cache_clear()


def test_words_match_between_word_borders_only_also_beside_accents():
    french = load_lexicon(("fr",)).spoken[0]
    assert re2.compile(french.lead).match("non, pas ça")
    assert not re2.compile(french.lead).match("nonante fichiers")


@pytest.mark.parametrize("language", LOCAL_LANGUAGES)
def test_every_local_lexicon_has_the_words_that_load_it(language):
    patterns = build_telling_patterns(language)
    for name in ("remember", "remember_this", "from_now_on", "always", "never", "here", "decided", "taken_back", "reported"):
        assert getattr(patterns, name), name


@settings(max_examples=10)
@given(data=st.data())
def test_every_cue_of_a_local_lexicon_loads_it(data):
    for language in LOCAL_LANGUAGES:
        table = lexicons._read_lexicon(language)["telling"]
        for fragment in (fragment for name in lexicons._TELL for fragment in table.get(name, ())):
            cue = data.draw(st.from_regex(fragment.replace(r"\pL", "[a-z]"), fullmatch=True))
            assert language in [each.language for each in find_local_patterns(cue)], (language, fragment, cue)


def test_a_text_without_words_of_a_local_lexicon_does_not_load_it(monkeypatch):
    monkeypatch.setattr(lexicons, "build_telling_patterns", lambda language: language)
    assert find_local_patterns("Remember that the staging server is on port 9443, and always run the tests.") == ()
    assert find_local_patterns("zapamiętaj, że staging stoi na porcie 9443") == ("pl",)


def test_every_language_tells_in_the_same_ways():
    assert tuple(each.language for each in load_lexicon(("ja",)).tellings) == LANGUAGES
    for each in load_lexicon(("en",)).tellings:
        empty = {field.name for field in fields(TellingPatterns) if not getattr(each, field.name)}
        dense = {"spaced", "needs_verb"}
        assert empty <= {*dense, "measured", "request", "no_ban", "contrast", "goes_on", "when", "blames"}, each.language
