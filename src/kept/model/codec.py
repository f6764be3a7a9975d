"""Frozen values to and from JSON, by their type hints: dataclasses, enums, instants, tuples, mappings and unions of dataclasses.

One canonical form (sorted keys, no spaces, fields at their default left out), so equal values have equal bytes and equal hashes.
A union member carries its class name under ``"is"``.
"""

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar, Union, get_args, get_origin

from kept.model.times import from_text, to_text

T = TypeVar("T")


def dump(value: object) -> Any:
    """The JSON form of a value: dicts, lists, strings, numbers, booleans and None only.

    Raises TypeError for a type the codec does not know, and ValueError for a number JSON has no form for.
    """
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return value.value
        case str():
            return value
        case float():
            if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is the only value unequal to itself
                raise ValueError("a number that JSON has no form for")
            return value
        case datetime():
            return to_text(value)
        case tuple() | list():
            return [dump(each) for each in value]
        case Mapping():
            return {str(key): dump(each) for key, each in value.items()}
        case _ if is_dataclass(value):
            body = {}
            kind: Any = type(value)
            for name, default in _defaults(kind):
                field = getattr(value, name)
                if default is MISSING or field != default:
                    body[name] = dump(field)
            return body
        case _:
            raise TypeError(f"no JSON form for {type(value).__name__}")


def dump_member(value: object) -> dict[str, Any]:
    """The JSON form of a member of a closed union, with its class name under ``"is"``."""
    return {"is": type(value).__name__.lower()} | typing.cast(dict[str, Any], dump(value))


def load(kind: Any, body: Any) -> Any:
    """Read the JSON form of a value of the type ``kind``.

    Raises TypeError, KeyError or ValueError where the body is not of that form.
    """
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _load_union(kind, body)
    if origin is tuple:
        return tuple(load(get_args(kind)[0], each) for each in body)
    if origin is not None and issubclass(origin, Mapping):
        return {key: load(get_args(kind)[1], each) for key, each in body.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: load(hints[name], each) for name, each in body.items() if name != "is"})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(body)
    if kind is datetime:
        return from_text(body)
    if kind is float:
        return float(body)
    if kind is Any or isinstance(body, kind):
        return body
    raise TypeError(f"expected {kind.__name__}, found {type(body).__name__}")


def _load_union(kind: Any, body: Any) -> Any:
    members = get_args(kind)
    if body is None and type(None) in members:
        return None
    if isinstance(body, dict) and "is" in body:
        return load(_by_name(members)[body["is"]], body)
    (only,) = (each for each in members if each is not type(None))
    return load(only, body)


@cache
def _by_name(members: tuple[Any, ...]) -> dict[str, Any]:
    return {each.__name__.lower(): each for each in members}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (field.name, field.default_factory() if field.default_factory is not MISSING else field.default) for field in fields(kind)
    )


def canonical(body: Any) -> str:
    """The one text of a JSON value. Raises ValueError on NaN and infinities."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(*parts: str, size: int = 16) -> str:
    """A hex BLAKE2b of texts, each framed by its length so that no two lists of texts collide; ``size`` is in bytes."""
    state = blake2b(digest_size=size)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "big"))
        state.update(raw)
    return state.hexdigest()
