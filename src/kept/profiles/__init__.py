"""Profiles as data: one TOML file each, the user's own in a folder beside the built-in ones.

Knows the form of a profile, not what any stage does with it.
"""

import tomllib
from importlib.resources import files
from pathlib import Path

from kept.core.codec import load
from kept.core.errors import ConfigError
from kept.profiles.checking import MEMORY_CAP, Mistake, mistakes
from kept.profiles.profile import Profile

__all__ = ["DEFAULT", "MEMORY_CAP", "Mistake", "check", "names", "profile", "read", "source"]

DEFAULT = "coding"


def names(folder: Path | None = None) -> tuple[str, ...]:
    """The ids of all profiles: built-in, and those in the user's folder."""
    own = {each.stem for each in folder.glob("*.toml")} if folder and folder.is_dir() else set()
    return tuple(sorted(built_in() | own))


def built_in() -> frozenset[str]:
    """The ids of the profiles that come with kept."""
    return frozenset(each.name[:-5] for each in files("kept.profiles").iterdir() if each.name.endswith(".toml"))


def profile(name: str = DEFAULT, folder: Path | None = None) -> Profile:
    """The profile of that id; the user's own file wins over a built-in one.

    Raises ConfigError naming the file and the setting where it is missing or wrong.
    """
    text, where = source(name, folder)
    return read(text, where)


def source(name: str, folder: Path | None = None) -> tuple[str, str]:
    """The text of a profile and where it stands. Raises ConfigError where there is none, or it cannot be read."""
    own = folder / f"{name}.toml" if folder and name.replace("-", "").replace("_", "").isalnum() else None
    if own is not None and own.is_file():
        return _text(own), str(own)
    if name not in built_in():
        raise ConfigError(f"there is no profile {name!r}", hint=f"profiles: {', '.join(names(folder))}")
    return (files("kept.profiles") / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the profile cannot be read: {error}", where=str(path), hint="make it readable UTF-8 text") from error


def check(text: str) -> tuple[Mistake, ...]:
    """Everything that is wrong with the TOML text of a profile."""
    try:
        return mistakes(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        return (Mistake("file", f"no valid TOML: {error}"),)


def read(text: str, where: str) -> Profile:
    """Read a profile from TOML text. Raises ConfigError naming ``where``, the setting and what is wrong with it."""
    wrong = check(text)
    if wrong:
        first, more = wrong[0], len(wrong) - 1
        others = f" (and {more} more: kept profiles check)" if more else ""
        raise ConfigError(f"{first.setting}: {first.told}{others}", where=where, hint=first.allowed)
    made: Profile = load(Profile, tomllib.loads(text))
    return made
