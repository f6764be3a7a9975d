"""With what a reply is read: the chunk, the events that were shown, what rules found in it, by whose rules. And the words of a
claim weighed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kept.core.artifact import find_artifacts
from kept.core.codec import digest
from kept.core.event import Author, Event, EventKind, Origin
from kept.core.lexicon import Lexicon
from kept.core.memory import UNDERSTOOD, Candidate, Evidence
from kept.core.text import one_line
from kept.extraction.questions.chunks import Chunk
from kept.extraction.questions.question import Hint, event_ordinal
from kept.extraction.questions.support import event_fields, is_in_question, locate, supported_share
from kept.extraction.questions.trust import nearby_events, nearby_texts, next_prompt_place
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
