"""Extraction by a model: ask about pending chunks, and commit judged candidates beside those of the rules.

Each question is about one chunk of a conversation. No transaction is open while the model answers. Answered chunks are committed
even if others fail. The failed ones wait for the next run, which finds every paid reply in the cache. This module knows no model
and no price.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any

from kept.core.codec import json_fields
from kept.core.digest import digest
from kept.core.event import Origin
from kept.core.fingerprint import is_known_statement
from kept.core.memory import REWORDED, UNDERSTOOD, UNTRIED, Accepted, Candidate, CandidateVerdict, Held, Refused, Verdict
from kept.core.redact import load_scanner, redact
from kept.core.summary import Passage, PassageForm
from kept.core.text import normal_form
from kept.core.times import format_instant
from kept.core.value import dataclass, field, replace
from kept.extraction.expiry import add_end
from kept.extraction.extract_threads import Within
from kept.extraction.gate import judge
from kept.extraction.question_plan import Question, ThreadPart, list_pending_threads, plan_questions
from kept.extraction.questions.answer import Answer, overrule_doubted, read_answer
from kept.extraction.questions.claims import ChunkReading, Claim
from kept.extraction.questions.proofread import LINES, build_proofread_ask, read_proofread
from kept.extraction.questions.question import split_reply
from kept.extraction.questions.recheck import ClaimInContext, build_recheck_ask, is_unclear, read_recheck, without_allusion
from kept.extraction.questions.turns import Chunk
from kept.extraction.verdicts import commit_span, place_proposals, strip_words
from kept.llm.ask import Ask, Asking, CompleteReply, Fault, PendingReply, Reply, TokenLimits, UnaffordableReply, UnreachableReply
from kept.local.progress import Late, Progress, ignore_progress, never_late
from kept.profiles.profile import Occasion
from kept.profiles.prompts import Prompt
from kept.store.values import MODEL, Span, Thread
from kept.workspace import RunNumber, Workspace

_TOGETHER = 24  # questions per call of ``asking``
_CLAIMS = 12  # claims that are sent back in one question, so that the reply about all of them has room
_REDACTED = "[redacted:"
_AnsweredPart = tuple[ThreadPart, Answer | None]
_Part = tuple[int, ChunkReading]  # a part, as the index of its answer
_SentClaim = tuple[int, Claim, ChunkReading]


class Trust(Enum):
    """The claims of a model that may become active without review."""

    CLAIMS = "claims"  # every accepted claim, for a model that passed its trial
    NOTHING = "nothing"  # no claim, for a model that failed its trial; it also changes nothing that rules found
    PASSAGES = "passages"  # only what the person typed, word for word, if no rule doubts it


@dataclass(kw_only=True, slots=True)
class LlmExtractionReport:
    """The result of asking a model.

    ``chunks`` counts the chunks that the model read. The other counts are about its candidates: ``confirmed`` counts accepted ones
    that build on a candidate of the rules, ``overruled`` the rules' candidates that it rejects or doubts, ``dropped`` unusable
    parts of replies. ``left`` threads wait for the next run. ``prompts`` maps each profile to the prompt used (origin, version).
    """

    threads: int = 0
    chunks: int = 0
    accepted: int = 0
    held: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    confirmed: int = 0
    overruled: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    left: int = 0
    prompts: dict[str, tuple[str, str]] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The report as JSON."""
        names = ("chunks", "accepted", "held", "refused", "confirmed", "overruled", "dropped", "left")
        prompts = {name: {"origin": origin, "version": version} for name, (origin, version) in self.prompts.items()}
        return json_fields(self, *names, sessions="threads") | {"prompts": prompts}

    def count(self, judged: CandidateVerdict) -> None:
        """Add a judged candidate of the model to the counts."""
        match judged.verdict:
            case Accepted():
                self.accepted += 1
                self.confirmed += bool(judged.candidate.rewords)
            case Held():
                self.held += 1
            case Refused(reason=reason):
                self.refused[reason] += 1


