"""Classifies the spans of a prompt: typed by the person, or foreign (pasted, quoted, from a document, reported, from a harness …).

Only this package classifies spans, for every format and every caller, from the text alone. Words in doubt do not count as the
person's. Text that another session contains too was pasted, and not typed again: the store knows which hashes of long passages
occur in several sessions. A passage is a line of more than 25 words, or two consecutive lines. Case and white space are ignored.
"""

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from kept.core.event import Author, Event, EventKind, Origin, is_note, is_prompt, origin_of
from kept.core.spans.foreign import is_prompt_log, mark_command, mark_fences, mark_program, mark_quotes, mark_speech, mark_tags
from kept.core.spans.marks import Span, SpanKind, SpanMarks
from kept.core.spans.prose import mark_paragraphs
from kept.core.text import is_cjk, one_line

_WORDS = 25  # a line with more words is a passage
_LINES = 6  # minimum words of two consecutive lines that are a passage
_MOST = 400  # maximum passages of a prompt
_COPY_SECONDS = 120.0  # equal events of two sessions are copies of one event if they are no further apart


class LongPassage(NamedTuple):
    """The characters ``[start, end)`` of a text, and their hash, a signed 64-bit number."""

    start: int
    end: int
    hash: int


@lru_cache(maxsize=512)
def find_long_passages(text: str) -> tuple[LongPassage, ...]:
    """The long passages of a text: lines of more than 25 words, and pairs of consecutive lines with six words or more."""
    found: list[LongPassage] = []
    before: tuple[int, str, int] | None = None
    at = 0
    for line in text.splitlines(keepends=True):
        words = " ".join(line.casefold().split())
        if words:
            count = _count_words(words)
            end = at + len(line.rstrip())
            if count > _WORDS:
                found.append(LongPassage(at, end, _hash_words(words)))
            if before is not None and count + before[2] >= _LINES:
                found.append(LongPassage(before[0], end, _hash_words(f"{before[1]}\n{words}")))
            before = (at, words, count)
        at += len(line)
    return tuple(found[:_MOST])


def _count_words(words: str) -> int:
    return len(words.split()) + sum(map(is_cjk, words)) // 2


def _hash_words(words: str) -> int:
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def is_copy(one: datetime | None, other: datetime | None) -> bool:
    """True if two events with the same words are copies of one event: their times are (almost) equal, or both are undated."""
    if one is None or other is None:
        return one is other
    return abs((one - other).total_seconds()) <= _COPY_SECONDS


# Only the first 20,000 characters are classified. Nobody types more, so the rest counts as pasted.
LONGEST = 20_000

_PROMPT = (mark_program, mark_command, mark_tags, mark_fences, mark_quotes, mark_paragraphs, mark_speech)
# A journal entry looks like a document, so only its explicitly marked parts are foreign.
_NOTE = (mark_tags, mark_fences, mark_quotes)
# In a log of the person's own prompts, the block quotes are theirs.
_LOG = (mark_program, mark_tags, mark_fences, mark_speech)


@lru_cache(maxsize=1024)  # extraction and the day summary both call it for each prompt
def find_spans(text: str, *, note: bool = False, repeated: tuple[int, ...] = ()) -> tuple[Span, ...]:
    """The spans of a prompt, in order. Together they cover it. With ``note``, the text is an entry in a person's journal.

    ``repeated`` are hashes of long passages that other sessions contain too.
    """
    visible, places = _visible_with_offsets(text if note else text[:LONGEST])
    marks = SpanMarks(visible)
    for rule in _NOTE if note else _LOG if is_prompt_log(visible) else _PROMPT:
        rule(marks)
    for passage in find_long_passages(visible) if repeated else ():
        if passage.hash in repeated:
            marks.mark(passage.start, passage.end, SpanKind.REPEATED)
    spans = [Span(start=places[span.start], end=places[span.end], kind=span.kind) for span in marks.to_spans()]
    if spans and places[0]:
        spans[0] = Span(start=0, end=spans[0].end, kind=spans[0].kind)
    if len(text) > places[-1]:
        start = spans[-1].end if spans else 0
        spans.append(Span(start=start, end=len(text), kind=SpanKind.PASTED))
    return tuple(spans)


def event_spans(event: Event) -> tuple[Span, ...]:
    """The spans of an event's text. Only a person's prompt has typed spans. Any other text is one foreign span."""
    if is_prompt(event):
        return find_spans(event.text, note=is_note(event), repeated=event.repeated)
    kind = SpanKind.HARNESS if event.author in (Author.INJECTED, Author.COMPACTION) else SpanKind.REPORTED
    return (Span(start=0, end=len(event.text), kind=kind),) if event.text else ()


def event_passages(event: Event) -> tuple[LongPassage, ...]:
    """The long passages of a person's prompt, by which their repetition is recognised. Empty for a journal entry."""
    return find_long_passages(event.text) if is_prompt(event) and not is_note(event) else ()


def typed_spans(event: Event) -> tuple[Span, ...]:
    """The spans of an event that the person typed, in order."""
    return tuple(span for span in event_spans(event) if span.is_typed)


def typed_text(event: Event) -> str:
    """The words of an event that the person typed, with a blank line between spans."""
    return "\n\n".join(words for span in typed_spans(event) if (words := event.text[span.start : span.end].strip()))


def quote_origin(event: Event, quote: str) -> Origin:
    """The origin of a quote from an event. In a person's prompt, it is the person's only if it is in a typed span."""
    if event.origin is not Origin.USER:
        return origin_of(event.author)
    words = one_line(quote).casefold()
    return (
        Origin.USER
        if any(words in one_line(event.text[span.start : span.end]).casefold() for span in typed_spans(event))
        else Origin.TOOL
    )


def label_event_text(event: Event, start: int = 0, end: int | None = None) -> str:
    """A part of an event's text for display. Foreign spans of a person's prompt are in brackets, with their kind."""
    stop = len(event.text) if end is None else end
    if event.kind is not EventKind.PROMPT or event.author is not Author.HUMAN:
        return event.text[start:stop]
    return label_text(event.text, event_spans(event), start, stop)


def label_text(text: str, spans: tuple[Span, ...], start: int, stop: int) -> str:
    """A part of a prompt with these spans for display. Foreign spans are in brackets, with their kind."""
    inside = ((max(span.start, start), min(span.end, stop), span.kind) for span in spans)
    return "".join(_format_label(text[low:high], kind) for low, high, kind in inside if low < high)


def _format_label(words: str, kind: SpanKind) -> str:
    bare = words.strip()
    if kind is SpanKind.TYPED or not bare:
        return words
    start = words.index(bare)
    return f"{words[:start]}[{kind}: {bare}]{words[start + len(bare) :]}"


def _visible_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """The text without invisible characters. Also the offset in the original text of each remaining character, and of the end."""
    hidden = {char for char in set(text) if unicodedata.category(char) == "Cf"} if not text.isascii() else ()
    if not hidden:
        return text, range(len(text) + 1)
    places = [place for place, char in enumerate(text) if char not in hidden]
    return "".join(text[place] for place in places), [*places, len(text)]
