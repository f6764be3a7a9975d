"""A profile: a way of remembering as data. Categories with their gates, when stages run, outputs and budgets."""

from dataclasses import dataclass
from enum import StrEnum


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
