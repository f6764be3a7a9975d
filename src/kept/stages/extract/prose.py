"""The passages of a person's prompt by whose words they are, as :mod:`kept.model.spans` tells them."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import re2

from kept.model.lexicon import Lexicon
from kept.model.spans import LONGEST, Span, SpanKind, is_output, spans

__all__ = ["LONGEST", "Passage", "Voice", "is_foreign", "passages"]

_BLANK = re2.compile(r"\n[ \t\r]*\n\s*")


class Voice(StrEnum):
    """Whose words a passage is made of."""

    OWN = "own"
    REPORTED = "reported"
    FOREIGN = "foreign"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """The characters ``[start, end)`` of a prompt, and whose words they are."""

    start: int
    end: int
    voice: Voice


def passages(text: str, lexicon: Lexicon) -> tuple[Passage, ...]:  # noqa: ARG001 - whose words do not depend on the language
    """The passages of a prompt in order, each a paragraph or a part of one."""
    return tuple(
        Passage(start=start, end=end, voice=_voice(span))
        for span in spans(text)
        for start, end in _paragraphs(text, span.start, span.end)
    )


def _paragraphs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    edges = [start, *(start + match.end() for match in _BLANK.finditer(text[start:end])), end]
    return [(low, high) for low, high in pairwise(edges) if text[low:high].strip()]


def is_foreign(line: str) -> bool:
    """Whether a line has the shape of code, output, a diff, a table, a quote or a heading rather than of prose."""
    return is_output(line) or line.lstrip().startswith(("#", ">"))


def _voice(span: Span) -> Voice:
    if span.is_typed:
        return Voice.OWN
    return Voice.REPORTED if span.kind is SpanKind.REPORTED else Voice.FOREIGN
