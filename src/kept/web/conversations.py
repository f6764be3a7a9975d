"""Archived conversations as the page shows them: turns are shortened, and quoted words are separate."""

from collections.abc import Sequence

from kept.core.event import Author, Event, EventKind
from kept.core.memory import Evidence
from kept.core.spans import label_event_text
from kept.core.value import dataclass

_BEFORE, _AFTER, _OTHER = 700, 1_100, 900  # characters shown before and after a quote, and of a turn without a quote


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """One turn, split at its quote (empty if the turn is not cited); ``cut`` is the number of characters left out at its end."""

    event: Event
    before: str
    quote: str
    after: str
    cut: int

    @property
    def is_tool(self) -> bool:
        """Whether the turn is a tool call or a tool's output."""
        return self.event.author is Author.TOOL or self.event.kind in (EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT)

    @property
    def label(self) -> str:
        """The name and target of a tool call; empty for other turns."""
        tool = self.event.tool
        if tool is None or self.event.kind is not EventKind.TOOL_CALL:
            return ""
        shown = tool.target in (self.event.text, "") or not self.event.text  # the target is the text of the turn
        return tool.name if shown else f"{tool.name} {tool.target}"[:200]


def to_turn_view(event: Event, evidence: Evidence | None = None) -> TurnView:
    """Convert an event for the page; with ``evidence``, its quote is separate."""
    text, quote = event.text, evidence.quote if evidence is not None else ""
    if not text:
        target = event.tool.target if event.tool else ""
        return TurnView(event=event, before=target[:_OTHER], quote="", after="", cut=max(0, len(target) - _OTHER))
    at = text.find(quote) if quote else -1
    if at < 0:
        return TurnView(event=event, before=label_event_text(event, 0, _OTHER), quote="", after="", cut=max(0, len(text) - _OTHER))
    end = at + len(quote)
    before = ("… " if at > _BEFORE else "") + label_event_text(event, max(0, at - _BEFORE), at)
    after = label_event_text(event, end, end + _AFTER)
    return TurnView(event=event, before=before, quote=quote, after=after, cut=max(0, len(text) - end - _AFTER))


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationView:
    """The turns around a piece of evidence, which has the index ``place`` in its memory; none if they are no longer archived."""

    place: int
    evidence: Evidence
    turns: tuple[TurnView, ...]


def build_conversations(
    pieces: Sequence[tuple[Evidence, tuple[Event, ...]]], every: Sequence[Evidence], *, first: int = 0
) -> tuple[ConversationView, ...]:
    """The conversations around ``pieces`` of evidence; the first piece has the index ``first`` in its memory.

    A piece that an earlier conversation already shows gets none of its own. The quotes of ``every`` piece of evidence are separate
    in all of them.
    """
    cited = {evidence.event: evidence for evidence in reversed(every)}
    seen: set[str] = set()
    conversations = []
    for place, (evidence, events) in enumerate(pieces, first):
        if evidence.event in seen:
            continue
        seen |= {event.key for event in events}
        turns = tuple(to_turn_view(event, cited.get(event.key)) for event in events)
        conversations.append(ConversationView(place=place, evidence=evidence, turns=turns))
    return tuple(conversations)
