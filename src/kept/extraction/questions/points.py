"""Points of a summary. A model notes them about each chunk; here they are merged and condensed to the outcome of a session or a
day.

No conversation is read again. Repeated points are merged, and questions that were answered later are dropped. With another question
(:func:`build_condense_ask`) a model condenses the points. Its reply may use only points that it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.sentences import is_status_report
from kept.core.statement import Statement, is_same_statement, parse_statement
from kept.core.summary import SummaryPoint
from kept.core.text import one_line
from kept.core.value import dataclass
from kept.extraction.questions.claims import ChunkReading
from kept.extraction.questions.question import NotePoint, Notes
from kept.extraction.questions.support import measure_support
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.prompts import question_text

KINDS = ("problems", "solutions", "decisions", "questions")
_MOST_POINTS = 12
_MOST_TOKENS = 2_048
_POINT_CHARS = 240
_MERGED_SHARE = 0.7  # two points of a kind are merged if they share this part of the shorter one's content words
_SETTLED = 0.6  # a later point answers a question if it contains this share of the question's content words
_SUPPORT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoint:
    """A condensed point, and the points that it was made from."""

    text: str
    points: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoints:
    """The condensed points of a session or a day, by kind."""

    problems: tuple[CondensedPoint, ...]
    solutions: tuple[CondensedPoint, ...]
    decisions: tuple[CondensedPoint, ...]
    questions: tuple[CondensedPoint, ...]


_SCHEMA = schema_of(CondensedPoints)


def read_points(notes: Notes, reading: ChunkReading) -> tuple[tuple[SummaryPoint, ...], int]:
    """The supported points of a reply about a chunk, ordered by the last event each cites, and the number of unsupported ones."""
    read = [_read_point(kind, noted, reading) for kind in KINDS for noted in getattr(notes, kind)[:_MOST_POINTS]]
    supported = sorted((item for item in read if item is not None), key=lambda item: item[0])
    return tuple(point for _, point in supported), len(read) - len(supported)


def _read_point(kind: str, noted: NotePoint, reading: ChunkReading) -> tuple[int, SummaryPoint] | None:
    text = one_line(noted.text)
    places = [place for event in noted.events if (place := reading.ordinal(event)) is not None]
    if not text or len(text) > _POINT_CHARS or len(places) < len(noted.events) or not reading.has_support(text, places):
        return None
    keys = tuple(dict.fromkeys(reading.events[place].key for place in places))
    return max(places), SummaryPoint(kind=kind, text=text, events=keys)


def merge_points(points: Iterable[SummaryPoint]) -> tuple[SummaryPoint, ...]:
    """Merge points, in order. A repeated point appears once, with all its events. Questions that a later point answers are dropped,
    and so are reports that checks passed.
    """
    listed = [point for point in points if not is_status_report(point.text)]
    says = [parse_statement(point.text, find_artifacts(point.text)) for point in listed]
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
    return tuple(point for point, _ in kept)


def _is_answer_to(later: SummaryPoint, question: SummaryPoint) -> bool:
    return later.kind in ("decisions", "solutions") and measure_support(question.text, later.text) >= _SETTLED


def _is_same_statement(left: Statement, right: Statement) -> bool:
    if left.denials != right.denials or left.numbers != right.numbers:
        return is_same_statement(left, right)
    shorter = min(len(left.content), len(right.content))
    return is_same_statement(left, right) or (shorter > 2 and len(left.content & right.content) >= _MERGED_SHARE * shorter)


def build_condense_ask(points: Sequence[SummaryPoint], *, about: Sequence[str] = ()) -> Ask:
    """Build the question that condenses the points of a session or a day. ``about`` are the sessions that the points are from."""
    system, version = question_text("outcome")
    return Ask(
        purpose="summary",
        version=version,
        system=system,
        prompt="\n".join(f"p{number} ({point.kind}): {point.text}" for number, point in enumerate(points, 1)),
        schema=_SCHEMA,
        most=_MOST_TOKENS,
        about=tuple(about),
        waits=True,
    )


def read_condensed_points(body: Mapping[str, Any], points: Sequence[SummaryPoint]) -> tuple[tuple[SummaryPoint, ...], int]:
    """The condensed points in a reply to :func:`build_condense_ask`, and the number of refused points. A point is refused if it
    names unknown points, or if the points it names do not support it.

    Raises ValueError with the reason if the reply does not have the requested form.
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
            if not fits or not names or measure_support(text, words) < _SUPPORT:
                refused += 1
            else:
                events = tuple(dict.fromkeys(event for summary_point in own for event in summary_point.events))
                summary_points.append(SummaryPoint(kind=kind, text=text, events=events))
    return tuple(summary_points), refused
