import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kept.core.text import find_pieces, find_words

TEXTS = st.text(st.one_of(st.sampled_from("aBcDZ09 .'’/_-²½Ⅷيب中日\n\tǅßİé٣"), st.characters()), max_size=40)
WORD = re.compile(r"[^\W_]+(?:[.'’/_-][^\W_]+)*")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PIECE = re.compile(r"[^\W\d_]+|\d+")


@given(TEXTS)
@example("src/app/main.py's HTTPServer2 -- don't..do _x_ v2.10-rc1")
def test_words_and_pieces_are_those_that_patterns_find(text):
    words = find_words(text)
    assert words == WORD.findall(text)
    for word in words:
        assert find_pieces(word) == [piece for part in HUMP.split(word) for piece in PIECE.findall(part)]


@pytest.mark.parametrize(("word", "pieces"), [("getUserName", ["get", "User", "Name"]), ("src/a2.py", ["src", "a", "2", "py"])])
def test_an_identifier_and_a_path_have_pieces(word, pieces):
    assert find_words(f"the {word}, v2") == ["the", word, "v2"]
    assert find_pieces(word) == pieces
