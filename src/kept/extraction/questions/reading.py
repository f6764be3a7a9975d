"""Process a model's replies: score claims, send unclear claims back for rewording, merge points.

Claims that cannot be understood alone are sent back once, all claims of a reply together. A rewording replaces the words of a claim
if it passes the same trust checks and is clearer; otherwise the claim stays as it is.

Outcomes of a session or day are merged from the points that a model noted about its parts; no conversation is read again. Repeated
points are merged, and questions that were settled later are dropped. With a further question (:func:`build_condense_ask`) a model
condenses the points; its reply may only use points that it was given.
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

SUPPORT = 0.34  # minimum share of a point's content words that the cited events must contain
BASE, CEILING = 0.3, 0.95
CARRIED = 0.25  # weight of the share of words that the cited events contain
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
    """A candidate with the ordinal of the event it is anchored at; ``refusal`` is the fault of its evidence (empty: none)."""

    ordinal: int
    candidate: Candidate
    refusal: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkReading:
    """What is needed to read a reply about a chunk. ``events`` maps ordinals to events and includes those around the chunk;
    ``scope`` is the scope of the thread.
    """

    chunk: Chunk
    events: Mapping[int, Event]
    hints: tuple[Hint, ...]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def ordinal(self, name: str) -> int | None:
        """The ordinal of an event that was shown, from the id in a reply; None if it was not shown."""
        place = event_ordinal(name)
        shown = any(turn.ordinal == place and turn.text for turn in (*self.chunk.lead, *self.chunk.turns))
        return place if shown and place in self.events else None

    def cited_places(self, candidate: Candidate) -> list[int]:
        """The ordinals of the events that a candidate cites."""
        keys = {item.event for item in candidate.evidence}
        return [place for place, event in self.events.items() if event.key in keys]

    def make_claim(self, candidate: Candidate, refusal: str = "") -> Claim:
        """Make a claim of a candidate: anchored at the last event it cites, with the id derived from that."""
        place = max(self.cited_places(candidate), default=self.chunk.start)
        key = self.events[place].key if place in self.events else ""
        number = digest(candidate.profile, candidate.category, candidate.scope, UNDERSTOOD, key, candidate.content)
        made = replace(candidate, id=number, rewords="" if refusal else candidate.rewords)
        return Claim(ordinal=place, candidate=made, refusal=refusal)

    def has_support(self, text: str, places: Sequence[int]) -> bool:
        """True if the events at some ordinals support a text, and its artifacts occur nearby."""
        cited = {place: self.events[place] for place in places}
        said = [part for event in cited.values() for part in event_fields(event)]
        close = one_line(
            "\n".join(part for event in nearby_events(self.events, cited).values() for part in event_fields(event))
        ).casefold()
        return supported_share(text, *said) >= SUPPORT and all(one_line(name).casefold() in close for name in find_artifacts(text))

    def resolve_subject(self, about: str, places: Sequence[int]) -> str:
        """Return the claimed subject of a passage if a nearby text contains it; else empty."""
        words = one_line(about)
        if not 0 < len(words) <= _ABOUT_CHARS:
            return ""
        said = nearby_texts(self.events, {place: self.events[place] for place in places})
        return words if any(locate(words, text) for text in said) else ""

    def signals(self, category: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
        """The other signals for and against a claim, by their names in ``WEIGHTS``."""
        known = self.profile.category(category)
        allowed = known is not None and not known.users_words and any(item.origin is Origin.ASSISTANT for item in evidence)
        # The first quote is the passage; a question quoted beside it is only its context.
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
        """True if the assistant called a tool after a prompt, before the person's next prompt."""
        stop = next_prompt_place(place, self.events)
        return any(
            event.kind is EventKind.TOOL_CALL and event.author is Author.ASSISTANT
            for at, event in self.events.items()
            if place < at and (stop < 0 or at < stop)
        )


def compute_confidence(carried: float, signals: Sequence[str]) -> float:
    """The confidence of a claim in [0, 0.95], from its signals and ``carried``, the share of its words that the events contain."""
    return round(min(CEILING, max(0.0, BASE + CARRIED * carried + sum(WEIGHTS[name] for name in signals))), 2)


KINDS = ("problems", "solutions", "decisions", "questions")
REWORD = "reword"
MOST_TOKENS = 2_048
_LEADING_WORDS = 5  # if one of this many first words refers outside, the sentence depends on what precedes it
_ENOUGH = 4  # words of a passage that can stand alone
_LONG_PASSAGE = 320  # characters; a longer passage says more than one thing
_AROUND, _BEFORE = 400, 300  # characters shown around the claim's words, and of the text before


