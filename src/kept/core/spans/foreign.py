"""Mark text that is foreign because of the text around or before it.

This includes tags of a harness, code fences, quotation marks and block quotes; statements that a person reports ("the docs say …",
"reviewer: …"); prompts that a program wrote, and additions of clients to a prompt. The form of a tag identifies it, and not its
name, so tags of unknown harnesses are found too, even if they are never closed. Inline code, a person's emphasis and placeholders
("git show <commit>") count as typed.
"""

from collections.abc import Iterator

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.words import fill_pattern, list_shapes, opens_with

_TAG = Pattern(r"[<＜]\s?(/?)\s?(\pL(?:[\w\pL:.-]*[\w\pL])?)((?:\s[^<>＜＞\n]*)?)(/?)[>＞]")
# Elements that a person types as markup. The text within them is theirs.
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
# Three quotation marks at the beginning of a line open a quoted text, and the next ones close it.
_TRIPLE = Pattern(r"\"\"\"|\'\'\'", needs=('"""', "'''"))
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
            # A closing tag without its opening tag, which was cut off.
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
    """True if a tag that is never closed opens a block and is not a placeholder in a sentence."""
    line = text[text.rfind("\n", 0, start) + 1 : start].strip(" \t>*-")
    after = text[end : end + 1]
    if not line:
        return _is_compound(name) or bool(_HARNESS.search(name)) or after in ("", "\n")
    if _HARNESS.search(name) and _is_compound(name):
        return after.isspace() or after.isalnum() or after in ("", "*", "#", "[")
    return _is_compound(name) and (after == "\n" or after.isupper())


def mark_fences(marks: SpanMarks) -> None:
    """Mark code blocks and triple-quoted text. A block that is never closed extends to the end of the prompt."""
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
    """Mark text between triple quotation marks. If they open a line and are never closed, it extends to the end of the prompt."""
    text, at = marks.text, 0
    while opening := _TRIPLE.search(text, at):
        closing = text.find(opening[0], opening.end())
        leads = not text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip()
        at = closing + 3 if closing >= 0 else len(text) if leads else opening.end()
        if closing >= 0 or leads:
            marks.mark(opening.start(), at, SpanKind.QUOTED)


def _find_fences(text: str) -> Iterator[tuple[int, int, str, str]]:
    """The fences, in order: start, end, characters and language of each. An opening fence may be at the end of a sentence."""
    whole = {match.start(1): match for match in _FENCE.finditer(text)}
    late = {match.start(1): match for match in _OPENS_LATE.finditer(text) if match.start(1) not in whole}
    ends = {match.end() for match in _ONE_LINE.finditer(text)}
    for start, match in sorted({**whole, **late}.items()):
        if match.end(1) not in ends:
            yield start, match.end(), match[1], match[2].strip()


def is_prompt_log(text: str) -> bool:
    """True if a text is a log of the person's prompts: only block quotes, each of them a request without an initial capital."""
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


