"""The user's settings: one TOML file, read strictly, written back with the user's comments kept."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import tomlkit
import tomlkit.exceptions

from kept.model.errors import ConfigError
from kept.model.profile import Use

_TABLES = frozenset({"projects", "use"})
_MOST = 1_000_000  # bytes; a settings file beyond this is a mistake


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a person can set, with the defaults.

    ``timezone`` is an IANA name; empty means that of the machine. ``sources_off`` names formats that are not read; ``exclude`` holds
    glob patterns of transcript paths and project directories that are not read. ``projects`` maps a directory to the directory it
    is the same project as. ``profile`` is the profile of what no rule speaks of, ``profiles`` are others that are at work, ``use`` are
    the rules, tables of ``profile``, ``sources`` and ``projects``; the first that fits decides.
    """

    timezone: str = ""
    profile: str = "coding"
    profiles: tuple[str, ...] = ()
    sources_off: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    projects: Mapping[str, str] = field(default_factory=dict)
    use: tuple[Use, ...] = ()


def read(path: Path) -> Settings:
    """The settings in a file; the defaults where there is none.

    Raises ConfigError with file and reason where it is unreadable, no TOML, or says something unknown: never silently the default.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(f"the settings cannot be read: {error.strerror}", where=str(path)) from error
    if len(raw) > _MOST:
        raise ConfigError(
            "the settings file is larger than 1 MB", where=str(path), hint="move it away and set again with `kept config`"
        )
    try:
        body = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the settings are no valid TOML: {error}", where=str(path)) from error
    return _checked(body, str(path))


def _checked(body: Mapping[str, Any], where: str) -> Settings:
    known = {each.name: each.default for each in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in body.items():
        if name not in known:
            raise ConfigError(f"unknown setting {name!r}", where=where, hint=f"settings: {', '.join(known)}")
        values[name] = _value(name, value, where)
    made = Settings(**values)
    if made.timezone:
        zone(made.timezone)
    return made


def _value(name: str, value: object, where: str) -> Any:
    match name:
        case "timezone" | "profile" if isinstance(value, str):
            return value
        case "profiles" | "sources_off" | "exclude" if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        case "projects" if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
            return dict(value)
        case "use" if isinstance(value, list):
            return tuple(_use(each, f"{where}, [[use]] number {number}") for number, each in enumerate(value, 1))
        case _:
            raise ConfigError(f"{name} has a value of the wrong kind", where=where, hint="see `kept config --help`")


def _use(body: object, where: str) -> Use:
    known = {each.name for each in fields(Use)}
    if not isinstance(body, dict) or not isinstance(body.get("profile"), str):
        raise ConfigError("a rule names the profile it is for", where=where, hint='[[use]] profile = "vault" sources = ["vault"]')
    lists = {name: value for name, value in body.items() if name != "profile"}
    for name, value in lists.items():
        if name not in known:
            raise ConfigError(f"unknown setting {name!r}", where=where, hint=f"settings: {', '.join(sorted(known))}")
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ConfigError(f"{name} must be a list of words", where=where)
    return Use(profile=body["profile"], **{name: tuple(value) for name, value in lists.items()})


def zone(name: str) -> ZoneInfo:
    """The time zone of an IANA name. Raises ConfigError."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(f"there is no time zone {name!r}", hint="use a name such as Europe/Berlin") from error


def write(path: Path, name: str, value: str | Sequence[str]) -> str:
    """The text of the settings file with one setting changed (a list as such, or comma-separated; empty removes it).

    Comments and order are kept. Nothing is written here. Raises ConfigError for an unknown setting or a wrong value.
    """
    known = {each.name for each in fields(Settings)}
    if name not in known - _TABLES:
        raise ConfigError(
            f"unknown setting {name!r}",
            hint=f"settings: {', '.join(sorted(known - _TABLES))}; edit {' and '.join(sorted(_TABLES))} in the file itself",
        )
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except (tomlkit.exceptions.TOMLKitError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"the settings cannot be read: {error}", where=str(path)) from error
    if not value:
        document.pop(name, None)
    elif name in ("profiles", "sources_off", "exclude"):
        items = value.split(",") if isinstance(value, str) else value
        document[name] = [each.strip() for each in items if each.strip()]
    else:
        document[name] = value
    text = tomlkit.dumps(document)
    _checked(tomllib.loads(text), str(path))
    return text
