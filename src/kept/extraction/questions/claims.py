"""Claims of a model's reply: the data for reading a reply about a chunk, the event that anchors each claim, and its confidence."""

from collections.abc import Mapping, Sequence

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Author, Event, EventKind, Origin
from kept.core.memory import UNDERSTOOD, Candidate, Evidence
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.questions.question import Hint, parse_event_ordinal
from kept.extraction.questions.support import is_unasserted, locate, measure_support
from kept.extraction.questions.trust import find_nearby_events, find_nearby_texts, find_next_prompt
from kept.extraction.questions.turns import Chunk
from kept.extraction.rules.patterns import list_texts
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
