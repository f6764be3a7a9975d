"""Paragraphs: which are a person's prose, and which are output, documents, mails and reviews that they passed on.

Goes through a prompt from its beginning. After a paste words count as the person's again only where they show it.
"""

from dataclasses import dataclass

import re2

from kept.model.spans.marks import Marks, SpanKind
from kept.model.spans.output import is_indented, is_listed, is_output, is_screen, shows_output
from kept.model.spans.words import has, opens

_HEADING = re2.compile(r"^\s{0,3}#{1,6}\s+\S")
_INTRO = re2.compile(r"[:：]\s*$")
# A typed command, or the times of a subtitle: what stands below it in the same paragraph was printed.
_COMMAND = re2.compile(r"^\s*(?:\d\d:\d\d:\d\d[,.]\d{3} -->|[❯➜»]|[$%>]|PS [^>\n]{1,60}>|\S+@\S+[:~][^\n]{0,60}[$#%])\s+\S")
# Where a mail, a licence, a chat or a conversation with an assistant begins: what follows was written elsewhere.
_MAIL = re2.compile(
    r"(?mi)^\W*-{3,} ?(?:forwarded|original|weitergeleitete|ursprüngliche|mensaje|message|mensagem)\b.*-{3,}$"
    r"|^(?:from|von|de|expéditeur):[ \t]+\S.*\n(?:(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|enviado|para|asunto|fecha|à|objet|envoyé|assunto|data):.*\n?){2,}"
    r"|^(?:on|am|el|le|em) .{6,80}\b(?:wrote|schrieb|escribió|a écrit|escreveu)\b.{0,60}:$"
)
_NOTICE = re2.compile(r"(?mi)^\W{0,6}(?:copyright (?:\(c\)|©)|©) ?\d{4}")
_ROLES = re2.compile(r"(?mi)^\W{0,4}(?:assistant|ai|bot|system|chatgpt|claude|gemini|copilot|model|human|user)\W{0,3}:\W{0,3}\s*\S")
_SPEAKER = re2.compile(r"(?m)^(?:\[[^\]\n]+\][ \t]*)?([^\s:<>|`(\[\]-][^\n:<>|`(\[\]]{0,24}):[ \t]+\S")
_STAMPED = re2.compile(
    r"(?m)^[^\W\d][^\n\d:]*[ \t][(\[]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]*[AaPp]\.?[Mm]\.?)?[)\]]?:?[ \t]*$"
    r"|^[^\W\d][^\n\d:(\[]{0,40}[ \t][(\[]\d{1,2}:\d\d(?::\d\d)?[)\]]:[ \t]+\S"
)
# A line with a day alone: a diary's heading.
_DAY = re2.compile(r"(?i)^\s*(?:#+ )?(?:\pL+,? )?\d{4}-\d\d-\d\d(?:,? \(?\pL+\)?)?:?\s*$")
_FRONT = re2.compile(r"(?m)^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|-[ \t].*\n){1,20}---[ \t]*$")
_LABEL = re2.compile(r"^\s*(?:[-*] |\d+[.)] )?\*\*[^*\n]{2,60}(?::\*\*|\*\*:)")
_ARTICLE = 25  # words of a paragraph that nobody speaks in, from which on it is a text
_REPLY = 60  # words of what a person says after a paste


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    marked: bool

    @property
    def foreign(self) -> bool:
        return is_output(self.text) or bool(_HEADING.match(self.text) or _LABEL.match(self.text))


@dataclass(slots=True)
class _State:
    """What stands before a paragraph: a paste goes on, the last paragraph was output, a list was announced."""

    pasted: SpanKind | None = None
    shaped: bool = False
    listing: bool = False


def mark_paragraphs(marks: Marks) -> None:
    """Mark the paragraphs, and the lines of them, that are not the person's."""
    text = marks.text
    document = _document(text)
    marks.mark(document, len(text), SpanKind.DOCUMENT)
    state = _State()
    for lines in _paragraphs(marks):
        _mark_paragraph(marks, lines, state)


def _mark_paragraph(marks: Marks, lines: list[_Line], state: _State) -> None:
    text = marks.text
    start, end = lines[0].start, lines[-1].end
    words = text[start:end]
    if lines[0].marked:
        state.shaped, state.listing = True, False
        return
    if state.pasted and _resumes(words, after_output=state.shaped):
        state.pasted = None
    if state.pasted is None and _forwards(words):
        state.pasted = SpanKind.DOCUMENT
    if state.pasted:
        marks.mark(start, end, state.pasted)
        state.shaped = _most_foreign(lines)
        return
    first = next((place for place, line in enumerate(lines) if line.foreign), len(lines))
    if is_screen(words) or _most_foreign(lines):
        lead = _lead(lines, first)
        marks.mark(lines[lead].start if lead < len(lines) else end, end, SpanKind.PASTED)
        state.shaped, state.listing = True, False
        if is_screen(words):
            state.pasted = SpanKind.PASTED
        return
    state.shaped = False
    if not state.listing and _is_output(lines, words):
        marks.mark(start, end, SpanKind.PASTED)
        state.shaped = True
    elif _is_reported(words):
        marks.mark(start, end, SpanKind.REPORTED)
        state.pasted = SpanKind.REPORTED
    else:
        _mark_lines(marks, lines)
    _announce(marks, lines, state)


