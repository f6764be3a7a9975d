"""The second question about claims that would become active: whether each still holds after what was said next, and is clear alone.

All claims of a reply are sent back to the model once, in one question. A claim that does not last is held. A rewording replaces the
words of a claim if it passes the same trust checks and is clear. Otherwise the claim stays as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.event import Event, EventKind
from kept.core.memory import ALLUDES, PASSING, SUPPOSED, WITHDRAWN, Candidate
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.questions.claims import ChunkReading, Claim
from kept.extraction.questions.support import locate
from kept.extraction.questions.trust import find_claim_author, find_trust_fault
from kept.extraction.rules.candidates import POINTS_OUTSIDE
from kept.extraction.rules.patterns import count_mass, list_texts, refers_outside
from kept.llm.ask import Ask, build_ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import Lexicon

PURPOSE = "recheck"
MOST_TOKENS = 2_048
_ENOUGH = 4  # words that a passage needs to stand alone
_LONG_PASSAGE = 320  # characters; a longer passage says more than one thing
_AROUND, _BEFORE = 400, 300  # characters shown around the claim's words, and characters of the text before
_REPLY, _PROMPT = 160, 200  # characters shown of the reply to the claim's event, and of each prompt after it
_ASK = 120  # characters kept of what a reader would ask
_PROMPTS = 3  # prompts shown after the claim's event
_SHORTENED, _NOT_CLEAR = "shorten", "reword"  # verdicts on claims that last: only a part is needed; not understood as it is
_DOUBTS = {"over": PASSING, "changed": WITHDRAWN, "guess": SUPPOSED, "unclear": POINTS_OUTSIDE}
_CLEAR = {"stands", _SHORTENED}
_WORDLESS = {"stands", *_DOUBTS}  # verdicts with which a text means nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimVerdict:
    """A claim's number, what a reader would have to ask before using it, the model's verdict, a rewording and a subject.

    Texts are empty if there is none. The model writes ``ask`` before it looks at the context, for the sake of its verdict.
    """

    id: int
    ask: str
    verdict: str
    text: str
    about: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RecheckReply:
    """The verdicts on all claims of a reply."""

    sentences: tuple[ClaimVerdict, ...]


SCHEMA = schema_of(RecheckReply)
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


def build_recheck_ask(items: Sequence[ClaimInContext]) -> Ask:
    """Build the question that sends claims back, each with its context."""
    lines: list[str] = []
    for number, (claim, reading) in enumerate(items, 1):
        candidate, place = claim.candidate, _find_place(claim, reading)
        lines.append(format_claim(number, candidate))
        before = reading.events.get(place - 1)
        if before is not None and before.kind in (EventKind.RESPONSE, EventKind.PROMPT):
            lines.append(f"   said after: {one_line(before.text)[-_BEFORE:]}")
        lines.append(f"   said in: {_cut_around(candidate.content, reading.events[place])}")
        lines += [f"   then {said}" for said in _list_next(place, reading)]
    sessions = (item.session for claim, _ in items for item in claim.candidate.evidence)
    return build_ask(PURPOSE, "\n".join(lines), SCHEMA, most=MOST_TOKENS, about=sessions)


def format_claim(number: int, candidate: Candidate, *, when: str = "", voice: str = "") -> str:
    """A claim as one line of a question, with its day and whose words it has if they are given."""
    about = candidate.about and f"about {candidate.about}"
    facts = ", ".join(filter(None, (when, candidate.category, about, voice)))
    return f"{number} ({facts}): {one_line(candidate.content)}"


def _list_next(place: int, reading: ChunkReading) -> Iterator[str]:
    """Yield the reply to the event at ``place``, and the next prompts that the person typed, each with its author and cut."""
    later = [event for at, event in sorted(reading.events.items()) if at > place]
    prompts = [words for event in later if event.kind is EventKind.PROMPT and (words := one_line(typed_text(event)))]
    spoken = (event for event in later if event.kind in (EventKind.RESPONSE, EventKind.PROMPT))
    reply = next(spoken, None)
    if reply is not None and reply.kind is EventKind.RESPONSE:
        yield f"assistant: {one_line(reply.text)[:_REPLY]}"
    yield from (f"person: {words[:_PROMPT]}" for words in prompts[:_PROMPTS])


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


def read_recheck(body: Mapping[str, Any], items: Sequence[ClaimInContext]) -> dict[int, Claim]:
    """The claims that a reply changes, by index: reworded, or with a doubt.

    A claim is doubted if it is not clear alone and neither its rewording nor its subject can be used. The verdict says whether it
    is clear; without one, its first words do. A verdict never doubts a claim that confirms a candidate of the rules. Raises
    ValueError if the reply does not have the requested form.
    """
    found = {
        place: doubt_claim(claim, POINTS_OUTSIDE)
        for place, (claim, reading) in enumerate(items)
        if _points_outside(claim.candidate.content, claim.candidate.about, reading.lexicon)
    }
    for sentence in parse_as(RecheckReply, body).sentences:
        place, text = sentence.id - 1, one_line(sentence.text)
        if not 0 <= place < len(items):
            continue
        claim, reading = items[place]
        verdict = sentence.verdict.strip().lower()
        if verdict in _CLEAR:
            found.pop(place, None)
        text = _cut_part(text, claim.candidate.content) if verdict == _SHORTENED else text
        reworded = _reword_claim(text, claim, reading) if text and verdict not in _WORDLESS else None
        doubt = _DOUBTS.get(verdict) or (POINTS_OUTSIDE if verdict == _NOT_CLEAR else "")
        about = reading.resolve_subject(sentence.about, reading.cited_places(claim.candidate)) if verdict == _NOT_CLEAR else ""
        if reworded is not None:
            found[place] = reworded
        elif about:
            found[place] = replace(claim, candidate=replace(claim.candidate, about=about))
        elif doubt and not claim.candidate.rewords:
            found[place] = doubt_claim(claim, doubt)
    return found


def _cut_part(part: str, content: str) -> str:
    """A part of a claim's words, exactly as they are there; empty if they do not contain it."""
    found = locate(part, content)
    return content[slice(*found)] if found else ""


def doubt_claim(claim: Claim, doubt: str, ask: str = "") -> Claim:
    """A claim with a doubt, which holds it. ``ask`` is what its reader would have to ask."""
    asked = f"; a reader would ask: {one_line(ask)[:_ASK]}" if ask else ""
    return replace(claim, candidate=replace(claim.candidate, doubt=doubt, reasoning=f"{claim.candidate.reasoning}{asked}"))


def _reword_claim(text: str, claim: Claim, reading: ChunkReading) -> Claim | None:
    candidate = claim.candidate
    how = "shortened" if text in candidate.content else "reworded, for it was not clear alone"
    made = replace(
        without_allusion(candidate),
        content=text,
        artifacts=find_artifacts(text),
        reasoning=f"{candidate.reasoning}; {how}: {one_line(candidate.content)[:160]}",
    )
    fault = find_trust_fault(text, candidate.category, candidate.evidence, reading.events, reading.lexicon)
    origin, _ = find_claim_author(text, candidate.evidence, reading.events, reading.lexicon)
    if fault or origin is not candidate.origin or is_unclear(made, reading.lexicon):
        return None
    return reading.make_claim(made, claim.refusal)
