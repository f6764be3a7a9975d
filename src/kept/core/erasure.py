"""What is to be forgotten, as it may stand in any text: folded for case, accents, lookalikes, markup, escapes, numbers of lines,
base64 and white space.

A text holds the words where a run of :data:`RUN` words of a sentence stands in it, or the whole of a shorter sentence. Knows texts,
not where they lie.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import combinations
from math import ceil
from typing import Protocol
from urllib.parse import unquote

from kept.core.codec import digest
from kept.core.event import FORGOTTEN_MARK
from kept.core.pattern import Pattern, compile_late
from kept.core.redact.lookalikes import PLAIN
from kept.core.redact.values import decode_base64
from kept.core.text import is_cjk, jaccard_similarity, normal_form, one_line, tokenize
from kept.core.value import dataclass, field, replace

RUN = 6  # words of a sentence that may not remain together
NEAR = 0.5  # the share of common words from which a sentence counts as a near copy
_LEAST_WORDS = 4  # of a sentence that can have near copies: fewer words are alike by chance
_EXCERPT = 200  # characters of a text that are shown
_WINDOW, _REACH = 4_096, 2_048  # characters looked at together, and how far a run that begins in them may go on
_AT_ONCE = 400  # runs in one pattern
_PATTERN_BYTES = 2**27

_CLOSING = compile_late(r"[\W_]*\Z")
_NOT_LETTERS = compile_late(r"[\W_]+")
_NOT_ASCII = compile_late(r"[^\x00-\x7f]+")
_ASCII_MARKS = bytes(code for code in range(128) if not chr(code).isalnum())
_ASCII_LOWER = bytes(range(256)).lower()
_FOLDED = str.maketrans({chr(code).lower(): plain.lower() for code, plain in PLAIN.items()})
_TAG = r"</?[A-Za-z][^<>\n]{0,200}>|&#?\w{1,8};"
# Escapes of escapes: a bound on the backslashes keeps the search linear on text that is nothing else. Each alternative begins with
# a letter, so that the engine skips what begins none of them: several times faster.
_ESCAPE = r"\\\\{0,15}u(?P<code>[0-9a-fA-F]{4})|\\\\{0,15}[nrtbf]"
_OCTET = "(?:25){0,4}[0-9a-fA-F]{2}"
_IN_URL = rf"%(?P<octets>{_OCTET}(?:%{_OCTET})*)"
_RUN64 = "[A-Za-z0-9+/_-]"
_PACKED = (  # with its further lines
    rf"(?P<packed>(?:(?<!{_RUN64})|(?<=\\[nrt])){_RUN64}{{24,}}(?:(?:\\[nr]|[\r\n]){{1,2}}{_RUN64}+)*={{0,2}})"
)
_BREAK = compile_late(r"\\[nr]|[\r\n=]")
# What programs put before a line: its number, file, time or the commit it comes from, each with a digit.
_BLAMED = r"\W{0,4}[0-9a-f]{7,40} [^()\n]{0,200}\([^()\n]{1,80}\d\)"
_NUMBERED = rf"(?:{_BLAMED}|(?:[^\w\n\\]*[\w.+/:-]{{0,200}}?\d{{1,10}}Z?(?!\w)){{1,12}})"
_GUTTER = rf"\n{_NUMBERED}|\\\\{{0,15}}[nr]{_NUMBERED}"
_TWICE_ESCAPED = compile_late(r"%(?:25)+(?=[0-9a-fA-F]{2})")
_MARKS = (_GUTTER, _TAG, _ESCAPE, _IN_URL)
_READERS = {marks: compile_late("|".join(marks)) for size in (1, 2, 3, 4) for marks in combinations(_MARKS, size)}
_READERS[_PACKED,] = compile_late(_PACKED)
_MAY_BE_IN_URL = Pattern("%[0-9a-fA-F]{2}")
_MAY_BE_NUMBERED = Pattern(r"(?:\n|\\[nr])\W*[\w.+/:-]*\d")
_MAY_BE_PACKED = Pattern("[A-Za-z0-9]{24}")  # quick: few texts have one
_END = Pattern(r"[.!?]\s+|[。！？]|\n+|\\n")
_ONE_WORD = compile_late(r"[/\\_]|\w\.\w")  # a path, a file or an identifier counts as one word


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureMatch:
    """One place that holds the words, or nearly: in which holder, where in it, and the words around. ``near`` marks a near copy."""

    holder: str
    where: str
    text: str
    near: bool = False

    @property
    def id(self) -> str:
        """What a near copy is known by: the same words anywhere are the same copy."""
        return digest(normal_form(self.text), size=4)


@dataclass(frozen=True, kw_only=True)
class ErasureWords:
    """The words to be forgotten: whole ``sentences``, runs of longer ``passages`` around them, and quotes of single events
    (``cited``).

    ``spared`` are statements that stay: what they share with a passage is not looked for, nor a turn of phrase that they share with
    a sentence, unless that is half of it. ``memories`` (ids), ``events`` (keys) and
    ``sessions`` are forgotten whole, whatever they say; ``about`` are the sessions in which the words were said. They never come
    back, unless they are not ``lasting``.
    """

    sentences: tuple[str, ...]
    passages: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    cited: tuple[tuple[str, str], ...] = ()
    memories: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    lasting: bool = True
    _answers: dict[bytes, bool] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        """True if there is anything to look for."""
        return bool(self.runs or self.cited or self.memories or self.events or self.sessions)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The letters of every run of words that may not remain."""
        stay = [_fold_letters(text) for text in self.spared]
        whole = {run for sentence in self.sentences for run in _own_runs(sentence, stay)}.union(self._closings)
        others = {run for passage in self.passages if len(_split_words(passage)) >= RUN for run in _word_runs(passage)}
        found = whole | {run for run in others if not any(run in text for text in stay)}
        return tuple(sorted(run for run in found if len(run) > 1))

    @cached_property
    def _closings(self) -> dict[str, str]:
        """The letters of each sentence whole, and the marks that close it; its full stop stays, and ends what is left before it."""
        return {"".join(_split_words(sentence)): _CLOSING.findall(sentence)[0].rstrip(".!?。！？") for sentence in self.sentences}

    @cached_property
    def quotes(self) -> dict[str, tuple[str, ...]]:
        """The quotes of each event (by key), the longest first."""
        found: dict[str, list[str]] = {}
        for event, quote in self.cited:
            found.setdefault(event, []).append(quote)
        return {event: tuple(sorted(quotes, key=len, reverse=True)) for event, quotes in found.items()}

    @cached_property
    def _vocabularies(self) -> tuple[frozenset[str], ...]:
        return tuple(words for sentence in self.sentences if len(words := tokenize(sentence)) >= _LEAST_WORDS)

    def is_in_text(self, text: str) -> bool:
        """True if the words stand somewhere in a text."""
        return bool(self._find_spans(text))

    def remove_from(self, text: str) -> str:
        """The text with a mark in the place of the words; the very text where they do not stand in it."""
        parts, at = [], 0
        for start, end in self._find_spans(text):
            parts += [text[at:start], FORGOTTEN_MARK]
            at = end
        return "".join((*parts, text[at:]))

    def flag_lines(self, text: str) -> list[bool]:
        """Of each line of a text whether any of the words stand in it, also where they go on in the next line."""
        held = [False] * len(text.split("\n"))
        for start, end in self._find_spans(text):
            first, last = text.count("\n", 0, start), text.count("\n", 0, end)
            held[first : last + 1] = [True] * (last + 1 - first)
        return held

    def excerpt(self, text: str) -> str:
        """The words in a text with a little of what stands around them, on one line."""
        spans = self._find_spans(text)
        start, end = spans[0] if spans else (0, len(text))
        around = max(0, _EXCERPT - (end - start)) // 2
        return one_line(text[max(0, start - around) : min(len(text), end + around)])[: 2 * _EXCERPT]

    def find_near_copies(self, text: str) -> Iterator[str]:
        """The sentences of a text that say nearly the same in other words."""
        if not self.may_have_near_copy(text):
            return
        for sentence in _END.split(text):
            words = tokenize(sentence)
            if any(jaccard_similarity(words, wanted) >= NEAR for wanted in self._vocabularies) and not self.is_in_text(sentence):
                yield one_line(sentence)

    def may_have_near_copy(self, text: str) -> bool:
        """True if a text has so many of the words that one of its sentences may be a near copy. Cheap; holds of all that holds
        it.
        """
        folded = text.casefold()
        return any(sum(word in folded for word in wanted) >= NEAR * len(wanted) for wanted in self._vocabularies)

    @property
    def near_queries(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """For each sentence its words, and how many of them a near copy has at least."""
        return tuple((tuple(sorted(words)), ceil(NEAR * len(words))) for words in self._vocabularies)

    def with_sentences(self, more: Iterable[str]) -> "ErasureWords":
        """These words and more sentences."""
        added = tuple(more)
        return replace(self, sentences=(*self.sentences, *added)) if added else self

    def may_be_in_packed(self, packed: bytes, unpack: Callable[[bytes], str]) -> bool:
        """:meth:`may_be_in_text` of the text that ``unpack`` makes of bytes. Equal bytes are unpacked once, wherever they lie.

        The answer is remembered as long as these words are: the store, its backups and the proof share their blocks.
        """
        key = blake2b(packed, digest_size=16).digest()
        if key not in self._answers:
            self._answers[key] = self.may_be_in_text(unpack(packed))
        return self._answers[key]

    def may_be_in_text(self, text: str) -> bool:
        """True if the letters of a run stand in a text, wherever words begin. Cheap; holds of all that holds it."""
        return any(
            pattern.search(letters)
            for variant in (_reading_variants(text) if self._patterns else ())
            for letters in [_fold_letters(text, variant)]
            for pattern in self._patterns
        )

    @cached_property
    def _patterns(self) -> list[Pattern]:
        starts = range(0, len(self.runs), _AT_ONCE)
        return [Pattern("|".join(self.runs[start : start + _AT_ONCE]), memory=_PATTERN_BYTES) for start in starts]

    def _find_spans_in_window(self, text: str, cut: tuple[bool, bool]) -> Iterator[tuple[int, int]]:
        """The same in a short text. Where its beginning or end is ``cut``, what reaches to it is of another window."""
        for variant in _reading_variants(text):
            letters, places = _locate_letters(text, variant)
            for run in self.runs:
                for at in _find_all(letters, run):
                    end = at + len(run)
                    if (
                        not (cut[0] and at == 0)
                        and not (cut[1] and end == len(letters))
                        and _is_whole_run(text, letters, places, at, end)
                    ):
                        closing, stop = self._closings.get(run, ""), places[end - 1][1]
                        yield places[at][0], stop + len(closing) * text.startswith(closing, stop)

    def _find_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand in a text, in order, neighbours joined."""
        found: set[tuple[int, int]] = set()
        for offset in range(0, len(text), _WINDOW) if self.may_be_in_text(text) else ():
            window = text[offset : offset + _WINDOW + _REACH]
            if self.may_be_in_text(window):
                cut = (offset > 0, offset + len(window) < len(text))
                found.update((offset + start, offset + end) for start, end in self._find_spans_in_window(window, cut))
        joined: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if joined and not any(char.isalnum() for char in text[joined[-1][1] : start]):
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined


class Holder(Protocol):
    """Whatever holds text: it finds words in what it holds, and erases them there.

    ``claims`` are patterns of files below the state folder (relative, as of :meth:`pathlib.PurePath.match_lines`) that the holder
    answers for.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def claims(self) -> tuple[str, ...]:
        """The files below the state folder that it answers for."""
        ...

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Every place that holds the words, or nearly. Changes nothing. Raises KeptError."""
        ...

    def erase(self, words: ErasureWords) -> int:
        """Erase the words; returns the number of places. Doing it again changes nothing. Raises KeptError."""
        ...


def map_strings(value: object, change: Callable[[str], str]) -> object:
    """A JSON value with every string, keys included, changed."""
    match value:
        case str():
            return change(value)
        case list():
            return [map_strings(item, change) for item in value]
        case dict():
            return {change(name): map_strings(item, change) for name, item in value.items()}
    return value


def _word_runs(sentence: str) -> Iterator[str]:
    words = _split_words(sentence)
    for start in range(max(1, len(words) - RUN + 1)):
        yield "".join(words[start : start + RUN])


def _own_runs(sentence: str, stay: Sequence[str]) -> set[str]:
    """The runs of a sentence without those of a turn of phrase that other statements have too: at most half of them."""
    runs = set(_word_runs(sentence))
    holding = [shared for text in stay if (shared := {run for run in runs if run in text}) and len(shared) * 2 <= len(runs)]
    common = set[str]().union(*holding)
    return runs - common if len(common) * 2 <= len(runs) else runs


def _split_words(sentence: str) -> list[str]:
    """The letters of each word: of a path or identifier in one, of scripts without spaces two characters in one."""
    found: list[str] = []
    for chunk in _READERS[_TAG,].sub(" ", sentence).split():
        if any(map(is_cjk, chunk)):
            letters = "".join(filter(str.isalnum, chunk))
            parts = [letters[at : at + 2] for at in range(0, len(letters), 2)]
        else:
            parts = [chunk] if _ONE_WORD.search(chunk) else _NOT_LETTERS.split(chunk)
        found += [word for part in parts if (word := _fold_letters(part))]
    return found


def _reading_variants(text: str) -> list[tuple[str, ...]]:
    """How a text may have to be read: as it is, and with its tags left out and what is written in other signs resolved."""
    marks = (
        *((_TAG,) if "<" in text or "&" in text else ()),
        *((_ESCAPE,) if "\\" in text else ()),
        *((_IN_URL,) if _MAY_BE_IN_URL.search(text) else ()),
    )
    numbered = [(_GUTTER, *marks)] if _MAY_BE_NUMBERED.search(text) else ()
    return [(), *([marks] if marks else ()), *numbered, *([(_PACKED,)] if _MAY_BE_PACKED.search(text) else ())]


def _fold_letters(text: str, marks: tuple[str, ...] = ()) -> str:
    """The letters and digits of a text, folded."""
    if marks:
        coded = "\\u" in text or _IN_URL in marks or _PACKED in marks  # a function for each mark costs much where there are many
        text = _READERS[marks].sub(_resolve_escape if coded else "", text)
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda found: _fold_piece(found[0]), text)
    # Bytes are many times faster to sift than characters, and most of a text is ASCII.
    return text.encode("utf-8", "surrogatepass").translate(_ASCII_LOWER, _ASCII_MARKS).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=10_000)  # the same quotes, dashes and accents come again and again
def _fold_piece(piece: str) -> str:
    """The letters and digits of a piece of text without ASCII, folded, also to the Latin ones they look like."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", piece).casefold().translate(_FOLDED)))


