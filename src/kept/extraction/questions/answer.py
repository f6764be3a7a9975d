"""Check a model's reply about a chunk against the conversation: claims with evidence, verdicts on hints, points of a summary.

Nothing in a reply is trusted. A claim is refused, with the reason, if it cites an event that was not shown, quotes words that are
not there, or is not supported by its quotes. Its trust depends on the author of the cited words, its confidence on their support
for the claim. The gate then judges it like any other candidate.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.event import EventKind, Origin
from kept.core.memory import (
    ALLUDES,
    DANGEROUS,
    DISMISSED,
    DOUBTED,
    HELPFUL,
    PASSING,
    UNDERSTOOD,
    Accepted,
    Candidate,
    CandidateVerdict,
    Evidence,
    Held,
    Refused,
)
from kept.core.pattern import Pattern
from kept.core.statement import is_same_statement, parse_statement
from kept.core.summary import SummaryPoint
from kept.core.text import one_line
from kept.core.value import dataclass, field, replace
from kept.extraction.questions.claims import CEILING, SUPPORT, WEIGHTS, ChunkReading, Claim, compute_confidence, read_points
from kept.extraction.questions.question import Citation, Hint, HintVerdict, ProposedMemory, ReplyForm
from kept.extraction.questions.recheck import stands_alone
from kept.extraction.questions.support import (
    QUOTE_CHARS,
    complete_passage,
    find_quote_doubt,
    find_whole_sentences,
    fingerprint_failure,
    locate,
    measure_support,
)
from kept.extraction.questions.trust import (
    FIX,
    UNSUPPORTED,
    find_claim_author,
    find_trust_fault,
    holds_harmful_command,
    is_disputed,
    is_turned_down,
)
from kept.extraction.rules.patterns import build_evidence, choose_scope, count_mass, list_texts
from kept.llm.reply import parse_as
from kept.profiles.profile import Profile

MOST = 20  # claims per reply that are used
SURE = 0.85  # a rules' candidate with this confidence is never refused because of a model's verdict, only held
TASK = "task"  # the category for statements not worth keeping
_PASSING = 1  # the worth of a statement that matters only for the current task
_MOST_CITED = 8
_CONTENT_CHARS = 1_000  # characters of a content that are stored; a longer one is refused anyway
_REASON_CHARS = 120
_OVERLAP = 0.6
_ENOUGH = 4  # words that a passage needs to replace a rewording
_OUTSIDE = Pattern(r"[^\w-]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The checked content of a reply.

    ``overruled`` are the rules' candidates that the model rejected or doubts, with their ordinals and new verdicts. ``dropped``
    counts, by reason, parts that could not be used: verdicts on unknown hints, unsupported points.
    """

    claims: tuple[Claim, ...] = ()
    overruled: tuple[tuple[int, CandidateVerdict], ...] = ()
    points: tuple[SummaryPoint, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


def read_answer(body: Mapping[str, Any], reading: ChunkReading) -> Answer:
    """Read a reply about a chunk. Raises ValueError with the reason if the reply does not have the requested form."""
    filled = parse_as(ReplyForm, body)
    dropped: Counter[str] = Counter()
    claims, overruled = _read_hint_verdicts(filled.hints, reading, dropped)
    for memory in filled.memories[:MOST]:
        claims.append(_build_claim(memory, reading, claims))
    dropped["more than a reply may claim"] += len(filled.memories[MOST:])
    points, dropped["point without ground"] = read_points(filled.notes, reading)
    kept = {claim.candidate.rewords for claim in claims}
    return Answer(
        claims=tuple(claims),
        overruled=tuple(item for item in overruled if item[1].candidate.id not in kept),
        points=points,
        dropped=dict(+dropped),
    )


def _read_hint_verdicts(
    verdicts: Sequence[HintVerdict], reading: ChunkReading, dropped: Counter[str]
) -> tuple[list[Claim], list[tuple[int, CandidateVerdict]]]:
    waiting = {hint.name: hint.candidate for hint in reading.hints}
    claims: list[Claim] = []
    overruled: list[tuple[int, CandidateVerdict]] = []
    for verdict in verdicts:
        candidate = waiting.pop(verdict.hint.strip(), None)
        if candidate is None:
            dropped["verdict on a hint that was not given"] += 1
            continue
        match verdict.verdict.strip().lower():
            case "confirm":
                claims.append(reading.make_claim(_confirm_candidate(candidate)))
            case "reword":
                claims.append(_reword_candidate(candidate, verdict.content, reading))
            case "refuse":
                place = max(reading.cited_places(candidate), default=reading.chunk.start)
                overruled.append((place, _overrule_candidate(candidate, one_line(verdict.reason)[:_REASON_CHARS])))
            case _:
                dropped["no verdict on a hint"] += 1
    return claims, overruled


def overrule_doubted(answer: Answer, reading: ChunkReading) -> Answer:
    """Turn each doubted claim that confirms a candidate of the rules into a verdict on that candidate, because the candidate would
    become active without the claim. What the person said is left as it is.
    """
    hints = {hint.candidate.id: hint.candidate for hint in reading.hints if hint.candidate.origin is not Origin.USER}
    doubted = [claim for claim in answer.claims if claim.candidate.doubt and claim.candidate.rewords in hints]
    verdicts = [(claim.ordinal, _overrule_candidate(hints[claim.candidate.rewords], claim.candidate.doubt)) for claim in doubted]
    claims = tuple(claim for claim in answer.claims if claim not in doubted)
    return replace(answer, claims=claims, overruled=(*answer.overruled, *verdicts))


def _overrule_candidate(candidate: Candidate, why: str) -> CandidateVerdict:
    verdict = Held(reason=DOUBTED, detail=why) if candidate.confidence >= SURE else Refused(reason=DISMISSED, detail=why)
    return CandidateVerdict(candidate=candidate, verdict=verdict)


def _confirm_candidate(candidate: Candidate) -> Candidate:
    sure = round(min(CEILING, candidate.confidence + WEIGHTS["rules found it too"]), 2)
    reasoning = f"{candidate.reasoning}; confirmed by the model"
    return replace(
        candidate, confidence=max(sure, candidate.confidence), reasoning=reasoning, rewords=candidate.id, trigger=UNDERSTOOD
    )


def _reword_candidate(candidate: Candidate, content: str, reading: ChunkReading) -> Claim:
    """A claim with a rules' candidate in the model's wording. It keeps the candidate's own words if the wording fails the trust
    checks or is not needed.
    """
    words = content.strip()[:_CONTENT_CHARS]
    fault = find_trust_fault(words, candidate.category, candidate.evidence, reading.events, reading.lexicon)
    if not fault and stands_alone(candidate.content, candidate.about, reading.lexicon):
        fault = "it stands by itself"
    confirmed = _confirm_candidate(candidate)
    if fault:
        return reading.make_claim(replace(confirmed, reasoning=f"{candidate.reasoning}; the model's wording: {fault}"))
    reasoning = f"{candidate.reasoning}; put in other words by the model"
    return reading.make_claim(replace(confirmed, content=words, artifacts=find_artifacts(words), reasoning=reasoning))


def _build_claim(proposed: ProposedMemory, reading: ChunkReading, before: Sequence[Claim]) -> Claim:
    category = str(_OUTSIDE.sub("", proposed.category))[:40]
    places, evidence, passages, fault = _check_evidence(proposed, reading)
    wording = proposed.rewording.strip()[:_CONTENT_CHARS]
    about = reading.resolve_subject(proposed.about, places)
    single = len(evidence) == 1 and evidence[0].origin is Origin.USER and category != FIX
    needed = not single or not stands_alone(passages[0], about, reading.lexicon)
    content, untrusted, remarks = _choose_wording(
        wording, passages, category, evidence, reading, doubted=fault if evidence else "", needed=needed
    )
    hint = _find_matching_hint(content, evidence, reading, before)
    origin, signals = find_claim_author(content, evidence, reading.events, reading.lexicon)
    signals += reading.signals(category, evidence) + (("rules found it too",) if hint else ())
    carried = (
        1.0
        if origin is Origin.USER
        else measure_support(content, *(text for place in places for text in list_texts(reading.events[place])))
    )
    graded = (f"worth {proposed.worth}",) if proposed.worth else ()
    candidate = Candidate(
        id="",
        profile=reading.profile.id,
        category=category,
        scope=choose_scope(content, reading.profile.category(category), reading.scope, reading.lexicon.spoken),
        content=content,
        confidence=compute_confidence(carried, signals),
        trigger=UNDERSTOOD,
        at=reading.events[max(places)].at if places else None,
        origin=origin,
        artifacts=find_artifacts(content),
        evidence=evidence,
        reasoning="; ".join((f"the cited words carry {carried:.0%} of it", *signals, *graded, *remarks)),
        fingerprint=_find_fingerprint(places, reading) if category == FIX else "",
        rewords=hint.candidate.id if hint else "",
        about=about,
        doubt=_find_grade_doubt(proposed.worth, reading.profile)
        or _find_evidence_doubt(content, evidence, reading)
        or (ALLUDES if needed and _alludes(content, wording, places, reading) else "")
        or (DANGEROUS if origin is not Origin.USER and holds_harmful_command(content) else ""),
    )
    faults: tuple[Callable[[], str], ...] = (
        lambda: "" if evidence else fault,
        lambda: PASSING if category == TASK and reading.profile.category(TASK) is None else "",
        lambda: "unknown category" if reading.profile.category(category) is None else "",
        lambda: "" if any(reading.chunk.start <= place < reading.chunk.stop for place in places) else "belongs to another part",
        lambda: untrusted,
        lambda: (
            "disputed by the person" if is_disputed(evidence, reading.events, reading.lexicon, theirs=origin is Origin.USER) else ""
        ),
        lambda: "duplicate" if _is_repeated(candidate, before, reading) else "",
    )
    return reading.make_claim(candidate, next((found for check in faults if (found := check())), ""))


def _find_grade_doubt(worth: int, profile: Profile) -> str:
    """The reason to hold a claim with this grade; empty if the grade suffices, or if the reply gives no grades."""
    if not worth or worth >= profile.worth:
        return ""
    return PASSING if worth == _PASSING else HELPFUL


def _find_evidence_doubt(content: str, evidence: Sequence[Evidence], reading: ChunkReading) -> str:
    """The reason why the person may not mean the cited words literally; else empty. Quotes that only agree are not examined."""
    by_key = {event.key: event for event in reading.events.values()}
    cited = (item for item in evidence if item.event in by_key and measure_support(content, item.quote))
    reasons = (find_quote_doubt(item.quote, by_key[item.event]) for item in cited)
    return next(filter(None, reasons), "")


def _alludes(content: str, wording: str, places: Sequence[int], reading: ChunkReading) -> bool:
    """True if a passage contains little of the rewording that it replaces, although the cited events contain enough of it."""
    said = (text for place in places for text in list_texts(reading.events[place]))
    return measure_support(wording, content) < SUPPORT <= measure_support(wording, *said)


def _choose_wording(
    wording: str,
    passages: Sequence[str],
    category: str,
    evidence: Sequence[Evidence],
    reading: ChunkReading,
    *,
    doubted: str,
    needed: bool,
) -> tuple[str, str, tuple[str, ...]]:
    """Choose the content of a claim. Returns the content, its fault (empty: none), and remarks.

    The content is the model's wording if that is ``needed`` and passes the trust checks, else a passage that says enough.
    ``doubted`` is a fault of the citations, which also counts against the wording.
    """
    if wording and not needed and not find_trust_fault(passages[0], category, evidence, reading.events, reading.lexicon):
        return passages[0], "", (() if wording in passages else ("the passage stands by itself",))
    # If an event contains the wording, it is a passage, whatever the model calls it. It must not be cut out of its sentence.
    cited = {event.key: event for event in reading.events.values() if event.key in {item.event for item in evidence}}
    wording = next(filter(None, (complete_passage(wording, event) for event in cited.values() if wording)), wording)
    whole = (
        [find_whole_sentences(quote, cited[each.event]) for quote, each in zip(passages, evidence, strict=True)] if wording else []
    )
    enough = 0 if len(evidence) == 1 and category != FIX else _ENOUGH
    choices = list(filter(None, (wording, *(item for item in whole if count_mass(item) >= enough)))) if wording else passages
    faults = [find_trust_fault(choice, category, evidence, reading.events, reading.lexicon) for choice in choices]
    if doubted and wording and wording not in passages:
        faults[0] = faults[0] or doubted
    if wording and faults[0] == UNSUPPORTED:  # the passage was then not chosen for its content
        return wording, UNSUPPORTED, ()
    good = next((number for number, fault in enumerate(faults) if not fault), None)
    if good is None:
        return (choices[0], faults[0], ()) if choices else ("", "no evidence", ())
    return choices[good], "", ((f"the model's wording: {faults[0]}",) if wording and good else ())


def _find_fingerprint(places: Sequence[int], reading: ChunkReading) -> str:
    outputs = (reading.events[place] for place in places if reading.events[place].kind is EventKind.TOOL_OUTPUT)
    return next((mark for event in outputs if (mark := fingerprint_failure(event))), "")


def _check_evidence(proposed: ProposedMemory, reading: ChunkReading) -> tuple[list[int], tuple[Evidence, ...], list[str], str]:
    """The ordinals, evidence and passages of the valid citations, and the first fault (empty: none).

    A citation is left out if it has a fault, or if the person denied it in their next prompt. If the main passage has a fault and
    there is no rewording, the other citations are not read.
    """
    places: list[int] = []
    evidence: list[Evidence] = []
    passages: list[str] = []
    faults: list[str] = []
    own = [Citation(event=proposed.event, quote=proposed.passage)] if proposed.event or proposed.passage else []
    for cited in (*own, *proposed.quotes[:_MOST_CITED]):
        place = reading.ordinal(cited.event)
        passage = complete_passage(cited.quote, reading.events[place]) if place is not None else ""
        if place is None or not passage:
            faults.append("words that are not there" if place is not None else "unknown event")
            if cited in own and not proposed.rewording.strip():
                break
            continue
        places.append(place)
        passages.append(passage)
        evidence.append(build_evidence(reading.events[place], passage[:QUOTE_CHARS].strip(), by_span=True))
    good = [number for number, each in enumerate(evidence) if not is_turned_down(each, evidence, reading.events)]
    return (
        [places[number] for number in good],
        tuple(evidence[number] for number in good),
        [passages[number] for number in good],
        faults[0] if faults else "" if evidence else "no evidence",
    )


def _find_matching_hint(content: str, evidence: Sequence[Evidence], reading: ChunkReading, before: Sequence[Claim]) -> Hint | None:
    """The hint that says the same or cites the same words; None if there is none, or if an earlier claim already rewords it."""
    taken = {claim.candidate.rewords for claim in before}
    says = parse_statement(content, find_artifacts(content))
    for hint in reading.hints:
        each = hint.candidate
        alike = _has_overlap(evidence, each.evidence, reading) or is_same_statement(
            says, parse_statement(each.content, each.artifacts, each.fingerprint)
        )
        if each.id not in taken and alike:
            return hint
    return None


def _has_overlap(left: Sequence[Evidence], right: Sequence[Evidence], reading: ChunkReading) -> bool:
    """True if both cite the same words of an event. Parallel sentences share most of their words, but not their place."""
    texts = {event.key: list_texts(event) for event in reading.events.values()}
    return any(
        mine.event == other.event
        and any(_shared_part(mine.quote, other.quote, text) >= _OVERLAP for text in texts.get(mine.event, ()))
        for mine in left
        for other in right
    )


def _shared_part(left: str, right: str, text: str) -> float:
    """The share of the shorter quote that the longer one covers in a text; 0 if the text does not have both."""
    one, other = locate(left, text), locate(right, text)
    if one is None or other is None:
        return 0.0
    return (min(one[1], other[1]) - max(one[0], other[0])) / max(1, min(one[1] - one[0], other[1] - other[0]))


def _is_repeated(candidate: Candidate, before: Sequence[Claim], reading: ChunkReading) -> bool:
    """True if an earlier claim of the reply says the same, or cites the same words in the same category."""
    says = parse_statement(candidate.content, candidate.artifacts)
    others = [claim.candidate for claim in before if not claim.refusal]
    return any(
        is_same_statement(says, parse_statement(other.content, other.artifacts))
        or (other.category == candidate.category and _has_overlap(candidate.evidence, other.evidence, reading))
        for other in others
    )


def apply_overrulings(judged: Iterable[CandidateVerdict]) -> tuple[CandidateVerdict, ...]:
    """Apply the model's verdicts to the rules' candidates: refuse those it rejected, and hold those it doubts."""
    listed = tuple(judged)
    words = {verdict.candidate.id: verdict.verdict for verdict in listed if _is_overruling(verdict)}
    own = (verdict for verdict in listed if not _is_overruling(verdict))
    return tuple(
        replace(verdict, verdict=words[verdict.candidate.id])
        if verdict.candidate.id in words and isinstance(verdict.verdict, Accepted | Held)
        else verdict
        for verdict in own
    )


def overruled_candidate_ids(judged: Iterable[CandidateVerdict]) -> frozenset[str]:
    """The ids of the rules' candidates that a model rejected or doubts."""
    return frozenset(verdict.candidate.id for verdict in judged if _is_overruling(verdict))


def _is_overruling(judged: CandidateVerdict) -> bool:
    return isinstance(judged.verdict, Held | Refused) and judged.verdict.reason in (DISMISSED, DOUBTED)
