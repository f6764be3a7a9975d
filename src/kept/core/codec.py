"""Write frozen values as JSON, and read them back by type hints: dataclasses, enums, instants, tuples, mappings, dataclass unions.

The canonical form has sorted keys and no spaces, and omits fields with their default value. Equal values therefore have equal bytes
and equal hashes. :func:`dump_member` adds the lower-case class name under ``"is"``, by which :func:`load` chooses between the
dataclasses of a union. :func:`dump` does not add it. :func:`load_table` loads the TOML tables that are part of the program.
"""

import json
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from math import isfinite
from operator import attrgetter
from pathlib import Path, PurePath
from types import CodeType
from typing import Any, Union, get_args, get_origin
from zlib import crc32

from kept.core.times import format_instant, parse_stored_instant


def dump(value: object) -> Any:
    """The JSON form of a value: dicts, lists, strings, numbers, booleans and None only.

    Raises TypeError for a type the codec does not know, and ValueError for NaN and infinities.
    """
    kind: Any = type(value)
    return _get_encoder(kind)(value)


@cache
def _get_encoder(kind: Any) -> Callable[[Any], Any]:
    """The function that encodes values of a type. Cached per type, because a store writes hundreds of thousands of values."""
    if kind in (type(None), bool, int, str):
        return _identity
    if issubclass(kind, Enum):
        return attrgetter("value")
    if issubclass(kind, str | int):
        return _identity
    if issubclass(kind, float):
        return _require_finite
    if issubclass(kind, datetime):
        return format_instant
    if issubclass(kind, date):
        return date.isoformat
    if issubclass(kind, tuple | list):
        return _dump_items
    if issubclass(kind, Mapping):
        return _dump_mapping
    if is_dataclass(kind):
        return _dump_fields
    raise TypeError(f"no JSON form for {kind.__name__}")


def _identity(value: Any) -> Any:
    return value


def _require_finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError("NaN and infinities have no JSON form")
    return value


def _dump_items(values: Iterable[Any]) -> list[Any]:
    return [dump(value) for value in values]


def _dump_mapping(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): dump(value) for key, value in values.items()}


