"""A profile: a way of remembering as data. Categories with their gates, when stages run, outputs and budgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Shape(StrEnum):
    """What one memory of a category is: a single fact, everything about one entity, or one entry per theme."""

    FACT = "fact"
    DOSSIER = "dossier"
    THEME = "theme"


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """One kind of memory.

    ``belongs`` and ``excludes`` say in a sentence what goes in and what does not; ``examples`` show it. ``users_words`` demands
    evidence in the user's own words (instruction-like categories), or the candidate is held. ``specific`` demands a concrete
    artifact (J6); ``actionable`` demands actionable language (X11). ``floor`` is the confidence from which a candidate is accepted
    without a person, ``weight`` its relevance when a file is over budget, ``half_life`` the days after which an unconfirmed memory
    weighs half (0: never fades). ``user_wide`` puts it under the user's scope instead of the project's.
    """

    id: str
    title: str
    belongs: str
    excludes: str
    examples: tuple[str, ...] = ()
    shape: Shape = Shape.FACT
    users_words: bool = True
    specific: bool = True
    actionable: bool = False
    floor: float = 0.7
    weight: float = 1.0
    half_life: int = 0
    user_wide: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Buffer:
    """When a gathered run of events is analysed: numbers of events, seconds of event time between two of them."""

    least: int = 5
    most: int = 20
    seconds: int = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """What is written, and how much of it. Paths are relative to the home.

    ``memory_file`` holds at most ``memory_bytes`` bytes and ``memory_lines`` lines of memories. ``section`` is the heading of kept's
    section in a project's CLAUDE.md, which is written only where ``project_section`` is true. ``trust_added_lines`` makes a line
    that somebody adds to the file active at once instead of held.
    """

    memory_file: str = ".claude/rules/memory.md"
    memory_bytes: int = 12_000
    memory_lines: int = 120
    project_section: bool = False
    section: str = "Memory Loop Insights"
    trust_added_lines: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """A way of remembering. ``languages`` name the lexicons that extraction reads."""

    id: str
    title: str
    summary: str
    categories: tuple[Category, ...]
    languages: tuple[str, ...] = ("en",)
    buffer: Buffer = Buffer()
    outputs: Outputs = Outputs()

    def category(self, name: str) -> Category | None:
        """The category of that id, or None."""
        return next((each for each in self.categories if each.id == name), None)


def kind_of(profile: str, category: str) -> str:
    """A category with the profile it is of, as one word: ``coding.preference``."""
    return f"{profile}.{category}"


def read_kind(kind: str) -> tuple[str, str]:
    """The profile (empty where none is named) and the category of :func:`kind_of`."""
    profile, _, category = kind.rpartition(".")
    return profile, category


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """A rule of the user's: ``profile`` remembers what comes from one of ``sources`` and is of one of ``projects``.

    ``sources`` are names of formats, ``projects`` glob patterns of project directories; none means any.
    """

    profile: str
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def fits(self, source: str, place: str) -> bool:
        """Whether the rule speaks of a source and a directory."""
        return (not self.sources or source in self.sources) and (
            not self.projects
            or any(fnmatchcase(place, each) or fnmatchcase(place, f"{each.rstrip('/')}/*") for each in self.projects)
        )


def choose(uses: Sequence[Use], profiles: Sequence[Profile], source: str, place: str, *, usual: str = "") -> Profile:
    """The profile that remembers what ``source`` tells of the directory ``place``.

    The first rule that fits decides; without one the ``usual`` profile of such a source, where it is among ``profiles``; else the
    first of them. A rule whose profile is not among them is passed over.
    """
    known = {each.id: each for each in profiles}
    named = [each.profile for each in uses if each.fits(source, place)]
    return next((known[each] for each in (*named, usual) if each in known), profiles[0])


def title_of(profiles: Sequence[Profile], profile: str, category: str) -> str:
    """What a category is called among several profiles: its title, and its profile's where that is not the first with such a title."""
    known = {(each.id, one.id): (each, one) for each in profiles for one in each.categories}
    if (profile, category) not in known:
        return category.replace("_", " ").capitalize()
    whose, found = known[profile, category]
    first = next(each for each, one in known.values() if one.title == found.title)
    return found.title if first is whose else f"{found.title} ({whose.title})"
