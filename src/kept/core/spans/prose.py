"""Marks the paragraphs of a prompt that are not the person's prose: program output, documents, e-mails and reviews that they
pasted.

Goes through a prompt from its beginning. After a paste, words count as the person's again only if they have signs of it.
"""

from dataclasses import dataclass
from itertools import islice

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.spans.style import (
    ARTICLE,
    CLAUSE,
    HEADING,
    INTRO,
    find_document_start,
    find_screen_lists,
    find_steps_start,
    has_inline_output,
    is_agent_screen,
    is_brief,
    is_forwarded,
    is_indented,
    is_list_item,
    is_long_line,
    is_output_line,
    is_report,
    is_statement,
    is_text_announced,
    is_text_task,
    is_wrapped,
)
from kept.core.words import fill_pattern, has_word, opens_with

# A command at a shell prompt, or the times of a subtitle. The lines below it in the same paragraph are output.
_COMMAND = Pattern(
    r"^\s*(?:\d\d:\d\d:\d\d[,.]\d{3} -->|[❯➜»]|[$%>]|PS [^>\n]{1,60}>|\S+@\S+[:~][^\n]{0,60}[$#%])\s+\S", needs=tuple(">❯➜»$%@")
)
_BLANK = Pattern(r"\n(?:[ \t]*\n)+", needs=("\n",))
_RULER = Pattern(r"^\s*[-=_*]{3,}\s*$")
# A comment of a program.
_REMARK = Pattern(r"^\s*(?:--|#|;|%)\s+\S", needs=("--", "#", ";", "%"))
# What a compiler adds below its warning.
_ADVICE = Pattern(r"^\s*(?:note|help|hint): \S")
# A location as a compiler, an exception or a browser prints it, anywhere in a line.
_LOCATED = fill_pattern(r"(?:^|\s)(‹shapes:documents.located›)")
# A line that begins with a location in a file. The whole line is output.
_PLACE = Pattern(r"^\s*\S+:\d+(?::\d+)?\s", needs=(":",))
# A file name or identifier, as people write them in sentences.
_NAMED = Pattern(r"^['\"`(]?(?:[a-z]+(?:_[a-z]+)+|[\w/-]+\.[a-z]{2,4})[)'\"`]?[.,:;?!]*$", needs=("_", "."))
_WORD = Pattern(r"^[\"'“”‘’(*`-]*\pL[\pL\pM'’,。、！？：；「」-]*[\"'“”’)*`.,!?:;]*$")
# The first two words of an item in a person's list. A table cell begins with a capital or is a single word.
_LISTED = Pattern(r"^\p{Ll}[\p{Ll}\d]*:? \p{Ll}")
# A message that begins with the program's name.
_TOOL = Pattern(r"^[\w./-]+: ", needs=(": ",))
# A log message that begins with a component's compound name.
_PART = Pattern(r"^\p{Ll}+(?:[-_.]\p{Ll}+)+: \p{Lu}", needs=(": ",))
# A line that begins with a function call and explains code.
_CALL = Pattern(r"^[\w.]+\(", needs=("(",))
# Bracketed data on one line. It belongs to the person's sentence if words such as "for example" (_EXAMPLE) precede it, or if the
# rest of the sentence (_CLAUSE_BEHIND) follows.
_DATA = Pattern(r"[\[{].*[\]}]", needs=("[", "{"))
# "This:" or "these:", which refers to pasted words on the same line.
_POINTED = Pattern(r"^(?:this|these)[ \t]*:[ \t]+(\p{Lu})", needs=("this", "these"))
_EXAMPLE = fill_pattern(r"(?i)(?:\b‹examples:spaced›|‹examples:unspaced›)[\s,:：]*$")
_CLAUSE_BEHIND = Pattern(r"^, \p{Ll}+ \p{Ll}")
# The heading of data that a program prints.
_DUMP = Pattern(r"(?m)^\p{Lu}\pL+(?:ed|ing) [\w ]{2,40}:\s*(?:\w*\(\d+\) ?)?(?:[\[{]|<\w)", needs=(":",))
_LABEL = Pattern(r"^\p{Ll}\pL*(?: \p{Ll}\pL*){0,2}(:?)\s*$")
_QUESTION = 4  # words; a longer question may not be the person's
_JOINT = Pattern(r"[:：.?!]\s+")
_MOST_JOINTS = 50  # places in a line where others' text may begin; each is judged by the whole rest of the line
_COLUMN = 5  # number of short lines in a row that make a column
_REPLY = 60  # maximum words of a person after a paste
_TYPED = 4  # minimum words of a line without initial capital that may be typed


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    marked: bool
    foreign: bool  # true if its shape is that of output


