"""Judge the candidates of a thread by the gate and by data in the store, and commit them with their verdicts.

A model's proposals are checked again, without asking the model, after their thread changed or moved to another project.
"""

from collections.abc import Iterable, Sequence
from zoneinfo import ZoneInfo

from kept.core.digest import digest
from kept.core.event import FORGOTTEN_MARK, Author, Event, EventKind, is_prompt
from kept.core.fingerprint import is_known_statement
from kept.core.invisible import strip_invisible
from kept.core.memory import MOST_REQUESTS, UNDERSTOOD, WITHDRAWN, Accepted, Candidate, CandidateVerdict, Refused
from kept.core.pattern import Pattern
from kept.core.redact import redact
from kept.core.spans import typed_text
from kept.core.statement import find_content, roots_of
from kept.core.text import QUESTION_MARKS, normal_form, one_line
from kept.core.value import dataclass, replace
from kept.extraction.expiry import add_end
from kept.extraction.gate import is_grounded, judge
from kept.extraction.questions.support import find_verbatim
from kept.extraction.rules.assertion import is_correction, is_denial, is_retraction
from kept.extraction.rules.harms import is_harmful_command
from kept.extraction.rules.patterns import has_match, list_texts
from kept.extraction.rules.tellings import find_withdrawn_content
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Profile
from kept.sources.base import ENTRY
from kept.store.values import MODEL, Proposal, Span, Thread
from kept.workspace import RunNumber, Workspace

_LONGEST_REQUEST = 160  # characters; an error line fits
_MARKUP = Pattern(r"</?\w|<!|```|\[(?:forgotten\]|redacted:)")
_SOON = 2  # number of prompts back to which a plain correction may refer
REPEATED = Refused(reason="a journal entry repeats what kept remembers of its project")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The inputs for finding and judging the candidates of a thread.

    ``forgotten`` are the fingerprints of forgotten statements, ``key`` the key of these fingerprints, ``zone`` the person's time
    zone. If ``live``, only very certain candidates count, and the others wait for the batch. ``handover`` enables candidates that
    agents hand over. ``other_scope_texts`` are the normalized texts of memories in other scopes. A sentence of a journal entry that
    kept wrote is refused if it equals one of them.
    """

    profile: Profile
    scope: str
    forgotten: frozenset[str]
    key: bytes
    zone: ZoneInfo
    handover: bool
    other_scope_texts: frozenset[str]
    live: bool = False


def load_rules(workspace: Workspace, thread: Thread, forgotten: frozenset[str]) -> Rules:
    """The rules of a thread: its profile, its scope, and data from the store. ``forgotten`` are the store's fingerprints."""
    profile = workspace.profile_for(thread.source, thread.project, thread.path)
    scope = workspace.scope(thread.project, thread.path)
    memories = workspace.store.log.memories() if thread.source == ENTRY else ()
    return Rules(
        profile=profile,
        scope=scope,
        forgotten=forgotten,
        key=workspace.store.key("forget"),
        zone=workspace.zone,
        handover=workspace.settings.handover != "off",
        other_scope_texts=frozenset(
            normal_form(memory.content) for memory in memories if memory.profile == profile.id and memory.scope != scope
        ),
    )


def judge_candidate(
    rules: Rules, candidate: Candidate, events: Sequence[Event], lexicon: Lexicon, *, later: Sequence[Event] = ()
) -> CandidateVerdict:
    """Judge a candidate. A suspected secret is refused and stored redacted. No word of a forgotten statement is stored.

    ``later`` are events after ``events``, which can only take the candidate back.
    """
    requests = select_requests(candidate.needed_for, lexicon, rules.forgotten, rules.key)
    candidate = replace(add_end(candidate, rules.zone), needed_for=requests)
    clean = redact(candidate.content, key=rules.key)
    if clean.found:
        return CandidateVerdict(candidate=replace(candidate, content=clean.text), verdict=Refused(reason="secret"))
    # A retracted candidate is stored, so that a model's confirmation can revive it.
    if not candidate.doubt and is_retracted(candidate, (*events, *later)):
        candidate = replace(candidate, doubt=WITHDRAWN)
    if is_known_statement(candidate.content, rules.forgotten, rules.key):
        return CandidateVerdict(candidate=strip_words(candidate), verdict=Refused(reason="forgotten"))
    if normal_form(candidate.content) in rules.other_scope_texts:
        return CandidateVerdict(candidate=candidate, verdict=REPEATED)
    verdict = judge(candidate, rules.profile, lexicon=lexicon)
    if isinstance(verdict, Accepted) and not is_grounded(candidate, collect_texts(events)):
        verdict = Refused(reason="ungrounded")
    return CandidateVerdict(candidate=candidate, verdict=verdict)


