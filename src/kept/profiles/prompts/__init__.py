"""Extraction prompts: the built-in text, the user's own text that replaces it, and the categories that such a text declares.

A prompt is Markdown. ``{{categories}}`` is replaced by the profile's categories. Without it, they are appended. The required form
of the reply is always added, so a user's text need not describe it. Front matter may declare additional categories::

    ---
    categories:
      health: What concerns the person's health, and nobody else's.
      people:
        title: People
        belongs: Who somebody is to the person.
        users_words: false
    ---

This package finds and composes prompts. It does not depend on how replies are used.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from kept.core.errors import ConfigError
from kept.core.value import dataclass, replace
from kept.profiles.profile import Category, Profile

NAME = "extraction-prompt"
MEMORY_LOOP = Path(".config") / "memory-loop" / f"{NAME}.md"
BUILT_IN = "built in"
_MOST_CHARS = 200_000  # a longer file is refused as a mistake
_MEMORY_LOOP_PROFILE = "vault"  # the profile that uses a prompt made for Memory Loop, even if it is not the default
_SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_FIXED_SETTINGS = ("id", "shape")  # settings of a category that front matter cannot give


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A profile's extraction prompt.

    ``origin`` is the file of the user's own text, or ``"built in"``. ``text`` is its text. ``system`` is the whole stable text for
    a model, ``reminder`` the text after the conversation, and ``version`` a hash of both (8 hex digits). ``declared`` are the
    categories that its front matter adds to the profile.
    """

    profile: str
    origin: str
    text: str
    system: str
    reminder: str
    version: str
    declared: tuple[Category, ...] = ()

    @property
    def overridden(self) -> bool:
        """True if the user's own text replaces the built-in one."""
        return self.origin != BUILT_IN


def default_prompt_text() -> str:
    """The text of the built-in prompt."""
    return Path(__file__).with_name("extraction.md").read_text(encoding="utf-8")


@cache
def question_text(name: str) -> tuple[str, str]:
    """Load the stable text of a kind of question (``outcome``, ``journal``, ``curation``, …). Returns the text and its version."""
    text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")
    return text, sha256(text.encode()).hexdigest()[:8]


def user_prompt_path(profile: str, config: Path, *, default_profile: str) -> Path:
    """The path of the user's own prompt for a profile, in kept's settings folder."""
    return config / (f"{NAME}.md" if profile == default_profile else f"{NAME}.{profile}.md")


def load_prompt(profile: Profile, *, root: Path, config: Path, default_profile: str) -> Prompt:
    """Load the active prompt of a profile: the user's own, or else one made for Memory Loop, or else the built-in one.

    ``root`` is the home that contains both. Raises ConfigError with the file if it is unreadable or invalid.
    """
    path = prompt_path(profile.id, root=root, config=config, default_profile=default_profile)
    text = _read_prompt(path) if path else default_prompt_text()
    return compose_prompt(profile, text, str(path) if path else BUILT_IN)


def prompt_path(profile: str, *, root: Path, config: Path, default_profile: str) -> Path | None:
    """Find the file of the active prompt of a profile. None if the built-in prompt is active."""
    own = user_prompt_path(profile, config, default_profile=default_profile)
    paths = (own, root / MEMORY_LOOP) if profile in (default_profile, _MEMORY_LOOP_PROFILE) else (own,)
    return next((path for path in paths if path.is_file()), None)


def compose_prompt(profile: Profile, text: str, origin: str) -> Prompt:
    """Compose the prompt of a profile from a text. Raises ConfigError if its front matter is invalid."""
    head, body = _split_front_matter(text)
    declared = _parse_declared_categories(head, profile, origin)
    listed = "\n".join(map(_format_category, with_declared_categories(profile, declared).categories))
    body = body.strip()
    body = body.replace("{{categories}}", listed) if "{{categories}}" in body else f"{body}\n\n# What to keep\n\n{listed}"
    contract, reminder = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("contract.md", "reminder.md"))
    system = f"{body}\n\n{contract.strip()}\n"
    version = sha256(f"{system}{reminder}".encode()).hexdigest()[:8]
    return Prompt(
        profile=profile.id, origin=origin, text=text, system=system, reminder=reminder.strip(), version=version, declared=declared
    )


