"""Memories with a new value that only a prompt states ("make it 50"): a model puts it into the sentence of the memory that ends.

Nothing here trusts the model. Each word of the new sentence must stand in the old one at the same place, in the prompt, or in the
end of the reply that the prompt agrees to. Otherwise the sentence is held for a person, so that the value is not lost.
"""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from zoneinfo import ZoneInfo

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Event, EventKind, Origin, least_trusted
from kept.core.fingerprint import is_known_statement
from kept.core.memory import ALLUDES, TOLD, UNDERSTOOD, WITHDRAWN, Candidate, CandidateVerdict, Evidence, Memory, Refused, Status
from kept.core.operation import Add, Operation, Retire, Supersede, sort_evidence
from kept.core.pattern import Pattern
from kept.core.sentences import split_sentences
from kept.core.spans import typed_spans
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.curation.advice import NewSentence
from kept.curation.curate.plans import build_memory, facts_of, format_evidence_reason
from kept.extraction.expiry import add_end
from kept.extraction.gate import judge
from kept.extraction.questions.support import COUNTED, Word, changes_markers, find_distortion, find_words, opens_with_denial
from kept.extraction.questions.trust import FIX, is_agreement, is_repeated
from kept.extraction.rules.assertion import find_unasserted_reason
from kept.extraction.rules.patterns import build_evidence, find_authorship_doubt
from kept.extraction.verdicts import is_retracted
from kept.profiles.lexicons import Lexicon, load_lexicon
from kept.profiles.profile import Profile
from kept.workspace import Workspace

_BEFORE, _AFTER = 40, 40  # events around a prompt in which the reply before it, and words that take it back, are searched
_QUOTE_CHARS = 400
_MARK = Pattern(r"[^\w\s’'-]")  # a comma or another mark after which a denial is over
_PUT_IN = "a model put into it what you changed"  # the reason of an active one
# Reasons to hold a sentence.
_LEFT_OUT = "it leaves out more of the memory that it replaces than what changed"
_MISPLACED = "what you changed may belong to another place in it"
_OFFERED = "only the assistant named the new value, and you did not plainly agree"
_UNPROVEN = "nothing shows that it helped"
_OUTRIGHT = "it changes what you told kept outright"


def add_successors(
    workspace: Workspace,
    profile: Profile,
    operations: Sequence[Operation],
    sentences: Sequence[NewSentence],
    memories: Iterable[Memory],
) -> tuple[Operation, ...]:
    """The operations, with those that add a memory for each sentence. An active one supersedes the memory that it replaces.

    ``operations`` retire the memories that prompts end, except what was told, which stays, and end those of which another memory
    changed a part. These stay, too, if the sentence is only held, because the rest of them still holds. ``memories`` are those of
    the group. Left out is a sentence that a memory states already, that was forgotten, or that the gate refuses. Raises StoreError.
    """
    forgotten, key = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    changed = {each.memory for each in operations}
    ended = {each.memory for each in operations if isinstance(each, Retire | Supersede)}
    active = {normal_form(memory.content) for memory in memories if memory.status is Status.ACTIVE}
    forms = {normal_form(memory.content): "" for memory in memories if memory.status in (Status.ACTIVE, Status.HELD)}
    added: list[Operation] = []
    by: dict[str, str] = {}
    left: set[str] = set()
    for sentence in sentences:
        old, form = sentence.memory, normal_form(sentence.text)
        is_told = old.trigger in TOLD
        if (old.id in changed if is_told else old.id not in ended) or is_known_statement(sentence.text, forgotten, key):
            continue
        if form not in forms:
            events = workspace.store.archive.events_around(sentence.prompt.event, _BEFORE, _AFTER)
            value = build_successor(sentence, events, profile, workspace.zone, doubt=_OUTRIGHT if is_told else "")
            if value is None:
                continue
            forms[form] = value.id if value.status is Status.ACTIVE else ""
            added.append(Add(memory=value.id, at=value.first_seen, reason=value.reason, value=value))
        if forms[form]:
            by[old.id] = forms[form]
        elif sentence.of_memory and form not in active:
            left.add(old.id)
    superseded = (
        Supersede(memory=each.memory, at=each.at, reason=each.reason, by=by[each.memory]) if each.memory in by else each
        for each in operations
        if each.memory not in left
    )
    return (*added, *superseded)


