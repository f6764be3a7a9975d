"""Extraction by a model: ask about pending chunks, and commit judged candidates beside those of the rules.

Conversations are asked about chunk by chunk, without an open transaction. Answered chunks are committed even if others fail; those
wait for the next run, which finds every paid reply in the cache. Knows no model and no price.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any

from kept.core.codec import digest, json_fields
from kept.core.event import Origin
from kept.core.fingerprint import is_known_statement
from kept.core.memory import REWORDED, UNDERSTOOD, UNTRIED, Accepted, Candidate, CandidateVerdict, Held, Refused, Verdict
from kept.core.redact import redact
from kept.core.redact.scanner import load_scanner
from kept.core.summary import Passage, PassageForm
from kept.core.text import normal_form
from kept.extraction.expiry import add_end
from kept.extraction.extract_threads import Within
from kept.extraction.gate import judge
from kept.extraction.question_plan import Question, ThreadPart, list_pending_threads, plan_questions
from kept.extraction.questions.answer import Answer, read_answer
from kept.extraction.questions.question import split_reply
from kept.extraction.questions.reading import (
    ChunkReading,
    Claim,
    build_rewording_ask,
    is_unclear,
    read_rewordings,
    without_allusion,
)
from kept.extraction.verdicts import commit_span, place_proposals
from kept.llm.ask import Asking, CompleteReply, PendingReply, Reply, TokenLimits
from kept.local.progress import Late, Progress, ignore_progress, never_late
from kept.profiles.profile import Occasion
from kept.profiles.prompts import Prompt, question_text
from kept.store.values import MODEL, Span, Thread
from kept.workspace import Workspace

_TOGETHER = 24  # questions per call of ``asking``
_REDACTED = "[redacted:"


class Trust(Enum):
    """Which of a model's claims may become active without review."""

    CLAIMS = "all"  # every accepted claim: for a model that passed its trial
    NOTHING = "of one that did not: it also changes nothing that rules found"
    PASSAGES = "what the person typed, word for word, and no rule doubts"


