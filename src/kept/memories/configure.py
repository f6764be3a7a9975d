"""Describe and change settings. This needs no store, so that a wrong setting that prevents opening the store can be repaired.

A change may name the revision of the setting or of the whole file that its author saw; another revision raises StaleError. Comments
and order of the file are preserved. ``remote`` means that the page or an agent makes the change. It raises TerminalOnlyError for
settings that name programs, servers or paths, or that say whom to trust.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from kept import profiles
from kept.core.codec import dump, map_strings
from kept.core.digest import digest
from kept.core.errors import ConfigError, StaleError, TerminalOnlyError, UsageError
from kept.core.redact import hide_secrets, refuse_secrets
from kept.core.value import dataclass
from kept.local import files, settings
from kept.local.settings import KINDS, LISTS, TABLES, Settings, flatten_settings, parse_settings, unknown_setting_error
from kept.local.settings.tables import FeedSettings, ShareSettings, SourceRoot
from kept.paths import Paths
from kept.profiles.profile import ProfileRule


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
        return tomlkit.parse(path.read_text(encoding="utf-8-sig")) if path.exists() else tomlkit.document()
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


_KINDS = {bool: "switch", int: "whole number", float: "number", str: "text", tuple: "list"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A setting: name, title, meaning, kind (switch, whole number, number, text, list, table), default and value.

    ``choices`` has the allowed values if there are only a few, and is empty otherwise. ``given`` means that the settings file sets
    it. ``revision`` is a hash of the value. ``terminal_only`` means that the page and agents cannot change the setting.
    """

    name: str
    group: str
    title: str
    meaning: str
    kind: str
    default: Any
    value: Any
    choices: tuple[str, ...] = ()
    given: bool = False
    terminal_only: bool = False
    revision: str = ""


def show_settings(home: Paths) -> dict[str, Any]:
    """The value of every setting, by name, with ``***`` for the secrets in it. Raises ConfigError."""
    return {name: map_strings(value, hide_secrets) for name, value in _load_values(home).items()}


def show_setting(home: Paths, name: str) -> Any:
    """The value of one setting as in :func:`show_settings`. Raises ConfigError if there is no such setting."""
    return map_strings(load_setting(home, name), hide_secrets)


def _load_values(home: Paths) -> dict[str, Any]:
    return {name: _to_json_value(value) for name, value in settings.flatten_settings(settings.load_settings(home.settings)).items()}


def describe_settings(home: Paths) -> tuple[Setting, ...]:
    """Describe all settings, sorted by group, with ``***`` for the secrets in their values. Raises ConfigError."""
    values, defaults = _load_values(home), settings.flatten_settings(settings.Settings())
    given = settings.configured_names(home.settings)
    return tuple(
        Setting(
            name=name,
            group=title,
            title=called,
            meaning=meaning,
            kind=_setting_kind(name, defaults[name]),
            default=_to_json_value(defaults[name]),
            value=map_strings(values[name], hide_secrets),
            choices=settings.CHOICES.get(name, ()),
            given=name in given,
            terminal_only=name in settings.TERMINAL_ONLY,
            revision=_setting_revision(name, values[name]),
        )
        for _, title, own in settings.load_meanings()
        for name, (called, meaning) in own.items()
    )


def setting_groups() -> tuple[tuple[str, str], ...]:
    """The ids and titles of the groups of settings, in order."""
    return tuple((number, title) for number, title, _ in settings.load_meanings())


def setting_kind(name: str) -> str:
    """The kind of a setting, found without reading the settings file. Raises ConfigError if there is no such setting."""
    defaults = settings.flatten_settings(settings.Settings())
    if name not in defaults:
        raise settings.unknown_setting_error(name, defaults)
    return _setting_kind(name, defaults[name])


def load_setting(home: Paths, name: str) -> Any:
    """The value of one setting. Raises ConfigError if there is no such setting."""
    values = _load_values(home)
    if name not in values:
        raise settings.unknown_setting_error(name, values)
    return values[name]


def describe_setting(home: Paths, name: str) -> Setting:
    """Describe one setting. Raises ConfigError if there is no such setting."""
    load_setting(home, name)
    return next(setting for setting in describe_settings(home) if setting.name == name)


def change_setting(home: Paths, name: str, value: str | Sequence[str], *, if_match: str = "", remote: bool = False) -> Any:
    """Change one setting and return its new value. An empty value restores the default.

    A list given as text is separated by commas. Raises ConfigError, ChangedError, and StaleError if ``if_match`` is given and is
    not the setting's revision.
    """
    return _change(home, name, partial(edit_setting_text, home.settings, name, value), if_match=if_match, remote=remote)


def include_item(home: Paths, name: str, item: str, *, included: bool, remote: bool = False) -> tuple[str, ...]:
    """Add an item to a list setting, or remove it if ``included`` is False. Returns the new list.

    Raises ConfigError, ChangedError, and UsageError if there is nothing to change.
    """
    before = tuple(load_setting(home, name))
    if included == (item in before):
        raise UsageError(f"{item!r} is {'already' if included else 'not'} among {name}", hint=f"kept config get {name}")
    return tuple(
        change_setting(home, name, (*before, item) if included else [entry for entry in before if entry != item], remote=remote)
    )


