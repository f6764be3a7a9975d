"""Finds the words to be forgotten in any text, in whatever form it writes them, and removes them.

Words and text are compared without case, accents, markup, line numbers and white space. Lookalike letters, escapes, base64,
hexadecimal digits and hex dumps are decoded. A text contains the words if it contains a run of :data:`RUN` consecutive words of a
sentence, or the whole of a shorter sentence. This module works on texts only; the holders (:class:`Holder`) know where texts are
stored.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from math import ceil
from typing import Protocol
from urllib.parse import unquote

from kept.core.digest import digest, hash_bytes
from kept.core.event import FORGOTTEN_MARK
from kept.core.pattern import Pattern, compile_late
from kept.core.redact.lookalikes import PLAIN
from kept.core.redact.values import decode_base64
from kept.core.text import is_cjk, jaccard_similarity, normal_form, one_line, tokenize
from kept.core.value import dataclass, replace

RUN = 6  # words; this many consecutive words of a forgotten sentence must not remain together
NEAR = 0.5  # minimum Jaccard similarity of the words of a near copy to those of a forgotten sentence
_LEAST_WORDS = 4  # words; a shorter sentence has no near copies, because so few words agree by chance
_EXCERPT = 200  # characters shown of a text around a match
_WINDOW, _REACH = 4_096, 2_048  # characters searched at a time; maximum characters of a run beyond them
_AT_ONCE = 400  # runs per pattern
_PATTERN_BYTES = 2**27

_CLOSING = compile_late(r"[\W_]*\Z")
_NOT_LETTERS = compile_late(r"[\W_]+")
_NOT_ASCII = compile_late(r"[^\x00-\x7f]+")
_ASCII_MARKS = bytes(code for code in range(128) if not chr(code).isalnum())
_ASCII_LOWER = bytes(range(256)).lower()
_FOLDED = str.maketrans({chr(code).lower(): plain.lower() for code, plain in PLAIN.items()})
_TAG = r"</?[A-Za-z][^<>\n]{0,200}>|(?P<entity>&#?\w{1,8};)"
# Escapes may be escaped again. The bound on backslashes keeps the search linear for a text of nothing but backslashes. Each
# alternative begins with a literal, so the engine skips positions that cannot match and is several times faster.
_ESCAPE = r"\\\\{0,15}u(?P<code>[0-9a-fA-F]{4})|(?P<bytes>(?:\\\\{0,15}x[0-9a-fA-F]{2})+)|\\\\{0,15}[nrtbf]"
_OCTET = "(?:25){0,4}[0-9a-fA-F]{2}"
_IN_URL = rf"%(?P<octets>{_OCTET}(?:%{_OCTET})*)"
# Quoted-printable, only in a mail. In any other text, "retries=20" is plain text.
_IN_MAIL = r"=(?P<quoted>[2-9A-F][0-9A-F](?:=[2-9A-F][0-9A-F])*)"
_RUN64 = "[A-Za-z0-9+/_-]"
_PACKED = (  # a run of base64, continued over line breaks
    rf"(?P<packed>(?:(?<!{_RUN64})|(?<=\\[nrt])){_RUN64}{{24,}}(?:(?:\\[nr]|[\r\n]){{1,2}}{_RUN64}+)*={{0,2}})"
)
_ASCII_HEX = "[2-7][0-9a-fA-F]"  # one printable character
_HEXED = (  # a run of hexadecimal digits, or a row of a hex dump with its offset and its characters
    rf"(?P<hexed>(?:{_ASCII_HEX}){{12,}})"
    r"|(?P<dumped>\b[0-9a-f]{7,8}:? {1,3}(?:[0-9a-f]{2} {0,2}){1,16})[^\n]{0,40}\n?"
)
_OFFSET = compile_late(r"^\w+:? +")
_BREAK = compile_late(r"\\[nr]|[\r\n=]")
# Prefixes that programs put before a line: its number, file, time or commit. Each contains a digit.
_BLAMED = r"\W{0,4}[0-9a-f]{7,40} [^()\n]{0,200}\([^()\n]{1,80}\d\)"
_NUMBERED = rf"(?:{_BLAMED}|(?:[^\w\n\\]*[\w.+/:-]{{0,200}}?\d{{1,10}}Z?(?!\w)){{1,12}})"
_GUTTER = rf"\n{_NUMBERED}|\\\\{{0,15}}[nr]{_NUMBERED}"
_TWICE_ESCAPED = compile_late(r"%(?:25)+(?=[0-9a-fA-F]{2})")
_MARKS = (_GUTTER, _TAG, _ESCAPE, _IN_URL, _IN_MAIL)
_READERS = {marks: compile_late("|".join(marks)) for size in (1, 2, 3, 4) for marks in combinations(_MARKS, size)}
_READERS |= {(marks,): compile_late(marks) for marks in (_PACKED, _HEXED)}
_MAY_BE_IN_URL = Pattern("%[0-9a-fA-F]{2}")
_MAY_BE_IN_MAIL = Pattern("=(?:20|[C-F][0-9A-F][=a-z ])")
_MAY_BE_HEXED = Pattern(f"(?:{_ASCII_HEX}){{12}}|\\b[0-9a-f]{{7,8}}:? {{1,3}}(?:[0-9a-f]{{2}} {{0,2}}){{8}}")
_MAY_BE_NUMBERED = Pattern(r"(?:\n|\\[nr])\W*[\w.+/:-]*\d")
# A cheap test that most texts fail: 24 letters and digits that are not all lower-case hexadecimal digits, as in a hash. Base64 made
# only of these encodes no space.
_MAY_BE_PACKED = Pattern("|".join(f"[A-Za-z0-9]{{{at}}}[A-Zg-z][A-Za-z0-9]{{{23 - at}}}" for at in range(24)))
_END = Pattern(r"[.!?]\s+|[。！？]|\n+|\\n")
_ONE_WORD = compile_late(r"[/\\_]|\w\.\w")  # a path, a file or an identifier counts as one word


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureMatch:
    """A place that contains the words: the holder, the location in it and an excerpt. ``near`` marks a near copy."""

    holder: str
    where: str
    text: str
    near: bool = False

    @property
    def id(self) -> str:
        """The id of a near copy: a hash of its words, so that equal words in several places have one id."""
        return digest(normal_form(self.text), size=4)


@dataclass(frozen=True, kw_only=True)
class ErasureWords:
    """The words to be forgotten: ``sentences``, longer ``passages`` around them, and quotes from single events (``cited``).

    ``cited`` has pairs of event key and quote. ``memories`` (ids), ``events`` (keys) and ``sessions`` are forgotten as a whole,
    whatever their words. ``about`` are the sessions in which the words were said. ``echoes`` are the events (keys) of journal
    entries whose ``cited`` lines repeat a forgotten conversation. If ``lasting``, kept will not extract the words again.

    ``spared`` are statements that stay. Runs of a passage that they contain are not searched. Runs of a sentence that they contain
    are not searched either, if these are at most half of the sentence's runs.
    """

    sentences: tuple[str, ...]
    passages: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    cited: tuple[tuple[str, str], ...] = ()
    memories: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    echoes: frozenset[str] = frozenset()
    lasting: bool = True

    def __bool__(self) -> bool:
        """True if there is anything to look for."""
        return bool(self.runs or self.cited or self.memories or self.events or self.sessions)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Every run of words that must not remain, as folded letters without separators."""
        stay = [_fold_letters(text) for text in self.spared]
        whole = {run for sentence in self.sentences for run in _own_runs(sentence, stay)}.union(self._closings)
        others = {run for passage in self.passages for run in _word_runs(passage)}
        runs = whole | {run for run in others if not any(run in text for text in stay)}
        return tuple(run for run in runs if len(run) > 1)

    @cached_property
    def _closings(self) -> dict[str, str]:
        """Maps the folded letters of each whole sentence to the marks that close it, which are removed with it.

        A full stop is not among the marks. It stays, and ends the text that remains before it.
        """
        return {"".join(_split_words(sentence)): _CLOSING.findall(sentence)[0].rstrip(".!?。！？") for sentence in self.sentences}

    @cached_property
    def quotes(self) -> dict[str, tuple[str, ...]]:
        """The quotes of each event (by key), the longest first."""
        by_event: dict[str, list[str]] = {}
        for event, quote in sorted(self.cited, key=lambda pair: -len(pair[1])):
            by_event.setdefault(event, []).append(quote)
        return {event: tuple(quotes) for event, quotes in by_event.items()}

    def is_echo(self, event: str, quote: str) -> bool:
        """True if a quote from an event is part of a line of a journal entry that repeats a forgotten conversation."""
        words = one_line(quote)
        return bool(words) and event in self.echoes and any(words in one_line(line) for line in self.quotes[event])

    @cached_property
    def _answers(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _vocabularies(self) -> tuple[frozenset[str], ...]:
        return tuple(words for sentence in self.sentences if len(words := tokenize(sentence)) >= _LEAST_WORDS)

    def is_in_text(self, text: str) -> bool:
        """True if a text contains the words."""
        return bool(self._find_spans(text))

    def remove_from(self, text: str) -> str:
        """The text with the words replaced by a mark. Unchanged if it does not contain them."""
        parts, at = [], 0
        for start, end in self._find_spans(text):
            parts += [text[at:start], FORGOTTEN_MARK]
            at = end
        return "".join((*parts, text[at:]))

    def flag_lines(self, text: str) -> list[bool]:
        """For each line of a text, True if it contains some of the words. A match over several lines flags all of them."""
        flags = [False] * len(text.split("\n"))
        for start, end in self._find_spans(text):
            first, last = text.count("\n", 0, start), text.count("\n", 0, end)
            flags[first : last + 1] = [True] * (last + 1 - first)
        return flags

    def excerpt(self, text: str) -> str:
        """The first match in a text with a little of the text around it, on one line."""
        spans = self._find_spans(text)
        start, end = spans[0] if spans else (0, len(text))
        around = max(0, _EXCERPT - (end - start)) // 2
        return one_line(text[max(0, start - around) : end + around])[: 2 * _EXCERPT]

    def find_near_copies(self, text: str) -> Iterator[str]:
        """The sentences of a text that are near copies: they share many of the words but contain no run of them."""
        if not self.may_have_near_copy(text):
            return
        for sentence in _END.split(text):
            words = tokenize(sentence)
            if any(jaccard_similarity(words, wanted) >= NEAR for wanted in self._vocabularies) and not self.is_in_text(sentence):
                yield one_line(sentence)

    def may_have_near_copy(self, text: str) -> bool:
        """A cheap test: True if a text contains enough of the words for one of its sentences to be a near copy.

        If it is true of a text, it is true of every text that contains that text.
        """
        folded = text.casefold()
        return any(sum(word in folded for word in wanted) >= NEAR * len(wanted) for wanted in self._vocabularies)

    @property
    def near_queries(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """For each sentence: its words, and the minimum number of them in a near copy."""
        return tuple((tuple(sorted(words)), ceil(NEAR * len(words))) for words in self._vocabularies)

    def with_sentences(self, more: Iterable[str]) -> "ErasureWords":
        """A copy with more sentences."""
        added = tuple(more)
        return replace(self, sentences=(*self.sentences, *added)) if added else self

    def may_be_in_packed(self, packed: bytes, unpack: Callable[[bytes], str]) -> bool:
        """:meth:`may_be_in_text` for the text that ``unpack`` returns for these bytes.

        Equal bytes are unpacked once. Answers are cached as long as this object, because store, backups and the later check share
        blocks.
        """
        key = hash_bytes(packed)
        if key not in self._answers:
            self._answers[key] = self.may_be_in_text(unpack(packed))
        return self._answers[key]

    def may_be_in_text(self, text: str) -> bool:
        """A cheap test: True if a text contains the letters of a run, even within longer words. If it is true of a text, it is true
        of every text that contains that text.
        """
        for variant in _reading_variants(text) if self._patterns else ():
            letters = _fold_letters(text, variant)
            if any(pattern.search(letters) for pattern in self._patterns):
                return True
        return False

    @cached_property
    def _patterns(self) -> list[Pattern]:
        starts = range(0, len(self.runs), _AT_ONCE)
        return [Pattern("|".join(self.runs[start : start + _AT_ONCE]), memory=_PATTERN_BYTES) for start in starts]

    def _find_spans_in_window(self, text: str, cut: tuple[bool, bool]) -> Iterator[tuple[int, int]]:
        """The matches in one window, as character ranges. A match at an edge that is ``cut`` is left to the neighbouring window."""
        for variant in _reading_variants(text):
            letters, places = _locate_letters(text, variant)
            for run in self.runs:
                for at in _find_all(letters, run):
                    end = at + len(run)
                    if (
                        not (cut[0] and at == 0 and places[0][0] == 0)
                        and not (cut[1] and end == len(letters) and places[-1][1] == len(text))
                        and _is_whole_run(text, letters, places, at, end)
                    ):
                        closing, stop = self._closings.get(run, ""), places[end - 1][1]
                        yield places[at][0], stop + len(closing) * text.startswith(closing, stop)

    def _find_spans(self, text: str) -> list[tuple[int, int]]:
        """The character ranges of the words in a text, in order. Ranges with no letter or digit between them are joined."""
        spans: set[tuple[int, int]] = set()
        for offset in range(0, len(text), _WINDOW) if self.may_be_in_text(text) else ():
            window = text[offset : offset + _WINDOW + _REACH]
            if self.may_be_in_text(window):
                cut = (offset > 0, offset + len(window) < len(text))
                spans.update((offset + start, offset + end) for start, end in self._find_spans_in_window(window, cut))
        joined: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if joined and not any(char.isalnum() for char in text[joined[-1][1] : start]):
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined


class Holder(Protocol):
    """A place that stores text. It finds words in that text and erases them there."""

    @property
    def name(self) -> str:
        """The name that people are shown."""
        ...

    @property
    def claims(self) -> tuple[str, ...]:
        """Glob patterns, relative to the state folder, of the files that this holder is responsible for."""
        ...

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield every place with the words or a near copy of them. Changes nothing. Raises KeptError."""
        ...

    def erase(self, words: ErasureWords) -> int:
        """Erase the words, and return the number of places changed. Idempotent. Raises KeptError."""
        ...


def _word_runs(sentence: str) -> Iterator[str]:
    """The folded runs of ``RUN`` consecutive words of a text."""
    words = _split_words(sentence)
    for start in range(len(words) - RUN + 1):
        yield "".join(words[start : start + RUN])


def _own_runs(sentence: str, stay: Sequence[str]) -> set[str]:
    """The runs of a sentence, without those in statements that stay (``stay``). If these are more than half, all runs."""
    runs = set(_word_runs(sentence))
    holding = [shared for text in stay if len(shared := {run for run in runs if run in text}) * 2 <= len(runs)]
    common = set[str]().union(*holding)
    return runs - common if len(common) * 2 <= len(runs) else runs


def _split_words(sentence: str) -> list[str]:
    """The folded words of a sentence. A path or identifier is one word. Two characters of a script without spaces are one word."""
    words: list[str] = []
    for chunk in _READERS[_TAG,].sub(lambda found: _resolve_escape(found) or " ", sentence).split():
        if any(map(is_cjk, chunk)):
            letters = "".join(filter(str.isalnum, chunk))
            parts = [letters[at : at + 2] for at in range(0, len(letters), 2)]
        else:
            parts = [chunk] if _ONE_WORD.search(chunk) else _NOT_LETTERS.split(chunk)
        words += [word for part in parts if (word := _fold_letters(part))]
    return words


def _reading_variants(text: str) -> list[tuple[str, ...]]:
    """The decoded forms of a text, each to be searched: the plain text; without tags and escapes; also without line numbers; also
    without the marks of a mail; decoded base64; decoded hexadecimal digits.
    """
    marks = (
        *((_TAG,) if "<" in text or "&" in text else ()),
        *((_ESCAPE,) if "\\" in text else ()),
        *((_IN_URL,) if _MAY_BE_IN_URL.search(text) else ()),
    )
    numbered = [(_GUTTER, *marks)] if _MAY_BE_NUMBERED.search(text) else ()
    mailed = [(*marks, _IN_MAIL)] if _MAY_BE_IN_MAIL.search(text) else ()
    encoded = [(form,) for form, shape in ((_PACKED, _MAY_BE_PACKED), (_HEXED, _MAY_BE_HEXED)) if shape.search(text)]
    return [(), *([marks] if marks else ()), *numbered, *mailed, *encoded]


def _fold_letters(text: str, marks: tuple[str, ...] = ()) -> str:
    """The letters and digits of a text, folded. First, ``marks`` are replaced by the text they encode."""
    if marks:
        # Other marks encode nothing, so dropping them needs no call per match.
        coded = "&" in text or "\\u" in text or "\\x" in text or not {_IN_URL, _IN_MAIL, _PACKED, _HEXED}.isdisjoint(marks)
        text = _READERS[marks].sub(_resolve_escape if coded else "", text)
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda found: _fold_piece(found[0]), text)
    # Filtering bytes is many times faster than filtering characters, and most text is ASCII.
    return text.encode().translate(_ASCII_LOWER, _ASCII_MARKS).decode()


@lru_cache(maxsize=10_000)  # the same quotes, dashes and accented letters occur again and again
def _fold_piece(piece: str) -> str:
    """The folded letters and digits of a non-ASCII piece of text. Lookalikes become the Latin letters that they resemble."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", piece).casefold().translate(_FOLDED)))


