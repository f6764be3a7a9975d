"""Items that notes and journals list under headings which a profile names: decisions, open questions, themes, what was learnt.

Each item is a candidate in its own words, marks included, with the trust of whoever wrote the note. Nothing else of a note is read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kept.core.artifact import find_artifacts
from kept.core.codec import digest
from kept.core.event import Event, Origin, is_note
from kept.core.memory import USER_SCOPE, Candidate
from kept.core.pattern import Pattern
from kept.extraction.rules.prompts import CERTAIN
from kept.extraction.rules.view import evidence_of
from kept.profiles.lexicons import join_alternatives
from kept.profiles.profile import Profile, Shape

HEADING = "heading"
AGENT = 0.7  # what an agent noted, not the person: enough where a category asks for no more
_LINES, _CHARS = 400, 40_000
_LEAST, _MOST = 4, 480
_TITLE = Pattern(r"^\s{0,3}(?:#{1,6}\s+(.+?)\s*#*|(?:\*\*|__)([^*_]+?)(?:\*\*|__)\s*:?)\s*$")
_BARE = Pattern(r"^\s{0,3}([^\s#>|*+-][^.!?]{1,40}?)\s*[:：]\s*$")
_ITEM = Pattern(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)$")
_LABELLED = Pattern(r"^(?:\*\*|__)?([^\s*_:：|`][^*_:：|`]{1,38}?)(?:(?::|：)(?:\*\*|__)?|(?:\*\*|__)(?::|：))\s+(\S.*)$")
_NAME = Pattern(r"^(?:\*\*|__)([^*_]{1,38}?)(?:\*\*|__)")
_CHECKBOX = Pattern(r"^\[[ xX]\]\s")
_EDGE = Pattern(r"^[^\pL]+|[^\pL\pN)]+$")
_STAMP = Pattern(r"\s*\([^()]*\)\s*$")
_FENCE = ("```", "~~~")
_NOT_PROSE = ("|", ">", "<", "![")
_NO_ITEM = (join_alternatives("assertion", "nothing", spaced=apart) for apart in (True, False))
_NOTHING = Pattern(rf"(?i)^(?:{'|'.join(_NO_ITEM)})\b.{{0,20}}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """The characters ``[start, end)`` of a note: one item below the heading ``under``."""

    start: int
    end: int
    under: str


def propose_heading_items(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the notes in ``[start, stop)``, in order. Empty where the profile names no headings."""
    named = {name.casefold(): category for category in profile.categories for name in category.headings}
    if not named:
        return ()
    found: dict[str, Candidate] = {}
    for event in events[start:stop]:
        for item in items(event.text, frozenset(named)) if is_note(event) else ():
            category = named[item.under]
            content = event.text[item.start : item.end]
            where = USER_SCOPE if category.user_wide else scope(event.project)
            candidate = Candidate(
                id=digest(profile.id, category.id, where, HEADING, event.key, content),
                profile=profile.id,
                category=category.id,
                scope=where,
                content=content,
                confidence=CERTAIN if event.origin is Origin.USER else AGENT,
                trigger=HEADING,
                at=event.at,
                origin=event.origin,
                artifacts=find_artifacts(content),
                evidence=(evidence_of(event, content),),
                subject=_subject(content) if category.shape is Shape.DOSSIER else "",
                reasoning=f"under the heading “{item.under}”",
            )
            found.setdefault(candidate.id, candidate)
    return tuple(found.values())


def _subject(content: str) -> str:
    """Whom an item is about: the name it begins with, in bold."""
    name = _NAME.match(content)
    return name[1].strip(" @:") if name else ""


def items(text: str, names: frozenset[str]) -> Iterator[Item]:
    """The items below headings of these names (in small letters), in order; a line "Decision: …" is one below its own."""
    under, fenced, open_item = "", False, None
    at = 0
    for line in [*text[:_CHARS].splitlines(keepends=True)[:_LINES], ""]:
        start, at = at, at + len(line)
        bare = line.strip()
        fence = bare.startswith(_FENCE)
        goes_on = open_item is not None and not fence and _continues_item(line)
        if goes_on and open_item is not None:
            open_item = Item(start=open_item.start, end=start + len(line.rstrip()), under=open_item.under)
            continue
        if open_item is not None:
            yield from _check_item(text, open_item)
            open_item = None
        fenced ^= fence
        if fenced or fence or not bare or bare.startswith(_NOT_PROSE):
            continue
        title = _title(line)
        if title is not None:
            under = title if title in names else ""
            continue
        open_item = _start_item(line, start, under, names)


def _title(line: str) -> str | None:
    """The name of a heading in small letters, without number, time and marks; None for any other line."""
    match = _TITLE.match(line.rstrip()) or _BARE.match(line.rstrip())
    words = next((group for group in match.groups() if group), None) if match else None
    return normalize_heading(words) if words else None


def normalize_heading(words: str) -> str:
    """A heading as it is compared: in small letters, without what stands around its words."""
    return str(_EDGE.sub("", str(_EDGE.sub("", str(_STAMP.sub("", words)))))).casefold()


def _start_item(line: str, start: int, under: str, names: frozenset[str]) -> Item | None:
    """The item that a line begins: a point of a list or a line of prose below a named heading, or a line with such a label."""
    point = _ITEM.match(line.rstrip())
    low = point.start(2) if point else len(line) - len(line.lstrip())
    words = line[low:].rstrip()
    label = _LABELLED.match(words)
    if label and normalize_heading(label[1]) in names:
        return Item(start=start + low + label.start(2), end=start + low + len(words), under=normalize_heading(label[1]))
    if not under or _CHECKBOX.match(words):
        return None
    return Item(start=start + low, end=start + low + len(words), under=under)


def _continues_item(line: str) -> bool:
    """Whether a line only goes on with the item before it: indented, or wrapped by an editor."""
    bare = line.strip()
    if not bare or _ITEM.match(line.rstrip()) or _title(line) is not None or bare.startswith(_NOT_PROSE):
        return False
    return line.startswith("  ") or bare[0].islower() or bare[0] in "`(\"'"


def _check_item(text: str, item: Item) -> Iterator[Item]:
    words = text[item.start : item.end]
    dense = sum(1 for char in words if not char.isascii())
    if len(words) <= _MOST and len(words.split()) + dense // 3 >= _LEAST and not _NOTHING.match(words):
        yield item
