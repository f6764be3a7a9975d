"""Outcomes: what a session or a day came to, put together from what a model noted of its parts. No conversation is read a second
time.

Without a further question the points are folded: said twice is said once, a question that was settled later is none any more. With
one (:func:`summing`) a model condenses them; its reply may only use points it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kept.core.artifact import artifacts
from kept.core.statement import Statement, same, statement
from kept.core.status_report import is_status_report
from kept.core.summary import Point
from kept.core.text import one_line
from kept.extraction.questions.answer import KINDS
from kept.extraction.questions.support import share
from kept.llm.ask import Ask
from kept.llm.schema import read_fitted, schema_of

PURPOSE = "summary"
MOST_TOKENS = 2_048
_POINT_CHARS = 240
_ALIKE = 0.7  # share of the shorter one's telling words from which two points of a kind are one
_SETTLED = 0.6  # share of a question's telling words that what settles it has
_SUPPORT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """A point of the whole, and the points it is made of."""

    text: str
    points: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sums:
    """What the whole came to."""

    problems: tuple[Sum, ...]
    solutions: tuple[Sum, ...]
    decisions: tuple[Sum, ...]
    questions: tuple[Sum, ...]


_SCHEMA = schema_of(Sums)


def folded(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points in their order, each thing once with the events of all who said it, without questions that a later point
    settles and without reports that checks passed.
    """
    listed = [each for each in points if not is_status_report(each.text)]
    says = [statement(each.text, artifacts(each.text)) for each in listed]
    kept: list[tuple[Point, Statement]] = []
    for number, each in enumerate(listed):
        if each.kind == "questions" and any(_settles(later, each) for later in listed[number + 1 :]):
            continue
        place = next((n for n, (other, said) in enumerate(kept) if other.kind == each.kind and _one(says[number], said)), None)
        if place is None:
            kept.append((each, says[number]))
        else:
            first, said = kept[place]
            events = tuple(dict.fromkeys((*first.events, *each.events)))
            kept[place] = Point(kind=first.kind, text=first.text, events=events), said
    return tuple(each for each, _ in kept)


def _settles(later: Point, question: Point) -> bool:
    return later.kind in ("decisions", "solutions") and share(question.text, later.text) >= _SETTLED


def _one(left: Statement, right: Statement) -> bool:
    if left.denials != right.denials or left.numbers != right.numbers:
        return same(left, right)
    shorter = min(len(left.content), len(right.content))
    return same(left, right) or (shorter > 2 and len(left.content & right.content) >= _ALIKE * shorter)


def summing(points: Sequence[Point], *, system: str, version: str, about: Sequence[str] = ()) -> Ask:
    """The question that has the points of a session or a day condensed; ``system`` is the text of ``outcome.md``."""
    lines = [f"p{number} ({each.kind}): {each.text}" for number, each in enumerate(points, 1)]
    return Ask(
        purpose=PURPOSE,
        version=version,
        system=system,
        prompt="\n".join(lines),
        schema=_SCHEMA,
        most=MOST_TOKENS,
        about=tuple(about),
        waits=True,
    )


def summed(body: Mapping[str, Any], points: Sequence[Point]) -> tuple[tuple[Point, ...], int]:
    """The condensed points of a reply to :func:`summing`, and how many of it were refused: made of nothing, or not carried by it.

    Raises ValueError that says what does not fit where the reply is not of the form that was asked for.
    """
    sums = read_fitted(Sums, body)
    known = {f"p{number}": each for number, each in enumerate(points, 1)}
    found: list[Point] = []
    refused = 0
    for kind in KINDS:
        for each in getattr(sums, kind):
            text, named = one_line(each.text), [known.get(one.strip()) for one in each.points]
            own = [one for one in named if one is not None]
            words = " ".join(one.text for one in own)
            names = all(name.casefold() in words.casefold() for name in artifacts(text))
            fits = own and len(own) == len(named) and len(text) <= _POINT_CHARS and not is_status_report(text)
            if not fits or not names or share(text, words) < _SUPPORT:
                refused += 1
            else:
                events = tuple(dict.fromkeys(event for one in own for event in one.events))
                found.append(Point(kind=kind, text=text, events=events))
    return tuple(found), refused
