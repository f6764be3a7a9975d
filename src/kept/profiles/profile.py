"""A profile: a way of remembering as data. Categories with their gates, when stages run, outputs and budgets."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from kept.core.value import dataclass, field


class Shape(StrEnum):
    """What one memory of a category is: a single fact; everything about one entity; everything said on one theme; or the latest
    entry on a theme, which takes the place of the ones before.
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
    """Who may write into a category: what is extracted, an agent that suggests, a person."""

    MACHINE = "machine"
    AGENT = "agent"
    PERSON = "person"


class Occasion(StrEnum):
    """When a stage runs: while a session goes on, when it ends, in the night."""

    REAL_TIME = "real-time"
    SESSION_END = "session-end"
    NIGHTLY = "nightly"


# What extraction finds, by name, and what it is. A profile maps them to its categories; one of the same name is the default.
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

#: Names that profiles of earlier versions may still file; nothing is found under them any more.
RETIRED_INTENTS = frozenset({"behaviour", "noted_decision", "noted_question", "noted_rule", "resource", "taste"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """One kind of memory.

    ``belongs`` and ``excludes`` say in a sentence what goes in and what does not; ``examples`` show it; ``consolidation`` says how
    several become one. ``users_words`` demands evidence in the user's own words (instruction-like categories), or the candidate is
    held; without ``tool_words`` it is held where it rests on a tool's. ``specific`` demands a concrete artifact (J6);
    ``actionable`` demands actionable language (X11). ``floor`` is the confidence from which a candidate is accepted without a
    person, ``review`` the one from which it is held for one (below it is refused), ``weight`` its relevance when a file is over
    budget, ``half_life`` the days after which an unconfirmed memory weighs half (0: never), ``fades`` the days after which it
    retires if its project goes on without naming any of its artifacts (0: never), ``budget`` how many of a scope one file shows (0:
    all). ``user_wide`` puts it under the user's scope instead of the project's. ``lasting`` says that several can hold at once, so
    that none replaces another; ``promotes_to`` is the category it becomes once it was said in three sessions. ``shown_in`` are the
    outputs it goes to, ``writers`` who may write it: what is extracted into a category that the machine may not write is held.
    ``headings`` are those below which notes and journals list what belongs here; without ``self_reference`` what speaks of the
    assistant itself is refused.
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
    """When a gathered run of events is analysed: numbers of events, seconds of event time between two of them."""

    least: int = 5
    most: int = 20
    seconds: int = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionSchedule:
    """On which occasions what a profile is for is extracted. The night is always one: what the others left is done then."""

    real_time: bool = False
    session_end: bool = True
    nightly: bool = True

    def on(self, occasion: Occasion) -> bool:
        """Whether extraction runs on an occasion."""
        return {Occasion.REAL_TIME: self.real_time, Occasion.SESSION_END: self.session_end, Occasion.NIGHTLY: self.nightly}[
            occasion
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """What is written, and how much of it. Paths are relative to the home; an empty one is not written.

    ``memory_file`` holds at most ``memory_bytes`` bytes and ``memory_lines`` lines of memories. ``section`` is the heading of
    kept's section in a project's CLAUDE.md, which is written only where ``project_section`` is true; ``project_rules`` writes rules
    files into a project's ``.claude/rules``, those about one folder of it scoped to that folder. ``card_file`` is a quick-reference
    card of at most ``card_chars`` characters, ``daily_folder`` holds a note a day, ``pages_folder`` pages about people, projects
    and resources of at most ``page_bytes`` bytes, ``view_file`` is the same as JSON, at most ``view_bytes`` bytes of it.
    ``trust_added_lines`` makes a line that somebody adds to a file active at once instead of held.
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
    """A way of remembering. ``languages`` name the lexicons among which the words of a conversation choose, the first of them where
    nothing tells; ``intents`` say which category what extraction finds belongs to, where that is not the one of the same name
    (empty: it is not remembered); ``worth`` is the grade (1 to 3) from which what a model proposes need not wait.
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
        """The category of that id, or None."""
        return next((category for category in self.categories if category.id == name), None)

    def category_for(self, intent: str) -> Category | None:
        """The category that what extraction finds belongs to; None where the profile does not remember it."""
        return self.category(self.intents.get(intent, intent))


def format_kind(profile: str, category: str) -> str:
    """A category with the profile it is of, as one word: ``coding.preference``."""
    return f"{profile}.{category}"


def parse_kind(kind: str) -> tuple[str, str]:
    """The profile (empty where none is named) and the category of :func:`format_kind`."""
    profile, _, category = kind.rpartition(".")
    return profile, category


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRule:
    """A rule of the user's: ``profile`` remembers what comes from one of ``sources`` and is of one of ``projects``.

    ``sources`` are names of formats, ``projects`` glob patterns of project directories; none means any.
    """

    profile: str
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def is_match(self, source: str, place: str) -> bool:
        """Whether the rule speaks of a source and a directory."""
        return (not self.sources or source in self.sources) and (
            not self.projects
            or any(fnmatchcase(place, project) or fnmatchcase(place, f"{project.rstrip('/')}/*") for project in self.projects)
        )


def choose_profile(
    uses: Sequence[ProfileRule], profiles: Sequence[Profile], source: str, place: str, *, usual: str = ""
) -> Profile:
    """The profile that remembers what ``source`` tells of the directory ``place``.

    The first rule that fits decides; without one the ``usual`` profile of such a source, where it is among ``profiles``; else the
    first of them. A rule whose profile is not among them is passed over.
    """
    known = {profile.id: profile for profile in profiles}
    named = [rule.profile for rule in uses if rule.is_match(source, place)]
    return next((known[item] for item in (*named, usual) if item in known), profiles[0])


def category_title(profiles: Sequence[Profile], profile: str, category: str) -> str:
    """What a category is called among several profiles: its title, with its profile's if that is not the first with it."""
    known = {(profile.id, category.id): (profile, category) for profile in profiles for category in profile.categories}
    if (profile, category) not in known:
        return category.replace("_", " ").capitalize()
    whose, found = known[profile, category]
    first = next(profile for profile, category in known.values() if category.title == found.title)
    return found.title if first is whose else f"{found.title} ({whose.title})"
