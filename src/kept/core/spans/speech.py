"""Marks what a person quotes or reports inside their own sentences: quotations, "the docs say …", "reviewer: …", "X claims …"."""

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.words import fill_pattern

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
_SAYING_END = fill_pattern(r"(?i)(?:[:：]|(?:\b‹says:spaced›|‹says:unspaced›)(?:\s+(?:that|dass|que))?\s*,?)\s*[(\"“«„「『]?\s*$")
# Up to two words, without a comma, between a source and "says".
_BETWEEN = r"(?:[ \t]+[\pL\pN'’-]+){0,2}?[ \t]+"
# A source and a verb of saying, up to the start of the statement.
_SAYING = fill_pattern(
    rf"(?i)(?:\b‹sources:spaced›{_BETWEEN}‹says:spaced›(?:[ \t]+(?:that|dass|que)\b)?(?:[ \t]*[:,])?(?:[ \t]+|$)"
    r"|‹sources:unspaced›[^。！？\n]{0,12}?‹says:unspaced›[：:，,]?)"
)
# The attribution of a sentence to a source: "according to the docs …", "laut Handbuch …".
_ACCORDING = fill_pattern(
    rf"(?i)(?:\b‹according:spaced›{_BETWEEN}‹sources:spaced›\b"
    r"|‹according:unspaced›[^。！？\n]{0,12}?‹sources:unspaced›[^。！？\n，：:,]{0,12}[，：:,]"
    r"|‹sources:unspaced›‹according:unspaced›[、，]?)"
)
# A source at the start of a sentence, up to the colon: "from the vendor docs: …".
_SOURCE_LEAD = fill_pattern(
    rf"(?im)(?:^|[.!?][ \t]+)[\s>*_-]{{0,4}}(?:\pL+[ \t]+)??‹taken:spaced›{_BETWEEN}‹sources:spaced›\b[^.!?\n:：]*[:：][ \t]*"
    r"|‹taken:unspaced›[^。！？\n，：:,]*‹sources:unspaced›[^。！？\n，：:,]*[：:]"
)
# A speaker and a colon at the start of a line.
_SPEAKER_LABEL = fill_pattern(
    r"(?im)^[ \t*_>#-]{0,6}(?:(?:the|a|an|our|my|their|der|die|das|le|la|les|el|los|o|a)[ \t]+)?(?:[\pL\pN-]+[ \t]+)??"
    r"(?:‹speakers:spaced›|‹speakers:unspaced›)(?:[ \t]+(?:comments?|feedback|notes?|review))?(?:[ \t]?\([^)\n]*\))?"
    r"[*_]*[ \t]?[:：][*_]*[ \t]*"
)


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
    return alone or bool(_SAYING_END.search(before)) or after.lstrip().startswith(("— ", "– ", "-- "))


def _mark_reports(marks: SpanMarks) -> None:
    text = marks.text
    for match in _SPEAKER_LABEL.finditer(text):
        end = text.find("\n\n", match.end())
        marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.REPORTED)
    for pattern in (_SAYING, _ACCORDING, _SOURCE_LEAD, _CLAIMS):
        for match in pattern.finditer(text):
            if pattern is _CLAIMS and _OWN_VOICE.search(match[0]):
                continue
            if text[match.end() - 1] == "\n" or text[match.end() : match.end() + 1] == "\n":
                # The statement is below.
                end = text.find("\n\n", match.end())
                marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.REPORTED)
            stop = _END.search(text, match.end())
            marks.mark(match.start(), stop.start() + 1 if stop else len(text), SpanKind.REPORTED)
