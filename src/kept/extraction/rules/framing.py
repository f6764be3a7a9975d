"""Framing: decide from the text around a passage of a prompt whether it is the person's own words and can be understood alone.

An explicit telling must first have a free position, at the start of a prompt or after a finished sentence. After a colon, heading,
header, fence or unfinished line it may be pasted text. Then the words of neighbouring lines and sentences are judged.
"""

from collections.abc import Callable, Iterator, Sequence

from kept.core.event import Event
from kept.core.memory import Frame
from kept.core.pattern import Pattern
from kept.core.sentences import SentenceSpan, split_sentences
from kept.core.text import NEGATIONS, QUESTION_MARKS, tokenize
from kept.core.value import dataclass
from kept.extraction.rules.assertion import (
    MARKS,
    QUOTES,
    RESTRICTS,
    is_contrasting,
    is_correction,
    is_disowned,
    is_doubt,
    is_limit,
    is_question,
    takes_back,
)
from kept.extraction.rules.patterns import (
    EDGE,
    NO_LETTER,
    SPACE,
    compile_pattern,
    find_turn_before,
    has_match,
    match_words,
    skip_filler,
)
from kept.profiles.lexicons import TellingPatterns, join_alternatives, list_fragments, load_telling_patterns, word_list

_PARTS = 8
_ENDED = Pattern(r"[.!?…。！？][\"'”’)\]」』»*_]?$")
# A line without a full stop that was probably typed and not pasted, because it begins in lower case and has several words.
_PASSING = Pattern(r"^\s*\p{Ll}[\pL’']*,?(?: \S+)+[\pL\d)]$")
_MARKER = Pattern(r"(?:^|\n)[ \t]*(?:[-*•–]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]*$")
_POINTS_UP = Pattern(r"^[\s(]*(?:\^|↑|⬆|👆|☝|<-|←)")
_COLON = Pattern(r":\s|：")
# If the words before a colon match one of these patterns, they are a telling themselves.
_TELLS = (
    *("remember", "remember_this", "from_now_on", "later", "always", "never", "must"),
    *("ours", "decided", "correction", "note", "label", "here", "everywhere", "all_projects"),
)
# Words of a sentence that introduces somebody else's text: "can you answer this mail?"
_BRINGS = Pattern(rf"(?i)\b(?:{join_alternatives('assertion', 'brings', spaced=True)})\b")
# "Write a paragraph for the handbook: Never …" orders a text, and the words after the colon belong to it.
_COMPOSES = compile_pattern(
    rf"(?i)(?:^|[,;]\s)\W*(?:\pL+\W+){{0,3}}(?:{join_alternatives('assertion', 'composes', spaced=True)})[^:\n]{{2,80}}:\s+"
    rf"(?-i:[\p{{Lu}}\p{{Pi}}\"'„])"
    rf"|(?:{join_alternatives('assertion', 'composes', spaced=False)})[^:：\n]{{0,40}}[:：]"
)
_WRITES = match_words("assertion", "writes", "wrote")
_EXPLAINS = match_words("assertion", "explains")
_OWN = match_words("assertion", "own")
_SPACED, _DENSE = (list_fragments("assertion", "texts", spaced=apart) for apart in (True, False))
# A single pattern would exceed the memory of its automaton.
_TEXTS = (
    *(Pattern(rf"(?i)(?:^|{EDGE})(?:{'|'.join(_SPACED[at::_PARTS])})(?:$|{EDGE})") for at in range(_PARTS)),
    Pattern("|".join(_DENSE)),
)
_CODE_TEXTS = match_words("assertion", "code_texts")
_LEADS_ON = Pattern(rf"(?i)(?:^|{EDGE})(?:{join_alternatives('assertion', 'leads_on', spaced=True)})")
_PRESENTS = compile_pattern(rf"(?im)(?:^|{EDGE})(?:{join_alternatives('assertion', 'presents', spaced=True)})")
_DISMISSES = compile_pattern(rf"(?im)^{NO_LETTER}*(?:{join_alternatives('assertion', 'dismisses', spaced=True)})")
_ELICITS = Pattern(
    rf"(?i)(?:^|[,;:] )(?:{join_alternatives('assertion', 'elicits', spaced=True)}){EDGE}"
    rf"|(?:{join_alternatives('assertion', 'elicits', spaced=False)})"
)
# The salutation of a letter to somebody else, up to its comma; everything below it is the letter. An adjective that means something
# else in other sentences ("lieber", "caro") is one only at the end of its line.
_SALUTATION = compile_pattern(
    rf"(?i)^{NO_LETTER}*(?:{join_alternatives('assertion', 'salutations', spaced=True)})(?: ([^\s,:!]+)[^,:!\n]{{0,40}})?[,:!]"
    rf"|^{NO_LETTER}*(?:{join_alternatives('assertion', 'salutation_adjectives', spaced=True)})"
    rf" ([^\s,:!]+)[^,:!\n]{{0,40}}[,:!][ \t]*(?:\n|$)"
    rf"|(?:{join_alternatives('assertion', 'salutations', spaced=False)})"
)
_ASSISTANTS = word_list("assertion", "assistants")
_DEFINITE = word_list("choice", "definite")
_DENIES = Pattern(rf"(?i)(?:^|{EDGE})(?:{'|'.join(sorted(NEGATIONS))}|ever|mai)$")
_SENTENCE = Pattern(r"[.!?。！？]+\s+")
_ITEM = Pattern(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]")
_FULL_STOPS = (".", "!", "。", "！")
_COLONS = (":", "：")
# Opening quotation marks of any script, and bidirectional controls, at the start of a word.
_OPENED = Pattern(r"(?:^|[\s(:>])([\p{Pi}\"'‚„「『〈《(]|[\x{202A}-\x{202E}\x{2066}-\x{2069}])")
_HEADING = Pattern(r"(?m)^\s{0,3}#{1,6}\s+\S")
_QUOTATION = tuple(QUOTES.strip())
_STOPS = " \t\n.!。！"
_MARK = 40  # maximum characters of a list marker, greeting or arrow
_CUT, _LAST = 6, 400  # words up to which a prompt may be cut off; characters of the previous prompt that are read
_SHORT = 8  # words; a longer sentence is not a remark about its neighbours
_NEAR_SENTENCES, _ALL_SENTENCES = 6, 400  # sentences from a passage within which a sign counts: near, or any


