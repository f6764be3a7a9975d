"""Render the memory file as lines, each tagged with its kind.

The file has a title, one sentence, and for each scope and category a list of dated facts::

    # Memory
    Facts remembered from earlier sessions (newest evidence: 2026-02-13); what is said now outranks them. Edit freely.

    ## Everywhere

    ### Preferences
    - Explain the options and ask before changing anything. (2026-02-13)
    <!-- kept: user preference 3f2a9c91bc -->
    <!-- kept: end 1 -->

The first three lines never contain a memory. This module does not read the file, and does not add the user's own lines.

It also renders and compares the JSON view of a profile, which has each category as a list of entries that a person can edit.
Deleting an entry retires its memory, changing its text revises the memory, and moving it to another list changes the category. An
open question that is moved to the decisions is resolved by that decision. An entry without a known id is new.
"""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from zoneinfo import ZoneInfo

from kept.core.document import CATEGORY_LEVEL, END, HEADER, Document, Line, Section, blank_key, heading_key, ids_key
from kept.core.markup import end_line, fact_line, header_lines, heading_line, ids_line
from kept.core.memory import Memory
from kept.core.times import to_local_day
from kept.core.value import dataclass
from kept.profiles.profile import Profile


def render_file(document: Document) -> tuple[Line, ...]:
    """Render all lines of one of kept's files."""
    header = document.header or (() if document.bare else header_lines(document.newest))
    lines = [*_header_lines("", header), *document.lead_lines]
    named = (
        len({section.scope for section in document.sections}) > 1 or not document.header
    )  # if a file with its own header has a single scope, the scope needs no heading
    for scope, sections in groupby(document.sections, key=lambda each: each.scope):
        group = tuple(sections)
        lines += _heading_lines(heading_key(scope), 2, group[0].name) if named else []
        for section in group:
            lines += _section_lines(section)
    facts = sum(len(section.facts) for section in document.sections)
    return (*lines, *_header_lines("footer:", document.footer), Line(key=END, text=end_line(facts)))


def render_section(document: Document) -> tuple[Line, ...]:
    """Render kept's section in another file.

    Unlike the result of :func:`render_file`, it has no title, no scope headings, and no comments with ids, because the clients that
    read such files do not strip comments.
    """
    lines = [line for section in document.sections for line in _section_lines(section)[:-1]]
    above = (*_header_lines("", document.header), *document.lead_lines)
    return (*above, *(lines if above else lines[1:]))


def _header_lines(part: str, texts: tuple[str, ...]) -> list[Line]:
    keys = (f"{HEADER}:{part}{number}" for number in range(len(texts)))
    return [Line(key=key if text else blank_key(key), text=text) for key, text in zip(keys, texts, strict=True)]


def _section_lines(section: Section) -> list[Line]:
    key = heading_key(section.scope, section.category)
    facts = [Line(key=fact.id, text=fact_line(fact.text, fact.day)) for fact in section.facts]
    ids = ids_line(section.scope, section.category, [fact.id for fact in section.facts])
    return [
        *_heading_lines(key, CATEGORY_LEVEL, section.title),
        *facts,
        Line(key=ids_key(section.scope, section.category), text=ids),
    ]


def _heading_lines(key: str, level: int, text: str) -> list[Line]:
    return [Line(key=blank_key(key), text=""), Line(key=key, text=heading_line(level, text))]


_TOO_LARGE = 4_000_000
_LONGEST = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewEntry:
    """One entry of a view. ``id`` is that of its memory, or empty for a new entry. ``category`` is that of its list."""

    id: str
    category: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewEdits:
    """A person's changes: new texts by id, new categories by id, deleted ids, and new entries."""

    revised: Mapping[str, str]
    moved: Mapping[str, str]
    removed: tuple[str, ...]
    added: tuple[ViewEntry, ...]

    @property
    def changed(self) -> bool:
        """True if anything changed."""
        return bool(self.revised or self.moved or self.removed or self.added)


def fit_to_view(memories: Iterable[Memory], profile: Profile, zone: ZoneInfo, names: Mapping[str, str]) -> list[Memory]:
    """The memories that fit into the view, of those ranked. Memories that a person owns or pinned come first."""
    left = profile.outputs.view_bytes - len(_dump_lists({category.id: [] for category in profile.categories}).encode())
    kept = []
    for memory in sorted(memories, key=lambda memory: not (memory.owned or memory.pinned)):
        left -= (
            len(textwrap.indent(json.dumps(_memory_body(memory, zone, names), indent=2, ensure_ascii=False), "    ").encode()) + 4
        )
        if left < 0:
            break
        kept.append(memory)
    return kept


def render_view(memories: Iterable[Memory], profile: Profile, zone: ZoneInfo, names: Mapping[str, str]) -> str:
    """Render active memories as JSON text. Each list is in the order in which its memories were first said."""
    lists: dict[str, list[dict[str, object]]] = {category.id: [] for category in profile.categories}
    for memory in sorted(memories, key=lambda memory: (memory.first_seen is None, memory.first_seen, memory.id)):
        lists.setdefault(memory.category, []).append(_memory_body(memory, zone, names))
    return _dump_lists(lists)


def _memory_body(memory: Memory, zone: ZoneInfo, names: Mapping[str, str]) -> dict[str, object]:
    first, last = to_local_day(memory.first_seen, zone), to_local_day(memory.last_seen, zone)
    return {
        "id": memory.id,
        "text": memory.content,
        "project": names.get(memory.scope, ""),
        "since": first.isoformat() if first else None,
        "last": last.isoformat() if last else None,
    }


def _dump_lists(lists: Mapping[str, Sequence[Mapping[str, object]]]) -> str:
    return json.dumps(lists, indent=2, ensure_ascii=False) + "\n"


def read_view(data: bytes, lists: Iterable[str]) -> tuple[ViewEntry, ...] | str:
    """Parse a view that somebody may have edited. If it cannot be read, the reason is returned as a clause.

    A bare string in a list is a new entry. ``lists`` are the lists that had entries. They must still exist.
    """
    if len(data) > _TOO_LARGE:
        return "it is larger than 4 MB"
    try:
        body = json.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        return "it is not valid JSON"
    if not isinstance(body, dict) or not all(isinstance(item, list) for item in body.values()):
        return "it is not an object of lists"
    if gone := next((item for item in lists if item not in body), ""):
        return f"its list {gone} is gone (to delete its entries, leave it empty)"
    entries = []
    for category, several in body.items():
        for entry in several:
            found = {"text": entry} if isinstance(entry, str) else entry
            text = found.get("text") if isinstance(found, dict) else None
            if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
                return f"an entry of {category[:40]} has no text"
            number = found.get("id", "")
            entries.append(ViewEntry(id=number if isinstance(number, str) else "", category=category, text=text.strip()))
    return tuple(entries)


def compare_views(base: Sequence[ViewEntry], now: Sequence[ViewEntry]) -> ViewEdits:
    """The changes from the view as last written (``base``) to the present one."""
    known = {entry.id: entry for entry in base}
    there = {entry.id: entry for entry in now if entry.id in known}
    return ViewEdits(
        revised={number: entry.text for number, entry in there.items() if entry.text != known[number].text},
        moved={number: entry.category for number, entry in there.items() if entry.category != known[number].category},
        removed=tuple(item for item in known if item not in there),
        added=tuple(entry for entry in now if entry.id not in known),
    )
