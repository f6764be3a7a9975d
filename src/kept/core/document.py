"""What kept writes into a file and what comes back from it, as values: documents, tagged lines, edits.

Knows neither where the file lies nor how its bytes are read or written.
"""

from collections.abc import Mapping
from datetime import date

from kept.core.value import dataclass, field

HEADER = "header"
END = "end"  # the key of the last line, which tells that the file is whole
DAY_LINE = "day:"  # the beginning of the key of a line that tells what a day came to


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One memory as the file shows it: ``text`` is a result of :func:`kept.core.markup.to_fact_text`, ``day`` when it was last
    seen.
    """

    id: str
    text: str
    day: date | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The facts of one (category, scope). ``category`` is a kind (profile and category); ``name`` is what the scope is called,
    ``title`` what the category is called.
    """

    scope: str
    category: str
    name: str
    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """What one file says, in its order; sections of the same scope stand together.

    ``header`` and ``footer`` are lines of kept's before and behind the sections; without a header the memory file's stands there,
    unless ``bare``. ``told`` are lines behind the header that a person may edit, each with a key of its own.
    """

    sections: tuple[Section, ...]
    header: tuple[str, ...] = ()
    told: tuple["Line", ...] = ()
    footer: tuple[str, ...] = ()
    bare: bool = False

    @property
    def newest(self) -> date | None:
        """The latest day of any fact."""
        return max((fact.day for section in self.sections for fact in section.facts if fact.day is not None), default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a file and what it is.

    ``key`` is a memory id, or one of ``header:<n>``, ``heading:<scope>``, ``heading:<scope>:<category>``,
    ``ids:<scope>:<category>``, ``blank:<key of the heading after it>``, ``day:<what the line of a day is known by>``, ``end``; it
    is empty for a line that is not kept's. ``users`` says that the bytes are the user's: a line of their own, a heading they
    renamed, a fact left as they have it. ``end`` is the line's own ending where it is not that of the file. ``fingerprint`` is the
    keyed hash of what the file says, where that holds a secret and ``text`` is stored without it.
    """

    key: str
    text: str
    users: bool = False
    end: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How a file is written down: byte order mark, line ending, whether the last line is ended."""

    bom: bool = False
    newline: str = "\n"
    final: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class UserLine:
    """A line of the user's own and its place: after the line ``after`` (empty: at the top), in the section of that line."""

    text: str
    end: str
    after: str
    scope: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedLines:
    """Lines somebody added: a bullet, a paragraph, a heading, a code block.

    ``text`` holds them as they are, ``fact`` what they say on one line (empty for what is no statement). ``scope`` and ``category``
    are those of the section they stand in, empty where they stand in none of kept's.
    """

    text: str
    fact: str
    after: str
    scope: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """What a person did to a file since it was last written.

    ``revised`` maps memory ids to their new words, ``removed`` holds ids whose lines are gone, ``added`` is new in the file,
    ``gone`` are the words of lines added earlier that are gone now. ``foreign``, ``renamed`` (keys of kept's lines to the user's
    form of them) and ``layout`` are the user's part of the file as it now is; writing the file anew keeps them. Who cannot take a
    revision over puts its line into ``renamed``, and it stands until the user changes it.
    """

    revised: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    added: tuple[AddedLines, ...] = ()
    gone: tuple[str, ...] = ()
    foreign: tuple[UserLine, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    layout: Layout = Layout()

    @property
    def changed(self) -> bool:
        """Whether anything happened that concerns memories."""
        return bool(self.revised or self.removed or self.added or self.gone)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnsafeEdits:
    """The file is not absorbed: it looks like damage rather than an edit.

    ``reason`` is a clause about the file. ``edits`` is what absorbing it all the same would mean, None where it cannot be read;
    ``kept`` is the user's part as it was last written.
    """

    reason: str
    edits: Edits | None
    kept: Edits


CATEGORY_LEVEL = 3  # of the heading over the memories of one category


def heading_key(scope: str, category: str = "") -> str:
    """The key of the heading of a scope or of a section."""
    return f"heading:{scope}:{category}" if category else f"heading:{scope}"


def ids_key(scope: str, category: str) -> str:
    """The key of the comment that names the memories of a section."""
    return f"ids:{scope}:{category}"


def blank_key(key: str) -> str:
    """The key of the empty line before a heading."""
    return f"blank:{key}"
