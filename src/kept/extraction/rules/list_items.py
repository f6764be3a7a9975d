"""Candidates from lists in notes and journals, below headings that a profile names (decisions, open questions, themes, learnings).

The items keep their markup and have the trust of the note's author; the rest of a note is ignored.
"""

from collections.abc import Iterator, Sequence

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Event, Origin, is_note
from kept.core.memory import UNCONFIRMED, USER_SCOPE, Candidate, Frame
from kept.core.pattern import Pattern
from kept.core.value import dataclass
from kept.extraction.rules.patterns import CERTAIN, WAITING, build_evidence, find_authorship_doubt
from kept.profiles.lexicons import join_alternatives
from kept.profiles.profile import Profile, Shape

HEADING = "heading"
AGENT = 0.7  # confidence in an agent's note; suffices for categories that require no more
_LINES, _CHARS = 400, 40_000
_LEAST_ITEM_WORDS, _MOST_ITEM_CHARS = 4, 480
_TITLE = Pattern(r"^\s{0,3}(?:#{1,6}\s+(.+?)\s*#*|(?:\*\*|__)([^*_]+?)(?:\*\*|__)\s*:?)\s*$")
_BARE = Pattern(r"^\s{0,3}([^\s#>|*+-][^.!?]{1,40}?)\s*[:：]\s*$")
_ITEM = Pattern(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)$")
_LABELLED = Pattern(r"^(?:\*\*|__)?([^\s*_:：|`][^*_:：|`]{1,38}?)(?:(?::|：)(?:\*\*|__)?|(?:\*\*|__)(?::|：))\s+(\S.*)$")
# The bold name at the beginning of an item, which is the person it is about.
_BOLD_NAME = Pattern(r"^(?:\*\*|__)([^*_]{1,38}?)(?:\*\*|__)")
_CHECKBOX = Pattern(r"^\[[ xX]\]\s")
_EDGE = Pattern(r"^[^\pL]+|[^\pL\pN)]+$")
_STAMP = Pattern(r"\s*\([^()]*\)\s*$")
_FENCE = ("```", "~~~")
_NOT_PROSE = ("|", ">", "<", "![")
_NO_ITEM = (join_alternatives("assertion", "nothing", spaced=apart) for apart in (True, False))
_NOTHING = Pattern(rf"(?i)^(?:{'|'.join(_NO_ITEM)})\b.{{0,20}}$")
_STRUCK_OR_BLANK = Pattern(r"(?s)^(?:~~.*~~\W?|<.*>)$")  # struck-out text, and an unfilled template item


@dataclass(frozen=True, kw_only=True, slots=True)
class ListItem:
    """The characters ``[start, end)`` of a note: one item below the heading ``under``."""

    start: int
    end: int
    under: str


def propose_heading_items(events: Sequence[Event], start: int, stop: int, *, profile: Profile, scope: str) -> tuple[Candidate, ...]:
    """Candidates from the notes in ``[start, stop)``, in order. Empty if the profile names no headings."""
    named = {name.casefold(): category for category in profile.categories for name in category.headings}
    if not named:
        return ()
    persons = any(category.users_words for category in profile.categories)  # otherwise the profile is for an agent's journal
    found: dict[str, Candidate] = {}
    for event in events[start:stop]:
        for item in find_list_items(event.text, frozenset(named)) if is_note(event) else ():
            category = named[item.under]
            content = event.text[item.start : item.end]
            where = USER_SCOPE if category.user_wide else scope
            doubt = find_authorship_doubt(event) or (_find_item_doubt(event, content) if persons else "")
            candidate = Candidate(
                id=digest(profile.id, category.id, where, HEADING, event.key, content),
                profile=profile.id,
                category=category.id,
                scope=where,
                content=content,
                confidence=AGENT if event.origin is not Origin.USER else WAITING if doubt else CERTAIN,
                trigger=HEADING,
                at=event.at,
                origin=event.origin,
                artifacts=find_artifacts(content),
                evidence=(build_evidence(event, content),),
                subject=name[1].strip(" @:") if category.shape is Shape.DOSSIER and (name := _BOLD_NAME.match(content)) else "",
                reasoning=f"under the heading “{item.under}”",
                doubt=doubt,
            )
            found.setdefault(candidate.id, candidate)
    return tuple(found.values())


