"""Plan the questions for a model: pending threads, their chunks, and the questions about them.

Estimates and runs share this plan. Asks nothing itself.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from kept.core.event import Event
from kept.core.memory import Accepted, CandidateVerdict, Held
from kept.core.value import dataclass
from kept.extraction.extract_threads import Within, has_events_within
from kept.extraction.questions.answer import SURE
from kept.extraction.questions.question import Excerpt, Hint, build_question_ask, name_hints
from kept.extraction.questions.reading import ChunkReading
from kept.extraction.questions.turns import Chunk, cut_chunks, is_worth_asking
from kept.llm.ask import Ask, TokenLimits
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Occasion, Profile
from kept.profiles.prompts import Prompt
from kept.store.values import Thread
from kept.workspace import Workspace

WINDOW = 4_000  # events that are processed together: bounds memory for sessions of any length
LOOKBACK = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadPart:
    """A chunk of a thread, and what is needed to read a reply about it.

    ``worth_asking`` is False if nobody typed anything in it.
    """

    thread: Thread
    reading: ChunkReading
    prompt: Prompt
    worth_asking: bool = True

    @property
    def excerpt(self) -> Excerpt:
        """The part as it appears in a question."""
        return Excerpt(chunk=self.reading.chunk, hints=self.reading.hints)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Parts that are settled together, and the question about those worth asking (None if there are none)."""

    parts: tuple[ThreadPart, ...]
    ask: Ask | None


def profile_of(workspace: Workspace, thread: Thread) -> Profile:
    """The profile for a thread."""
    return workspace.profile_for(thread.source, thread.project, thread.path)


def plan_questions(workspace: Workspace, waiting: Iterable[tuple[Thread, int]], limits: TokenLimits) -> Iterator[Question]:
    """Yield the questions about threads, each from its ordinal on, in order. Small parts with the same prompt share a question.

    Estimates count these questions and runs ask them. Raises StoreError, ConfigError.
    """
    thread_parts = (part for thread, closed in waiting for part in plan_parts(workspace, thread, closed, limit=limits.part))
    return (Question(parts=some, ask=build_parts_ask(some, limits)) for some in group_parts(thread_parts, limits))


def group_parts(found: Iterable[ThreadPart], limits: TokenLimits) -> Iterator[tuple[ThreadPart, ...]]:
    """Group consecutive parts up to the size of one question. A part that needs preceding context (``lead``) starts a new group."""
    some: list[ThreadPart] = []
    weight, prompt = 0, ""
    for part in found:
        size = part.excerpt.weight if part.worth_asking else 0
        if size and weight and (weight + size > limits.part or part.reading.chunk.lead or part.prompt.version != prompt):
            yield tuple(some)
            some, weight = [], 0
        some.append(part)
        weight, prompt = weight + size, part.prompt.version if size else prompt
    if some:
        yield tuple(some)


def build_parts_ask(some: Sequence[ThreadPart], limits: TokenLimits) -> Ask | None:
    """The question about some parts; None if nobody typed anything in any of them."""
    thread_parts = [part for part in some if part.worth_asking]
    about = [part.thread.session for part in thread_parts]
    return (
        build_question_ask([part.excerpt for part in thread_parts], thread_parts[0].prompt, about=about, most=limits.reply)
        if thread_parts
        else None
    )


def plan_parts(workspace: Workspace, thread: Thread, closed: int, *, limit: int) -> Iterator[ThreadPart]:
    """Yield the chunks of a thread from the ordinal ``closed`` on, in order. Raises StoreError, ConfigError."""
    profile = profile_of(workspace, thread)
    prompt = workspace.extraction_prompt(profile)
    scope = workspace.scope(thread.project, thread.path)
    proposed = [proposal.judged for proposal in workspace.store.log.thread_proposals(thread.id, 0)]
    place = closed
    while place < thread.events:
        base, stop = max(0, place - LOOKBACK), min(place + WINDOW, thread.events)
        events = workspace.store.archive.events(thread.id, base, stop)
        found = cut_chunks(events, offset=base, start=place, limit=limit)
        usable = found if stop == thread.events else [chunk for chunk in found if chunk.closed] or found
        shown = {base + number: event for number, event in enumerate(events)}
        for item in usable:
            near = _events_near(shown, item)
            reading = ChunkReading(
                chunk=item,
                events=near,
                hints=_hints(item, shown, proposed),
                profile=profile,
                lexicon=choose_lexicon(tuple(near.values()), profile.languages),
                scope=scope,
            )
            worth_asking = any(is_worth_asking(near[place]) for place in range(item.start, item.stop))
            yield ThreadPart(thread=thread, reading=reading, prompt=prompt, worth_asking=worth_asking)
        place = usable[-1].stop


def _events_near(shown: dict[int, Event], chunk: Chunk) -> dict[int, Event]:
    return {place: shown[place] for place in range(chunk.start - LOOKBACK, chunk.stop) if place in shown}


def _hints(chunk: Chunk, shown: dict[int, Event], proposed: Iterable[CandidateVerdict]) -> tuple[Hint, ...]:
    """The rules' near-certain candidates in a chunk, in the order of the last event that each cites."""
    places = {shown[place].key: place for place in range(chunk.start, chunk.stop)}
    found = []
    for each in proposed:
        cited = [places.get(item.event, -1) for item in each.candidate.evidence]
        sure = isinstance(each.verdict, Accepted) or (isinstance(each.verdict, Held) and each.candidate.confidence >= SURE)
        if sure and cited and max(cited) >= 0:
            found.append((max(cited), each.candidate))
    return name_hints([candidate for _, candidate in sorted(found, key=lambda each: (each[0], each[1].id))])


def list_pending_threads(
    workspace: Workspace, *, from_start: Collection[int] = (), within: Within | None = None, occasion: Occasion = Occasion.NIGHTLY
) -> list[tuple[Thread, int]]:
    """The threads that a run asks about, with the ordinal to start from (0 for ``from_start``). Threads of a profile are adjacent,
    because they share questions. Raises StoreError.
    """
    again = ((thread, 0) for thread in workspace.store.archive.threads() if thread.id in from_start) if from_start else ()
    grown = (
        (thread, closed) for thread, closed in workspace.store.archive.list_threads_pending_llm() if thread.id not in from_start
    )
    waiting = (*again, *grown)
    by_profile: dict[str, list[tuple[Thread, int]]] = {}
    for each, closed in waiting:
        profile = profile_of(workspace, each)
        if (within is None or has_events_within(each, within)) and profile.when.on(occasion):
            by_profile.setdefault(profile.id, []).append((each, closed))
    return [thread for threads in by_profile.values() for thread in threads]
