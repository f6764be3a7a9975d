"""The JSON Schema of a frozen dataclass, and whether a value fits one: the part of JSON Schema that all vendors' models are held
to.

That part: objects whose every property is required and that have no others, arrays, strings, integers, numbers, booleans, null,
enum and anyOf. Bounds of lengths and numbers are not among it; whoever reads a reply checks them.
"""

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any, TypeVar, Union, get_args, get_origin

from kept.core import codec

T = TypeVar("T")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (types.NoneType,),
}


def schema_of(kind: Any, **choices: Sequence[str]) -> dict[str, Any]:
    """The schema of the JSON that :func:`read` makes a value of ``kind`` of.

    ``kind`` is made of dataclasses, strings, numbers, booleans, None, enums, tuples of one kind, and unions of those; a field's
    ``metadata["description"]`` goes with it. ``choices`` narrows string fields, by their name wherever they stand, to given values
    (``category=("decision", "problem")``). Raises TypeError for a type that has no such schema.
    """
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        tagged = sum(is_dataclass(each) for each in arguments) > 1
        return {
            "anyOf": [_tagged(each, choices) if tagged and is_dataclass(each) else schema_of(each, **choices) for each in arguments]
        }
    if origin is tuple and arguments[1:] == (...,):
        return {"type": "array", "items": schema_of(arguments[0], **choices)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [each.value for each in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(_properties(kind, choices))
    raise TypeError(f"no schema for {kind}")


def _tagged(kind: Any, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return _object({"is": {"type": "string", "enum": [kind.__name__.lower()]}} | _properties(kind, choices))


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _properties(kind: Any, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    made = {}
    for each in fields(kind):
        schema = schema_of(hints[each.name], **choices)
        if each.name in choices:
            narrow = schema["items"] if schema.get("type") == "array" else schema
            narrow["enum"] = list(choices[each.name])
        made[each.name] = schema | ({"description": each.metadata["description"]} if "description" in each.metadata else {})
    return made


def misfit(schema: Mapping[str, Any], value: object, place: str = "reply") -> str:
    """What in a value does not fit, and where (``reply.facts[2].category``); empty where it fits.

    Stricter than JSON Schema: ``true`` is no number, ``1.0`` no integer, and text with half a character (a lone surrogate) no
    string.
    """
    if "anyOf" in schema:
        found = [misfit(each, value, place) for each in schema["anyOf"]]
        return "" if "" in found else max(found, key=lambda each: (each.partition(":")[0].count("."), each))
    name = schema["type"]
    if not isinstance(value, _KINDS[name]) or (isinstance(value, bool) and name != "boolean"):
        return f"{place}: expected {name}, found {_named(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place}: none of the allowed values"  # what it is instead is the model's text, and goes into no message
    match value:
        case dict():
            return _misfit_object(schema, value, place)
        case list():
            return next(
                (told for index, each in enumerate(value) if (told := misfit(schema["items"], each, f"{place}[{index}]"))), ""
            )
        case float() if not isfinite(value):
            return f"{place}: no finite number"
        case str() if any("\ud800" <= char <= "\udfff" for char in value):
            return f"{place}: half a character"
    return ""


def _misfit_object(schema: Mapping[str, Any], value: Mapping[str, Any], place: str) -> str:
    properties = schema["properties"]
    if missing := [each for each in schema["required"] if each not in value]:
        return f"{place}: {missing[0]!r} is missing"
    if not value.keys() <= properties.keys():
        return f"{place}: has properties that were not asked for"
    return next((told for name, each in value.items() if (told := misfit(properties[name], each, f"{place}.{name}"))), "")


def _named(value: object) -> str:
    return next((name for name, kinds in _KINDS.items() if type(value) in kinds), "something else")


def read(kind: type[T], body: Any, **choices: Sequence[str]) -> T:
    """The value that a reply's body says, complete and of the schema.

    Raises ValueError that says what does not fit and where.
    """
    if told := misfit(schema_of(kind, **choices), body):
        raise ValueError(told)
    made: T = codec.load(kind, body)
    return made
