"""Support: check that cited words exist, and measure how much of a claim they support. Nothing here trusts a model.

A rewording must not change the negations, restrictions and generalizations of a sentence, or attach its numbers to other words.
Markers are words that express these. The markers of all languages are searched together, because a claim may be in another language
than its evidence. Two texts are compared by the words they share: words after a marker in one text must follow a marker of the same
kind in the other.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product, takewhile
from typing import NamedTuple

from kept.core.error_fingerprint import find_error_lines, fingerprint_error
from kept.core.event import Event, EventKind
from kept.core.memory import ASKED, JEST, SUPPOSED
from kept.core.pattern import compile_late
from kept.core.sentences import split_sentences
from kept.core.statement import find_content
from kept.core.text import is_cjk
from kept.core.value import dataclass
from kept.extraction.rules.assertion import find_unasserted_reason, is_clipped, is_disowned
from kept.extraction.rules.framing import find_frame
from kept.extraction.rules.patterns import find_authorship_doubt, list_texts
from kept.profiles.lexicons import join_alternatives, number_words, word_list

_TEXT_CHARS = 4_000
_SCOPE = 3  # content words after a marker to which it applies
_SAME_CLAUSE_SHARE = 0.6  # two clauses say the same if they share this part of the shorter one's words
_MANY = 6
_OPENING = 60  # characters
_TAIL = 3  # words that identify the end of a clause
_STEM, _STEM_SHARE = 4, 0.5  # two words are forms of one if they share this many first letters and this part of the longer word
_HEADS = 2  # nearest words of a marker, to which it certainly applies
_JOINED = rf"\b(?:{join_alternatives('polarity', 'clause', spaced=True)})\b|{join_alternatives('polarity', 'clause', spaced=False)}"
_CLAUSE = compile_late(rf"[,;.:!?—()\n、。，；！？]+|\s[-–]\s|{_JOINED}", re.IGNORECASE)
# A word, or a character of a script without spaces. Kana are skipped, because they are mostly inflections.
_TOKEN = compile_late(r"[\u3400-\u9fff]|[\u30a0-\u30ff]{2,}|(?![\u3040-\u9fff])[^\W_](?:(?![\u3040-\u9fff])[\w'’./@+-])*")


def _marker_pattern(*names: str, end: str = r"(?![\w-])") -> str:
    spaced, unspaced = (join_alternatives("polarity", *names, spaced=apart) for apart in (True, False))
    return rf"(?:(?<![\w-])(?:{spaced}){end}|{unspaced})"


_BACKWARD = compile_late(_marker_pattern("denies_back"), re.IGNORECASE)
_DENIES = compile_late(_marker_pattern("denies", "denies_back"), re.IGNORECASE)
_RESTRICTS = compile_late(_marker_pattern("restricts"), re.IGNORECASE)
_GENERAL = compile_late(_marker_pattern("general"), re.IGNORECASE)
_ALWAYS = compile_late(_marker_pattern("always"), re.IGNORECASE)
_SOMETIMES = compile_late(_marker_pattern("sometimes"), re.IGNORECASE)
_DEPENDS = compile_late(rf"[?？]|{_marker_pattern('depends')}", re.IGNORECASE)
# Verbs by which a person rejects something without a negation.
_REJECTS = compile_late(_marker_pattern("rejects", end=r"\w*"), re.IGNORECASE)
# Negative in form, but orders.
_IDIOMS = compile_late(_marker_pattern("idioms"), re.IGNORECASE)
# Function words, to which a marker cannot apply.
_EMPTY = word_list("polarity", "empty") | word_list("polarity", "empty", spaced=False)
_UNITS = number_words()
#: The clause around a number. A point or comma inside the number does not end it.
COUNTED = compile_late(rf"[,;!?\n、。，；](?!\d)|\.(?=\s|$)|{_JOINED}", re.IGNORECASE)
_CODE = compile_late(r"`[^`\n]*`")
_NUMBER = compile_late(r"(?<![\w./:#-])v?(\d+(?:[.,]\d+)*)(?![\w/-]|:\d)(?:\s?(?:ms|s|m|h|d|px|kb|mb|gb|%))?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Marker:
    """The words to which a marker applies: the nearest words, all words within its reach, and all content words of its clause."""

    heads: frozenset[str]
    scope: frozenset[str]
    clause: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _MarkedText:
    """The content words of a text by clause, and its markers."""

    clauses: tuple[frozenset[str], ...]
    denied: tuple[_Marker, ...]
    restricted: tuple[_Marker, ...]


def opens_with_denial(text: str) -> bool:
    """True if a text begins by denying or rejecting something."""
    opening = text.lstrip(" \t\n-*>\"'“„«")[:_OPENING]
    return any(markers.match(opening) is not None for markers in (_DENIES, _REJECTS))


def drops_markers(claim: str, cited: Iterable[str]) -> bool:
    """True if a claim contains no denial or restriction, but its quotes do."""
    marks = (_DENIES, _RESTRICTS, _REJECTS)
    return not any(mark.search(claim) for mark in marks) and any(mark.search(text) for text in cited for mark in marks)


def find_distortion(claim: str, cited: Iterable[str], around: Iterable[str] = (), known: Iterable[str] = ()) -> str:
    """The way in which a claim distorts the sentences it cites: "polarity", "restriction", "value", "extent" or "numbers"; empty if
    it does not.

    A number may also come from the texts ``around`` the sentences. Each clause must share a word with the sentences, these texts or
    ``known``. Words that the claim negates must occur in the sentences themselves.
    """
    sources = tuple(text[:_TEXT_CHARS] for text in cited)
    marked, rests = _parse_marked_text(claim[:_TEXT_CHARS]), _parse_marked_text("\n".join(sources))
    whole = "\n".join(sources)
    words = frozenset[str]().union(*marked.clauses)
    if marked.denied and not (rests.denied or rests.restricted or _REJECTS.search(whole)):
        return "polarity"
    if not (marked.denied or marked.restricted or _REJECTS.search(claim)) and any(marker.heads & words for marker in rests.denied):
        return "polarity"
    if marked.restricted and not (rests.restricted or rests.denied):
        return "restriction"
    if not (marked.restricted or marked.denied) and any(marker.heads & words for marker in rests.restricted):
        return "restriction"
    spoken = frozenset[str]().union(*rests.clauses)
    if any(not marker.heads & spoken for marker in marked.denied) and not rests.restricted:
        return "polarity"
    near = spoken.union(*(clause for text in known for clause in _parse_marked_text(text[:_TEXT_CHARS]).clauses))
    if any(len(clause) > 2 and not clause & near for clause in marked.clauses):
        return "extent"
    if _is_reversed(marked.denied, rests, rests.denied) or _is_reversed(rests.denied, marked, marked.denied):
        return "polarity"
    if _is_reversed(marked.restricted, rests, rests.restricted) or _is_reversed(rests.restricted, marked, marked.restricted):
        return "restriction"
    if _ALWAYS.search(claim) and _SOMETIMES.search(whole) and not _GENERAL.search(whole):
        return "restriction"
    if swaps_word(claim, sources):
        return "value"
    if cuts_general_clause(claim, sources):
        return "extent"
    return "numbers" if _has_different_numbers(claim, sources, tuple(around)) else ""


class Word(NamedTuple):
    """A word of a text. ``form`` is the stem of a content word (``tells``), the digits of a number, or the word itself."""

    start: int
    end: int
    form: str
    tells: bool


def find_words(text: str) -> list[Word]:
    """The words of a text in order."""
    found = []
    for match in _TOKEN.finditer(text[:_TEXT_CHARS]):
        word = match[0].casefold().strip(".'’-/")
        number = _UNITS.get(word) or (word if word.isdigit() else "")
        stem = _word_stem(word)
        found.append(Word(match.start(), match.end(), number or stem or word, bool(number or stem)))
    return found


def changes_markers(claim: str, original: str, said: str) -> bool:
    """True if a claim denies, rejects, restricts or generalizes otherwise than the original, and the words ``said`` do not."""
    had, has, known = (
        Counter(match[0].casefold() for pattern in (_DENIES, _RESTRICTS, _REJECTS, _GENERAL) for match in pattern.finditer(text))
        for text in (original, claim, said)
    )
    new, gone = (has - had).keys(), (had - has).keys()
    return not new <= known.keys() or (bool(gone) and not new and gone.isdisjoint(known))


def has_other_order(claim: str, source: str) -> bool:
    """True if words that occur once in both texts have a different order, which may change the sequence of events or the actor."""
    words = [list(filter(None, map(_word_stem, _list_words(_ALWAYS.sub(" ", text))))) for text in (claim, source)]
    places = [{word: place for place, word in enumerate(each) if each.count(word) == 1} for each in words]
    shared = [place for word, place in places[1].items() if word in places[0]]
    ordered = [places[1][word] for word in places[0] if word in places[1]]
    return ordered != sorted(shared)


def is_inflected(word: str, other: str) -> bool:
    """True if two words begin alike, as forms of one word do, or a word with a typing error at its end."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return same >= _STEM and same >= _STEM_SHARE * max(len(word), len(other))