def save_table_item(
    home: Paths, table: str, item: Mapping[str, Any], *, number: int | None = None, if_match: str = "", remote: bool = False
) -> Any:
    """Append an item to a list of tables (``use``, ``feed``), or replace item ``number`` (from 0). Returns the whole list.

    Raises ConfigError, ChangedError, StaleError.
    """
    given = {name: value for name, value in item.items() if value}
    return _change(
        home, table, partial(edit_item_text, home.settings, table, given, number=number), if_match=if_match, remote=remote
    )


def remove_table_item(home: Paths, table: str, number: int, *, if_match: str = "", remote: bool = False) -> Any:
    """Remove item ``number`` (from 0) from a list of tables. Returns the remaining list.

    Raises ConfigError, ChangedError, StaleError.
    """
    edit = partial(edit_item_text, home.settings, table, None, number=number)
    return _change(home, table, edit, if_match=if_match, remote=remote)


def _change(home: Paths, name: str, edit: Callable[[], str], *, if_match: str, remote: bool) -> Any:
    """Replace the settings file by the text that ``edit`` returns. Returns the new value of the setting or table ``name``."""
    if remote:
        _refuse_terminal_only(name)
    before = files.read_file(home.settings)
    if if_match:
        _check_revision(if_match, _setting_revision(name, load_setting(home, name)), name)
    _write_settings(home, edit(), before, remote=remote)
    return load_setting(home, name)


def map_projects(home: Paths, changes: Mapping[str, str]) -> None:
    """Map directories to other directories of the same project. An empty value removes a mapping.

    Raises ConfigError, ChangedError.
    """
    before = files.read_file(home.settings)
    _write_settings(home, edit_projects_text(home.settings, changes), before, remote=False)


def load_settings_text(home: Paths) -> tuple[str, str]:
    """The text of the settings file, with ``***`` for its secrets, and its revision. Raises KeptError if it cannot be read."""
    content = files.read_file(home.settings)
    return "".join(map(hide_secrets, _split_lines(content.data))), _file_revision(content.data)


def rewrite_settings(home: Paths, new: str, *, if_match: str = "", remote: bool = False) -> None:
    """Replace the text of the whole settings file. Lines as in :func:`load_settings_text` keep their secrets.

    Raises ConfigError for invalid settings, StaleError, ChangedError.
    """
    before = files.read_file(home.settings)
    _check_revision(if_match, _file_revision(before.data), "the settings file")
    hidden = {hide_secrets(line).rstrip(): line.rstrip() for line in _split_lines(before.data)}
    kept = (hidden.get(line.rstrip(), line) if "***" in line else line for line in new.split("\n"))
    _write_settings(home, "\n".join(kept), before, remote=remote)


def _split_lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines(keepends=True)


def _write_settings(home: Paths, new: str, before: files.FileContent, *, remote: bool) -> None:
    """Validate the new text of the settings file and write it.

    Each newly named profile must exist, because a home with a missing profile cannot be opened.
    """
    data, where = new.encode("utf-8", "replace"), str(home.settings)
    hint = "name the environment variable that holds it (llm.key_env); nothing was changed"
    refuse_secrets(new, before=before.data.decode("utf-8", "replace"), where=where, hint=hint)
    old, asked = settings.Settings(), settings.parse_settings(data, where)
    known: tuple[str, ...] = ()
    with suppress(ConfigError):
        old = settings.parse_settings(before.data, where)
        known = _named_profiles(old)
    if remote:
        before_values, after_values = settings.flatten_settings(old), settings.flatten_settings(asked)
        for name in sorted(settings.TERMINAL_ONLY):
            if after_values[name] != before_values[name]:
                _refuse_terminal_only(name)
    for name in _named_profiles(asked):
        if name not in known:
            profiles.load_profile(name, home.config / "profiles")
    files.write_if_unchanged(home.settings, data, expect=before.stamp, root=home.root)


def _refuse_terminal_only(name: str) -> None:
    """Raise TerminalOnlyError for a setting that names a program, a server or a path, or that says whom to trust."""
    if name in settings.TERMINAL_ONLY:
        way = f"edit `{name}` in the settings file" if setting_kind(name) == "table" else f"kept config set {name} VALUE"
        reason = f"{name} names a program, a server or a path, or says whom to trust"
        raise TerminalOnlyError(reason, where=name, hint=f"change it on the terminal: {way}")


def _named_profiles(body: settings.Settings) -> tuple[str, ...]:
    return (body.profile, *body.profiles, *(rule.profile for rule in body.use))


def _check_revision(seen: str, now: str, what: str) -> None:
    if seen not in ("", now):
        raise StaleError(f"{what} was changed meanwhile", hint="nothing was changed; look at it, then try again")


def _setting_revision(name: str, value: Any) -> str:
    return digest(name, repr(value), size=6)


def _file_revision(data: bytes) -> str:
    return digest(data.hex(), size=6)


def _setting_kind(name: str, defaults: Any) -> str:
    return "table" if name in ("projects", *settings.LISTS) else _KINDS[type(defaults)]


def _to_json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json_value(item) for item in value]
    return dump(value) if isinstance(value, ProfileRule | FeedSettings | SourceRoot | ShareSettings) else value
