"""Forgetting: turn a request into words, have every holder erase them, and prove what remains.

A holder (:class:`kept.core.erasure.Holder`) is a place that stores text.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from kept.changes import apply_person_change
from kept.core.erasure import ErasureMatch, ErasureWords, Holder
from kept.core.errors import BusyError, KeptError, StoreError, UsageError
from kept.core.memory import WITHDRAWAL, Candidate, Evidence, Memory
from kept.core.statement import find_content, roots_of
from kept.core.text import tokenize
from kept.core.value import dataclass, field, replace
from kept.days.day_notes import summarize_threads
from kept.journal.feed_reading import erase_source
from kept.local.files import hold_lock
from kept.local.progress import Progress, ignore_progress
from kept.local.settings import count_days
from kept.memories.browse import find_source, list_contents, select_conversations, select_memories
from kept.memories.waiting import collect_pending
from kept.pipeline.erase.files import RecordingFile, ReplyFile, Span, erase_feed_from_entries
from kept.pipeline.erase.holders import list_holders
from kept.pipeline.erase.proof import find_out_of_reach, find_remaining_words
from kept.pipeline.erase.store import BACKUPS, texts_said
from kept.recall.indexing import drop_stale_vectors
from kept.sources.base import ENTRY
from kept.store.sqlite import SqliteStore
from kept.workspace import Workspace

_NAMES = "the project's name and folder stay in kept's list of erased projects; text about the project elsewhere also stays"
_LEFT, _SEEN_TO = "left", "seen to"  # keys in a run's report: places that it could not reach, and whether a person dealt with them
_LEAST = 12  # letters; a shorter text of an external item, or former wording, is not searched elsewhere: it may occur by chance


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureRequest:
    """The things to forget: memories, and the words that must not remain. ``source`` is an external source to erase.

    ``times`` are the time spans of conversations that are forgotten as a whole. Journal entries of these days may repeat them in
    other words. ``names`` means that the request named a project, whose name is not erased.
    """

    memories: tuple[Memory, ...]
    words: ErasureWords
    source: str = ""
    names: bool = False
    times: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ErasureReport:
    """The result of erasing: memories by id, sessions, items of external sources, and the number of places by holder.

    ``outside`` are backups outside this home that contained the words. ``remains`` lists kept's own places that still contain them,
    ``out_of_reach`` places that kept may not change, ``near`` the near copies that were not chosen, ``problems`` the errors.
    ``asked`` is the request with all its words. The store no longer has them, but a later check needs them.
    """

    memories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    items: int = 0
    places: Counter[str] = field(default_factory=Counter)
    outside: tuple[str, ...] = ()
    near: tuple[ErasureMatch, ...] = ()
    remains: tuple[str, ...] = ()
    out_of_reach: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    asked: ErasureRequest | None = None


def make_erasure_request(
    workspace: Workspace,
    memories: Sequence[Memory] = (),
    *,
    said: Iterable[str] = (),
    source: str = "",
    project: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> ErasureRequest:
    """Build a request. It may name memories, sentences (``said``), a source or session, a project's scope, and a time span.

    Raises MissingError if several sessions or files match ``source``.
    """
    if not (source or project or since or until):
        return ErasureRequest(memories=tuple(memories), words=collect_words(workspace.store, memories, said=said))
    source = find_source(workspace, source)
    chosen = select_conversations(workspace, source=source, project=project, since=since, until=until)
    found = select_memories(workspace, source=source, project=project, since=since, until=until)
    sessions = chosen.sessions if not (since or until) else frozenset[str]()
    words = collect_words(workspace.store, found, said=said, sessions=sessions, events=chosen.events)
    words = replace(words, about=words.about | chosen.sessions)
    times: tuple[Span, ...] = chosen.times
    if (since or until) and not (source or project):
        times = ((since, until - timedelta(microseconds=1) if until else None),)
    return ErasureRequest(memories=found, words=words, source=source, names=bool(project), times=times)


def make_retention_request(workspace: Workspace) -> ErasureRequest:
    """Build a request for the turns of all projects that are older than the settings allow, and for models' replies about their
    sessions.

    Turns that are evidence of a memory (even of a retired one) or of a proposal in review stay. No memory is erased. Erased turns
    are recognized later, so no transcript brings them back.

    Raises UsageError if the settings keep all turns, no turn is old enough, or the settings name an unknown project.
    """
    archive = workspace.settings.archive
    usual, named = count_days(archive.keep), {workspace.find_scope(name): days for name, days in archive.project_days.items()}
    if not any((usual, *named.values())):
        raise UsageError("the settings keep everything", hint="kept config set archive.keep 2y")

    def find_turns(project: str, days: int | None) -> set[tuple[str, str]]:
        """The expired events, and their sessions."""
        until = workspace.clock() - timedelta(days=days) if days else None
        chosen = select_conversations(workspace, project=project, until=until)
        return {("event", key) for key in chosen.events} | {("session", session) for session in chosen.sessions if until}

    found = find_turns("", usual).difference(*(find_turns(project, usual) for project in named))
    found = found.union(*(find_turns(project, days) for project, days in named.items()))
    aged, sessions = ({name for kind, name in found if kind == wanted} for wanted in ("event", "session"))
    waiting = [memory for memory, stored in collect_pending(workspace) if not stored]
    memories = [*waiting, *(memory for memory in workspace.store.log.memories() if memory.content)]
    within = {candidate for memory in memories for candidate in memory.candidates}
    judged = (judged_candidate.candidate for judged_candidate in workspace.store.log.all_judged_candidates())
    rests = [*(memory.evidence for memory in memories), *(candidate.evidence for candidate in judged if candidate.id in within)]
    cited = {quote.event for evidence in rests for quote in evidence}
    if not aged - cited:
        raise nothing_aged()
    words = ErasureWords(sentences=(), events=frozenset(aged - cited), about=frozenset(sessions), lasting=False)
    return ErasureRequest(memories=(), words=words)


def nothing_aged() -> UsageError:
    """The error for a retention request that finds nothing to erase."""
    return UsageError("no turn is older than the settings allow", hint="kept config get archive.keep")


def find_erasure_places(
    workspace: Workspace, request: ErasureRequest, *, quick: bool = False, progress: Progress = ignore_progress
) -> tuple[ErasureMatch, ...]:
    """Return each place that contains the words once, exact matches first. A holder that cannot be read counts as a place. Changes
    nothing.

    ``quick`` is for a preview. It does not search turns of tools and the contents of backups, which erasing does.
    """
    found: dict[ErasureMatch, None] = {}
    holders = list_holders(workspace, quick=quick) if request.words else ()
    for number, holder in enumerate(holders):
        progress("searching for the words", number, len(holders))
        found |= dict.fromkeys(_places_of_holder(holder, request.words))
    near = {place.id: place for place in found if place.near and place.where.startswith("memory ")}
    near |= {place.id: place for place in found if place.near and place.id not in near}
    return (*(place for place in found if not place.near), *near.values())


def _places_of_holder(holder: Holder, words: ErasureWords) -> Iterator[ErasureMatch]:
    try:
        yield from holder.find(words)
    except KeptError as error:
        yield ErasureMatch(holder=holder.name, where=f"cannot be read: {error}", text="")


def preview_out_of_reach(workspace: Workspace, request: ErasureRequest) -> tuple[str, ...]:
    """The places that :func:`forget` will not be able to erase, as text. Changes nothing."""
    words, forgotten = request.words, [memory.id for memory in request.memories if not memory.content]
    runs = {made.run for number in forgotten for made, _ in workspace.store.log.operations_on(number)}
    # The words of earlier erasures are unknown now. Only the run that erased them recorded where they remained.
    before = [f"{text} (as r{run} found it)" for run, left in list_left(workspace).items() if run in runs for text in left]
    found = _list_out_of_reach(workspace, request, words, _find_transcripts(workspace, request, words)) if words else ()
    return (*before, *(place for place in found if not any(place in text for text in before)))


def _find_transcripts(workspace: Workspace, request: ErasureRequest, words: ErasureWords) -> frozenset[str]:
    said = {event.pointer.path for event in workspace.store.archive.events_with_words(words)}
    left = (text.partition(" still says it: ") for texts in list_left(workspace).values() for text in texts)
    said |= {path for path, found, _ in left if found}  # the archive has forgotten which transcripts contain it
    return frozenset(said | {quote.path for memory in request.memories for quote in memory.evidence})


def _list_out_of_reach(
    workspace: Workspace, request: ErasureRequest, words: ErasureWords, transcripts: frozenset[str]
) -> tuple[str, ...]:
    return (*((_NAMES,) if request.names else ()), *find_out_of_reach(workspace, words, transcripts, request.times))


def forget(
    workspace: Workspace, request: ErasureRequest, *, also: Collection[str] = (), progress: Progress = ignore_progress
) -> ErasureReport:
    """Erase the requested words everywhere, and prove it. ``also`` are the ids of near copies to erase too. Cannot be undone.

    If a holder fails, the report says so, and the other holders still erase. Raises UsageError for an unknown near copy, BusyError
    while a run is active, and StoreError.
    """
    with _hold_lock_or_fail(workspace):
        before = find_erasure_places(workspace, request, progress=progress)
        near = tuple(place for place in before if place.near)
        unknown = set(also) - {place.id for place in near}
        if unknown:
            raise UsageError(f"no near copy {', '.join(sorted(unknown))}", hint="see what `kept forget` shows without --yes")
        words = request.words.with_sentences(place.text for place in near if place.id in also)
        erasing = _ErasureRun(workspace=workspace, words=words, progress=progress)
        transcripts = _find_transcripts(workspace, request, words)
        before_this = _forgotten_memories(workspace)
        items = erasing.try_erase("external sources", lambda: _erase_feed(workspace, request.source)) if request.source else 0
        _, written = apply_person_change(workspace, erasing.erase_everywhere, locks=False)
        progress("reading everything again", 0, 0)
        found = Counter(place.holder for place in before if not place.near or place.id in also)
        left = _list_out_of_reach(workspace, request, words, transcripts)
        if left and words.lasting:
            for run in workspace.store.log.runs(1, command="forget"):  # an earlier run, if the store had nothing left to forget
                known = run.report.get(_LEFT, ())
                workspace.store.log.end_run(run.id, workspace.clock(), {**run.report, _LEFT: [*dict.fromkeys((*known, *left))]})
        return ErasureReport(
            memories=tuple(sorted(_forgotten_memories(workspace) - before_this)),
            sessions=tuple(sorted(words.sessions)),
            items=items + erasing.places["external sources"],
            places=Counter({name: found[name] or count for name, count in erasing.places.items() if count}),
            outside=tuple(
                place.where
                for place in before
                if place.holder == BACKUPS and not Path(place.where).is_relative_to(workspace.paths.root)
            ),
            near=tuple(place for place in near if place.id not in also),
            remains=find_remaining_words(workspace, words),
            out_of_reach=left,
            problems=(*erasing.problems, *written.problems),
            asked=replace(request, words=words),
        )


def _forgotten_memories(workspace: Workspace) -> set[str]:
    return {memory.id for memory in workspace.store.log.memories() if not memory.content}


def list_left(workspace: Workspace) -> dict[int, Sequence[str]]:
    """The places that each run of ``forget`` could not reach, by the number of the run, newest first. Leaves out runs whose places
    a person has dealt with. Raises StoreError.
    """
    return {run.id: run.report[_LEFT] for run in workspace.store.log.runs(command="forget") if run.report.get(_LEFT)}


def close_left(workspace: Workspace, number: int) -> None:
    """Record that a person has dealt with the places that a run could not reach. Its report still lists them. Raises StoreError."""
    for run in workspace.store.log.runs(command="forget"):
        if run.id == number and run.report.get(_LEFT):
            report = {**run.report, _LEFT: [], _SEEN_TO: run.report[_LEFT]}
            workspace.store.log.end_run(run.id, run.ended_at or workspace.clock(), report)


def forget_opted_out(workspace: Workspace, sessions: Collection[str], *, erased: int) -> tuple[str, ...]:
    """Have every holder erase what was derived from opted-out conversations. Returns the problems.

    ``erased`` is the number of their turns that were just erased, which backups may still contain. The same statements may become
    memories again from other sources.
    """
    made = [
        memory
        for memory in workspace.store.log.memories()
        if not memory.owned
        and memory.evidence
        and (any if memory.is_restated else all)(quote.session in sessions for quote in memory.evidence)
    ]
    if not (made or erased):
        return ()
    return erase_words(workspace, replace(collect_words(workspace.store, made, sessions=sessions), lasting=False))


def erase_forgotten(
    workspace: Workspace, memories: Sequence[Memory], *, said: Collection[str] = (), events: Collection[str] = ()
) -> tuple[str, ...]:
    """Erase from every holder what the person forgot on another machine. Returns the problems."""
    words = collect_words(workspace.store, memories, said=said, events=events)
    return erase_words(workspace, words) if words else ()


def erase_words(workspace: Workspace, words: ErasureWords) -> tuple[str, ...]:
    """Erase words from every holder. Returns the problems."""
    erasing = _ErasureRun(workspace=workspace, words=words)
    erasing.erase_everywhere()
    return tuple(erasing.problems)


@contextmanager
def _hold_lock_or_fail(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of runs. Raises BusyError while a run is active. That is a failure here, because a run does not erase."""
    try:
        with hold_lock(workspace.paths.lock):
            yield
    except BusyError as error:
        busy = BusyError(f"nothing was forgotten: {error}", hint="wait until that run is done, then forget again")
        busy.exit_code = StoreError.exit_code
        raise busy from error


