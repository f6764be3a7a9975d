"""Notes of the work in threads, and summaries of days.

This module stores the notes of threads. It composes a day from the model's day summary, the notes and the memories. It converts a
person's edit of a day's line to an operation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from zoneinfo import ZoneInfo

from kept.core.digest import digest
from kept.core.document import DAY_LINE, HEADER, Line
from kept.core.event import Event
from kept.core.markup import to_fact_text
from kept.core.memory import Status
from kept.core.operation import Reword, find_undone_passes
from kept.core.summary import CAME_OF_IT, Passage, PassageForm, Summary, SummaryBullet, SummaryPart, WorkNote
from kept.core.times import ALWAYS
from kept.core.value import dataclass, replace
from kept.days.llm_summaries import DaySummary, load_day_summaries
from kept.days.summaries import build_notes, condense_bullets, memory_bullet, order_bullets, to_bullets
from kept.extraction.coverage import Topic, find_topics
from kept.extraction.segment import WINDOW
from kept.local.progress import Progress, ignore_progress, split_batches
from kept.local.workers import Workers, map_ahead
from kept.profiles.language import choose_lexicon
from kept.store.values import Thread, ThreadNote
from kept.workspace import Workspace

_LINE_CHARS = 640  # maximum length of a line in a day note
_SUMMARY_WEIGHT = 20  # weight of a line from a day summary
YOU = "you"
PARTS = {
    "problems": SummaryPart.WORKED,
    "solutions": SummaryPart.WORKED,
    "decisions": SummaryPart.DECIDED,
    "questions": SummaryPart.OPEN,
}

Take = Callable[[Thread, Sequence[Event], Sequence[Topic]], None]
"""Called with a thread, the events of one window of it, and the topics found in them."""


def summarize_threads(
    workspace: Workspace,
    grown: Mapping[int, int] = MappingProxyType({}),
    take: Take | None = None,
    *,
    only: str = "",
    workers: Workers | None = None,
    progress: Progress = ignore_progress,
) -> int:
    """Write work notes for the ``grown`` threads, and for all threads whose notes are missing or out of date.

    ``grown`` maps thread ids to the ordinal of their first open episode, from which notes may change. ``take`` is called with the
    topics of the grown threads, from the start of each. If ``only`` is a path, threads of other files are processed only if they
    have grown. If ``workers`` are given, they find the topics. Returns the number of threads. Raises StoreError.
    """
    noted = dict(workspace.store.days.list_threads_without_notes())
    if only:
        chosen = {thread.id for thread in workspace.store.archive.threads(path=only)}
        noted = {thread: place for thread, place in noted.items() if thread in chosen}
    pending = dict.fromkeys((*grown, *noted))
    number = 0

    def prepare() -> Iterator[tuple[list[tuple[Thread, int, _Window | None]], list[_Window | None] | None]]:
        for batch in split_batches(workspace.store.archive.threads_by_id(pending), attrgetter("events"), WINDOW):
            # A thread longer than a window is processed window by window in this process.
            windows = [_load_window(workspace, thread, 0) if workers and thread.events <= WINDOW else None for thread in batch]
            starts = [_first_to_note(workspace, thread, noted, grown) for thread in batch]
            yield list(zip(batch, starts, windows, strict=True)), windows if workers else None

    for batch, done in map_ahead(workers, _describe_windows, prepare()):
        with workspace.store.transaction():
            for order, (thread, start, window) in enumerate(batch):
                progress("summarising", number, len(pending))
                number += 1
                described = done[order] if done else None
                whole = (window, described) if window and described else None
                notes = tuple(_thread_notes(workspace, thread, start, take if thread.id in grown else None, whole))
                workspace.store.days.save_notes(thread.id, start, notes, thread.events)
    progress("summarising", len(pending), len(pending))
    return len(pending)


def _first_to_note(workspace: Workspace, thread: Thread, *places: Mapping[int, int]) -> int:
    """The ordinal from which the notes of a thread are written again.

    This is the start of the window that contains its first open episode, or 0 if the thread contains a rewind.
    """
    first = min(item[thread.id] for item in places if thread.id in item) // WINDOW * WINDOW
    return 0 if first and workspace.store.archive.has_rewinds(thread.id) else first


@dataclass(frozen=True, kw_only=True, slots=True)
class _Window:
    """Consecutive events of a thread that are processed together. ``base`` is the ordinal of the first."""

    events: Sequence[Event]
    base: int
    languages: tuple[str, ...]
    zone: ZoneInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class _Described:
    """The topics of a window, and its work notes. Each note has the text of its bullets beside it, which is indexed for search."""

    topics: tuple[Topic, ...]
    notes: tuple[tuple[WorkNote, str], ...]


def _load_window(workspace: Workspace, thread: Thread, base: int) -> _Window:
    events = workspace.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
    return _Window(events=events, base=base, languages=workspace.languages, zone=workspace.zone)


def _describe_windows(windows: Sequence[_Window | None]) -> list[_Described | None]:
    return [_describe_window(window) if window else None for window in windows]


def _describe_window(window: _Window) -> _Described:
    """Find the topics of a window, and build its notes."""
    lexicon = choose_lexicon(window.events, window.languages)
    topics = tuple(find_topics(window.events, lexicon=lexicon))
    runs = [(topic.start, topic.stop) for topic in topics]
    notes = build_notes(window.events, runs, lambda at: at.astimezone(window.zone).date(), spoken=lexicon.spoken, base=window.base)
    texts = ((note, " ".join(bullet.text for bullet in to_bullets(note, ""))) for note in notes)
    return _Described(topics=topics, notes=tuple(texts))


def _thread_notes(
    workspace: Workspace, thread: Thread, start: int, take: Take | None, whole: tuple[_Window, _Described] | None
) -> Iterator[tuple[WorkNote, str]]:
    """Yield the work notes of a thread from the ordinal ``start`` on, each with its text for search.

    ``whole`` is the whole thread as one window with its notes, if another process made them already.
    """
    for base in range(0 if take else start, thread.events, WINDOW):
        window = whole[0] if whole else _load_window(workspace, thread, base)
        described = whole[1] if whole else _describe_window(window)
        if take:
            take(thread, window.events, described.topics)
        if base >= start:
            yield from described.notes


def build_summary(workspace: Workspace, first: date, last: date | None = None, *, scopes: frozenset[str] = frozenset()) -> Summary:
    """Summarize the day ``first``, or the days from ``first`` to ``last``. If ``scopes`` are given, others are left out.

    The condensed form takes its work from the model's day summary, and from notes only where there is no such summary. The detailed
    form has both. Each form also lists the memories of those days that are active now. Changes nothing in the store.
    """
    last = last or first
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    book, now = load_day_summaries(workspace, first, last), workspace.clock()
    noted = [bullet for _, bullet in _notes_between(workspace, start, stop)]
    written = [bullet for page in book.values() for bullet in _summary_bullets(page)]
    memories = (memory for memory in workspace.store.log.memories_between(start, stop) if memory.content)
    remembered = [memory_bullet(memory) for memory in memories if memory.status_at(now) is Status.ACTIVE]

    def order_within(notes: Iterable[SummaryBullet]) -> tuple[SummaryBullet, ...]:
        bullets = (bullet for bullet in (*notes, *written, *remembered) if not scopes or bullet.scope in scopes)
        return order_bullets(bullet for bullet in bullets if bullet.at is not None and start <= bullet.at < stop)

    fresh = (bullet for bullet in noted if not _is_in_summary(workspace, bullet, book))
    return Summary(first=first, last=last, detailed=order_within(noted), condensed=condense_bullets(order_within(fresh)))


def day_note_lines(workspace: Workspace) -> dict[date, tuple[Line, ...]]:
    """The lines of each day note. The key of a line identifies its bullet, so that an edit of the line can be applied to it."""
    noted: dict[date, list[SummaryBullet]] = {}
    for note, bullet in _notes_between(workspace, *ALWAYS):
        noted.setdefault(note.note.at.astimezone(workspace.zone).date(), []).append(bullet)
    book = load_day_summaries(workspace, date.min, date.max)
    return {day: tuple(_note_lines_of_day(workspace, noted.get(day, ()), day, book)) for day in sorted({*noted, *book})}


def _note_lines_of_day(
    workspace: Workspace, noted: Sequence[SummaryBullet], day: date, book: Mapping[date, DaySummary]
) -> Iterator[Line]:
    bare = condense_bullets(order_bullets(bullet for bullet in noted if not _is_in_summary(workspace, bullet, book)))
    written = order_bullets(_summary_bullets(book[day])) if day in book else ()
    for part in SummaryPart:
        bullets = [bullet for bullet in (*bare, *written) if bullet.part is part]
        if bullets:
            yield Line(key=f"{HEADER}:{part.name.lower()}", text=f"{part.value.capitalize()} ({format_authors(bullets)}):")
        for bullet in bullets:
            yield Line(key=f"{DAY_LINE}{bullet_key(bullet)}", text=f"- {to_fact_text(bullet.text, _LINE_CHARS)}")


def format_authors(bullets: Sequence[SummaryBullet]) -> str:
    """A phrase for a heading that names the authors of its lines: models, or the session's own words, or both."""
    names = sorted({bullet.by.partition(",")[0] for bullet in bullets if bullet.by and bullet.by != YOU})
    if not names:
        return "in the words used then, without a model"
    rest = "" if all(bullet.by for bullet in bullets) else "; some in the words used then"
    return f"put together by {', '.join(names)}{rest}"


