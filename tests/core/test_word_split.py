import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kept.core import text as word_split

TEXTS = st.text(st.one_of(st.sampled_from("aBcDZ09 .'’/_-²½Ⅷيب中日\n\tǅßİé٣"), st.characters()), max_size=40)


@given(TEXTS)
@example("src/app/main.py's HTTPServer2 -- don't..do _x_ v2.10-rc1")
def test_words_are_found_alike_with_and_without_patterns(text):
    plain = word_split._find_words_plainly(text)
    assert plain == word_split._word_pattern().findall(text)
    for word in plain:
        humps = word_split._hump_pattern().split(word)
        assert word_split._find_pieces_plainly(word) == [
            piece for part in humps for piece in word_split._piece_pattern().findall(part)
        ]


@pytest.mark.parametrize("left", [0, 1_000])
def test_a_process_that_has_split_many_texts_finds_the_same_words_as_before(left, monkeypatch):
    monkeypatch.setattr(word_split._Allowance, "left", left)
    assert word_split.find_words("the getUserName of src/a.py, v2") == ["the", "getUserName", "of", "src/a.py", "v2"]
    assert word_split.find_pieces("getUserName") == ["get", "User", "Name"]
    assert word_split.find_pieces("src/a2.py") == ["src", "a", "2", "py"]
    assert (word_split._Allowance.left < left) == bool(left)


def test_the_patterns_are_those_of_the_standard_library():
    assert isinstance(word_split._word_pattern(), re.Pattern)
