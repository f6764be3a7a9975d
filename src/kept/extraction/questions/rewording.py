"""The rewording question: claims that nobody understands alone are sent back once, all of a reply together.

What comes back takes the place of a claim's words where it passes the same checks of trust and reads better; else the claim stays
as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.event import Event, EventKind
from kept.core.lexicon import Lexicon, TellingPatterns
from kept.core.memory import ALLUDES, Candidate
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.extraction.questions.reading import ChunkReading, Claim
from kept.extraction.questions.support import event_fields, locate
from kept.extraction.questions.trust import claim_authority, find_trust_fault
from kept.extraction.rules.patterns import compile_pattern, count_mass, has_match
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of

PURPOSE = "reword"
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
    return len(text) <= _LONG and (bool(about) or not any(_leans(text, telling_patterns) for telling_patterns in lexicon.spoken))


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
        purpose=PURPOSE,
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
