"""The results of a run, for people and programs."""

from collections import Counter
from typing import Any

from kept.core.codec import json_fields
from kept.core.memory import Memory
from kept.core.value import dataclass, field
from kept.curation.llm_curation import LlmCurationReport, LlmRequestsReport
from kept.curation.passes import CurationReport
from kept.days.coverage_report import CoverageReport
from kept.days.llm_summaries import DaySummaryReport
from kept.extraction.extract_threads import ExtractionReport
from kept.extraction.llm_extraction import LlmExtractionReport
from kept.intake.reading import ReadingReport
from kept.llm.budget import Tally
from kept.outputs.write import WriteReport


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
