"""Regular expressions for untrusted text. RE2 matches them in linear time. Each is compiled on first use.

The common case is fast: ASCII text, in which a byte is a character, and no match, which takes a single call of the engine.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, AnyStr, cast

_NOWHERE = (-1, -1)
_CLASS_OR_ESCAPE = r"(?s)\[\^?\]?(?:\\.|[^\]\\])*\]?|\\(?:pL|.)"
_LETTERS = (  # without the signs × and ÷, the question mark of Greek, and the punctuation of Arabic and Hindi
    r"A-Za-z\x{AA}\x{B5}\x{BA}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{37D}\x{37F}-\x{60B}\x{60D}-\x{61A}\x{620}-\x{963}\x{966}-\x{1FFF}"
    r"\x{3005}-\x{3007}\x{3021}-\x{9FFF}\x{AC00}-\x{D7FF}\x{F900}-\x{FAFF}"
)
LARGE = 2**26
"""Memory for the automaton of a large pattern. RE2's default is an eighth of this and too little from about 20,000 instructions on:
each search is then many times slower, and RE2 prints an error.
"""


@cache
def load_engine() -> Any:
    """The RE2 module. It is imported with the first pattern that is used, because many commands use none."""
    import re2  # noqa: PLC0415 - as above

    return re2


def latin1_options() -> Any:
    """RE2 options that treat each byte as a character (Latin-1)."""
    re2 = load_engine()
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options


def shorten_letters(source: str) -> str:
    r"""Replace ``\pL`` by a few ranges, which include the digits of some scripts.

    RE2 would compile each occurrence to the 1,200 instructions of all letters of Unicode.
    """
    if r"\pL" not in source:
        return source
    classes = re.compile(_CLASS_OR_ESCAPE)  # not compiled by a run that needs no pattern
    return classes.sub(lambda token: token[0].replace(r"\pL", _LETTERS if token[0][0] == "[" else f"[{_LETTERS}]"), source)


class Pattern:
    """A pattern with the methods of ``re.Pattern``, for text and bytes.

    ``pattern`` may be a function that returns the source. ``memory`` limits the automaton's memory in bytes, for patterns that need
    more than RE2's default. ``latin1`` treats each byte as a character. ``needs`` are strings of which each matching text contains
    one: other texts are not searched and do not compile the pattern. The first use of an invalid pattern raises the engine's error.
    """

    __slots__ = (
        *("_anywhere", "_engine", "_found", "_latin1", "_memory", "_needs", "_run"),
        *("fullmatch", "match", "pattern", "search"),
    )

    def __init__(
        self, pattern: str | bytes | Callable[[], str], *, memory: int = 0, latin1: bool = False, needs: Sequence[str] = ()
    ) -> None:
        self.pattern = pattern
        self._memory = memory
        self._latin1 = latin1
        self._needs = needs
        self._engine: Any = None
        self.search: Any = partial(self._first_time, "search")
        self.match: Any = partial(self._first_time, "match")
        self.fullmatch: Any = partial(self._first_time, "fullmatch")

    @property
    def engine(self) -> Any:
        """The engine's object."""
        return self._compile() if self._engine is None else self._engine

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.engine.groups)

    @property
    def groupindex(self) -> Any:
        """The numbers of the named groups, by name."""
        return self.engine.groupindex

    @property
    def programsize(self) -> int:
        """The number of instructions of the compiled pattern."""
        return int(self.engine.programsize)

    def _compile(self) -> Any:
        """Compile the pattern, and set the methods that search it. A method ``__getattr__`` would make each use of them slower."""
        re2 = load_engine()
        options = latin1_options() if self._latin1 else re2.Options()
        options.log_errors = False  # such errors must not appear on the user's terminal
        if self._memory:
            options.max_mem = self._memory
        source = self.pattern() if callable(self.pattern) else self.pattern
        self._engine = re2.compile(shorten_letters(source) if isinstance(source, str) else source, options)
        # Calls the engine's internal functions directly, which takes a third of the time.
        anchors = re2._Anchor  # noqa: SLF001
        self._anywhere = anchors.UNANCHORED
        self._run = self._engine._regexp.Match  # noqa: SLF001
        self._found = re2._Match  # noqa: SLF001
        find = self._first_needed if self._needs else self._first
        self.search = partial(find, anchors.UNANCHORED)
        self.match = partial(find, anchors.ANCHOR_START)
        self.fullmatch = partial(find, anchors.ANCHOR_BOTH)
        return self._engine

    def _first_time(self, method: str, text: str | bytes, pos: int = 0, end: int | None = None) -> Any:
        """Compile the pattern and call its method, unless it cannot match."""
        if self._needs and not self._is_possible(text):
            return None
        self._compile()
        return getattr(self, method)(text, pos, end)

    def finditer(self, text: str | bytes, pos: int = 0, end: int | None = None) -> Iterator[Any]:
        """The non-overlapping matches, in order."""
        if self._needs and not self._is_possible(text):
            return iter(())
        if self._engine is None:
            self._compile()
        if isinstance(text, bytes):
            data = text
        elif text.isascii():
            data = text.encode()
        else:
            return iter(self._engine.finditer(text, pos, end))
        length = len(data)
        start, stop = max(0, min(pos, length)) if pos else 0, length if end is None else max(0, min(end, length))
        spans = self._run(self._anywhere, data, start, stop) if start <= stop else (_NOWHERE,)
        return iter(()) if spans[0] == _NOWHERE else self._iterate(text, data, start, stop, spans)

    def findall(self, text: str | bytes) -> list[Any]:
        """The matched texts, or the groups if the pattern has any, as ``re.findall``."""
        return self.engine.findall(text) if self.search(text) else []

    def split(self, text: str | bytes, most: int = 0) -> list[Any]:
        """The pieces between the matches, with the matches' groups, as ``re.split``. ``most`` limits their number unless 0."""
        return self.engine.split(text, most) if self.search(text) else [text]

    def sub(self, put: Any, text: Any, count: int = 0) -> Any:
        """The text with matches replaced by ``put``, a template or a function of the match. ``count`` limits them unless 0."""
        return self.engine.sub(put, text, count) if self.search(text) else text

    def _is_possible(self, text: Any) -> bool:
        """True if a text contains one of the strings that the pattern needs."""
        for part in self._needs:  # noqa: SIM110 - any() takes several times as long
            if part in text:
                return True
        return False

    def _first_needed(self, anchor: Any, text: str | bytes, pos: int = 0, end: int | None = None) -> Any:
        """The first match of a pattern with ``needs``."""
        return self._first(anchor, text, pos, end) if self._is_possible(text) else None

    def _first(self, anchor: Any, text: str | bytes, pos: int = 0, end: int | None = None) -> Any:
        """The first match under the given anchoring; None if there is none."""
        if isinstance(text, bytes):
            data = text
        elif text.isascii():
            data = text.encode()
        else:
            return self._first_wide(anchor, text, pos, end)
        start, stop = 0, len(data)
        if pos or end is not None:
            start, stop = max(0, min(pos, stop)), stop if end is None else max(0, min(end, stop))
            if start > stop:
                return None
        spans = self._run(anchor, data, start, stop)
        return None if spans[0] == _NOWHERE else self._found(self, text, start, stop, spans)

    def _first_wide(self, anchor: Any, text: str, pos: int, end: int | None) -> Any:
        """:meth:`_first` for non-ASCII text. Converts between byte offsets and character offsets."""
        start = max(0, min(pos, len(text)))
        stop = len(text) if end is None else max(0, min(end, len(text)))
        if start > stop:
            return None
        data = text.encode()
        low = len(text[:start].encode()) if start else 0
        high = low + len(text[start:stop].encode()) if stop < len(text) else len(data)
        spans = self._run(anchor, data, low, high)
        if spans[0] == _NOWHERE:
            return None
        places = {-1: -1}
        at, chars = 0, 0
        for place in sorted({place for span in spans for place in span if place >= 0}):
            chars += len(data[at:place].decode())
            places[place], at = chars, place
        return self._found(self, text, start, stop, [(places[one], places[other]) for one, other in spans])

    def _iterate(self, text: str | bytes, data: bytes, pos: int, end: int, spans: Any) -> Iterator[Any]:
        at = pos
        while spans[0] != _NOWHERE:
            yield self._found(self, text, pos, end, spans)
            if at == end:
                return
            at = at + 1 if spans[0][1] == at else spans[0][1]
            spans = self._run(self._anywhere, data, at, end)