@dataclass(slots=True)
class _State:
    """The state before a paragraph is classified."""

    closing: int  # start of the person's closing paragraph
    labels: bool = False  # a label by the person opens the prompt, so later labels above commands are theirs
    pasted: SpanKind | None = None  # the kind of a paste that continues
    shaped: bool = False  # the last paragraph was output
    listing: bool = False  # the person announced their own list
    announced: bool = False  # the person announced a paste, which has not begun
    spoken: int = 0  # number of words the person has typed so far
    terse: bool = True  # no paragraph of the person so far begins with a capital


def mark_paragraphs(marks: SpanMarks) -> None:
    """Mark the paragraphs, and the lines within paragraphs, that are not the person's."""
    text = marks.text
    start, closing = find_document_start(text), _find_closing_start(text)
    brief = start < len(text) and is_brief(text, start)
    if not brief:
        marks.mark(start, closing if start < closing else len(text), SpanKind.DOCUMENT)
    for first, last in find_screen_lists(text):
        marks.mark(first, last, SpanKind.PASTED)
    state = _State(closing=closing)
    for lines in _split_paragraphs(marks, brief=brief):
        _mark_paragraph(marks, lines, state)


def _mark_paragraph(marks: SpanMarks, lines: list[_Line], state: _State) -> None:
    start, end = lines[0].start, lines[-1].end
    words = marks.text[start:end]
    if lines[0].marked:
        # This block was the announced paste. It is marked already.
        state.pasted = None if state.announced else state.pasted
        state.shaped, state.listing, state.announced = True, False, False
        return
    state.labels = state.labels or ((not start or lines[0].text.rstrip().endswith(":")) and _is_label(lines))
    labelled = state.labels and _is_label(lines)
    spoken = marks.text[start : next((line.start for line in lines[1:] if line.foreign), end)]
    if state.pasted and (start == state.closing or labelled or _is_resumption(spoken, after_output=state.shaped)):
        state.pasted = None
    bare = [line.text for line in lines]
    shaped = (
        is_agent_screen(words) or _is_mostly_foreign(lines) or is_wrapped(bare) or (not state.listing and _is_output(lines, words))
    )
    shaped = shaped or bool(state.pasted and words[:2].isspace())
    if state.pasted:
        last = state.pasted is SpanKind.PASTED or not marks.text[end:].strip()
        own = _mark_output(marks, lines, state.pasted, resumable=last and shaped and not is_agent_screen(words))
        state.pasted = None if own else state.pasted
        state.shaped, state.announced = shaped and not own, False
        return
    state.listing = False
    forwarded = is_forwarded(words)
    # A title between two blocks of output.
    titled = state.shaped and is_list_item(bare[0]) and _is_introduction(bare[0]) and not has_word("person", bare[0])
    shaped = shaped or (titled and len(lines) == 1)
    if forwarded or shaped:
        kind = SpanKind.PASTED if shaped and not forwarded else SpanKind.DOCUMENT
        lead, screen = int(labelled) or (0 if titled else _count_lead_lines(lines)), is_agent_screen(words)
        own = _mark_output(marks, lines, kind, lead=lead, resumable=not forwarded and not screen)
        # A single line (a URL, an error) begins no longer paste.
        goes_on = not own and (forwarded or len(lines) - lead > 1 or screen)
        state.pasted, state.shaped = kind if goes_on else None, shaped and not forwarded and not own
    elif (step := find_steps_start(bare)) < len(lines):
        marks.mark(lines[step].start, end, SpanKind.DOCUMENT)
        state.pasted, state.shaped = SpanKind.DOCUMENT, False
    elif is_report(words, alone=state.spoken < ARTICLE, terse=state.terse, answered=marks.text[end:].lstrip()[:1].islower()):
        led = (
            len(lines) > 1
            and _is_introduction(lines[0].text)
            and (is_text_task(lines[0].text) or has_word("selves", lines[0].text))
        )
        marks.mark(lines[1].start if led else _find_report_start(marks, start), end, SpanKind.REPORTED)
        state.pasted, state.shaped = SpanKind.REPORTED, False
    else:
        _mark_lines(marks, lines, state)
        state.spoken += len(words.split())
        state.terse = state.terse and not words.lstrip()[:1].isupper()
        if (attached := _find_attachment_start(words)) and is_statement(words[attached:]):
            state.pasted, state.shaped = SpanKind.REPORTED, False
        _note_announcement(marks, lines, state)


