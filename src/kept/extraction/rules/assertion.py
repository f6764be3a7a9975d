"""Whether a person asserts a passage of what they typed, judged by the sentences around it and by the rest of its own.

Reads all languages of the lexicons side by side. Any sign to the contrary counts, for what is not sure waits for the person. A
passage that was cut out of a sentence may say the reverse of it. Decided without knowing what the rest says: only filler, a whole
clause of its own, and nothing at all are let go.
"""

from dataclasses import replace

from kept.core.pattern import Pattern
from kept.core.sentences import SentenceSpan, split_sentences
from kept.core.text import NEGATIONS, tokenize
from kept.extraction.rules.patterns import EDGE, list_words, match_words
from kept.profiles.lexicons import join_alternatives

ASKED = "the passage stands in a question"
SUPPOSED = "the passage hangs on a condition or a doubt"
ONCE = "the passage may hold for one occasion only"
CONTENT = "the passage is content to be written elsewhere"
ANOTHERS = "the passage may be the words of another author"
WITHDRAWN = "the person takes the passage back or denies it"
JEST = "the passage may be meant as a joke"


def _spaced_words(name: str) -> str:
    return join_alternatives("assertion", name, spaced=True)


def _unspaced_words(name: str) -> str:
    return join_alternatives("assertion", name, spaced=False)


_CONDITION, _DOUBT = _spaced_words("condition"), _spaced_words("doubt")
_EDGE = r"[^\w\x{80}-\x{1FFF}]"  # letters of every script that writes words apart lie in this range
_OPEN, _SHUT = rf"(?:^|{_EDGE})", rf"(?:$|{_EDGE})"
_REQUEST = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('request')}){_SHUT}|{_unspaced_words('request')}")
_ASKS = Pattern(rf"(?i)^\W*(?:(?:{_spaced_words('opener')})\W+)?(?:{_spaced_words('asks')}){_SHUT}|{_unspaced_words('asks')}")
_BEFORE = Pattern(
    rf"(?i){_OPEN}(?:{_CONDITION}|{_DOUBT}){_SHUT}|(?:^|[,;:]\s*)(?:{_spaced_words('condition_opening')})\s"
    rf"|{_unspaced_words('condition')}|{_unspaced_words('doubt')}"
)
_AFTER = Pattern(
    rf"(?i)^[\s,;(]*(?:(?:{_spaced_words('but')})\s+)*(?:{_CONDITION}|{_spaced_words('condition_opening')}){_SHUT}"
    rf"|^\W*(?:{_unspaced_words('condition_after')})"
)
_LIMITS = Pattern(rf"(?i)^\W*(?:(?:{_spaced_words('but')})\s+)+(?:{_CONDITION}){_SHUT}|{_OPEN}(?:{_spaced_words('limits')})")
_RESTRICTS = Pattern(
    rf"(?i)^\W*(?:{join_alternatives('polarity', 'restricts', spaced=True)}){_SHUT}"
    rf"|^\W*(?:{join_alternatives('polarity', 'restricts', spaced=False)})"
)
_WITHIN = Pattern(
    rf"(?i)^\W*(?:(?:{_spaced_words('doubter')}) )?(?:{_DOUBT}){_SHUT}"
    rf"|{_OPEN}(?:{_spaced_words('supposing')})|{_unspaced_words('supposing')}"
    rf"|[,;(]\s*(?:\pL{{1,4}}\s+)?(?:{_DOUBT})\s+(?:{'|'.join(sorted(NEGATIONS))}){_SHUT}"
)
_ONCE = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('once')})|{_unspaced_words('once')}")
_CONTENT = Pattern(
    rf"(?i){_OPEN}(?:{_spaced_words('writes')}){_EDGE}(?:.*{_EDGE})?(?:{_spaced_words('places')}|{_spaced_words('replies')}){_SHUT}"
    rf"|(?:{_unspaced_words('writes')}).*"
)
_OWN = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('own')}){_SHUT}|{_unspaced_words('own')}")
_AUTHOR = Pattern(
    rf"(?i)^\W*(?:{_spaced_words('author')})|https?://\S+\s*[:：]?\s*$|^\W*https?://\S+[:：]\s*$"
    rf"|{_OPEN}(?:{_spaced_words('wrote')})(?:{_EDGE}[^.]{{0,30}})?[:：]\s*$|{_unspaced_words('author')}"
)
_FIRST_PERSON = Pattern(rf"(?i)^\W*(?:(?:{_spaced_words('first_person')}){_SHUT}|{_unspaced_words('first_person')})")
_INQUIT = Pattern(rf"(?i)[,\"”’]\s*(?:{_spaced_words('reported')}){_SHUT}")  # "…, he said and shut the hatch"
_REPORTED = Pattern(rf"(?i)^[\s\"'”’,.]*(?:{_spaced_words('reported')}){_SHUT}|^\W*(?:{_unspaced_words('reported')})")
_WITHDRAWN = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('withdrawn')}){_SHUT}|{_unspaced_words('withdrawn')}")


def _opens_with(before: str, *names: str) -> Pattern:
    """A pattern of a text that opens with a clause of its own out of some lists; what goes on may be about anything else ("never
    mind the failing test").
    """
    spaced, dense = ("|".join(join_alternatives("assertion", name, spaced=apart) for name in names) for apart in (True, False))
    return Pattern(rf"(?i)^\W*{before}(?:{spaced})(?:\W*$|\s*[,.;:!?…—–]|\s-)|^\W*(?:{dense})(?:\W*$|\s*[,.;:!?…，。！？、])")


