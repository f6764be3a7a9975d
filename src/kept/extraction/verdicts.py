"""Find a thread's candidates with the lexicons of its languages, and attach the gate's verdict to each."""

from collections.abc import Callable, Mapping, Sequence
from zoneinfo import ZoneInfo

from kept.core.event import Author, Event, EventKind
from kept.core.fingerprint import is_known_statement
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence, Memory, Refused, Verdict
from kept.core.redact import redact
from kept.core.spans import typed_text
from kept.core.statement import find_content
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.extraction.expiry import add_end
from kept.extraction.gate import is_grounded, judge
from kept.extraction.rules.assertion import WITHDRAWN, is_correction, is_denial, is_retraction
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Profile
from kept.sources.base import ENTRY
from kept.store.values import Draft, Proposal, Span, Thread
from kept.workspace import Workspace

FORGOTTEN = Refused(reason="forgotten")
_QUESTION = ("?", "？")
_SOON = 2  # prompts behind one that a plain correction may still be about
TOLD = Refused(reason="an entry says what is or was remembered of its project")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What a thread's candidates are found and judged by; ``live``: only what is very sure counts, all else waits for the batch.

    ``zone`` is where the person's days begin, ``handover`` says that what agents hand over counts. ``told`` is what is or was
    remembered elsewhere, in its normal form: an entry that kept wrote out of it says it once more.
    """

    profile: Profile
    scope: str
    forgotten: frozenset[str]
    key: bytes
    zone: ZoneInfo
    live: bool = False
    handover: bool = True
    told: frozenset[str] = frozenset()


def rules_for(workspace: Workspace, thread: Thread, forgotten: frozenset[str], key: bytes) -> Rules:
    """The rules of a thread: those of its profile, for the scope it belongs to."""
    profile = workspace.profile_for(thread.source, thread.project, thread.path)
    scope = workspace.scope(thread.project, thread.path)
    told = (
        frozenset(
            normal_form(memory.content) for memory in workspace.store.log.memories() if _is_in_other_scope(memory, profile, scope)
        )
        if thread.source == ENTRY
        else frozenset()
    )
    handover = workspace.settings.handover != "off"
    return Rules(profile=profile, scope=scope, forgotten=forgotten, key=key, zone=workspace.zone, handover=handover, told=told)


def _is_in_other_scope(memory: Memory, profile: Profile, scope: str) -> bool:
    return bool(memory.content) and memory.profile == profile.id and memory.scope != scope


def verdict_on(rules: Rules, candidate: Candidate, said: Mapping[str, str], words: Lexicon) -> Verdict:
    """The verdict on a candidate: the gate's, unless it was forgotten, or rests on words that are not there."""
    if rules.forgotten and is_known_statement(candidate.content, rules.forgotten, rules.key):
        return FORGOTTEN
    if normal_form(candidate.content) in rules.told:
        return TOLD
    verdict = judge(candidate, rules.profile, lexicon=words)
    return Refused(reason="ungrounded") if isinstance(verdict, Accepted) and not is_grounded(candidate, said) else verdict


def judge_candidate(
    rules: Rules, candidate: Candidate, by_key: Mapping[str, Event], said: Mapping[str, str], words: Lexicon
) -> CandidateVerdict:
    """A candidate with its evidence told where it stands, and the verdict on it. What looks like a secret once its words stand
    together is refused, and not even listed in the clear; of what was forgotten no word is noted.
    """
    found = add_end(locate_evidence(candidate, by_key), rules.zone)
    clean = redact(found.content, key=rules.key)
    if clean.found:
        return CandidateVerdict(candidate=replace(found, content=clean.text), verdict=Refused(reason="secret"))
    if _is_retracted(found, by_key):  # noted in the candidate: a model that confirms it has it judged again
        found = replace(found, doubt=found.doubt or WITHDRAWN)
    verdict = verdict_on(rules, found, said, words)
    return CandidateVerdict(candidate=_strip_words(found) if verdict == FORGOTTEN else found, verdict=verdict)


def _is_retracted(candidate: Candidate, by_key: Mapping[str, Event]) -> bool:
    """Whether the prompt after one that a candidate cites takes it back or says no, unasked, or a later one does and names it."""
    cited = {item.event for item in candidate.evidence}
    content = find_content(candidate.content)
    following, asked = 0, False  # prompts since the one that is cited; whether the last reply asks
    for event in by_key.values():
        if event.key in cited and event.kind is EventKind.PROMPT:
            following, asked = 1, False
        elif event.kind is EventKind.RESPONSE and event.text.strip():
            asked = event.text.rstrip().endswith(_QUESTION)
        elif following and event.kind is EventKind.PROMPT and event.author is Author.HUMAN:
            words = typed_text(event)
            retracts = is_retraction(words)
            if following == 1 and (retracts or (is_denial(words) and not asked)):
                return True
            if (retracts or (following <= _SOON and is_correction(words))) and not content.isdisjoint(find_content(words)):
                return True
            following += 1
    return False


def _strip_words(candidate: Candidate) -> Candidate:
    """What is left of a candidate that says what was forgotten: that there was one, and where."""
    evidence = tuple(replace(item, quote="") for item in candidate.evidence)
    return replace(candidate, content="", subject="", about="", artifacts=(), evidence=evidence)


def locate_evidence(candidate: Candidate, by_key: Mapping[str, Event]) -> Candidate:
    """The candidate with its evidence told where it stands: session, file, time, author and trust are those of the cited event."""
    evidence = tuple(_locate_quote(item, by_key[item.event]) if item.event in by_key else item for item in candidate.evidence)
    return replace(candidate, evidence=evidence)


def _locate_quote(evidence: Evidence, event: Event) -> Evidence:
    return replace(
        evidence, session=event.session, path=event.pointer.path, at=event.at, author=event.author.value, origin=event.origin
    )


def texts_by_key(events: Sequence[Event]) -> dict[str, str]:
    """What each event says, its tool's side included, by key: what quotes and artifacts are looked for in."""
    return {event.key: "\n".join(filter(None, (event.text, *_tool_text(event)))) for event in events}


def _tool_text(event: Event) -> tuple[str, ...]:
    return (event.tool.target, event.tool.detail) if event.tool else ()


def commit_span(
    workspace: Workspace,
    run: Callable[[], int],
    thread: Thread,
    span: Span,
    before: Sequence[Proposal],
    *,
    stage: str,
    note: str = "",
) -> None:
    """Note what a stage proposes of a thread, unless it is what it proposed ``before`` by the same model. Raises StoreError."""
    others = note and before and last_pass_note(workspace, before).partition(",")[0] != note.partition(",")[0]
    if place_proposals(before) == span.judged and not others:
        return
    subject, now = f"{thread.source}:{thread.session}", workspace.clock()
    workspace.store.log.commit(
        Draft(run=run(), stage=stage, subject=subject, actor=Actor.MACHINE, recorded_at=now, span=span, note=note)
    )


def last_pass_note(workspace: Workspace, proposals: Sequence[Proposal]) -> str:
    """Which model proposed them, by which prompt: of the last pass that did."""
    last = max((proposal.pass_id for proposal in proposals), default=0)
    return next((pass_.note for pass_ in workspace.store.log.passes(only=[last])), "")


def place_proposals(proposals: Sequence[Proposal]) -> tuple[tuple[int, CandidateVerdict], ...]:
    """Proposals as a span holds them: each judged candidate with the ordinal of its episode."""
    return tuple((proposal.ordinal, proposal.judged) for proposal in proposals)
