"""The main job: merge hand edits, read new transcripts, extract, curate, and write the outputs. Only one run is active at a time.

A run that finds nothing new writes nothing. An interrupted run loses nothing, because each step commits its data, and the next run
continues from there. The bundled sample runs in a separate home below the state folder.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from datetime import date
from pathlib import Path
from time import monotonic

from kept.core.errors import StoreError
from kept.core.memory import Status
from kept.core.value import dataclass, field, replace
from kept.curation.llm_curation import curate_with_llm, write_requests
from kept.curation.passes import curate_changed_groups
from kept.days.coverage_report import CoverageCounter
from kept.days.day_notes import summarize_threads
from kept.days.llm_summaries import write_day_summaries
from kept.extraction.extract_threads import Within, extract_pending, threads_to_extract
from kept.extraction.llm_extraction import LlmExtractionReport, Trust, extract_with_llm
from kept.extraction.verdicts import revalidate_threads
from kept.intake.cleaned_files import FilesToRead
from kept.intake.discovery import discover
from kept.intake.projects import MoveReport, collect_pending_evidence, list_misplaced_directories, move_memories, record_projects
from kept.intake.reading import archive_files
from kept.intake.survey import record_unread, redact_paths
from kept.llm.budget import Estimate
from kept.llm.client import LlmClient
from kept.local.files import hold_lock
from kept.local.progress import Late, Progress, Tell, ignore_progress, never_late, say_nothing
from kept.local.queue import take_queued_transcripts
from kept.local.workers import Workers, start_processes
from kept.memories.agent_commands import undo_agent_decisions
from kept.memories.backups import make_daily_backup
from kept.memories.client_memory import import_client_notes
from kept.memories.synced_folder import SyncFolder
from kept.memories.team import update_teams
from kept.memories.waiting import collect_pending, list_new_wishes
from kept.outputs.write import WriteReport, merge_hand_edits, write_outputs
from kept.pipeline.erase.forget import forget_opted_out
from kept.pipeline.estimate import estimate_run
from kept.pipeline.machines import pull_changes, push_changes, reach_server
from kept.pipeline.run_report import RunReport
from kept.pipeline.trial import FAILED, OVERRULE, UNTRIED_TOO, load_score, take_trial
from kept.pipeline.upgrade import find_outdated_memories
from kept.profiles.profile import Occasion
from kept.recall.indexing import UNMADE, count_uses, create_meaning_scorer, update_index
from kept.store.values import Run
from kept.workspace import RunNumber, Workspace

_MUCH = 12 * 2**20  # bytes of new transcripts from which starting other processes saves more time than it takes
_LARGE = 3  # if more than this many times ``first`` bytes are new, the newest ``first`` bytes are read ahead of the rest
_LATER = 1.4  # time per byte of a whole run ÷ time per byte up to the first outputs; summaries and vectors come last


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """The options of a run.

    ``dry`` shows what would change, and changes nothing. ``force`` reads and extracts the given paths again, or everything if no
    paths are given. With ``since`` and ``until`` (inclusive), only sessions with events on these days are extracted, and the others
    stay pending. ``allow`` applies changes that a guard would stop, and merges files that look damaged. ``occasion`` is when the
    run happens. Profiles that do not extract on this occasion wait. Without ``model``, no language model is asked. ``agent`` means
    that an agent started the run. Then no changed line of a file counts as the person's, unless the settings trust agents.

    After ``seconds`` (0: no limit), nothing more is read, extracted or asked. Finished work is curated and written, and the next
    run continues. ``workers`` read files and extract. Without them, a run with much new input starts up to ``processes`` processes.
    The memories are the same in both cases. ``only`` restricts reading to these paths or sources (None: no restriction). If much
    more than ``first`` bytes are new, the newest ``first`` bytes are read before the rest, and the outputs are written from them.
    ``tell`` is called with a message about that.
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
    workers: Workers | None = None
    processes: int = 1
    only: frozenset[str] | None = None
    first: int = 32 * 2**20
    tell: Tell = field(default=say_nothing, compare=False)


