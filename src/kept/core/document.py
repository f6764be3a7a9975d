"""The content of an output file as values: documents that kept writes, lines with keys, and the edits that a person made.

Knows neither the file's path nor how its bytes are read or written.
"""

from collections.abc import Mapping
from datetime import date

from kept.core.value import dataclass, field

HEADER = "header"
END = "end"  # key of the last line; a file without it is truncated
DAY_LINE = "day:"  # prefix of the key of a day summary's line


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One memory as a file shows it. :func:`kept.core.markup.to_fact_text` made ``text``. ``day`` is when it was last seen."""

    id: str
    text: str
    day: date | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The facts of one scope and category (as ``profile.category``). ``name`` and ``title`` are the display names of both."""

    scope: str
    category: str
    name: str
    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """The content of one file, in order. Sections of the same scope are adjacent.

    ``header`` and ``footer`` are kept's own lines before and after the sections. If ``header`` is empty, the memory file's header
    is written, unless ``bare``. ``lead_lines`` are lines after the header that a person may edit, each with its own key.
    """

    sections: tuple[Section, ...]
    header: tuple[str, ...] = ()
    lead_lines: tuple["Line", ...] = ()
    footer: tuple[str, ...] = ()
    bare: bool = False

    @property
    def newest(self) -> date | None:
        """The latest day of all facts; None if no fact has a day."""
        return max((fact.day for section in self.sections for fact in section.facts if fact.day is not None), default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a file, with a key that identifies it.

    ``key`` is a memory id, or one of ``header:<n>``, ``heading:<scope>``, ``heading:<scope>:<category>``,
    ``ids:<scope>:<category>``, ``blank:<key of the heading after it>``, ``day:<id of the line of the day>``, ``end``. It is empty
    for a line that kept did not write. ``users`` means that the text is the user's: a line of their own, a heading they renamed, a
    fact kept in their form. ``end`` is the line ending if it differs from the file's. If the line in the file contains a secret,
    ``text`` omits it and ``fingerprint`` is the keyed hash of that line.
    """

    key: str
    text: str
    users: bool = False
    end: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The encoding of a file: byte order mark, line ending, and whether the last line ends with one."""

    bom: bool = False
    newline: str = "\n"
    final: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class UserLine:
    """A line that the user wrote, and its place: after the line with the key ``after``, or at the top if that is empty."""

    text: str
    end: str
    after: str
    scope: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedLines:
    """One block of lines that somebody added: a bullet, a paragraph, a heading, a code block.

    ``text`` has the lines verbatim. ``fact`` is their statement on one line, or empty if they make none. ``scope`` and ``category``
    are those of the section around the block, and empty outside kept's sections.
    """

    text: str
    fact: str
    after: str
    scope: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """The changes a person made to a file since kept last wrote it.

    ``revised`` maps memory ids to their new words, ``removed`` has the ids whose lines were deleted, ``added`` the new blocks.
    ``gone`` has the words of lines that were added earlier and are deleted now.

    ``foreign``, ``renamed`` (keys of kept's lines, with the user's form of each) and ``layout`` are the user's part of the file,
    which kept preserves when it rewrites the file. A revision that cannot become a memory goes into ``renamed``, so that the line
    stays until the user changes it.
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
        """True if any change affects memories."""
        return bool(self.revised or self.removed or self.added or self.gone)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnsafeEdits:
    """Changes that are not merged, because they look like damage to the file and not like an edit.

    ``reason`` is a clause about the file. ``edits`` are the changes that merging would make, or None if the file cannot be read.
    ``kept`` is the user's part of the file as it was last written.
    """

    reason: str
    edits: Edits | None
    kept: Edits


CATEGORY_LEVEL = 3  # Markdown level of a category's heading


def heading_key(scope: str, category: str = "") -> str:
    """The key of the heading of a scope or of a section."""
    return f"heading:{scope}:{category}" if category else f"heading:{scope}"


def ids_key(scope: str, category: str) -> str:
    """The key of the comment that names the memories of a section."""
    return f"ids:{scope}:{category}"


def blank_key(key: str) -> str:
    """The key of the empty line before a heading."""
    return f"blank:{key}"
