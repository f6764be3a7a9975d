"""What is left out around a passage of a prompt: the rest of its sentence.

A passage that was cut out of a sentence may say the reverse of it. Decided without knowing what the rest says: only filler, a whole
clause of its own, and nothing at all are let go.
"""

from kept.core.pattern import Pattern
from kept.core.sentences import split_sentences
from kept.core.text import NEGATIONS, tokenize
from kept.extraction.rules.patterns import EDGE, list_words, match_words

# Several patterns: the automaton of one would be too large for its memory.
_FILLERS = (
    list_words("telling", "lead", "request", "link", "note"),
    list_words("telling", "remember", "from_now_on"),
    (*list_words("assertion", "opener"), *list_words("choice", "courtesy"), *list_words("", "agreement")),
)
_LET_GO = tuple(Pattern(rf"(?i)(?:{'|'.join(filter(None, fillers))})(?:[\W_]+|$)") for fillers in _FILLERS)
_CLAUSE = Pattern(r"(?s)(.*(?:[,;，、；…–—]|\.\.|\s-+>?))(\s.*|$)")
_GOES_ON = Pattern(r"\s*(?:[,;(，；…–—]|\.\.|[-:]+>?\s)")
MARKS = Pattern(r"[~=<❌✗🚫⛔]|-->")
_TURNS = match_words("polarity", "denies", "denies_back", "restricts")
_REJECTS_STEMS, _REJECTS_SIGNS = list_words("polarity", "rejects")
_REJECTS = Pattern(rf"(?i)(?:^|{EDGE}){_REJECTS_STEMS}|{_REJECTS_SIGNS}")
_DEPENDS = match_words("polarity", "depends")
_ARROW = Pattern(r"^\s*[-=]+>?\s+")
_STRUCK = ("~~", "<!--")
_QUOTED = frozenset("\"'`“”„«»‘’「」")
_QUOTES_AND_STOPS = _QUOTED | frozenset(".!?")
_BEFORE = "\"'`“”„«»‘’「」 \t\n*_([>#-•–.)0123456789"
QUOTES = "\"'`“”„«»‘’「」 \t"


def is_clipped(text: str, start: int, end: int) -> bool:
    """Whether the characters ``[start, end)`` of a prompt may say something else than they do there."""
    own = [span for span in split_sentences(text, 0, len(text)) if not span.aside and span.start < end and span.end > start]
    first, last = (min(start, own[0].start), max(end, own[-1].end)) if own else (start, end)
    return not (_may_go_before(text[first:start]) and _may_go_behind(text[end:last]))


def is_disowned(text: str, start: int, end: int) -> bool:
    """Whether a passage is none of the person's: struck out, commented out, or a quotation of which the rest of the line tells."""
    while start < end and text[start] in _QUOTED:
        start += 1
    while start < end and text[end - 1] in _QUOTES_AND_STOPS:
        end -= 1
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(".!?")
    quoted = before[-1:] in _QUOTED and after[:1] in _QUOTED and before and after
    told = quoted and any(map(str.isalnum, after.split("\n", 1)[0]))
    return bool(told) or any(mark in text[start:end] for mark in _STRUCK) or before.endswith(_STRUCK)


def _may_go_before(rest: str) -> bool:
    rest = _ARROW.sub("", rest)
    if MARKS.search(rest) or (rest and not rest[-1].isspace() and rest.strip(_BEFORE)):
        return False
    if _is_filler(rest):
        return True
    clause = _CLAUSE.fullmatch(rest.rstrip(QUOTES) + " ")
    return clause is not None and _is_filler(clause[2]) and ":" not in clause[1] and not is_contrasting(clause[1])


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
        return not MARKS.search(rest)
    return _GOES_ON.match(rest.lstrip(QUOTES + "*_")) is not None and not (is_contrasting(rest) or _DEPENDS.search(rest))


def is_contrasting(words: str) -> bool:
    """Whether words turn something around, rule it out or narrow it."""
    return any(pattern.search(words) for pattern in (_TURNS, _REJECTS)) or not NEGATIONS.isdisjoint(tokenize(words))