def run_pipeline(
    workspace: Workspace, paths: Sequence[Path], options: RunOptions, *, sample: bool = False, progress: Progress = ignore_progress
) -> RunReport:
    """Do the main job over the given paths, or over everything found on this machine.

    Raises BusyError if another run is active, UsageError for a path that does not exist, and StoreError or another KeptError if the
    run cannot continue. Work done before an error stays committed.
    """
    started = monotonic()
    workspace = replace(workspace, llm=_create_client(workspace, options, progress))
    with hold_lock(workspace.paths.lock), ExitStack() as at_end:
        unreached = () if options.dry else reach_server(workspace)
        at_end.enter_context(workspace.store.trial_transaction() if options.dry else nullcontext())
        workspace.store.upgrade_memories()
        report = _run_steps(workspace, paths, options, progress, at_end)
    report.written.problems += unreached
    report.sample = sample
    report.seconds = monotonic() - started
    return report


def _create_client(workspace: Workspace, options: RunOptions, progress: Progress) -> LlmClient | None:
    if workspace.llm is None or not options.model:
        return None
    workspace.llm.progress, workspace.llm.dry = progress, options.dry
    return workspace.llm


@dataclass(frozen=True, kw_only=True, slots=True)
class _RunContext:
    """What the steps of a run share. The steps add their results to ``report``."""

    number: RunNumber
    options: RunOptions
    report: RunReport
    progress: Progress
    late: Late


def _run_steps(
    workspace: Workspace, paths: Sequence[Path], options: RunOptions, progress: Progress, at_end: ExitStack
) -> RunReport:
    started, late = workspace.clock(), _make_deadline(options.seconds)
    progress("discovering", 0, 0)
    files_to_read = _discover_files(workspace, paths, options)
    new = files_to_read.new
    if options.workers is None and options.processes > 1 and new >= _MUCH:
        options = replace(options, workers=at_end.enter_context(start_processes(options.processes)))
    report = RunReport(
        sources=files_to_read.sources, resumed=has_interrupted_run(workspace), before=workspace.store.log.memory_ids()
    )
    report.written.dry, report.written.agent = options.dry, options.agent and not workspace.settings.trust_agents
    if workspace.llm is not None:
        report.asked = workspace.llm.tally
    run = _RunContext(number=RunNumber(workspace), options=options, report=report, progress=progress, late=late)
    large = new > _LARGE * options.first and not (options.dry or options.force)
    first, files_to_read = files_to_read.split_newest(options.first if large else 0)
    grown = _write_first_memories(workspace, first, files_to_read, paths, run) if first.files else {}
    rest = _read_and_remember(workspace, files_to_read, paths, run)
    # These threads were extracted twice, because another session contains the same statements.
    report.extracted.threads -= len(rest.keys() & grown.keys())
    grown = {**rest, **grown}
    if workspace.llm is not None and options.occasion is Occasion.NIGHTLY and not late() and _may_curate(workspace, options):
        _ask_about_memories(workspace, workspace.llm, run)
    covering = CoverageCounter(workspace)
    # A real-time run does not summarize threads. They stay pending until an occasion that extracts them completely.
    summarize_threads(
        workspace,
        {} if options.occasion is Occasion.REAL_TIME else grown,
        covering.count_topics,
        workers=options.workers,
        progress=progress,
    )
    report.covered = covering.build_report()
    report.cut = late()
    _write_results(workspace, run)
    _fill_report_counts(workspace, report)
    if run.number.started or report.asked.usage.calls:
        report.run = run.number()
        if options.dry:
            pending = {memory.id for memory, stored in collect_pending(workspace) if not stored}
            report.wishes = len(pending & list_new_wishes(workspace, report.run))
        body = report.body() | {"seconds": (workspace.clock() - started).total_seconds()}
        workspace.store.log.end_run(report.run, workspace.clock(), body)
    return report


def _write_first_memories(
    workspace: Workspace, first: FilesToRead, rest: FilesToRead, paths: Sequence[Path], run: _RunContext
) -> Mapping[int, int]:
    """Write the outputs from the newest files, without a model. Returns the threads that were due for extraction."""
    since = monotonic()
    grown = _read_and_remember(replace(workspace, llm=None), first, paths, run)
    run.progress("writing", 0, 0)
    write_outputs(workspace, run.number, run.report.written)
    run.options.tell(_describe_first(first, rest, monotonic() - since))
    return grown