def swaps_word(claim: str, cited: Sequence[str]) -> bool:
    """True if a claim has another content word at the place of a cited one ("fusty everywhere" for "musty everywhere")."""
    said, claimed = ([_list_words(clause) for text in texts for clause in _split_clauses(text)] for texts in (cited, (claim,)))
    known, stems = ({_word_stem(word) for words in clauses for word in words} for clauses in (said, claimed))
    for words, own in product(said, claimed):
        changes = SequenceMatcher(None, words, own, autojunk=False).get_opcodes()
        if 2 * sum(end - start for kind, start, end, *_ in changes if kind == "equal") < min(len(words), len(own)):
            continue
        for _, start, end, first, last in (change for change in changes if change[0] == "replace"):
            parts = words[start:end], own[first:last]
            dropped, put = ([stem for word in part if (stem := _word_stem(word))] for part in parts)
            new = len(dropped) == len(put) == 1 and dropped[0] not in stems and put[0] not in known
            if new and not is_inflected(dropped[0], put[0]) and not any(_is_marker(" ".join(part)) for part in parts):
                return True
    return False


def cuts_general_clause(claim: str, cited: Iterable[str]) -> bool:
    """True if a claim ends a general clause before the cited one ends ("everything I do" for "everything I do for them")."""
    ends = [words for clause in _split_clauses(claim) if _GENERAL.search(clause) and len(words := _list_words(clause)) >= _TAIL]
    claimed = set(_list_words(claim))
    for said in (_list_words(clause) for text in cited for clause in _split_clauses(text)):
        for place in range(_TAIL, len(said) - 1):
            if any(words[-_TAIL:] == said[place - _TAIL : place] for words in ends) and not claimed.issuperset(said[place:]):
                return True
    return False


