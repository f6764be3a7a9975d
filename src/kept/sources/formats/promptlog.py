"""Parse prompt logs: files in which an agent records each prompt, with its time, and often what the agent then did.

A log has one file per prompt, or one file with a dated heading for each prompt. The words of a prompt are the person's. A
paraphrase ("User requested …", "Prompt summary") and the report of the work are the agent's.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from kept.core.event import Precision
from kept.core.pattern import Pattern
from kept.sources.documents import DocumentEntry, Row, rows_place, split_prompt
from kept.sources.drafts import EventDraft
from kept.sources.markdown import Heading, find_headings, mark_fenced_rows, strip_edges, strip_hidden
from kept.sources.roles import ConversationTime, Role, draft_template, parse_role
from kept.sources.stamps import find_stamp

_HEADER_ROWS = 12
_WORD_CHARACTERS = 60


class PromptLogPart(StrEnum):
    """What a section of a log contains."""

    PROMPT = "prompt"
    RETOLD = "prompt-retold"
    REPORT = "report"


class _Section(NamedTuple):
    """The rows [first, after) of a part. Its words are ``opening``, the text after its label, and the rows from ``words`` on."""

    part: PromptLogPart
    first: int
    words: int
    after: int
    opening: str = ""


_PROMPT = Pattern(
    r"^(?:(?:the|full|complete|original|initial|user|user's|my|follow[- ]?up|second|first|third|next|verbatim|raw|exact"
    r"|additional|latest) )*"
    r"(?:(?:user prompt|prompt|user request|request|user query|instruction|instructions)s?|user(?:'s)? (?:question"
    r"|feedback|input|message|ask))"
    r"(?: text| received)?(?: #?\d{1,3})?$|^user$|^follow[- ]?up(?: #?\d{1,3})?$"
)
_RETOLD = Pattern(
    r"\b(?:prompt|request|user)\b.*\b(?:summary|overview|context|interpretation|intent)\b|\bsummary of\b.*\b(?:prompt|request)\b"
)
# The forms in which an agent paraphrases a prompt. A person writes "the user should …" or "a user reported …" instead.
_RETELLING = Pattern(
    r"(?i)^\W*(?:the )?users? (?:(?:has|have|had|also|then|now|again|still|only|additionally|explicitly) )*"
    r"(?:request|ask|report|want|need|said|say|see|wrote|was|were|is|provid|notic|complain|prefer|clarif|confirm|instruct|describ"
    r"|mention|observ|suggest|follow|continu)"
    r"|(?:[-:;.(] ?)(?:the )?user (?:requested|reported|asked|wants|wanted)\b"
)
_REPORT = Pattern(
    r"^(?:implemented |implementation |files? |code |the )*(?:changes?|actions?|work|summary|result|solution|files"
    r"|implementation|notes|outcome|response|analysis|fix|verification|testing)"
    r"(?: (?:made|taken|done|completed|modified|changed|created|summary|applied|list))*$"
)
_LABEL = Pattern(r"^[ \t]{0,3}(?:[-*][ \t]+)?(?:\*\*|__)?([A-Za-z][A-Za-z' -]{1,40}?)(?:\*\*|__)?:(?:\*\*|__)?(?:[ \t]+(.*))?$")
_META = Pattern(
    r"^(?:llm|model|llm model|agent|assistant|processed by|tool|engine|(?:utc )?(?:timestamp|date|time)|utc|created|when"
    r"|author|branch|commit)$"
)
_STAMP = Pattern(
    r"\d{4}[-/._]?\d\d[-/._]?\d\d(?:[T _-]?\d\d[:h-]?\d\d(?:[:-]?\d\d(?:[.,]\d+)?)?[ ]?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)?"
)
_MODEL_WORD = Pattern(
    r"(?i)\b(?:gpt|chatgpt|claude|codex|copilot|gemini|grok|llama|mistral|qwen|deepseek|sonnet|opus|haiku|cursor|aider"
    r"|windsurf|llm)\b|\bgpt-"
)


def is_prompt_log(rows: Sequence[Row], *, named: bool) -> bool:
    """True if a text begins like a prompt log.

    If ``named``, its file name says that it is one, and a time in its first lines suffices. Otherwise its first lines must contain
    a time, a model and a prompt.
    """
    opening = [row.text for row in rows[:40] if row.text.strip()][:_HEADER_ROWS]
    dated = any(_is_meta(text) and find_stamp(text) for text in opening)
    model = any(_is_meta(text) and _MODEL_WORD.search(text) for text in opening)
    prompted = any(_label_part(text) is PromptLogPart.PROMPT for text in opening)
    if named:
        retold = any(_label_part(text) is PromptLogPart.RETOLD for text in opening)
        return prompted or retold or dated or any(find_stamp(text[:_WORD_CHARACTERS]) for text in opening[:2])
    return dated and model and prompted


def parse_entries(rows: Sequence[Row], first: int, when: ConversationTime) -> list[DocumentEntry]:
    """The records of a log. Each prompt has one for its header and one for each section (its words, a part of a report)."""
    inside = mark_fenced_rows(rows)
    found = find_headings(rows, inside, first)
    marks = _entry_rows(found)
    edges = [first, *marks, len(rows)] if len(marks) > 1 else [first, len(rows)]
    opening = frozenset(marks)
    entries: list[DocumentEntry] = []
    position = 0
    for start, after in pairwise(edges):
        if start >= after:
            continue
        begin = _header_end(rows, start, after)
        until = bisect_left(found, after, lo=position, key=lambda heading: heading.row)
        sections = _split_sections(rows, begin, after, inside, found[position:until])
        entries += _parse_entry(rows, start, begin, sections, replace(when, stamp=None) if start in opening else when)
        position = until
    return entries


def _entry_rows(found: Sequence[Heading]) -> list[int]:
    """The rows of consecutive headings on one level that begin with a date. Each opens an entry."""
    dated = [heading for heading in found if heading.title[:4].isdigit() and find_stamp(heading.title)]
    return [heading.row for heading in dated if heading.level == dated[0].level]


def _parse_entry(
    rows: Sequence[Row], start: int, begin: int, sections: Sequence[_Section], when: ConversationTime
) -> list[DocumentEntry]:
    """The records of one entry: its header (the rows before ``begin``) and its sections."""
    stamps = [date_stamp for row in rows[start:begin] if (date_stamp := find_stamp(row.text))]
    own = next((stamp for stamp in stamps if stamp.clock), next(iter(stamps), None))
    stamp = own if own and (own.clock or when.stamp is None) else when.stamp
    precision = Precision.MESSAGE if stamp and stamp.clock else Precision.SESSION
    template = replace(draft_template(replace(when, stamp=stamp)), precision=precision)
    entries = []
    if any(row.text.strip() for row in rows[start:begin]):
        entries.append(DocumentEntry(place=rows_place(rows, start, begin), dropped="log-header"))
    for section in sections:
        text = "\n".join(part for part in (section.opening.strip(), strip_edges(rows, section.words, section.after)) if part)
        if text or section.words > section.first:
            entries.append(_section_entry(_unwrap_prompt(text), section, template, rows))
    return entries


def _section_entry(text: str, section: _Section, template: EventDraft, rows: Sequence[Row]) -> DocumentEntry:
    place, part = rows_place(rows, section.first, section.after), section.part
    if part is PromptLogPart.REPORT:
        text = strip_edges(rows, section.first, section.after)  # without the heading, which names the subject
    text, noted = strip_hidden(text)
    if not text:
        return DocumentEntry(place=place, noted=noted)
    if part is PromptLogPart.PROMPT and not _RETELLING.search(text[:200]):
        drafts = split_prompt(text, replace(template, reason="prompt-log:prompt"), noted)
    else:
        drafts = [template.answer(text, f"prompt-log:{part if part is PromptLogPart.REPORT else PromptLogPart.RETOLD}")]
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)


def _header_end(rows: Sequence[Row], start: int, after: int) -> int:
    """The row after an entry's title, time and model."""
    number, seen = start, False
    for number in range(start, min(after, start + 2 * _HEADER_ROWS)):
        text = rows[number].text.strip()
        heading = text.startswith("#")
        title = number == start and (heading or (text[:4].isdigit() and find_stamp(text[:_WORD_CHARACTERS]) is not None))
        if text and not title and not _is_meta(text) and text.strip("-*_ "):
            # A single short line below the time is the model's name.
            name = seen and _is_model(text) and not heading
            if not (name and number > start and rows[number - 1].text.strip()):
                return number
        if heading and _title_part(text) is PromptLogPart.PROMPT:
            return number
        seen = seen or find_stamp(text) is not None
    return min(after, number + 1)


