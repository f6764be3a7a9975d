"""Passages: find the words of a suggestion, unchanged and contiguous, in text that the person typed or chose.

White space, quotation marks, dashes, case and the final stop may differ, and markup may enclose the whole. Any other difference
counts as rewording.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

from kept.core.event import Author, Event, EventKind, is_prompt
from kept.core.pattern import Pattern
from kept.core.sentences import split_sentences
from kept.core.spans import event_spans
from kept.core.spans.marks import Span, SpanKind
from kept.core.text import NEGATIONS, is_cjk, tokenize
from kept.core.value import dataclass, replace
from kept.extraction.rules.patterns import NO_LETTER, compile_pattern, find_sentences, list_words
from kept.profiles.lexicons import join_alternatives, word_list

LEAST = 4  # content words that a passage needs to be certain
LONGEST_PASSAGE = 1_000  # characters of a typed passage; output files show only its beginning
_FOREIGN = "\0"  # replaces a character that the person did not type
_FOLDED = str.maketrans(
    {**dict.fromkeys("“”„«»「」『』", '"'), **dict.fromkeys("‘’‚´", "'"), **dict.fromkeys("–—", "-"), "\u200b": "", "\ufeff": ""}
)
_ENCLOSING = " \t\r\n\"'`*_>"
_STOPS = " .!。！"
_CLAUSE = Pattern(r"[.,;:!?…()\n，、。；：！？—–]")
_DENIALS = "".join(word_list("choice", "denies", spaced=False))


_words = partial(join_alternatives, "choice")
_AGREEMENT, _COURTESY = join_alternatives("", "agreement"), _words("courtesy")
_TAKES = list_words("choice", "takes")
_CHOSEN = compile_pattern(
    rf"(?i)^{NO_LETTER}*(?:(?:{_AGREEMENT}){NO_LETTER}+)?(?:(?:{_TAKES[0]}){NO_LETTER}+|(?:{_TAKES[1]}){NO_LETTER}*){{0,3}}"
    rf"(?:(?:{_words('articles')}) )?"
    rf"(?:{_words('options')})?{NO_LETTER}*(?P<mark>[1-9]|1\d|[a-hA-H])(?:{_words('ordinal')})?"
    rf"(?:{NO_LETTER}*(?:{_COURTESY}))?{NO_LETTER}*$"
)
_AGREED = compile_pattern(rf"(?i)^{NO_LETTER}*(?:{_AGREEMENT})(?:{NO_LETTER}+(?:{_AGREEMENT}|{_COURTESY}))?{NO_LETTER}*$")
_ITEM = Pattern(
    rf"(?mi)^[ \t]*(?:[-*+>][ \t]+|#{{1,6}}[ \t]+)?\W{{0,3}}(?:{_words('options')})?[ \t]*\(?(?P<mark>\d{{1,2}}|[A-H])[.):][*_ \t]"
)
_NAME = 30  # maximum characters of a quoted name
_ANSWER = 60  # maximum characters of an answer that only makes a choice
_FUNCTION_WORDS = word_list("choice", "function")


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """The characters ``[start, end)`` of an event at ``place``. If the assistant wrote them, ``answer`` is the short reply with
    which the person chose them ("yes, option 2").

    ``cut`` means that words just before it, in the same clause, negate it.
    """

    place: int
    start: int
    end: int
    event: Event
    answer: Event | None = None
    cut: bool = False

    @property
    def words(self) -> str:
        """The text of the passage."""
        return self.event.text[self.start : self.end]


def find_passage(words: str, events: Sequence[Event], first: int, place: int, session: str) -> Passage | None:
    """Search the prompts between the event ``first`` and ``place``, latest first, for the words of a suggestion. Only prompts of
    the same session count. None if no prompt contains the words.
    """
    needle = _normalize_quote(words)
    if not needle:
        return None
    for at in range(place - 1, first - 1, -1):
        event = events[at]
        if event.session != session or event.kind is not EventKind.PROMPT or event.author is not Author.HUMAN:
            continue
        passage = _find_in_prompt(needle, event, at) or _find_in_choice(needle, events, first, at)
        if passage is not None:
            return passage
    return None


def widen_to_sentences(passage: Passage) -> Passage | None:
    """Widen a passage to whole sentences. None if the person did not type all of them."""
    text, start, end = passage.event.text, passage.start, passage.end
    own = find_sentences(text, start, end)
    first, last = (min(start, own[0].start), max(end, own[-1].end)) if own else (start, end)
    if passage.answer or _FOREIGN in _mask_foreign(passage.event)[first:last]:
        return None
    return replace(passage, start=first, end=last, cut=False)


@lru_cache(maxsize=20_000)  # the browser counts these words for all held candidates on every page
def count_content_words(words: str) -> int:
    """The number of content words in a text. Two characters of a script without spaces count as one word."""
    dense, spaced = 0, words
    if not words.isascii():
        dense = sum(map(is_cjk, words))
        spaced = "".join(" " if is_cjk(char) else char for char in words)
    plain = [word.strip("'-") for word in "".join(char if char.isalnum() or char in "'’-_./" else " " for char in spaced).split()]
    return dense // 2 + sum(1 for word in plain if len(word) > 1 and word.casefold() not in _FUNCTION_WORDS)


def content_words(text: str) -> frozenset[str]:
    """The set of content words in a text, for comparison."""
    return frozenset(word for word in tokenize(text) if len(word) > 1 and word not in _FUNCTION_WORDS)


def _find_in_prompt(needle: str, event: Event, place: int) -> Passage | None:
    found = _find_words(needle, _mask_foreign(event))
    if found is None:
        return None
    return Passage(place=place, start=found[0], end=found[1], event=event, cut=_is_denied(event.text, found[0]))


def _find_in_choice(needle: str, events: Sequence[Event], first: int, place: int) -> Passage | None:
    """Find the words in the option of the assistant's last reply that a short answer chose."""
    answer = events[place]
    text = answer.text.strip()
    if len(text) > _ANSWER or "?" in text:
        return None
    at, reply = _find_reply(events, first, place)
    if reply is None:
        return None
    for start, end in _find_chosen_spans(text, reply.text):
        found = _find_words(needle, _FOREIGN * start + reply.text[start:end])
        if found is not None:
            cut = _is_denied(reply.text, found[0])
            return Passage(place=at, start=found[0], end=found[1], event=reply, answer=answer, cut=cut)
    return None


