"""Compute the new text of the settings file for a change, preserving comments and order. Writes no file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kept.core.errors import ConfigError
from kept.local.settings import KINDS, LISTS, TABLES, Settings, flatten_settings, parse_settings, unknown_setting_error


def edit_setting_text(path: Path, name: str, value: str | Sequence[str]) -> str:
    """Return the text of the settings file with one setting changed. An empty value removes it. A list may be comma-separated.

    Raises ConfigError for an unknown setting or an invalid value.
    """
    import tomlkit  # noqa: PLC0415 - heavy, and reading the settings does without

    usual = flatten_settings(Settings())
    if name in TABLES:
        raise ConfigError(f"{name} is a table, which `kept config` does not change", hint="edit the settings file itself")
    if name not in usual:
        raise unknown_setting_error(name, usual)
    document = _load_document(path)
    section, _, own = name.rpartition(".")
    table: Any = document.setdefault(section, tomlkit.table()) if section else document
    if not isinstance(table, dict):
        raise ConfigError(f"{section} has a value of the wrong kind", where=str(path))
    if value:
        table[own] = _to_toml_value(name, usual[name], value)
    else:
        table.pop(own, None)
    return _dump_document(document, path)


def edit_item_text(path: Path, table: str, item: Mapping[str, Any] | None, *, number: int | None = None) -> str:
    """Return the text of the settings file with an item appended to a list of tables.

    With ``number`` (from 0), that item is replaced instead or, if ``item`` is None, removed. Raises ConfigError if ``table`` is not
    such a list, if it has no item of that number, or if the result is invalid.
    """
    import tomlkit  # noqa: PLC0415 - as in :func:`edit_setting_text`

    if table not in LISTS:
        raise ConfigError(f"{table!r} is not a list of tables", hint=f"one of: {', '.join(sorted(LISTS))}")
    document = _load_document(path)
    listed: Any = document.setdefault(table, tomlkit.aot())
    if not isinstance(listed, list) or (number is not None and number >= len(listed)):
        raise ConfigError(f"{table} has no item {(number or 0) + 1}", where=str(path))
    made = tomlkit.item({name: list(value) if isinstance(value, tuple) else value for name, value in (item or {}).items()})
    if number is None:
        listed.append(made)
    elif item is not None:
        listed[number] = made
    else:
        del listed[number]
        if not listed:
            document.pop(table)
    return _dump_document(document, path)


def edit_projects_text(path: Path, changes: Mapping[str, str]) -> str:
    """Return the text of the settings file with directories mapped to others in ``[projects]``. An empty value removes a mapping.

    Raises ConfigError if the result is invalid.
    """
    import tomlkit  # noqa: PLC0415 - as in :func:`edit_setting_text`

    document = _load_document(path)
    table: Any = document.setdefault("projects", tomlkit.table())
    for directory, other in changes.items():
        if other:
            table[directory] = other
        else:
            table.pop(directory, None)
    if not table:
        document.pop("projects")
    return _dump_document(document, path)


def _load_document(path: Path) -> Any:
    """Load the settings file as a document that preserves comments. Raises ConfigError."""
    import tomlkit  # noqa: PLC0415 - as in :func:`edit_setting_text`
    import tomlkit.exceptions  # noqa: PLC0415

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except (tomlkit.exceptions.TOMLKitError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"the settings cannot be read: {error}", where=str(path)) from error


def _dump_document(document: Any, path: Path) -> str:
    """Return the text of an edited document. Raises ConfigError if it is not valid as settings."""
    text: str = document.as_string()
    parse_settings(text.encode(), str(path))
    return text


def _to_toml_value(name: str, usual: object, value: str | Sequence[str]) -> Any:
    """Convert a value to the TOML type of its default. Raises ConfigError."""
    if isinstance(usual, tuple):
        items = value.split(",") if isinstance(value, str) else value
        return [item.strip() for item in items if item.strip()]
    text = value if isinstance(value, str) else ",".join(value)
    try:
        match usual:
            case bool():
                return {"true": True, "false": False, "yes": True, "no": False}[text.lower()]
            case int():
                return int(text)
            case float():
                return float(text)
            case _:
                return text
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{name} must be a {KINDS[type(usual)]}, not {text!r}") from error
