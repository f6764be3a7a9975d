"""What is left out around a passage of a prompt: the rest of its sentence, and the line that introduces it.

A passage that was cut out of a sentence may say the reverse of it. Decided without knowing what the rest says: only filler, a whole
clause of its own, and nothing at all are let go; and of a line above only what denies, asks what something means, or orders it to
be written counts.
"""

import re2

from kept.core.memory import CHOSEN, LED, PART
from kept.core.sentences import split_sentences
from kept.core.text import NEGATIONS, tokenize
from kept.profiles.lexicons import join_alternatives, list_fragments


def _load_fragments(table: str, *names: str) -> tuple[str, str]:
    """The fragments of some lists: those of languages that write words apart, and those of the others."""
    spaced, dense = (
        "|".join(filter(None, (join_alternatives(table, name, spaced=apart) for name in names))) for apart in (True, False)
    )
    return spaced, dense


_EDGE = r"[^\w\x{80}-\x{1FFF}]"
# Several patterns: the automaton of one would be too large for its memory.
_FILLERS = (
    _load_fragments("telling", "lead", "request", "link"),
    _load_fragments("telling", "remember", "from_now_on", "note"),
    (*_load_fragments("assertion", "opener"), *_load_fragments("choice", "courtesy"), *_load_fragments("", "agreement")),
)
_LET_GO = tuple(re2.compile(rf"(?i)(?:{'|'.join(filter(None, fillers))})(?:[\W_]+|$)") for fillers in _FILLERS)
_CLAUSE = re2.compile(r"(?s)(.*(?:[,;，、；…–—]|\.\.|\s-+>?))(\s.*|$)")
_GOES_ON = re2.compile(r"\s*(?:[,;(，；…–—]|\.\.|[-:]+>?\s)")
_MARKS = re2.compile(r"[~=<❌✗🚫⛔]|-->")
_TURNS_WORDS, _TURNS_SIGNS = _load_fragments("polarity", "denies", "denies_back", "restricts")
_REJECTS_STEMS, _REJECTS_SIGNS = _load_fragments("polarity", "rejects")
_TURNS = re2.compile(
    rf"(?i)(?:^|{_EDGE})(?:(?:{_TURNS_WORDS})(?:$|{_EDGE})|{_REJECTS_STEMS})"
    rf"|{_TURNS_SIGNS}|{_REJECTS_SIGNS}"
)
_DEPENDS_WORDS, _DEPENDS_SIGNS = _load_fragments("polarity", "depends")
_DEPENDS = re2.compile(rf"(?i)(?:^|{_EDGE})(?:{_DEPENDS_WORDS})(?:$|{_EDGE})|{_DEPENDS_SIGNS}")
_WRITES_WORDS, _WRITES_SIGNS = _load_fragments("assertion", "writes", "wrote")
_EXPLAINS_WORDS, _EXPLAINS_SIGNS = _load_fragments("assertion", "explains")
_EXPLAINS = re2.compile(rf"(?i)(?:^|{_EDGE})(?:{_EXPLAINS_WORDS})(?:$|{_EDGE})|{_EXPLAINS_SIGNS}")
_WRITES = re2.compile(rf"(?i)(?:^|{_EDGE})(?:{_WRITES_WORDS})(?:$|{_EDGE})|{_WRITES_SIGNS}")
_LEADS_ON = re2.compile(rf"(?i)(?:^|{_EDGE})(?:{join_alternatives('assertion', 'leads_on', spaced=True)})")
_PRESENTS = tuple(
    re2.compile(rf"(?im)(?:^|{_EDGE})(?:{fragment})") for fragment in list_fragments("assertion", "presents", spaced=True)
)
_DISMISSES = re2.compile(rf"(?im)^\W*(?:{join_alternatives('assertion', 'dismisses', spaced=True)})")
_OWN_WORDS, _OWN_SIGNS = _load_fragments("assertion", "own")
_OWN = re2.compile(rf"(?i)(?:^|{_EDGE})(?:{_OWN_WORDS})(?:$|{_EDGE})|{_OWN_SIGNS}")
_SENTENCE = re2.compile(r"[.!?。！？]+\s+")
_ARROW = re2.compile(r"^\s*[-=]+>?\s+")
_ITEM = re2.compile(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)])[ \t]")
_STRUCK = ("~~", "<!--")
_ENDED = (".", "!", "。", "！")
_COLONS = (":", "：")
_QUOTED = frozenset("\"'`“”„«»‘’「」")
_QUOTES_AND_STOPS = _QUOTED | frozenset(".!?")
_BEFORE = "\"'`“”„«»‘’「」 \t\n*_([>#-•–.)0123456789"
_QUOTES = "\"'`“”„«»‘’「」 \t"