def _mark_output(marks: SpanMarks, lines: list[_Line], kind: SpanKind, *, lead: int = 0, resumable: bool) -> bool:
    """Mark the lines of a paste. The ``lead`` lines before it stay, and if ``resumable``, so do lines in which the person resumes.

    Returns True if the last line is the person's.
    """
    own = False
    for place, line in enumerate(lines):
        own = place < lead or (resumable and place > 0 and _is_person_resuming(lines, place, own=own and place > lead))
        rest = _find_attachment_start(line.text) if own or (lead == place == 0 and _is_own_words(line.text)) else 0
        if rest or not own:
            marks.mark(line.start + rest, line.end, kind)
    return own


def _note_announcement(marks: SpanMarks, lines: list[_Line], state: _State) -> None:
    """Record what the last line of a paragraph announces: a paste, or a list of the person."""
    last = lines[-1]
    parts = marks.typed_parts(last.start, last.end)
    if not parts or not INTRO.search(last.text) or parts[-1][1] < last.start + len(last.text.rstrip()):
        return
    if is_text_announced(last.text[-200:]):
        state.pasted, state.shaped, state.announced = SpanKind.DOCUMENT, False, True
    else:
        state.listing = len(marks.text) < 1_500


def _mark_lines(marks: SpanMarks, lines: list[_Line], state: _State) -> None:
    """Mark lines of a mixed paragraph: foreign lines, the output of a command, a text to work on, and lines after output until the
    person resumes.
    """
    printed = handed = shown = lead = False
    for place, line in enumerate(lines):
        printed = printed or bool(_COMMAND.match(line.text))
        rest = 0 if line.foreign else _find_attachment_start(line.text)
        if rest:
            marks.mark(line.start + rest, line.end, SpanKind.PASTED)
            shown, lead = True, False
        elif (
            line.foreign
            or _is_code_comment(lines, place)
            or (
                printed
                and not _is_question(line.text)
                and not (place and _is_person_resuming(lines, place, own=not (shown or lead)))
            )
            or (
                shown
                and not (lead and is_list_item(line.text))
                and (handed or not _is_spoken_sentence(line.text) or _is_wrapped_to(lines, place))
            )
            or _is_column(lines, place)
        ):
            marks.mark(line.start, line.end, SpanKind.PASTED)
            shown, lead = True, False
        else:
            # A list below the person's lead-in is theirs. Any other text below it is a paste.
            handed = bool(INTRO.search(line.text)) and is_text_task(line.text)
            shown = lead = handed or (bool(INTRO.search(line.text)) and is_text_announced(line.text[-200:]))
    state.shaped = shown
    state.pasted = SpanKind.DOCUMENT if handed and not lead else None


