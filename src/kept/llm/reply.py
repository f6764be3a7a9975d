"""Parse a language model's reply into one JSON object that fits the schema of a frozen dataclass, or into a fault.

Thinking, code fences and prose around the object are ignored. Nearly valid JSON is repaired, but a truncated object is not closed.
If the reply has bare items of a list of the schema, they are wrapped in an object. If it has several different objects, it is a
fault. Independent of the question and the model.

The schema uses the part of JSON Schema that all vendors support: objects that require all their properties and allow no others,
arrays, strings, integers, numbers, booleans, null, enum and anyOf. It does not limit lengths and numbers; the caller checks them.
"""

import json
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from math import isfinite
from typing import Any, TypeVar, Union, get_args, get_origin

from kept.core import codec
from kept.core.pattern import compile_late
from kept.core.value import dataclass, fields
from kept.llm.ask import Fault

T = TypeVar("T")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_TYPE_NAMES = {**_PLAIN, dict: "object", list: "array"}
_EMPTY: dict[str, Any] = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "null": None}
_WHOLE = compile_late(r"-?\d{1,9}")


def schema_of(kind: Any, **choices: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of the type ``kind``, which :func:`parse_as` reads.

    ``kind`` may consist of dataclasses, strings, numbers, booleans, None, enums, tuples of one kind, and unions of those. The
    schema includes a field's ``metadata["description"]``. ``choices`` restricts string fields of that name, at any depth, to the
    given values (``category=("decision", "problem")``). Raises TypeError for other types.
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
    """Fit a value to a schema, tolerating what models write.

    - A missing property becomes the empty value of its type, except for an enum. Unknown keys are dropped.
    - A single value counts as a list of one. Where a text is expected, a list of texts is joined by `` … ``.
    - Where an object is expected, a text becomes an object with that text as its first property, if that property is a text.
    - An item of a list of objects that does not fit is dropped.
    - A property that does not fit becomes empty if an object or integer is expected, or a list of objects in an item of a list.

    Raises ValueError with the mismatch and its location for any other value that does not fit, for a list without a fitting item,
    for a list of plain values with one that does not fit, and for an object with none of the keys.
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
                raise ValueError(f"{place}: none of the allowed values")  # the message does not quote the value
            if isinstance(plain, str) and any("\ud800" <= char <= "\udfff" for char in plain):
                raise ValueError(f"{place}: half a character")
            return plain


def _fit_first(schemas: Sequence[Mapping[str, Any]], value: object, place: str) -> Any:
    mismatch = ""
    for item in () if value is None and {"type": "null"} in schemas else schemas:
        try:
            return fit_to_schema(item, value, place)
        except ValueError as error:
            mismatch = mismatch or str(error)
    if mismatch:
        raise ValueError(mismatch)
    return None


def _fit_object(schema: Mapping[str, Any], value: object, place: str) -> dict[str, Any]:
    properties = schema["properties"]
    if isinstance(value, str) and properties and next(iter(properties.values())).get("type") == "string":
        value = {next(iter(properties)): value}  # wrap a bare text as the first property of the object
    if not isinstance(value, dict):
        raise ValueError(f"{place}: expected object, found {_json_type_name(value)}")  # noqa: TRY004 - as for any other mismatch
    value = {str(name).strip().lower(): item for name, item in value.items()} | value
    if properties and not value.keys() & properties.keys():
        raise ValueError(f"{place}: {next(iter(properties))!r} is missing")
    return {
        name: _fit_property(item, value[name] if name in value else _empty(item), f"{place}.{name}")
        for name, item in properties.items()
    }


def _fit_property(schema: Mapping[str, Any], value: object, place: str) -> Any:
    """Fit a property of an object.

    A value that does not fit becomes empty if an object or integer is expected, or if a list of objects is expected and the value
    is empty or inside an item of a list. Otherwise raises ValueError.
    """
    kind, dispensable = schema.get("type"), "[" in place or value in (None, "", [], {})
    try:
        return fit_to_schema(schema, value, place)
    except ValueError:
        if kind in ("object", "integer") or (dispensable and kind == "array" and "properties" in schema["items"]):
            return _empty(schema)
        raise


def _fit_list(schema: Mapping[str, Any], value: object, place: str) -> list[Any]:
    items = value if isinstance(value, list) else [] if value is None else _to_list(schema, value)
    good: list[Any] = []
    mismatch = ""
    for index, each in enumerate(items):
        try:
            good.append(fit_to_schema(schema, each, f"{place}[{index}]"))
        except ValueError as error:
            mismatch = mismatch or str(error)
    # A list of plain values must fit as a whole, because a part of it would have another meaning.
    if mismatch and (not good or "properties" not in schema):
        raise ValueError(mismatch)
    return good


def _to_list(schema: Mapping[str, Any], value: object) -> list[Any]:
    """Convert a value to a list where the schema expects one.

    A mapping from names or numbers to items becomes the list of items. A text in it becomes an item with the key and the text as
    the first two properties. Any other value becomes the only item.
    """
    names = list(schema.get("properties", ()))
    if not names or not isinstance(value, dict) or value.keys() & set(names):
        return [value]
    return [{names[0]: name, names[1]: each} if isinstance(each, str) else each for name, each in value.items()]


def _empty(schema: Mapping[str, Any]) -> Any:
    """Return the empty value of a schema's type. Raises ValueError for an enum."""
    if "anyOf" in schema:
        return None
    if schema["type"] == "object":
        return {name: _empty(each) for name, each in schema["properties"].items()}
    empty = _EMPTY[schema["type"]]
    return list(empty) if isinstance(empty, list) else empty


def _plain_value(name: str, value: Any) -> str | int | float | bool | None:
    """Convert a value to the JSON type ``name``. None if that is impossible.

    A text that is a whole number becomes a number. An integer or a list of texts becomes a text. A missing value becomes empty.
    """
    match value:
        case bool() if value or name != "string":
            return value if name == "boolean" else None
        case str() if name == "string":
            return value
        case str() if name in ("integer", "number") and _WHOLE.fullmatch(value.strip()):
            return int(value)
        case [str(alone)] if name == "string":
            return alone
        case [str(), *_] if name == "string" and all(isinstance(each, str) for each in value):
            return " … ".join(value)
        case int() if name in ("integer", "number", "string"):
            return str(value) if name == "string" else value
        case float() if isfinite(value) and (name == "number" or (name == "integer" and value.is_integer())):
            return value if name == "number" else int(value)
    return _EMPTY[name] if value is None or (value is False and name == "string") else None


def _json_type_name(value: object) -> str:
    return _TYPE_NAMES.get(type(value), "something else")


def parse_as(kind: type[T], body: Any, **choices: Sequence[str]) -> T:
    """Convert a reply's body to ``kind`` with :func:`fit_to_schema`. Raises ValueError with the mismatch and its location."""
    value: T = codec.load(kind, fit_to_schema(schema_of(kind, **choices), body))
    return value


_THINKING = ("think", "thinking", "reasoning")
_OVER = {"rate_limit_error": Fault.RATE_LIMIT, "overloaded_error": Fault.OVERLOADED, "rate_limit_exceeded": Fault.RATE_LIMIT}
# The possible start of an object or list of objects. If the group `loose` matches (a comment, or a key without JSON's quotation
# marks), it may also be a brace in prose.
_OBJECT = compile_late(r"""(?:\[\s*)?\{\s*(?:["}]|(?P<loose>['“]|//|/\*|[A-Za-z_]+\s*:))""")
# The characters that can follow the end of a string. A quotation mark before any other character is part of the string.
_AFTER_STRING = compile_late(r"""\s{0,200}(?:[:\]}]|,\s*(?:["'“{\[\d}\]/-]|[A-Za-z_]+\s*[,:\]}])|\Z)""")
_COMMENT = compile_late(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = compile_late(r",(?=\s*[}\]])")
_BARE = compile_late(r"(?<![\w.+-])[A-Za-z_]\w*")
_BARE_VALUES = {"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false"}
_CLOSING = {"“": "”"}
_REFUSING = ("i can't", "i can’t", "i cannot", "i'm unable", "i am unable", "i won't", "i'm sorry", "i am sorry", "i must decline")


@dataclass(frozen=True, kw_only=True, slots=True)
class InvalidReply:
    """A reply that cannot be used. ``reason`` says why, without quoting the reply."""

    fault: Fault
    reason: str


def parse_reply(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | InvalidReply:
    """Return the one object in a text that fits the schema, or the reason why there is none."""
    answer = _strip_thinking(text)
    if answer is None:
        return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its thinking")
    if not answer.strip():
        return InvalidReply(fault=Fault.EMPTY, reason="the reply is empty")
    try:
        bodies = list(_parse_objects(answer))
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip()):
            return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its JSON")
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is not valid JSON ({error.msg} at character {error.pos})")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is not valid JSON ({reason})")
    if not bodies:
        opening = answer.strip()[:200].lower()
        if any(item in opening for item in _REFUSING):
            return InvalidReply(fault=Fault.REFUSAL, reason="the model refused to answer")
        return InvalidReply(fault=Fault.MALFORMED, reason="the reply contains no JSON object")
    body = _choose_body(schema, bodies)
    if body is None:
        return InvalidReply(fault=Fault.AMBIGUOUS, reason=f"the reply holds {len(bodies)} JSON objects instead of one")
    try:
        made: dict[str, Any] = fit_to_schema(schema, body)
    except ValueError as error:
        return _parse_server_error(body) or InvalidReply(fault=Fault.SCHEMA, reason=str(error))
    return made


def _choose_body(schema: Mapping[str, Any], bodies: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Choose the requested object: the only one (equal ones count once), an object nested in it, or a new one that has all of them
    as items. None if the choice is ambiguous.
    """
    known, first = schema["properties"].keys(), bodies[0]
    if any(body != first for body in bodies):
        return _wrap_items(schema, bodies)
    if first.keys() & known:
        return first
    inner = [value for value in first.values() if isinstance(value, dict) and value.keys() & known]
    return inner[0] if len(inner) == 1 else _wrap_items(schema, bodies[:1]) or first


def _wrap_items(schema: Mapping[str, Any], items: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return an object that has these items in one of its lists. None if they fit no list or several lists."""
    lists = {name: item["items"].get("properties", {}).keys() for name, item in schema["properties"].items() if "items" in item}
    fitting = [name for name, keys in lists.items() if all(len(keys & item.keys()) > 1 for item in items)]
    return {fitting[0]: list(items)} if len(fitting) == 1 else None


def _parse_server_error(body: Mapping[str, Any]) -> InvalidReply | None:
    """Return the fault if the object is a server's error message in place of a reply, else None."""
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    kind = str(error.get("type") or error.get("code") or "")
    return InvalidReply(fault=_OVER.get(kind, Fault.FAILED), reason="the server answered with an error instead of a reply")


def _strip_thinking(text: str) -> str | None:
    """Return the text after the model's thinking. None if the thinking does not end."""
    answer = text.strip().removeprefix("\ufeff")
    while name := next((item for item in _THINKING if answer.startswith(f"<{item}>")), ""):
        _, end, rest = answer.partition(f"</{name}>")
        if not end:
            return None
        answer = rest.strip()
    if not answer.startswith("{"):
        for name in _THINKING:  # some servers drop the opening tag
            answer = answer.rpartition(f"</{name}>")[2]
    return answer


def _parse_objects(answer: str) -> Iterator[dict[str, Any]]:
    """Yield every JSON object, alone or in a list. Raises ValueError if one is incomplete."""
    place, mended = 0, False
    while opening := _OBJECT.search(answer, place):
        place = opening.start()
        try:
            parsed, place = _DECODER.raw_decode(answer, place)
        except json.JSONDecodeError as error:
            try:
                if mended:
                    raise
                mended, better = True, _mend_json(answer[place:])
                parsed, place = _DECODER.raw_decode(better)
                answer = better
            except json.JSONDecodeError:
                if not opening["loose"]:
                    raise error from None
                place = opening.end()  # this brace is part of prose
                continue
        yield from (item for item in (parsed if isinstance(parsed, list) else [parsed]) if isinstance(item, dict))


def _mend_json(text: str) -> str:
    """Repair nearly valid JSON: other quotation marks, quotation marks inside strings, bare words, comments, extra commas.

    Strings, lists and objects that do not end are not closed.
    """
    mended: list[str] = []
    place, ends = 0, ""
    while place < len(text):
        char, size = text[place], 1
        if ends and char == "\\":
            after, size = text[place + 1 : place + 2], 2
            char = after if after == "'" else char + after if after and after in '"\\/bfnrtu' else f"\\\\{after}"
        elif ends:
            over = char == ends and _AFTER_STRING.match(text, place + 1) is not None
            char, ends = ('"', "") if over else ('\\"' if char == '"' else char, ends)
        elif char in "\"'“":
            char, ends = '"', _CLOSING.get(char, char)
        elif left := _COMMENT.match(text, place) or _TRAILING.match(text, place):
            char, size = "", len(left[0])
        elif bare := _BARE.match(text, place):
            char, size = _BARE_VALUES.get(bare[0]) or f'"{bare[0]}"', len(bare[0])
        mended.append(char)
        place += size
    return "".join(mended)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return body


def _parse_finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError("a number that is not finite")
    return number


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_reject_duplicate_keys, parse_float=_parse_finite, parse_constant=_parse_finite
)
