"""Oversight: the history of runs, passes that a guard stopped, and charts of cost and self-reference over time. Read-only."""

from collections import Counter
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from kept.core.memory import GROUP_SEPARATOR
from kept.core.operation import Pass, find_undone_passes, operation_kind
from kept.core.value import dataclass
from kept.curation.passes import CURATE, GUARD
from kept.llm.ask import Usage
from kept.llm.replies import ReplyCache
from kept.memories.history import was_at_night
from kept.store.values import Run
from kept.workspace import Workspace

_SWITCHES = frozenset({"undo", "redo"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PassSummary:
    """A pass: its subject, its operations by kind, and whether it is undone now. ``lasting`` means that it cannot be undone."""

    id: int
    stage: str
    subject: str
    note: str
    operations: Counter[str]
    undone: bool
    lasting: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """A run and its passes. ``night`` means that it was part of a nightly job. ``asked`` counts the questions to a model. ``cost``
    is in USD (None: unknown).
    """

    run: Run
    passes: tuple[PassSummary, ...]
    asked: int
    cost: float | None
    night: bool = False

    @property
    def operations(self) -> Counter[str]:
        """The operations of all passes, by kind."""
        return sum((pass_summary.operations for pass_summary in self.passes), Counter[str]())

    @property
    def switches(self) -> bool:
        """True if the run undid or redid something."""
        return any(pass_summary.stage in _SWITCHES for pass_summary in self.passes)

    @property
    def undone(self) -> bool:
        """True if all that can be undone in the run is undone. Passes that changed no memory count only if there are no others."""
        able = [pass_summary for pass_summary in self.passes if not pass_summary.lasting]
        able = [pass_summary for pass_summary in able if pass_summary.operations] or able
        return bool(able) and all(pass_summary.undone for pass_summary in able)

    @property
    def can_be_undone(self) -> bool:
        """True if any pass of the run can be undone."""
        return not self.undone and any(not pass_summary.undone and not pass_summary.lasting for pass_summary in self.passes)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoppedGroup:
    """A group that a guard stopped and that is still pending: its profile and scope, the time, and the reason."""

    profile: str
    scope: str
    at: datetime
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPoint:
    """One point of a chart: the day, the value, and its label in words."""

    day: date
    value: float
    label: str


def load_runs(workspace: Workspace, most: int, *, before: int = 0) -> tuple[RunSummary, ...]:
    """The last runs, newest first. If ``before`` is given, only runs with a smaller number. Raises StoreError."""
    log = workspace.store.log
    heads = tuple(log.pass_heads())
    undone, changing = find_undone_passes(heads), {head.run for head in heads}
    # A run without a pass changed nothing. It is listed only if it asked a model or was interrupted.
    every = log.runs()
    found = [run for run in every if run.id in changing or run.ended_at is None or _count_questions(run)]
    chosen = [run for run in found if not before or run.id < before][:most]
    wanted = {run.id for run in chosen}
    passes: dict[int, list[PassSummary]] = {}
    for entry in log.passes(only=[head.id for head in heads if head.run in wanted]):
        passes.setdefault(entry.run, []).append(_summarize_pass(entry, undone))
    return tuple(
        RunSummary(
            run=item,
            passes=tuple(passes.get(item.id, ())),
            asked=_count_questions(item),
            cost=_reported_number(item, "cost"),
            night=was_at_night(item, every),
        )
        for item in chosen
    )


def _summarize_pass(made: Pass, undone: frozenset[int]) -> PassSummary:
    kinds = Counter(map(operation_kind, made.operations))
    return PassSummary(
        id=made.id,
        stage=made.stage,
        subject=made.subject,
        note=made.note,
        operations=kinds,
        undone=made.id in undone,
        lasting=made.stage in (*_SWITCHES, GUARD) or bool(kinds["forget"]),
    )


def _count_questions(run: Run) -> int:
    return int(_reported_number(run, "calls") or 0)


def _reported_number(run: Run, name: str) -> Any:
    """A number from the ``llm`` part of a run's report; None if it is missing."""
    body = run.report.get("llm")
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, int | float) else None


def list_stopped_groups(workspace: Workspace) -> tuple[StoppedGroup, ...]:
    """The groups that guards stopped, unless somebody allowed them or a later pass succeeded. Raises StoreError."""
    last: dict[str, Pass] = {}
    for head in workspace.store.log.pass_heads():
        if head.stage in (GUARD, CURATE):
            last[head.subject] = head
    waiting = {GROUP_SEPARATOR.join(group): group for group in workspace.store.log.groups_to_curate()}
    return tuple(
        StoppedGroup(profile=profile, scope=scope, at=pass_.recorded_at, why=pass_.note.removeprefix("stopped by the guard: "))
        for pass_ in last.values()
        if pass_.stage == GUARD and pass_.subject in waiting
        for profile, scope in (waiting[pass_.subject],)
    )


def daily_costs(workspace: Workspace, days: int) -> tuple[ChartPoint, ...]:
    """The cost of each of the last ``days`` local days in USD, oldest first. It comes from the reply file, so interrupted runs
    count too. Raises StoreError.
    """
    today = workspace.clock().astimezone(workspace.zone).date()
    found = []
    with closing(ReplyCache(workspace.paths.replies)) as replies:
        for day in (today - timedelta(days=back) for back in range(days - 1, -1, -1)):
            start, stop = (
                datetime.combine(item, time(), workspace.zone).astimezone(UTC) for item in (day, day + timedelta(days=1))
            )
            usage = sum((usage_sum.usage for usage_sum in replies.usage_between(start, stop)), Usage())
            cost = usage.cost or 0.0
            unknown = " and an unknown price" if usage.cost is None else ""
            found.append(ChartPoint(day=day, value=cost, label=f"{day}: {cost:.2f} USD{unknown}, {usage.calls:,} questions"))
    return tuple(found)
