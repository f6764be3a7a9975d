"""Recognise by its form text that the person did not type.

Such text is lines that programs print (logs, stack traces, diffs, tables, code, shell prompts), and prose by somebody else
(reviews, issue reports, tutorials, lines wrapped by a terminal).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from kept.core.pattern import LARGE, Pattern, compile_late
from kept.core.words import fill_pattern, find_words, has_word, opens_with

# Beginnings of lines of program output, code, diffs and tables.
_SHAPES = fill_pattern(r"(?i)^\s*(?:‹shapes:output›|‹complaints›\s?[:：]\s*\S)", memory=LARGE)
_ADDRESSED = fill_pattern(r"(?i)^\s*(?:‹shapes:addressed›)", needs=("@",))
# A numbered list with the margin of an agent's screen, copied below other text. The first two items begin with a capital.
_SCREEN_LIST = Pattern(
    r"(?m)^  1[.)] +[*`]{0,2}\p{Lu}.*\n(?:(?:   .*\S.*|[ \t]*)\n)*  2[.)] +[*`]{0,2}\p{Lu}.*(?:\n(?:  .*\S.*|[ \t]*)$)*",
    needs=("  1",),
)
# Endings of lines of code. They do not count in a line with words of a person.
_ENDS = Pattern(r"[)\]}\w'\"];\s*$|[^\s:]\s?\{\s*$|=>\s*\{?$|\\\s*$", needs=(";", "{", "=>", "\\"))
_STRONG_INSIDE = Pattern(
    r"\b[0-9a-f]*[0-9][0-9a-f]{6,}\b|\.\.\.\s*$|\b\d+ (?:files?|tests?|errors?|warnings?|insertions?) ?(?:changed|passed"
    r"|failed|\()|\(\d+\.\d+s\)|\s{8,}\S"
)
# A line with nothing but a URL, which people add to their request.
_ADDRESS = Pattern(r"^\s*@?https?://\S+\s*$", needs=("://",))
# An @-mention of a file, with or without line numbers, alone or before words.
_MENTION = Pattern(r"^@[\w.~-]*/(?:\S*[\w-]\.\w{1,5}(?:[:#]L?\d[\dL:-]*)?\s*$|\S+\s+\p{Ll}+ )")
# A person's sentence after a word that is also a log level: "debug: I am seeing …".
_CONFIDED = Pattern(r"^\p{Ll}+: (?:I|i|ich|je|yo|eu)(?:'\pL+)? \pL", needs=(": ",))
_INDENTED = Pattern(r"^(?: {4,}|\t)\S", needs=("    ", "\t"))
# A description of data in words. After the equals sign, outside strings, it has four or more words in a row without a keyword.
_ASSIGNED = Pattern(r"^[\w.]+\s?=\s", needs=("=",))
_STRING = compile_late(r"\"[^\"]*\"|'[^']*'")
_WORDS = Pattern(r"\b(?:\p{Ll}+ ){3}\p{Ll}+")
_CODE_WORDS = frozenset(
    {"for", "in", "if", "is", "not", "and", "or", "else", "as", "from", "import", "await", "new", "where", "do", "end", "then"}
)
# Characters that do not occur in prose.
_MARKS = compile_late(r"[^\w\s.,:;!?'\"’“”()\-/`#@&%~…*\u0300-\u036f\u0590-\u1fff、。，！？：；（）「」<>=¿¡«»]")
_BULLET = Pattern(r"^\s*(?:[-*•]|\d{1,2}[.)]|[a-zA-Z][.)])\s")
# Marks of an agent's screen.
_SCREEN = Pattern(r"(?m)^[ \t]*[⏺●⎿✻]\s*\S|^[ \t]*⎿", needs=tuple("⏺●⎿✻"))


@lru_cache(maxsize=512)  # several rules call it for the same line
def is_output_line(line: str) -> bool:
    """True if a line has the shape of program output, code, a diff or a table."""
    if (line.startswith("@") and _MENTION.match(line)) or _ADDRESS.match(line) or _CONFIDED.match(line) or _is_assigned_prose(line):
        return False
    if (
        _SHAPES.match(line)
        or _ADDRESSED.match(line)
        or "\t" in line.strip()
        or (_ENDS.search(line) and not has_word("person", line))
    ):
        return True
    dense = sum(map(len, line.split()))
    return dense >= 8 and len(_MARKS.findall(line)) * 5 > dense


def _is_assigned_prose(line: str) -> bool:
    rows = _WORDS.finditer(_STRING.sub("", line)) if _ASSIGNED.match(line) else ()
    return any(_CODE_WORDS.isdisjoint(row[0].split()) for row in rows)


def is_list_item(line: str) -> bool:
    """True if a line is a list item."""
    return bool(_BULLET.match(line))


def is_indented(line: str) -> bool:
    """True if a line is indented like a code block."""
    return bool(_INDENTED.match(line)) and not is_list_item(line)


def has_inline_output(text: str) -> bool:
    """True if a text has signs of program output within its lines: commit hashes, long numbers, durations, counts, padding."""
    return bool(_STRONG_INSIDE.search(text))


def find_screen_lists(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of lists copied from an agent's screen. All their lines keep its margin, and have no words of a person."""
    for match in _SCREEN_LIST.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        if above and not above[0].isspace() and not is_list_item(above) and not has_word("person", match[0]):
            yield match.span()


