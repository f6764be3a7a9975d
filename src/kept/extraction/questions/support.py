"""Support: whether the words a model cites are there, and how much of what it claims they carry. Nothing here believes a model."""

import html
import re
import unicodedata
from bisect import bisect_left
from functools import lru_cache

from kept.core.error_fingerprint import find_error_lines, fingerprint_error
from kept.core.event import Event, EventKind
from kept.core.sentences import split_sentences
from kept.core.statement import find_content
from kept.core.text import is_cjk
from kept.extraction.polarity import is_qualified
from kept.extraction.rules.assertion import ASKED, unasserted_reason
from kept.extraction.rules.clipped import is_clipped, is_disowned
from kept.extraction.rules.framing import find_frame
from kept.extraction.rules.view import authorship_doubt

QUOTE_CHARS = 400
_READ = 8_000
# The marks that belong to a passage where they stand around it.
_WRAPS = frozenset("`*_\"'“”„‟‘’‚‹›«»「」『』")
_ENDS = ".!?。！？…"
_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（"}
# A name in Latin letters with what joins its parts: half of it is another name.
_NAME = re.compile(r"(?:--|-(?=\d)|\.{0,2}/|[@$~.])?[A-Za-z0-9_]+(?:(?:[-/@\\'’]+|\.(?=[a-z0-9_]))[A-Za-z0-9_]+)*(?:[+#]+|%)?")
_NAME_CHARS = 80
# What a model puts around a quote: the event's head, tags.
_HEAD = re.compile(r"(?i)^\W*(?:e\d+\W+)?(?:person|user|assistant|note|output)\s*:\s*")
_TAG = re.compile(r"</?[a-z]+>")
_LISTED = re.compile(r"(?m)^[ \t]*([-+•]|\d{1,3}[.)])(?=\s)")
_LINKED = re.compile(r"(?<=\])(\([^()\s]*\))")
_AROUND = 2_000
_ANSWER = re.compile(r"(?i)^\W*(?:no|nope|nein|non|não|yes|ok|okay|ja|sí|oui|sim)[.!]\s+")
_LEFT_OUT = re.compile(r"[\[(]?(?:…|\.{3,})[\])]?")


def event_fields(event: Event) -> tuple[str, ...]:
    """The texts of an event: what was said, and its tool's side."""
    tool = (event.tool.target, event.tool.detail) if event.tool else ()
    return tuple(item for item in (event.text, *tool) if item)


def find_verbatim(quote: str, event: Event) -> str:
    """The quote as it stands in the event, at most 400 characters of it; empty where it does not stand there. Only its letters and
    digits are compared: what counts is the event's own words, to which a quote points.
    """
    return find_full_passage(quote, event)[:QUOTE_CHARS].strip()


def find_full_passage(quote: str, event: Event) -> str:
    """The whole of a quote as it stands in the event; empty where it does not stand there."""
    for text in event_fields(event) if len(quote) <= _READ else ():
        if found := locate(quote, text):
            return text[found[0] : found[1]].strip()
    return ""


def complete_passage(quote: str, event: Event) -> str:
    """The quote as it stands in the event, widened to its whole sentences where what was cut off denies, restricts or asks."""
    for text in event_fields(event) if len(quote) <= _READ else ():
        if found := locate(quote, text):
            start, end = found
            lead, first, last = _sentences_around(text, start, end)
            if answer := _ANSWER.match(text[first:start]):
                first += answer.end()
            cut_off = f"{text[slice(*lead)]} {text[first:start]} {text[end:last]}"
            clipped = is_qualified(f"{cut_off}{text[end - 1 : end]}") or (
                event.kind is EventKind.PROMPT and (is_clipped(text, start, end) or is_disowned(text, start, end))
            )
            passage = text[(lead[0] if lead[0] < lead[1] else first) : last] if clipped else text[start:end]
            return passage.strip() if "\n" in passage.strip() else _LISTED.sub("", passage, count=1).strip()
    return ""


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quote stands in a text, as whole words; with dots for what it leaves out, from its first word to its last."""
    found = _locate(quote, text, 0)
    parts = [part.strip() for part in _LEFT_OUT.split(quote) if part.strip()]
    if found is None and len(parts) > 1:
        places: list[tuple[int, int]] = []
        for part in parts:
            place = _locate(part, text, places[-1][1] if places else 0)
            if place is None:
                return None
            places.append(place)
        found = places[0][0], places[-1][1]
    return found


def _locate(quote: str, text: str, after: int) -> tuple[int, int] | None:
    """Where the letters and digits of a quote follow one another, whatever stands between them; whole words before parts of
    some.
    """
    bare = _HEAD.sub("", _TAG.sub("", html.unescape(quote)))
    widened: tuple[int, int] | None = None
    for words in filter(None, dict.fromkeys((_letters(quote)[0], _letters(bare)[0]))):
        for letters, places in (_letters(text), _letters(text, marks=False)):
            at = letters.find(words, bisect_left(places, after))
            while at >= 0:
                start, end = places[at], places[at + len(words) - 1] + 1
                whole = _whole_words(text, start, end)
                if whole == (start, end):
                    return _with_marks(text, start, end)
                widened = widened or _with_marks(text, *whole)
                at = letters.find(words, at + 1)
    return widened


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The place widened to whole words and names, for half of one may say the opposite."""
    while start > 0 and _is_joining_char(text[start - 1]) and _is_joining_char(text[start]):
        start -= 1
    while end < len(text) and _is_joining_char(text[end - 1]) and _is_joining_char(text[end]):
        end += 1
    names = [*_NAME.finditer(text, max(0, start - _NAME_CHARS), start + 1), *_NAME.finditer(text, end - 1, end + _NAME_CHARS)]
    first = min((name.start() for name in names if name.start() < start < name.end()), default=start)
    return first, max((name.end() for name in names if name.start() < end < name.end()), default=end)