def extract_with_llm(
    workspace: Workspace,
    run: RunNumber,
    asking: Asking,
    *,
    by: str,
    trust: Trust = Trust.CLAIMS,
    limits: TokenLimits = TokenLimits(),  # noqa: B008 - a frozen value
    from_start: Collection[int] = (),
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    progress: Progress = ignore_progress,
    late: Late = never_late,
) -> LlmExtractionReport:
    """Ask about every thread that grew since a model read it (those in ``from_start`` from their start), and commit the results.

    ``by`` is the model's name, which is stored with each pass. ``trust`` says which claims may become active. A thread is asked
    about only if its profile is extracted on the ``occasion`` and, if ``within`` is given, it has events in [start, stop). ``run``
    returns the number of the run; it is called only before a commit. Once ``late`` returns true, nothing more is asked. Raises
    StoreError, ConfigError, and any error of ``asking``. Earlier commits stay.
    """
    chosen = list_pending_threads(workspace, from_start=from_start, within=within, occasion=occasion)
    work = _LlmExtraction(
        workspace=workspace,
        run=run,
        asking=asking,
        by=by,
        trust=trust,
        report=LlmExtractionReport(threads=len(chosen)),
        forgotten=workspace.store.log.forgotten_fingerprints(),
    )

    def in_time() -> Iterator[tuple[Thread, int]]:
        for number, waiting in enumerate(chosen):
            if late():
                work.report.left = len(chosen) - number
                return
            progress("asking", number, len(chosen))
            yield waiting

    planned = plan_questions(workspace, in_time(), limits)
    while gathered := list(islice(planned, _TOGETHER)):
        for part in (part for question in gathered for part in question.parts):
            work.report.prompts[part.prompt.profile] = (part.prompt.origin, part.prompt.version)
        work.ask_questions(gathered)
    progress("asking", len(chosen), len(chosen))
    work.report.left += len(work.blocked)
    return work.report