@dataclass(frozen=True, kw_only=True, slots=True)
class TellingPosition:
    """The position of an explicit telling. Sentence ``place`` introduces it; ``first`` to ``last`` also include its passage.

    ``spoken`` are the patterns of the telling's language. Surrounding sentences may be in any language.
    """

    sentences: Sequence[SentenceSpan]
    place: int
    first: int
    last: int
    spoken: TellingPatterns


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sign:
    """A sign in a nearby sentence that a passage may not be meant. It counts in sentences ``first`` to ``last``, relative to the
    passage: -1 is the sentence before it, 0 its own, 1 the sentence after it.

    ``unjudged``: counts only for passages that no model judged. ``below``: also counts after an empty line. ``spoken``: ``says``
    also takes the telling patterns.
    """

    says: Callable[..., bool] | Pattern
    first: int
    last: int
    unjudged: bool = False
    below: bool = False
    spoken: bool = False


def find_frame(text: str, start: int, end: int, telling: TellingPosition | None = None) -> Frame | None:
    """The reason why the characters ``[start, end)`` of a prompt may be somebody else's words or cannot be understood alone. None
    if there is no reason.

    ``telling`` is given for a telling that rules found. No model has judged it, so it must also have a free position.
    """
    if telling and (not _is_free(text, telling) or _is_quotation(text, telling) or _is_asked_about(text[:start])):
        return Frame.QUOTED
    if is_disowned(text, start, end):
        return Frame.PART
    if _is_led(text, start):
        return Frame.LED
    if telling:
        spans, start, end = telling.sentences, telling.sentences[telling.first].start, telling.sentences[telling.last].end
    else:
        spans = [span for span in split_sentences(text, 0, len(text)) if not span.parenthetical]
    signs = [sign for sign in _SIGNS if telling or not sign.unjudged]
    spoken = _list_spoken(telling) if telling else ()
    for place, words, apart in _number_sentences(text, spans, start, end):
        near = [sign for sign in signs if sign.first <= place <= sign.last and (sign.below or not apart)]
        if any(_shows(sign, place, words, spoken) for sign in near):
            return Frame.LED if place <= 0 else Frame.QUOTED
    return None


