"""Settings: what they are, and changing one. Needs no store, so a broken setting can be mended."""

from collections.abc import Sequence
from typing import Any

from kept.adapters import files, settings
from kept.app.desk import Home
from kept.model.codec import dump
from kept.model.errors import ConfigError, UsageError
from kept.model.profile import Use


def shown(home: Home) -> dict[str, Any]:
    """Every setting with its value, by name. Raises ConfigError."""
    return {name: _plain(value) for name, value in settings.values(settings.read(home.settings)).items()}


def setting(home: Home, name: str) -> Any:
    """One setting. Raises ConfigError for an unknown one."""
    values = shown(home)
    if name not in values:
        raise ConfigError(f"unknown setting {name!r}", hint=f"settings: {', '.join(values)}")
    return values[name]


def change(home: Home, name: str, value: str | Sequence[str]) -> Any:
    """Set one setting (lists comma-separated; empty: the default again) and return what it now is. Raises ConfigError, ChangedError."""
    before = files.read(home.settings)
    text = settings.write(home.settings, name, value)
    files.write(home.settings, text.encode(), expect=before.stamp, root=home.root)
    return setting(home, name)


def include(home: Home, name: str, item: str, *, there: bool) -> tuple[str, ...]:
    """Put an item into a setting that is a list, or take it out. Returns the list. Raises ConfigError, ChangedError, UsageError."""
    before = tuple(setting(home, name))
    if there == (item in before):
        raise UsageError(f"{item!r} is {'already' if there else 'not'} among {name}", hint=f"kept config get {name}")
    return tuple(change(home, name, (*before, item) if there else [each for each in before if each != item]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return dump(value) if isinstance(value, Use) else value
