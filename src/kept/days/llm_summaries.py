"""Day summaries by a model, made from the points that the model noted when it read the sessions.

A day is summarized once it is over, and again only if its points change. If a scope has more than three points on a day, they are
sent to the model, 120 points per question. Questions without an answer are asked again the next night. Until then the day shows the
points themselves.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache

from kept.core.digest import digest
from kept.core.fingerprint import is_known_statement
from kept.core.summary import Passage, PassageForm, SummaryPoint
from kept.core.times import ALWAYS
from kept.core.value import dataclass, replace
from kept.extraction.questions.claims import build_condense_ask, merge_points, read_condensed_points
from kept.llm.ask import Ask, Asking, CompleteReply
from kept.profiles.prompts import question_text
from kept.workspace import Workspace

_FEW = 3  # this many points or fewer are stored as they are, without a question to the model
_MOST = 120  # points per question; with more, the model would read them less carefully

Place = tuple[date, str]  # a day and a scope


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySummaryReport:
    """The number of summaries written, and the number ``left`` for the next night. Each scope of a day has its own summary."""

    written: int = 0
    left: int = 0


def write_day_summaries(workspace: Workspace, asking: Asking, *, by: str) -> DaySummaryReport:
    """Write the summary of each finished day whose points changed, and delete the lines of summaries whose points are gone.

    ``by`` is the model's name. Raises StoreError, ConfigError.
    """
    today = workspace.clock().astimezone(workspace.zone).date()
    noted = {place: points for place, points in _points_by_place(workspace, *ALWAYS).items() if place[0] < today}
    if not noted:
        return DaySummaryReport()
    days = [day for day, _ in noted]
    made = {
        (passage.day, passage.scope): passage.made_of
        for passage in workspace.store.days.passages_of_days(min(days), max(days))
        if passage.form is PassageForm.LINE
    }
    waiting = {place: points for place, points in noted.items() if made.get(place) != _points_digest(points)}
    stale = [(day, scope) for day, scope in made if day is not None and (day, scope) not in noted]
    if not waiting and not stale:
        return DaySummaryReport()
    _, version = question_text("outcome")
    asks: list[tuple[Place, Sequence[SummaryPoint], Ask]] = []
    for place, points in waiting.items():
        whole = merge_points(passage.point for passage in points)
        about = tuple(sorted({session for passage in points for session in passage.sessions}))
        for start in range(0, len(whole), _MOST) if len(whole) > _FEW else ():
            some = whole[start : start + _MOST]
            asks.append((place, some, build_condense_ask(some, about=about)))
    replies = asking([ask for _, _, ask in asks]) if asks else ()
    found: dict[Place, list[SummaryPoint]] = defaultdict(list)
    failed: set[Place] = set()
    for (place, part, _), reply in zip(asks, replies, strict=True):
        if isinstance(reply, CompleteReply):
            found[place] += read_condensed_points(reply.body, part)[0]
        else:
            failed.add(place)
    with workspace.store.transaction():
        for day, scope in stale:
            workspace.store.days.save_day_lines(day, scope, ())
        for place, points in waiting.items():
            if place not in failed:
                workspace.store.days.save_day_lines(
                    *place, _summary_lines(workspace, place, points, found[place], f"{by}, prompt {version}")
                )
    return DaySummaryReport(written=len(waiting) - len(failed), left=len(failed))


def _points_by_place(workspace: Workspace, start: datetime, stop: datetime) -> dict[Place, list[Passage]]:
    """The points of each day and scope in order of time, without the duplicates that come from copies of a session."""
    scope_of = cache(workspace.scope)
    found: dict[Place, dict[tuple[str, str, tuple[str, ...]], Passage]] = defaultdict(dict)
    for point in workspace.store.days.points_between(start, stop):
        passage = point.passage
        place = (passage.at.astimezone(workspace.zone).date(), scope_of(point.project, point.path))
        found[place].setdefault((passage.kind, passage.text, passage.events), passage)
    return {place: list(points.values()) for place, points in sorted(found.items())}


def _points_digest(points: Sequence[Passage]) -> str:
    """A digest of a day's points. It is stored with the day's lines, to notice later that the points changed."""
    return digest(*sorted(f"{passage.kind} {passage.text} {' '.join(passage.events)}" for passage in points))


def _summary_lines(
    workspace: Workspace, place: Place, points: Sequence[Passage], condensed: Sequence[SummaryPoint], by: str
) -> list[Passage]:
    """The lines to store for a day and scope, without forgotten statements.

    They are the ``condensed`` points. If these are empty, they are the day's ``points`` themselves.
    """
    day, scope = place
    sums, by = (tuple(condensed), by) if condensed else (merge_points(passage.point for passage in points), points[0].by)
    forgotten, mark = workspace.store.log.forgotten_fingerprints(), _points_digest(points)
    made = {}
    for number, point in enumerate(sums):
        if forgotten and is_known_statement(point.text, forgotten, workspace.store.key("forget")):
            continue
        under = [passage for passage in points if not set(passage.events).isdisjoint(point.events)] or points
        name = digest("line", day.isoformat(), scope, point.kind, point.text, size=7)
        made[name] = Passage(
            id=name,
            form=PassageForm.LINE,
            kind=point.kind,
            text=point.text,
            at=max(passage.at for passage in under),
            events=point.events,
            sessions=tuple(sorted({session for passage in under for session in passage.sessions})),
            day=day,
            scope=scope,
            ordinal=number,
            by=by,
            made_of=mark,
        )
    return list(made.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySummary:
    """A day as kept shows it.

    ``lines`` has by scope the lines of the model's summary, or the day's points if there is no summary yet. It also has the
    person's own lines. ``gone`` has the ids of lines that the person deleted or reworded, ``events`` the events that they cited.
    """

    lines: Mapping[str, tuple[Passage, ...]]
    gone: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()


def load_day_summaries(workspace: Workspace, first: date, last: date) -> dict[date, DaySummary]:
    """Load the summaries of the days from ``first`` to ``last``. The points of a day stand in for a summary that is missing."""
    written = workspace.store.days.passages_of_days(first, last)
    start = workspace.day_bounds(first)[0] if first > date.min else ALWAYS[0]
    noted = _points_by_place(workspace, start, workspace.day_bounds(last)[1] if last < date.max else ALWAYS[1])
    lines: dict[Place, list[Passage]] = defaultdict(list)
    for item in written:
        if item.form is PassageForm.LINE and item.day is not None:
            lines[item.day, item.scope].append(item)
    for (day, scope), points in noted.items():
        if (day, scope) not in lines:
            ids = {passage.point: passage for passage in points}
            lines[day, scope] = [
                replace(ids.get(point, points[0]), kind=point.kind, text=point.text, events=point.events, day=day, scope=scope)
                for point in merge_points(passage.point for passage in points)
            ]
    own = [passage for passage in written if passage.form is PassageForm.OWN and passage.day is not None]
    found = {}
    for day in sorted({day for day, _ in lines} | {passage.day for passage in own if passage.day}):
        mine = [passage for passage in own if passage.day == day]
        gone = frozenset(passage.instead for passage in mine)
        events = frozenset(event for passage in mine for event in passage.events)
        shown: dict[str, list[Passage]] = defaultdict(list)
        for (on, scope), several in lines.items():
            if on == day:
                shown[scope] += [
                    passage
                    for passage in several
                    if passage.id not in gone and not (passage.events and events >= {*passage.events})
                ]
        for item in mine:
            if item.text:
                shown[item.scope].append(item)
        found[day] = DaySummary(lines={scope: tuple(passages) for scope, passages in shown.items()}, gone=gone, events=events)
    return found