def _list_words(text: str) -> list[str]:
    return [match[0].casefold().strip(".'’-/") for match in _TOKEN.finditer(text[:_TEXT_CHARS])]


def is_qualified(rest: str) -> bool:
    """True if the rest of a sentence may change the meaning of a passage, because it denies, restricts, doubts or asks."""
    return any(pattern.search(rest) for pattern in (_DENIES, _RESTRICTS, _SOMETIMES, _DEPENDS))


def _is_reversed(markers: Sequence[_Marker], other: _MarkedText, others: Sequence[_Marker]) -> bool:
    """True if the words after one of ``markers`` occur without a marker in a similar clause of the other text."""
    theirs = frozenset[str]().union(*(marker.scope for marker in others))
    return any(
        not marker.scope & theirs
        and any(marker.heads & clause and _is_similar_clause(marker.clause, clause) for clause in other.clauses)
        for marker in markers
    )


def _is_similar_clause(left: frozenset[str], right: frozenset[str]) -> bool:
    common = len(left & right)
    return common >= _SAME_CLAUSE_SHARE * min(len(left), len(right)) and (
        2 * common >= min(len(left), _MANY) or (right <= left and common > 1)
    )


@lru_cache(maxsize=256)
def _parse_marked_text(text: str) -> _MarkedText:
    clauses: list[frozenset[str]] = []
    denied: list[_Marker] = []
    restricted: list[_Marker] = []
    for clause in _split_clauses(_IDIOMS.sub(" ", text)):
        spans = [(match.start(), match.end(), _word_stem(match[0])) for match in _TOKEN.finditer(clause)]
        telling = [(start, end, word) for start, end, word in spans if word and not _is_marker(clause[start:end])]
        whole = frozenset(word for _, _, word in telling)
        clauses.append(whole)
        for pattern, marks in ((_DENIES, denied), (_RESTRICTS, restricted)):
            marks += [_build_marker(match, telling, whole) for match in pattern.finditer(clause)]
    return _MarkedText(clauses=tuple(clauses), denied=tuple(denied), restricted=tuple(restricted))


