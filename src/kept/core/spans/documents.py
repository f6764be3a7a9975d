"""Find documents in a prompt: the start of a text by somebody else, recognised by its front matter, headings, days or labels.

Also recognises paragraphs that begin an e-mail, a licence, a chat or a conversation. A brief, in which the person asks
for something, is not a document, even if it has headings.
"""

from kept.core.pattern import Pattern
from kept.core.spans.style import ARTICLE, is_output_line
from kept.core.words import fill_pattern, find_words, has_word, opens_with

HEADING = Pattern(r"^\s{0,3}#{1,6}\s+\S")
INTRO = Pattern(r"[:：]\s*$")
CLAUSE = Pattern(r"[.!?;。！？；] ?|, ")
_POLITE = fill_pattern(r"(?i)^\W*(?:‹polite› )*")
# Beginnings of an e-mail, a licence, a chat or a conversation with an assistant. The person did not write the text after them here.
_MAIL = fill_pattern(
    r"(?mi)^\W*-{3,} ?‹forwarded›\b.*-{3,}$|^‹mail_from›:[ \t]+\S.*\n(?:‹mail_fields›:.*\n?){2,}"
    r"|^‹mail_from›:[ \t]+[^\n@]{0,60}<?[\w.+-]+@[\w-]+\.[\w.]+>?[ \t]*$|^‹mail_on› .{6,80}\b‹wrote›\b.{0,60}:$"
)
_SCRIPT = Pattern(r"(?i)^\W*(?:you are (?:an? |the |\w+ [\d.]+)|act as an? |your task is )")
# Lines that a web page, a file, a ticket, a forum or release notes show above their text.
_PAGE = fill_pattern(r"(?m)^\W{0,6}(?:‹shapes:documents.page›)$")
_BYLINE = fill_pattern(r"^\W{0,6}(?:‹shapes:documents.byline›)$")  # only in one of the first three lines, which are short
_BYLINE_LENGTH = 160
# A letter, from its greeting to its signature.
_LETTER = fill_pattern(r"(?mi)^‹greetings›\b[^\n]{0,40},[ \t]*\n+(?s:.+?)\n‹closings›\b[^\n]{0,40}\n+[ \t]*\p{Lu}")
# Section titles of a bug report or review finding.
_FINDING = Pattern(r"(?mi)^[*#> ]{0,4}(problem|issue|root cause|cause|solution|impact|recommendation|suggested fix)[*: ]{0,3}$")
_NOTICE = Pattern(r"(?mi)^\W{0,6}(?:copyright (?:\(c\)|©)|©) ?\d{4}")
_ROLES = Pattern(r"(?mi)^\W{0,4}(?:assistant|ai|bot|system|chatgpt|claude|gemini|copilot|model|human|user)\W{0,3}:\W{0,3}\s*\S")
_SPEAKER = Pattern(r"(?m)^(?:\[[^\]\n]+\][ \t]*)?(\p{Lu}[^\n:<>|`(\[\]]{0,24}):[ \t]+\S")
# Author and time of a chat message, above its words or before them on the same line. A sentence may also end with a time.
_STAMPED = Pattern(
    r"(?m)^(?:[^\s\d:]+|[\p{Lu}\p{Lo}][^\s\d:]*(?:[ \t]+[\p{Lu}\p{Lo}(][^\s\d:]*){1,3})[ \t]+"
    r"(?:[—–•·|-][ \t]*)?(?:\pL+[ \t]+(?:at|um|à|alle|às|в)[ \t]+|\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?[ \t]+(?:at[ \t]+)?)?"
    r"[(\[]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]*[AaPp]\.?[Mm]\.?)?[)\]]?:?[ \t]*\n[ \t]*\S"
    r"|^[^\W\d][^\n\d:(\[]{0,40}[ \t][(\[]\d{1,2}:\d\d(?::\d\d)?[)\]]:[ \t]+\S"
)
# A line with nothing but a date is the heading of a diary entry.
_DAY = Pattern(r"(?i)^\s*(?:#+ )?(?:\pL+,? )?\d{4}-\d\d-\d\d(?:,? \(?\pL+\)?)?:?\s*$")
# A shell command as in scripts, in which a line with "#" is a comment.
_SCRIPTED = Pattern(r"^\s*(?:sudo|chmod|chown|mkdir|apt(?:-get)?|systemctl|docker|curl|echo|export) [\w./$\"'-]")
_UNDERLINE = Pattern(r"^(?:={3,}|-{3,})\s*$")
_HEADED = Pattern(r"[-=]{3}|\d{4}-\d\d-\d\d|#[#\s]")  # a cheap test, which every text with a heading or a date line passes
_TITLE = 60  # maximum characters of an underlined heading
_FRONT = Pattern(r"(?m)^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|-[ \t].*\n){1,20}---[ \t]*$")
_LABEL_LINE = Pattern(r"(?m)^\*\*[^*\n]{2,60}(?::\*\*|\*\*:)")
_LABELS = 3  # labelled paragraphs that make a report
_ARTICLE = 400  # minimum characters outside fences of a document with a single heading


