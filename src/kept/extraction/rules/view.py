"""What extraction looks at: which events are a person's prompts, how sure that is, and how far it looks back from them."""

from kept.core.event import Author, Event, EventKind, is_choice, is_unconfirmed
from kept.core.memory import CHOSEN, UNCONFIRMED

LOOKBACK = 300


def is_prompt(event: Event) -> bool:
    """Whether the event is a prompt that a person typed."""
    return event.kind is EventKind.PROMPT and event.author is Author.HUMAN


def authorship_doubt(event: Event) -> str:
    """Why a prompt's words may not be the person's own, however often they come; empty where nothing says so."""
    return CHOSEN if is_choice(event) else UNCONFIRMED if is_unconfirmed(event) else ""
