"""Decide whether a person asserts a passage that they typed, from its sentence and the sentences around it.

The lexicons of all languages are checked together. Any sign against an assertion counts, because a doubtful candidate is only held
for review. A passage cut out of a sentence may say the opposite of the sentence. This is decided without understanding the rest of
the sentence, which may be filler, a complete clause, or nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kept.core.memory import ANOTHERS, ASKED, CONTENT, JEST, ONCE, SUPPOSED, WITHDRAWN
from kept.core.pattern import Pattern
from kept.core.sentences import SentenceSpan
from kept.core.text import NEGATIONS, QUESTION_MARKS, tokenize
from kept.extraction.rules.patterns import EDGE, NO_LETTER, compile_pattern, find_sentences, list_words, match_words
from kept.profiles.lexicons import join_alternatives

_spaced_words = partial(join_alternatives, "assertion", spaced=True)
_unspaced_words = partial(join_alternatives, "assertion", spaced=False)
_CONDITION, _DOUBT = _spaced_words("condition"), _spaced_words("doubt")
_OPEN, _SHUT = rf"(?:^|{EDGE})", rf"(?:$|{EDGE})"
_REQUEST = match_words("assertion", "request")
_ASKS = Pattern(
    rf"(?i)^{NO_LETTER}*(?:(?:{_spaced_words('opener')})\W+)?(?:{_spaced_words('asks')}){_SHUT}|{_unspaced_words('asks')}"
)
_ASKS_LAST = Pattern(
    rf"(?i)(?:[,;–—-]\s*(?:(?:{_spaced_words('opener')})\s+)?(?:{_spaced_words('asks_last')})|{_unspaced_words('asks_last')})[\s.!?…]*$"
)
_BEFORE = Pattern(
    rf"(?i){_OPEN}(?:{_CONDITION}|{_DOUBT}){_SHUT}|(?:^|[,;:]\s*)(?:{_spaced_words('condition_opening')})\s"
    rf"|{_unspaced_words('condition')}|{_unspaced_words('doubt')}"
)
_AFTER = Pattern(
    rf"(?i)^[\s,;(]*(?:(?:{_spaced_words('but')})\s+)*(?:{_CONDITION}|{_spaced_words('condition_opening')}){_SHUT}"
    rf"|^{NO_LETTER}*(?:{_unspaced_words('condition_after')})"
)
_LIMITS = Pattern(rf"(?i)^\W*(?:(?:{_spaced_words('but')})\s+)+(?:{_CONDITION}){_SHUT}|{_OPEN}(?:{_spaced_words('limits')})")
# An exception to the text before it ("Unless …", "Except …", "Only …").
RESTRICTS = Pattern(
    rf"(?i)^{NO_LETTER}*(?:{join_alternatives('polarity', 'restricts', spaced=True)}){_SHUT}"
    rf"|^{NO_LETTER}*(?:{join_alternatives('polarity', 'restricts', spaced=False)})"
)
_DOUBTS = (
    Pattern(rf"(?i)^\W*(?:(?:{_spaced_words('doubter')}) )?(?:{_DOUBT}){_SHUT}"),
    compile_pattern(rf"(?i){_OPEN}(?:{_spaced_words('supposing')})|{_unspaced_words('supposing')}"),
    Pattern(rf"(?i)[,;(]\s*(?:\pL{{1,4}}\s+)?(?:{_DOUBT})\s+(?:{'|'.join(sorted(NEGATIONS))}){_SHUT}"),
)
# The words that introduce the statement depend on a condition: "what if from now on …", "falls wir ab jetzt …".
_CONSIDERS = compile_pattern(
    rf"(?i){_OPEN}(?:{_CONDITION}|{_spaced_words('condition_opening')}|{_DOUBT})[\s,]+(?:[^\s,;:]+\s+){{0,3}}"
    rf"(?:{join_alternatives('telling', 'from_now_on', spaced=True)}){_SHUT}"
)
_HEDGES = Pattern(rf"(?i)[,;]\s*(?:{_DOUBT}){_SHUT}|{_OPEN}(?:{_DOUBT})[\s.!…)]*$")  # ", maybe with uv"; "… from now on, perhaps."
_ONCE = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('once')})|{_unspaced_words('once')}")
_CONTENT = Pattern(
    rf"(?i){_OPEN}(?:{_spaced_words('writes')}){EDGE}(?:.*{EDGE})?(?:{_spaced_words('places')}|{_spaced_words('replies')}){_SHUT}"
    rf"|(?:{_unspaced_words('writes')}).*"
)
_OWN = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('own')}){_SHUT}|{_unspaced_words('own')}")
_AUTHOR = Pattern(
    rf"(?i)^\W*(?:{_spaced_words('author')})|https?://\S+\s*[:：]?\s*$|^\W*https?://\S+[:：]\s*$"
    rf"|{_OPEN}(?:{_spaced_words('wrote')})(?:{EDGE}[^.]{{0,30}})?[:：]\s*$|{_unspaced_words('author')}"
)
_FROM_NOW_ON = match_words("telling", "from_now_on")  # "From now on:" is no "From: somebody"
_FIRST_PERSON = Pattern(rf"(?i)^{NO_LETTER}*(?:(?:{_spaced_words('first_person')}){_SHUT}|{_unspaced_words('first_person')})")
_INQUIT = Pattern(rf"(?i)[,\"”’]\s*(?:{_spaced_words('reported')}){_SHUT}")  # "…, he said and shut the hatch"
_REPORTED = Pattern(rf"(?i)^[\s\"'”’,.]*(?:{_spaced_words('reported')}){_SHUT}|^{NO_LETTER}*(?:{_unspaced_words('reported')})")
_HEARSAY = Pattern(rf"(?i){_OPEN}(?:{_spaced_words('hearsay')})|{_unspaced_words('hearsay')}")  # "apparently we always …"
_WITHDRAWN = match_words("assertion", "withdrawn")


def _opens_with(before: str, *names: str) -> Pattern:
    """A pattern for a text that begins with an expression from some word lists, as a clause of its own. Without the clause boundary
    it may be about something else ("never mind the failing test").
    """
    spaced, dense = list_words("assertion", *names)
    return compile_pattern(
        rf"(?i)^{NO_LETTER}*{before}(?:{spaced})(?:{NO_LETTER}*$|\s*[,.;:!?…—–]|\s-)"
        rf"|^{NO_LETTER}*(?:{dense})(?:{NO_LETTER}*$|\s*[,.;:!?…，。！？、])"
    )


_RETRACTS = _opens_with(r"(?:\w{1,9}[,.!…]*\s+){0,3}", "retracts")
_INTERJECTIONS = r"(?:(?:[ahmouäöéx]{1,5}|ok(?:ay)?|lol|haha)\W+){0,3}"
_DENIES = _opens_with(_INTERJECTIONS, "denies")
_CORRECTS = _opens_with(_INTERJECTIONS, "corrects")
_JESTS = Pattern(
    rf"(?i)(?:^|\W)(?:{_spaced_words('jests')})(?:\W|$)|(?:^|\s)/s(?:\W|$)|[🙃😂🤣😜😏🙄🤡]|{_unspaced_words('jests')}|ㅋㅋ"
)
# The start of a sentence that asks for secrecy ("This is off the record.", "Between us: …").
CONFIDES = Pattern(
    rf"(?i)^\W*(?:(?:{_spaced_words('opener')})\W+)?(?:{_spaced_words('confides')})\W*(?:$|[,.;:!–—-]\s)|{_unspaced_words('confides')}"
)
_FIRST_CLAUSE = Pattern(r"[,;:–—]\s+|\s-\s+|[，、；：]\s*")
_OPENING = 60  # characters in which such a clause ends
_TRAILS = Pattern(r"^\s*(?:\.{2,}|…)\s*\w")  # a new thought begins after an ellipsis
_CLOSING = " \t\r\n\"'`”’)*_"
_COLONS = (":", "：")


def find_unasserted_reason(text: str, start: int, end: int, *, local: bool = False) -> str:
    """The reason why the author of a prompt may not assert the characters ``[start, end)``; empty if there is none.

    ``local``: a lexicon in ``lexicon/tellings`` found the passage, and no question. The words before it mean something else in the
    languages of these lists.
    """
    whole = find_sentences(text, start, end)
    first, last = (whole[0].start, whole[-1].end) if whole else (start, end)
    if whole and _TRAILS.search(text[end:last]):
        whole, last = [*whole[:-1], replace(whole[-1], end=end)], end
    before, words, after = "" if local else text[min(first, start) : start], text[start:end], text[end : max(last, end)]
    sentences = [text[span.start : span.end] for span in whole]
    if not local and any(map(is_question, sentences)):
        return ASKED
    if (
        (after and _AFTER.search(after))
        or (before and _BEFORE.search(before))
        or is_doubt(before + words)
        or _CONSIDERS.search(before + words)
        or _HEDGES.search(words)
    ):
        return SUPPOSED
    if (before and is_limit(before)) or any(map(_ONCE.search, sentences)):
        return ONCE
    if any(map(_JESTS.search, sentences)):
        return JEST
    if _is_text_to_write(text, start, whole):
        return CONTENT
    if (
        (after and _REPORTED.search(after))
        or any(_INQUIT.search(words) or _HEARSAY.search(words) for words in sentences)
        or any(map(_is_author_line, text[:start].splitlines()))
    ):
        return ANOTHERS
    return WITHDRAWN if end < len(text) and _WITHDRAWN.search(text[end:]) else ""


def is_retraction(prompt: str) -> bool:
    """True if a prompt begins by retracting what the person said before."""
    return _RETRACTS.search(prompt.lstrip().split("\n", 1)[0]) is not None


def find_retraction_end(sentence: str) -> int:
    """The end of a first clause that takes back what was said before ("scrap that, …"); 0 if there is none. The clause may name
    what it takes back if a new rule follows it ("scrap that rule about tabs, from now on …").
    """
    for cut in _FIRST_CLAUSE.finditer(sentence[:_OPENING]):
        clause, rule = sentence[: cut.end()], _FROM_NOW_ON.search(sentence[cut.end() :])
        if takes_back(clause) and (is_retraction(clause) or (rule and rule.start() == 0)):
            return int(cut.end())
    return 0


def takes_back(clause: str) -> bool:
    """True if a clause has words that take back something."""
    return _WITHDRAWN.search(clause) is not None


def is_denial(sentence: str) -> bool:
    """True if a sentence begins with a bare "no"."""
    return _DENIES.search(sentence) is not None


def is_correction(sentence: str) -> bool:
    """True if a sentence begins by retracting, denying or correcting the text before it."""
    return is_retraction(sentence) or is_denial(sentence) or _CORRECTS.search(sentence) is not None


def is_limit(sentence: str) -> bool:
    """True if a sentence limits the text before or after it to a period or a condition."""
    return _LIMITS.search(sentence) is not None


def is_doubt(sentence: str) -> bool:
    """True if a sentence begins with a doubt."""
    return any(doubt.search(sentence) for doubt in _DOUBTS)


def is_question(sentence: str) -> bool:
    """True if a sentence asks for an answer. A request in the form of a question does not count."""
    asks = sentence.rstrip(_CLOSING).endswith(QUESTION_MARKS) or _ASKS.search(sentence) is not None
    return asks and _REQUEST.search(sentence) is None


def asks_last(sentence: str) -> bool:
    """True if a sentence ends with a question that may lack its question mark ("…, why")."""
    return _ASKS_LAST.search(sentence) is not None


def _is_text_to_write(text: str, start: int, whole: Sequence[SentenceSpan]) -> bool:
    """True if words before a passage, ending with a colon, order somebody to write it somewhere."""
    lead = text[:start].rstrip(_CLOSING + "“„«「")
    if not lead.endswith(_COLONS):
        inside = text[whole[0].start : start] if whole else ""
        lead = inside[: max(inside.rfind(colon) for colon in _COLONS) + 1]
    line = lead.rsplit("\n", 1)[-1]
    return bool(line) and _CONTENT.search(line) is not None and _OWN.search(line) is None


def _is_author_line(line: str) -> bool:
    """True if a line names another author of the text below it."""
    return _AUTHOR.search(line) is not None and not any(each.search(line) for each in (_FIRST_PERSON, _FROM_NOW_ON))


# Several patterns, because the automaton of a single one would exceed its memory.
_FILLERS = (
    list_words("telling", "lead", "request", "link", "note"),
    list_words("telling", "remember", "from_now_on"),
    (*list_words("assertion", "opener"), *list_words("choice", "courtesy"), *list_words("", "agreement")),
)
_LET_GO = tuple(compile_pattern(rf"(?i)(?:{'|'.join(filter(None, fillers))})(?:[\W_]+|$)") for fillers in _FILLERS)
_CLAUSE = Pattern(r"(?s)(.*(?:[,;，、；…–—]|\.\.|\s-+>?))(\s.*|$)")
_POINTS_BACK = Pattern(rf"(?i)^{NO_LETTER}*(?:{_spaced_words('points_back')}){_SHUT}")  # "… – that is what interns do"
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
    """True if the sentence around the characters ``[start, end)`` of a prompt may give them another meaning."""
    own = find_sentences(text, start, end)
    first, last = (min(start, own[0].start), max(end, own[-1].end)) if own else (start, end)
    return not (_may_go_before(text[first:start]) and _may_go_behind(text[end:last]))


def is_disowned(text: str, start: int, end: int) -> bool:
    """True if a passage is not the person's statement: it is struck out, commented out, or a quotation that its line discusses."""
    while start < end and text[start] in _QUOTED:
        start += 1
    while start < end and text[end - 1] in _QUOTES_AND_STOPS:
        end -= 1
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(".!?")
    quoted = before[-1:] in _QUOTED and after[:1] in _QUOTED and before and after
    is_discussed = quoted and any(map(str.isalnum, after.split("\n", 1)[0]))
    return bool(is_discussed) or any(mark in text[start:end] for mark in _STRUCK) or before.endswith(_STRUCK)


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
    return _GOES_ON.match(rest.lstrip(QUOTES + "*_")) is not None and not (
        is_contrasting(rest) or _DEPENDS.search(rest) or _POINTS_BACK.match(rest)
    )


def is_contrasting(words: str) -> bool:
    """True if ``words`` reverse, reject or restrict something."""
    return any(pattern.search(words) for pattern in (_TURNS, _REJECTS)) or not NEGATIONS.isdisjoint(tokenize(words))
