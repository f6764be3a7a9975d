"""Parse conversations in Markdown, in which a heading or label names the speaker of the text below it.

Examples are ``#### You:`` and ``#### ChatGPT:``, ``## [10:32] User``, ``**User:** …``, ``User: …``. One conversation uses one style
of heading. A heading in another style is part of what was said.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kept.core.event import Author, EventKind, Precision
from kept.core.pattern import Pattern
from kept.core.value import dataclass, replace
from kept.core.words import plain_words
from kept.sources.documents import DocumentEntry, Row, label_entry_unconfirmed, rows_place, split_prompt
from kept.sources.drafts import EventDraft
from kept.sources.markdown import find_headings, is_introduced, mark_fenced_in_turns, strip_edges, strip_hidden
from kept.sources.stamps import Stamp, find_clock, find_stamp, next_instant, stamp_instant


class Role(StrEnum):
    """The speaker that a heading names."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


# Labels must match exactly, so that "User interface" is a heading and not a speaker.
_LABELS: Mapping[str, Role] = {
    **dict.fromkeys((*plain_words("people"), "my prompt"), Role.HUMAN),
    **dict.fromkeys((*plain_words("assistants"), "ai assistant"), Role.ASSISTANT),
    **dict.fromkeys(("tool", "tool result", "tool output", "function", "tool call"), Role.TOOL),
    **dict.fromkeys(("system", "system prompt", "developer", "context"), Role.SYSTEM),
}
_MODEL = Pattern(
    r"^(?:chatgpt|gpt|claude|gemini|copilot|github copilot|codex|grok|deepseek|llama|mistral|qwen|perplexity|cursor|bard|bing|kimi)"
    r"(?:[ -](?:code|sonnet|opus|haiku|pro|flash|mini|turbo|max|plus|advanced|chat|instruct|thinking|preview|agent|codex"
    r"|copilot|[a-z]?\d[\w.]*))*$"
)
_ASIDE = Pattern(r"\([^()]{0,80}\)|\[[^\[\]]{0,80}\]")
_BOLD = Pattern(r"^(?:\*\*|__)([^*_\n]{1,60}?)(:?)(?:\*\*|__)(:?)[ \t]*(.*)$")
_PLAIN = Pattern(r"^([^\s:*#>`-][^:\n*#>`]{0,40}):(?:[ \t]+(.*))?$")
_TITLE_CHARACTERS = 120
_MARKS = "*_`~#> \t"


class TurnStyle(NamedTuple):
    """The style in which a conversation marks its speakers: the kind of mark, the heading level, and whether a colon follows."""

    mark: str
    level: int
    colon: bool


class Turn(NamedTuple):
    """A line that names a speaker: its row, the role, its style, its title, and the words after the title on the same line."""

    row: int
    role: Role
    style: TurnStyle
    title: str
    rest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationTime:
    """The time zone of a conversation, and its date or time as a whole."""

    zone: ZoneInfo
    stamp: Stamp | None = None


def draft_template(when: ConversationTime) -> EventDraft:
    """A draft with the time of its conversation."""
    at = stamp_instant(when.stamp, when.zone) if when.stamp else None
    stamp = str(when.stamp or "")
    return EventDraft(at=at, precision=Precision.SESSION, stamp=stamp)


@lru_cache(maxsize=1024)
def parse_role(title: str) -> tuple[Role, bool] | None:
    """The speaker that a heading's title or a label names, and whether a colon follows it; None if it names none."""
    if len(title) > _TITLE_CHARACTERS:
        return None
    label = _ASIDE.sub("", title).strip(_MARKS)
    colon = label.endswith((":", "：")) or title.rstrip(_MARKS).endswith((":", "："))
    label = label.rstrip(":： \t" + _MARKS).casefold()
    for divider in (" - ", " — ", " – ", " · ", " | ", " @ ", ", "):
        label, _, after = label.partition(divider)
        if after and find_stamp(after) is None and find_clock(after) is None and not _MODEL.match(after):
            return None
    label = label.removesuffix(" said").removesuffix(" says").removesuffix(" wrote")
    while label and not (label[0].isalnum()):
        label = label[1:].lstrip()
    while label and not (label[-1].isalnum()):
        label = label[:-1].rstrip()
    role = _LABELS.get(label) or (Role.ASSISTANT if _MODEL.match(label) else None)
    return (role, colon) if role else None


def find_turns(rows: Sequence[Row], first: int = 0, *, plain: bool = False) -> tuple[list[Turn], list[int]]:
    """Return the speakers' lines of a conversation from row ``first`` on, and the rows of such lines in code blocks, which do not
    count.

    If ``plain``, lines without markup (``User: …``) count too, provided that both sides speak.
    """
    outside = _possible_turns(rows, [False] * len(rows), first, plain=plain)
    inside = mark_fenced_in_turns(rows, [turn.row for turn in outside])
    style = _find_style([turn for turn in outside if not inside[turn.row]])
    if style is None:
        return [], []
    turns = [turn for turn in outside if turn.style == style]
    return [turn for turn in turns if not inside[turn.row]], [turn.row for turn in turns if inside[turn.row]]


