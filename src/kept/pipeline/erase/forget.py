"""Forgetting: what is asked for becomes words, every holder is asked where they stand, erases them, and the proof says what is
left.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from kept.changes import settle
from kept.core.erasure import Holder, Place, Words
from kept.core.errors import KeptError, UsageError
from kept.core.memory import Memory
from kept.days.day_notes import summarise
from kept.journal.feed_reading import erase_source
from kept.local.files import locked
from kept.memories.person import conversations, derived
from kept.pipeline.erase.holders import holders
from kept.pipeline.erase.journal import Span, forget_outside
from kept.pipeline.erase.models import RecordingFile, ReplyFile
from kept.pipeline.erase.proof import out_of_reach, remains
from kept.pipeline.erase.words import words_of
from kept.recall.indexing import drop_stale
from kept.workspace import Workspace

_LEAST = 12  # letters of an external item that are looked for elsewhere: fewer are said by chance


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be forgotten: memories, and the words that must not remain; ``source`` is the external source that is named.

    ``times`` are the spans in which what is forgotten whole was said: journal entries of their days tell of it in other words.
    """

    memories: tuple[Memory, ...]
    words: Words
    source: str = ""
    times: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Gone:
    """What was erased, and what was not: memories by id, sessions, items of external sources, places by holder.

    ``remains`` are places of kept's own that still hold the words, ``out_of_reach`` what is not kept's to change, both in words;
    ``near`` are the near copies that were not chosen; ``problems`` says what went wrong.
    """

    memories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    items: int = 0
    places: Counter[str] = field(default_factory=Counter)
    near: tuple[Place, ...] = ()
    remains: tuple[str, ...] = ()
    out_of_reach: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def request_of(
    workspace: Workspace,
    memories: Sequence[Memory] = (),
    *,
    said: Iterable[str] = (),
    source: str = "",
    project: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> Request:
    """What a person asks to forget: memories, sentences (``said``), or all of a source or session, a project's scope and a span of
    time.

    Raises UsageError where nothing is asked for.
    """
    if not (source or project or since or until):
        return Request(memories=tuple(memories), words=words_of(workspace, memories, said=said))
    chosen = conversations(workspace, source=source, project=project, since=since, until=until)
    found = derived(workspace, source=source, project=project, since=since, until=until)
    sessions = chosen.sessions if not (since or until) else frozenset[str]()
    words = words_of(workspace, found, said=said, sessions=sessions, events=chosen.events)
    words = replace(words, about=words.about | chosen.sessions)
    times: tuple[Span, ...] = chosen.times
    if (since or until) and not (source or project):
        times = ((since, until - timedelta(microseconds=1) if until else None),)
    return Request(memories=found, words=words, source=source, times=times)


def places(workspace: Workspace, request: Request) -> tuple[Place, ...]:
    """Every place that holds the words, exact ones first, each once; a holder that cannot be read is one. Changes nothing."""
    found = (
        dict.fromkeys(place for holder in holders(workspace) for place in _find_places(holder, request.words))
        if request.words
        else {}
    )
    near = {place.id: place for place in found if place.near}
    return (*(place for place in found if not place.near), *near.values())


def _find_places(holder: Holder, words: Words) -> Iterator[Place]:
    try:
        yield from holder.find(words)
    except KeptError as error:
        yield Place(holder=holder.name, where=f"cannot be read: {error}", text="")


def forget(workspace: Workspace, request: Request, *, also: Collection[str] = ()) -> Gone:
    """Erase what is asked for everywhere, and prove it. ``also`` are near copies (:attr:`Place.id`) to be erased as well. No undo.

    What one holder refuses is told in the result, and the others are erased. Raises BusyError while a run is under way, UsageError
    where nothing holds what is asked for, StoreError.
    """
    with locked(workspace.paths.lock):
        before = places(workspace, request)
        near = tuple(place for place in before if place.near)
        unknown = set(also) - {place.id for place in near}
        if unknown:
            raise UsageError(f"no near copy {', '.join(sorted(unknown))}", hint="see what `kept forget` shows without --yes")
        words = request.words.with_sentences(place.text for place in near if place.id in also)
        erasing = _Erasing(workspace=workspace, words=words)
        transcripts = {event.pointer.path for event in workspace.store.archive.holding(words)}
        ids = workspace.store.log.ids()
        standing = {memory.id for memory in workspace.store.log.memories() if memory.content}
        items = erasing.tried("external sources", lambda: _forget_feed(workspace, request.source)) if request.source else 0
        _, written = settle(workspace, erasing.everywhere, locks=False)
        gone = {memory.id for memory in workspace.store.log.memories() if not memory.content}
        return Gone(
            memories=tuple(sorted(gone & (standing | (gone - ids)))),
            sessions=tuple(sorted(words.sessions)),
            items=items + erasing.places["external sources"],
            places=erasing.places,
            near=tuple(place for place in near if place.id not in also),
            remains=remains(workspace, words),
            out_of_reach=out_of_reach(workspace, words, tuple(transcripts), request.times),
            problems=(*erasing.problems, *written.problems),
        )


@dataclass(kw_only=True)
class _Erasing:
    """One erasing under way: what was erased by which holder, and what could not be."""

    workspace: Workspace
    words: Words
    places: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def everywhere(self) -> None:
        """Have every holder erase, then what derives from the store."""
        for holder in holders(self.workspace):
            self.places[holder.name] += self.tried(holder.name, partial(holder.erase, self.words))
        summarise(self.workspace)
        self.tried("the search index", partial(_drop_vectors, self.workspace))

    def tried(self, name: str, erase: Callable[[], int]) -> int:
        """What a holder erased; where it cannot, that is a problem and the others go on."""
        try:
            return erase()
        except (KeptError, OSError) as error:
            self.problems.append(f"{name}: {error} (what was to be forgotten may still be there)")
            return 0


def _drop_vectors(workspace: Workspace) -> int:
    drop_stale(workspace)
    return 0


def _forget_feed(workspace: Workspace, source: str) -> int:
    """Empty the items of an external source, and take what they said out of entries and replies."""
    found = erase_source(workspace, source)
    said = Words(sentences=tuple(text for text in found.texts if len(text) >= _LEAST))
    for holder in (ReplyFile(path=workspace.paths.replies), RecordingFile(workspace=workspace)):
        holder.erase(said)
    forget_outside(workspace, found.name, said)
    return found.items
