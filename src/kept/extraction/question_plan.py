"""Plan the questions for a model: pending threads, their chunks, and the questions about them.

Estimates and runs share this plan. This module asks nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kept.core.event import Event
from kept.core.memory import Accepted, Candidate, CandidateVerdict, Held
from kept.core.value import dataclass
from kept.extraction.extract_threads import Within, has_events_within
from kept.extraction.questions.answer import SURE
from kept.extraction.questions.claims import ChunkReading
from kept.extraction.questions.question import Excerpt, Hint, build_question_ask, name_hints
from kept.extraction.questions.turns import Chunk, cut_chunks, is_worth_asking
from kept.extraction.segment import WINDOW
from kept.llm.ask import Ask, TokenLimits
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Occasion
from kept.profiles.prompts import Prompt
from kept.store.values import Thread
from kept.workspace import Workspace

_LOOKBACK = 50  # events before a chunk that are used to check its reply


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadPart:
    """A chunk of a thread, and the data for reading a reply about it.

    ``worth_asking`` is False if the person typed nothing in it and it is not a journal entry.
    """

    thread: Thread
    reading: ChunkReading
    prompt: Prompt
    worth_asking: bool = True

    @property
    def excerpt(self) -> Excerpt:
        """The chunk as it appears in a question."""
        return Excerpt(chunk=self.reading.chunk, hints=self.reading.hints)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Parts that are answered together, and the question about those worth asking; None if none is."""

    parts: tuple[ThreadPart, ...]
    ask: Ask | None


def plan_questions(workspace: Workspace, waiting: Iterable[tuple[Thread, int]], limits: TokenLimits) -> Iterator[Question]:
    """Yield the questions about threads, in order. Each thread comes with the ordinal to start from. Small parts with the same
    prompt share a question.

    Estimates count these questions, and runs ask them. Raises StoreError, ConfigError.
    """
    parts = (part for thread, closed in waiting for part in _plan_parts(workspace, thread, closed, limit=limits.part))
    return (Question(parts=group, ask=_build_ask(group, limits)) for group in _group_parts(parts, limits))


def _group_parts(parts: Iterable[ThreadPart], limits: TokenLimits) -> Iterator[tuple[ThreadPart, ...]]:
    """Group consecutive parts up to the size of one question. A part that needs preceding context (``lead``) starts a new group."""
    group: list[ThreadPart] = []
    weight, prompt = 0, ""
    for part in parts:
        size = part.excerpt.weight if part.worth_asking else 0
        if size and weight and (weight + size > limits.part or part.reading.chunk.lead or part.prompt.version != prompt):
            yield tuple(group)
            group, weight = [], 0
        group.append(part)
        weight, prompt = weight + size, part.prompt.version if size else prompt
    if group:
        yield tuple(group)


def _build_ask(parts: Sequence[ThreadPart], limits: TokenLimits) -> Ask | None:
    """The question about those parts that are worth asking about; None if none is."""
    asked = [part for part in parts if part.worth_asking]
    sessions = [part.thread.session for part in asked]
    return (
        build_question_ask([part.excerpt for part in asked], asked[0].prompt, about=sessions, most=limits.reply) if asked else None
    )


def _plan_parts(workspace: Workspace, thread: Thread, closed: int, *, limit: int) -> Iterator[ThreadPart]:
    """Yield the chunks of a thread from the ordinal ``closed`` on, in order. Raises StoreError, ConfigError."""
    profile = workspace.profile_for(thread.source, thread.project, thread.path)
    prompt = workspace.extraction_prompt(profile)
    scope = workspace.scope(thread.project, thread.path)
    proposed = [proposal.judged for proposal in workspace.store.log.thread_proposals(thread.id, 0)]
    place = closed
    while place < thread.events:
        base, stop = max(0, place - _LOOKBACK), min(place + WINDOW, thread.events)
        events = dict(enumerate(workspace.store.archive.events(thread.id, base, stop), base))
        chunks = cut_chunks(tuple(events.values()), offset=base, start=place, limit=limit)
        usable = chunks if stop == thread.events else [chunk for chunk in chunks if chunk.closed] or chunks
        for chunk in usable:
            near = {place: events[place] for place in range(max(base, chunk.start - _LOOKBACK), chunk.stop)}
            reading = ChunkReading(
                chunk=chunk,
                events=near,
                hints=_find_hints(chunk, events, proposed),
                profile=profile,
                lexicon=choose_lexicon(tuple(near.values()), profile.languages),
                scope=scope,
            )
            worth_asking = any(is_worth_asking(near[place]) for place in range(chunk.start, chunk.stop))
            yield ThreadPart(thread=thread, reading=reading, prompt=prompt, worth_asking=worth_asking)
        place = usable[-1].stop


def _find_hints(chunk: Chunk, events: Mapping[int, Event], proposed: Iterable[CandidateVerdict]) -> tuple[Hint, ...]:
    """The rules' near-certain candidates in a chunk, ordered by the last event that each cites."""
    places = {events[place].key: place for place in range(chunk.start, chunk.stop)}
    hints: list[tuple[int, Candidate]] = []
    for proposal in proposed:
        candidate, verdict = proposal.candidate, proposal.verdict
        last = max((places.get(item.event, -1) for item in candidate.evidence), default=-1)
        if last >= 0 and (isinstance(verdict, Accepted) or (isinstance(verdict, Held) and candidate.confidence >= SURE)):
            hints.append((last, candidate))
    return name_hints([candidate for _, candidate in sorted(hints, key=lambda hint: (hint[0], hint[1].id))])


def list_pending_threads(
    workspace: Workspace, *, from_start: Collection[int] = (), within: Within | None = None, occasion: Occasion = Occasion.NIGHTLY
) -> list[tuple[Thread, int]]:
    """The threads that a run asks about, each with the ordinal to start from (0 for those in ``from_start``). Threads of one
    profile are adjacent, because they share questions. Raises StoreError.
    """
    again = ((thread, 0) for thread in workspace.store.archive.threads() if thread.id in from_start) if from_start else ()
    grown = (
        (thread, closed) for thread, closed in workspace.store.archive.list_threads_pending_llm() if thread.id not in from_start
    )
    by_profile: dict[str, list[tuple[Thread, int]]] = {}
    for thread, closed in (*again, *grown):
        profile = workspace.profile_for(thread.source, thread.project, thread.path)
        if (within is None or has_events_within(thread, within)) and profile.when.on(occasion):
            by_profile.setdefault(profile.id, []).append((thread, closed))
    return [pending for threads in by_profile.values() for pending in threads]
