"""Summarising: what was worked on in each thread that grew → notes in the store; and what a day was, read off the daybook, notes
and memories.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType

from kept.core.codec import digest
from kept.core.document import DAY_LINE, HEADER, Line
from kept.core.event import Event
from kept.core.markup import to_fact_text
from kept.core.memory import Memory, Status
from kept.core.summary import CAME_OF_IT, Passage, PassageForm, Summary, SummaryBullet, SummaryPart, WorkNote
from kept.core.times import ALWAYS
from kept.days.llm_summaries import DaySummary, load_day_summaries
from kept.days.summaries import build_notes, condense_bullets, memory_bullet, order_bullets, part_of_category, to_bullets
from kept.extraction.coverage import Topic, topics
from kept.local.batches import split_batches
from kept.local.progress import Progress, ignore_progress
from kept.profiles.language import choose_lexicon
from kept.store.values import Thread, ThreadNote
from kept.workspace import Workspace

_LINE = 640  # characters of a line in the note of a day
_WRITTEN = 20  # the weight of a line that somebody put together
YOU = "you"
PARTS = {
    "problems": SummaryPart.WORKED,
    "solutions": SummaryPart.WORKED,
    "decisions": SummaryPart.DECIDED,
    "questions": SummaryPart.OPEN,
}
WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session; windows begin at its multiples


Take = Callable[[Thread, Sequence[Event], Sequence[Topic]], None]


def summarize_threads(
    workspace: Workspace,
    grown: Mapping[int, int] = MappingProxyType({}),
    take: Take | None = None,
    *,
    only: str = "",
    progress: Progress = ignore_progress,
) -> int:
    """Note what was worked on in the threads of ``grown``, and in all (or those that the file ``only`` tells) that were not looked
    at yet.

    ``grown`` says from which ordinal on the episodes of a thread were open, for what it tells may have changed from there on.
    ``take`` is told the topics of each of them from its start, as they are found. Returns how many threads were looked at. Raises
    StoreError.
    """
    noted = dict(workspace.store.days.list_threads_without_notes())
    if only:
        told = {thread.id for thread in workspace.store.archive.threads(path=only)}
        noted = {thread: place for thread, place in noted.items() if thread in told}
    pending = dict.fromkeys((*grown, *noted))
    number = 0
    for batch in split_batches(workspace.store.archive.threads_by_id(pending), lambda each: each.events, WINDOW):
        with workspace.store.transaction():
            for thread in batch:
                progress("summarising", number, len(pending))
                number += 1
                reach = [each[thread.id] for each in (noted, grown) if thread.id in each]
                start = 0 if workspace.store.archive.has_rewinds(thread.id) else min(reach) // WINDOW * WINDOW
                found = tuple(
                    (note, " ".join(bullet.text for bullet in to_bullets(note, "")))
                    for note in _thread_notes(workspace, thread, start, take if thread.id in grown else None)
                )
                workspace.store.days.save_notes(thread.id, start, found, thread.events)
    progress("summarising", len(pending), len(pending))
    return len(pending)


def _thread_notes(workspace: Workspace, thread: Thread, start: int, take: Take | None) -> Iterator[WorkNote]:
    for base in range(0 if take else start, thread.events, WINDOW):
        events = workspace.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
        lexicon = choose_lexicon(events, workspace.languages)
        found = topics(events, lexicon=lexicon)
        if take:
            take(thread, events, found)
        if base >= start:
            runs = [(each.start, each.stop) for each in found]
            yield from build_notes(events, runs, lambda at: at.astimezone(workspace.zone).date(), spoken=lexicon.spoken, base=base)


def build_summary(workspace: Workspace, first: date, last: date | None = None, *, scopes: frozenset[str] = frozenset()) -> Summary:
    """What a day was, or the days from ``first`` to ``last``; of some projects only where ``scopes`` are given. Changes nothing.

    What was worked on is told by the daybook where a model wrote of the day, and in the words used then where none did; the
    detailed form has both. What was decided, learnt and is open are memories of those days as they stand now; a question that was
    answered since is told by its answer.
    """
    last = last or first
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    book = load_day_summaries(workspace, first, last)
    noted = [
        bullet
        for each in drop_repeated_notes(workspace.store.days.notes_between(start, stop))
        if (scope := _scope_of_note(workspace, each)) in scopes or not scopes
        for bullet in to_bullets(each.note, scope)
    ]
    remembering = [
        memory_bullet(each)
        for each in _active_memories(workspace, workspace.store.log.memories_between(start, stop))
        if not scopes or each.scope in scopes
    ]
    written = [each for page in book.values() for each in _summary_bullets(page) if not scopes or each.scope in scopes]
    short = [each for each in noted if not _is_in_summary(workspace, each, book)] + written + remembering
    long = noted + written + remembering
    within = [[each for each in some if each.at is not None and start <= each.at < stop] for some in (long, short)]
    return Summary(first=first, last=last, detailed=order_bullets(within[0]), condensed=condense_bullets(order_bullets(within[1])))


def day_note_lines(workspace: Workspace) -> dict[date, tuple[Line, ...]]:
    """What each day came to, in short, as the lines of its note; each line says whose it is, so that an edit of it is
    understood.
    """
    noted: dict[date, list[SummaryBullet]] = {}
    for each in drop_repeated_notes(workspace.store.days.notes_between(*ALWAYS)):
        noted.setdefault(each.note.at.astimezone(workspace.zone).date(), []).extend(
            to_bullets(each.note, _scope_of_note(workspace, each))
        )
    book = load_day_summaries(workspace, date.min, date.max)
    return {day: tuple(_note_lines_of_day(workspace, noted.get(day, ()), day, book)) for day in sorted({*noted, *book})}


def _note_lines_of_day(
    workspace: Workspace, noted: Sequence[SummaryBullet], day: date, book: Mapping[date, DaySummary]
) -> Iterator[Line]:
    bare = condense_bullets(order_bullets(each for each in noted if not _is_in_summary(workspace, each, book)))
    written = order_bullets(_summary_bullets(book[day])) if day in book else ()
    for part in SummaryPart:
        found = [each for each in (*bare, *written) if each.part is part]
        if found:
            yield Line(key=f"{HEADER}:{part.name.lower()}", text=f"{part.value.capitalize()} ({format_authors(found)}):")
        for each in found:
            yield Line(key=f"{DAY_LINE}{bullet_key(each)}", text=f"- {to_fact_text(each.text, _LINE)}")


def format_authors(found: Sequence[SummaryBullet]) -> str:
    """Whose words the lines under a heading are: those used then, a model's that put them together, or both."""
    names = sorted({each.by.partition(",")[0] for each in found if each.by and each.by != YOU})
    if not names:
        return "in the words used then, without a model"
    return f"put together by {', '.join(names)}{'' if all(each.by for each in found) else '; some in the words used then'}"


