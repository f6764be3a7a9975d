"""Schemas of dataclasses, and strict reading."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from kept.llm.reply import parse_as, schema_of


class Mood(StrEnum):
    CALM = "calm"
    CROSS = "cross"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    category: str
    text: str = field(metadata={"description": "one sentence"})
    events: tuple[str, ...]
    weight: float
    count: int = 1
    mood: Mood = Mood.CALM
    until: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    number: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    numbers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    facts: tuple[Fact, ...]
    steps: tuple[Keep | Merge, ...] = ()


def body(**changes: Any) -> dict[str, Any]:
    fact = {"category": "decision", "text": "t", "events": ["e1"], "weight": 0.5, "count": 2, "mood": "cross", "until": None}
    return {"facts": [fact | changes], "steps": []}


def test_every_field_is_required_and_no_other_allowed() -> None:
    schema = schema_of(Said, category=("decision", "problem"))
    fact = schema["properties"]["facts"]["items"]
    assert fact["required"] == ["category", "text", "events", "weight", "count", "mood", "until"]
    assert fact["additionalProperties"] is False
    assert fact["properties"]["category"] == {"type": "string", "enum": ["decision", "problem"]}
    assert fact["properties"]["text"] == {"type": "string", "description": "one sentence"}
    assert fact["properties"]["until"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_a_fitting_reply_is_read_into_values() -> None:
    said = parse_as(Said, body() | {"steps": [{"is": "merge", "numbers": ["1", "2"]}, {"is": "keep", "number": "3"}]})
    assert said.facts[0].mood is Mood.CROSS
    assert said.steps == (Merge(numbers=("1", "2")), Keep(number="3"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"weight": "high"}, "reply.facts[0].weight: expected number, found string"),
        ({"weight": float("nan")}, "reply.facts[0].weight: expected number, found number"),
        ({"weight": True}, "reply.facts[0].weight: expected number, found boolean"),
        ({"text": {"a": 1}}, "reply.facts[0].text: expected string, found object"),
        ({"category": "../../CLAUDE"}, "reply.facts[0].category: none of the allowed values"),
        ({"text": "\ud800"}, "reply.facts[0].text: half a character"),
        ({"events": ["e1", {}]}, "reply.facts[0].events[1]: expected string, found object"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        parse_as(Said, body(**changes), category=("decision",))
    assert told in str(caught.value)


def test_an_item_that_does_not_fit_is_lost_alone() -> None:
    good, bad = body()["facts"][0], body(weight="high")["facts"][0]
    assert len(parse_as(Said, {"facts": [bad, good, "x"]}).facts) == 1


def test_a_count_that_is_none_and_a_list_of_one_cost_no_item() -> None:
    (fact,) = parse_as(Said, body(count="high", text=["a"], until=None)).facts
    assert (fact.text, fact.count) == ("a", 0)


def test_a_text_alone_is_the_object_that_begins_with_it() -> None:
    @dataclass(frozen=True)
    class Point:
        text: str
        events: tuple[str, ...] = ()

    @dataclass(frozen=True)
    class Notes:
        open: tuple[Point, ...]

    assert parse_as(Notes, {"open": ["Who deploys?"]}).open == (Point("Who deploys?"),)


def test_missing_values_are_empty_and_further_keys_are_left() -> None:
    said = parse_as(Said, {"facts": {"text": "t", "mood": "calm", "events": "e1", "count": "2", "more": 1}})
    (fact,) = said.facts
    assert (fact.category, fact.events, fact.weight, fact.count, fact.until) == ("", ("e1",), 0, 2, None)


@pytest.mark.parametrize("reply", [{}, {"more": []}, [], "facts", None])
def test_a_reply_without_a_key_that_was_asked_for_does_not_fit(reply: Any) -> None:
    with pytest.raises(ValueError, match="reply"):
        parse_as(Said, reply)


def test_a_kind_that_json_cannot_tell_has_no_schema() -> None:
    with pytest.raises(TypeError):
        schema_of(dict[str, Any])