def _number_sentences(text: str, spans: Sequence[SentenceSpan], start: int, end: int) -> Iterator[tuple[int, str, bool]]:
    """Yield each sentence of a prompt: its number relative to a passage, its text, and whether an empty line is between it and the
    passage before it.
    """
    before = [span for span in spans if span.end <= start]
    behind = [span for span in spans if span.start >= end][:_NEAR_SENTENCES]
    yield from ((place, _sentence_text(text, span), False) for place, span in enumerate(before, -len(before)))
    yield from ((0, _sentence_text(text, span), False) for span in spans if span.end > start and span.start < end)
    for place, span in enumerate(behind, 1):
        yield place, _sentence_text(text, span), any(not line.strip() for line in text[end : span.start].split("\n")[1:-1])


def is_announced(events: Sequence[Event], event: Event) -> bool:
    """True if the text before a prompt makes it a quotation: the previous prompt introduces a text or breaks off after a negation,
    or the last reply asks for a text.
    """
    earlier, reply = find_turn_before(events, event)
    words = tokenize(earlier)
    cut = len(words) <= _CUT and not _ENDED.search(earlier.rstrip()) and _DENIES.search(earlier.rstrip()) is not None
    return cut or _BRINGS.search(earlier[-_LAST:]) is not None or _asks_for_text(reply)


def _asks_for_text(reply: str) -> bool:
    """True if a reply ends by asking for a text: it has a question word or an order, followed by a word for a text."""
    end = len(reply.rstrip())
    last = [span for span in split_sentences(reply, max(0, end - _LAST), end) if not span.parenthetical][-1:]
    asked = _ELICITS.search(_sentence_text(reply, last[0])) if last else None
    return asked is not None and any(pattern.search(_sentence_text(reply, last[0])[asked.end() - 1 :]) for pattern in _TEXTS)


def sets_apart(lead: str) -> bool:
    """True if the words before a passage in its sentence mark it as not the person's own statement."""
    return MARKS.search(lead) is not None or _leaves_open(lead, announces=lead.rstrip(QUOTES).endswith(_COLONS))


def _is_led(text: str, start: int) -> bool:
    """True if the line before a passage leaves open whether the person means the passage."""
    lines = text[:start].splitlines() or [""]
    at_start = text[start - 1 : start] == "\n"
    own, above = ("", lines) if at_start else (lines[-1], lines[:-1])
    item = _ITEM.match(own or text[start:]) is not None
    lead = next((line.strip() for line in reversed(above) if line.strip() and not (item and _ITEM.match(line))), "")
    beside = _SENTENCE.split(own.rstrip())[-1] if own.strip() and not item else _SENTENCE.split(lead)[-1]
    if _LEADS_ON.search(beside) or (item and is_question(lead)):  # the items are what a person asks to choose from
        return True
    ended = not lead or lead.endswith(_FULL_STOPS)
    return not ended and _leaves_open(lead, announces=lead.endswith(_COLONS) or lead.startswith("#"))


def _leaves_open(lead: str, *, announces: bool) -> bool:
    if announces and is_contrasting(lead):
        return True
    return not _OWN.search(lead) and bool(_EXPLAINS.search(lead) or (announces and _WRITES.search(lead)))