def _build_marker(match: "re.Match[str]", telling: list[tuple[int, int, str]], clause: frozenset[str]) -> _Marker:
    """Make a marker of a match. It applies to the first words after it, or to those before it in languages that put it last."""
    behind = [word for start, _, word in telling if start >= match.end()][:_SCOPE]
    ahead = [word for _, end, word in telling if end <= match.start()][::-1][:_SCOPE]
    before = ahead if _BACKWARD.fullmatch(match[0]) or not behind else []
    heads = frozenset((*behind[:_HEADS], *before[:_HEADS]))
    return _Marker(heads=heads, scope=frozenset((*before, *behind)), clause=clause)


def _split_clauses(text: str) -> Iterator[str]:
    return (clause for clause in _CLAUSE.split(text) if clause and clause.strip())


def _is_marker(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in (_DENIES, _RESTRICTS, _ALWAYS))


def _word_stem(token: str) -> str:
    """The stem of a content word; empty for any other token."""
    word = token.casefold().strip(".'’-/")
    if word in _EMPTY or not word or word.isdigit():
        return ""
    for ending in ("ing", "ed", "es", "s", "en", "e"):
        if len(word) - len(ending) >= 4 and word.endswith(ending) and word.isalpha():
            return word.removesuffix(ending)
    return word


def _has_different_numbers(claim: str, sources: Iterable[str], around: Sequence[str]) -> bool:
    """True if a claim contains a number that occurs nowhere, or attaches a cited number to other words."""
    cited = [pair for text in sources for pair in _find_numbers(text)]
    known = "\n".join(around)
    for number, words in _find_numbers(_CODE.sub(" ", claim)):  # numbers in code are parts of names
        near = [others for same, others in cited if same == number]
        if (
            not near
            and number not in known
            and (number not in _UNITS.values() or number in claim or any(words & others for _, others in cited))
        ):
            return True
        elsewhere = frozenset[str]().union(*(others for same, others in cited if same != number))
        if near and words & elsewhere and not any(words & others for others in near):
            return True
    return False