_QUOTATION = Pattern(r"(?s)^>\s*[^\s\d=.]|^[\"“„«»「『][^\"“”„«»]{8,}[\"”“»«」』][.,]?(?:\s*[(\[—–-].{1,80})?$")
_ASKING = Pattern(r"[?？](?:\s|$)")


def _find_item_doubt(event: Event, content: str) -> str:
    """The reason why an item of a list may not be the person's opinion: an agent wrote the note, or the item is a quotation or a
    question. Empty if there is none.
    """
    if event.origin is not Origin.USER:
        return UNCONFIRMED
    return Frame.QUOTED if _QUOTATION.match(content) or _ASKING.search(content) else ""


def find_list_items(text: str, names: frozenset[str]) -> Iterator[ListItem]:
    """Yield the items below headings with these (lower-case) names, in order. A line "Decision: …" counts as an item below the
    heading "Decision". Prose after a list is not an item.
    """
    under, fenced, listed, open_item = "", False, False, None
    at = 0
    for line in [*text[:_CHARS].splitlines(keepends=True)[:_LINES], ""]:
        start, at = at, at + len(line)
        bare = line.strip()
        fence = bare.startswith(_FENCE)
        goes_on = open_item is not None and not fence and _continues_item(line)
        if goes_on and open_item is not None:
            open_item = ListItem(start=open_item.start, end=start + len(line.rstrip()), under=open_item.under)
            continue
        if open_item is not None:
            yield from _check_item(text, open_item)
            open_item = None
        fenced ^= fence
        if fenced or fence or not bare or bare.startswith(_NOT_PROSE):
            continue
        title = _read_heading(line)
        if title is not None:
            under, listed = title if title in names else "", False
            continue
        point = _ITEM.match(line.rstrip()) is not None
        listed |= point
        open_item = _start_item(line, start, under if point or not listed else "", names)


def _read_heading(line: str) -> str | None:
    """The text of a heading in lower case, without number, time and markup; None for any other line."""
    match = _TITLE.match(line.rstrip()) or _BARE.match(line.rstrip())
    words = next((group for group in match.groups() if group), None) if match else None
    return normalize_heading(words) if words else None


def normalize_heading(words: str) -> str:
    """Normalize a heading for comparison: lower case, without surrounding characters and without a parenthesis at its end."""
    return str(_EDGE.sub("", str(_EDGE.sub("", str(_STAMP.sub("", words)))))).casefold()


def _start_item(line: str, start: int, under: str, names: frozenset[str]) -> ListItem | None:
    """The item that a line begins: a list item or prose line under a named heading, or a line with such a label."""
    point = _ITEM.match(line.rstrip())
    low = point.start(2) if point else len(line) - len(line.lstrip())
    words = line[low:].rstrip()
    label = _LABELLED.match(words)
    if label and normalize_heading(label[1]) in names:
        return ListItem(start=start + low + label.start(2), end=start + low + len(words), under=normalize_heading(label[1]))
    if not under or _CHECKBOX.match(words):
        return None
    return ListItem(start=start + low, end=start + low + len(words), under=under)


def _continues_item(line: str) -> bool:
    """True if a line continues the item before it, because it is indented or an editor wrapped it."""
    bare = line.strip()
    if not bare or _ITEM.match(line.rstrip()) or _read_heading(line) is not None or bare.startswith(_NOT_PROSE):
        return False
    return line.startswith("  ") or bare[0].islower() or bare[0] in "`(\"'"


def _check_item(text: str, item: ListItem) -> Iterator[ListItem]:
    words = text[item.start : item.end]
    dense = sum(1 for char in words if not char.isascii())
    if (
        len(words) <= _MOST_ITEM_CHARS
        and len(words.split()) + dense // 3 >= _LEAST_ITEM_WORDS
        and not _NOTHING.match(words)
        and not _STRUCK_OR_BLANK.match(words)
    ):
        yield item
