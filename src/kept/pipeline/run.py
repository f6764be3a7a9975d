"""The main job: absorb hand edits, read what is new, extract, curate, write the outputs. One run at a time.

A run that finds nothing new writes nothing at all. A run that is cut short loses nothing: what was archived, extracted or
curated is done, and the next run goes on from there.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Any

from kept.changes import erase_traces
from kept.core.codec import json_fields
from kept.core.errors import ConfigError, StoreError
from kept.core.memory import Memory, Status
from kept.curation.llm_curation import Advised, take_advice
from kept.curation.passes import Curated, curate_dirty
from kept.days.coverage_report import Covered, Covering
from kept.days.day_notes import summarise
from kept.days.llm_summaries import Daybook, write_days
from kept.extraction.extract_threads import Extracted, Within, extract_pending, ready
from kept.extraction.llm_extraction import Heard, hear
from kept.extraction.revalidate import recheck
from kept.intake.projects import Moved, misplaced, move, record
from kept.intake.reading import Found, Reading, archive_files, discover
from kept.intake.unread import note_unread
from kept.llm.budget import Estimate, Tally
from kept.llm.client import LlmClient
from kept.local.files import locked
from kept.local.progress import Late, Progress, never, silent
from kept.local.queue import queued
from kept.memories.agent_commands import take_back as take_back_decisions
from kept.memories.backups import safeguard
from kept.memories.client_memory import take_up_notes
from kept.outputs.write import Written, absorb_edits, write_outputs
from kept.pipeline.estimate import foresee
from kept.pipeline.outdated import outdated
from kept.pipeline.trial import is_trusted
from kept.profiles.profile import Occasion
from kept.recall.indexing import UNMADE, bring_up_to_date, count_uses, nearness_of
from kept.store.run_number import RunNumber
from kept.store.values import Run
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How to run. ``dry`` shows what would change and changes nothing; ``force`` reads and extracts everything again.

    ``since`` and ``until`` (inclusive) limit which sessions are extracted to those with events on such days; the others wait.
    ``allow`` lets through what a guard would stop, and absorbs files that look damaged. ``occasion`` says when this is: profiles
    that are not extracted then wait. ``model`` False asks no language model; ``agent`` says that an agent runs this: no
    changed line of a file is the person's. After so many ``seconds`` (0: as long as it takes) nothing further is read, extracted or
    asked about; what was is curated and written, and the next run goes on.
    """

    dry: bool = False
    force: bool = False
    allow: bool = False
    model: bool = True
    since: date | None = None
    until: date | None = None
    occasion: Occasion = Occasion.NIGHTLY
    seconds: float = 0.0
    agent: bool = False