def select_requests(requests: Iterable[str], lexicon: Lexicon, forgotten: frozenset[str], key: bytes) -> tuple[str, ...]:
    """The first :data:`MOST_REQUESTS` requests that are short and free of markup, invisible characters, secrets, forgotten words,
    talk about the assistant, and harmful commands. A request is an agent's guess of when a memory is needed (``needed_for``).
    """
    usable = (
        text
        for text in map(one_line, requests)
        if 0 < len(text) <= _LONGEST_REQUEST
        and not _MARKUP.search(text)
        and not strip_invisible(text)[1]
        and not has_match(lexicon.agent_talk, text)
        and not is_harmful_command(text)
        and not redact(text, key=key).found
        and not is_known_statement(text, forgotten, key)
    )
    return tuple(dict.fromkeys(usable))[:MOST_REQUESTS]


def is_retracted(candidate: Candidate, events: Sequence[Event]) -> bool:
    """True if a later prompt takes back what a candidate cites. The next prompt may retract or deny it; a denial that answers a
    question does not count. A later prompt that shares a content word with the cited one may retract it, or within two prompts
    correct it. A prompt that names what it takes back ("forget the rule about …") retracts nothing else.
    """
    cited = {item.event for item in candidate.evidence}
    content = find_content(candidate.content)
    following, asked = 0, False  # prompts since the cited one; whether the last reply asks a question
    for event in events:
        if event.key in cited and event.kind is EventKind.PROMPT:
            following, asked = 1, False
        elif event.kind is EventKind.RESPONSE and event.text.strip():
            asked = event.text.rstrip().endswith(QUESTION_MARKS)
        elif following and is_prompt(event):
            words = typed_text(event)
            retracts = is_retraction(words)
            named = find_withdrawn_content(words) if retracts else frozenset()
            if named:
                if not roots_of(named).isdisjoint(roots_of(content)):
                    return True
                following += 1
                continue
            if following == 1 and (retracts or (is_denial(words) and not asked)):
                return True
            if (retracts or (following <= _SOON and is_correction(words))) and not content.isdisjoint(find_content(words)):
                return True
            following += 1
    return False


def strip_words(candidate: Candidate) -> Candidate:
    """Remove the words of a forgotten statement from its candidate. The evidence keeps only where the statement was made."""
    evidence = tuple(replace(item, quote="") for item in candidate.evidence)
    bare = replace(candidate, content="", subject="", about="", replaces="", reasoning="")
    return replace(bare, needed_for=(), artifacts=(), evidence=evidence)


def collect_texts(events: Sequence[Event]) -> dict[str, str]:
    """The text of each event by its key, including its tool call. Quotes and artifacts are searched in these texts."""
    return {event.key: "\n".join(list_texts(event)) for event in events}


def commit_span(
    workspace: Workspace, run: RunNumber, thread: Thread, span: Span, before: Sequence[Proposal], *, stage: str, note: str = ""
) -> None:
    """Commit a stage's proposals for a thread. Does nothing if they are unchanged and from the same model. Raises StoreError."""
    if place_proposals(before) == span.judged and (not before or _model_in(last_pass_note(workspace, before)) == _model_in(note)):
        return
    run.commit(stage, subject=f"{thread.source}:{thread.session}", note=note, span=span)


