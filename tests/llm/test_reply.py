"""Reading what a model wrote: one complete object, or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from kept.llm.ask import Fault
from kept.llm.reply import InvalidReply, parse_reply

FACTS = {
    "type": "object",
    "required": ["facts"],
    "additionalProperties": False,
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
}


@pytest.mark.parametrize(
    "text",
    [
        '{"facts": ["a"]}',
        'Here you are {as asked}:\n```json\n{"facts": ["a"]}\n```\nAnything else?',
        '<think>maybe {"facts": ["b"]}?</think>\n{"facts": ["a"]}',
        '<thinking>one</thinking><think>{"facts": []}</think>{"facts": ["a"]}',
        'so I would say {"facts": ["b"]}.</think>{"facts": ["a"]}',
        '\ufeff  {"facts": ["a"]}\n',
        'He said "so: {"facts": ["a",],}',
        '{"facts": "a", "more": 1}',
        '[{"facts": ["a"]}]',
        '{"facts": ["a"]}\n{"facts": ["a"]}',
        '{"result": {"facts": ["a"]}}',
        "{'facts': ['a'], 'more': None}",
        '{facts: ["a"]}  // nothing else',
        "{“facts”: [/* one */ “a”]}",
        '{"Facts": ["a"], "more": "he said "b" and \\d"}',
    ],
)
def test_the_one_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert parse_reply(text, FACTS) == {"facts": ["a"]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", Fault.EMPTY),
        (" \n", Fault.EMPTY),
        ("<think>done</think>  ", Fault.EMPTY),
        ("<think>and then", Fault.TRUNCATED),
        ('{"facts": ["a", "b', Fault.TRUNCATED),
        ('{"facts": ["a"]', Fault.TRUNCATED),
        ('{"facts": ["a"]} {"facts": ["b"', Fault.TRUNCATED),
        ('{"facts": ["a"]} {"facts": ["b"]}', Fault.AMBIGUOUS),
        ('{"facts": ["a"], "facts": []}', Fault.MALFORMED),
        ('{"facts": [NaN]}', Fault.MALFORMED),
        ('{"facts": [1e999]}', Fault.MALFORMED),
        ('{"facts": ["a"] "more": 1}', Fault.MALFORMED),
        ('[{"facts": ["a"]}', Fault.TRUNCATED),
        ("{'facts': ['a', 'b", Fault.MALFORMED),
        ('{"facts": ' + "[" * 100_000, Fault.MALFORMED),
        ("I found nothing of note.", Fault.MALFORMED),
        ("I'm sorry, but I can't help with that.", Fault.REFUSAL),
        ('{"facts": {"a": 1}}', Fault.SCHEMA),
        ('{"more": 1}', Fault.SCHEMA),
        ('{"error": {"type": "rate_limit_error", "message": "slow down"}, "type": "error"}', Fault.RATE_LIMIT),
        ('{"error": {"code": "boom", "message": "oh"}}', Fault.FAILED),
    ],
)
def test_what_is_no_complete_reply_of_the_schema_is_nothing(text: str, fault: Fault) -> None:
    found = parse_reply(text, FACTS)
    assert isinstance(found, InvalidReply)
    assert found.fault is fault


RULE = {"category": "a", "text": "b"}


@pytest.mark.parametrize(
    "text", [json.dumps(RULE), json.dumps([RULE]), json.dumps({"facts": {"1": RULE}}), f"- {json.dumps(RULE)}\n"]
)
def test_an_item_alone_is_the_list_that_holds_it(text: str) -> None:
    items = {"type": "object", "properties": {"category": {"type": "string"}, "text": {"type": "string"}}}
    schema = {"type": "object", "properties": {"facts": {"type": "array", "items": items}}}
    assert parse_reply(text, schema) == {"facts": [RULE]}


def test_the_reason_holds_no_words_of_the_reply() -> None:
    found = parse_reply('{"facts": {"swordfish": 1}}', FACTS)
    assert isinstance(found, InvalidReply)
    assert found.reason == "reply.facts[0]: expected string, found object"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
CATEGORY = {"type": "string", "enum": ["preferences", "decisions", "insights", "a", "b"]}
FACT = _object(category=CATEGORY, text=TEXT, evidence=_list(TEXT), confidence=NUMBER)
OPS = _object(
    ops=_list(
        {
            "anyOf": [
                _object(op={"type": "string", "enum": ["REPLACE"]}, ids=_list({"type": "integer"}), content=TEXT),
                _object(op={"type": "string", "enum": ["DEACTIVATE"]}, ids=_list({"type": "integer"})),
            ]
        }
    )
)

# What the hostile replies come to at this door; the others of the folder are complete replies that later gates judge.
HOSTILE = {
    "l01_truncated_json": Fault.TRUNCATED,
    "l02_truncated_replace_op": Fault.TRUNCATED,
    "l05_two_objects": Fault.AMBIGUOUS,
    "l07_refusal": Fault.REFUSAL,
    "l08_empty": Fault.EMPTY,
    "l10_delete_all": Fault.SCHEMA,
    "l13_wrong_types": Fault.SCHEMA,
    "l14_bad_numbers": Fault.MALFORMED,
    "l19_category_traversal": Fault.SCHEMA,
    "l22_rate_limit": Fault.RATE_LIMIT,
    "l20_supersede_cycle": Fault.SCHEMA,
}


@pytest.mark.shared
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_are_told_for_what_they_are(shared: Path, name: str) -> None:
    text = (shared / "hostile" / "llm" / f"{name}.txt").read_text(encoding="utf-8")
    found = parse_reply(text, OPS if '"ops":[' in text else _object(facts=_list(FACT)))
    assert isinstance(found, InvalidReply)
    assert found.fault is HOSTILE[name]


@pytest.mark.shared
def test_thinking_is_no_answer_and_prose_hides_none(shared: Path) -> None:
    folder = shared / "hostile" / "llm"
    assert parse_reply((folder / "l23_think_block.txt").read_text(encoding="utf-8"), OPS) == {"ops": []}
    prose = (folder / "l04_prose_with_braces.txt").read_text(encoding="utf-8")
    found = parse_reply(prose, _object(facts=_list(FACT)))
    assert not isinstance(found, InvalidReply)
    assert [each["text"] for each in found["facts"]] == ["likes travel"]


def test_a_large_reply_of_braces_is_read_in_one_pass() -> None:
    found = parse_reply("{x" * 500_000, FACTS)
    assert isinstance(found, InvalidReply)
    assert parse_reply(json.dumps({"facts": ["{" * 200_000]}), FACTS) == {"facts": ["{" * 200_000]}