@dataclass(kw_only=True, slots=True)
class LlmExtractionReport:
    """The result of asking a model.

    ``chunks`` were read by the model. All counts are of its own candidates: ``confirmed`` counts accepted ones that build on a
    candidate of the rules, ``overruled`` the rules' candidates that it rejects or doubts, ``dropped`` unusable parts of replies.
    ``left`` threads wait for the next run. ``prompts`` maps profiles to the prompt used (origin, version).
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
        """Count a judged candidate of the model."""
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
    run: Callable[[], int],
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

    ``by`` is the model's name, which is stored with each pass. ``trust`` says which claims may become active. Only threads with
    events in [start, stop) of ``within`` (if given) and a profile that is extracted on the ``occasion`` are asked about. ``run``
    returns the number of the run and is called only when something is committed. Once ``late`` is true nothing more is asked.
    Raises StoreError, ConfigError, and what ``asking`` raises; what was committed before that stays.
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
    """An extraction in progress. ``blocked`` are the threads with an unanswered chunk: the next run continues from that chunk."""

    workspace: Workspace
    run: Callable[[], int]
    asking: Asking
    by: str
    trust: Trust
    report: LlmExtractionReport
    forgotten: frozenset[str]
    blocked: set[int] = field(default_factory=set)

    def ask_questions(self, planned: Sequence[Question]) -> None:
        """Ask some questions, and commit the results thread by thread."""
        gathered = [part for question in planned for part in question.parts]
        answers = self._cleared(planned, self._ask_for_answers(planned))
        points = [to_passages(part, answer, self._format_pass_note(part)) for part, answer in zip(gathered, answers, strict=True)]
        judged = [self._judge_answer(part, answer) for part, answer in zip(gathered, answers, strict=True)]
        for thread in dict.fromkeys(thread_part.thread.id for thread_part in gathered):
            own = [n for n, thread_part in enumerate(gathered) if thread_part.thread.id == thread]
            self._commit_answers(
                [gathered[n] for n in own],
                [judged[n] for n in own],
                [answers[n] is not None for n in own],
                [points[n] for n in own],
            )

    def _ask_for_answers(self, planned: Sequence[Question]) -> list[Answer | None]:
        """The answers to the parts of the questions, in order; None if there is no usable reply."""
        asks = [question.ask for question in planned if question.ask is not None]
        replies = iter(self.asking(asks) if asks else ())
        return [
            answer
            for question in planned
            for answer in self._read_reply(question.parts, next(replies) if question.ask is not None else None)
        ]

    def _read_reply(self, some: Sequence[ThreadPart], reply: Reply | None) -> Iterator[Answer | None]:
        parts = [part for part in some if part.worth_asking]
        bodies = iter(split_reply(reply.body, [part.excerpt for part in parts]) if isinstance(reply, CompleteReply) else [])
        for part in some:
            body = next(bodies, None) if part.worth_asking else None
            answer = read_answer(body, part.reading) if body is not None else None if part.worth_asking else Answer()
            self.report.dropped.update(answer.dropped if answer else {})
            yield answer

    def _cleared(self, planned: Sequence[Question], answers: Sequence[Answer | None]) -> list[Answer | None]:
        """The answers after unclear claims were sent back once for rewording, all claims of a reply in one question. While that
        reply is pending, its parts count as unanswered. Claims that will be held anyway are not sent back.
        """
        found = list(answers)
        text, version = question_text("rewording")
        places = iter(range(len(found)))
        sent = [
            [
                (at, claim, part.reading)
                for part, at in zip(question.parts, places, strict=False)
                for claim in self._unclear(found[at], part.reading)
            ]
            for question in planned
        ]
        sent = [some for some in sent if some]
        asks = [
            build_rewording_ask(
                [item[1:] for item in some], system=text, version=version, about=_sessions_of(claim for _, claim, _ in some)
            )
            for some in sent
        ]
        for some, reply in zip(sent, self.asking(asks) if asks else (), strict=True):
            better = read_rewordings(reply.body, [item[1:] for item in some]) if isinstance(reply, CompleteReply) else {}
            for place, claim in better.items():
                at, before, _ = some[place]
                if (made := found[at]) is not None:
                    found[at] = replace(made, claims=tuple(claim if item is before else item for item in made.claims))
            if isinstance(reply, PendingReply):
                for at, _, _ in some:
                    found[at] = None
        return found

    def _unclear(self, made: Answer | None, reading: ChunkReading) -> list[Claim]:
        """The claims that would become active but cannot be understood on their own."""
        return [
            claim
            for claim in (made.claims if made is not None and self.trust is Trust.CLAIMS else ())
            if not claim.refusal
            and is_unclear(claim.candidate, reading.lexicon)
            and isinstance(judge(without_allusion(claim.candidate), reading.profile, lexicon=reading.lexicon), Accepted)
        ]

    def _judge_answer(self, part: ThreadPart, found: Answer | None) -> list[tuple[int, CandidateVerdict]]:
        if found is None:
            return []
        good = {claim.candidate.id for claim in found.claims if not claim.refusal}
        claims = [
            (
                claim.ordinal,
                CandidateVerdict(
                    candidate=add_end(claim.candidate, self.workspace.zone),
                    verdict=self._verdict(part, claim.candidate, claim.refusal),
                ),
            )
            for claim in found.claims
            if not claim.refusal or claim.candidate.id not in good  # the same words claimed twice are one claim
        ]
        overruled = () if self.trust is Trust.NOTHING else found.overruled
        return [*((place, _refuse_secrets(self.workspace, judged)) for place, judged in claims), *overruled]

    def _is_held_by_rules(self, thread: Thread, candidate: Candidate) -> bool:
        """True if the rules hold back a candidate that contains this claim or is part of it."""
        said = normal_form(candidate.content)
        held = (
            normal_form(proposal.judged.candidate.content)
            for proposal in self.workspace.store.log.thread_proposals(thread.id, 0)
            if isinstance(proposal.judged.verdict, Held)
        )
        return any(words in said or said in words for words in held)

    def _verdict(self, part: ThreadPart, candidate: Candidate, refusal: str) -> Verdict:
        if refusal:
            return Refused(reason=refusal)
        if self._is_forgotten(candidate.content):
            return Refused(reason="forgotten")
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

    def _format_pass_note(self, part: ThreadPart) -> str:
        return f"{self.by}, {format_prompt_source(part.prompt)}"

    def _commit_answers(
        self,
        own: Sequence[ThreadPart],
        judged: Sequence[list[tuple[int, CandidateVerdict]]],
        answered: Sequence[bool],
        points: Sequence[list[Passage]],
    ) -> None:
        """Commit what was answered about a thread, and up to where it was read without a gap."""
        thread, start, stop = own[0].thread, own[0].reading.chunk.start, own[-1].reading.chunk.stop
        holes = [part.reading.chunk for part, good in zip(own, answered, strict=True) if not good]
        self.report.chunks += sum(good and bool(part.worth_asking) for part, good in zip(own, answered, strict=True))
        for other in (item for entry in judged for item in entry):
            if other[1].candidate.trigger == UNDERSTOOD:
                self.report.count(other[1])
            else:
                self.report.overruled += 1
        with self.workspace.store.transaction():
            if any(answered):
                before = self.workspace.store.log.thread_proposals(thread.id, start, MODEL)
                kept = [
                    (place, verdict)
                    for place, verdict in place_proposals(before)
                    if place >= stop or any(hole.start <= place < hole.stop for hole in holes)
                ]
                found = [item for entry in judged for item in entry]
                span = Span(thread=thread.id, start=start, judged=(*found, *kept))
                commit_span(self.workspace, self.run, thread, span, before, stage=MODEL, note=self._format_pass_note(own[0]))
                for chunk, found_points in zip((thread_part.reading.chunk for thread_part in own), points, strict=True):
                    if chunk not in holes:
                        fresh = [passage for passage in found_points if not self._is_forgotten(passage.text)]
                        self.workspace.store.days.save_points(thread.id, chunk.start, chunk.stop, fresh)
            self._save_progress(thread, own, answered)

    def _save_progress(self, thread: Thread, own: Sequence[ThreadPart], answered: Sequence[bool]) -> None:
        if thread.id in self.blocked:
            return
        first = next((part.reading.chunk for part, good in zip(own, answered, strict=True) if not good), None)
        if first is not None:
            self.blocked.add(thread.id)
            self.workspace.store.archive.save_llm_progress(thread.id, closed=first.start, seen=first.start)
            return
        last = own[-1].reading.chunk
        self.workspace.store.archive.save_llm_progress(thread.id, closed=last.stop if last.closed else last.start, seen=last.stop)


def _sessions_of(claims: Iterable[Claim]) -> list[str]:
    return [item.session for claim in claims for item in claim.candidate.evidence]


def to_passages(part: ThreadPart, found: Answer | None, by: str) -> list[Passage]:
    """The points of a reply, as stored day passages; points without a known time are dropped, because they belong to no day."""
    events = {event.key: (place, event) for place, event in part.reading.events.items()}
    made: list[Passage] = []
    for point in found.points if found else ():
        cited = [events[key] for key in point.events if key in events]
        times = [event.at for _, event in cited if event.at is not None]
        place = max((place for place, _ in cited), default=part.reading.chunk.start)
        place = min(max(place, part.reading.chunk.start), part.reading.chunk.stop - 1)
        if times:
            made.append(
                Passage(
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
            )
    return made


def format_prompt_source(prompt: Prompt) -> str:
    """A prompt in a few words: its version, and its origin if it is not built in."""
    return f"prompt {prompt.version}{f' of {prompt.origin}' if prompt.overridden else ''}"


def _is_own_passage(candidate: Candidate) -> bool:
    """True if a claim is verbatim a part of a passage that the person typed."""
    said = normal_form(candidate.content)
    return any(item.origin is Origin.USER and said in normal_form(item.quote) for item in candidate.evidence)


def _refuse_secrets(workspace: Workspace, judged: CandidateVerdict) -> CandidateVerdict:
    """Refuse a candidate that contains a secret (which a model may have guessed or combined), and store it redacted."""
    words = judged.candidate.content
    safe = redact(words, key=workspace.store.key("redaction"), more=load_scanner()).text
    if _REDACTED not in safe:
        return judged
    return CandidateVerdict(candidate=replace(judged.candidate, content=safe, artifacts=()), verdict=Refused(reason="secret"))
