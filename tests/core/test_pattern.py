import pickle

import pytest

from kept.core.event import Event
from kept.core.pattern import Pattern, compile_late


def test_a_pattern_that_is_not_compiled_yet_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(compile_late(r"a+"))).search("baa").group() == "aa"


def test_a_text_without_a_string_that_a_pattern_needs_is_not_searched_and_does_not_compile_it():
    pattern = Pattern("a(b|c)", needs=("b", "c"))
    assert (pattern.search("a"), pattern.match("a"), pattern.fullmatch("a"), [*pattern.finditer("a")]) == (None, None, None, [])
    assert (pattern.sub("x", "a"), pattern.split("a"), pattern.findall("a")) == ("a", ["a"], [])
    assert pattern._engine is None
    assert pattern.search("xac")[1] == "c"
    assert (pattern.match("xab"), pattern.match("ab")[1], pattern.fullmatch("abx")) == (None, "b", None)


@pytest.mark.parametrize("read_often", [Event, Pattern])
def test_attributes_that_a_run_reads_millions_of_times_are_read_without_a_method_of_python(read_often):
    assert not hasattr(read_often, "__getattr__")
    assert read_often.__getattribute__ is object.__getattribute__
