import copy
import json
import pickle
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core import light
from kept.core.light import NamedTuple, format_json, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Own(NamedTuple):
    name: str
    size: int = 3
    note: str = ""

    @property
    def double(self):
        return 2 * self.size


class Public(typing.NamedTuple):
    name: str
    size: int = 3
    note: str = ""


@pytest.fixture(params=["C", "Python"])
def implementation(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(light, "_json", None)


@given(VALUES)
def test_json_is_written_and_read_as_the_public_module_does(value):
    assert format_json(value) == json.dumps(value)
    assert repr(parse_json(f" {json.dumps(value)}\n")) == repr(json.loads(json.dumps(value)))


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize(
    "text", ["", "nul", "[1", "{} x", "\ufeff1", "[01]", '"a\nb"', "[" * 100_000, "\u00a01", b"[1]", "[NaN, -Infinity]"]
)
def test_what_is_no_json_is_refused_as_the_public_module_refuses_it(text):
    outcomes = []
    for load in (parse_json, json.loads):
        try:
            outcomes.append(repr(load(text)))
        except (ValueError, RecursionError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("implementation")
def test_json_that_cannot_be_written_is_refused():
    with pytest.raises(TypeError, match="not JSON serializable"):
        format_json({"a": object()})
    assert format_json({"é": [1, None, "\ud800"]}) == json.dumps({"é": [1, None, "\ud800"]})


def test_a_named_tuple_behaves_as_that_of_typing():
    for fields in ({"name": "a"}, {"name": "a", "note": "b"}, {"size": 1, "name": "c"}):
        made, public = Own(**fields), Public(**fields)
        assert made == public == tuple(made)
        assert repr(made) == repr(public).replace("Public", "Own")
        assert (made._asdict(), made._fields) == (public._asdict(), public._fields)
        assert made._replace(size=7) == public._replace(size=7)
        assert type(pickle.loads(pickle.dumps(made))) is type(copy.deepcopy(made)) is Own
        assert made.double == 2 * made.size
    match Own("a", 5):
        case Own(name, size):
            assert (name, size) == ("a", 5)


@pytest.mark.parametrize(("values", "named"), [((), {}), (("a", 1, "b", 2), {}), (("a",), {"name": "b"}), (("a",), {"other": 1})])
def test_a_named_tuple_takes_each_of_its_fields_once_and_no_others(values, named):
    with pytest.raises(TypeError):
        Own(*values, **named)