def _find_attachment_start(line: str) -> int:
    """The start of output or of somebody's text after the person's words on the same line; 0 if there is none."""
    if (pointed := _POINTED.match(line)) and not has_word("person", line):
        return int(pointed.start(1))
    for match in islice(_JOINT.finditer(line), _MOST_JOINTS):
        lead, rest = line[: match.start()], line[match.end() :]
        if match[0][0] in ":：" and is_text_task(lead) and len(rest.split()) >= ARTICLE:
            return int(match.end())
        if match[0][0] in ":：?" and is_statement(rest) and _is_own_words(lead):
            return int(match.end())
        if (
            is_output_line(rest)
            and not rest.startswith(("`", "[redacted:"))  # what is left of a secret is the person's
            and not _EXAMPLE.search(line[: match.end()])
            and not _is_example(line, match.end())
            and len(rest) >= 15
            and _is_natural_language(lead)
        ):
            return int(match.end())
    located = None if _PLACE.match(line) else _LOCATED.search(line)
    return int(located.start(1)) if located and line[: located.start(1)].strip() else 0


def _is_example(line: str, joint: int) -> bool:
    """True if bracketed data before ``joint`` belongs to the person's sentence, as an example or because the sentence goes on."""
    data = _DATA.search(line)
    if not data or data.start() > joint or not _is_natural_language(line[: data.start()]):
        return False
    return bool(_EXAMPLE.search(line[: data.start()]) or _CLAUSE_BEHIND.match(line[data.end() :]))


def _is_own_words(words: str) -> bool:
    clauses = CLAUSE.split(words)[:2]
    return has_word("selves", words) or words.lstrip()[:1].islower() or any(opens_with("resumes", clause) for clause in clauses)


def _is_label(lines: list[_Line]) -> bool:
    """True if the first line is the person's label for a paste below it. A label with a colon must be above a shell command."""
    label = _LABEL.match(lines[0].text) if len(lines) > 1 else None
    return label is not None and (bool(_COMMAND.match(lines[1].text)) if label[1] else lines[1].foreign)


def _is_code_comment(lines: list[_Line], place: int) -> bool:
    """True if a line is a comment directly above or below code."""
    near = (lines[other].text for other in (place - 1, place + 1) if 0 <= other < len(lines))
    return bool(_REMARK.match(lines[place].text)) and any(is_output_line(text) and not _REMARK.match(text) for text in near)


def _is_column(lines: list[_Line], place: int) -> bool:
    """True if a line is one of several short lines in a row without words of a person, as in a table column or a copied page."""
    low = high = place
    while low > 0 and _is_cell(lines[low - 1].text):
        low -= 1
    while high < len(lines) and _is_cell(lines[high].text):
        high += 1
    return high - low >= _COLUMN and _is_cell(lines[place].text)


def _is_cell(line: str) -> bool:
    listed = is_list_item(line) or _LISTED.match(line)
    return len(line.split()) <= 6 and not listed and not _is_introduction(line) and not _is_spoken_sentence(line)


def _is_mostly_foreign(lines: list[_Line]) -> bool:
    """True if most lines of a paragraph have the shape of output. Lines that introduce them do not count."""
    strange = sum(1 for line in lines if line.foreign)
    return strange > 0 and strange * 2 > len(lines) - _count_lead_lines(lines)


def _count_lead_lines(lines: list[_Line]) -> int:
    """The number of the person's lines before the first foreign line. The last of them is spoken language or an introduction."""
    first = next((place for place, line in enumerate(lines) if line.foreign), len(lines))
    spoken = [place for place in range(first) if _is_spoken_sentence(lines[place].text) or _is_introduction(lines[place].text)]
    if not spoken and first and not lines[0].start and lines[0].text[:1].islower() and _is_natural_language(lines[0].text):
        return first
    return spoken[-1] + 1 if spoken and first < len(lines) else 0


