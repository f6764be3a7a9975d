"""A profile: data that decides what is remembered, when it is extracted, and where it is shown.

:func:`find_mistakes` checks a parsed TOML table. It returns all mistakes, each with its setting and the allowed values.
"""

import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from kept.core.errors import ConfigError
from kept.core.project import matches_path
from kept.core.value import dataclass, field


class Shape(StrEnum):
    """What one memory of a category contains.

    FACT: a single fact. DOSSIER: everything about one entity. COLLECTION: everything said on one theme. THEME: the latest entry on
    a theme, which replaces earlier ones.
    """

    FACT = "fact"
    DOSSIER = "dossier"
    COLLECTION = "collection"
    THEME = "theme"


class OutputPlace(StrEnum):
    """The outputs that can show a memory: the memory file, the card (MEMORY.md), the note of its day, its page, the JSON view."""

    MEMORY = "memory"
    CARD = "card"
    DAILY = "daily"
    PAGE = "page"
    VIEW = "view"


class Writer(StrEnum):
    """The possible writers of a category: extraction, an agent that suggests, a person."""

    MACHINE = "machine"
    AGENT = "agent"
    PERSON = "person"


class Occasion(StrEnum):
    """The occasions on which a stage runs: during a session, at its end, at night."""

    REAL_TIME = "real-time"
    SESSION_END = "session-end"
    NIGHTLY = "nightly"


# The intents that extraction finds, each with a description. A profile maps them to its categories. By default, an intent belongs
# to the category of the same name.
INTENTS: Mapping[str, str] = {
    "preference": "how the user wants the agent to work or answer",
    "constraint": "what must or must not be done, and what the user had to correct",
    "decision": "what was chosen, in the user's words",
    "convention": "how things are done here",
    "known_fix": "an error that occurred and what made it go away",
    "project_fact": "what is true of the project",
    "goal": "what the user wants to reach",
    "open_question": "a question that nothing has answered",
    "identity": "who the user is, where they live, what they do and have learnt",
    "person": "somebody in the user's life: who, and what of them",
    "stack": "what the user works with: machines, languages, tools",
    "aim": "what the user wants to reach in work and life",
    "lesson": "what was learnt",
    "theme": "what days of work were about",
}