def _with_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """The place with the marks and the stop that belong to it."""
    while start > 0 and text[start - 1] in _WRAPS:
        start -= 1
    while end < len(text) and (text[end] in _WRAPS or text[end] in _ENDS or _closes(text, start, end)):
        end += 1
    return start, end


def _closes(text: str, start: int, end: int) -> bool:
    """Whether a bracket that the passage opens is closed behind it."""
    opening = _BRACKETS.get(text[end], "")
    return bool(opening) and text.count(opening, start, end) > text.count(text[end], start, end)


def _is_joining_char(char: str) -> bool:
    return char.isalnum() and not is_cjk(char)


@lru_cache(maxsize=128)
def _letters(text: str, *, marks: bool = True) -> tuple[str, list[int]]:
    """The letters and digits of a text in one case without accents, and the place of each; without the marks of lists and the
    targets of links where not ``marks``.
    """
    passed = () if marks else (*_LISTED.finditer(text), *_LINKED.finditer(text))
    left = {place for found in passed for place in range(*found.span(1))}
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if place not in left:
            told = char.lower() if char.isascii() else unicodedata.normalize("NFKD", char).casefold()
            letters = [each for each in told if each.isalnum()]
            chars += letters
            places += [place] * len(letters)
    return "".join(chars), places


def whole_sentences(quote: str, event: Event) -> str:
    """The whole sentences that a quote stands in, and the line that leads to a list: what was cut off may turn it around."""
    for text in event_fields(event):
        if found := locate(quote, text):
            return text[slice(*sentences_around(text, *found))].strip()
    return quote


def sentences_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The characters of the whole sentences around a passage; of an item of a list from the line on that leads to the list."""
    lead, first, last = _sentences_around(text, start, end)
    return min(lead[0], first), last


def _sentences_around(text: str, start: int, end: int) -> tuple[tuple[int, int], int, int]:
    """The line that leads to the list in which a passage stands (empty: none), and where its own sentences begin and end."""
    around = [span for span in split_sentences(text, max(0, start - _AROUND), min(len(text), end + _AROUND)) if not span.aside]
    own = [span for span in around if span.start < end and span.end > start]
    if not own:
        return (start, start), start, end
    first, last = min(start, own[0].start), max(end, own[-1].end)
    before = (span for span in reversed(around) if span.end <= own[0].start and not span.bullet)
    lead = next(before, None) if own[0].bullet else None
    return ((lead.start, lead.end) if lead and text[lead.end - 1] in ":：" else (first, first)), first, last


def quote_doubt(quote: str, event: Event) -> str:
    """Why a quote of a prompt may not be what its author holds; empty where nothing says so."""
    found = locate(quote, event.text)
    if event.kind is not EventKind.PROMPT or found is None:
        return ""
    return authorship_doubt(event) or find_frame(event.text, *found) or ""


def is_in_question(quote: str, event: Event) -> bool:
    """Whether a quote stands in a question that is no request."""
    found = locate(quote, event.text)
    return found is not None and unasserted_reason(event.text, *found) == ASKED


def supported_share(content: str, *texts: str) -> float:
    """The share of the telling words of a sentence that stand in the texts, from 0 to 1."""
    words = find_content(content)
    known = {word for text in texts for word in find_content(text[:_READ])}
    return len(words & known) / len(words) if words else 0.0


def failure_fingerprint(event: Event) -> str:
    """The fingerprint of the error that an event tells of; empty where it tells of none."""
    lines = find_error_lines(event.text)
    return fingerprint_error(lines[0]) if lines else ""