def _dump_fields(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    body = {}
    for name, default in _field_defaults(kind):
        field = getattr(value, name)
        if default is MISSING or field != default:
            body[name] = dump(field)
    return body


def to_json(value: object) -> Any:
    """The JSON form of a value for ``--json``, the web API and agents.

    Unlike :func:`dump`, it omits no field, and also converts paths to strings, sets to sorted lists, and named tuples to objects.
    """
    kind: Any = type(value)
    return _get_json_encoder(kind)(value)


@cache
def _get_json_encoder(kind: Any) -> Callable[[Any], Any]:
    """The function with which :func:`to_json` converts values of a type. Cached per type: each write describes all settings."""
    if issubclass(kind, PurePath):
        return str
    if issubclass(kind, Mapping):
        return lambda value: {str(to_json(key)): to_json(item) for key, item in value.items()}
    if issubclass(kind, set | frozenset):
        return lambda value: sorted(map(to_json, value))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return lambda value: json_fields(value, *kind._fields)
    if issubclass(kind, tuple | list):
        return lambda value: [*map(to_json, value)]
    if is_dataclass(kind):
        names = tuple(field.name for field in fields(kind))
        return lambda value: {name: to_json(getattr(value, name)) for name in names}
    return _get_encoder(kind)


def json_fields(value: Any, *names: str, **sources: str) -> dict[str, Any]:
    """An object as JSON. It has the fields ``names``. It also has each keyword as a key; the keyword's value is the dotted path of
    the attribute.

    Without names and keywords, it has every field of the dataclass.
    """
    wanted = {name: name for name in names} | sources or {field.name: field.name for field in fields(value)}
    return {name: to_json(attrgetter(source)(value)) for name, source in wanted.items()}


def dump_member(value: object) -> dict[str, Any]:
    """The JSON form of a member of a closed union, with its class name under ``"is"``."""
    return {"is": type(value).__name__.lower()} | typing.cast(dict[str, Any], dump(value))


def load(kind: Any, body: Any) -> Any:
    """Read a value of type ``kind`` from its JSON form. Raises TypeError, KeyError or ValueError if ``body`` has another form."""
    return _get_decoder(kind)(body)


@cache
def _get_decoder(kind: Any) -> Callable[[Any], Any]:
    """The function that decodes values of a type. Cached per type, because a store reads hundreds of thousands of values."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _make_union_decoder(get_args(kind))
    if origin is tuple:
        item = _get_decoder(get_args(kind)[0])
        return lambda body: tuple([item(entry) for entry in body])
    if origin is not None and issubclass(origin, Mapping):
        value = _get_decoder(get_args(kind)[1])
        return lambda body: {key: value(entry) for key, entry in body.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        readers = {name: _get_decoder(hint) for name, hint in typing.get_type_hints(kind).items()}
        return partial(_load_fields, kind, readers)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is datetime:
        return parse_stored_instant
    if kind is date:
        return date.fromisoformat
    if kind is float:
        return float
    if kind is Any:
        return _identity
    return partial(_check_type, kind)


def _load_fields(kind: Any, readers: Mapping[str, Callable[[Any], Any]], body: Any) -> Any:
    if not isinstance(body, dict):
        raise TypeError(f"expected {kind.__name__}, found {type(body).__name__}")
    return kind(**{name: readers[name](entry) for name, entry in body.items() if name != "is"})


def _check_type(kind: type, body: Any) -> Any:
    if isinstance(body, kind):
        return body
    raise TypeError(f"expected {kind.__name__}, found {type(body).__name__}")


def _make_union_decoder(members: tuple[Any, ...]) -> Callable[[Any], Any]:
    optional = type(None) in members
    by_name = {member.__name__.lower(): member for member in members}
    others = [member for member in members if member is not type(None)]

    def read_union(body: Any) -> Any:
        if body is None and optional:
            return None
        if isinstance(body, dict) and "is" in body:
            return _get_decoder(by_name[body["is"]])(body)
        (only,) = others
        return _get_decoder(only)(body)

    return read_union


@cache
def _field_defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (field.name, field.default_factory() if field.default_factory is not MISSING else field.default) for field in fields(kind)
    )


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with ``change`` applied to every string, including keys."""
    match value:
        case str():
            return change(value)
        case list():
            return [map_strings(item, change) for item in value]
        case dict():
            return type(value)((change(name), map_strings(item, change)) for name, item in value.items())
    return value


def to_canonical_json(body: Any) -> str:
    """A JSON value as text in the canonical form. Raises ValueError for NaN and infinities."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


# Parsing TOML takes fifty times as long as loading byte code, and the lexicons alone are 190 KB. A table is therefore compiled as a
# literal. Python caches its byte code in ``__pycache__``, as for modules, if it may write there.
_CACHED_AS = ".table"  # names the cached file words.toml.cpython-311.pyc, which differs from that of words.py


class _TableLoader(SourceFileLoader):
    """Compiles a TOML file. The cached byte code is valid while the bytes of the file are the same, whatever its mtime."""

    def path_stats(self, path: str) -> dict[str, int]:
        source = self.get_data(path)
        return {"mtime": crc32(source), "size": len(source)}

    def get_data(self, path: str) -> bytes:
        return super().get_data(path.removesuffix(_CACHED_AS))

    def source_to_code(self, data: bytes, path: str, *, _optimization: int = -1) -> CodeType:  # type: ignore[override]
        return compile(repr(tomllib.loads(data.decode())), path, "eval")


def load_table(path: Path) -> dict[str, Any]:
    """The content of a TOML file of the program. Raises TOMLDecodeError or OSError."""
    code: Any = _TableLoader(path.name, f"{path}{_CACHED_AS}").get_code(path.name)
    table: dict[str, Any] = eval(code)  # noqa: S307 - a literal
    return table