#: Intents that profiles of earlier versions may still map. Extraction no longer finds them.
RETIRED_INTENTS = frozenset({"behaviour", "noted_decision", "noted_question", "noted_rule", "resource", "taste"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """A category of memories: its definition, the candidates it accepts, and how its memories age and are shown.

    ``belongs`` says in one sentence what belongs to the category, ``excludes`` what does not. ``examples`` are example memories.
    ``consolidation`` says how several memories become one. ``users_words``: a candidate is held unless it is in the user's own
    words, and refused if its evidence includes a tool's text. ``tool_words = false``: a candidate from a tool's text is held.
    ``specific``: status reports and sentences without a concrete name are refused, except with an error fingerprint or, with
    ``users_words``, in the user's own words. ``floor``: a candidate with a lower confidence is held.
    ``review``: a held candidate with a lower confidence is refused. ``weight`` is its relevance when a file is full. ``half_life``
    is the number of days after which an unconfirmed memory counts half (0: never). ``fades`` is the number of days after which a
    memory retires if its project goes on without mentioning it (0: never). ``budget`` is the most memories of one project in a file
    (0: all). ``user_wide``: its memories apply everywhere, not only in one project. ``lasting``: several memories can be true at
    once, and none replaces another. ``promotes_to`` is the category that a memory gets when it was said in three sessions.
    ``shown_in`` are the outputs that show it. ``writers`` may write to it; without ``machine``, extracted candidates are held.
    ``headings`` are the headings in notes and journals under which list items belong to it. ``self_reference = false``: candidates
    about the assistant itself are refused.
    """

    id: str
    title: str
    belongs: str
    excludes: str
    examples: tuple[str, ...] = ()
    consolidation: str = "The same said again is one memory; a later value takes the place of an earlier one."
    shape: Shape = Shape.FACT
    users_words: bool = True
    tool_words: bool = True
    specific: bool = True
    floor: float = 0.7
    review: float = 0.0
    weight: float = 1.0
    half_life: int = 0
    fades: int = 0
    budget: int = 0
    user_wide: bool = False
    lasting: bool = False
    promotes_to: str = ""
    shown_in: tuple[OutputPlace, ...] = (
        OutputPlace.MEMORY,
        OutputPlace.CARD,
        OutputPlace.DAILY,
        OutputPlace.PAGE,
        OutputPlace.VIEW,
    )
    writers: tuple[Writer, ...] = (Writer.MACHINE, Writer.AGENT, Writer.PERSON)
    headings: tuple[str, ...] = ()
    self_reference: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Buffer:
    """The rule that splits a session into episodes before a prompt.

    It splits if the episode has ``most`` events. It also splits if the episode has ``least`` events and its last event is more than
    ``seconds`` older than the prompt, or one of the two times is unknown.
    """

    least: int = 5
    most: int = 20
    seconds: int = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionSchedule:
    """The occasions on which a profile extracts.

    ``nightly`` must be true, because the nightly job does the work that the other occasions left. This is checked on loading.
    """

    real_time: bool = False
    session_end: bool = True
    nightly: bool = True

    def on(self, occasion: Occasion) -> bool:
        """True if extraction runs on an occasion."""
        return {Occasion.REAL_TIME: self.real_time, Occasion.SESSION_END: self.session_end, Occasion.NIGHTLY: self.nightly}[
            occasion
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """The files that are written, and their sizes. Paths are relative to the home. A file with an empty path is not written.

    ``memory_file`` holds at most ``memory_bytes`` bytes and ``memory_lines`` lines of memories. ``section`` is the heading of
    kept's section in a project's CLAUDE.md, which is only written with ``project_section``. ``project_rules`` writes rules files
    into a project's ``.claude/rules``. Rules about one folder apply only to that folder. ``card_file`` is a quick-reference card of
    at most ``card_chars`` characters. ``daily_folder`` holds one note per day. ``pages_folder`` holds pages about people, projects
    and resources, of at most ``page_bytes`` bytes each. ``view_file`` is a JSON view of at most ``view_bytes`` bytes.
    ``trust_added_lines``: a line that somebody adds to a file becomes active at once instead of being held.
    """

    memory_file: str = ".claude/rules/memory.md"
    memory_bytes: int = 12_000
    memory_lines: int = 120
    project_section: bool = False
    project_rules: bool = False
    section: str = "Memory Loop Insights"
    card_file: str = ""
    card_chars: int = 15_000
    daily_folder: str = ""
    pages_folder: str = ""
    page_bytes: int = 30_000
    view_file: str = ""
    view_bytes: int = 24_000
    trust_added_lines: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """What is remembered, when, and where it is shown.

    ``languages`` are the languages in which it looks for statements; the first is the default. ``intents`` maps the kinds of
    statements that kept finds to categories (empty: not remembered). A kind that is missing there belongs to the category of the
    same name. ``worth`` is a grade from 1 to 3: a model's proposal with a lower grade is held.
    """

    id: str
    title: str
    summary: str
    categories: tuple[Category, ...]
    languages: tuple[str, ...] = ("en",)
    intents: Mapping[str, str] = field(default_factory=dict)
    worth: int = 2
    buffer: Buffer = Buffer()
    when: ExtractionSchedule = ExtractionSchedule()
    outputs: Outputs = Outputs()

    def category(self, name: str) -> Category | None:
        """Return the category with this id, or None."""
        return next((category for category in self.categories if category.id == name), None)

    def category_for(self, intent: str) -> Category | None:
        """Return the category for an intent that extraction finds. None if the profile does not remember it."""
        return self.category(self.intents.get(intent, intent))


def format_kind(profile: str, category: str) -> str:
    """Format a category with its profile as one word: ``coding.preference``."""
    return f"{profile}.{category}"


def parse_kind(kind: str) -> tuple[str, str]:
    """Split the result of :func:`format_kind` into profile (empty if there is none) and category."""
    profile, _, category = kind.rpartition(".")
    return profile, category


def find_kind(profiles: Sequence["Profile"], name: str) -> tuple[str, str]:
    """The profile (empty if none is named) and the category's id, of a category that a person names by its id or its title.

    Lists print titles, such as "Facts" of project_fact. The name of no category is split and otherwise unchanged.
    """
    wanted, category = parse_kind(name)
    known = [each for profile in profiles if wanted in ("", profile.id) for each in profile.categories]
    title = category.casefold().removesuffix("s")
    titled = (each.id for each in known if each.title.casefold().removesuffix("s") == title)
    return wanted, category if any(each.id == category for each in known) else next(titled, category)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRule:
    """A rule of the user: ``profile`` applies to sessions from one of ``sources`` and one of ``projects``.

    ``sources`` are names of formats. ``projects`` are glob patterns of project directories. An empty list means any.
    """

    profile: str
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def is_match(self, source: str, place: str) -> bool:
        """True if the rule applies to a source and a directory."""
        return (not self.sources or source in self.sources) and (not self.projects or matches_path(place, self.projects))

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if not self.profile:
            raise ConfigError("a rule needs a profile", hint='[[use]] profile = "vault" sources = ["vault"]')


def choose_profile(
    uses: Sequence[ProfileRule], profiles: Sequence[Profile], source: str, place: str, *, usual: str = ""
) -> Profile:
    """Choose the profile for sessions of ``source`` in the directory ``place``.

    The first matching rule decides. If none matches, the source's ``usual`` profile is chosen if it is among ``profiles``, else the
    first of ``profiles``. Rules for other profiles are ignored.
    """
    known = {profile.id: profile for profile in profiles}
    named = [rule.profile for rule in uses if rule.is_match(source, place)]
    return next((known[item] for item in (*named, usual) if item in known), profiles[0])


def category_title(profiles: Sequence[Profile], profile: str, category: str) -> str:
    """The title of a category. If an earlier one of ``profiles`` has a category with the same title, the profile's title
    is added.
    """
    known = {(profile.id, category.id): (profile, category) for profile in profiles for category in profile.categories}
    if (profile, category) not in known:
        return category.replace("_", " ").capitalize()
    whose, found = known[profile, category]
    first = next(profile for profile, category in known.values() if category.title == found.title)
    return found.title if first is whose else f"{found.title} ({whose.title})"


MEMORY_CAP = 50_000  # bytes of memory.md, whatever a profile sets
CARD_CAP = 15_000  # characters of MEMORY.md, whatever a profile sets
_FLOOR = Category(id="", title="", belongs="", excludes="").floor
_PATHS = ("memory_file", "card_file", "daily_folder", "pages_folder", "view_file")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


class Mistake(NamedTuple):
    """A mistake in a profile: the setting, the fault, and the allowed values (empty if the fault already says them)."""

    setting: str
    fault: str
    allowed: str = ""


def find_mistakes(body: Mapping[str, Any]) -> tuple[Mistake, ...]:
    """Return all mistakes in the table of a profile, in order. Empty if it is valid."""
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
    for setting in fields(kind):
        if setting.name in body:
            yield from _check_value(hints[setting.name], body[setting.name], _setting_path(at, setting.name))
        elif setting.default is MISSING and setting.default_factory is MISSING:
            yield Mistake(_setting_path(at, setting.name), "is missing")


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
            yield Mistake(f"intents.{intent}", "there is no such intent", f"one of: {', '.join(INTENTS)}")
        elif category and category not in ids:
            yield Mistake(f"intents.{intent}", f"there is no category {category!r}", f"one of: {', '.join(ids)}, or an empty text")
    buffer = {"least": 5, "most": 20, "seconds": 60} | body.get("buffer", {})
    if not 2 <= buffer["least"] <= buffer["most"] or buffer["seconds"] < 1:
        yield Mistake("buffer", "its numbers do not fit together", "2 ≤ least ≤ most, seconds ≥ 1")
    if not 1 <= body.get("worth", 2) <= 3:
        yield Mistake("worth", "a grade is 1, 2 or 3", "3")
    if not body.get("when", {}).get("nightly", True):
        yield Mistake("when.nightly", "cannot be turned off, because the nightly job does everything that was left over", "true")
    yield from _check_outputs(body.get("outputs", {}))


def _check_category(body: Mapping[str, Any], ids: list[str]) -> Iterator[Mistake]:
    name, at = body["id"], f"categories[{body['id']}]"
    if not name.replace("_", "").isalnum() or not name.isascii():
        yield Mistake(f"{at}.id", "may hold letters, digits and _ only")
    if not 0 <= body.get("floor", 0) <= 1:
        yield Mistake(f"{at}.floor", f"cannot be {body['floor']}", "0 to 1: candidates below this confidence are held")
    if not 0 <= body.get("review", 0) <= body.get("floor", _FLOOR):
        yield Mistake(
            f"{at}.review", f"cannot be {body['review']}", "0 to the floor: held candidates below this confidence are refused"
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