def _is_meta(text: str) -> bool:
    """True if a line contains only a time, a model's name, or a label with one of them."""
    text = text.strip().lstrip("#").strip()
    if len(text) > 2 * _WORD_CHARACTERS:
        return False
    found = _LABEL.match(text)
    if found and (_META.match(found.group(1).strip().casefold()) or _is_model((found.group(2) or "").strip())):
        return True
    if find_stamp(text) is None:
        return _is_model(text)
    rest = _STAMP.sub(" ", text).strip("-–—·|,:*_# \t")
    return not rest or _is_model(rest) or bool(found and _META.match(rest.strip("*: ").casefold()))


def _is_model(text: str) -> bool:
    """True if a short text is the name of a model or an agent."""
    return len(text) <= _WORD_CHARACTERS and parse_role(text) == (Role.ASSISTANT, False)


def _split_sections(
    rows: Sequence[Row], begin: int, after: int, inside: Sequence[bool], found: Sequence[Heading]
) -> list[_Section]:
    """Split an entry's body into sections. Text before any heading or label is the prompt, unless a section below it is. A deeper
    heading within a report belongs to the section around it.
    """
    levels = {heading.row: heading for heading in found}
    marks: list[tuple[int, PromptLogPart, int, str]] = [(begin, PromptLogPart.PROMPT, begin, "")]
    level = 0
    for number in range(begin, after):
        if number in levels:
            heading = levels[number]
            part = _title_part(heading.title)
            if level == 0 or heading.level <= level or part is not PromptLogPart.REPORT:
                level = heading.level
                marks.append((number, part, number + 1, ""))
        elif level == 0 and not inside[number]:
            labelled = _label_part(rows[number].text)
            if labelled is not None:
                label = _LABEL.match(rows[number].text)
                marks.append((number, labelled, number + 1, (label.group(2) or "") if label else ""))
    if any(part is PromptLogPart.PROMPT for _, part, _, _ in marks[1:]):
        marks[0] = (begin, PromptLogPart.REPORT, begin, "")
    ends = [mark[0] for mark in marks[1:]] + [after]
    return [
        _Section(part, first, words, end, opening)
        for (first, part, words, opening), end in zip(marks, ends, strict=True)
        if first < end and any(row.text.strip() for row in rows[first:end])
    ]