def is_agent_screen(text: str) -> bool:
    """True if a text was copied from the screen of an agent."""
    return bool(_SCREEN.search(text))


ARTICLE = 25  # words; a passage this long without words of a person counts as somebody else's
_SENTENCE = Pattern(r"[.!?]\s+|\n+")
_NAME = Pattern(
    r"`[^`\n]+`|\b[A-Za-z]*[a-z][A-Z]\w+|\b\w+_\w+|\b\w+\.(?:\w+\(|[A-Z]\w+)"
    r"|\b[\w/-]+/[\w.-]+\.\w{1,5}\b|\b\w+\(\)"
)
# An @-mention of a file.
_MENTIONED = Pattern(r"(?:^|\s)@[\w.~-]*/[\w./-]+\.\w{1,5}\b")
_NAMES = 2  # minimum names of code in a report about code
_STEPS = 3  # minimum lines of pasted instructions that end as sentences
_WRAP = 60  # minimum characters of a line that a terminal may have wrapped


def split_passage(words: str) -> list[str]:
    """The sentences of a passage, without outer white space and final punctuation."""
    return [sentence for part in _SENTENCE.split(words) if (sentence := part.strip())]


def is_faultless(words: str) -> bool:
    """True if each sentence begins with a capital, quotation mark or bracket, and the last one ends with a full stop or colon."""
    parts = split_passage(words)
    return bool(parts) and words.rstrip()[-1:] in ".:。" and all(part[0].isupper() or part[0] in "`'\"(" for part in parts)


def is_report(words: str, *, alone: bool, terse: bool, answered: bool) -> bool:
    """True if a paragraph is a review, or long and careful prose without words of a person and without instructions.

    Such prose counts only if it is ``alone`` (with little of the person's own text before it) and if it names code or is
    ``answered`` by a line that begins without a capital. A report about code also counts if the person's own words are ``terse``
    (without capitals) or missing.
    """
    if has_word("reviews", words):
        return not any(opens_with("pleas", sentence) for sentence in split_passage(words))
    if len(words.split()) < ARTICLE or has_word("selves", words) or words.lstrip()[:1].islower() or _MENTIONED.search(words):
        return False
    if terse and is_code_report(words):
        return True
    if any(opens_with("pleas", sentence) for sentence in split_passage(words)) or not words.rstrip().endswith((".", "。")):
        return False
    described = answered or len(_NAME.findall(words)) >= _NAMES
    return alone and described and "?" not in words and not has_word("person", words) and not opens_with("orders", words)


def is_code_report(words: str) -> bool:
    """True if a passage is a carefully written report that names code and gives no instructions."""
    parts = split_passage(words)
    return (
        len(parts) > 1
        and is_faultless(words)
        and len(_NAME.findall(words)) >= _NAMES
        and not has_word("person", words)
        and not any(_is_order(part) for part in parts)
    )


def is_statement(words: str) -> bool:
    """True if the rest of a line is somebody else's text: long and careful, without words of a person and without instructions."""
    return (
        len(words.split()) >= ARTICLE
        and is_faultless(words)
        and not has_word("person", words)
        and not any(_is_order(part) for part in split_passage(words))
    )


def find_steps_start(lines: Sequence[str]) -> int:
    """The index of the first line of instructions that a person pasted below terse words. The number of lines if there is none."""
    first = next((place for place, line in enumerate(lines) if place and line[:1].isupper()), len(lines))
    own, steps = lines[:first], [line for line in lines[first:] if line.strip()]
    terse = all(line[:1].islower() and not line.rstrip().endswith((".", ":")) for line in own)
    prose = [line for line in steps if len(line.split()) > 2 and not is_list_item(line)]
    ended = sum(1 for line in prose if line[0].isupper() and line.rstrip().endswith((".", ":")))
    if not terse or ended < _STEPS or ended < len(prose) or has_word("selves", "\n".join(steps)):
        return len(lines)
    return first if sum(len(line.split()) for line in prose) >= ARTICLE else len(lines)


def is_wrapped(lines: Sequence[str]) -> bool:
    """True if a terminal wrapped the lines of a paragraph: each continues the sentence above it, indented by two columns."""
    return len(lines) > 1 and not is_list_item(lines[0]) and all(_is_wrapped_pair(above, line) for above, line in pairwise(lines))


def is_long_line(line: str) -> bool:
    """True if a line is so long that a terminal may have wrapped a sentence at its end."""
    return len(line.strip()) >= _WRAP and line.rstrip()[-1] not in ".!?:"


def _is_wrapped_pair(above: str, line: str) -> bool:
    return is_long_line(above) and line.startswith("  ") and line.strip()[:1].isalnum()


