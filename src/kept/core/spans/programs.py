"""Marks prompts that a program wrote, and text that clients add to a person's prompt: scripted roles, IDE blocks, hooks, plans,
slash commands.
"""

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks
from kept.core.words import fill_pattern, list_shapes

# Openings of texts that clients write in the person's name, and lines by which a harness announces text that it inserts.
_OPENINGS = fill_pattern(r"^\s*(?:‹shapes:clients.openings›)")
_ANNOUNCED = fill_pattern(r"(?m)^[ \t]*(?:‹shapes:clients.announced›)")
# A client's placeholder for a paste, with the number of pasted lines.
_PASTED = Pattern(r"\[(?:Pasted|Truncated) text #\d+(?: \+(\d{1,5}) lines?)?[^\]\n]{0,20}\]")
# The text a client inserts where it compacted a conversation; queued words of the person may come before it.
_CONTINUED = Pattern(r"(?m)^This session is being continued from a previous conversation")
# The editor's text for a prompt file that the person chose; the words after it are the person's.
_PROMPT_FILE = Pattern(r"^\s*Follow instructions in \[[^\]\n]*\]\([^)\n]*\)\.?")
_ROLE = fill_pattern(r"(?i)^\s*(?:#[^\n]*\n+)?\s*‹roles›\s*\S")
_SCRIPTED = fill_pattern(r"(?i)\b‹scripted:spaced›\b|‹scripted:unspaced›")
_IDE = Pattern(r"(?m)^\s*# Context from my IDE setup:")
_REQUEST = Pattern(r"(?m)^#{1,3} My request for \w+:[ \t]*\n?")
# A program's template that puts retrieved material before a person's question: the line before the question, and the words that
# announce the material.
_QUESTION = fill_pattern(r"(?im)^[ \t#*]*(?:the |my )?(?:user(?:['’]s)? |human |original |final )?‹questions›[ \t*]*[:：]")
_RETRIEVED = fill_pattern(
    r"(?i)\b(?:following|below|provided|given|retrieved|relevant|supplied)\b[^.\n]{0,40}?\b‹supplies›\b"
    r"|(?m:^[ \t#*]*‹contexts›(?:[ \t]*\d+)?[ \t*]*[:：])"
)
# What kept's own commands print: a memory or proposal with its id, alone or above its text, and what a day was worked on.
_PRINTED = Pattern(r"(?m)^[ \t]*(?:[+?~=*-] )?[0-9a-f]{10}  (\S[^\n]* · (?:[^\n]* · )?[a-z ]+$)?|^Worked on  (in the words)")
_COMMAND = Pattern(r"^\s*(/[A-Za-z][\w-]*(?::[\w-]+)*)(?:\s|$)")
_WRAPPED = Pattern(r"<command-(?:name|message)>\s*/?([\w:-]{1,60})\s*</command-(?:name|message)>")


def mark_program(marks: SpanMarks) -> None:
    """Mark a prompt that a program wrote; the person's request within an IDE block stays typed."""
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
    """The start of the question in a prompt that a program filled with retrieved material; 0 in any other prompt."""
    questions = list(_QUESTION.finditer(text)) if ":" in text or "：" in text else []
    return questions[-1].end() if questions and _RETRIEVED.search(text[: questions[-1].start()]) else 0


def _mark_pastes(marks: SpanMarks) -> None:
    """Mark each placeholder for a paste and the pasted lines below it; all lines below it if it gives no number."""
    text = marks.text
    for match in _PASTED.finditer(text) if "[" in text else ():
        end = match.end()
        leads = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if leads or text[end : end + 1] == "\n":
            lines = text[end:].splitlines(keepends=True)
            end += sum(map(len, lines[: int(match[1]) + 1] if match[1] else lines))
        marks.mark(match.start(), end, SpanKind.PASTED)


def _mark_printed(marks: SpanMarks) -> None:
    """Mark the lines that kept printed; below a heading, to the end of the paragraph."""
    text = marks.text
    for match in _PRINTED.finditer(text) if "  " in text else ():
        end = text.find("\n\n" if match[1] or match[2] else "\n", match.end())
        marks.mark(match.start(), len(text) if end < 0 else end, SpanKind.PASTED)


def _is_scripted_prompt(text: str) -> bool:
    """True if a prompt assigns a role to a model and either gives instructions for its output or is long."""
    return bool(_ROLE.match(text)) and (bool(_SCRIPTED.search(text)) or text.count("\n") > 5 or len(text) > 600)


def mark_command(marks: SpanMarks) -> None:
    """Mark the name of a slash command; the whole prompt if the command takes no free text."""
    match = _COMMAND.match(marks.text)
    if match:
        closed = match[1][1:].casefold() in list_shapes("clients", "commands")
        marks.mark(0, len(marks.text) if closed else match.end(1), SpanKind.COMMAND)
    for wrapped in _WRAPPED.finditer(marks.text) if "<command-" in marks.text else ():
        closed = wrapped[1].casefold() in list_shapes("clients", "commands")
        marks.mark(wrapped.start(), len(marks.text) if closed else wrapped.end(), SpanKind.COMMAND)