def last_pass_note(workspace: Workspace, proposals: Sequence[Proposal]) -> str:
    """The note of the last pass that made the proposals: the model and its prompt. Empty if no model made them."""
    (last,) = workspace.store.log.passes(only=[max(proposal.pass_id for proposal in proposals)])
    return last.note


def _model_in(note: str) -> str:
    return note.partition(",")[0]


def place_proposals(proposals: Sequence[Proposal]) -> tuple[tuple[int, CandidateVerdict], ...]:
    """Convert proposals to (ordinal of the episode, judged candidate), the form in which a span stores them."""
    return tuple((proposal.ordinal, proposal.judged) for proposal in proposals)


def revalidate_threads(workspace: Workspace, run: RunNumber, threads: Iterable[Thread]) -> None:
    """Refuse a model's proposals from changed threads if the cited words are gone or abandoned. Raises StoreError."""
    for thread in threads:
        with workspace.store.transaction():
            before = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
            after = tuple((proposal.ordinal, _revalidate_proposal(workspace, thread, proposal)) for proposal in before)
            if before:
                span = Span(thread=thread.id, start=0, judged=after)
                commit_span(workspace, run, thread, span, before, stage=MODEL, note=last_pass_note(workspace, before))


def _revalidate_proposal(workspace: Workspace, thread: Thread, proposal: Proposal) -> CandidateVerdict:
    judged = proposal.judged
    if isinstance(judged.verdict, Refused):
        return judged
    (anchor,) = workspace.store.archive.events(thread.id, proposal.ordinal, proposal.ordinal + 1) or (None,)
    events = [workspace.store.archive.event(item.event) for item in judged.candidate.evidence]
    stands = all(
        event is not None and find_verbatim(item.quote, event)
        for item, event in zip(judged.candidate.evidence, events, strict=True)
    )
    if stands and anchor is not None and anchor.author is not Author.ABANDONED:
        return judged
    return replace(judged, verdict=Refused(reason="no longer said"))


def move_proposals(
    workspace: Workspace, run: RunNumber, thread: Thread, renamed: dict[str, CandidateVerdict], scopes: tuple[str, str]
) -> dict[str, CandidateVerdict]:
    """Move a model's proposals of a thread from one scope to another, inside a transaction. Returns the new proposals by old id.

    ``renamed`` maps the ids of the rules' candidates to their new versions. Raises StoreError.
    """
    before = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
    if not before:
        return {}
    after = tuple((proposal.ordinal, _move_proposal(workspace, thread, proposal, renamed, scopes)) for proposal in before)
    span = Span(thread=thread.id, start=0, judged=after)
    commit_span(workspace, run, thread, span, before, stage=MODEL, note=last_pass_note(workspace, before))
    return {old.judged.candidate.id: new for old, (_, new) in zip(before, after, strict=True)}


def _move_proposal(
    workspace: Workspace, thread: Thread, proposal: Proposal, renamed: dict[str, CandidateVerdict], scopes: tuple[str, str]
) -> CandidateVerdict:
    judged, candidate = proposal.judged, proposal.judged.candidate
    if candidate.trigger != UNDERSTOOD:
        return replace(judged, candidate=renamed[candidate.id].candidate) if candidate.id in renamed else judged
    if candidate.scope != scopes[0]:
        return judged
    if not candidate.content or FORGOTTEN_MARK in candidate.content:  # the same place may have other proposals with these words
        number = digest(candidate.id, scopes[1])
    else:
        anchor = next(
            (event.key for event in workspace.store.archive.events(thread.id, proposal.ordinal, proposal.ordinal + 1)), ""
        )
        number = digest(candidate.profile, candidate.category, scopes[1], UNDERSTOOD, anchor, candidate.content)
    rewords = renamed[candidate.rewords].candidate.id if candidate.rewords in renamed else candidate.rewords
    return replace(judged, candidate=replace(candidate, id=number, scope=scopes[1], rewords=rewords))