def _ask_about_memories(workspace: Workspace, llm: LlmClient, run: _RunContext) -> None:
    """Ask the model to curate memories, to summarize days, and for the prompts that need a memory."""
    name = workspace.settings.llm.name
    run.report.llm_curation = curate_with_llm(workspace, run.number, llm, by=name, allow=run.options.allow)
    run.report.day_summaries = write_day_summaries(workspace, llm, by=name)
    run.report.llm_requests = write_requests(workspace, run.number, llm, by=name, limits=llm.token_limits)


def _write_results(workspace: Workspace, run: _RunContext) -> None:
    """Write the outputs. A run that is not dry also erases opted-out sessions, and updates teams, other machines and vectors."""
    report, dry = run.report, run.options.dry
    if not dry:
        SyncFolder(workspace=workspace).apply_outbox(run.number)
        report.written.problems += forget_opted_out(workspace, report.reading.opted_out, erased=report.reading.erased)
    run.progress("writing", 0, 0)
    write_outputs(workspace, run.number, report.written)
    if not dry:
        report.written.problems += (*update_teams(workspace, run.number), *push_changes(workspace).problems)
        _update_vectors(workspace, report, run.progress, has_changes=run.number.started)
    report.written.files = [*dict(report.written.files).items()]
    report.written.problems = [*dict.fromkeys(report.written.problems)]


def _read_and_remember(
    workspace: Workspace, files_to_read: FilesToRead, paths: Sequence[Path], run: _RunContext
) -> Mapping[int, int]:
    """Read files, and extract and curate what is new. Returns the threads that were due for extraction."""
    moved = _read_files(workspace, files_to_read, paths, run)
    grown = _extract(workspace, _threads_to_reread(workspace, files_to_read, paths, run.options), run)
    _curate(workspace, moved, run)
    return grown


def _read_files(workspace: Workspace, files_to_read: FilesToRead, paths: Sequence[Path], run: _RunContext) -> MoveReport:
    """Archive files, merge hand edits and changes from outside, and move memories whose project changed. Also record the files
    below ``paths`` that could not be read.
    """
    options, report = run.options, run.report
    waiting = options.occasion is not Occasion.REAL_TIME and any(workspace.store.archive.threads(pending=True))
    archive_files(
        workspace,
        files_to_read,
        force=options.force,
        workers=options.workers,
        report=report.reading,
        progress=run.progress,
        late=run.late,
    )
    if waiting:
        collect_pending_evidence(workspace, report.reading)
    report.reading.skipped[:] = redact_paths(workspace, report.reading.skipped)
    report.reading.left = redact_paths(workspace, report.reading.left)
    if not options.dry:
        record_unread(workspace, paths, files_to_read, report.reading.skipped)
    # after reading, because transcripts show which edits agents made
    merge_hand_edits(workspace, run.number, report.written, allow=options.allow)
    record_projects(workspace, report.reading, keep=not options.dry)
    report.written.problems += _import_outside_changes(workspace, paths, options, run.number)
    moved = move_memories(workspace, run.number, run.progress) if list_misplaced_directories(workspace) else MoveReport()
    report.moved += moved.memories
    return moved


def _extract(workspace: Workspace, from_start: frozenset[int], run: _RunContext) -> Mapping[int, int]:
    """Extract candidates by rules, then by the model. The threads ``from_start`` are extracted again. Returns the threads that were
    due for extraction.
    """
    options, real_time = run.options, run.options.occasion is Occasion.REAL_TIME
    grown = threads_to_extract(workspace, options.occasion, from_start=from_start)
    undo_agent_decisions(workspace, grown)  # decisions that agents made in these threads with kept's commands
    if options.force or grown:
        if not real_time:
            run.number()  # the run exists even if it gives nothing, because it examined a session
        extract_pending(
            workspace,
            run.number,
            from_start=from_start,
            within=_time_limits(workspace, options),
            occasion=options.occasion,
            workers=options.workers,
            report=run.report.extracted,
            progress=run.progress,
            late=run.late,
        )
        revalidate_threads(workspace, run.number, workspace.store.archive.threads_by_id(grown))
    if workspace.llm is not None and not real_time:
        run.report.llm_extraction = _ask_about_sessions(workspace, workspace.llm, from_start, run)
    return grown