@dataclass(kw_only=True, slots=True)
class Report:
    """What a run did."""

    run: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    reading: Reading = field(default_factory=Reading)
    extracted: Extracted = field(default_factory=Extracted)
    outdated: int = 0
    curated: Curated = field(default_factory=Curated)
    covered: Covered = field(default_factory=Covered)
    written: Written = field(default_factory=Written)
    new: tuple[Memory, ...] = ()
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
    heard: Heard = field(default_factory=Heard)
    daybook: Daybook = field(default_factory=Daybook)
    advised: Advised = field(default_factory=Advised)

    @property
    def partly(self) -> bool:
        """Whether something could not be done: an input not read, a pass a guard stopped, a file not absorbed, a question without a
        reply.
        """
        return bool(self.skipped or self.curated.stopped or self.advised.stopped or self.written.problems or self.asked.partly)

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Every input that could not be read or analysed, with the reason."""
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
            "operations": dict(self.curated.operations + self.advised.operations + self.written.operations),
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
            "heard": self.heard.body(),
            "daybook": json_fields(self.daybook),
            "advised": json_fields(self.advised),
            "seconds": round(self.seconds, 3),
        }


def run(
    workspace: Workspace, paths: Sequence[Path], options: Options, *, sample: bool = False, progress: Progress = silent
) -> Report:
    """Do the main job over the given paths, or over everything found on this machine.

    Raises BusyError where a run is under way, UsageError for a path that does not exist, StoreError and other KeptErrors where
    nothing more can be done; what was done before stays done.
    """
    started = monotonic()
    workspace = replace(workspace, llm=_asker(workspace, options, progress))
    with locked(workspace.paths.lock), workspace.store.trial() if options.dry else nullcontext():
        report = _run(workspace, paths, options, progress)
    report.sample = sample
    report.seconds = monotonic() - started
    return report


def _asker(workspace: Workspace, options: Options, progress: Progress) -> LlmClient | None:
    if workspace.llm is None or not options.model:
        return None
    workspace.llm.progress, workspace.llm.dry = progress, options.dry
    return workspace.llm


def _run(workspace: Workspace, paths: Sequence[Path], options: Options, progress: Progress) -> Report:
    started = workspace.clock()
    late = _late(options.seconds)
    before = workspace.store.log.ids()
    progress("discovering", 0, 0)
    found = discover(workspace, paths, force=options.force)
    found = found if paths or options.dry else _with_queued(workspace, found, force=options.force)
    report = Report(sources=found.sources, resumed=_interrupted(workspace))
    report.written.dry, report.written.agent = options.dry, options.agent and not workspace.settings.trust_agents
    if workspace.llm is not None:
        report.asked = workspace.llm.tally
    run_number = RunNumber(workspace.store.log, workspace.clock)
    report.reading = _read(workspace, (found, paths), options, progress, late)
    absorb_edits(workspace, run_number, report.written, allow=options.allow)  # after reading: transcripts tell of agents' edits
    record(workspace, report.reading, keep=not options.dry)
    _take_up_notes(workspace, paths, options, run_number)
    moved = move(workspace, run_number(), progress) if misplaced(workspace) else Moved()
    report.moved = moved.memories
    grown = _grown(workspace, options)
    if options.force or grown:
        within = _limits(workspace, options)
        if options.occasion is not Occasion.REAL_TIME:
            run_number()  # a session was looked at, whatever comes of it
        report.extracted = extract_pending(
            workspace, run_number, force=options.force, within=within, occasion=options.occasion, progress=progress, late=late
        )
        recheck(workspace, run_number, workspace.store.archive.each(grown))
    if workspace.llm is not None and options.occasion is not Occasion.REAL_TIME:
        report.heard = _ask_about_sessions(workspace, run_number, options, progress, late)
    progress("curating", 0, 0)
    if workspace.store.log.dirty() and (options.dry or _safe(workspace, report.written)):
        report.curated = curate_dirty(
            workspace,
            run_number,
            allow=options.allow,
            freed=moved.scopes,
            meaning=nearness_of(workspace),
            progress=progress,
        )
    if workspace.llm is not None and options.occasion is Occasion.NIGHTLY and not late():
        report.advised = take_advice(workspace, run_number, workspace.llm, by=_named(workspace), allow=options.allow)
        report.daybook = write_days(workspace, workspace.llm, by=_named(workspace))
    covering = Covering(workspace)
    # In real time threads go on waiting for an occasion that takes them in whole; that one gives account of them.
    summarise(workspace, {} if options.occasion is Occasion.REAL_TIME else grown, covering.count_topics, progress=progress)
    report.covered = covering.done()
    report.cut = late()
    progress("writing", 0, 0)
    write_outputs(workspace, run_number, report.written)
    if not options.dry:
        erase_traces(workspace, report.reading)
        _embed(workspace, report, progress, anew=run_number.started)
    _count(workspace, report, before)
    if run_number.started or report.asked.usage.calls:
        report.run = run_number()
        body = report.body() | {"seconds": (workspace.clock() - started).total_seconds()}
        workspace.store.log.end_run(report.run, workspace.clock(), body)
    return report


def _grown(workspace: Workspace, options: Options) -> Mapping[int, int]:
    """The threads that are to be extracted; what agents decided in them with kept's own commands is taken back."""
    grown = ready(workspace, options.occasion, force=options.force)
    take_back_decisions(workspace, grown)
    return grown


def _ask_about_sessions(workspace: Workspace, run_number: RunNumber, options: Options, progress: Progress, late: Late) -> Heard:
    """Have a person told what is going to be asked, and ask it; a dry run only counts."""
    assert workspace.llm is not None
    within = _limits(workspace, options)
    coming = _announce(workspace, workspace.llm, options, within)
    trusted = _is_trusted(workspace)
    heard = hear(
        workspace,
        run_number,
        workspace.llm,
        by=_named(workspace),
        trusted=trusted,
        room=workspace.llm.room,
        force=options.force,
        within=within,
        occasion=options.occasion,
        progress=progress,
        late=late,
    )
    if options.dry:
        workspace.llm.tally.would = coming
    elif heard.held and not trusted:
        workspace.llm.tell("What this model proposes waits for you: it has not passed its trial. → kept llm trial")
    return heard