def _is_person_resuming(lines: list[_Line], place: int, *, own: bool) -> bool:
    """True if the person resumes in this line or, if the line above is their ``own``, continues in it.

    The line must be natural language at the left edge. To resume below output, it must also look typed, without an initial capital,
    or contain words of a person.
    """
    line, above = lines[place], lines[place - 1]
    words = line.text.strip()
    if (
        line.foreign
        or line.text[:2].isspace()
        or not _is_natural_language(words)
        or _COMMAND.match(above.text)
        or _TOOL.match(words)
    ):
        return False
    if own:
        return True
    speaks = has_word("selves", _first_words(words, 40)) or any(
        opens_with(purpose, words) for purpose in ("resumes", "wishes", "orders")
    )
    count = len(words.split())
    joint = count > 1 and place + 1 < len(lines) and lines[place + 1].foreign and above.foreign
    typed = not words[:1].isupper() and (speaks or (words[:1].islower() and (count >= _TYPED or joint)))
    below = above.foreign or not _is_natural_language(above.text)
    return below and (typed or (speaks and words.startswith("I "))) and not _is_wrapped_to(lines, place)


def _is_wrapped_to(lines: list[_Line], place: int) -> bool:
    """True if this line may be the end of the sentence above it, which a terminal wrapped."""
    above, words = lines[place - 1].text, lines[place].text.strip()
    broken = place > 0 and is_long_line(above) and _is_natural_language(" ".join(above.split()[-3:]))
    return broken and words[:1].islower() and not _is_question(words) and not INTRO.search(words)


def _is_introduction(line: str) -> bool:
    return bool(INTRO.search(line)) and len(line.split()) > 1 and not is_indented(line)


def _is_spoken_sentence(line: str) -> bool:
    """True if a line is a sentence as people type it, and not output."""
    start = line.strip()
    if is_indented(line) or is_output_line(line) or _CALL.match(start) or _PART.match(start):
        return False
    several = len(start.split()) >= 2 or not start.isascii()
    if several and (has_word("person", _first_words(start, 80)) or opens_with("resumes", start) or _is_question(start)):
        return True
    return start[:1].islower() and len(start.split()) >= (5 if INTRO.search(start) else 4) and _is_natural_language(start)


def _first_words(words: str, length: int) -> str:
    """The first whole words of a passage, with at most ``length`` characters."""
    return words if len(words) <= length else words[: length + 1].rpartition(" ")[0]


def _is_natural_language(words: str) -> bool:
    """True if at least four fifths of the words are plain words, and not code or data."""
    parts = [part for place, part in enumerate(words.split()) if not place or not _NAMED.match(part)]
    plain = sum(1 for part in parts if (part.isascii() and part.isalpha()) or _WORD.match(part))
    return (len(parts) >= 2 or not words.isascii()) and plain * 5 >= len(parts) * 4


def _is_list(lines: list[_Line]) -> bool:
    """True if short lines are a person's list, because an instruction announces them, most look typed, or one is a sentence."""
    first = lines[0].text
    typed = sum(1 for line in lines if _LISTED.match(line.text))
    return (
        typed * 3 >= len(lines) * 2
        or (_is_introduction(first) and opens_with("orders", first))
        or any(
            len(line.text.split()) >= _TYPED and line.text.rstrip().endswith(".") and _is_natural_language(line.text)
            for line in lines
        )
    )


def _is_question(line: str) -> bool:
    return line.rstrip().endswith(("?", "？"))