@dataclass(kw_only=True, slots=True)
class _LlmExtraction:
    """An extraction in progress. ``blocked`` are the threads with a chunk that got no answer. The next run continues from it."""

    workspace: Workspace
    run: RunNumber
    asking: Asking
    by: str
    trust: Trust
    report: LlmExtractionReport
    forgotten: frozenset[str]
    blocked: set[int] = field(default_factory=set)

    def ask_questions(self, questions: Sequence[Question]) -> None:
        """Ask some questions, and commit the results thread by thread."""
        parts = [part for question in questions for part in question.parts]
        first = self._ask_for_answers(questions)
        answers = _hold_back(questions, first, self._proofread_claims(parts, self._recheck_claims(questions, first)))
        by_thread: dict[int, list[_AnsweredPart]] = {}
        for part, answer in zip(parts, answers, strict=True):
            by_thread.setdefault(part.thread.id, []).append((part, answer))
        for answered in by_thread.values():
            self._commit_answers(answered)

    def _ask_for_answers(self, questions: Sequence[Question]) -> list[Answer | None]:
        """The answers to the parts of the questions, in order. An answer is None if there is no usable reply."""
        asks = [question.ask for question in questions if question.ask is not None]
        replies = iter(self.asking(asks) if asks else ())
        return [
            answer
            for question in questions
            for answer in self._read_reply(question.parts, next(replies) if question.ask is not None else None)
        ]

    def _read_reply(self, parts: Sequence[ThreadPart], reply: Reply | None) -> Iterator[Answer | None]:
        excerpts = [part.excerpt for part in parts if part.worth_asking]
        bodies = iter(split_reply(reply.body, excerpts) if isinstance(reply, CompleteReply) else ())
        for part in parts:
            body = next(bodies, None) if part.worth_asking else None
            answer = read_answer(body, part.reading) if body is not None else None
            self.report.dropped.update(answer.dropped if answer else {})
            yield answer if part.worth_asking else Answer()

    def _recheck_claims(self, questions: Sequence[Question], answers: Sequence[Answer | None]) -> list[Answer | None]:
        """Send the claims that would become active back with their context. The claims of one reply share questions."""
        places = iter(range(len(answers)))
        parts = [[(at, part.reading) for part, at in zip(question.parts, places, strict=False)] for question in questions]
        groups = [self._list_claims(answers, parts_of_reply, self._needs_recheck) for parts_of_reply in parts]
        return self._send_back(answers, groups, _CLAIMS, build_recheck_ask, read_recheck)

    def _proofread_claims(self, parts: Sequence[ThreadPart], answers: Sequence[Answer | None]) -> list[Answer | None]:
        """Send the claims that would still become active back without their context. The claims of a project share questions."""
        checked, by_scope = list(answers), dict[str, list[_Part]]()
        for at, part in enumerate(parts):
            by_scope.setdefault(part.reading.scope, []).append((at, part.reading))
        for scope, some in by_scope.items():
            build = partial(build_proofread_ask, self.workspace.name(scope))
            group = self._list_claims(checked, some, self._needs_proofreading)
            group.sort(key=lambda sent: format_instant(said) if (said := sent[1].candidate.at) else "")
            checked = self._send_back(checked, [group], LINES, build, read_proofread)
        return [answer and overrule_doubted(answer, part.reading) for part, answer in zip(parts, checked, strict=True)]

    def _send_back(
        self,
        answers: Sequence[Answer | None],
        groups: Iterable[Sequence[_SentClaim]],
        most: int,
        build: Callable[[Sequence[ClaimInContext]], Ask],
        read: Callable[[Mapping[str, Any], Sequence[ClaimInContext]], dict[int, Claim]],
    ) -> list[Answer | None]:
        """Ask about groups of claims, ``most`` in a question, and return the answers with the claims that the replies change.

        Until a question has a reply, the answers with its claims are None, and the next run asks it. Earlier replies are cached.
        """
        checked = list(answers)
        batches = [claims[start : start + most] for claims in groups for start in range(0, len(claims), most)]
        contexts = [[(claim, reading) for _, claim, reading in batch] for batch in batches]
        replies = self.asking(list(map(build, contexts))) if batches else ()
        for batch, context, reply in zip(batches, contexts, replies, strict=True):
            better = read(reply.body, context) if isinstance(reply, CompleteReply) else {}
            for number, (at, before, _) in enumerate(batch):
                answer = checked[at]
                if _is_waiting(reply):
                    checked[at] = None
                elif answer is not None and number in better:
                    claims = tuple(better[number] if claim is before else claim for claim in answer.claims)
                    checked[at] = replace(answer, claims=claims)
        return checked

    def _list_claims(
        self, answers: Sequence[Answer | None], parts: Iterable[_Part], is_chosen: Callable[[Claim, ChunkReading], bool]
    ) -> list[_SentClaim]:
        if self.trust is not Trust.CLAIMS:
            return []
        answered = [(at, answer, reading) for at, reading in parts if (answer := answers[at]) is not None]
        return [
            (at, claim, reading)
            for at, answer, reading in answered
            for claim in answer.claims
            if not claim.refusal and is_chosen(claim, reading)
        ]

    def _needs_recheck(self, claim: Claim, reading: ChunkReading) -> bool:
        """True if a claim would become active if it did not only allude. If it confirms the rules, it must also be unclear."""
        unsure = not claim.candidate.rewords or is_unclear(claim.candidate, reading.lexicon)
        return unsure and isinstance(judge(without_allusion(claim.candidate), reading.profile, lexicon=reading.lexicon), Accepted)

    def _needs_proofreading(self, claim: Claim, reading: ChunkReading) -> bool:
        """True if a claim would become active and does not confirm what the person told the assistant to remember."""
        if claim.candidate.rewords and claim.candidate.origin is Origin.USER:
            return False
        return isinstance(judge(claim.candidate, reading.profile, lexicon=reading.lexicon), Accepted)

    def _judge_answer(self, part: ThreadPart, answer: Answer) -> list[tuple[int, CandidateVerdict]]:
        good = {claim.candidate.id for claim in answer.claims if not claim.refusal}
        judged = [
            (claim.ordinal, self._judge_claim(part, claim))
            for claim in answer.claims
            if not claim.refusal or claim.candidate.id not in good  # the same words claimed twice count as one claim
        ]
        return [*judged, *(() if self.trust is Trust.NOTHING else answer.overruled)]

    def _is_held_by_rules(self, thread: Thread, candidate: Candidate) -> bool:
        """True if the rules hold a candidate that contains this claim or is part of it."""
        form = normal_form(candidate.content)
        held = (
            normal_form(proposal.judged.candidate.content)
            for proposal in self.workspace.store.log.thread_proposals(thread.id, 0)
            if isinstance(proposal.judged.verdict, Held)
        )
        return any(words in form or form in words for words in held)

    def _judge_claim(self, part: ThreadPart, claim: Claim) -> CandidateVerdict:
        candidate = add_end(claim.candidate, self.workspace.zone)
        if self._is_forgotten(candidate.content):
            return CandidateVerdict(candidate=strip_words(candidate), verdict=Refused(reason="forgotten"))
        verdict = Refused(reason=claim.refusal) if claim.refusal else self._find_verdict(part, candidate)
        return _refuse_secrets(self.workspace, CandidateVerdict(candidate=candidate, verdict=verdict))

    def _find_verdict(self, part: ThreadPart, candidate: Candidate) -> Verdict:
        reading = part.reading
        verdict = judge(candidate, reading.profile, lexicon=reading.lexicon)
        if self.trust is Trust.NOTHING and not isinstance(verdict, Refused):
            return Held(reason=UNTRIED)
        if self.trust is Trust.PASSAGES and isinstance(verdict, Accepted):
            own = _is_own_passage(candidate) and not self._is_held_by_rules(part.thread, candidate)
            return verdict if own else Held(reason=REWORDED)
        return verdict

    def _is_forgotten(self, words: str) -> bool:
        return bool(self.forgotten) and is_known_statement(words, self.forgotten, self.workspace.store.key("forget"))

    def _commit_answers(self, parts: Sequence[_AnsweredPart]) -> None:
        """Commit the answers about the parts of a thread, and the ordinal up to which the model read it without a gap."""
        first, last = parts[0][0], parts[-1][0].reading.chunk
        thread, start = first.thread, first.reading.chunk.start
        note = f"{self.by}, {format_prompt_source(first.prompt)}"
        gaps = [part.reading.chunk for part, answer in parts if answer is None]
        judged = [item for part, answer in parts if answer is not None for item in self._judge_answer(part, answer)]
        self.report.chunks += sum(answer is not None and part.worth_asking for part, answer in parts)
        for _, verdict in judged:
            if verdict.candidate.trigger == UNDERSTOOD:
                self.report.count(verdict)
            else:
                self.report.overruled += 1
        with self.workspace.store.transaction():
            if len(gaps) < len(parts):
                before = self.workspace.store.log.thread_proposals(thread.id, start, MODEL)
                kept = [
                    (place, verdict)
                    for place, verdict in place_proposals(before)
                    if place >= last.stop or any(gap.start <= place < gap.stop for gap in gaps)
                ]
                span = Span(thread=thread.id, start=start, judged=(*judged, *kept))
                commit_span(self.workspace, self.run, thread, span, before, stage=MODEL, note=note)
            for part, answer in parts:
                if answer is not None:
                    passages = [item for item in _build_passages(part, answer, note) if not self._is_forgotten(item.text)]
                    chunk = part.reading.chunk
                    self.workspace.store.days.save_points(thread.id, chunk.start, chunk.stop, passages)
            self._save_progress(thread, last, gaps)

    def _save_progress(self, thread: Thread, last: Chunk, gaps: Sequence[Chunk]) -> None:
        if thread.id in self.blocked:
            return
        if gaps:
            self.blocked.add(thread.id)
            closed = seen = gaps[0].start
        else:
            closed, seen = last.stop if last.closed else last.start, last.stop
        self.workspace.store.archive.save_llm_progress(thread.id, closed=closed, seen=seen)