def _is_order(sentence: str) -> bool:
    """True if a sentence is an instruction. A condition without one does not count ("When x is staged, y is read")."""
    if opens_with("pleas", sentence) or has_word("duties", sentence):
        return True
    if opens_with("conditions", sentence):
        return any(opens_with("orders", clause) and not opens_with("conditions", clause) for clause in sentence.split(", ")[1:])
    return opens_with("orders", sentence)


HEADING = Pattern(r"^\s{0,3}#{1,6}\s+\S", needs=("#",))
INTRO = Pattern(r"[:：]\s*$", needs=(":", "："))
CLAUSE = Pattern(r"[.!?;。！？；] ?|, ")
_POLITE = fill_pattern(r"(?i)^\W*(?:‹polite› )*")
# Beginnings of an e-mail, a licence, a chat or a conversation with an assistant. The person did not write the text after them here.
_MAIL = fill_pattern(
    r"(?mi)^\W*-{3,} ?‹forwarded›\b.*-{3,}$|^‹mail_from›:[ \t]+\S.*\n(?:‹mail_fields›:.*\n?){2,}"
    r"|^‹mail_from›:[ \t]+[^\n@]{0,60}<?[\w.+-]+@[\w-]+\.[\w.]+>?[ \t]*$|^‹mail_on› .{6,80}\b‹wrote›\b.{0,60}:$",
    needs=(":", "---"),
)
_SCRIPT = Pattern(r"(?i)^\W*(?:you are (?:an? |the |\w+ [\d.]+)|act as an? |your task is )")
# Lines that a web page, a file, a ticket, a forum or release notes show above their text.
_PAGE = fill_pattern(r"(?m)^\W{0,6}(?:‹shapes:documents.page›)$")
_BYLINE = fill_pattern(r"^\W{0,6}(?:‹shapes:documents.byline›)$")  # only in one of the first three lines, which are short
_BYLINE_LENGTH = 160
# A letter, from its greeting to its signature.
_LETTER = fill_pattern(r"(?mi)^‹greetings›\b[^\n]{0,40},[ \t]*\n+(?s:.+?)\n‹closings›\b[^\n]{0,40}\n+[ \t]*\p{Lu}", needs=("\n",))
# Section titles of a bug report or review finding.
_FINDING = Pattern(r"(?mi)^[*#> ]{0,4}(problem|issue|root cause|cause|solution|impact|recommendation|suggested fix)[*: ]{0,3}$")
_NOTICE = Pattern(r"(?mi)^\W{0,6}(?:copyright (?:\(c\)|©)|©) ?\d{4}", needs=("©", "(c)", "(C)"))
_ROLES = Pattern(
    r"(?mi)^\W{0,4}(?:assistant|ai|bot|system|chatgpt|claude|gemini|copilot|model|human|user)\W{0,3}:\W{0,3}\s*\S", needs=(":",)
)
_SPEAKER = Pattern(r"(?m)^(?:\[[^\]\n]+\][ \t]*)?(\p{Lu}[^\n:<>|`(\[\]]{0,24}):[ \t]+\S", needs=(":",))
# Author and time of a chat message, above its words or before them on the same line. A sentence may also end with a time.
_STAMPED = Pattern(
    r"(?m)^(?:[^\s\d:]+|[\p{Lu}\p{Lo}][^\s\d:]*(?:[ \t]+[\p{Lu}\p{Lo}(][^\s\d:]*){1,3})[ \t]+"
    r"(?:[—–•·|-][ \t]*)?(?:\pL+[ \t]+(?:at|um|à|alle|às|в)[ \t]+|\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?[ \t]+(?:at[ \t]+)?)?"
    r"[(\[]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]*[AaPp]\.?[Mm]\.?)?[)\]]?:?[ \t]*\n[ \t]*\S"
    r"|^[^\W\d][^\n\d:(\[]{0,40}[ \t][(\[]\d{1,2}:\d\d(?::\d\d)?[)\]]:[ \t]+\S",
    needs=(":",),
)
# A line with nothing but a date is the heading of a diary entry.
_DAY = Pattern(r"(?i)^\s*(?:#+ )?(?:\pL+,? )?\d{4}-\d\d-\d\d(?:,? \(?\pL+\)?)?:?\s*$", needs=("-",))
# A shell command as in scripts, in which a line with "#" is a comment.
_SCRIPTED = Pattern(r"^\s*(?:sudo|chmod|chown|mkdir|apt(?:-get)?|systemctl|docker|curl|echo|export) [\w./$\"'-]")
_UNDERLINE = Pattern(r"^(?:={3,}|-{3,})\s*$", needs=("===", "---"))
_HEADED = Pattern(r"[-=]{3}|\d{4}-\d\d-\d\d|#[#\s]")  # a cheap test, which every text with a heading or a date line passes
_TITLE = 60  # maximum characters of an underlined heading
_FRONT = Pattern(r"(?m)^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|-[ \t].*\n){1,20}---[ \t]*$", needs=("---",))
_LABEL_LINE = Pattern(r"(?m)^\*\*[^*\n]{2,60}(?::\*\*|\*\*:)", needs=("**",))
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
