"""Summarising: what was worked on in each thread that grew → notes in the store; and what a day was, read off the daybook, notes
and memories.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType

from kept.core.codec import digest
from kept.core.document import DAY_LINE, HEADER, Line
from kept.core.event import Event
from kept.core.markup import sentence
from kept.core.memory import Memory, Status
from kept.core.summary import CAME_OF_IT, Bullet, Form, Note, Part, Passage, Summary
from kept.core.times import ALWAYS
from kept.days.llm_summaries import Page, pages
from kept.days.summaries import bullets_of, condense, notes, ordered, part_of, remembered
from kept.extraction.coverage import Topic, topics
from kept.local.batches import batches
from kept.local.progress import Progress, silent
from kept.profiles.language import lexicon_of
from kept.store.values import Noted, Thread
from kept.workspace import Workspace

_LINE = 640  # characters of a line in the note of a day
_WRITTEN = 20  # the weight of a line that somebody put together
YOU = "you"
PARTS = {"problems": Part.WORKED, "solutions": Part.WORKED, "decisions": Part.DECIDED, "questions": Part.OPEN}
WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session; windows begin at its multiples


Take = Callable[[Thread, Sequence[Event], Sequence[Topic]], None]


def summarise(
    workspace: Workspace,
    grown: Mapping[int, int] = MappingProxyType({}),
    take: Take | None = None,
    *,
    only: str = "",
    progress: Progress = silent,
) -> int:
    """Note what was worked on in the threads of ``grown``, and in all (or those that the file ``only`` tells) that were not looked
    at yet.

    ``grown`` says from which ordinal on the episodes of a thread were open, for what it tells may have changed from there on.
    ``take`` is told the topics of each of them from its start, as they are found. Returns how many threads were looked at. Raises
    StoreError.
    """
    noted = dict(workspace.store.days.unnoted())
    if only:
        told = {thread.id for thread in workspace.store.archive.threads(path=only)}
        noted = {thread: place for thread, place in noted.items() if thread in told}
    pending = dict.fromkeys((*grown, *noted))
    number = 0
    for batch in batches(workspace.store.archive.each(pending), lambda each: each.events, WINDOW):
        with workspace.store.transaction():
            for thread in batch:
                progress("summarising", number, len(pending))
                number += 1
                reach = [each[thread.id] for each in (noted, grown) if thread.id in each]
                start = 0 if workspace.store.archive.forks(thread.id) else min(reach) // WINDOW * WINDOW
                found = tuple(
                    (note, " ".join(bullet.text for bullet in bullets_of(note, "")))
                    for note in _notes(workspace, thread, start, take if thread.id in grown else None)
                )
                workspace.store.days.put(thread.id, start, found, thread.events)
    progress("summarising", len(pending), len(pending))
    return len(pending)


def _notes(workspace: Workspace, thread: Thread, start: int, take: Take | None) -> Iterator[Note]:
    for base in range(0 if take else start, thread.events, WINDOW):
        events = workspace.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
        lexicon = lexicon_of(events, workspace.languages)
        found = topics(events, lexicon=lexicon)
        if take:
            take(thread, events, found)
        if base >= start:
            runs = [(each.start, each.stop) for each in found]
            yield from notes(events, runs, lambda at: at.astimezone(workspace.zone).date(), spoken=lexicon.spoken, base=base)


def summary(workspace: Workspace, first: date, last: date | None = None, *, scopes: frozenset[str] = frozenset()) -> Summary:
    """What a day was, or the days from ``first`` to ``last``; of some projects only where ``scopes`` are given. Changes nothing.

    What was worked on is told by the daybook where a model wrote of the day, and in the words used then where none did; the
    detailed form has both. What was decided, learnt and is open are memories of those days as they stand now; a question that was
    answered since is told by its answer.
    """
    last = last or first
    start, stop = workspace.span(first)[0], workspace.span(last)[1]
    book = pages(workspace, first, last)
    noted = [
        bullet
        for each in once(workspace.store.days.between(start, stop))
        if (scope := _scope_of_note(workspace, each)) in scopes or not scopes
        for bullet in bullets_of(each.note, scope)
    ]
    remembering = [
        remembered(each)
        for each in _learnt(workspace, workspace.store.log.memories_between(start, stop))
        if not scopes or each.scope in scopes
    ]
    written = [each for page in book.values() for each in _page_bullets(page) if not scopes or each.scope in scopes]
    short = [each for each in noted if not _is_told(workspace, each, book)] + written + remembering
    long = noted + written + remembering
    within = [[each for each in some if each.at is not None and start <= each.at < stop] for some in (long, short)]
    return Summary(first=first, last=last, detailed=ordered(within[0]), condensed=condense(ordered(within[1])))


def note_lines(workspace: Workspace) -> dict[date, tuple[Line, ...]]:
    """What each day came to, in short, as the lines of its note; each line says whose it is, so that an edit of it is
    understood.
    """
    noted: dict[date, list[Bullet]] = {}
    for each in once(workspace.store.days.between(*ALWAYS)):
        noted.setdefault(each.note.at.astimezone(workspace.zone).date(), []).extend(
            bullets_of(each.note, _scope_of_note(workspace, each))
        )
    book = pages(workspace, date.min, date.max)
    return {day: tuple(_note_of(workspace, noted.get(day, ()), day, book)) for day in sorted({*noted, *book})}


def _note_of(workspace: Workspace, noted: Sequence[Bullet], day: date, book: Mapping[date, Page]) -> Iterator[Line]:
    bare = condense(ordered(each for each in noted if not _is_told(workspace, each, book)))
    written = ordered(_page_bullets(book[day])) if day in book else ()
    for part in Part:
        found = [each for each in (*bare, *written) if each.part is part]
        if found:
            yield Line(key=f"{HEADER}:{part.name.lower()}", text=f"{part.value.capitalize()} ({by_whom(found)}):")
        for each in found:
            yield Line(key=f"{DAY_LINE}{key_of(each)}", text=f"- {sentence(each.text, _LINE)}")


def by_whom(found: Sequence[Bullet]) -> str:
    """Whose words the lines under a heading are: those used then, a model's that put them together, or both."""
    names = sorted({each.by.partition(",")[0] for each in found if each.by and each.by != YOU})
    if not names:
        return "in the words used then, without a model"
    return f"put together by {', '.join(names)}{'' if all(each.by for each in found) else '; some in the words used then'}"