def _find_reply(events: Sequence[Event], first: int, place: int) -> tuple[int, Event | None]:
    """The last reply before an answer and its index, if no prompt is between them."""
    for at in range(place - 1, first - 1, -1):
        event = events[at]
        if event.session != events[place].session or is_prompt(event):
            break
        if event.kind is EventKind.RESPONSE and event.author is Author.ASSISTANT and event.text.strip():
            return at, event
    return -1, None


def _find_chosen_spans(answer: str, reply: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a reply that a short answer chose: the numbered option, or the question at the end."""
    chosen = _CHOSEN.match(answer)
    if chosen is not None:
        items = [(match.group("mark").casefold(), match.start()) for match in _ITEM.finditer(reply)]
        for number, (mark, start) in enumerate(items):
            if mark == chosen.group("mark").casefold():
                following = items[number + 1][1] if number + 1 < len(items) else _find_paragraph_end(reply, start)
                yield start, following
    elif _AGREED.match(answer):
        end = len(reply.rstrip())
        if reply[end - 1 : end] in ("?", "？"):
            yield max(span.start for span in split_sentences(reply, 0, end) if not span.parenthetical), end


def _find_paragraph_end(text: str, start: int) -> int:
    end = text.find("\n\n", start)
    return end if end >= 0 else len(text)


def _normalize_quote(words: str) -> str:
    return _fold(words.strip(_ENCLOSING))[0].strip(_ENCLOSING).rstrip(_STOPS)


def _mask_foreign(event: Event) -> str:
    """The text of a prompt with a placeholder for each character that the person did not type. A quoted name counts as typed."""
    parts, at = [], 0
    for span in (span for span in event_spans(event) if span.is_typed or _is_name(event.text, span)):
        parts += [_FOREIGN * (span.start - at), event.text[span.start : span.end]]
        at = span.end
    return "".join([*parts, _FOREIGN * (len(event.text) - at)])


def _is_name(text: str, span: Span) -> bool:
    words = text[span.start : span.end]
    return span.kind is SpanKind.QUOTED and len(words) <= _NAME and "\n" not in words and not words.lstrip().startswith(">")


def _fold(text: str) -> tuple[str, list[int]]:
    """Fold a text for comparison. Returns the folded text, and the original index of each character."""
    folded: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        plain = " " if char.isspace() else char.translate(_FOLDED).casefold()
        if not plain or (plain == " " and folded and folded[-1] == " "):
            continue
        for part in plain:
            folded.append(part)
            places.append(place)
    return "".join(folded), places


def _find_words(needle: str, text: str) -> tuple[int, int] | None:
    """The span ``[start, end)`` of the text in which ``needle`` occurs as whole words; None if it does not occur."""
    folded, places = _fold(text)
    at = folded.find(needle)
    while at >= 0:
        end = at + len(needle)
        if _is_word_edge(folded, at) and _is_word_edge(folded, end):
            return _include_outer_mark(text, places[at], places[end - 1] + 1)
        at = folded.find(needle, at + 1)
    return None


def _include_outer_mark(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a passage that cuts off the outer backtick of a code span, or the underscore of a name (``_private``, ``prefix_``)."""
    before, behind = text[max(0, start - 1) : start], text[end : end + 1]
    for mark, is_torn in (("`", text.count("`", start, end) % 2), ("_", (before == "_") != (behind == "_"))):
        if is_torn and mark in (before, behind):
            return (start, end + 1) if behind == mark else (start - 1, end)
    return start, end


def _is_word_edge(text: str, place: int) -> bool:
    """True if a word may begin or end at this index."""
    before, after = text[place - 1 : place], text[place : place + 1]
    return not (before.isalnum() and after.isalnum()) or is_cjk(before) or is_cjk(after)


def _is_denied(text: str, start: int) -> bool:
    """True if a negation just before a passage, in its clause, makes the passage alone say the opposite."""
    before = text[max(0, start - 200) : start]
    clause = before[max((match.end() for match in _CLAUSE.finditer(before)), default=0) :]
    return not NEGATIONS.isdisjoint(tokenize(clause)) or any(char in clause for char in _DENIALS)
