"""With what a reply is read: the chunk, the events that were shown, what rules found in it, by whose rules. And the words of a
claim weighed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import re2

from kept.core.artifact import artifacts
from kept.core.codec import digest
from kept.core.event import Author, Event, Kind, Origin, least
from kept.core.lexicon import Lexicon
from kept.core.memory import Candidate, Evidence
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.extraction.questions.chunks import Chunk
from kept.extraction.questions.question import Hint
from kept.extraction.questions.support import failure, fields, locate, share
from kept.extraction.questions.trust import never_helped, turned_around
from kept.profiles.profile import Profile

TRIGGER = "model"
FIX = "known_fix"
SUPPORT = 0.34  # below this share of its telling words a claim is not what the cited events say
BASE, CEILING = 0.3, 0.95
CARRIED = 0.25  # times the share of its words that the cited events carry
WEIGHTS = {
    "the user's words": 0.2,
    "agreed to by the user": 0.15,
    "names artifacts": 0.1,
    "rules found it too": 0.15,
    "tells what it does": 0.1,
    "several events": 0.05,
    "tells the error": 0.15,
    "question": -0.3,
}
_NEIGHBOURS = 8
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
class Reading:
    """``events`` maps ordinals to events, those around the chunk included; ``scope`` is where the memories of the thread belong."""

    chunk: Chunk
    events: Mapping[int, Event]
    hints: tuple[Hint, ...]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def ordinal(self, name: str) -> int | None:
        """The place of an event that was shown, by the id the model knows it by."""
        digits = name.strip().strip("[]").removeprefix("e")
        place = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else -1
        shown = any(each.ordinal == place for each in (*self.chunk.lead, *self.chunk.turns))
        return place if shown and place in self.events else None

    def cited(self, candidate: Candidate) -> list[int]:
        """The places of the events that a candidate cites."""
        keys = {each.event for each in candidate.evidence}
        return [place for place, event in self.events.items() if event.key in keys]

    def claim(self, candidate: Candidate, refusal: str = "") -> Claim:
        """The candidate as a claim, anchored at the last event it cites, with the id that follows from it."""
        place = max(self.cited(candidate), default=self.chunk.start)
        key = self.events[place].key if place in self.events else ""
        number = digest(candidate.profile, candidate.category, candidate.scope, TRIGGER, key, candidate.content)
        made = replace(candidate, id=number, rewords="" if refusal else candidate.rewords)
        return Claim(ordinal=place, candidate=made, refusal=refusal)

    def unsupported(self, content: str, places: Sequence[int]) -> str:
        """What is wrong with the words of a claim: they are not what the events say, or name what is nowhere near. Empty:
        nothing.
        """
        cited = [text for place in places for text in fields(self.events[place])]
        if not cited or share(content, *cited) < SUPPORT:
            return "unsupported"
        around = sorted({place + step for place in places for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1)} & self.events.keys())
        near = one_line("\n".join(text for place in around for text in fields(self.events[place]))).casefold()
        return "" if all(one_line(name).casefold() in near for name in artifacts(content)) else "names what is not there"

    def near(self, about: str, places: Sequence[int]) -> str:
        """What a passage is said to be about, where somebody names it close by; else empty."""
        words = one_line(about)
        near = "\n".join(self._said_around(places))
        return words if len(words) <= _ABOUT_CHARS and words and locate(words, near) else ""

    def _said_around(self, places: Sequence[int]) -> Iterator[str]:
        """The texts close to some places that people and assistants wrote, and what tools were called with."""
        for place in sorted({place + step for place in places for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1)}):
            event = self.events.get(place)
            if event is not None and event.kind is Kind.PROMPT:
                yield typed_text(event)
            elif event is not None and event.author is Author.ASSISTANT:
                yield from fields(event)

    def distorted(self, candidate: Candidate, places: Sequence[int]) -> str:
        """How a claim breaks trust: a fix that nobody ran, or words that turn around what they rest on. Empty: it does not."""
        if candidate.category == FIX:
            cited = [self.events[place] for place in places]
            near = [self.events[place] for place in sorted(self.events)]
            return "a remedy that never helped" if never_helped(candidate.content, cited, near) else ""
        return turned_around(
            candidate.content, candidate.evidence, {self.events[place].key: self.events[place] for place in places}
        )

    def trust(self, content: str, evidence: Sequence[Evidence], places: Sequence[int]) -> tuple[Origin, tuple[str, ...]]:
        """Whose claim it is: the user's where their words carry it, or grant what the assistant said before; else the least
        trusted's.
        """
        events = [self.events[place] for place in places]
        own = [words for each in events if (words := typed_text(each))]
        if own and share(content, *own) >= SUPPORT:
            return Origin.USER, ("the user's words",)
        said = [place for place in places if self.events[place].author is Author.ASSISTANT]
        if own and said and {each.author for each in events} == {Author.HUMAN, Author.ASSISTANT}:
            granted = self._prompt_after(max(said))
            if granted in places and _agrees(typed_text(self.events[granted]), self.lexicon):
                return Origin.USER, ("agreed to by the user",)
        return (least(tuple(each.origin for each in evidence)) if evidence else Origin.TOOL), ()

    def _prompt_after(self, place: int) -> int:
        prompts = (
            each
            for each in sorted(self.events)
            if each > place and self.events[each].kind is Kind.PROMPT and self.events[each].author is Author.HUMAN
        )
        return next(prompts, -1)

    def signals(self, content: str, category: str, evidence: Sequence[Evidence], places: Sequence[int]) -> tuple[str, ...]:
        """What else speaks for and against a claim, by the names in ``WEIGHTS``."""
        own = " ".join(each.quote for each in evidence if each.origin is Origin.USER)
        cues = [cue for words in self.lexicon.spoken for cue in (words.rule, words.convention, words.preference, words.decided)]
        fails = any(self.events[place].kind is Kind.TOOL_OUTPUT and failure(self.events[place]) for place in places)
        checks = (
            ("names artifacts", bool(artifacts(content))),
            ("tells what it does", any(_found(cue, own) for cue in cues)),
            ("several events", len({each.event for each in evidence}) > 1),
            ("tells the error", category == FIX and fails),
            ("question", own.rstrip().endswith(("?", "？"))),
        )
        return tuple(name for name, holds in checks if holds)


def confidence(carried: float, signals: Sequence[str]) -> float:
    """How sure a claim is: what its signals add up to, in [0, 0.95]; ``carried`` is the share of its words that the events
    carry.
    """
    return round(min(CEILING, max(0.0, BASE + CARRIED * carried + sum(WEIGHTS[name] for name in signals))), 2)


def _agrees(text: str, lexicon: Lexicon) -> bool:
    opening = text.strip()[:80]
    return bool(lexicon.agreement) and re2.match(lexicon.agreement, opening) is not None and not opening.endswith("?")


def _found(source: str, text: str) -> bool:
    return bool(source and text) and re2.search(source, text) is not None
