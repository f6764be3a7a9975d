"""Outcomes: what a session or a day came to, put together from what a model noted of its parts. No conversation is read a second
time.

Without a further question the points are folded: said twice is said once, a question that was settled later is none any more. With
one (:func:`build_condense_ask`) a model condenses them; its reply may only use points it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.sentences import is_status_report
from kept.core.statement import Statement, is_same_statement, parse_statement
from kept.core.summary import SummaryPoint
from kept.core.text import one_line
from kept.extraction.questions.answer import KINDS
from kept.extraction.questions.support import supported_share
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of

PURPOSE = "summary"
MOST_TOKENS = 2_048
_POINT_CHARS = 240
_ALIKE = 0.7  # share of the shorter one's telling words from which two points of a kind are one
_SETTLED = 0.6  # share of a question's telling words that what settles it has
_SUPPORT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoint:
    """A point of the whole, and the points it is made of."""

    text: str
    points: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoints:
    """What the whole came to."""

    problems: tuple[CondensedPoint, ...]
    solutions: tuple[CondensedPoint, ...]
    decisions: tuple[CondensedPoint, ...]
    questions: tuple[CondensedPoint, ...]


_SCHEMA = schema_of(CondensedPoints)


def merge_points(points: Iterable[SummaryPoint]) -> tuple[SummaryPoint, ...]:
    """The points in their order, each thing once with the events of all who said it, without questions that a later point
    settles and without reports that checks passed.
    """
    listed = [summary_point for summary_point in points if not is_status_report(summary_point.text)]
    says = [parse_statement(summary_point.text, find_artifacts(summary_point.text)) for summary_point in listed]
    kept: list[tuple[SummaryPoint, Statement]] = []
    for number, each in enumerate(listed):
        if each.kind == "questions" and any(_is_answer_to(later, each) for later in listed[number + 1 :]):
            continue
        place = next(
            (
                n
                for n, (other, statement) in enumerate(kept)
                if other.kind == each.kind and _is_same_statement(says[number], statement)
            ),
            None,
        )
        if place is None:
            kept.append((each, says[number]))
        else:
            first, said = kept[place]
            events = tuple(dict.fromkeys((*first.events, *each.events)))
            kept[place] = SummaryPoint(kind=first.kind, text=first.text, events=events), said
    return tuple(summary_point for summary_point, _ in kept)


def _is_answer_to(later: SummaryPoint, question: SummaryPoint) -> bool:
    return later.kind in ("decisions", "solutions") and supported_share(question.text, later.text) >= _SETTLED


def _is_same_statement(left: Statement, right: Statement) -> bool:
    if left.denials != right.denials or left.numbers != right.numbers:
        return is_same_statement(left, right)
    shorter = min(len(left.content), len(right.content))
    return is_same_statement(left, right) or (shorter > 2 and len(left.content & right.content) >= _ALIKE * shorter)


def build_condense_ask(points: Sequence[SummaryPoint], *, system: str, version: str, about: Sequence[str] = ()) -> Ask:
    """The question that has the points of a session or a day condensed; ``system`` is the text of ``outcome.md``."""
    lines = [f"p{number} ({summary_point.kind}): {summary_point.text}" for number, summary_point in enumerate(points, 1)]
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


def read_condensed_points(body: Mapping[str, Any], points: Sequence[SummaryPoint]) -> tuple[tuple[SummaryPoint, ...], int]:
    """The condensed points of a reply to :func:`build_condense_ask`, and how many of it were refused: made of nothing, or not
    carried by it.

    Raises ValueError that says what does not fit where the reply is not of the form that was asked for.
    """
    sums = parse_as(CondensedPoints, body)
    known = {f"p{number}": summary_point for number, summary_point in enumerate(points, 1)}
    summary_points: list[SummaryPoint] = []
    refused = 0
    for kind in KINDS:
        for item in getattr(sums, kind):
            text, named = one_line(item.text), [known.get(point.strip()) for point in item.points]
            own = [summary_point for summary_point in named if summary_point is not None]
            words = " ".join(summary_point.text for summary_point in own)
            names = all(name.casefold() in words.casefold() for name in find_artifacts(text))
            fits = own and len(own) == len(named) and len(text) <= _POINT_CHARS and not is_status_report(text)
            if not fits or not names or supported_share(text, words) < _SUPPORT:
                refused += 1
            else:
                events = tuple(dict.fromkeys(event for summary_point in own for event in summary_point.events))
                summary_points.append(SummaryPoint(kind=kind, text=text, events=events))
    return tuple(summary_points), refused
