"""Marks text inside delimiters that make it foreign: tags of a harness, code fences, triple quotation marks, block quotes.

A tag is recognised by its form rather than its name, so tags of unknown harnesses are found too, even if they are never closed.
Inline code, a person's emphasis and placeholders ("git show <commit>") count as typed.
"""

from collections.abc import Iterator

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.words import fill_pattern, opens_with

_TAG = Pattern(r"[<＜]\s?(/?)\s?([A-Za-z](?:[\w:.-]*\w)?)((?:\s[^<>＜＞\n]*)?)(/?)[>＞]")
# Elements that a person types as markup; the text inside them is theirs.
_EMPHASIS = frozenset(
    {"b", "i", "em", "strong", "u", "s", "kbd", "code", "br", "hr", "sub", "sup", "small", "mark", "wbr", "del", "ins"}
)
# HTML elements without a closing tag.
_VOID = frozenset({"link", "meta", "img", "input", "area", "base", "col", "embed", "param", "track"})
# Words in the names of tags that programs use to address a model.
_HARNESS = fill_pattern(r"(?i)‹shapes:clients.tags›")
_TOKEN = Pattern(r"<\|[\w -]{2,40}\|>|\[/?INST\]|<</?SYS>>")
_FENCE = Pattern(r"(?m)^[ \t]*(?:[-*>][ \t]+)?(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_OPENS_LATE = Pattern(r"(?m)\S[ \t]*(`{3,})[ \t]*([A-Za-z0-9+#-]{0,20})[ \t]*$")
_ONE_LINE = Pattern(r"`{3,}[^`\n]+`{3,}")
# Three quotation marks: at the beginning of a line they open a quoted text, the next ones close it.
_TRIPLE = Pattern(r"\"\"\"|\'\'\'")
_QUOTE = Pattern(r"(?m)^[ \t]{0,3}>(?:[ \t>]|$|[^\s=\w]|\w).*$")
_CODE = Pattern(r"(`{1,2})[^`\n]+(`{1,2})")


def mark_tags(marks: SpanMarks) -> None:
    """Mark tags and the text inside them."""
    text = marks.text
    if "<" not in text and "＜" not in text and "[" not in text:
        return
    for token in _TOKEN.finditer(text):
        marks.mark(token.start(), len(text), SpanKind.HARNESS)
        break
    coded = [match.span() for match in _CODE.finditer(text)]
    opened: list[tuple[str, int, int]] = []
    for match in _TAG.finditer(text):
        closing, name, single = bool(match[1]), match[2].casefold(), bool(match[4])
        if name in _EMPHASIS or name in _VOID or single or _is_within(match.start(), coded):
            continue
        if not closing:
            opened.append((name, match.start(), match.end()))
            continue
        place = next((place for place in range(len(opened) - 1, -1, -1) if opened[place][0] == name), -1)
        if place >= 0:
            marks.mark(opened[place][1], match.end(), _tag_span_kind(name))
            del opened[place:]
        elif _is_compound(name):
            # A closing tag whose opening tag was cut off.
            marks.mark(0, match.end(), SpanKind.HARNESS)
    for name, start, end in opened:
        if _is_open_envelope(text, name, start, end):
            marks.mark(start, len(text), _tag_span_kind(name))
            break


def _is_within(place: int, ranges: list[tuple[int, int]]) -> bool:
    return any(start < place < end for start, end in ranges)


def _tag_span_kind(name: str) -> SpanKind:
    return SpanKind.HARNESS if _is_compound(name) or _HARNESS.search(name) else SpanKind.PASTED


def _is_compound(name: str) -> bool:
    return "-" in name or "_" in name


def _is_open_envelope(text: str, name: str, start: int, end: int) -> bool:
    """True if a tag that is never closed opens a block, rather than being a placeholder in a sentence."""
    line = text[text.rfind("\n", 0, start) + 1 : start].strip(" \t>*-")
    after = text[end : end + 1]
    if not line:
        return _is_compound(name) or bool(_HARNESS.search(name)) or after in ("", "\n")
    if _HARNESS.search(name) and _is_compound(name):
        return after.isspace() or after.isalnum() or after in ("", "*", "#", "[")
    return _is_compound(name) and (after == "\n" or after.isupper())


def mark_fences(marks: SpanMarks) -> None:
    """Mark code blocks and triple-quoted text; a block that is never closed extends to the end of the prompt."""
    text = marks.text
    _mark_triple_quotes(marks)
    if "```" not in text and "~~~" not in text:
        return
    for match in _ONE_LINE.finditer(text):
        marks.mark(match.start(), match.end(), SpanKind.QUOTED)
    opened: tuple[int, str] | None = None
    for start, end, fence, language in _find_fences(text):
        if opened is None:
            opened = (start, fence)
        elif not language and fence[0] == opened[1][0] and len(fence) >= len(opened[1]):
            marks.mark(opened[0], end, SpanKind.QUOTED)
            opened = None
    if opened is not None:
        marks.mark(opened[0], len(text), SpanKind.QUOTED)


def _mark_triple_quotes(marks: SpanMarks) -> None:
    """Mark text between triple quotation marks; if they open a line and are never closed, it extends to the end of the prompt."""
    text, at = marks.text, 0
    while opening := _TRIPLE.search(text, at):
        closing = text.find(opening[0], opening.end())
        leads = not text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip()
        at = closing + 3 if closing >= 0 else len(text) if leads else opening.end()
        if closing >= 0 or leads:
            marks.mark(opening.start(), at, SpanKind.QUOTED)


def _find_fences(text: str) -> Iterator[tuple[int, int, str, str]]:
    """The fences in order: start, end, characters and language of each. An opening fence may be at the end of a sentence."""
    whole = {match.start(1): match for match in _FENCE.finditer(text)}
    late = {match.start(1): match for match in _OPENS_LATE.finditer(text) if match.start(1) not in whole}
    ends = {match.end() for match in _ONE_LINE.finditer(text)}
    for start, match in sorted({**whole, **late}.items()):
        if match.end(1) not in ends:
            yield start, match.end(), match[1], match[2].strip()


def is_prompt_log(text: str) -> bool:
    """True if a text is a log of the person's prompts: nothing but block quotes, each a request without an initial capital."""
    paragraphs = [line for line in text.splitlines() if line.strip()]
    requests = [line[2:] for line in paragraphs if line.startswith("> ")]
    return bool(requests) and len(requests) == len(paragraphs) and all(_is_request(words) for words in requests)


def _is_request(words: str) -> bool:
    asks = any(opens_with(purpose, words) for purpose in ("orders", "digests", "pleas", "wishes"))
    return words[:1].islower() and asks and not opens_with("standing", words)


def mark_quotes(marks: SpanMarks) -> None:
    """Mark the lines of block quotes."""
    for match in _QUOTE.finditer(marks.text) if ">" in marks.text else ():
        marks.mark(match.start(), match.end(), SpanKind.QUOTED)