def _is_free(text: str, telling: TellingPosition) -> bool:
    """True if no text introduces a telling, reports it, or refers to it from below."""
    spans, opening = telling.sentences, telling.first
    while opening and spans[opening].bullet and spans[opening - 1].bullet:
        opening -= 1
    before = text[: spans[opening].start].rstrip(" \t")
    marker = _MARKER.search(before[-_MARK:])
    before = before[: len(before) - len(marker[0])] if marker else before
    before, after = before.rstrip(), before[len(before.rstrip()) :]
    return not (
        not _can_begin_after(before, _list_spoken(telling), next_line=after.count("\n") == 1)
        or _is_below_colon(text[: spans[opening].start], telling.spoken)
        or _POINTS_UP.match(text[spans[telling.last].end :][:_MARK])
        or _is_spoken_of(_sentence_text(text, spans[telling.place]), telling.spoken)
    )


def _is_below_colon(before: str, patterns: TellingPatterns) -> bool:
    """True if a line above, in the same paragraph, ends with a colon and is not a telling itself."""
    above = (line.rstrip() for line in before.rpartition("\n\n")[2].split("\n")[:-1])
    sources = _list_telling_sources(patterns)
    return any(
        line.endswith(_COLONS) and not (_OWN.search(line) or any(has_match(each, line) for each in sources)) for line in above
    )


def _is_quotation(text: str, telling: TellingPosition) -> bool:
    """True if the telling is in a quotation that ends with its sentence, and the prompt has other words."""
    words = _sentence_text(text, telling.sentences[telling.place]).rstrip(_STOPS)
    filler = words[: skip_filler(words, telling.spoken)].rstrip()
    opened = filler[-1:] or words[:1]
    return opened in _QUOTATION and words[-1:] in _QUOTATION and bool(filler or text.strip(_STOPS) != words)


def _is_asked_about(before: str) -> bool:
    """True if a question and, below it, a heading precede a passage. The question is then about the text below the heading."""
    headings = [match.start() for match in _HEADING.finditer(before)]
    return bool(headings) and before[: headings[0]].rstrip().endswith(QUESTION_MARKS)


def _salutes(words: str) -> bool:
    """True if a sentence begins as a letter does, unless it is addressed to the assistant."""
    found = _SALUTATION.search(words)
    return found is not None and (found[1] or found[2] or "").casefold() not in _ASSISTANTS


def _presents(words: str) -> bool:
    return not _OWN.search(words) and (_PRESENTS.search(words) or _EXPLAINS.search(words)) is not None


def _is_about_text(words: str) -> bool:
    """True if a short sentence is about a text, but not one like "commit messages". A definite form ("the message") counts only at
    the end of the sentence, because further words would specify it.
    """
    if len(words.split()) > _SHORT:
        return False
    rest = _CODE_TEXTS.sub(" ", words)
    words = words if _WRITES.search(rest) else rest
    return any(
        _DEFINITE.isdisjoint(words[: found.start() + 1].casefold().split()[-2:]) or not any(map(str.isalnum, words[found.end() :]))
        for pattern in _TEXTS
        for found in pattern.finditer(words)
    )


def _list_spoken(telling: TellingPosition) -> tuple[TellingPatterns, ...]:
    """All telling patterns that every text loads, and those of the telling's language."""
    return tuple(dict.fromkeys((*load_telling_patterns(), telling.spoken)))


def _reports(words: str, spoken: Sequence[TellingPatterns]) -> bool:
    return any(has_match(patterns.reported, words) for patterns in spoken)


def _takes_back(words: str, spoken: Sequence[TellingPatterns]) -> bool:
    return any(has_match(patterns.taken_back, words) for patterns in spoken) and not any(
        has_match(patterns.withdraws, words[skip_filler(words, patterns) :]) for patterns in spoken
    )


def _asks_about(words: str, spoken: Sequence[TellingPatterns]) -> bool:
    return words.rstrip().endswith(QUESTION_MARKS) and any(
        has_match(patterns.outside, words) and not has_match(patterns.request, words[skip_filler(words, patterns) :])
        for patterns in spoken
    )