def with_declared_categories(profile: Profile, declared: tuple[Category, ...]) -> Profile:
    """Add the categories that a prompt declares to a profile. A category with an existing id is replaced."""
    new = {category.id: category for category in declared}
    known = tuple(new.pop(category.id, category) for category in profile.categories)
    return replace(profile, categories=(*known, *new.values())) if declared else profile


def _format_category(each: Category) -> str:
    excluded = f" Not: {each.excludes}" if each.excludes else ""
    return f"- {each.id}: {each.belongs}{excluded}"


def _read_prompt(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt cannot be read: {error}", where=str(path), hint="make it readable UTF-8 text") from error
    if len(text) > _MOST_CHARS:
        raise ConfigError(f"the prompt has more than {_MOST_CHARS:,} characters", where=str(path), hint="kept prompt reset")
    if not text.strip():
        raise ConfigError("the prompt is empty", where=str(path), hint="kept prompt reset")
    return text


def _split_front_matter(text: str) -> tuple[str, str]:
    """Split a text into front matter (empty if there is none) and the rest."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return "", text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    return ("", text) if end is None else ("\n".join(lines[1:end]), "\n".join(lines[end + 1 :]))


def _parse_declared_categories(head: str, profile: Profile, where: str) -> tuple[Category, ...]:
    if not head.strip():
        return ()
    import yaml  # noqa: PLC0415 - few prompts declare categories

    try:
        # Every scalar stays text: values get no types, and tags create no objects.
        body = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506 - the base loader makes lists, mappings and texts only
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"the prompt's front matter is not YAML: {error}", where=where) from error
    body = body or {}
    if not isinstance(body, Mapping):
        raise ConfigError("the prompt's front matter is not a table of settings", where=where)
    found = body.get("categories") or {}
    named = found.items() if isinstance(found, Mapping) else _parse_category_list(found, where)
    return tuple(_parse_category(str(name), entry, profile, where) for name, entry in named)


def _parse_category_list(found: object, where: str) -> list[tuple[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(item, Mapping) and isinstance(item.get("id"), str) for item in found):
        raise ConfigError("categories of a prompt are a mapping, or a list of entries with an id", where=where)
    return [(item["id"], {name: value for name, value in item.items() if name != "id"}) for item in found]


def _parse_category(name: str, body: object, profile: Profile, where: str) -> Category:
    place = f"{where}, category {name!r}"
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise ConfigError("a category's id may hold letters, digits and _ only", where=place)
    values = {"belongs": body} if isinstance(body, str) else body
    if not isinstance(values, Mapping):
        raise ConfigError("a category is a sentence, or a table of its settings", where=place)
    known = profile.category(name)
    hints = {setting: hint for setting, hint in get_type_hints(Category).items() if setting not in _FIXED_SETTINGS}
    typed = {setting: _convert_setting(setting, value, hints, place) for setting, value in values.items()}
    if known is not None:
        return replace(known, **typed)
    if not typed.get("belongs"):
        raise ConfigError("a category needs a sentence that says what belongs to it", where=place)
    plain = {"title": name.replace("_", " ").capitalize(), "excludes": "", "specific": False}
    return Category(**({"id": name} | plain | typed))


def _convert_setting(name: str, value: object, hints: Mapping[str, Any], where: str) -> Any:
    """Convert a value to the type of a category's field. Raises ConfigError."""
    if name not in hints:
        raise ConfigError(f"unknown setting {name!r}", where=where, hint=f"settings: {', '.join(hints)}")
    try:
        match hints[name], value:
            case kind, str() if kind is bool:
                return _SWITCH[value.lower()]
            case kind, str() if kind in (int, float):
                return kind(value)
            case kind, str() if kind is str:
                return value
            case _, list() if all(isinstance(item, str) for item in value) and name == "examples":
                return tuple(value)
    except (KeyError, ValueError):
        pass
    raise ConfigError(f"{name} has a value of the wrong kind", where=where)
