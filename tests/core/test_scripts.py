"""Names that mix alphabets whose letters look alike say so."""

import pytest

from cases import each_case
from kept.core.project import short_names
from kept.core.text import mixed_scripts


@pytest.mark.parametrize("text", ["p\u0430ypal", "\u0421laude is here", "micr\u03bfsoft/x"])
def test_a_word_of_two_alphabets_that_look_alike_is_named_with_both(text):
    assert "Latin" in mixed_scripts(text)
    assert len(mixed_scripts(text)) == 2


@each_case(
    "text",
    [
        "paypal",
        "пароль для deploy",
        "Größe",
        "naïve café",
        "\u03bc-service",
        "日本語のtext",
        "user_имя",
        "α and β",
        "kept\u2011web",
    ],
)
def test_words_of_one_alphabet_each_are_no_mixture(text):
    assert mixed_scripts(text) == ()


def test_a_project_whose_name_mixes_alphabets_is_shown_with_a_warning():
    assert short_names({"a": "folder:/x/p\u0430ypal"}) == {"a": "p\u0430ypal (mixes Cyrillic and Latin letters)"}
