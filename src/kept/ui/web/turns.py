"""Archived turns as a page shows them: bounded, and with the words a memory rests on apart. Pure."""

from dataclasses import dataclass

from kept.model.event import Author, Event, Kind
from kept.model.memory import Evidence

_BEFORE, _AFTER, _OTHER = 700, 1_100, 900  # characters shown around a quote; and of a turn that is only near to one


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn: ``said`` has the quote in the middle (empty where the turn is not what is cited); what is left out is told by ``cut``."""

    event: Event
    before: str
    quote: str
    after: str
    cut: int

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool's side of the conversation."""
        return self.event.author is Author.TOOL or self.event.kind in (Kind.TOOL_CALL, Kind.TOOL_OUTPUT)

    @property
    def label(self) -> str:
        """What a tool was asked to do; empty for what people and agents say."""
        tool = self.event.tool
        return f"{tool.name} {tool.target}".strip()[:200] if tool is not None and self.event.kind is Kind.TOOL_CALL else ""


def turn_of(event: Event, evidence: Evidence | None = None) -> Turn:
    """A turn to show; with ``evidence``, the one that it cites."""
    text = event.text or (event.tool.target if event.tool else "")
    at = text.find(evidence.quote) if evidence is not None and evidence.quote else -1
    if evidence is None or at < 0:
        shown = text[:_OTHER]
        return Turn(event=event, before=shown, quote="", after="", cut=len(text) - len(shown))
    end = at + len(evidence.quote)
    before, after = text[max(0, at - _BEFORE) : at], text[end : end + _AFTER]
    if at > _BEFORE:
        before = f"… {before}"
    return Turn(event=event, before=before, quote=text[at:end], after=after, cut=max(0, len(text) - end - _AFTER))


def conversation_of(evidence: Evidence, events: tuple[Event, ...]) -> tuple[Turn, ...]:
    """Some turns around a piece of evidence; empty where the archive has them no more."""
    return tuple(turn_of(each, evidence if each.key == evidence.event else None) for each in events)