_RETRACTS = _opens_with(r"(?:\w{1,9}[,.!…]*\s+){0,3}", "retracts")
_INTERJECTIONS = r"(?:(?:[ahmouäöéx]{1,5}|ok(?:ay)?|lol|haha)\W+){0,3}"
_DENIES = _opens_with(_INTERJECTIONS, "denies")
_CORRECTS = _opens_with(_INTERJECTIONS, "corrects")
_JESTS = Pattern(
    rf"(?i)(?:^|\W)(?:{_spaced_words('jests')})(?:\W|$)|(?:^|\s)/s(?:\W|$)|[🙃😂🤣😜😏🙄🤡]|{_unspaced_words('jests')}|ㅋㅋ"
)
_TRAILS = Pattern(r"^\s*(?:\.{2,}|…)\s*\w")  # an ellipsis behind which a thought of its own begins
_QUESTION = ("?", "？")
_CLOSING = " \t\r\n\"'`”’)*_"
_COLONS = (":", "：")


def unasserted_reason(text: str, start: int, end: int) -> str:
    """Why the characters ``[start, end)`` of a prompt are not what its author asserts; empty where nothing says so."""
    whole = tuple(span for span in split_sentences(text, 0, len(text)) if not span.aside and span.start < end and span.end > start)
    first, last = (whole[0].start, whole[-1].end) if whole else (start, end)
    if whole and _TRAILS.search(text[end:last]):
        whole, last = (*whole[:-1], replace(whole[-1], end=end)), end
    before, words, after = text[min(first, start) : start], text[start:end], text[end : max(last, end)]
    checks = (
        (any(is_question(text[span.start : span.end]) for span in whole), ASKED),
        (_AFTER.search(after) or _BEFORE.search(before) or _WITHIN.search(before + words), SUPPOSED),
        (is_limit(before) or any(_ONCE.search(text[span.start : span.end]) for span in whole), ONCE),
        (any(_JESTS.search(text[span.start : span.end]) for span in whole), JEST),
        (_is_text_to_write(text, start, whole), CONTENT),
        (_REPORTED.search(after) or any(_INQUIT.search(text[span.start : span.end]) for span in whole), ANOTHERS),
        (any(map(_is_author_line, text[:start].splitlines())), ANOTHERS),
        (_WITHDRAWN.search(text[end:]), WITHDRAWN),
    )
    return next((reason for sign, reason in checks if sign), "")


def is_retraction(prompt: str) -> bool:
    """Whether a person's prompt begins by taking back what they said before it."""
    return _RETRACTS.search(prompt.lstrip().split("\n", 1)[0]) is not None


def is_denial(sentence: str) -> bool:
    """Whether a sentence begins with a bare no."""
    return _DENIES.search(sentence) is not None


def is_correction(sentence: str) -> bool:
    """Whether a sentence begins by taking back, denying or correcting what stands before it."""
    return is_retraction(sentence) or is_denial(sentence) or _CORRECTS.search(sentence) is not None


def is_limit(sentence: str) -> bool:
    """Whether a sentence says when what stands before or behind it holds: for a while, or on a condition."""
    return _LIMITS.search(sentence) is not None


def is_restriction(sentence: str) -> bool:
    """Whether a sentence begins by leaving something out of what stands before it ("Unless …", "Except …", "Only …")."""
    return _RESTRICTS.search(sentence) is not None


def is_doubt(sentence: str) -> bool:
    """Whether a sentence begins with a doubt."""
    return _WITHIN.search(sentence) is not None


def is_question(sentence: str) -> bool:
    """Whether a sentence asks for an answer; a request in the form of a question does not."""
    asks = sentence.rstrip(_CLOSING).endswith(_QUESTION) or _ASKS.search(sentence) is not None
    return asks and _REQUEST.search(sentence) is None


def _is_text_to_write(text: str, start: int, whole: tuple[SentenceSpan, ...]) -> bool:
    """Whether the words that lead to a passage by a colon order to write it somewhere."""
    lead = text[:start].rstrip(_CLOSING + "“„«「")
    if not lead.endswith(_COLONS):
        inside = text[whole[0].start : start] if whole else ""
        lead = inside[: max(inside.rfind(colon) for colon in _COLONS) + 1]
    line = lead.rsplit("\n", 1)[-1]
    return bool(line) and _CONTENT.search(line) is not None and _OWN.search(line) is None


def _is_author_line(line: str) -> bool:
    """Whether a line names another author of what stands below it."""
    return _AUTHOR.search(line) is not None and _FIRST_PERSON.search(line) is None


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
_CUT_BEFORE = "\"'`“”„«»‘’「」 \t\n*_([>#-•–.)0123456789"
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
    if MARKS.search(rest) or (rest and not rest[-1].isspace() and rest.strip(_CUT_BEFORE)):
        return False
    if _is_filler(rest):
        return True
    clause = _CLAUSE.fullmatch(rest.rstrip(QUOTES) + " ")
    return clause is not None and _is_filler(clause[2]) and ":" not in clause[1] and not is_contrasting(clause[1])


def _is_filler(rest: str) -> bool:
    while any(map(str.isalpha, rest)):
        rest = rest.lstrip(_CUT_BEFORE)
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