def clipped_reason(text: str, start: int, end: int) -> str:
    """Why the characters ``[start, end)`` of a prompt may say something else than they do there; empty where nothing says so."""
    own = [span for span in split_sentences(text, 0, len(text)) if not span.aside and span.start < end and span.end > start]
    first, last = (min(start, own[0].start), max(end, own[-1].end)) if own else (start, end)
    parts = _may_go_before(text[first:start]) and _may_go_behind(text[end:last])
    return "" if parts and not disowned_reason(text, start, end) else PART


def disowned_reason(text: str, start: int, end: int) -> str:
    """Why a passage is none of the person's: struck out, commented out, or a quotation of which the rest of the line tells."""
    while start < end and text[start] in _QUOTED:
        start += 1
    while start < end and text[end - 1] in _QUOTES_AND_STOPS:
        end -= 1
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(".!?")
    quoted = before[-1:] in _QUOTED and after[:1] in _QUOTED and before and after
    told = quoted and any(map(str.isalnum, after.split("\n", 1)[0]))
    struck = any(mark in text[start:end] for mark in _STRUCK) or before.endswith(_STRUCK)
    return PART if told or struck else ""


def lead_in_reason(text: str, start: int) -> str:
    """Why the line before a passage leaves open whether it is meant; empty where nothing does."""
    lines = text[:start].splitlines() or [""]
    at_start = text[start - 1 : start] == "\n"
    own, above = ("", lines) if at_start else (lines[-1], lines[:-1])
    item = _ITEM.match(own or text[start:]) is not None
    lead = next((line.strip() for line in reversed(above) if line.strip() and not (item and _ITEM.match(line))), "")
    beside = _SENTENCE.split(own.rstrip())[-1] if own.strip() and not item else _SENTENCE.split(lead)[-1]
    if _LEADS_ON.search(beside):
        return LED
    if not lead or lead.endswith(_ENDED):
        return ""
    return _lead_reason(lead, announces=lead.endswith(_COLONS) or lead.startswith("#"))


def framing_reason(text: str, start: int, end: int) -> str:
    """Why the sentence before a passage or the one behind it makes it a text to look at, somebody else's, or one that is
    dismissed; empty where neither does.
    """
    sentences = [span for span in split_sentences(text, 0, len(text)) if not span.aside]
    before = next((text[span.start : span.end] for span in reversed(sentences) if span.end <= start), "")
    behind = next((text[span.start : span.end] for span in sentences if span.start >= end), "")
    if not _OWN.search(before) and (any(shape.search(before) for shape in _PRESENTS) or _EXPLAINS.search(before)):
        return LED
    return LED if _DISMISSES.search(behind) else ""


def is_request_to_explain(words: str) -> bool:
    """Whether words ask what something means, or for it in other words."""
    return _EXPLAINS.search(words) is not None


def set_apart_reason(lead: str) -> str:
    """Why the words that lead to a passage in its own sentence set it apart from what the person says; empty where they do not."""
    return LED if _MARKS.search(lead) else _lead_reason(lead, announces=lead.rstrip(_QUOTES).endswith(_COLONS))


def _lead_reason(lead: str, *, announces: bool) -> str:
    if announces and _is_contrasting(lead):
        return LED
    return LED if not _OWN.search(lead) and (_EXPLAINS.search(lead) or (announces and _WRITES.search(lead))) else ""


def _may_go_before(rest: str) -> bool:
    rest = _ARROW.sub("", rest)
    if _MARKS.search(rest) or (rest and not rest[-1].isspace() and rest.strip(_BEFORE)):
        return False
    if _is_filler(rest):
        return True
    clause = _CLAUSE.fullmatch(rest.rstrip(_QUOTES) + " ")
    return clause is not None and _is_filler(clause[2]) and ":" not in clause[1] and not _is_contrasting(clause[1])


def _is_filler(rest: str) -> bool:
    while any(map(str.isalpha, rest)):
        rest = rest.lstrip(_BEFORE)
        ends = [found.end() for pattern in _LET_GO if (found := pattern.match(rest))]
        if not any(ends):
            return False
        rest = rest[max(ends) :]
    return True


def _may_go_behind(rest: str) -> bool:
    if not any(map(str.isalnum, rest)):
        return not _MARKS.search(rest)
    return _GOES_ON.match(rest.lstrip(_QUOTES + "*_")) is not None and not (_is_contrasting(rest) or _DEPENDS.search(rest))


def _is_contrasting(words: str) -> bool:
    return _TURNS.search(words) is not None or not NEGATIONS.isdisjoint(tokenize(words))


__all__ = [
    "CHOSEN",
    "LED",
    "PART",
    "clipped_reason",
    "disowned_reason",
    "framing_reason",
    "is_request_to_explain",
    "lead_in_reason",
    "set_apart_reason",
]