def is_text_task(words: str) -> bool:
    """True if the last clause asks for work on a text: to summarize, translate or review it."""
    return opens_with("digests", _POLITE.sub("", CLAUSE.split(words[-200:].strip())[-1]))


def is_text_announced(words: str) -> bool:
    """True if words announce a text by somebody else or a text to work on, but not an earlier prompt of the person."""
    *before, last = CLAUSE.split(words.strip())
    return (
        is_text_task(words)
        or (has_word("material", last) and not _is_restatement(words))
        or any(_shows_source(clause) for clause in (*before, last))
    )


def _shows_source(clause: str) -> bool:
    """True if a clause shows somebody else's text ("here is the lease") and not the person's own ("here is my plan")."""
    return opens_with("shows", clause) and has_word("sources", clause) and not has_word("selves", clause)


def _is_restatement(words: str) -> bool:
    """True if words announce an earlier prompt of the person and nothing else."""
    clause = CLAUSE.split(words.strip())[-1]
    return opens_with("restatements", clause) and all("prompt" in word for word in find_words("material", clause))


def is_brief(text: str, start: int) -> bool:
    """True if the person wrote the text with headings that begins at ``start``.

    Either the text expresses several wishes, or the words above it express a wish or announce an earlier prompt of the person.
    These words must not announce a text by somebody else.
    """
    lead, body = text[:start].strip(), text[start:]
    if INTRO.search(lead) and is_text_announced(lead):
        return False
    return (
        any(INTRO.search(line) and _is_restatement(line) for line in lead.splitlines())
        or len(set(find_words("wishes", body))) > 1
        or (has_word("wishes", lead) and not INTRO.search(lead))
    )


def find_document_start(text: str) -> int:
    """The start of a document: front matter, a letter, or the first of several headings, days or titles.

    If there is no document, the length of the text.
    """
    whole = _FRONT.search(text) or _LETTER.search(text)
    if whole:
        return int(whole.start())
    headings: list[int] = []
    at, fenced, shown = 0, False, 0
    lines = text.splitlines(keepends=True) if _HEADED.search(text) else []
    for place, line in enumerate(lines):
        fenced = fenced != line.lstrip().startswith(("```", "~~~"))
        if not fenced and place and _UNDERLINE.match(line) and 0 < len(lines[place - 1].strip()) <= _TITLE:
            headings.append(at - len(lines[place - 1]))
        if not fenced and (_DAY.match(line) or (HEADING.match(line) and not _is_comment(lines, place))):
            headings.append(at)
        at, shown = at + len(line), shown + (len(line) if fenced else 0)
    labels = [match.start() for match in _LABEL_LINE.finditer(text)]
    if len(labels) >= _LABELS and (not headings or labels[0] < headings[0]) and not _is_wishlist(text):
        return int(labels[0])
    findings = {match[1].casefold(): match.start(1) for match in _FINDING.finditer(text)}
    if len(findings) > 1:
        headings = sorted([*headings, *findings.values()])
    if len(headings) > 1 or (headings and len(text) - shown > _ARTICLE):
        return headings[0]
    return len(text)


def _is_wishlist(text: str) -> bool:
    """True if most lines with a label are instructions or words of the person."""
    wanted = [text[match.end() :].split("\n", 1)[0].strip() for match in _LABEL_LINE.finditer(text)]
    asked = sum(1 for words in wanted if opens_with("orders", words) or has_word("duties", words) or has_word("selves", words))
    return asked * 2 > len(wanted)


def _is_comment(lines: list[str], place: int) -> bool:
    """True if a line with one "#" is a comment and not a heading, because the line before or after it is code."""
    if lines[place].lstrip().startswith("##"):
        return False
    near = (lines[other] for other in (place - 1, place + 1) if 0 <= other < len(lines) and lines[other].strip())
    return any(is_output_line(line) or _SCRIPTED.match(line) for line in near)


def is_forwarded(paragraph: str) -> bool:
    """True if a paragraph begins an e-mail, a licence, a chat between others or a conversation with an assistant."""
    if _SCRIPT.match(paragraph) and len(paragraph.split()) >= ARTICLE:
        return True
    if (
        _PAGE.match(paragraph)
        or any(len(line) <= _BYLINE_LENGTH and _BYLINE.match(line) for line in paragraph.split("\n", 3)[:3])
        or any(shape.search(paragraph) for shape in (_MAIL, _NOTICE, _ROLES, _STAMPED))
    ):
        return True
    names = [match[1].casefold() for match in _SPEAKER.finditer(paragraph)]
    return len(names) > 2 and 1 < len(set(names)) < len(names)