def _hold_back(
    questions: Iterable[Question], first: Sequence[Answer | None], checked: Sequence[Answer | None]
) -> list[Answer | None]:
    """The ``checked`` answers, without those of questions with a part whose ``first`` answer waits for its claims to be checked.

    If some parts of such a question were committed, the next run would ask about the others together with other parts, and the
    reply that it has already would be lost.
    """
    answers: list[Answer | None] = []
    for question in questions:
        places = range(len(answers), len(answers) + len(question.parts))
        is_held = any(first[at] is not None and checked[at] is None for at in places)
        answers += [None if is_held else checked[at] for at in places]
    return answers


def _is_waiting(reply: Reply) -> bool:
    """True if asking again later may bring a reply."""
    faulty = isinstance(reply, UnreachableReply) and reply.fault is not Fault.SETUP
    return faulty or isinstance(reply, PendingReply | UnaffordableReply)


def _build_passages(part: ThreadPart, answer: Answer, by: str) -> Iterator[Passage]:
    """Yield the points of a reply as passages of a day. Points without a known time are dropped, because they belong to no day."""
    chunk = part.reading.chunk
    events = {event.key: (place, event) for place, event in part.reading.events.items()}
    for point in answer.points:
        cited = [events[key] for key in point.events if key in events]
        times = [event.at for _, event in cited if event.at is not None]
        if not times:
            continue
        place = min(max(chunk.start, *(place for place, _ in cited)), chunk.stop - 1)
        yield Passage(
            id=digest(str(part.thread.id), str(place), point.kind, point.text, size=7),
            form=PassageForm.POINT,
            kind=point.kind,
            text=point.text,
            at=max(times),
            events=point.events,
            sessions=(part.thread.session,),
            thread=part.thread.id,
            ordinal=place,
            by=by,
        )


def format_prompt_source(prompt: Prompt) -> str:
    """A prompt in a few words: its version, and its origin if it is not built in."""
    return f"prompt {prompt.version}{f' of {prompt.origin}' if prompt.overridden else ''}"


def _is_own_passage(candidate: Candidate) -> bool:
    """True if a claim equals a part of a passage that the person typed."""
    form = normal_form(candidate.content)
    return any(item.origin is Origin.USER and form in normal_form(item.quote) for item in candidate.evidence)


def _refuse_secrets(workspace: Workspace, judged: CandidateVerdict) -> CandidateVerdict:
    """Refuse a candidate that contains a secret, and redact it. A model may have guessed the secret, or combined it from parts."""
    words = judged.candidate.content
    safe = redact(words, key=workspace.store.key("redaction"), more=load_scanner()).text
    if _REDACTED not in safe:
        return judged
    return CandidateVerdict(candidate=replace(judged.candidate, content=safe, artifacts=()), verdict=Refused(reason="secret"))