def _curate(workspace: Workspace, moved: MoveReport, run: _RunContext) -> None:
    """Curate the groups with new candidates, unless the backup before that fails."""
    report = run.report
    run.progress("curating", 0, 0)
    saved = run.options.dry or not report.before  # the backup preserves the memories from before the run
    if workspace.store.log.groups_to_curate() and (saved or _ensure_backup(workspace, report.written)):
        curated = curate_changed_groups(
            workspace,
            run.number,
            allow=run.options.allow,
            freed=moved.scopes,
            meaning=create_meaning_scorer(workspace),
            progress=run.progress,
        )
        curated.operations += report.curated.operations
        curated.taken_back += report.curated.taken_back
        report.curated = curated


def _describe_first(first: FilesToRead, rest: FilesToRead, seconds: float) -> str:
    """The message after the outputs were written from the newest files: how many files, and how long the rest may take."""
    minutes = max(1, round(_LATER * seconds * first.after / max(1, rest.before) / 60))
    return (
        f"The first memories are written, from the latest {len(first.files):,} of {len(first.files) + len(rest.files):,} files. "
        f"The others take about {minutes} min; if you stop the run, its results stay, and the next one continues."
    )


def _threads_to_reread(
    workspace: Workspace, files_to_read: FilesToRead, paths: Sequence[Path], options: RunOptions
) -> frozenset[int]:
    """The threads to extract from their start. With ``force``, these are the threads of files that a person named or chose, or all
    threads. Otherwise there are none.
    """
    if not options.force:
        return frozenset()
    named = files_to_read.files if paths or options.only is not None else ("",)
    return frozenset(thread.id for path in named for thread in workspace.store.archive.threads(path=path))


def _ask_about_sessions(workspace: Workspace, llm: LlmClient, from_start: frozenset[int], run: _RunContext) -> LlmExtractionReport:
    """Announce the questions, ask them, and return the result. If the model has no trial score, it takes the trial first. A dry run
    only counts questions.
    """
    options, within = run.options, _time_limits(workspace, run.options)
    coming = _announce_questions(workspace, llm, options, from_start, within)
    score = load_score(workspace)
    if not (score.passes or score.failed) and coming.questions + coming.cached:
        score = take_trial(llm, score.model)
        llm.resume()
    if score.failed:
        llm.tell(f"{FAILED} ({score.text}). {OVERRULE}")
    elif score.unread and coming.questions and not options.dry:
        llm.tell(f"{UNTRIED_TOO} ({score.unread[0]}). {OVERRULE}")
    report = extract_with_llm(
        workspace,
        run.number,
        llm,
        by=workspace.settings.llm.name,
        trust=Trust.CLAIMS if score.passes else Trust.NOTHING,
        limits=llm.token_limits,
        from_start=from_start,
        within=within,
        occasion=options.occasion,
        progress=run.progress,
        late=run.late,
    )
    if options.dry:
        llm.tally.would = coming
    return report


def _may_curate(workspace: Workspace, options: RunOptions) -> bool:
    """True if a model may be asked about memories and days: it passed its trial or, in a dry run, has not failed it."""
    score = load_score(workspace)
    return score.passes or (options.dry and not score.failed)


def _import_outside_changes(workspace: Workspace, paths: Sequence[Path], options: RunOptions, run: RunNumber) -> tuple[str, ...]:
    """Import the memories that clients store themselves (if the settings name them and the run covers everything), and the changes
    of the person's other machines. Returns the problems.
    """
    if options.dry:
        return ()
    if not paths:
        import_client_notes(workspace, run)
    return pull_changes(workspace, run).problems


def _make_deadline(seconds: float) -> Late:
    """A function that returns True once ``seconds`` have passed from now. With 0 seconds it always returns False."""
    until = monotonic() + seconds
    return (lambda: monotonic() > until) if seconds else never_late


