"""What extraction looks at: which events are a person's prompts, how sure that is, and how far it looks back from them."""

from collections.abc import Sequence

from kept.core.event import Author, Event, EventKind, is_choice, is_unconfirmed
from kept.core.memory import CHOSEN, UNCONFIRMED, Evidence
from kept.core.spans import quote_origin

LOOKBACK = 300


def is_prompt(event: Event) -> bool:
    """Whether the event is a prompt that a person typed."""
    return event.kind is EventKind.PROMPT and event.author is Author.HUMAN


def authorship_doubt(event: Event) -> str:
    """Why a prompt's words may not be the person's own, however often they come; empty where nothing says so."""
    return CHOSEN if is_choice(event) else UNCONFIRMED if is_unconfirmed(event) else ""


def evidence_of(event: Event, quote: str, *, by_span: bool = False) -> Evidence:
    """A passage of an event as evidence, as trusted as the event; ``by_span``: as those who wrote the passage itself."""
    return Evidence(
        quote=quote,
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=quote_origin(event, quote) if by_span else event.origin,
    )


def turn_before(events: Sequence[Event], event: Event) -> tuple[str, str]:
    """The words of the prompt before an event, of the same session, and of the last reply to it; empty where there is none."""
    prompt = reply = ""
    for item in events:
        if item.key == event.key:
            break
        if item.session != event.session:
            continue
        if is_prompt(item):
            prompt, reply = item.text, ""
        elif item.kind is EventKind.RESPONSE and item.author is Author.ASSISTANT and item.text.strip():
            reply = item.text
    return prompt, reply
