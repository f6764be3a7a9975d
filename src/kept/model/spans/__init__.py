"""Whose words the spans of a prompt are: typed by the person, or foreign (pasted, quoted, a document's, reported, a harness's …).

The one place that decides this, for every format and every consumer, from the text alone. In doubt words are not the person's.
"""

import unicodedata
from functools import lru_cache

from kept.model.event import Author, Event, Kind
from kept.model.spans.envelopes import mark_fences, mark_quotes, mark_tags
from kept.model.spans.marks import Marks, Span, SpanKind
from kept.model.spans.output import is_output
from kept.model.spans.programs import mark_command, mark_program
from kept.model.spans.prose import mark_paragraphs
from kept.model.spans.speech import mark_speech

__all__ = ["Span", "SpanKind", "is_output", "spans", "spans_of", "typed_spans", "typed_text"]

# Longer prompts are read to here: nobody types more, and what follows was pasted.
LONGEST = 20_000


@lru_cache(maxsize=256)
def spans(text: str) -> tuple[Span, ...]:
    """The spans of a prompt in order; together they cover it."""
    visible, places = _visible(text[:LONGEST])
    marks = Marks(visible)
    for rule in (mark_program, mark_command, mark_tags, mark_fences, mark_quotes, mark_paragraphs, mark_speech):
        rule(marks)
    found = [Span(start=places[span.start], end=places[span.end], kind=span.kind) for span in marks.spans()]
    if found and places[0]:
        found[0] = Span(start=0, end=found[0].end, kind=found[0].kind)
    if len(text) > places[-1]:
        start = found[-1].end if found else 0
        found.append(Span(start=start, end=len(text), kind=SpanKind.PASTED))
    return tuple(found)


def spans_of(event: Event) -> tuple[Span, ...]:
    """The spans of an event's text. Only a person's prompt holds typed ones; what others wrote is one foreign span."""
    if event.kind is Kind.PROMPT and event.author is Author.HUMAN:
        return spans(event.text)
    return (Span(start=0, end=len(event.text), kind=_kind(event.author)),) if event.text else ()


def typed_spans(event: Event) -> tuple[Span, ...]:
    """The spans of an event that the person typed, in order."""
    return tuple(span for span in spans_of(event) if span.is_typed)


def typed_text(event: Event) -> str:
    """The words of an event that the person typed, a blank line between spans."""
    return "\n\n".join(words for span in typed_spans(event) if (words := event.text[span.start : span.end].strip()))


def _kind(author: Author) -> SpanKind:
    match author:
        case Author.INJECTED | Author.COMPACTION:
            return SpanKind.HARNESS
        case _:
            return SpanKind.REPORTED


def _visible(text: str) -> tuple[str, list[int]]:
    """The text without characters that nobody sees, and the place in the whole text of each of its characters and of its end."""
    if text.isascii():
        return text, list(range(len(text) + 1))
    places = [place for place, char in enumerate(text) if unicodedata.category(char) != "Cf"]
    return "".join(text[place] for place in places), [*places, len(text)]