@dataclass(kw_only=True)
class _ErasureRun:
    """An erasure in progress: the number of places that each holder erased, and the problems."""

    workspace: Workspace
    words: ErasureWords
    progress: Progress = ignore_progress
    places: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def erase_everywhere(self) -> None:
        """Erase the words from every holder, then from data derived from the store."""
        holders = list_holders(self.workspace)
        for number, holder in enumerate(holders):
            self.progress("erasing", number, len(holders))
            self.places[holder.name] += self.try_erase(holder.name, partial(holder.erase, self.words))
        summarize_threads(self.workspace)
        self.try_erase("the search index", partial(drop_stale_vectors, self.workspace))

    def try_erase(self, name: str, erase: Callable[[], int | None]) -> int:
        """Return the number of places that ``erase`` erased. Records an error as a problem, so that the other holders go on."""
        try:
            return erase() or 0
        except (KeptError, OSError) as error:
            self.problems.append(f"{name}: {error} (it may still contain the words)")
            return 0


def _erase_feed(workspace: Workspace, source: str) -> int:
    """Erase the items of an external source, and their text in journal entries and stored replies."""
    feed_erasure = erase_source(workspace, source)
    erasure_words = ErasureWords(sentences=tuple(text for text in feed_erasure.texts if len(text) >= _LEAST))
    for holder in (ReplyFile(path=workspace.paths.replies), RecordingFile(workspace=workspace)):
        holder.erase(erasure_words)
    erase_feed_from_entries(workspace, feed_erasure.name, erasure_words)
    return feed_erasure.items


