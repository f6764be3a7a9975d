"""Support: whether the words a model cites are there, and how much of what it claims they carry. Nothing here believes a model."""

import re2

from kept.core.error_fingerprint import error_lines, fingerprint
from kept.core.event import Event
from kept.core.statement import statement

QUOTE_CHARS = 400
_READ = 8_000


def fields(event: Event) -> tuple[str, ...]:
    """The texts of an event: what was said, and its tool's side."""
    tool = (event.tool.target, event.tool.detail) if event.tool else ()
    return tuple(each for each in (event.text, *tool) if each)


def verbatim(quote: str, event: Event) -> str:
    """The quote as it stands in the event, white space apart, at most 400 characters of it; empty where it does not stand there."""
    words = quote.split()
    if not words or len(quote) > _READ:
        return ""
    pattern = re2.compile(r"\s+".join(re2.escape(each) for each in words[:400]))
    found = next((match[0] for text in fields(event) if (match := pattern.search(text))), "")
    return str(found)[:QUOTE_CHARS].strip()


def share(content: str, *texts: str) -> float:
    """The share of the telling words of a sentence that stand in the texts, from 0 to 1."""
    words = statement(content).content
    known = {word for text in texts for word in statement(text[:_READ]).content}
    return len(words & known) / len(words) if words else 0.0


def failure(event: Event) -> str:
    """The fingerprint of the error that an event tells of; empty where it tells of none."""
    lines = error_lines(event.text)
    return fingerprint(lines[0]) if lines else ""