def _resolve_escape(found: "re.Match[str]") -> str:
    """What a mark stands for."""
    named = found.groupdict()
    if code := named.get("code"):
        return chr(int(code, 16))
    if octets := named.get("octets"):
        return unquote(_TWICE_ESCAPED.sub("%", f"%{octets}"), errors="ignore")
    if packed := named.get("packed"):
        return _unpacked(packed)
    return ""


def _unpacked(packed: str) -> str:
    """What a run of base64 may hold, read from each of four places: a path before it, or an edge, moves its groups."""
    if not _MAY_BE_PACKED.search(packed):
        return ""  # a path, the identifier of something
    run = _BREAK.sub("", packed).encode()
    return " ".join(decode_base64(run[start:]).decode(errors="ignore") for start in range(4))


def _locate_letters(text: str, marks: tuple[str, ...]) -> tuple[str, Sequence[tuple[int, int]]]:
    """The same letters, and where in the text each of them begins and ends."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []

    def add_letters(piece: str, start: int, end: int) -> None:
        for letter in _fold_letters(piece):
            letters.append(letter)
            places.append((start, end))

    at = 0
    for mark in _READERS[marks].finditer(text) if marks else ():
        for place in range(at, mark.start()):
            add_letters(text[place], place, place + 1)
        add_letters(_resolve_escape(mark), *mark.span())
        at = mark.end()
    for place in range(at, len(text)):
        add_letters(text[place], place, place + 1)
    return "".join(letters), places


def _find_all(letters: str, run: str) -> Iterator[int]:
    at = letters.find(run)
    while at >= 0:
        yield at
        at = letters.find(run, at + 1)


def _is_whole_run(text: str, letters: str, places: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether no word goes on before or after a run: then it would be another word."""
    before = start > 0 and places[start - 1][1] == places[start][0] and not is_cjk(text[places[start][0]])
    after = end < len(letters) and places[end - 1][1] == places[end][0] and not is_cjk(text[places[end][0]])
    return not (before or after)