def _resolve_escape(found: "re.Match[str]") -> str:
    """The text that a matched mark encodes; empty if it encodes none."""
    named = found.groupdict()
    if entity := named.get("entity"):
        return html.unescape(entity)
    if code := named.get("code"):
        return chr(int(code, 16))
    if octets := named.get("octets"):
        return unquote(_TWICE_ESCAPED.sub("%", f"%{octets}"))
    if quoted := named.get("quoted"):
        return _decode_hexadecimal(quoted.replace("=", ""))
    if escaped := named.get("bytes"):
        return _decode_hexadecimal(escaped.replace("\\", "").replace("x", ""))
    if digits := named.get("hexed") or _OFFSET.sub("", named.get("dumped") or ""):
        return _decode_hexadecimal(digits)
    if packed := named.get("packed"):
        return _decode_packed(packed)
    return ""


def _decode_hexadecimal(digits: str) -> str:
    """The text that pairs of hexadecimal digits encode: UTF-8 if they are valid, else the characters with these codes."""
    octets = bytes.fromhex("".join(digits.split()))
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _decode_packed(packed: str) -> str:
    """The text that a run of base64 may encode. It is decoded from four offsets, because text before it shifts its groups."""
    if not _MAY_BE_PACKED.search(packed):
        return ""  # a path or an identifier
    run = _BREAK.sub("", packed).encode()
    return " ".join(decode_base64(run[start:]).decode(errors="ignore") for start in range(4))