@lru_cache(maxsize=256)
def _find_numbers(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The numbers of a text, each with the content words of its clause."""
    found: list[tuple[str, frozenset[str]]] = []
    for clause in COUNTED.split(text):
        tokens = [match[0] for match in _TOKEN.finditer(clause)]
        words = frozenset(word for token in tokens if (word := _word_stem(token)) and not _NUMBER.fullmatch(token))
        numbers = [match[1] for match in _NUMBER.finditer(clause)] + [
            _UNITS[word] for token in tokens if (word := token.casefold()) in _UNITS
        ]
        found += [(number.replace(",", "").rstrip("."), words) for number in numbers]
    return tuple(found)


QUOTE_CHARS = 400
_QUOTE_READ = 8_000
# Marks that belong to a passage if they enclose it.
_WRAPS = frozenset("`*_\"'“”„‟‘’‚‹›«»「」『』")
_ENDS = ".!?。！？…"
_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（"}
# A name in Latin letters with its joining characters. Half of it would be another name.
_NAME = compile_late(r"(?:--|-(?=\d)|\.{0,2}/|[@$~.])?[A-Za-z0-9_]+(?:(?:[-/@\\'’]+|\.(?=[a-z0-9_]))[A-Za-z0-9_]+)*(?:[+#]+|%)?")
_NAME_CHARS = 80
_UNIT = compile_late(r"(?<=\d)\s?[%‰°€$£¥]+(?=[\s.,;:!?)]|$)")
# Text that a model adds around a quote: the header of the event, tags.
_HEAD = compile_late(r"(?i)^\W*(?:e\d+\W+)?(?:person|user|assistant|note|output)\s*:\s*")
_TAG = compile_late(r"</?[a-z]+>")
_LISTED = compile_late(r"(?m)^[ \t]*([-+•]|\d{1,3}[.)])(?=\s)")
_LINKED = compile_late(r"(?<=\])(\([^()\s]*\))")
_AROUND = 2_000
_ANSWER = compile_late(r"(?i)^\W*(?:no|nope|nein|non|não|yes|ok|okay|ja|sí|oui|sim)[.!]\s+")
_LEFT_OUT = compile_late(r"[\[(]?(?:…|\.{3,})[\])]?")


def find_verbatim(quote: str, event: Event) -> str:
    """The quote as it occurs in the event's own text, at most 400 characters; else empty. Compares only letters and digits."""
    text, span = _find_in_event(quote, event)
    return text[slice(*span)].strip()[:QUOTE_CHARS].strip()


def _find_in_event(quote: str, event: Event) -> tuple[str, tuple[int, int]]:
    """The first text of an event that contains a quote, and the span of the quote in it. The text is empty if none contains it."""
    for text in list_texts(event) if len(quote) <= _QUOTE_READ else ():
        if span := locate(quote, text):
            return text, span
    return "", (0, 0)


def complete_passage(quote: str, event: Event) -> str:
    """The quote as it occurs in the event. If the rest of its sentences denies, restricts or asks, they are included."""
    text, (start, end) = _find_in_event(quote, event)
    if not text:
        return ""
    lead, first, last = _sentences_around(text, start, end)
    if answer := _ANSWER.match(text[first:start]):
        first += answer.end()
    cut_off = f"{text[slice(*lead)]} {text[first:start]} {text[end:last]}"
    clipped = is_qualified(f"{cut_off}{text[end - 1 : end]}") or (
        event.kind is EventKind.PROMPT and (is_clipped(text, start, end) or is_disowned(text, start, end))
    )
    passage = text[(lead[0] if lead[0] < lead[1] else first) : last] if clipped else text[start:end]
    return passage.strip() if "\n" in passage.strip() else _LISTED.sub("", passage, count=1).strip()


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """The span of a quote in a text, in whole words. An ellipsis in the quote may skip text between its first and last word."""
    found = _locate(quote, text, 0)
    parts = [part.strip() for part in _LEFT_OUT.split(quote) if part.strip()]
    if found is None and len(parts) > 1:
        places: list[tuple[int, int]] = []
        for part in parts:
            place = _locate(part, text, places[-1][1] if places else 0)
            if place is None:
                return None
            places.append(place)
        found = places[0][0], places[-1][1]
    return found


def _locate(quote: str, text: str, after: int) -> tuple[int, int] | None:
    """The span where the letters and digits of a quote follow one another. Ignores all others, and prefers whole words."""
    bare = _HEAD.sub("", _TAG.sub("", html.unescape(quote)))
    widened: tuple[int, int] | None = None
    for words in filter(None, dict.fromkeys((_fold_letters(quote)[0], _fold_letters(bare)[0]))):
        for letters, places in (_fold_letters(text), _fold_letters(text, marks=False)):
            at = letters.find(words, bisect_left(places, after))
            while at >= 0:
                start, end = places[at], places[at + len(words) - 1] + 1
                whole = _widen_to_words(text, start, end)
                if whole == (start, end):
                    return _include_marks(text, start, end)
                widened = widened or _include_marks(text, *whole)
                at = letters.find(words, at + 1)
    return widened


def _widen_to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole words and names, because half a word may say the opposite."""
    while start > 0 and _is_joining_char(text[start - 1]) and _is_joining_char(text[start]):
        start -= 1
    while end < len(text) and _is_joining_char(text[end - 1]) and _is_joining_char(text[end]):
        end += 1
    names = [*_NAME.finditer(text, max(0, start - _NAME_CHARS), start + 1), *_NAME.finditer(text, end - 1, end + _NAME_CHARS)]
    first = min((name.start() for name in names if name.start() < start < name.end()), default=start)
    return first, max((name.end() for name in names if name.start() < end < name.end()), default=end)


def _include_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span by enclosing marks, the unit of its last number and the full stop that belong to it."""
    while start > 0 and text[start - 1] in _WRAPS:
        start -= 1
    if unit := _UNIT.match(text, end):
        end = unit.end()
    while end < len(text) and (text[end] in _WRAPS or text[end] in _ENDS or _closes_bracket(text, start, end)):
        end += 1
    return start, end


def _closes_bracket(text: str, start: int, end: int) -> bool:
    """True if the next character closes a bracket that was opened in the passage."""
    opening = _BRACKETS.get(text[end], "")
    return bool(opening) and text.count(opening, start, end) > text.count(text[end], start, end)


def _is_joining_char(char: str) -> bool:
    return char.isalnum() and not is_cjk(char)


@lru_cache(maxsize=128)
def _fold_letters(text: str, *, marks: bool = True) -> tuple[str, list[int]]:
    """The letters and digits of a text, folded for case and accents, and the index of each. Unless ``marks``, list markers and link
    targets are left out.
    """
    passed = () if marks else (*_LISTED.finditer(text), *_LINKED.finditer(text))
    left = {place for found in passed for place in range(*found.span(1))}
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if place not in left:
            folded = char.lower() if char.isascii() else unicodedata.normalize("NFKD", char).casefold()
            letters = [letter for letter in folded if letter.isalnum()]
            chars += letters
            places += [place] * len(letters)
    return "".join(chars), places


def find_whole_sentences(quote: str, event: Event) -> str:
    """The whole sentences that contain a quote, with the lead-in line of a list, because words outside the quote may reverse it."""
    text, span = _find_in_event(quote, event)
    if not text:
        return quote
    lead, first, last = _sentences_around(text, *span)
    return text[min(lead[0], first) : last].strip()


def _sentences_around(text: str, start: int, end: int) -> tuple[tuple[int, int], int, int]:
    """The span of the line that introduces the list around a passage (or an empty span), and the start and end of its sentences."""
    around = [
        span for span in split_sentences(text, max(0, start - _AROUND), min(len(text), end + _AROUND)) if not span.parenthetical
    ]
    own = [span for span in around if span.start < end and span.end > start]
    if not own:
        return (start, start), start, end
    first, last = min(start, own[0].start), max(end, own[-1].end)
    before = (span for span in reversed(around) if span.end <= own[0].start and not span.bullet)
    lead = next(before, None) if own[0].bullet else None
    return ((lead.start, lead.end) if lead and text[lead.end - 1] in ":：" else (first, first)), first, last


def find_quote_doubt(quote: str, event: Event) -> str:
    """The reason why the author of a prompt may not mean a quote from it; empty if there is none."""
    found = locate(quote, event.text)
    if event.kind is not EventKind.PROMPT or found is None:
        return ""
    return find_authorship_doubt(event) or find_frame(event.text, *found) or ""


def is_unasserted(quote: str, event: Event) -> bool:
    """True if the sentence of a quote asks, supposes or jokes; a request asks nothing."""
    found = locate(quote, event.text)
    return found is not None and find_unasserted_reason(event.text, *found) in (ASKED, SUPPOSED, JEST)


def measure_support(content: str, *texts: str) -> float:
    """The share of a sentence's content words that occur in the texts, from 0 to 1."""
    words = find_content(content)
    known = {word for text in texts for word in find_content(text[:_QUOTE_READ])}
    return len(words & known) / len(words) if words else 0.0


def fingerprint_failure(event: Event) -> str:
    """The fingerprint of the first error in an event's text; empty if there is none."""
    lines = find_error_lines(event.text)
    return fingerprint_error(lines[0]) if lines else ""