def collect_words(
    store: SqliteStore,
    memories: Sequence[Memory],
    *,
    said: Iterable[str] = (),
    sessions: Iterable[str] = (),
    events: Iterable[str] = (),
) -> ErasureWords:
    """Collect the words that must not remain: those of memories, of sentences (``said``), of whole sessions, and of single events.

    The sentences of a memory are its content and its earlier contents. A statement that withdrew it is forgotten with it. Its
    evidence is searched only as longer runs of words, without words that also belong to a memory that stays. Not searched is what a
    restated memory took from an earlier one that stays. Lines of journal entries that repeat a forgotten conversation are erased in
    the archive too. Raises StoreError.
    """
    gone, whole, single = {memory.id for memory in memories}, frozenset(sessions), frozenset(events)
    left = [memory for memory in store.log.memories() if memory.id not in gone]
    stay, cited = (
        tuple(dict.fromkeys(memory.content for memory in left)),
        {(quote.event, quote.quote) for memory in left for quote in memory.evidence},
    )
    quotes = {
        (quote.event, quote.quote)
        for memory in memories
        for quote in _own_quotes(store, memory)
        if not (_is_taken_over(quote, memory) and (quote.event, quote.quote) in cited)
    }
    quotes |= {(quote.event, quote.quote) for withdrawal in _withdrawals_of(store, memories) for quote in withdrawal.evidence}
    echoes = tuple(_find_echoes(store, whole, single, stay))
    return ErasureWords(
        sentences=tuple(dict.fromkeys((*said, *(text for memory in memories for text in _all_contents(store, memory))))),
        passages=tuple({quote for _, quote in quotes}),
        spared=stay,
        cited=(*quotes, *echoes),
        memories=frozenset(gone),
        sessions=whole,
        about=frozenset({*whole, *(quote.session for memory in memories for quote in memory.evidence)}),
        events=single,
        echoes=frozenset(event for event, _ in echoes),
    )