def _announce(marks: Marks, lines: list[_Line], state: _State) -> None:
    """Note what the last line of a paragraph announces: a paste, or a list of the person's own."""
    last = lines[-1]
    state.listing = False
    if not marks.typed_parts(last.start, last.end) or not _INTRO.search(last.text):
        return
    tail = last.text[-200:]
    if has("material", tail) or has("sources", tail) or has("digests", tail):
        state.pasted, state.shaped = SpanKind.DOCUMENT, False
    else:
        state.listing = len(marks.text) < 1_500


def _mark_lines(marks: Marks, lines: list[_Line]) -> None:
    """Mark the lines of a mixed paragraph: foreign ones, what a command printed, and what follows output until a person speaks."""
    printed = shown = False
    for line in lines:
        printed = printed or bool(_COMMAND.match(line.text))
        if line.foreign:
            marks.mark(line.start, line.end, SpanKind.PASTED)
            shown = True
        elif (printed and not _asks(line.text)) or (shown and not _speaks(line.text)):
            marks.mark(line.start, line.end, SpanKind.PASTED)
        else:
            shown = bool(_INTRO.search(line.text)) and has("material", line.text[-120:])


def _most_foreign(lines: list[_Line]) -> bool:
    """Whether most lines of a paragraph, a first one that introduces them aside, have the shape of output."""
    strange = sum(1 for line in lines if line.foreign)
    return strange * 2 > len(lines) or (len(lines) > 1 and not lines[0].foreign and strange * 2 > len(lines) - 1)


def _lead(lines: list[_Line], first: int) -> int:
    """How many lines before the first foreign one are the person's: all if they speak or the last of them introduces what follows."""
    if first == 0:
        return 0
    spoken = [place for place in range(first) if _speaks(lines[place].text) or _introduces(lines[place].text)]
    return spoken[-1] + 1 if spoken else 0


def _introduces(line: str) -> bool:
    return bool(_INTRO.search(line)) and len(line.split()) > 1 and not is_indented(line)


def _speaks(line: str) -> bool:
    """Whether a line is a sentence of somebody who speaks."""
    if is_indented(line) or is_output(line):
        return False
    start = line.strip()
    return (
        (len(start.split()) >= 2 and (has("person", start[:80]) or opens("resumes", start) or _asks(start)))
        or (start[:1].islower() and len(start.split()) >= 5)
        or (not start.isascii() and has("person", start))
    )


def _asks(line: str) -> bool:
    return line.rstrip().endswith(("?", "？"))


def _is_output(lines: list[_Line], words: str) -> bool:
    """Whether a paragraph was copied off a screen: padded or indented throughout, or short lines in which nobody speaks."""
    if all(is_indented(line.text) for line in lines) or any(line.text.endswith(" " * 8) for line in lines):
        return True
    if len(lines) > 1 and all(line.text.startswith("  ") and not is_listed(line.text) for line in lines):
        return True
    if has("person", words) or any(_speaks(line.text) for line in lines):
        return False
    short = len(lines) > 2 and all(len(line.text.split()) < 9 and not is_listed(line.text) for line in lines)
    return short or (len(lines) > 1 and shows_output(words) and not _asks(words))


def _is_reported(words: str) -> bool:
    """Whether a paragraph is a reviewer's, or long faultless prose in which nobody speaks or is spoken to."""
    if has("reviews", words):
        return True
    long = len(words.split()) >= _ARTICLE and words.lstrip()[:1].isupper() and words.rstrip().endswith((".", "。"))
    return long and not has("person", words) and not opens("orders", words)


def _resumes(words: str, *, after_output: bool) -> bool:
    """Whether the person speaks again after something pasted: short, and as people speak. After pasted prose they must also ask, or
    write as people type: without a capital.
    """
    start = words.lstrip()
    if len(words.split()) > _REPLY or has("reviews", words) or is_indented(words.split("\n", 1)[0]):
        return False
    if after_output:
        return has("person", start[:60]) or opens("resumes", start) or _asks(start)
    return ("?" in words or "？" in words or start[:1].islower()) and (has("person", start[:60]) or opens("resumes", start))


def _document(text: str) -> int:
    """Where a document begins: its front matter, or the first of several headings or days; behind the text where there is none."""
    front = _FRONT.search(text)
    if front:
        return int(front.start())
    headings: list[int] = []
    at, fenced = 0, False
    for line in text.splitlines(keepends=True):
        fenced = fenced != line.lstrip().startswith(("```", "~~~"))
        if not fenced and (_HEADING.match(line) or _DAY.match(line)):
            headings.append(at)
        at += len(line)
    if len(headings) > 1 or (headings and len(text) > 400):
        return headings[0]
    return len(text)


def _forwards(paragraph: str) -> bool:
    """Whether a paragraph begins a mail, a licence, a chat between others, or a conversation with an assistant."""
    if _MAIL.search(paragraph) or _NOTICE.search(paragraph) or _ROLES.search(paragraph) or _STAMPED.search(paragraph):
        return True
    names = [match[1].casefold() for match in _SPEAKER.finditer(paragraph)]
    return len(names) > 2 and 1 < len(set(names)) < len(names)


def _paragraphs(marks: Marks) -> list[list[_Line]]:
    """The paragraphs of a text as their lines, without line ends. What is marked already stands apart."""
    found: list[list[_Line]] = [[]]
    at = 0
    for line in marks.text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        marked = not marks.typed_parts(at, at + len(bare))
        if not bare.strip() or (found[-1] and found[-1][-1].marked != marked):
            found.append([])
        if bare.strip():
            found[-1].append(_Line(at, at + len(bare), bare, marked))
        at += len(line)
    return [lines for lines in found if lines]
