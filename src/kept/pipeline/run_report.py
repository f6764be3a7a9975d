"""The results of a run, and of earlier runs: their passes, groups that a guard stopped, and costs by day."""

from collections import Counter
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from kept.core.codec import json_fields
from kept.core.memory import GROUP_SEPARATOR, Memory
from kept.core.operation import Pass, find_undone_passes, operation_kind
from kept.core.value import dataclass, field
from kept.curation.llm_curation import LlmCurationReport, LlmRequestsReport
from kept.curation.passes import CURATE, GUARD, CurationReport
from kept.days.coverage_report import CoverageReport
from kept.days.llm_summaries import DaySummaryReport
from kept.extraction.extract_threads import ExtractionReport
from kept.extraction.llm_extraction import LlmExtractionReport
from kept.intake.reading import ReadingReport
from kept.llm.ask import Usage
from kept.llm.budget import Tally
from kept.llm.replies import ReplyCache
from kept.memories.history import was_at_night
from kept.outputs.write import WriteReport
from kept.store.values import Run
from kept.workspace import Workspace


@dataclass(kw_only=True, slots=True)
class RunReport:
    """The results of a run. ``before`` are the ids of the memories that existed before the run."""

    before: frozenset[str] = frozenset()
    run: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    reading: ReadingReport = field(default_factory=ReadingReport)
    extracted: ExtractionReport = field(default_factory=ExtractionReport)
    outdated: int = 0
    curated: CurationReport = field(default_factory=CurationReport)
    covered: CoverageReport = field(default_factory=CoverageReport)
    written: WriteReport = field(default_factory=WriteReport)
    new: tuple[Memory, ...] = ()
    asked_about: tuple[Memory, ...] = ()
    held: int = 0
    active: int = 0
    moved: int = 0
    embedded: int = 0
    days: int = 0
    resumed: bool = False
    cut: bool = False
    sample: bool = False
    seconds: float = 0.0
    asked: Tally = field(default_factory=Tally)
    llm_extraction: LlmExtractionReport = field(default_factory=LlmExtractionReport)
    day_summaries: DaySummaryReport = field(default_factory=DaySummaryReport)
    llm_curation: LlmCurationReport = field(default_factory=LlmCurationReport)
    llm_requests: LlmRequestsReport = field(default_factory=LlmRequestsReport)

    @property
    def partly(self) -> bool:
        """True if something was not done: an input not read, a pass stopped by a guard, a file not merged, or a question without a
        reply.
        """
        return bool(self.skipped or self.curated.stopped or self.llm_curation.stopped or self.written.problems or self.asked.partly)

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Every input that could not be read or extracted, with the reason."""
        return [*self.reading.skipped, *self.extracted.broken]

    def body(self) -> dict[str, Any]:
        """The report as ``kept run --json`` prints it."""
        extracted = self.extracted
        return {
            "sources": dict(self.sources),
            "sessions": extracted.threads,
            "events": self.reading.account.events,
            "records": self.reading.account.records,
            "dropped": dict(self.reading.account.dropped),
            "days": self.days,
            "episodes": extracted.episodes,
            "candidates": extracted.candidates,
            "accepted": extracted.accepted,
            "held": extracted.held,
            "refused": dict(extracted.refused),
            "operations": dict(self.curated.operations + self.llm_curation.operations + self.written.operations),
            "moved": self.moved,
            "embedded": self.embedded,
            "stopped": list(self.curated.stopped),
            "coverage": json_fields(self.covered),
            "outputs": [{"path": path, "bytes": size} for path, size in self.written.files],
            "problems": list(self.written.problems),
            "skipped": [{"path": path, "reason": reason} for path, reason in self.skipped],
            "left": [{"path": path, "reason": reason} for path, reason in self.reading.left],
            "cut": self.cut,
            "cleaning": {
                "bytes_in": self.reading.bytes_in,
                "bytes_kept": self.reading.bytes_kept,
                "secrets": self.reading.secrets,
                "removed": dict(self.reading.removed),
            },
            "memories": {"active": self.active, "held": self.held},
            "sample": self.sample,
            "llm": self.asked.body(),
            "llm_extraction": self.llm_extraction.body(),
            "day_summaries": json_fields(self.day_summaries),
            "llm_curation": json_fields(self.llm_curation),
            "llm_requests": json_fields(self.llm_requests),
            "seconds": round(self.seconds, 3),
        }


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