def _title_part(title: str) -> PromptLogPart:
    words = " ".join(title.partition("(")[0].strip(' #*_:`"').casefold().split())
    if _PROMPT.match(words):
        return PromptLogPart.PROMPT
    return PromptLogPart.RETOLD if _RETOLD.search(words) else PromptLogPart.REPORT


def _label_part(text: str) -> PromptLogPart | None:
    """The part that a label at the start of a line announces, or None."""
    found = _LABEL.match(text[:2000])
    if not found and text.startswith("#"):
        part = _title_part(text)
        return part if part is not PromptLogPart.REPORT else None
    words = found.group(1).strip().casefold() if found else ""
    if not words:
        return None
    if _title_part(words) is not PromptLogPart.REPORT:
        return _title_part(words)
    return PromptLogPart.REPORT if _REPORT.match(words) and not (found and found.group(2)) else None


def _unwrap_prompt(text: str) -> str:
    """A prompt without the quotation marks, block quote or code fence around all of it."""
    lines = text.split("\n")
    if (
        len(lines) > 2
        and lines[0].startswith("```")
        and lines[-1].strip() == "```"
        and not any("```" in line for line in lines[1:-1])
    ):
        text = "\n".join(lines[1:-1]).strip()
    elif all(line.startswith(">") or not line.strip() for line in lines):
        text = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines).strip()
    if len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”")) and not set(text[1:-1]) & set('"“”'):
        text = text[1:-1].strip()
    return text
