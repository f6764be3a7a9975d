"""Profiles, each of which is a TOML file. They are built in or in the user's folder.

This package defines the form of a profile. How a profile is used is up to the stages.
"""

import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kept.core.codec import load, load_table
from kept.core.errors import ConfigError
from kept.profiles.profile import Mistake, Profile, find_mistakes

DEFAULT = "coding"


def list_profiles(folder: Path | None = None) -> tuple[str, ...]:
    """Return the ids of all profiles, both built in and in the user's folder."""
    own = {path.stem for path in folder.glob("*.toml")} if folder and folder.is_dir() else set()
    return tuple(sorted(list_built_in_profiles() | own))


def list_built_in_profiles() -> frozenset[str]:
    """The ids of the profiles that ship with kept."""
    return frozenset(path.stem for path in Path(__file__).parent.glob("*.toml"))


def load_profile(name: str = DEFAULT, folder: Path | None = None) -> Profile:
    """Load a profile by id. The user's own file takes precedence over a built-in one.

    Raises ConfigError with the file and the setting if it is missing or invalid.
    """
    if own := _find_own_profile(name, folder):
        return parse_profile(_read_profile_file(own), str(own))
    return _load_built_in_profile(_find_built_in_profile(name, folder))


@cache
def _load_built_in_profile(path: Path) -> Profile:
    """Load a built-in profile. It needs no check."""
    made: Profile = load(Profile, load_table(path))
    return made


def read_profile_text(name: str, folder: Path | None = None) -> tuple[str, str]:
    """Read the text of a profile. Returns the text and its path. Raises ConfigError if the file is missing or unreadable."""
    if own := _find_own_profile(name, folder):
        return _read_profile_file(own), str(own)
    return _find_built_in_profile(name, folder).read_text(encoding="utf-8"), f"{name}.toml"


def _find_own_profile(name: str, folder: Path | None) -> Path | None:
    own = folder / f"{name}.toml" if folder and name.replace("-", "").replace("_", "").isalnum() else None
    return own if own is not None and own.is_file() else None


def _find_built_in_profile(name: str, folder: Path | None) -> Path:
    if name not in list_built_in_profiles():
        known = ", ".join(list_profiles(folder))
        raise ConfigError(f"there is no profile {name!r}", where=str(folder or ""), hint=f"profiles: {known}")
    return Path(__file__).with_name(f"{name}.toml")


def _read_profile_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"the profile cannot be read: {reason}", where=str(path), hint="make it readable UTF-8 text") from error


def check_profile(text: str) -> tuple[Mistake, ...]:
    """Return all mistakes in the TOML text of a profile."""
    try:
        return find_mistakes(_parse_toml(text))
    except (ValueError, RecursionError) as error:
        return (Mistake("file", f"not valid TOML: {error}"),)


@lru_cache(maxsize=32)  # a run needs the same few profiles in several steps, and checking one takes 15 ms
def parse_profile(text: str, where: str) -> Profile:
    """Parse a profile from TOML text. Raises ConfigError with ``where``, the setting and its mistake."""
    wrong = check_profile(text)
    if wrong:
        first, more = wrong[0], len(wrong) - 1
        others = f" (and {more} more)" if more else ""
        raise ConfigError(f"{first.setting}: {first.fault}{others}", where=where, hint=first.allowed)
    made: Profile = load(Profile, _parse_toml(text))
    return made


def _parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, and drop the category setting ``actionable`` of earlier versions, which had no effect."""
    body = tomllib.loads(text)
    categories = body.get("categories")
    for category in categories if isinstance(categories, list) else ():
        if isinstance(category, dict):
            category.pop("actionable", None)
    return body