def _possible_turns(rows: Sequence[Row], inside: Sequence[bool], first: int, *, plain: bool) -> list[Turn]:
    found = []
    for heading in find_headings(rows, inside, first):
        named = parse_role(heading.title)
        if named:
            found.append(Turn(heading.row, named[0], TurnStyle("#", heading.level, named[1]), heading.title, ""))
    for number in range(first, len(rows)):
        text = rows[number].text
        match = _BOLD.match(text) if text.startswith(("**", "__")) else None
        title, inner, outer, rest = match.groups() if match else ("", "", "", "")
        if match and (inner or outer or not rest):
            named = parse_role(title)
            if named:
                found.append(Turn(number, named[0], TurnStyle("**", 0, bool(inner or outer)), title, rest))
        match = _PLAIN.match(text[:2000]) if plain and ":" in text[:50] else None
        if match and (number == first or not rows[number - 1].text.strip()):
            named = parse_role(match.group(1))
            if named:
                rest = text[match.start(2) :] if match.group(2) else ""
                found.append(Turn(number, named[0], TurnStyle(":", 0, colon=True), match.group(1), rest))
    return sorted(found)


def _find_style(turns: Sequence[Turn]) -> TurnStyle | None:
    """The style of a conversation: that of the person's first line with the strongest kind of mark. Lines without markup count only
    if a line of an assistant has the same style.
    """
    for mark in ("#", "**", ":"):
        human = next((turn.style for turn in turns if turn.style.mark == mark and turn.role is Role.HUMAN), None)
        answered = any(turn.style == human and turn.role is Role.ASSISTANT for turn in turns)
        if human and (answered or mark != ":"):
            return human
    return None


def to_entries(rows: Sequence[Row], turns: Sequence[Turn], hidden: Sequence[int], when: ConversationTime) -> list[DocumentEntry]:
    """The records of a conversation: one for each turn."""
    entries = []
    previous = stamp_instant(when.stamp, when.zone) if when.stamp and when.stamp.clock else None
    for number, turn in enumerate(turns):
        end = turns[number + 1].row if number + 1 < len(turns) else len(rows)
        at, precision, written, previous = _turn_time(turn, when, previous)
        template = EventDraft(at=at, precision=precision, stamp=written)
        found = bisect_right(hidden, turn.row)
        cut = hidden[found] if turn.role is Role.HUMAN and found < len(hidden) and hidden[found] < end else None
        entry = _turn_entry(rows, turn, _fence_row(rows, turn.row, cut) if cut else end, end, template)
        answers = number > 0 and turns[number - 1].role is Role.ASSISTANT
        if turn.role is Role.HUMAN and answers and precision is not Precision.MESSAGE and is_introduced(rows, turn.row):
            entry = label_entry_unconfirmed(entry)
        entries.append(entry)
    return entries


def _fence_row(rows: Sequence[Row], first: int, cut: int) -> int:
    """The row of the fence around a quoted speaker's line."""
    return next((row for row in range(cut, first, -1) if rows[row].text.lstrip().startswith(("```", "~~~"))), cut)


def _turn_entry(rows: Sequence[Row], turn: Turn, until: int, end: int, template: EventDraft) -> DocumentEntry:
    """The record of a turn, which ends before row ``end``. From row ``until`` on, the author of a person's turn is uncertain."""
    parts = (turn.rest.strip(), strip_edges(rows, turn.row + 1, until))
    text, noted = strip_hidden("\n".join(filter(None, parts)).strip())
    template = replace(template, reason=f"role-heading:{turn.role}", text=text)
    drafts: list[EventDraft] = []
    match turn.role:
        case Role.HUMAN:
            drafts = split_prompt(text, template, noted)
            # The author of the rest is uncertain, because it is a transcript quoted in a code block, or the block has no end.
            if until < end and (quoted := strip_edges(rows, until, end)):
                drafts.append(template.injected(quoted, "role-heading-in-code"))
        case _ if not text:
            pass
        case Role.ASSISTANT:
            drafts = [template.answer(text, template.reason)]
        case Role.TOOL:
            drafts = [replace(template, kind=EventKind.TOOL_OUTPUT, author=Author.TOOL)]
        case Role.SYSTEM:
            drafts = [template.injected(text, template.reason)]
    return DocumentEntry(place=rows_place(rows, turn.row, end), drafts=tuple(drafts), noted=noted)


def _turn_time(
    turn: Turn, when: ConversationTime, previous: datetime | None
) -> tuple[datetime | None, Precision, str, datetime | None]:
    """Return a turn's instant, its precision, its time as written, and the earliest possible instant of the next turn."""
    stamp = find_stamp(turn.title)
    if stamp is not None:
        at = stamp_instant(stamp, when.zone)
        return at, Precision.MESSAGE if stamp.clock else Precision.SESSION, str(stamp), at or previous
    clock = find_clock(turn.title)
    if when.stamp is None:
        return None, Precision.NONE, clock.isoformat() if clock else "", previous
    if clock is None:
        return stamp_instant(when.stamp, when.zone), Precision.SESSION, str(when.stamp), previous
    start = stamp_instant(Stamp(day=when.stamp.day, clock=clock), when.zone)
    if start is None:
        return None, Precision.NONE, clock.isoformat(), previous
    day = previous.astimezone(when.zone).date() if previous else when.stamp.day
    at = next_instant(day, clock, previous, when.zone) if previous else start
    same = at.astimezone(when.zone).date() == when.stamp.day
    written = f"{at.astimezone(when.zone).date()}T{clock.isoformat()}"
    return at, Precision.MESSAGE if same else Precision.INFERRED, written, at