def key_of(bullet: Bullet) -> str:
    """What a line of a day is known by where it is written: 14 hex digits."""
    return bullet.source if bullet.by else digest("noted", bullet.source, size=7)


def _page_bullets(page: Page) -> Iterator[Bullet]:
    for scope, lines in page.lines.items():
        for each in lines:
            yield Bullet(
                part=PARTS[each.kind],
                text=_passage_text(each),
                at=each.at,
                source=each.id,
                scope=scope,
                weight=_WRITTEN,
                by=YOU if each.form is Form.OWN else each.by,
                events=each.events,
            )


def _passage_text(passage: Passage) -> str:
    """A passage as its line: a problem says that it is one, for what worked stands beside it."""
    return f"Problem: {passage.text}" if passage.kind == "problems" and passage.form is not Form.OWN else passage.text


def _is_told(workspace: Workspace, bullet: Bullet, book: Mapping[date, Page]) -> bool:
    """Whether the daybook tells what a note does: a model wrote what came of that day in that project, or a person put it
    otherwise.
    """
    page = book.get(bullet.at.astimezone(workspace.zone).date()) if bullet.at else None
    if page is None:
        return False
    came = (each.kind for each in page.lines.get(bullet.scope, ()) if each.form is not Form.OWN)
    return bullet.source in page.gone or any(each in CAME_OF_IT for each in came)


def week(day: date) -> tuple[date, date]:
    """The Monday and Sunday of the week of a day."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def noted_on(workspace: Workspace, day: date) -> Iterator[tuple[Noted, Bullet]]:
    """What was worked on a day, each thing once, with every line it is told in."""
    start, stop = workspace.span(day)
    for each in once(workspace.store.days.between(start, stop)):
        yield from ((each, bullet) for bullet in bullets_of(each.note, _scope_of_note(workspace, each)))


def once(found: Iterable[Noted]) -> Iterator[Noted]:
    """What copies of a session tell twice, once."""
    seen: set[str] = set()
    for each in found:
        if each.note.event not in seen:
            seen.add(each.note.event)
            yield each


def _scope_of_note(workspace: Workspace, noted: Noted) -> str:
    return workspace.scope(noted.project, noted.path)


def _learnt(workspace: Workspace, memories: Iterable[Memory]) -> Iterator[Memory]:
    now = workspace.clock()
    return (each for each in memories if each.content and each.status_at(now) is Status.ACTIVE and part_of(each.category))
