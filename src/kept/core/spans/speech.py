"""Marks what a person quotes or reports inside their own sentences: quotations, "the docs say …", "reviewer: …", "X claims …"."""

from functools import cache

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.words import fill_pattern, spaced_pattern, unspaced_pattern

_QUOTATION = Pattern(r"[“«„]([^“”«»„\n]+)[”»“]|(?:^|[\s(:])\"([^\"\n]+)\"|「([^「」\n]+)」|『([^『』\n]+)』")
# A line that is a single quotation, below other words; it may contain shorter quotations.
_QUOTED_LINE = Pattern(r"(?m)^[ \t]*(\"[^\n]+\"|“[^\n]+”)[ \t]*$")
_LONG_QUOTATION = 8  # a quotation of fewer words is a name or label
_END = fill_pattern(r"[.!?](?:\s|$)|[。！？;；]|\n|,? ‹contrasts:spaced› |‹contrasts:unspaced›")
# Words before a text that a program shall show: that text is the person's.
_WANTED = fill_pattern(r"(?i)\b‹wanted›\s+(?:\pL+\s+)?\W*$")
_CLAIMS = Pattern(
    r"(?:^|[.!?]\s+|\n)\s*(?:\p{Lu}[\w.-]{0,30}(?: \p{Lu}[\w.-]{1,30})?) "
    r"(?:claims?|claimed|insists?|argues?|asserts?|says|said|writes|wrote|thinks|recommends?|suggests?)(?: that)?[:,]? "
)
_OWN_VOICE = Pattern(r"\b(?:We|You|I|What|Who|This|That|It|Nobody|Somebody|Someone|Anyone)\b")


def mark_speech(marks: SpanMarks) -> None:
    """Mark quotations and reported statements of somebody else. The rest of the person's sentence stays typed."""
    _mark_quotations(marks)
    _mark_reports(marks)


def _mark_quotations(marks: SpanMarks) -> None:
    text = marks.text
    for match in _QUOTATION.finditer(text):
        inner = next(group for group in match.groups() if group)
        long = len(inner.split()) >= _LONG_QUOTATION or (not inner.isascii() and len(inner) >= 2 * _LONG_QUOTATION)
        if long and _is_attributed(text, match.start(), match.end()):
            marks.mark(match.start(), match.end(), SpanKind.QUOTED)
    for match in _QUOTED_LINE.finditer(text):
        if text[: match.start()].strip() and len(match[1].split()) >= _LONG_QUOTATION:
            marks.mark(match.start(1), match.end(1), SpanKind.QUOTED)


def _is_attributed(text: str, start: int, end: int) -> bool:
    """True if a quotation is somebody's words rather than a label: announced by a verb or colon, on its own line, or signed."""
    before, after = text[max(0, start - 60) : start + 1], text[end : end + 20]
    if _WANTED.search(before):
        return False
    alone = not before.rpartition("\n")[2].strip(' \t>*-"“«„「『') and not after.partition("\n")[0].strip(" \t.")
    return alone or bool(_saying_end_pattern().search(before)) or after.lstrip().startswith(("— ", "– ", "-- "))


@cache
def _saying_end_pattern() -> Pattern:
    return Pattern(
        rf"(?i)(?:[:：]|(?:\b{spaced_pattern('says')}|{unspaced_pattern('says')})(?:\s+(?:that|dass|que))?\s*,?)\s*[(\"“«„「『]?\s*$"
    )


# Up to two words, without a comma, between a source and "says".
_BETWEEN = r"(?:[ \t]+[\pL\pN'’-]+){0,2}?[ \t]+"


@cache
def _saying_pattern() -> Pattern:
    """Matches a source and a verb of saying, up to the start of the statement."""
    return Pattern(
        rf"(?i)(?:\b{spaced_pattern('sources')}{_BETWEEN}{spaced_pattern('says')}"
        rf"(?:[ \t]+(?:that|dass|que)\b)?(?:[ \t]*[:,])?(?:[ \t]+|$)"
        rf"|{unspaced_pattern('sources')}[^。！？\n]{{0,12}}?{unspaced_pattern('says')}[：:，,]?)"
    )


@cache
def _according_pattern() -> Pattern:
    """Matches the attribution of a sentence to a source: "according to the docs …", "laut Handbuch …"."""
    return Pattern(
        rf"(?i)(?:\b{spaced_pattern('according')}{_BETWEEN}{spaced_pattern('sources')}\b"
        rf"|{unspaced_pattern('according')}[^。！？\n]{{0,12}}?{unspaced_pattern('sources')}[^。！？\n，：:,]{{0,12}}[，：:,]"
        rf"|{unspaced_pattern('sources')}{unspaced_pattern('according')}[、，]?)"
    )


@cache
def _source_lead_pattern() -> Pattern:
    """Matches a source at the start of a sentence, up to the colon: "from the vendor docs: …"."""
    return Pattern(
        rf"(?im)(?:^|[.!?][ \t]+)[\s>*_-]{{0,4}}(?:\pL+[ \t]+)??{spaced_pattern('taken')}{_BETWEEN}"
        rf"{spaced_pattern('sources')}\b[^.!?\n:：]*[:"
        r"：][ \t]*"
        rf"|{unspaced_pattern('taken')}[^。！？\n，：:,]*{unspaced_pattern('sources')}[^。！？\n，：:,]*[：:]"
    )


@cache
def _speaker_label_pattern() -> Pattern:
    """Matches a speaker and a colon at the start of a line."""
    return Pattern(
        rf"(?im)^[ \t*_>#-]{{0,6}}(?:(?:the|a|an|our|my|their|der|die|das|le|la|les|el|los|o|a)[ \t]+)?(?:[\pL\pN-]+[ \t]+)??"
        rf"(?:{spaced_pattern('speakers')}|{unspaced_pattern('speakers')})(?:[ \t]+(?:comments?|feedback|notes?"
        r"|review))?(?:[ \t]?\([^)\n]*\))?[*_]*[ \t]?[:：][*_]*[ \t]*"
    )


def _mark_reports(marks: SpanMarks) -> None:
    text = marks.text
    for match in _speaker_label_pattern().finditer(text):
        end = text.find("\n\n", match.end())
        marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.REPORTED)
    for pattern in (_saying_pattern(), _according_pattern(), _source_lead_pattern(), _CLAIMS):
        for match in pattern.finditer(text):
            if pattern is _CLAIMS and _OWN_VOICE.search(match[0]):
                continue
            if text[match.end() - 1] == "\n" or text[match.end() : match.end() + 1] == "\n":
                # The statement is below.
                end = text.find("\n\n", match.end())
                marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.REPORTED)
            stop = _END.search(text, match.end())
            marks.mark(match.start(), stop.start() + 1 if stop else len(text), SpanKind.REPORTED)
