"""Rewording: send claims that cannot be understood alone back to the model once, all claims of a reply together.

A rewording replaces the words of a claim if it passes the same trust checks and is clearer. Otherwise the claim stays as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.event import Event, EventKind
from kept.core.memory import ALLUDES, Candidate
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.questions.claims import ChunkReading, Claim
from kept.extraction.questions.support import locate
from kept.extraction.questions.trust import find_claim_author, find_trust_fault
from kept.extraction.rules.candidates import POINTS_OUTSIDE
from kept.extraction.rules.patterns import count_mass, list_texts, refers_outside
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import Lexicon
from kept.profiles.prompts import question_text

_MOST_TOKENS = 2_048
_ENOUGH = 4  # words that a passage needs to stand alone
_LONG_PASSAGE = 320  # characters; a longer passage says more than one thing
_AROUND, _BEFORE = 400, 300  # characters shown around the claim's words, and characters of the text before


@dataclass(frozen=True, kw_only=True, slots=True)
class RewordedClaim:
    """A claim's number and its rewording."""

    id: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RewordingReply:
    """All rewordings of a reply."""

    sentences: tuple[RewordedClaim, ...]


_SCHEMA = schema_of(RewordingReply)
ClaimInContext = tuple[Claim, ChunkReading]


def is_unclear(candidate: Candidate, lexicon: Lexicon) -> bool:
    """True if a claim cannot be understood alone, is long, or only alludes to its content."""
    return (
        candidate.doubt == ALLUDES
        or len(candidate.content) > _LONG_PASSAGE
        or _points_outside(candidate.content, candidate.about, lexicon)
    )


def without_allusion(candidate: Candidate) -> Candidate:
    """The claim without its doubt that it only alludes, so that it can be judged as if it were reworded."""
    return replace(candidate, doubt="") if candidate.doubt == ALLUDES else candidate


def _points_outside(text: str, about: str, lexicon: Lexicon) -> bool:
    """True if one of the first words refers to something that neither the text nor its subject ``about`` names."""
    return not about and any(refers_outside(text, patterns) for patterns in lexicon.spoken)


def stands_alone(text: str, about: str, lexicon: Lexicon) -> bool:
    """True if a passage needs no rewording, because it is long enough and can be understood alone."""
    return count_mass(text) >= _ENOUGH and len(text) <= _LONG_PASSAGE and not about and not _points_outside(text, about, lexicon)


def build_rewording_ask(items: Sequence[ClaimInContext]) -> Ask:
    """Build the question that sends claims back, each with its context."""
    lines: list[str] = []
    for number, (claim, reading) in enumerate(items, 1):
        place = _find_place(claim, reading)
        before = reading.events.get(place - 1)
        lines.append(f"{number} ({claim.candidate.category}): {one_line(claim.candidate.content)}")
        if before is not None and before.kind in (EventKind.RESPONSE, EventKind.PROMPT):
            lines.append(f"   said after: {one_line(before.text)[-_BEFORE:]}")
        lines.append(f"   said in: {_cut_around(claim.candidate.content, reading.events[place])}")
    sessions = (item.session for claim, _ in items for item in claim.candidate.evidence)
    return complete_rewording_ask("\n".join(lines), about=sessions)


def complete_rewording_ask(prompt: str, *, about: Iterable[str] = ()) -> Ask:
    """Build a rewording question with the text ``prompt`` about the sessions ``about``."""
    system, version = question_text("rewording")
    return Ask(
        purpose="reword",
        version=version,
        system=system,
        prompt=prompt,
        schema=_SCHEMA,
        most=_MOST_TOKENS,
        about=tuple(dict.fromkeys(about)),
        waits=True,
    )


def _find_place(claim: Claim, reading: ChunkReading) -> int:
    """The ordinal of the event that contains a claim's words; otherwise of the last event that it cites."""
    cited = reading.cited_places(claim.candidate)
    holds = (place for place in cited if any(locate(claim.candidate.content, text) for text in list_texts(reading.events[place])))
    return next(holds, claim.ordinal)


def _cut_around(words: str, event: Event) -> str:
    text = typed_text(event) or event.text
    found = locate(words, text)
    middle = sum(found) // 2 if found else 0
    start = max(0, min(middle - _AROUND // 2, len(text) - _AROUND))
    return one_line(text[start : start + _AROUND])


def read_rewordings(body: Mapping[str, Any], items: Sequence[ClaimInContext]) -> dict[int, Claim]:
    """The claims that a reply changes, by index: reworded, or with a doubt because no rewording names what the words point at.

    Raises ValueError if the reply does not have the requested form.
    """
    found = {
        place: replace(claim, candidate=replace(claim.candidate, doubt=POINTS_OUTSIDE))
        for place, (claim, reading) in enumerate(items)
        if _points_outside(claim.candidate.content, claim.candidate.about, reading.lexicon)
    }
    for sentence in parse_as(RewordingReply, body).sentences:
        place, text = sentence.id - 1, one_line(sentence.text)
        if 0 <= place < len(items) and text and (claim := _reword_claim(text, *items[place])) is not None:
            found[place] = claim
    return found


def _reword_claim(text: str, claim: Claim, reading: ChunkReading) -> Claim | None:
    candidate = claim.candidate
    made = replace(
        without_allusion(candidate),
        content=text,
        artifacts=find_artifacts(text),
        reasoning=f"{candidate.reasoning}; reworded, for it was not clear alone: {one_line(candidate.content)[:160]}",
    )
    fault = find_trust_fault(text, candidate.category, candidate.evidence, reading.events, reading.lexicon)
    origin, _ = find_claim_author(text, candidate.evidence, reading.events, reading.lexicon)
    if fault or origin is not candidate.origin or is_unclear(made, reading.lexicon):
        return None
    return reading.make_claim(made, claim.refusal)
