"""Archived turns as the page shows them: bounded, with the quoted words apart."""

from collections.abc import Sequence

from kept.core.event import Author, Event, EventKind
from kept.core.memory import Evidence
from kept.core.spans import label_event_text
from kept.core.value import dataclass

_BEFORE, _AFTER, _OTHER = 700, 1_100, 900  # characters shown around a quote; and of a turn that is only near to one


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """One turn, with the quote in the middle (empty where the turn is not what is cited); ``cut`` is how much is left out."""

    event: Event
    before: str
    quote: str
    after: str
    cut: int

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool's side of the conversation."""
        return self.event.author is Author.TOOL or self.event.kind in (EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT)

    @property
    def label(self) -> str:
        """What a tool was asked to do; empty for what people and agents say."""
        tool = self.event.tool
        if tool is None or self.event.kind is not EventKind.TOOL_CALL:
            return ""
        told = tool.target in (self.event.text, "") or not self.event.text
        return tool.name if told else f"{tool.name} {tool.target}"[:200]


def to_turn_view(event: Event, evidence: Evidence | None = None) -> TurnView:
    """A turn to show; with ``evidence``, the one that it cites."""
    if not event.text:
        target = event.tool.target if event.tool else ""
        return TurnView(event=event, before=target[:_OTHER], quote="", after="", cut=max(0, len(target) - _OTHER))
    text = event.text
    at = text.find(evidence.quote) if evidence is not None and evidence.quote else -1
    if evidence is None or at < 0:
        return TurnView(event=event, before=label_event_text(event, 0, _OTHER), quote="", after="", cut=max(0, len(text) - _OTHER))
    end = at + len(evidence.quote)
    before, after = label_event_text(event, max(0, at - _BEFORE), at), label_event_text(event, end, end + _AFTER)
    if at > _BEFORE:
        before = f"… {before}"
    return TurnView(event=event, before=before, quote=text[at:end], after=after, cut=max(0, len(text) - end - _AFTER))


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationView:
    """Turns around a piece of evidence, which is the one at ``place`` of its memory; none where the archive has them no more."""

    place: int
    evidence: Evidence
    turns: tuple[TurnView, ...]


def build_conversations(
    found: Sequence[tuple[Evidence, tuple[Event, ...]]], every: Sequence[Evidence], *, first: int = 0
) -> tuple[ConversationView, ...]:
    """The conversations around some evidence, the first of it at place ``first``; what an earlier one shows has none of its own.

    In all of them the words of ``every`` piece of evidence are marked.
    """
    cited = {evidence.event: evidence for evidence in reversed(every)}
    seen: set[str] = set()
    made = []
    for place, (evidence, events) in enumerate(found, first):
        if evidence.event in seen:
            continue
        seen |= {event.key for event in events}
        turns = tuple(to_turn_view(event, cited.get(event.key)) for event in events)
        made.append(ConversationView(place=place, evidence=evidence, turns=turns))
    return tuple(made)
