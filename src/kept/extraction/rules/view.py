"""What extraction looks at: which events are a person's prompts, and how far it looks back from them."""

from kept.core.event import Author, Event, EventKind

LOOKBACK = 300


def is_prompt(event: Event) -> bool:
    """Whether the event is a prompt that a person typed."""
    return event.kind is EventKind.PROMPT and event.author is Author.HUMAN
