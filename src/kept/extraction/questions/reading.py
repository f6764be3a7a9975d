"""What is read of a model's replies: the words of a claim weighed, claims sent back to be reworded, points put together.

Claims that nobody understands alone are sent back once, all of a reply together. What comes back takes the place of a claim's words
where it passes the same checks of trust and reads better; else the claim stays as it is.

Outcomes are what a session or a day came to, put together from what a model noted of its parts; no conversation is read a second
time. Said twice is said once, a question that was settled later is none any more. With a further question
(:func:`build_condense_ask`) a model condenses the points; its reply may only use points it was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.codec import digest
from kept.core.event import Author, Event, EventKind, Origin
from kept.core.memory import ALLUDES, UNDERSTOOD, Candidate, Evidence
from kept.core.sentences import is_status_report
from kept.core.spans import typed_text
from kept.core.statement import Statement, is_same_statement, parse_statement
from kept.core.summary import SummaryPoint
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.questions.question import Hint, event_ordinal
from kept.extraction.questions.support import event_fields, is_in_question, locate, supported_share
from kept.extraction.questions.trust import claim_authority, find_trust_fault, nearby_events, nearby_texts, next_prompt_place
from kept.extraction.questions.turns import Chunk
from kept.extraction.rules.patterns import compile_pattern, count_mass, has_match
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import Lexicon, TellingPatterns
from kept.profiles.profile import Profile

SUPPORT = 0.34  # below this share of its telling words a claim is not what the cited events say
BASE, CEILING = 0.3, 0.95
CARRIED = 0.25  # times the share of its words that the cited events carry
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
    """A candidate with the ordinal of the event it is anchored at; ``refusal`` says what is wrong with its evidence (empty:
    nothing).
    """

    ordinal: int
    candidate: Candidate
    refusal: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkReading:
    """``events`` maps ordinals to events, those around the chunk included; ``scope`` is where the memories of the thread belong."""

    chunk: Chunk
    events: Mapping[int, Event]
    hints: tuple[Hint, ...]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def ordinal(self, name: str) -> int | None:
        """The place of an event that was shown, by the id the model knows it by."""
        place = event_ordinal(name)
        shown = any(turn.ordinal == place and turn.text for turn in (*self.chunk.lead, *self.chunk.turns))
        return place if shown and place in self.events else None

    def cited_places(self, candidate: Candidate) -> list[int]:
        """The places of the events that a candidate cites."""
        keys = {item.event for item in candidate.evidence}
        return [place for place, event in self.events.items() if event.key in keys]

    def make_claim(self, candidate: Candidate, refusal: str = "") -> Claim:
        """The candidate as a claim, anchored at the last event it cites, with the id that follows from it."""
        place = max(self.cited_places(candidate), default=self.chunk.start)
        key = self.events[place].key if place in self.events else ""
        number = digest(candidate.profile, candidate.category, candidate.scope, UNDERSTOOD, key, candidate.content)
        made = replace(candidate, id=number, rewords="" if refusal else candidate.rewords)
        return Claim(ordinal=place, candidate=made, refusal=refusal)

    def has_support(self, text: str, places: Sequence[int]) -> bool:
        """Whether the events at some places say a point, and name what it names close by."""
        cited = {place: self.events[place] for place in places}
        said = [part for event in cited.values() for part in event_fields(event)]
        close = one_line(
            "\n".join(part for event in nearby_events(self.events, cited).values() for part in event_fields(event))
        ).casefold()
        return supported_share(text, *said) >= SUPPORT and all(one_line(name).casefold() in close for name in find_artifacts(text))

    def resolve_subject(self, about: str, places: Sequence[int]) -> str:
        """What a passage is said to be about, where somebody names it close by; else empty."""
        words = one_line(about)
        if not 0 < len(words) <= _ABOUT_CHARS:
            return ""
        said = nearby_texts(self.events, {place: self.events[place] for place in places})
        return words if any(locate(words, text) for text in said) else ""

    def signals(self, category: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
        """What else speaks for and against a claim, by the names in ``WEIGHTS``."""
        known = self.profile.category(category)
        allowed = known is not None and not known.users_words and any(item.origin is Origin.ASSISTANT for item in evidence)
        # The first quote is the passage; a question beside it is only what it was said about.
        asks = any(is_in_question(each.quote, self.events[place]) for place, each in self._person_evidence(evidence[:1]))
        checks = (
            ("from an author the category takes", allowed),
            ("question", asks and not any(self._is_followed_by_work(place) for place, _ in self._person_evidence(evidence))),
        )
        return tuple(name for name, holds in checks if holds)

    def _person_evidence(self, evidence: Sequence[Evidence]) -> list[tuple[int, Evidence]]:
        places = {event.key: place for place, event in self.events.items()}
        return [(places[item.event], item) for item in evidence if item.origin is Origin.USER and item.event in places]

    def _is_followed_by_work(self, place: int) -> bool:
        """Whether the assistant set to work after a prompt, before the person's next one."""
        stop = next_prompt_place(place, self.events)
        return any(
            event.kind is EventKind.TOOL_CALL and event.author is Author.ASSISTANT
            for at, event in self.events.items()
            if place < at and (stop < 0 or at < stop)
        )


def confidence(carried: float, signals: Sequence[str]) -> float:
    """How sure a claim is: what its signals add up to, in [0, 0.95]; ``carried`` is the share of its words that the events
    carry.
    """
    return round(min(CEILING, max(0.0, BASE + CARRIED * carried + sum(WEIGHTS[name] for name in signals))), 2)


