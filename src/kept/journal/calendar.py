"""Load months and days for the calendar: counts for each day, its sessions, open questions and journal entry.

Nothing is written.
"""

from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path

from kept.core.errors import KeptError, UsageError
from kept.core.memory import Memory, Status
from kept.core.summary import SummaryBullet, SummaryPart
from kept.core.value import dataclass
from kept.days.day_notes import drop_repeated_notes
from kept.days.summaries import part_of_category, work_bullet
from kept.journal.entry import entry_body, parse_entry_head
from kept.local import files
from kept.memories.day_view import list_said
from kept.sources.base import ENTRY
from kept.store.values import SessionActivity, ThreadNote
from kept.workspace import Workspace

_OPEN_OR_ENDED = (Status.ACTIVE, Status.RESOLVED, Status.SUPERSEDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class CalendarDay:
    """A day in the calendar, with the number of its sessions and of its work notes.

    ``learnt``, ``decided`` and ``open`` count the memories of each kind that were said on the day. ``entry`` is True if the day has
    a journal entry.
    """

    day: date
    sessions: int = 0
    worked: int = 0
    learnt: int = 0
    decided: int = 0
    open: int = 0
    entry: bool = False

    @property
    def empty(self) -> bool:
        """True if the day has no sessions, notes, memories or entry."""
        return not (self.sessions or self.worked or self.learnt or self.decided or self.open or self.entry)


@dataclass(frozen=True, kw_only=True, slots=True)
class CalendarMonth:
    """All days of a month.

    ``before`` and ``after`` are the first days of the nearest other months with activity; None if there are none.
    """

    first: date
    cells: tuple[CalendarDay, ...]
    before: date | None
    after: date | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySession:
    """The part of a session that falls on a day, and the work that was done in it."""

    activity: SessionActivity
    scope: str
    worked: tuple[SummaryBullet, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """The journal entry of a day: its file, its Markdown without front matter, and its writer, which is empty if kept did not write
    it.
    """

    path: Path
    text: str
    writer: str


def parse_month(text: str, today: date) -> date:
    """The first day of a month. ``text`` is YYYY-MM or a date; if it is empty, the month is that of ``today``.

    Raises UsageError.
    """
    if not text:
        return today.replace(day=1)
    try:
        return date.fromisoformat(text if len(text) > 7 else f"{text}-01").replace(day=1)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a month", hint="write YYYY-MM") from error


def load_month(workspace: Workspace, first: date, scopes: frozenset[str] = frozenset()) -> CalendarMonth:
    """Load the month that begins with ``first``. If ``scopes`` is empty, all scopes are included. Raises StoreError."""
    days, active = _month_days(first), _active_days(workspace)
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(days[-1])[1]
    sessions = {day: _session_activity(workspace, day, scopes) for day in days if day in active}
    inside = {(activity.path, activity.session) for activities in sessions.values() for activity in activities}
    worked_on = Counter(
        note.note.at.astimezone(workspace.zone).date()
        for note in drop_repeated_notes(workspace.store.days.notes_between(start, stop))
        if not scopes or (note.path, note.session) in inside
    )
    parts: Counter[tuple[date, SummaryPart]] = Counter()
    for at, memory, _ in list_said(workspace, start, stop, scopes):
        parts[at.astimezone(workspace.zone).date(), part_of_category(memory.category)] += 1
    cells = tuple(
        CalendarDay(
            day=day,
            sessions=len(sessions.get(day, ())),
            worked=worked_on[day],
            learnt=parts[day, SummaryPart.LEARNT],
            decided=parts[day, SummaryPart.DECIDED],
            open=parts[day, SummaryPart.OPEN],
            entry=not scopes and _entry_path(workspace, day).is_file(),
        )
        for day in days
    )
    other = {item.replace(day=1) for item in active}
    before = max((day for day in other if day < first), default=None)
    after = min((day for day in other if day > first), default=None)
    return CalendarMonth(first=first, cells=cells, before=before, after=after)


def _month_days(first: date) -> list[date]:
    return [first + timedelta(days=number) for number in range(monthrange(first.year, first.month)[1])]


def _active_days(workspace: Workspace) -> set[date]:
    return {minute.astimezone(workspace.zone).date() for minute in workspace.store.archive.active_minutes()}


def latest_active_day(workspace: Workspace, scope: str = "") -> date | None:
    """The last day with activity in a scope; None if there is none. An empty ``scope`` means any. Raises StoreError."""
    if not scope:
        last = max(workspace.store.archive.active_minutes(), default=None)
    else:
        threads = (item for item in workspace.store.archive.threads() if workspace.scope(item.project, item.path) == scope)
        last = max((thread.last_at for thread in threads if thread.last_at), default=None)
    return last.astimezone(workspace.zone).date() if last else None


def _session_activity(workspace: Workspace, day: date, scopes: frozenset[str]) -> tuple[SessionActivity, ...]:
    found = workspace.store.archive.session_activity(*workspace.day_bounds(day))
    sessions = (activity for activity in found if activity.source != ENTRY)
    return tuple(activity for activity in sessions if not scopes or workspace.scope(activity.project, activity.path) in scopes)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectMonth:
    """A month in one project. ``days`` has the sessions of each day with activity.

    ``said`` has, for each part of a summary, the memories said in the month: the time, the memory, and its previous words (empty if
    it was first said then).
    """

    days: tuple[tuple[date, tuple[DaySession, ...]], ...]
    said: Mapping[SummaryPart, tuple[tuple[datetime, Memory, str], ...]]


def load_project_month(workspace: Workspace, first: date, scope: str) -> ProjectMonth:
    """Load the month that begins with ``first`` for one scope. Raises StoreError."""
    days, active = _month_days(first), _active_days(workspace)
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(days[-1])[1]
    parts: dict[SummaryPart, list[tuple[datetime, Memory, str]]] = defaultdict(list)
    for at, memory, before in list_said(workspace, start, stop, frozenset({scope})):
        parts[part_of_category(memory.category)].append((at, memory, before))
    found = ((day, load_day_sessions(workspace, day, scope)) for day in days if day in active)
    return ProjectMonth(
        days=tuple((day, sessions) for day, sessions in found if sessions),
        said={part: tuple(sorted(every, key=lambda item: (item[0], item[1].id))) for part, every in parts.items()},
    )


def load_day_sessions(workspace: Workspace, day: date, scope: str = "") -> tuple[DaySession, ...]:
    """Load the sessions with events on a day, each with its work. An empty ``scope`` means all. Raises StoreError."""
    start, stop = workspace.day_bounds(day)
    notes_by_session: Mapping[tuple[str, str], list[ThreadNote]] = defaultdict(list)
    for item in drop_repeated_notes(workspace.store.days.notes_between(start, stop)):
        notes_by_session[item.path, item.session].append(item)
    found = []
    for activity in _session_activity(workspace, day, frozenset({scope} - {""})):
        of = scope or workspace.scope(activity.project, activity.path)
        notes = notes_by_session.get((activity.path, activity.session), ())
        found.append(DaySession(activity=activity, scope=of, worked=tuple(work_bullet(item.note, of) for item in notes)))
    return tuple(found)


def list_open_questions(workspace: Workspace, day: date) -> tuple[Memory, ...]:
    """The questions that were open at the end of a day, newest first. Answered and expired questions are not open."""
    stop = workspace.day_bounds(day)[1]
    found = [
        memory
        for memory in workspace.store.log.memories()
        if memory.content
        and part_of_category(memory.category) is SummaryPart.OPEN
        and memory.status in _OPEN_OR_ENDED
        and memory.first_seen is not None
        and memory.first_seen < stop
        and (memory.ended_at is None or memory.ended_at >= stop)
        and (memory.valid_until is None or memory.valid_until > stop)
    ]
    return tuple(sorted(found, key=lambda memory: (memory.first_seen is None, memory.first_seen, memory.id), reverse=True))


def load_journal_entry(workspace: Workspace, day: date) -> JournalEntry | None:
    """Load the journal entry of a day. None if there is none or it cannot be read."""
    path = _entry_path(workspace, day)
    try:
        content = files.read_file(path)
    except KeptError:
        return None
    if content.stamp == files.MISSING:
        return None
    text = content.data.decode("utf-8", "replace")
    head = parse_entry_head(text)
    return JournalEntry(path=path, text=entry_body(text) if head else text, writer=head.writer if head else "")


def _entry_path(workspace: Workspace, day: date) -> Path:
    return workspace.paths.root / workspace.settings.journal.folder / f"{day.isoformat()}.md"