def _is_trusted(workspace: Workspace) -> bool:
    """Whether what the model proposes may be active at once."""
    with suppress(ConfigError):  # it is told with the first question
        return is_trusted(workspace)
    return True


def _read(workspace: Workspace, what: tuple[Found, Sequence[Path]], options: Options, progress: Progress, late: Late) -> Reading:
    """Read what was found at the paths a person named, and note what should have been read and was not."""
    found, paths = what
    reading = archive_files(workspace, found, force=options.force, progress=progress, late=late)
    if not options.dry:
        note_unread(workspace, paths, found, reading.skipped)
    return reading


def _take_up_notes(workspace: Workspace, paths: Sequence[Path], options: Options, run: Callable[[], int]) -> None:
    """Take up what clients remember themselves, where the settings name them and the run is about everything."""
    if not (paths or options.dry):
        take_up_notes(workspace, run)


def _named(workspace: Workspace) -> str:
    """What the language model of the settings is called."""
    named = workspace.settings.llm
    return named.model or named.command or named.adapter


def _late(seconds: float) -> Late:
    """Whether so many seconds have passed since now; never where there are none."""
    until = monotonic() + seconds
    return (lambda: monotonic() > until) if seconds else never


def _announce(workspace: Workspace, asking: LlmClient, options: Options, within: Within | None) -> Estimate:
    """Have a person told what is going to be asked, before it is; what was set aside is asked again where everything is."""
    asking.retry = options.force
    with suppress(ConfigError):  # it is told with the first question
        coming = foresee(workspace, asking, force=options.force, within=within, occasion=options.occasion)
        if not options.dry:
            asking.announce(coming)
        return coming
    return Estimate()


def _with_queued(workspace: Workspace, found: Found, *, force: bool) -> Found:
    """What hooks named since the last run is read as well, wherever it lies."""
    named = [path for each in queued(str(workspace.paths.state)) if (path := Path(each)).is_file()]
    if not named:
        return found
    more = discover(workspace, named, force=force)
    skipped = tuple(dict.fromkeys((*more.skipped, *found.skipped)))
    return replace(found, files={**more.files, **found.files}, skipped=skipped)  # first: they lie in no known place, perhaps


def _embed(workspace: Workspace, report: Report, progress: Progress, *, anew: bool) -> None:
    """Make the vectors of what is new, where anything is. Without them everything is found by its words, so a failure is told and
    no more.
    """
    try:
        if anew:
            report.embedded = bring_up_to_date(workspace, workspace.settings.recall.run_seconds, progress)
        else:
            count_uses(workspace)
    except UNMADE as error:
        report.written.problems.append(f"search by meaning is not up to date: {error}")


def _safe(workspace: Workspace, written: Written) -> bool:
    """Whether there is a backup from before the first curation of the day; without one, nothing is curated."""
    try:
        safeguard(workspace)
    except StoreError as error:
        written.problems.append(f"nothing was curated, because no backup could be made: {error}")
        return False
    return True


def _interrupted(workspace: Workspace) -> bool:
    last: tuple[Run, ...] = workspace.store.log.runs(1)
    return bool(last) and last[0].ended_at is None


def _limits(workspace: Workspace, options: Options) -> Within | None:
    if options.since is None and options.until is None:
        return None
    start = workspace.span(options.since)[0] if options.since else None
    stop = workspace.span(options.until)[1] if options.until else None
    return (start, stop)


def _count(workspace: Workspace, report: Report, before: frozenset[str]) -> None:
    census = workspace.store.log.census(workspace.clock())
    fresh = (workspace.store.log.memory(each) for each in sorted(workspace.store.log.ids() - before))
    report.new = tuple(each for each in fresh if each is not None and each.status_at(workspace.clock()) is Status.ACTIVE)
    report.active = sum(count for (status, *_), count in census.items() if status is Status.ACTIVE)
    report.held = sum(count for (status, *_), count in census.items() if status is Status.HELD)
    report.days = len(report.reading.days)
    report.outdated = len(outdated(workspace))