KINDS = ("problems", "solutions", "decisions", "questions")
REWORD = "reword"
MOST_TOKENS = 2_048
_NEAR = 5  # first words among which one that points outside makes a sentence lean on what stands before it
_ENOUGH = 4  # words of a passage that says something alone
_LONG = 320  # characters beyond which a passage is more than one thing
_AROUND, _BEFORE = 400, 300  # characters shown of the prompt and of what stands before it


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A claim by its number, in better words."""

    id: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentences:
    """A whole reply."""

    sentences: tuple[Sentence, ...]


SCHEMA = schema_of(Sentences)
Item = tuple[Claim, ChunkReading]


def is_unclear(candidate: Candidate, lexicon: Lexicon) -> bool:
    """Whether a claim is not understood alone, or alludes to what it says."""
    return candidate.doubt == ALLUDES or not _is_understood(candidate.content, candidate.about, lexicon)


def without_allusion(candidate: Candidate) -> Candidate:
    """The claim as it is judged in words that say it."""
    return replace(candidate, doubt="") if candidate.doubt == ALLUDES else candidate


def _is_understood(text: str, about: str, lexicon: Lexicon) -> bool:
    """Whether a sentence is not very long, and its first words point at nothing outside, or something says at what."""
    return len(text) <= _LONG and (bool(about) or not any(_leans(text, patterns) for patterns in lexicon.spoken))


def stands_alone(text: str, about: str, lexicon: Lexicon) -> bool:
    """Whether a passage needs no other words: it is a sentence of some words that is understood alone."""
    return count_mass(text) >= _ENOUGH and not about and _is_understood(text, about, lexicon)


def _leans(text: str, words: TellingPatterns) -> bool:
    """Whether one of the first words points at something outside; "in this project" is said of every memory of one."""
    text = compile_pattern(words.here).sub(" ", text) if words.here else text
    return has_match(words.outside, " ".join(text.split()[:_NEAR]) if words.spaced else text[: 2 * _NEAR])


def rewording(items: Sequence[Item], *, system: str, version: str, about: Sequence[str]) -> Ask:
    """What is asked about some claims, each with what was said around it."""
    lines: list[str] = []
    for number, (claim, reading) in enumerate(items, 1):
        place = _place_of_words(claim, reading)
        before = reading.events.get(place - 1)
        lines.append(f"{number} ({claim.candidate.category}): {one_line(claim.candidate.content)}")
        if before is not None and before.kind in (EventKind.RESPONSE, EventKind.PROMPT):
            lines.append(f"   said after: {one_line(before.text)[-_BEFORE:]}")
        lines.append(f"   said in: {_around(claim.candidate.content, reading.events[place])}")
    return Ask(
        purpose=REWORD,
        version=version,
        system=system,
        prompt="\n".join(lines),
        schema=SCHEMA,
        most=MOST_TOKENS,
        about=tuple(dict.fromkeys(about)),
        waits=True,
    )


def _place_of_words(claim: Claim, reading: ChunkReading) -> int:
    """The place of the event that holds a claim's words; of the last it cites where none does."""
    cited = reading.cited_places(claim.candidate)
    holds = (place for place in cited if any(locate(claim.candidate.content, text) for text in event_fields(reading.events[place])))
    return next(holds, claim.ordinal)


def _around(words: str, event: Event) -> str:
    text = typed_text(event) or event.text
    found = locate(words, text)
    middle = sum(found) // 2 if found else 0
    start = max(0, min(middle - _AROUND // 2, len(text) - _AROUND))
    return one_line(text[start : start + _AROUND])


def clearer(body: Mapping[str, Any], items: Sequence[Item]) -> dict[int, Claim]:
    """The claims that a reply puts in better words, by their places. Raises ValueError where it is not of the form asked for."""
    found: dict[int, Claim] = {}
    for sentence in parse_as(Sentences, body).sentences:
        place, text = sentence.id - 1, one_line(sentence.text)
        if 0 <= place < len(items) and text and (claim := _reworded(text, *items[place])) is not None:
            found[place] = claim
    return found


def _reworded(text: str, claim: Claim, reading: ChunkReading) -> Claim | None:
    candidate = claim.candidate
    made = replace(
        without_allusion(candidate),
        content=text,
        artifacts=find_artifacts(text),
        reasoning=f"{candidate.reasoning}; reworded, for it was not clear alone: {one_line(candidate.content)[:160]}",
    )
    told = find_trust_fault(text, candidate.category, candidate.evidence, reading.events, reading.lexicon)
    origin, _ = claim_authority(text, candidate.evidence, reading.events, reading.lexicon)
    if told or origin is not candidate.origin or is_unclear(made, reading.lexicon):
        return None
    return reading.make_claim(made, claim.refusal)


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
    return later.kind in ("decisions", "solutions") and supported_share(question.text, later.text) >= _SETTLED


def _is_same_statement(left: Statement, right: Statement) -> bool:
    if left.denials != right.denials or left.numbers != right.numbers:
        return is_same_statement(left, right)
    shorter = min(len(left.content), len(right.content))
    return is_same_statement(left, right) or (shorter > 2 and len(left.content & right.content) >= _ALIKE * shorter)


def build_condense_ask(points: Sequence[SummaryPoint], *, system: str, version: str, about: Sequence[str] = ()) -> Ask:
    """The question that has the points of a session or a day condensed; ``system`` is the text of ``outcome.md``."""
    lines = [f"p{number} ({point.kind}): {point.text}" for number, point in enumerate(points, 1)]
    return Ask(
        purpose="summary",
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