def _locate_letters(text: str, marks: tuple[str, ...]) -> tuple[str, Sequence[tuple[int, int]]]:
    """The letters of :func:`_fold_letters`, and for each of them the character range of the text that it comes from."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []

    def add_letters(start: int, end: int) -> None:
        for place, char in enumerate(text[start:end], start):
            for letter in _fold_char(char):
                letters.append(letter)
                places.append((place, place + 1))

    at = 0
    for mark in _READERS[marks].finditer(text) if marks else ():
        add_letters(at, mark.start())
        resolved = _fold_letters(_resolve_escape(mark))
        letters += resolved
        places += [mark.span()] * len(resolved)
        at = mark.end()
    add_letters(at, len(text))
    return "".join(letters), places


@lru_cache(maxsize=10_000)
def _fold_char(char: str) -> str:
    return _fold_letters(char)


def _find_all(letters: str, run: str) -> Iterator[int]:
    at = letters.find(run)
    while at >= 0:
        yield at
        at = letters.find(run, at + 1)


def _is_whole_run(text: str, letters: str, places: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """True if a run begins and ends at word boundaries, and is not a part of other words."""
    before = start > 0 and places[start - 1][1] == places[start][0] and not is_cjk(text[places[start][0]])
    after = end < len(letters) and places[end - 1][1] == places[end][0] and not is_cjk(text[places[end][0]])
    return not (before or after)