def bullet_key(bullet: SummaryBullet) -> str:
    """What a line of a day is known by where it is written: 14 hex digits."""
    return bullet.source if bullet.by else digest("noted", bullet.source, size=7)


def _summary_bullets(page: DaySummary) -> Iterator[SummaryBullet]:
    for scope, lines in page.lines.items():
        for each in lines:
            yield SummaryBullet(
                part=PARTS[each.kind],
                text=_passage_text(each),
                at=each.at,
                source=each.id,
                scope=scope,
                weight=_WRITTEN,
                by=YOU if each.form is PassageForm.OWN else each.by,
                events=each.events,
            )


def _passage_text(passage: Passage) -> str:
    """A passage as its line: a problem says that it is one, for what worked stands beside it."""
    return f"Problem: {passage.text}" if passage.kind == "problems" and passage.form is not PassageForm.OWN else passage.text


def _is_in_summary(workspace: Workspace, bullet: SummaryBullet, book: Mapping[date, DaySummary]) -> bool:
    """Whether the daybook tells what a note does: a model wrote what came of that day in that project, or a person put it
    otherwise.
    """
    page = book.get(bullet.at.astimezone(workspace.zone).date()) if bullet.at else None
    if page is None:
        return False
    came = (each.kind for each in page.lines.get(bullet.scope, ()) if each.form is not PassageForm.OWN)
    return bullet.source in page.gone or any(each in CAME_OF_IT for each in came)


def week_bounds(day: date) -> tuple[date, date]:
    """The Monday and Sunday of the week of a day."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def notes_of_day(workspace: Workspace, day: date) -> Iterator[tuple[ThreadNote, SummaryBullet]]:
    """What was worked on a day, each thing once, with every line it is told in."""
    start, stop = workspace.day_bounds(day)
    for each in drop_repeated_notes(workspace.store.days.notes_between(start, stop)):
        yield from ((each, bullet) for bullet in to_bullets(each.note, _scope_of_note(workspace, each)))


def drop_repeated_notes(found: Iterable[ThreadNote]) -> Iterator[ThreadNote]:
    """What copies of a session tell twice, once."""
    seen: set[str] = set()
    for each in found:
        if each.note.event not in seen:
            seen.add(each.note.event)
            yield each


def _scope_of_note(workspace: Workspace, noted: ThreadNote) -> str:
    return workspace.scope(noted.project, noted.path)


def _active_memories(workspace: Workspace, memories: Iterable[Memory]) -> Iterator[Memory]:
    now = workspace.clock()
    return (each for each in memories if each.content and each.status_at(now) is Status.ACTIVE and part_of_category(each.category))