def bullet_key(bullet: SummaryBullet) -> str:
    """The key of a bullet's line in a day note: 14 hex digits."""
    return bullet.source if bullet.by else digest("noted", bullet.source, size=7)


def _summary_bullets(page: DaySummary) -> Iterator[SummaryBullet]:
    for scope, lines in page.lines.items():
        for passage in lines:
            yield SummaryBullet(
                part=PARTS[passage.kind],
                text=_passage_text(passage),
                at=passage.at,
                source=passage.id,
                scope=scope,
                weight=_SUMMARY_WEIGHT,
                by=YOU if passage.form is PassageForm.OWN else passage.by,
                events=passage.events,
            )


def _passage_text(passage: Passage) -> str:
    """A passage as a line. A problem is marked as a problem, because the same list also has solutions."""
    return f"Problem: {passage.text}" if passage.kind == "problems" and passage.form is not PassageForm.OWN else passage.text


def _is_in_summary(workspace: Workspace, bullet: SummaryBullet, book: Mapping[date, DaySummary]) -> bool:
    """True if the day summary replaces a note: a model summarized its day and scope, or a person edited the note's line."""
    page = book.get(bullet.at.astimezone(workspace.zone).date()) if bullet.at else None
    if page is None:
        return False
    came = (passage.kind for passage in page.lines.get(bullet.scope, ()) if passage.form is not PassageForm.OWN)
    return bullet.source in page.gone or any(item in CAME_OF_IT for item in came)