class PatternSet:
    """Several case-insensitive patterns that are matched together. An empty pattern never matches.

    RE2's filter first searches the text, in one pass, for the literals that the patterns require. Then it runs only the patterns
    whose literals are present. ``memory`` limits each automaton as in :class:`Pattern`.
    """

    def __init__(self, patterns: Sequence[str], *, memory: int) -> None:
        self._patterns = patterns
        self._memory = memory

    @cached_property
    def _engine(self) -> Any:
        engine, options = load_engine().Filter(), load_engine().Options()
        options.log_errors = False
        options.max_mem = self._memory
        for pattern in self._patterns:
            engine.Add(shorten_letters(pattern) or r"[^\x{0}-\x{10FFFF}]", options)  # a pattern that never matches
        engine.Compile()
        return engine

    def find(self, text: str) -> list[int]:
        """The indices of the patterns that match somewhere in ``text``, in order."""
        return sorted(self._engine.Match(text.lower()) or ())


class LatePattern:
    """A proxy for a pattern of ``re`` that compiles it on first attribute access and caches the attribute."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return LatePattern, (self._source, self._flags)


def compile_late(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern of ``re`` that is compiled on first use, because compiling all takes a tenth of a run that finds nothing new."""
    return cast("re.Pattern[AnyStr]", LatePattern(source, flags))