_SIGNS = (
    _Sign(says=is_limit, first=-1, last=-1),
    _Sign(says=is_limit, first=1, last=1),
    _Sign(says=RESTRICTS, first=1, last=1),
    _Sign(says=is_doubt, first=1, last=1),
    _Sign(says=is_correction, first=1, last=1, below=True),
    _Sign(says=_BRINGS, first=-_ALL_SENTENCES, last=-1),
    _Sign(says=_COMPOSES, first=-_ALL_SENTENCES, last=-1),
    _Sign(says=_salutes, first=-_ALL_SENTENCES, last=0, unjudged=True),
    _Sign(says=_presents, first=-1, last=-1),
    _Sign(says=_DISMISSES, first=1, last=1, below=True),
    _Sign(says=_DISMISSES, first=2, last=3, unjudged=True, below=True),
    _Sign(says=_reports, first=-1, last=-1, unjudged=True, spoken=True),
    _Sign(says=_reports, first=1, last=1, unjudged=True, spoken=True),
    _Sign(says=_takes_back, first=0, last=1, unjudged=True, below=True, spoken=True),
    _Sign(says=_asks_about, first=1, last=1, unjudged=True, below=True, spoken=True),
    _Sign(says=_is_about_text, first=-_NEAR_SENTENCES, last=-1, unjudged=True),
    _Sign(says=_is_about_text, first=1, last=_NEAR_SENTENCES, unjudged=True),
)
_REPORTS = (_reports, _is_about_text)


def _shows(sign: _Sign, place: int, words: str, spoken: Sequence[TellingPatterns]) -> bool:
    """True if the sentence ``place`` shows a sign. Behind a telling, "you wrote … again" gives the reason of the telling."""
    if isinstance(sign.says, Pattern):
        return sign.says.search(words) is not None
    found: bool = sign.says(words, *([spoken] if sign.spoken else []))
    blames = found and place > 0 and sign.says in _REPORTS and any(has_match(patterns.blames, words) for patterns in spoken)
    return found and not blames


def _is_spoken_of(words: str, patterns: TellingPatterns) -> bool:
    """True if a sentence becomes a telling only after a colon or opening quotation mark, and other words precede that mark."""
    if has_match(patterns.remember_this, words):  # the passage is before these words
        return False
    opened = [(mark.start(), "") for mark in (_COLON.search(words),) if mark]
    opened += [(mark.start(1), words[mark.end(1) :].lstrip()) for mark in _OPENED.finditer(words)]
    for start, inner in opened:
        lead = words[:start]
        rest = "" if _is_only_filler(lead.rstrip(" ,;"), patterns) else lead[skip_filler(lead, patterns) :].strip()
        asked = compile_pattern(patterns.request).match(rest) if patterns.request else None
        ordered = rest[asked.end(1) :].lstrip(SPACE) if asked else rest
        if not rest or any(has_match(source, some) for source in _list_telling_sources(patterns) for some in (lead, ordered)):
            continue
        aside = words[start] == "(" and not _EXPLAINS.search(lead)
        if not inner or (
            not aside and any(source and compile_pattern(source).match(inner) for source in _list_telling_sources(patterns))
        ):
            return True
    return False


def _list_telling_sources(patterns: TellingPatterns) -> list[str]:
    return [getattr(patterns, name) for name in _TELLS]


def _can_begin_after(before: str, spoken: Sequence[TellingPatterns], *, next_line: bool) -> bool:
    """True if a telling may begin after this text: it is empty, ends a sentence, is a typed line, takes back what was said before,
    or is only a greeting.
    """
    if not before or _ENDED.search(before[-2:]):
        return True
    if next_line and _PASSING.match(before.rsplit("\n", 1)[-1]):
        return True
    if not next_line and takes_back(_SENTENCE.split(before)[-1]):
        return True
    line = before.rstrip(" ,;–—-")
    return len(line) <= _MARK and "\n" not in line and any(_is_only_filler(line, patterns) for patterns in spoken)


def _is_only_filler(line: str, patterns: TellingPatterns) -> bool:
    return skip_filler(f"{line} x", patterns) == len(line) + 1


def _sentence_text(text: str, span: SentenceSpan) -> str:
    return text[span.start : span.end]
