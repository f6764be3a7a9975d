"""The results of a run, and of earlier runs: their passes, groups that a guard stopped, and costs by day."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from kept.core.codec import json_fields
from kept.core.memory import GROUP_SEPARATOR, Memory
from kept.core.operation import Pass
from kept.core.value import dataclass, field
from kept.curation.llm_curation import LlmCurationReport, LlmRequestsReport
from kept.curation.passes import CurationReport
from kept.days.coverage_report import CoverageReport
from kept.days.llm_summaries import DaySummaryReport
from kept.extraction.extract_threads import ExtractionReport
from kept.extraction.llm_extraction import LlmExtractionReport
from kept.intake.reading import ReadingReport
from kept.llm.ask import Usage
from kept.llm.budget import Tally
from kept.llm.replies import ReplyCache
from kept.memories.history import HistoryEntry, run_history
from kept.outputs.write import WriteReport
from kept.store.values import CURATE, GUARD, Run
from kept.workspace import Workspace


@dataclass(kw_only=True, slots=True)
class RunReport:
    """The results of a run. ``before`` are the ids of the memories that existed before the run. ``names`` are the display names of
    scopes, and ``wishes`` counts the new wishes in review, which the store does not have after a dry run.
    """

    before: frozenset[str] = frozenset()
    run: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    reading: ReadingReport = field(default_factory=ReadingReport)
    extracted: ExtractionReport = field(default_factory=ExtractionReport)
    outdated: int = 0
    curated: CurationReport = field(default_factory=CurationReport)
    covered: CoverageReport = field(default_factory=CoverageReport)
    written: WriteReport = field(default_factory=WriteReport)
    names: Mapping[str, str] = field(default_factory=dict)
    new: tuple[Memory, ...] = ()
    asked_about: tuple[Memory, ...] = ()
    wishes: int = 0
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


def list_runs(workspace: Workspace, most: int, *, before: int = 0) -> tuple[HistoryEntry, ...]:
    """The last runs that changed something, asked a model or were interrupted, newest first.

    If ``before`` is given, only runs with a smaller number. Raises StoreError.
    """
    return run_history(workspace, most, before=before, also=lambda run: run.ended_at is None or bool(count_questions(run)))


def count_questions(run: Run) -> int:
    """The number of questions that a run asked a model."""
    return int(reported_number(run, "calls") or 0)


def reported_number(run: Run, name: str) -> Any:
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