_QUOTATION = Pattern(
    r"[“«„]([^“”«»„\n]+)[”»“]|(?:^|[\s(:])\"([^\"\n]+)\"|「([^「」\n]+)」|『([^『』\n]+)』", needs=tuple('“«„"「『')
)
# A line below other words that is a single quotation. It may contain shorter quotations.
_QUOTED_LINE = Pattern(r"(?m)^[ \t]*(\"[^\n]+\"|“[^\n]+”)[ \t]*$", needs=('"', "“"))
# Japanese puts the verb of saying after the quotation.
_SAID_BEHIND = Pattern(r"(?:と|って)(?:言った|言って(?:い)?(?:た|まし|る|ます)|言いました|言われ|書いて(?:あっ|あ[るり]|い))")
_LONG_QUOTATION = 8  # words; a shorter quotation is a name or label
_END = fill_pattern(r"[.!?](?:\s|$)|[。！？;；]|\n|,? ‹contrasts:spaced› |‹contrasts:unspaced›")
# Words before a text that a program is to show. That text is the person's.
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
# Words that attribute a sentence to a source: "according to the docs …", "laut Handbuch …".
_ACCORDING = fill_pattern(
    rf"(?i)(?:\b‹according:spaced›{_BETWEEN}‹sources:spaced›\b"
    r"|‹according:unspaced›[^。！？\n]{0,12}?‹sources:unspaced›[^。！？\n，：:,]{0,12}[，：:,]"
    r"|‹sources:unspaced›‹according:unspaced›[、，]?)"
)
# A source at the start of a sentence, up to the colon: "from the vendor docs: …".
_SOURCE_LEAD = fill_pattern(
    rf"(?im)(?:^|[.!?][ \t]+)[\s>*_-]{{0,4}}(?:\pL+[ \t]+)??‹taken:spaced›{_BETWEEN}‹sources:spaced›\b[^.!?\n:：]*[:：][ \t]*"
    r"|‹taken:unspaced›[^。！？\n，：:,]*‹sources:unspaced›[^。！？\n，：:,]*[：:]",
    needs=(":", "："),
)
# A speaker and a colon at the start of a line.
_SPEAKER_LABEL = fill_pattern(
    r"(?im)^[ \t*_>#-]{0,6}(?:(?:the|a|an|our|my|their|der|die|das|le|la|les|el|los|o|a)[ \t]+)?(?:[\pL\pN-]+[ \t]+)??"
    r"(?:‹speakers:spaced›|‹speakers:unspaced›)(?:[ \t]+(?:comments?|feedback|notes?|review))?(?:[ \t]?\([^)\n]*\))?"
    r"[*_]*[ \t]?[:：][*_]*[ \t]*",
    needs=(":", "："),
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
        if (long and _is_attributed(text, match.start(), match.end())) or _SAID_BEHIND.match(text[match.end() : match.end() + 10]):
            marks.mark(match.start(), match.end(), SpanKind.QUOTED)
    for match in _QUOTED_LINE.finditer(text):
        if text[: match.start()].strip() and len(match[1].split()) >= _LONG_QUOTATION:
            marks.mark(match.start(1), match.end(1), SpanKind.QUOTED)


def _is_attributed(text: str, start: int, end: int) -> bool:
    """True if a quotation is somebody's words and not a label: announced by a verb or colon, on its own line, or signed."""
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
            start = match.end() - len(match[0].lstrip(".!? \t\n"))  # what ends the sentence before is the person's
            if text[match.end() - 1] == "\n" or text[match.end() : match.end() + 1] == "\n":
                # The statement is below this line.
                end = text.find("\n\n", match.end())
                marks.mark(start, len(text) if end < 0 else end, SpanKind.REPORTED)
            stop = _END.search(text, match.end())
            marks.mark(start, stop.start() + 1 if stop else len(text), SpanKind.REPORTED)


# The first words of texts that clients write in the person's name, and lines with which a harness announces inserted text.
_OPENINGS = fill_pattern(r"^\s*(?:‹shapes:clients.openings›)")
_ANNOUNCED = fill_pattern(r"(?m)^[ \t]*(?:‹shapes:clients.announced›)")
# A client's placeholder for a paste, with the number of pasted lines.
_PASTED = Pattern(r"\[(?:Pasted|Truncated) text #\d+(?: \+(\d{1,5}) lines?)?[^\]\n]{0,20}\]")
# The text that a client inserts where it compacted a conversation. Queued words of the person may precede it.
_CONTINUED = Pattern(
    r"(?m)^(?:This session is being continued from a previous conversation|Another language model started to solve this problem)",
    needs=("This session is being continued", "Another language model"),
)
# The editor's text for a prompt file that the person chose. The words after it are the person's.
_PROMPT_FILE = Pattern(r"^\s*Follow instructions in \[[^\]\n]*\]\([^)\n]*\)\.?", needs=("Follow instructions in ",))
_ROLE = fill_pattern(r"(?i)^\s*(?:#[^\n]*\n+)?\s*‹roles›\s*\S")
_SCRIPTED = fill_pattern(r"(?i)\b‹scripted:spaced›\b|‹scripted:unspaced›")
_IDE = Pattern(r"(?m)^\s*# Context from my IDE setup:", needs=("# Context from my IDE setup:",))
_REQUEST = Pattern(r"(?m)^#{1,3} My request for \w+:[ \t]*\n?")
# A program's template that puts retrieved material before a person's question: the line before the question, and the words that
# announce the material.
_QUESTION = fill_pattern(r"(?im)^[ \t#*]*(?:the |my )?(?:user(?:['’]s)? |human |original |final )?‹questions›[ \t*]*[:：]")
_RETRIEVED = fill_pattern(
    r"(?i)\b(?:following|below|provided|given|retrieved|relevant|supplied)\b[^.\n]{0,40}?\b‹supplies›\b"
    r"|(?m:^[ \t#*]*‹contexts›(?:[ \t]*\d+)?[ \t*]*[:：])"
)
# Output of kept's commands: a memory or proposal with its id, alone or above its text, and the work of a day.
_PRINTED = Pattern(r"(?m)^[ \t]*(?:[+?~=*-] )?[0-9a-f]{10}  (\S[^\n]* · (?:[^\n]* · )?[a-z ]+$)?|^Worked on  (in the words)")
_COMMAND = Pattern(r"^\s*(/[A-Za-z][\w-]*(?::[\w-]+)*)(?:\s|$)", needs=("/",))
_WRAPPED = Pattern(r"<command-(?:name|message)>\s*/?([\w:-]{1,60})\s*</command-(?:name|message)>")


def mark_program(marks: SpanMarks) -> None:
    """Mark a prompt that a program wrote. The person's request within an IDE block stays typed."""
    text = marks.text
    continued = _CONTINUED.search(text)
    announced = _ANNOUNCED.search(text)
    if announced:
        marks.mark(announced.start(), len(text), SpanKind.HARNESS)
    _mark_pastes(marks)
    _mark_printed(marks)
    if _OPENINGS.match(text):
        marks.mark(0, len(text), SpanKind.PROGRAM)
    elif continued:
        marks.mark(continued.start(), len(text), SpanKind.PROGRAM)
    elif _IDE.match(text):
        request = _REQUEST.search(text)
        marks.mark(0, request.end() if request else len(text), SpanKind.HARNESS)
    elif template := _template_end(text):
        marks.mark(0, template, SpanKind.PROGRAM)
    elif match := _PROMPT_FILE.match(text):
        marks.mark(0, match.end(), SpanKind.COMMAND)
    elif _is_scripted_prompt(text):
        marks.mark(0, len(text), SpanKind.PROGRAM)


def _template_end(text: str) -> int:
    """The start of the question in a prompt that a program filled with retrieved material; 0 for any other prompt."""
    questions = list(_QUESTION.finditer(text)) if ":" in text or "：" in text else []
    return questions[-1].end() if questions and _RETRIEVED.search(text[: questions[-1].start()]) else 0


def _mark_pastes(marks: SpanMarks) -> None:
    """Mark each placeholder for a paste and the pasted lines below it. If it gives no number of lines, mark all lines below it."""
    text = marks.text
    for match in _PASTED.finditer(text) if "[" in text else ():
        end = match.end()
        leads = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if leads or text[end : end + 1] == "\n":
            lines = text[end:].splitlines(keepends=True)
            end += sum(map(len, lines[: int(match[1]) + 1] if match[1] else lines))
        marks.mark(match.start(), end, SpanKind.PASTED)


def _mark_printed(marks: SpanMarks) -> None:
    """Mark lines that kept printed. If such a line is a heading, mark up to the end of the paragraph."""
    text = marks.text
    for match in _PRINTED.finditer(text) if "  " in text else ():
        end = text.find("\n\n" if match[1] or match[2] else "\n", match.end())
        marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.PASTED)


def _is_scripted_prompt(text: str) -> bool:
    """True if a prompt assigns a role to a model, and is long or gives instructions for the output."""
    return bool(_ROLE.match(text)) and (bool(_SCRIPTED.search(text)) or text.count("\n") > 5 or len(text) > 600)


def mark_command(marks: SpanMarks) -> None:
    """Mark the name of a slash command, or the whole prompt if the command takes no free text."""
    match = _COMMAND.match(marks.text)
    if match:
        closed = match[1][1:].casefold() in list_shapes("clients", "commands")
        marks.mark(0, len(marks.text) if closed else match.end(1), SpanKind.COMMAND)
    for wrapped in _WRAPPED.finditer(marks.text) if "<command-" in marks.text else ():
        closed = wrapped[1].casefold() in list_shapes("clients", "commands")
        marks.mark(wrapped.start(), len(marks.text) if closed else wrapped.end(), SpanKind.COMMAND)
