"""Reading what a language model wrote: one complete JSON object of the schema of a frozen dataclass, or nothing at all.

Thinking before the answer, fences and prose around it are passed over, and a comma behind the last item; the object itself is never
completed or chosen among several. Knows neither who wrote it nor what was asked.

The schema is the part of JSON Schema that all vendors' models know: objects whose every property is required and that have no
others, arrays, strings, integers, numbers, booleans, null, enum and anyOf. Bounds of lengths and numbers are not among it;
whoever reads a reply checks them.
"""

import json
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any, TypeVar, Union, get_args, get_origin

from kept.core import codec
from kept.llm.ask import Fault

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
_EMPTY: dict[str, Any] = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "null": None}
_WHOLE = re.compile(r"-?\d{1,9}")


def schema_of(kind: Any, **choices: Sequence[str]) -> dict[str, Any]:
    """The schema of the JSON that :func:`parse_as` makes a value of ``kind`` of.

    ``kind`` is made of dataclasses, strings, numbers, booleans, None, enums, tuples of one kind, and unions of those; a field's
    ``metadata["description"]`` goes with it. ``choices`` narrows string fields, by their name wherever they stand, to given values
    (``category=("decision", "problem")``). Raises TypeError for a type that has no such schema.
    """
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        tagged = sum(is_dataclass(argument) for argument in arguments) > 1
        return {
            "anyOf": [
                _tagged_schema(argument, choices) if tagged and is_dataclass(argument) else schema_of(argument, **choices)
                for argument in arguments
            ]
        }
    if origin is tuple and arguments[1:] == (...,):
        return {"type": "array", "items": schema_of(arguments[0], **choices)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [enum.value for enum in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(_properties(kind, choices))
    raise TypeError(f"no schema for {kind}")


def _tagged_schema(kind: Any, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return _object({"is": {"type": "string", "enum": [kind.__name__.lower()]}} | _properties(kind, choices))


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _properties(kind: Any, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    made = {}
    for field in fields(kind):
        schema = schema_of(hints[field.name], **choices)
        if field.name in choices:
            narrow = schema["items"] if schema.get("type") == "array" else schema
            narrow["enum"] = list(choices[field.name])
        made[field.name] = schema | ({"description": field.metadata["description"]} if "description" in field.metadata else {})
    return made


def fit_to_schema(schema: Mapping[str, Any], value: object, place: str = "reply") -> Any:
    """The value in the schema's form, read as models write: what is missing takes the empty value of its type, keys that nobody
    asked for are left, one plain value is a list of one, a text alone is the object that begins with it, an item that does not fit
    is lost alone.

    Raises ValueError that says what does not fit and where, where nothing of a list, or no key at all, is what was asked for.
    """
    if "anyOf" in schema:
        return _fit_first(schema["anyOf"], value, place)
    match schema["type"]:
        case "object":
            return _fit_object(schema, value, place)
        case "array":
            return _fit_list(schema["items"], value, place)
        case name:
            plain = _plain_value(name, value)
            if plain is None and name != "null":
                raise ValueError(f"{place}: expected {name}, found {_json_type_name(value)}")
            if "enum" in schema and plain not in schema["enum"]:
                raise ValueError(f"{place}: none of the allowed values")  # what it is instead goes into no message
            if isinstance(plain, str) and any("\ud800" <= char <= "\udfff" for char in plain):
                raise ValueError(f"{place}: half a character")
            return plain


def _fit_first(schemas: Sequence[Mapping[str, Any]], value: object, place: str) -> Any:
    told = ""
    for item in () if value is None and {"type": "null"} in schemas else schemas:
        try:
            return fit_to_schema(item, value, place)
        except ValueError as error:
            told = told or str(error)
    if told:
        raise ValueError(told)
    return None


def _fit_object(schema: Mapping[str, Any], value: object, place: str) -> dict[str, Any]:
    properties = schema["properties"]
    if isinstance(value, str) and properties and next(iter(properties.values())).get("type") == "string":
        value = {next(iter(properties)): value}  # the text alone, where an object that begins with its text was asked for
    if told := _find_object_mismatch(properties, value):
        raise ValueError(f"{place}: {told}")
    assert isinstance(value, dict)
    return {
        name: fit_to_schema(each, value[name] if name in value else _empty(each), f"{place}.{name}")
        for name, each in properties.items()
    }


def _find_object_mismatch(properties: Mapping[str, Any], value: object) -> str:
    """Why a value is none of the objects with these properties; empty where it is one."""
    if not isinstance(value, dict):
        return f"expected object, found {_json_type_name(value)}"
    return f"{next(iter(properties))!r} is missing" if properties and not value.keys() & properties.keys() else ""


def _fit_list(schema: Mapping[str, Any], value: object, place: str) -> list[Any]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    good: list[Any] = []
    told = ""
    for index, each in enumerate(items):
        try:
            good.append(fit_to_schema(schema, each, f"{place}[{index}]"))
        except ValueError as error:
            told = told or str(error)
    # Plain values belong together: half a list of numbers says something else than the whole.
    if told and (not good or "properties" not in schema):
        raise ValueError(told)
    return good


def _empty(schema: Mapping[str, Any]) -> Any:
    if "anyOf" in schema:
        return None
    if schema["type"] == "object":
        return {name: _empty(each) for name, each in schema["properties"].items()}
    empty = _EMPTY[schema["type"]]
    return list(empty) if isinstance(empty, list) else empty


def _plain_value(name: str, value: object) -> str | int | float | bool | None:
    """The value as a plain one of that type, where it surely is meant as one; else None."""
    match value:
        case bool():
            return value if name == "boolean" else None
        case str() if name == "string":
            return value
        case str() if name in ("integer", "number") and _WHOLE.fullmatch(value.strip()):
            return int(value)
        case int() if name in ("integer", "number", "string"):
            return str(value) if name == "string" else value
        case float() if isfinite(value) and (name == "number" or (name == "integer" and value.is_integer())):
            return value if name == "number" else int(value)
    return "" if value is None and name == "string" else None


def _json_type_name(value: object) -> str:
    return next((name for name, kinds in _KINDS.items() if type(value) in kinds), "something else")


def parse_as(kind: type[T], body: Any, **choices: Sequence[str]) -> T:
    """The value that a reply's body says, read as :func:`fit_to_schema` does. Raises ValueError that says what does not fit."""
    made: T = codec.load(kind, fit_to_schema(schema_of(kind, **choices), body))
    return made


_THINKING = ("think", "thinking", "reasoning")
_OVER = {"rate_limit_error": Fault.RATE_LIMIT, "overloaded_error": Fault.OVERLOADED, "rate_limit_exceeded": Fault.RATE_LIMIT}
# A string, which stays, or a comma behind the last item.
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_REFUSING = ("i can't", "i can’t", "i cannot", "i'm unable", "i am unable", "i won't", "i'm sorry", "i am sorry", "i must decline")


@dataclass(frozen=True, kw_only=True, slots=True)
class InvalidReply:
    """A text nothing may be taken from; ``reason`` says why, in words that hold nothing of it."""

    fault: Fault
    reason: str


def parse_reply(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | InvalidReply:
    """The one object in a text that fits the schema, or what is wrong with the text."""
    said = _strip_thinking(text)
    if said is None:
        return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its thinking")
    if not said.strip():
        return InvalidReply(fault=Fault.EMPTY, reason="the reply is empty")
    try:
        found = list(_parse_objects(said))
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())
        if cut:
            return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its JSON")
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({error.msg} at character {error.pos})")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({reason})")
    match found:
        case []:
            opening = said.strip()[:200].lower()
            if any(item in opening for item in _REFUSING):
                return InvalidReply(fault=Fault.REFUSAL, reason="the model refused to answer")
            return InvalidReply(fault=Fault.MALFORMED, reason="the reply holds no JSON object")
        case [body]:
            try:
                made: dict[str, Any] = fit_to_schema(schema, body)
            except ValueError as error:
                return _parse_server_error(body) or InvalidReply(fault=Fault.SCHEMA, reason=str(error))
            return made
        case _:
            return InvalidReply(fault=Fault.AMBIGUOUS, reason=f"the reply holds {len(found)} JSON objects where one was asked for")


def _parse_server_error(body: Mapping[str, Any]) -> InvalidReply | None:
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    kind = str(error.get("type") or error.get("code") or "")
    return InvalidReply(fault=_OVER.get(kind, Fault.FAILED), reason="the server answered with an error in the place of a reply")


def _strip_thinking(text: str) -> str | None:
    """The text after the thinking; None where the thinking does not end."""
    said = text.strip().removeprefix("\ufeff")
    while name := next((item for item in _THINKING if said.startswith(f"<{item}>")), ""):
        _, end, rest = said.partition(f"</{name}>")
        if not end:
            return None
        said = rest.strip()
    if not said.startswith("{"):
        for name in _THINKING:  # some servers cut off the opening mark
            said = said.rpartition(f"</{name}>")[2]
    return said


def _parse_objects(said: str) -> Iterator[Any]:
    """Every JSON object that stands in a text by itself. Raises ValueError where one begins that is not whole."""
    place = 0
    while (place := said.find("{", place)) >= 0:
        after = place + 1
        while after < len(said) and said[after].isspace():
            after += 1
        if said[after : after + 1] not in ('"', "}"):
            place = after  # a brace of the prose
            continue
        if said[max(0, place - 100) : place].rstrip().endswith("["):
            raise ValueError("a list where an object was asked for")
        try:
            found, place = _DECODER.raw_decode(said, place)
        except json.JSONDecodeError:
            said = _TRAILING.sub(lambda match: match[1] or "", said[place:])
            found, place = _DECODER.raw_decode(said)
        yield found


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _parse_finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError("a number that is not finite")
    return number


def _reject_infinite(_: str) -> float:
    raise ValueError("a number that is not finite")


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_reject_duplicate_keys, parse_float=_parse_finite, parse_constant=_reject_infinite
)