def _announce_questions(
    workspace: Workspace, asking: LlmClient, options: RunOptions, from_start: frozenset[int], within: Within | None
) -> Estimate:
    """Show the person the questions before they are asked. With ``force``, quarantined questions are asked again."""
    asking.retry = options.force
    coming = estimate_run(workspace, asking, from_start=from_start, within=within, occasion=options.occasion, dry=options.dry)
    if not options.dry and not asking.missing:
        asking.announce(coming)
    elif coming.questions and (short := asking.find_shortfall(coming)):
        asking.tell(f"The budget of {short} does not allow all of these questions now")
    return coming


def _discover_files(workspace: Workspace, paths: Sequence[Path], options: RunOptions) -> FilesToRead:
    """Return the files to read, restricted to ``options.only``. At a session's end the paths come from a hook, not a person."""
    found = discover(workspace, paths, force=options.force)
    found = found.as_hooked() if options.occasion is Occasion.SESSION_END else found
    found = found if paths or options.dry else _add_queued(workspace, found, force=options.force)
    if options.only is None:
        return found
    chosen = {path: source for path, source in found.files.items() if not options.only.isdisjoint((path, source.name))}
    return replace(found, files=chosen)


def _add_queued(workspace: Workspace, found: FilesToRead, *, force: bool) -> FilesToRead:
    """Add the transcripts that hooks have named since the last run. They may be in any folder."""
    named = [path for transcript in take_queued_transcripts(str(workspace.paths.state)) if (path := Path(transcript)).is_file()]
    if not named:
        return found
    more = discover(workspace, named, force=force)
    skipped = tuple(dict.fromkeys((*more.skipped, *found.skipped)))
    # Files from hooks come first, because they may be outside the known folders.
    files, read = {**more.files, **found.files}, {**more.read, **found.read}
    return replace(found, files=files, read=read, skipped=skipped, hooked=found.hooked | set(more.files))


def _update_vectors(workspace: Workspace, report: RunReport, progress: Progress, *, has_changes: bool) -> None:
    """Update the vectors if anything is new (``has_changes``). Vectors that an earlier run left to the night do not delay this run.
    A failure is only reported, because search by words works without vectors.
    """
    try:
        if has_changes:
            report.embedded = update_index(workspace, workspace.settings.recall.run_seconds, progress)
            if workspace.settings.store.url and workspace.store.away_since is None:
                from kept.recall.server_search import send_vectors  # noqa: PLC0415 - few stores have a server

                send_vectors(workspace)
        else:
            count_uses(workspace)
    except UNMADE as error:
        report.written.problems.append(f"search by meaning is not up to date: {error}")


def _ensure_backup(workspace: Workspace, written: WriteReport) -> bool:
    """Make the day's backup before its first curation. Returns False, with a problem, if that fails. Then nothing is curated."""
    try:
        make_daily_backup(workspace)
    except StoreError as error:
        written.problems.append(f"nothing was curated, because no backup could be made: {error}")
        return False
    return True


def has_interrupted_run(workspace: Workspace) -> bool:
    """True if the last run was interrupted."""
    last: tuple[Run, ...] = workspace.store.log.runs(1)
    return bool(last) and last[0].ended_at is None


def _time_limits(workspace: Workspace, options: RunOptions) -> Within | None:
    if options.since is None and options.until is None:
        return None
    start = workspace.day_bounds(options.since)[0] if options.since else None
    stop = workspace.day_bounds(options.until)[1] if options.until else None
    return (start, stop)


def _fill_report_counts(workspace: Workspace, report: RunReport) -> None:
    census = workspace.store.log.count_memories(workspace.clock())
    fresh = filter(None, (workspace.store.log.memory(item) for item in sorted(workspace.store.log.memory_ids() - report.before)))
    by_status = [(memory.status_at(workspace.clock()), memory) for memory in fresh]
    report.new = tuple(memory for status, memory in by_status if status is Status.ACTIVE)
    report.asked_about = tuple(memory for status, memory in by_status if status is Status.HELD)
    report.active = sum(count for (status, *_), count in census.items() if status is Status.ACTIVE)
    report.held = sum(count for (status, *_), count in census.items() if status is Status.HELD)
    report.days = len(report.reading.days)
    report.names = workspace.scope_names()
    report.outdated = len(find_outdated_memories(workspace))


def sample_files() -> list[Path]:
    """The transcripts of the sample. Empty if this build of kept does not contain them."""
    return sorted((Path(__file__).parents[1] / "sample").rglob("*.jsonl"))