def build_successor(
    sentence: NewSentence, events: Sequence[Event], profile: Profile, zone: ZoneInfo, *, doubt: str = ""
) -> Memory | None:
    """The memory with a new sentence, active or held; None if the gate refuses it, or if the prompt is gone.

    ``events`` are those around the prompt. ``doubt`` is a reason to hold the memory, whatever its words.
    """
    old, text, place = sentence.memory, sentence.text, {event.key: place for place, event in enumerate(events)}
    if sentence.prompt.event not in place:
        return None
    number = place[sentence.prompt.event]
    prompt, lexicon = events[number], load_lexicon(profile.languages)
    reply = next((event for event in reversed(events[:number]) if event.kind is EventKind.RESPONSE), None)
    change = _compare(sentence)
    evidence = [_cite(prompt, change.put)]
    if reply is not None and change.offered:
        evidence.append(_cite(reply, change.offered))
    granted = not change.offered or (len(evidence) > 1 and _is_granted(prompt, evidence[1], change.offered, events, lexicon))
    candidate = Candidate(
        id=digest(old.profile, old.category, old.scope, UNDERSTOOD, prompt.key, text),
        profile=old.profile,
        category=old.category,
        scope=old.scope,
        content=text,
        confidence=old.confidence,
        trigger=UNDERSTOOD,
        at=prompt.at,
        origin=Origin.USER,
        artifacts=find_artifacts(text),
        evidence=tuple(evidence),
        reasoning="",
        fingerprint=old.fingerprint,
        subject=old.subject,
        about=old.about,
    )
    start = prompt.text.find(evidence[0].quote)
    doubts = (
        doubt,
        change.fault,
        "" if granted else _OFFERED,
        _UNPROVEN if old.category == FIX else "",
        find_authorship_doubt(prompt),
        find_unasserted_reason(prompt.text, start, start + len(evidence[0].quote)),
        WITHDRAWN if is_retracted(candidate, events) else "",
    )
    candidate = add_end(replace(candidate, doubt=next(filter(None, doubts), "")), zone)
    judged = CandidateVerdict(candidate=candidate, verdict=judge(candidate, profile, lexicon=lexicon))
    if isinstance(judged.verdict, Refused):
        return None
    facts, status = facts_of([judged])
    value = build_memory(digest(candidate.id, size=5), candidate, replace(facts, candidates=(), advised=True), status)
    reason = _PUT_IN if status is Status.ACTIVE else format_evidence_reason([judged], facts, status)
    origin = least_trusted((old.origin, Origin.USER if granted else Origin.ASSISTANT))
    return replace(value, reason=reason, origin=origin, evidence=sort_evidence((*value.evidence, *old.evidence)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """What a new sentence changes: the forms of the words that it puts in, those among them that only the reply has (``offered``),
    and what is wrong with it; empty if nothing is.
    """

    put: frozenset[str]
    offered: frozenset[str]
    fault: str


def _compare(sentence: NewSentence) -> _Change:
    old, said, shown = sentence.memory.content, sentence.prompt.shown_text, sentence.prompt.shown_reply
    before, after = find_words(old), find_words(sentence.text)
    known, offered = _forms_of(said), _forms_of(shown)
    matcher = SequenceMatcher(None, [word.form for word in before], [word.form for word in after], autojunk=False)
    put: set[str] = set()
    gone: list[Word] = []
    kept, fault = 0, ""
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            kept += end - start
            continue
        put |= {word.form for word in after[first:last]}
        gone += before[start:end]
        if _drops_words(before[start:end], after[first:last]):
            fault = _LEFT_OUT
    named = f"{old} {said} {shown}".casefold()
    missing = any(name.casefold() not in named for name in find_artifacts(sentence.text) if any(map(str.isalpha, name)))
    if missing or not put <= known | offered or not put or any(_is_denied(form, said) for form in put):
        fault = ALLUDES
    elif 2 * kept < len(before):
        fault = _LEFT_OUT
    elif changes_markers(sentence.text, old, said):
        fault = _describe("polarity")
    elif _may_be_misplaced(sentence.text, put, {word.form for word in gone if word.tells}, said, shown):
        fault = _MISPLACED
    fault = fault or _describe(_find_distortion(sentence, with_reply=not put <= known))
    return _Change(put=frozenset(put), offered=frozenset((put - known) & offered), fault=fault)


def _drops_words(gone: Sequence[Word], put: Sequence[Word]) -> bool:
    """True if words that were replaced say more than those put in their place. A name may be a word longer than the next one."""
    said, other = ([word for word in words if word.tells] for words in (gone, put))
    spare = 1 if other and not any(word.form.isdigit() for word in other) else 0
    return len(said) > len(other) + spare or len(gone) - len(said) > len(put) - len(other)


def _is_denied(form: str, text: str) -> bool:
    """True if a word of a text, given by its form, stands behind a denial wherever it occurs."""
    words = find_words(text)
    before = [text[words[place - 1].start : word.start] if place else "" for place, word in enumerate(words) if word.form == form]
    return bool(before) and all(opens_with_denial(each) and not _MARK.search(each) for each in before)


def _may_be_misplaced(text: str, put: set[str], gone: set[str], said: str, shown: str) -> bool:
    """True if what was put into a text may belong to another place in it.

    The prompt (``said``) names the replaced words (``gone``), or words of the clause. A number in a text with other numbers is the
    nearest to such words, which may also be those of the reply (``shown``).
    """
    clauses = [find_words(clause) for clause in COUNTED.split(text)]
    numbers = {word.form for word in find_words(text) if text[word.start : word.end].isdigit()}
    is_ambiguous = any(map(str.isdigit, put)) and not numbers <= put
    for source in (said, shown) if is_ambiguous else (said,):
        spoken = {word.form for word in find_words(source) if word.tells}
        if spoken & gone:
            return False
        named = [clause for clause in clauses if any(word.tells and word.form in spoken - put for word in clause)]
        if named:
            return not any(_is_nearest(clause, put, spoken - put, numbers if is_ambiguous else put) for clause in named)
    return is_ambiguous


def _is_nearest(clause: Sequence[Word], put: set[str], spoken: set[str], rivals: set[str]) -> bool:
    """True if one of ``put`` is nearer to a word of a clause that was spoken than all ``rivals`` are."""
    places = [place for place, word in enumerate(clause) if word.form in rivals | put]
    nearest = (
        min(places, key=lambda other: (abs(other - place), clause[other].form in put))
        for place, word in enumerate(clause)
        if places and word.tells and word.form in spoken
    )
    return any(clause[place].form in put for place in nearest)


def _describe(distortion: str) -> str:
    return f"{distortion} is not that of the words it cites" if distortion else ""


def _find_distortion(sentence: NewSentence, *, with_reply: bool) -> str:
    """How a sentence distorts its sources; empty if it does not. Its numbers are not compared, because their places are checked."""
    prompt = sentence.prompt
    kind = find_distortion(sentence.text, (sentence.memory.content, prompt.shown_text, prompt.shown_reply if with_reply else ""))
    return kind if kind != "numbers" else ""


def _cite(event: Event, forms: frozenset[str]) -> Evidence:
    """Cite the sentences of an event that have words of these forms: of a reply the last one, of a prompt all in one typed span. If
    there is none, cite the first sentence.
    """
    is_typed = event.kind is EventKind.PROMPT
    spans = [(span.start, span.end) for span in typed_spans(event)] if is_typed else [(0, len(event.text))]
    sentences = [[(each.start, each.end) for each in split_sentences(event.text, *span)] for span in spans]
    cited = [[each for each in span if not forms.isdisjoint(_forms_of(event.text[slice(*each)]))] for span in sentences]
    found = next(filter(None, cited), next(filter(None, sentences), [(0, len(event.text))])[:1])
    start, end = found[0 if is_typed else -1][0], found[-1][1]
    return build_evidence(event, event.text[start:end][:_QUOTE_CHARS].strip(), by_span=True)


def _forms_of(text: str) -> frozenset[str]:
    return frozenset(word.form for word in find_words(text))


def _is_granted(prompt: Event, cited: Evidence, forms: frozenset[str], events: Sequence[Event], lexicon: Lexicon) -> bool:
    """True if a prompt agrees to a sentence of a reply that has all words of these forms, and this is not a tool's text."""
    reply = next(event.text for event in events if event.key == cited.event)
    is_whole = forms <= _forms_of(cited.quote)
    return is_whole and is_agreement(prompt, lexicon, reply, cited.quote) and not is_repeated(cited, dict(enumerate(events)))
