"""Claims and points of a model's reply: the data for reading a reply about a chunk, the event that anchors each claim, and its
confidence. Points that a model notes about each chunk are merged and condensed to the outcome of a session or a day.

No conversation is read again. Repeated points are merged, and questions that were answered later are dropped. With another question
(:func:`build_condense_ask`) a model condenses the points. Its reply may use only points that it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Author, Event, EventKind, Origin
from kept.core.memory import UNDERSTOOD, Candidate, Evidence
from kept.core.sentences import is_status_report
from kept.core.statement import Statement, is_same_statement, parse_statement
from kept.core.summary import SummaryPoint
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.questions.question import Hint, NotePoint, Notes, parse_event_ordinal
from kept.extraction.questions.support import is_unasserted, locate, measure_support
from kept.extraction.questions.trust import find_nearby_events, find_nearby_texts, find_next_prompt
from kept.extraction.questions.turns import Chunk
from kept.extraction.rules.patterns import list_texts
from kept.llm.ask import Ask, build_ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Profile

SUPPORT = 0.34  # minimum share of a point's content words that the cited events must contain
BASE, CEILING = 0.3, 0.95
CARRIED = 0.25  # weight of the share of a claim's words that the cited events contain
WEIGHTS = {
    "the user's words": 0.25,
    "from an author the category takes": 0.3,
    "agreed to by the user": 0.25,
    "rules found it too": 0.15,
    "question": -0.3,
}
_ABOUT_CHARS = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A candidate and the ordinal of the event it is anchored at. ``refusal`` is the fault of its evidence; empty if none."""

    ordinal: int
    candidate: Candidate
    refusal: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkReading:
    """The data for reading a reply about a chunk.

    ``events`` maps ordinals to the events of the chunk and those around it. ``scope`` is the scope of the thread.
    """

    chunk: Chunk
    events: Mapping[int, Event]
    hints: tuple[Hint, ...]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def ordinal(self, name: str) -> int | None:
        """The ordinal that an event name in a reply stands for; None if the event was not shown."""
        place = parse_event_ordinal(name)
        shown = any(turn.ordinal == place and turn.text for turn in (*self.chunk.lead, *self.chunk.turns))
        return place if shown and place in self.events else None

    def cited_places(self, candidate: Candidate) -> list[int]:
        """The ordinals of the events that a candidate cites."""
        keys = {item.event for item in candidate.evidence}
        return [place for place, event in self.events.items() if event.key in keys]

    def make_claim(self, candidate: Candidate, refusal: str = "") -> Claim:
        """Make a claim of a candidate. It is anchored at the last event that the candidate cites, which is part of its id."""
        place = max(self.cited_places(candidate), default=self.chunk.start)
        key = self.events[place].key if place in self.events else ""
        number = digest(candidate.profile, candidate.category, candidate.scope, UNDERSTOOD, key, candidate.content)
        made = replace(candidate, id=number, rewords="" if refusal else candidate.rewords)
        return Claim(ordinal=place, candidate=made, refusal=refusal)

    def has_support(self, text: str, places: Sequence[int]) -> bool:
        """True if the events at ``places`` contain enough words of a text, and nearby texts contain its artifacts."""
        cited = {place: self.events[place] for place in places}
        said = [part for event in cited.values() for part in list_texts(event)]
        close = one_line(
            "\n".join(part for event in find_nearby_events(self.events, cited).values() for part in list_texts(event))
        ).casefold()
        return measure_support(text, *said) >= SUPPORT and all(one_line(name).casefold() in close for name in find_artifacts(text))

    def resolve_subject(self, about: str, places: Sequence[int]) -> str:
        """The subject ``about`` that a model gave to a passage, if a nearby text contains it; else empty."""
        words = one_line(about)
        if not 0 < len(words) <= _ABOUT_CHARS:
            return ""
        said = find_nearby_texts(self.events, {place: self.events[place] for place in places})
        return words if any(locate(words, text) for text in said) else ""

    def signals(self, category: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
        """The other signals for and against a claim, named as in ``WEIGHTS``."""
        known = self.profile.category(category)
        allowed = known is not None and not known.users_words and any(item.origin is Origin.ASSISTANT for item in evidence)
        # The first quote is the passage. A question quoted beside it is only context.
        asks = any(is_unasserted(each.quote, self.events[place]) for place, each in self._person_evidence(evidence[:1]))
        checks = (
            ("from an author the category takes", allowed),
            ("question", asks and not any(self._is_followed_by_work(place) for place, _ in self._person_evidence(evidence))),
        )
        return tuple(name for name, holds in checks if holds)

    def _person_evidence(self, evidence: Sequence[Evidence]) -> list[tuple[int, Evidence]]:
        places = {event.key: place for place, event in self.events.items()}
        return [(places[item.event], item) for item in evidence if item.origin is Origin.USER and item.event in places]

    def _is_followed_by_work(self, place: int) -> bool:
        """True if the assistant called a tool between this prompt and the person's next one."""
        stop = find_next_prompt(place, self.events)
        return any(
            event.kind is EventKind.TOOL_CALL and event.author is Author.ASSISTANT
            for at, event in self.events.items()
            if place < at and (stop < 0 or at < stop)
        )


def compute_confidence(carried: float, signals: Sequence[str]) -> float:
    """The confidence of a claim in [0, 0.95], from its signals and ``carried``, the share of its words that the events contain."""
    return round(min(CEILING, max(0.0, BASE + CARRIED * carried + sum(WEIGHTS[name] for name in signals))), 2)


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
    prompt = "\n".join(f"p{number} ({point.kind}): {point.text}" for number, point in enumerate(points, 1))
    return build_ask("summary", prompt, _SCHEMA, most=_MOST_TOKENS, about=about, text="outcome")


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