def week_bounds(day: date) -> tuple[date, date]:
    """The Monday and the Sunday of the week that contains a day."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def notes_of_day(workspace: Workspace, day: date) -> Iterator[tuple[ThreadNote, SummaryBullet]]:
    """Yield the notes of a day. A note with several bullets is yielded once for each of them."""
    return _notes_between(workspace, *workspace.day_bounds(day))


def _notes_between(workspace: Workspace, start: datetime, stop: datetime) -> Iterator[tuple[ThreadNote, SummaryBullet]]:
    for note in drop_repeated_notes(workspace.store.days.notes_between(start, stop)):
        scope = workspace.scope(note.project, note.path)
        yield from ((note, bullet) for bullet in to_bullets(note.note, scope))


def drop_repeated_notes(notes: Iterable[ThreadNote]) -> Iterator[ThreadNote]:
    """Yield the notes without the duplicates that come from copies of a session."""
    seen: set[str] = set()
    for note in notes:
        if note.note.event not in seen:
            seen.add(note.note.event)
            yield note


def reword_line(passage: Passage, words: str, now: datetime) -> Reword:
    """The operation that replaces a line with a person's words, or deletes the line if the words are empty."""
    if passage.form is not PassageForm.OWN:
        name = digest("own", str(passage.day), passage.scope, passage.id, size=7)
        passage = replace(passage, id=name, form=PassageForm.OWN, thread=0, by="you", made_of="", instead=passage.id, text="")
    reason = "a line of the day was deleted" if not words else "a line of the day was reworded"
    return Reword(memory=passage.id, at=now, reason=reason, line=passage, content=words)


def restore_lines(workspace: Workspace, ids: Iterable[str]) -> None:
    """Set lines to what the last rewording that is not undone made of them. Raises StoreError."""
    store = workspace.store
    off = find_undone_passes(store.log.undo_redo_passes())
    for number in ids:
        history = [(made_in.id, item) for made_in, item in store.log.operations_on(number) if isinstance(item, Reword)]
        effective = [reword for pass_id, reword in history if pass_id not in off]
        if effective:
            store.days.save_passage(replace(effective[-1].line, text=effective[-1].content))
        elif history and history[0][1].line.text:
            store.days.save_passage(history[0][1].line)
        else:
            store.days.erase_passages([number])
