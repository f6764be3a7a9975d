"""Check a profile: find all mistakes at once, each with its setting and the allowed values.

Checks a parsed TOML table against the dataclasses of :mod:`kept.profiles.profile`. Knows no files.
"""

import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from kept.profiles.profile import INTENTS, RETIRED_INTENTS, Category, Profile

MEMORY_CAP = 50_000  # bytes of memory.md, whatever a profile sets
CARD_CAP = 15_000  # characters of MEMORY.md, whatever a profile sets
_FLOOR = Category(id="", title="", belongs="", excludes="").floor
_PATHS = ("memory_file", "card_file", "daily_folder", "pages_folder", "view_file")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


class Mistake(NamedTuple):
    """A mistake: the setting, what is wrong, and what is allowed (empty if that adds nothing)."""

    setting: str
    told: str
    allowed: str = ""


def find_mistakes(body: Mapping[str, Any]) -> tuple[Mistake, ...]:
    """All mistakes in the table of a profile, in order; empty if it is valid."""
    found = tuple(_check_table(Profile, body, ""))
    return found or tuple(_check_consistency(body))


def _check_table(kind: Any, body: Any, at: str) -> Iterator[Mistake]:
    if not isinstance(body, Mapping):
        yield Mistake(at or "profile", "a table was expected")
        return
    hints = typing.get_type_hints(kind)
    for name in body:
        if name not in hints:
            close = get_close_matches(name, hints, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            yield Mistake(_setting_path(at, name), f"unknown setting{meant}", f"settings: {', '.join(hints)}")
    for field in fields(kind):
        if field.name in body:
            yield from _check_value(hints[field.name], body[field.name], _setting_path(at, field.name))
        elif field.default is MISSING and field.default_factory is MISSING:
            yield Mistake(_setting_path(at, field.name), "is missing")


def _check_value(hint: Any, value: Any, at: str) -> Iterator[Mistake]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if not isinstance(value, list):
            yield Mistake(at, "a list was expected", '["…", "…"]')
            return
        for number, each in enumerate(value):
            named = each.get("id") if isinstance(each, Mapping) else None
            yield from _check_value(inner[0], each, f"{at}[{named if isinstance(named, str) else number + 1}]")
    elif origin is not None:
        if not isinstance(value, Mapping):
            yield Mistake(at, "a table was expected")
            return
        for name, each in value.items():
            yield from _check_value(inner[1], each, _setting_path(at, name))
    elif is_dataclass(hint):
        yield from _check_table(hint, value, at)
    elif issubclass(hint, Enum):
        if value not in [item.value for item in hint]:
            yield Mistake(at, f"cannot be {value!r}", f"one of: {', '.join(item.value for item in hint)}")
    elif not _is_instance(hint, value):
        yield Mistake(at, f"{_WORDS[hint]} was expected, not {_format_given_value(value)}")


def _is_instance(hint: type, value: object) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _format_given_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _setting_path(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _check_consistency(body: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield mistakes in values that have the right type but are not allowed."""
    categories = body.get("categories", [])
    ids = [category["id"] for category in categories]
    if not ids:
        yield Mistake("categories", "a profile needs at least one category", "[[categories]]")
    for name in sorted({item for item in ids if ids.count(item) > 1}):
        yield Mistake("categories", f"two of them have the id {name!r}")
    for entry in categories:
        yield from _check_category(entry, ids)
    for intent, category in body.get("intents", {}).items():
        if intent in RETIRED_INTENTS:
            continue
        if intent not in INTENTS:
            yield Mistake(f"intents.{intent}", "extraction finds nothing of that name", f"one of: {', '.join(INTENTS)}")
        elif category and category not in ids:
            yield Mistake(f"intents.{intent}", f"there is no category {category!r}", f"one of: {', '.join(ids)}, or an empty text")
    buffer = {"least": 5, "most": 20, "seconds": 60} | body.get("buffer", {})
    if not 2 <= buffer["least"] <= buffer["most"] or buffer["seconds"] < 1:
        yield Mistake("buffer", "its numbers do not fit together", "2 ≤ least ≤ most, seconds ≥ 1")
    if not 1 <= body.get("worth", 2) <= 3:
        yield Mistake("worth", "a grade is 1, 2 or 3", "3")
    if not body.get("when", {}).get("nightly", True):
        yield Mistake("when.nightly", "the night is when everything left over is done; it cannot be turned off", "true")
    yield from _check_outputs(body.get("outputs", {}))


def _check_category(body: Mapping[str, Any], ids: list[str]) -> Iterator[Mistake]:
    name, at = body["id"], f"categories[{body['id']}]"
    if not name.replace("_", "").isalnum() or not name.isascii():
        yield Mistake(f"{at}.id", "may hold letters, digits and _ only")
    if not 0 <= body.get("floor", 0) <= 1:
        yield Mistake(f"{at}.floor", f"cannot be {body['floor']}", "0 to 1: the confidence from which no person is asked")
    if not 0 <= body.get("review", 0) <= body.get("floor", _FLOOR):
        yield Mistake(
            f"{at}.review", f"cannot be {body['review']}", "0 to the floor: the confidence from which a person is asked at all"
        )
    for setting in ("weight", "half_life", "fades", "budget"):
        if body.get(setting, 0) < 0:
            yield Mistake(f"{at}.{setting}", "cannot be negative")
    if body.get("promotes_to", "") not in ("", *ids):
        yield Mistake(f"{at}.promotes_to", f"there is no category {body['promotes_to']!r}", f"one of: {', '.join(ids)}")
    if not body.get("writers", ["person"]):
        yield Mistake(f"{at}.writers", "nobody could write into it", "person, agent, machine")


def _check_outputs(body: Mapping[str, Any]) -> Iterator[Mistake]:
    for name in _PATHS:
        path = PurePosixPath(body.get(name, ""))
        if path.is_absolute() or ".." in path.parts or "\\" in str(path) or str(path).startswith("~"):
            yield Mistake(f"outputs.{name}", f"cannot be {body[name]!r}", "a path below the home, such as .claude/rules/memory.md")
    for name, most in (
        ("memory_bytes", MEMORY_CAP),
        ("card_chars", CARD_CAP),
        ("page_bytes", MEMORY_CAP),
        ("view_bytes", MEMORY_CAP),
    ):
        if not 0 < body.get(name, 1) <= most:
            yield Mistake(f"outputs.{name}", f"cannot be {body[name]}", f"1 to {most}")
    if not any(body.get(name, "x" if name == "memory_file" else "") for name in _PATHS):
        yield Mistake("outputs", "nothing would be written", "a memory_file, card_file, daily_folder, pages_folder or view_file")
