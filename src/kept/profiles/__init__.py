"""Profiles as data: one TOML file each, the user's own in a folder beside the built-in ones.

Knows the form of a profile, not what any stage does with it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

from kept.model.codec import load
from kept.model.errors import ConfigError
from kept.model.profile import Buffer, Category, Outputs, Profile

DEFAULT = "coding"
MEMORY_CAP = 50_000  # bytes of memory.md, whatever a profile asks (L9)


def names(folder: Path | None = None) -> tuple[str, ...]:
    """The ids of all profiles: built-in, and those in the user's folder."""
    built_in = {each.name[:-5] for each in (files("kept.profiles")).iterdir() if each.name.endswith(".toml")}
    own = {each.stem for each in folder.glob("*.toml")} if folder and folder.is_dir() else set()
    return tuple(sorted(built_in | own))


def profile(name: str = DEFAULT, folder: Path | None = None) -> Profile:
    """The profile of that id; the user's own file wins over a built-in one.

    Raises ConfigError naming the file and the setting where it is missing or wrong.
    """
    own = folder / f"{name}.toml" if folder and name.replace("-", "").replace("_", "").isalnum() else None
    if own is not None and own.is_file():
        return read(_text(own), str(own))
    if name not in names():
        raise ConfigError(f"there is no profile {name!r}", hint=f"profiles: {', '.join(names(folder))}")
    return read((files("kept.profiles") / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the profile cannot be read: {error}", where=str(path), hint="make it readable UTF-8 text") from error


def read(text: str, where: str) -> Profile:
    """Read a profile from TOML text. Raises ConfigError naming ``where`` and what is wrong."""
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the profile is no valid TOML: {error}", where=where) from error
    body["categories"] = body.get("categories", [])
    _known(Profile, body, where)
    for name, kind in (("buffer", Buffer), ("outputs", Outputs)):
        _known(kind, body.get(name, {}), f"{where}, [{name}]")
    for each in body["categories"]:
        _known(Category, each, f"{where}, category {each.get('id', '?')!r}")
    try:
        made: Profile = load(Profile, body)
    except (TypeError, ValueError, KeyError) as error:
        raise ConfigError(f"the profile does not fit: {error}", where=where) from error
    _sensible(made, where)
    return made


def _known(kind: Any, body: Mapping[str, Any], where: str) -> None:
    if not isinstance(body, Mapping) or not is_dataclass(kind):
        raise ConfigError("a table was expected", where=where)
    hints = get_type_hints(kind)
    required = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}
    for name, value in body.items():
        if name not in hints:
            raise ConfigError(f"unknown setting {name!r}", where=where, hint=f"settings: {', '.join(hints)}")
        if hints[name] in (int, float) and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ConfigError(f"{name} must be a number", where=where)
    if missing := sorted(required - body.keys()):
        raise ConfigError(f"missing: {', '.join(missing)}", where=where)


def _sensible(made: Profile, where: str) -> None:
    ids = [each.id for each in made.categories]
    if not ids or len(set(ids)) != len(ids):
        raise ConfigError("a profile needs categories with different ids", where=where)
    for each in made.categories:
        if not each.id.replace("_", "").isalnum() or not each.id.isascii():
            raise ConfigError(f"category id {each.id!r} may hold letters, digits and _ only", where=where)
        if not 0 <= each.floor <= 1:
            raise ConfigError(f"floor of {each.id} must be between 0 and 1", where=where)
    if not 2 <= made.buffer.least <= made.buffer.most or made.buffer.seconds < 1:
        raise ConfigError("the buffer needs 2 ≤ least ≤ most and seconds ≥ 1", where=where)
    if not 0 < made.outputs.memory_bytes <= MEMORY_CAP:
        raise ConfigError(f"memory_bytes must be between 1 and {MEMORY_CAP}", where=where)
    path = Path(made.outputs.memory_file)
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError("memory_file must be a path below the home", where=where)
