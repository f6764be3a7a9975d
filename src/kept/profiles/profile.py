"""A profile: data that says what is remembered, when, and where it is shown (categories with gates, schedule, outputs, budgets)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from kept.core.project import matches_path
from kept.core.value import dataclass, field


class Shape(StrEnum):
    """What a memory of a category is.

    FACT: a single fact. DOSSIER: everything about one entity. COLLECTION: everything said on one theme. THEME: the latest entry on
    a theme, which replaces earlier ones.
    """

    FACT = "fact"
    DOSSIER = "dossier"
    COLLECTION = "collection"
    THEME = "theme"


class OutputPlace(StrEnum):
    """Where a memory is shown: the memory file, the card (MEMORY.md), the note of its day, its page, the JSON view."""

    MEMORY = "memory"
    CARD = "card"
    DAILY = "daily"
    PAGE = "page"
    VIEW = "view"


class Writer(StrEnum):
    """Who may write to a category: extraction, an agent that suggests, a person."""

    MACHINE = "machine"
    AGENT = "agent"
    PERSON = "person"


class Occasion(StrEnum):
    """When a stage runs: during a session, when it ends, at night."""

    REAL_TIME = "real-time"
    SESSION_END = "session-end"
    NIGHTLY = "nightly"


# The intents that extraction finds, each with a description. A profile maps them to its categories; the default is the category of
# the same name.
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

#: Intents that profiles of earlier versions may still map; nothing is found under them any more.
RETIRED_INTENTS = frozenset({"behaviour", "noted_decision", "noted_question", "noted_rule", "resource", "taste"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """A category of memories: what belongs to it, which candidates are accepted, and how its memories age and are shown.

    ``belongs`` and ``excludes`` say in a sentence what belongs and what does not; ``examples`` show it; ``consolidation`` says how
    several become one. With ``users_words`` a candidate is held unless it comes from the user's own words, and refused if its
    evidence includes a tool's text. Without ``tool_words`` a candidate that comes from a tool's text is held. ``specific`` refuses
    status reports and what names nothing concrete, except with an error fingerprint or, with ``users_words``, in the user's own
    words. ``actionable`` has no effect. A candidate whose confidence is below ``floor`` is held; what is held for any reason is
    refused instead if its confidence is below ``review``. ``weight`` is its relevance when a file is over budget, ``half_life`` the
    number of days after which an unconfirmed memory counts half (0: never), ``fades`` the number of days after which it retires if
    its project continues without mentioning any of its artifacts (0: never), ``budget`` how many memories per scope a file shows
    (0: all). ``user_wide`` puts it into the user's scope instead of the project's. ``lasting``: several can hold at once, so none
    replaces another. ``promotes_to`` is the category that a memory gets once it was said in three sessions. ``shown_in`` are its
    outputs, ``writers`` who may write to it: what is extracted into a category without machine writers is held. ``headings`` are
    those under which notes and journals list its items. Without ``self_reference`` what is about the assistant itself is refused.
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
    actionable: bool = False
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
    """Where a session is split into episodes: before a prompt, once the episode has ``most`` events, or ``least`` events and the
    last one is more than ``seconds`` older than the prompt (or either time is unknown).
    """

    least: int = 5
    most: int = 20
    seconds: int = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionSchedule:
    """On which occasions a profile extracts.

    ``nightly`` must be true, which is checked when a profile is loaded: the night does what the other occasions left.
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
    """What is written, and how much of it. Paths are relative to the home; an empty path is not written.

    ``memory_file`` holds at most ``memory_bytes`` bytes and ``memory_lines`` lines of memories. ``section`` is the heading of
    kept's section in a project's CLAUDE.md, which is only written with ``project_section``. ``project_rules`` writes rules files
    into a project's ``.claude/rules``; rules about one folder apply only to that folder. ``card_file`` is a quick-reference card of
    at most ``card_chars`` characters, ``daily_folder`` holds one note per day, ``pages_folder`` pages about people, projects and
    resources of at most ``page_bytes`` bytes each, ``view_file`` a JSON view of at most ``view_bytes`` bytes. With
    ``trust_added_lines`` a line that somebody adds to a file is active at once instead of held.
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
    """A way of remembering. ``languages`` are the lexicons to choose from for a conversation; the first one is the default.
    ``intents`` maps intents that extraction finds to categories, if not the one of the same name (empty: not remembered). ``worth``
    is the grade (1 to 3) from which a model's proposal is not held.
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
        """The category with that id, or None."""
        return next((category for category in self.categories if category.id == name), None)

    def category_for(self, intent: str) -> Category | None:
        """The category for an intent that extraction finds; None if the profile does not remember it."""
        return self.category(self.intents.get(intent, intent))


def format_kind(profile: str, category: str) -> str:
    """A category with its profile, as one word: ``coding.preference``."""
    return f"{profile}.{category}"


def parse_kind(kind: str) -> tuple[str, str]:
    """Split the result of :func:`format_kind` into profile (empty if there is none) and category."""
    profile, _, category = kind.rpartition(".")
    return profile, category


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRule:
    """A rule of the user: ``profile`` remembers what comes from one of ``sources`` and one of ``projects``.

    ``sources`` are names of formats, ``projects`` glob patterns of project directories; empty means any.
    """

    profile: str
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def is_match(self, source: str, place: str) -> bool:
        """True if the rule applies to a source and a directory."""
        return (not self.sources or source in self.sources) and (not self.projects or matches_path(place, self.projects))


def choose_profile(
    uses: Sequence[ProfileRule], profiles: Sequence[Profile], source: str, place: str, *, usual: str = ""
) -> Profile:
    """The profile for what ``source`` says about the directory ``place``.

    The first matching rule decides; otherwise the source's ``usual`` profile if it is among ``profiles``, else the first profile.
    Rules with a profile that is not among them are ignored.
    """
    known = {profile.id: profile for profile in profiles}
    named = [rule.profile for rule in uses if rule.is_match(source, place)]
    return next((known[item] for item in (*named, usual) if item in known), profiles[0])


def category_title(profiles: Sequence[Profile], profile: str, category: str) -> str:
    """The title of a category among several profiles; the profile's title is added if an earlier profile has the same category
    title.
    """
    known = {(profile.id, category.id): (profile, category) for profile in profiles for category in profile.categories}
    if (profile, category) not in known:
        return category.replace("_", " ").capitalize()
    whose, found = known[profile, category]
    first = next(profile for profile, category in known.values() if category.title == found.title)
    return found.title if first is whose else f"{found.title} ({whose.title})"