def _find_echoes(
    store: SqliteStore, sessions: frozenset[str], events: frozenset[str], stay: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the archived lines of journal entries that repeat forgotten conversations, as pairs (event key, line)."""
    entries = [thread for thread in store.archive.threads() if thread.source == ENTRY] if sessions or events else []
    wrote = {event.key: event.text for thread in entries for event in store.archive.events(thread.id, 0, thread.events)}
    said = texts_said(store, sessions.difference(thread.session for thread in entries), events - wrote.keys()) if wrote else ()
    quoted = ErasureWords(sentences=(), passages=tuple(said), spared=stay)
    for key in sorted(wrote.keys() - events) if said else ():
        lines = zip(wrote[key].split("\n"), quoted.flag_lines(wrote[key]), strict=True)
        yield from ((key, line) for line, holds in lines if holds)


def _own_quotes(store: SqliteStore, memory: Memory) -> list[Evidence]:
    """A memory's evidence, except near copies of a sentence that the evidence also contains verbatim. A person chooses those."""
    words = ErasureWords(sentences=tuple(_all_contents(store, memory)))
    quotes = [quote for quote in memory.evidence if quote.quote]
    verbatim = [quote for quote in quotes if words.is_in_text(quote.quote)]
    return [quote for quote in quotes if quote in verbatim or not (verbatim and any(words.find_near_copies(quote.quote)))]


def _is_taken_over(quote: Evidence, memory: Memory) -> bool:
    """True if evidence of a restated memory is that of the earlier memory, because it is older than the prompt."""
    return memory.is_restated and not (quote.at and memory.first_seen and quote.at >= memory.first_seen)


def _withdrawals_of(store: SqliteStore, memories: Sequence[Memory]) -> Iterator[Candidate]:
    """Yield the statements that withdrew the memories, or tried to. Leaves out a statement that also matches a memory that stays,
    because it may be the reason why that memory is retired.
    """
    said = [roots_of(find_content(text)) for memory in memories for text in _all_contents(store, memory)]
    stay = [roots_of(find_content(memory.content)) for memory in store.log.memories() if memory not in memories]
    for candidate in (judged.candidate for judged in store.log.all_judged_candidates()):
        named = roots_of(find_content(candidate.replaces))
        if candidate.trigger == WITHDRAWAL and any(named <= words for words in said) and not any(named <= words for words in stay):
            yield candidate


def _all_contents(store: SqliteStore, memory: Memory) -> list[str]:
    """The content of a memory, now and after each of its operations. Leaves out former contents of one or two short words."""
    long = (text for text in list_contents(store, memory) if text and (len(text) >= _LEAST or len(tokenize(text)) > 2))
    return list(dict.fromkeys((*filter(None, (memory.content,)), *long)))