def _is_output(lines: list[_Line], words: str) -> bool:
    """True if a paragraph was copied from a screen: padded or indented throughout, or short lines without words of a person."""
    if all(is_indented(line.text) for line in lines) or any(line.text.endswith(" " * 8) for line in lines):
        return True
    if len(lines) > 1 and all(line.text.startswith("  ") and not is_list_item(line.text) for line in lines):
        return True
    if has_word("person", words) or any(_is_spoken_sentence(line.text) for line in lines):
        return False
    short = len(lines) > 2 and all(len(line.text.split()) < 9 and not is_list_item(line.text) for line in lines)
    short = short and not _is_list(lines)
    return short or (len(lines) > 1 and has_inline_output(words) and not _is_question(words))


def _find_report_start(marks: SpanMarks, start: int) -> int:
    """The start of a report whose first paragraph is at ``start``. If the line above is its title, the report starts there."""
    above = marks.text[:start].rstrip()
    line = above[above.rfind("\n") + 1 :]
    is_title = (
        not line[:1].islower()
        and line[-1:].isalnum()
        and len(line.split()) <= 20
        and not has_word("person", line)
        and not opens_with("orders", line)
    )
    before = above[: len(above) - len(line)].rstrip()
    return len(above) - len(line) if is_title and (not before or INTRO.search(before)) else start


def _is_resumption(words: str, *, after_output: bool) -> bool:
    """True if the person resumes after a paste, with a short paragraph that contains words of a person.

    After pasted prose, the paragraph must also be a question or begin without a capital.
    """
    if words[:2].isspace() and not _is_question(words):
        return False
    first = words.strip().lstrip("-*•0123456789.) ").split("\n", 1)[0]
    long = len(words.split()) > _REPLY and not opens_with("wishes", first) and not (after_output and first[:2].casefold() == "i ")
    if long or has_word("reviews", words) or is_indented(words.split("\n", 1)[0]) or is_output_line(first):
        return False
    if after_output:
        own = (
            has_word("selves" if first[:1].isupper() else "person", _first_words(first, 60))
            or opens_with("resumes", first)
            or (first[:1].islower() and opens_with("orders", first))
        )
        return own or _is_question(words) or _is_spoken_sentence(first)
    if _is_question(words) and len(words.split()) <= _QUESTION:
        return True
    return ("?" in words or "？" in words or first[:1].islower()) and (
        has_word("person", _first_words(first, 60)) or opens_with("resumes", first)
    )


def _find_closing_start(text: str) -> int:
    """The start of the last paragraph if it is the person's: a question, a wish, or their words below a rule. Otherwise the length
    of the text.
    """
    *_, blank = (0, *(match.end() for match in _BLANK.finditer(text.rstrip())))
    start, words = blank, text[blank:]
    if not start or len(words.split()) > 2 * _REPLY or is_output_line(words.split("\n", 1)[0]):
        return len(text)
    ruled = bool(_RULER.match(text[:start].rstrip().rpartition("\n")[2])) and has_word("selves", words)
    asks = ("?" in words or "？" in words or opens_with("resumes", words)) and _is_resumption(words, after_output=False)
    return start if ruled or asks or (words[:1].islower() and has_word("wishes", words)) else len(text)


def _split_paragraphs(marks: SpanMarks, *, brief: bool) -> list[list[_Line]]:
    """The paragraphs of a text as lists of lines. Lines that are marked already form paragraphs of their own.

    Headings are foreign, except in a person's own brief.
    """
    found: list[list[_Line]] = [[]]
    dumps = {match.start() for match in _DUMP.finditer(marks.text)}
    at = 0
    for line in marks.text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        marked = not marks.typed_parts(at, at + len(bare))
        if not bare.strip() or (found[-1] and found[-1][-1].marked != marked):
            found.append([])
        if bare.strip():
            foreign = (
                (is_output_line(bare) and not _is_example(bare, len(bare)))
                or at in dumps
                or (bool(_ADVICE.match(bare)) and bool(found[-1]) and found[-1][-1].foreign)
                or (not brief and bool(HEADING.match(bare)))
            )
            found[-1].append(_Line(at, at + len(bare), bare, marked, foreign))
        at += len(line)
    return [lines for lines in found if lines]