@dataclass(frozen=True, kw_only=True, slots=True)
class RewordedClaim:
    """A claim's number and its rewording."""

    id: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RewordingReply:
    """A whole reply."""

    sentences: tuple[RewordedClaim, ...]


SCHEMA = schema_of(RewordingReply)
ClaimInContext = tuple[Claim, ChunkReading]


def is_unclear(candidate: Candidate, lexicon: Lexicon) -> bool:
    """True if a claim cannot be understood alone, or only alludes to its content."""
    return candidate.doubt == ALLUDES or not _is_understood(candidate.content, candidate.about, lexicon)


def without_allusion(candidate: Candidate) -> Candidate:
    """The claim without the doubt that it alludes, to judge it as if it were reworded."""
    return replace(candidate, doubt="") if candidate.doubt == ALLUDES else candidate


def _is_understood(text: str, about: str, lexicon: Lexicon) -> bool:
    """True if a sentence is not too long, and either names its subject or refers to nothing outside in its first words."""
    return len(text) <= _LONG_PASSAGE and (bool(about) or not any(_leans(text, patterns) for patterns in lexicon.spoken))


def stands_alone(text: str, about: str, lexicon: Lexicon) -> bool:
    """True if a passage needs no rewording: it is long enough, and can be understood alone."""
    return count_mass(text) >= _ENOUGH and not about and _is_understood(text, about, lexicon)


def _leans(text: str, words: TellingPatterns) -> bool:
    """True if one of the first words refers outside; "in this project" does not, since it applies to every memory of a project."""
    text = compile_pattern(words.here).sub(" ", text) if words.here else text
    return has_match(words.outside, " ".join(text.split()[:_LEADING_WORDS]) if words.spaced else text[: 2 * _LEADING_WORDS])


def build_rewording_ask(items: Sequence[ClaimInContext], *, system: str, version: str, about: Sequence[str]) -> Ask:
    """Build the question that sends claims back for rewording, each with its context."""
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
    """The ordinal of the event that contains a claim's words, or else of the last event it cites."""
    cited = reading.cited_places(claim.candidate)
    holds = (place for place in cited if any(locate(claim.candidate.content, text) for text in event_fields(reading.events[place])))
    return next(holds, claim.ordinal)


def _around(words: str, event: Event) -> str:
    text = typed_text(event) or event.text
    found = locate(words, text)
    middle = sum(found) // 2 if found else 0
    start = max(0, min(middle - _AROUND // 2, len(text) - _AROUND))
    return one_line(text[start : start + _AROUND])


def read_rewordings(body: Mapping[str, Any], items: Sequence[ClaimInContext]) -> dict[int, Claim]:
    """The reworded claims in a reply, by index. Raises ValueError if it does not have the requested form."""
    found: dict[int, Claim] = {}
    for sentence in parse_as(RewordingReply, body).sentences:
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
_MERGED_SHARE = 0.7  # share of the shorter point's content words from which two points of a kind are merged
_SETTLED = 0.6  # share of a question's content words that settles it if a later point contains them
_SUPPORT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoint:
    """A condensed point, and the points it is made of."""

    text: str
    points: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CondensedPoints:
    """The condensed points of the whole."""

    problems: tuple[CondensedPoint, ...]
    solutions: tuple[CondensedPoint, ...]
    decisions: tuple[CondensedPoint, ...]
    questions: tuple[CondensedPoint, ...]


_SCHEMA = schema_of(CondensedPoints)


def merge_points(points: Iterable[SummaryPoint]) -> tuple[SummaryPoint, ...]:
    """Merge points in order: repeated points once with all their events, without questions that a later point settles, and without
    reports that checks passed.
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
    return is_same_statement(left, right) or (shorter > 2 and len(left.content & right.content) >= _MERGED_SHARE * shorter)


def build_condense_ask(points: Sequence[SummaryPoint], *, system: str, version: str, about: Sequence[str] = ()) -> Ask:
    """Build the question that condenses the points of a session or a day; ``system`` is the text of ``outcome.md``."""
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
    """The condensed points in a reply to :func:`build_condense_ask`, and the number of refused ones: based on unknown points or not
    supported by them.

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
            if not fits or not names or supported_share(text, words) < _SUPPORT:
                refused += 1
            else:
                events = tuple(dict.fromkeys(event for summary_point in own for event in summary_point.events))
                summary_points.append(SummaryPoint(kind=kind, text=text, events=events))
    return tuple(summary_points), refused
