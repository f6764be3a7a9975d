"""The kinds of spans, and marks that assign a kind to each character of a text. The first mark of a character is final."""

from enum import StrEnum

from kept.core.pattern import compile_late
from kept.core.value import dataclass


class SpanKind(StrEnum):
    """The kind of a span, which says whose words it has. All kinds except ``typed`` are foreign."""

    TYPED = "typed"  # the person's words
    COMMAND = "command"  # the name of a slash command
    PASTED = "pasted"  # program output, code, a diff, a table
    QUOTED = "quoted"  # a block quote, a code fence, a quotation
    DOCUMENT = "document"  # an article, a README, an e-mail, a conversation with somebody else
    REPORTED = "reported"  # somebody else's statement, in the person's sentence or on its own (a review)
    HARNESS = "harness"  # text that a client or a tool inserted
    PROGRAM = "program"  # a prompt that a program wrote
    REPEATED = "repeated"  # text that another session contains too


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The characters ``[start, end)`` of a text, and their kind."""

    start: int
    end: int
    kind: SpanKind

    @property
    def is_typed(self) -> bool:
        """True if these are the person's own words."""
        return self.kind is SpanKind.TYPED


_KINDS = tuple(SpanKind)
_CODES = {kind: code for code, kind in enumerate(_KINDS)}
_UNMARKED = compile_late(rb"\0+")
_EQUAL = compile_late(b"|".join(rb"\x%02x+" % code for code in range(len(_KINDS))))


class SpanMarks:
    """A kind for each character of a text. At first, all characters are typed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._codes = bytearray(len(text))

    def mark(self, start: int, end: int, kind: SpanKind) -> None:
        """Give the kind to those of the characters ``[start, end)`` that have no mark yet."""
        self._codes[start:end] = self._codes[start:end].replace(b"\0", bytes([_CODES[kind]]))

    def typed_parts(self, start: int, end: int) -> list[tuple[int, int]]:
        """The unmarked runs within ``[start, end)`` that contain more than white space."""
        if self._codes.count(0, start, end) == end - start:  # the usual case
            return [(start, end)] if self.text[start:end].strip() else []
        runs = _UNMARKED.finditer(self._codes, start, end)
        return [run.span() for run in runs if self.text[run.start() : run.end()].strip()]

    def to_spans(self) -> tuple[Span, ...]:
        """The spans of equal kind, in order. White space between two foreign spans belongs to the first."""
        runs: list[tuple[int, int, int]] = []
        for run in _EQUAL.finditer(self._codes):
            (start, end), code = run.span(), run[0][0]
            blank = not code and not self.text[start:end].strip()
            if runs and (blank or runs[-1][2] == code):
                runs[-1] = (runs[-1][0], end, runs[-1][2])
            else:
                runs.append((start, end, code))
        return tuple(Span(start=start, end=end, kind=_KINDS[code]) for start, end, code in runs)
