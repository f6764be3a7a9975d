"""``kept run``: the main job, with its progress and report. Without transcripts it runs on the bundled sample.

``kept backfill`` reads a large archive. ``kept sleep`` is the nightly consolidation alone. ``kept upgrade`` extracts again with the
current rules, after a preview.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kept.cli.command_support import (
    check_choice,
    command_home,
    command_workspace,
    confirm,
    is_interactive,
    parse_days,
    progress_if_shown,
)
from kept.cli.commands.sources import follow_root
from kept.cli.console import Line, format_count, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.cli.model_use import offer_model, searchable_line, unknown_language_line, without_model_line
from kept.cli.registry import GlobalOptions
from kept.cli.report import idle_line, is_idle, outdated_lines, pending_lines, problem_lines, report_lines
from kept.core.codec import json_fields
from kept.core.errors import BusyError, KeptError
from kept.core.memory import Memory, Status
from kept.install.setup import record_program_path
from kept.local.agents_shell import agent_variable
from kept.local.queue import SESSION
from kept.local.settings.tables import SourceRoot
from kept.local.workers import count_processors
from kept.memories.waiting import count_pending_proposals, list_new_wishes, list_pending_proposals
from kept.paths import Paths, sample_env, sample_home
from kept.pipeline.backfill import backfill as backfill_archive
from kept.pipeline.follow_roots import find_unfollowed
from kept.pipeline.run import RunOptions, run_pipeline, sample_files
from kept.pipeline.run_report import RunReport
from kept.pipeline.sleep import run_sleep
from kept.pipeline.upgrade import UpgradeReport, preview_upgrade, run_upgrade
from kept.profiles.profile import Occasion
from kept.recall.indexing import vector_status
from kept.workspace import Workspace, open_workspace, utc_now


def run(
    call: GlobalOptions,
    paths: list[Path] | None = None,
    *,
    no_llm: bool = False,
    since: str = "",
    until: str = "",
    dry_run: bool = False,
    force: bool = False,
    accept_loss: bool = False,
    occasion: str = "nightly",
    follow: bool = False,
    as_json: bool = False,
) -> int:
    """Read what is new, remember what matters, write the memory file.

    Your own edits in the memory file are applied first. If a run is interrupted, nothing is lost, and the next one continues.
    """
    options = RunOptions(
        dry=dry_run,
        force=force,
        allow=accept_loss,
        model=not no_llm,
        agent=bool(agent_variable(os.environ)),
        processes=count_processors(),
        occasion=Occasion(check_choice(occasion, tuple(occasion.value for occasion in Occasion), "--occasion")),
    )
    try:
        if since or until:
            with command_workspace(call) as workspace:
                first, last = parse_days(workspace, since, until)
            options = replace(options, since=first, until=last)
        return run_and_report(call, options, paths or [], follow=follow, as_json=as_json)
    except BusyError as busy:
        if as_json:
            write_json({"busy": str(busy)})
            return 0
        raise


def run_and_report(
    call: GlobalOptions,
    options: RunOptions,
    paths: Sequence[Path] = (),
    *,
    follow: bool = False,
    as_json: bool = False,
    ask: bool = True,
) -> int:
    """Run and print the report. If ``ask``, a person at a terminal is asked, once, which language model kept may use."""
    verbose = not (as_json or call.quiet)
    if follow and not options.dry:  # before reading, because the settings of a followed folder affect how it is read
        with command_workspace(call) as workspace:
            for place in find_unfollowed(workspace, paths):
                follow_root(workspace.paths, SourceRoot(path=str(place)), tell=verbose)
    with _note_outcome(command_home(call), options.occasion), command_workspace(call) as workspace:
        report = _run_with_progress(workspace, paths, options, call, as_json=as_json)
        home = workspace.paths
        if not options.dry:
            record_program_path(home)
        if _is_nothing_found(workspace, report, paths):
            code, again = _run_on_sample(home, options, call, as_json=as_json), False
        else:
            code = _print_report(workspace, report, options, call, as_json=as_json)
            if report.sources and not options.dry:
                _offer_to_follow(workspace, paths, verbose=verbose)
            again = ask and verbose and options.model and not options.dry and offer_model(workspace)
    return run_and_report(call, options, paths, as_json=as_json, ask=False) if again else code


def _offer_to_follow(workspace: Workspace, paths: Sequence[Path], *, verbose: bool) -> None:
    """Offer to follow the folders that the person named."""
    for place in find_unfollowed(workspace, paths) if verbose else ():
        if is_interactive():
            if confirm(f"Read {format_path(place)} at every run from now on?"):
                follow_root(workspace.paths, SourceRoot(path=str(place)), tell=verbose)
        else:
            write_line(
                (f"{format_path(place)} was read only this time", "dim"), " → to read it at every run: kept sources add PATH"
            )


@contextmanager
def _note_outcome(home: Paths, occasion: str) -> Iterator[None]:
    """Record the error of a run at the end of a session, because nobody watches it. The next such run that succeeds clears it."""
    wrong = {}
    try:
        yield
    except BusyError:
        raise
    except (KeptError, OSError) as error:
        wrong = {"end": str(error)}
        raise
    finally:
        if occasion == Occasion.SESSION_END and home.state.is_dir():
            from kept.pipeline.nightly import record_failures  # noqa: PLC0415 - other runs do not load the nightly job

            record_failures(home, SESSION, wrong, utc_now())


def _run_with_progress(
    workspace: Workspace, paths: Sequence[Path], options: RunOptions, call: GlobalOptions, *, as_json: bool, sample: bool = False
) -> RunReport:
    if not (call.quiet or as_json):
        options = replace(options, tell=lambda sentence: write_line((sentence, "yellow"), stream=sys.stderr))
    if workspace.llm is not None:
        workspace.llm.tell = options.tell
    with progress_if_shown(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
        return run_pipeline(workspace, paths, options, sample=sample, progress=progress)


def _is_nothing_found(workspace: Workspace, report: RunReport, paths: Sequence[Path]) -> bool:
    """True if kept can read nothing on this machine and has never read anything."""
    read = (
        paths or report.sources or report.reading.skipped or any(workspace.store.archive.files()) or workspace.settings.sources_off
    )
    return not (read or workspace.store.log.memories())


def _run_on_sample(home: Paths, options: RunOptions, call: GlobalOptions, *, as_json: bool) -> int:
    if not sample_files():
        write_line("No transcripts were found on this machine.", " → kept run PATH")
        return 0
    sample = sample_home(home)
    with open_workspace(sample, profile=call.profile, zone=call.zone, env=sample_env(sample, os.environ)) as workspace:
        report = _run_with_progress(workspace, sample_files(), options, call, as_json=as_json, sample=True)
        if not (as_json or call.quiet):
            text = "No transcripts were found on this machine: this is kept's bundled sample. Nothing of yours was read or changed."
            write_line((text, "yellow"))
        code = _print_report(workspace, report, options, call, as_json=as_json)
        if not (as_json or call.quiet):
            write_line((f"Look around in the sample: kept list --home {format_path(sample.root)}", "dim"))
        return code


def _waiting_texts_lines(workspace: Workspace) -> Iterator[Line]:
    vectors = vector_status(workspace)
    if vectors.model and vectors.waiting:
        text = format_count(vectors.waiting, "text waits", "texts wait")
        yield line(f"{text} for search by meaning", " → kept schedule run")


def _print_report(workspace: Workspace, report: RunReport, options: RunOptions, call: GlobalOptions, *, as_json: bool) -> int:
    if as_json:
        write_json(report.body())
    elif call.quiet:
        write_lines(problem_lines(report, verbose=False), sys.stderr)
    elif is_idle(report):
        write_lines([idle_line(report, count_pending_proposals(workspace)[1]), *outdated_lines(report)])
    else:
        pool = () if options.dry else list_pending_proposals(workspace)  # the proposals of a dry run are not in the store
        write_lines(report_lines(workspace, report, options, verbose=call.verbose))
        if not options.dry:
            new = {memory.id for memory in report.asked_about} | list_new_wishes(workspace, report.run) if pool else ()
            write_lines(pending_lines(pool, new))
            write_lines(_waiting_texts_lines(workspace))
            about = searchable_line(workspace), unknown_language_line(workspace)
            write_lines(filter(None, [*about, without_model_line(workspace, first=report.run == 1)]))
    return int(report.partly)


def backfill(
    call: GlobalOptions, *, paths: list[str], scheduler: str = "", processes: int = 0, no_llm: bool = False, as_json: bool = False
) -> int:
    """Read a large archive with several processes. The result is the same as with kept run.

    If it is interrupted, nothing is lost, and the next run continues. Workers on other machines must see the archive under the same
    path. Files at an address (s3://…, https://…) are copied to this machine while they are read.
    """
    options = RunOptions(model=not no_llm, agent=bool(agent_variable(os.environ)))
    with command_workspace(call) as workspace:
        with progress_if_shown(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
            report = backfill_archive(
                workspace, paths, options, scheduler=scheduler, processes=processes or count_processors(), progress=progress
            )
        return _print_report(workspace, report, options, call, as_json=as_json)


def sleep(call: GlobalOptions, *, accept_loss: bool = False, as_json: bool = False) -> int:
    """Retire memories that their project no longer mentions, count old memories to check, and update the files.

    The nightly job includes it (kept schedule).
    """
    with command_workspace(call) as workspace:
        done = run_sleep(workspace, allow=accept_loss)
        if as_json:
            write_json(
                {
                    "retired": [memory.id for memory in done.retired],
                    "stopped": done.stopped,
                    "lingering": done.lingering,
                    "outputs": [{"path": path, "bytes": size} for path, size in done.written.files],
                    "problems": done.written.problems,
                }
            )
        else:
            lines = [
                hanging_line([(memory.id, "yellow"), ("  ", "")], memory.content, ("  (faded)", "dim")) for memory in done.retired
            ]
            lines += [line((f"stopped by the guard: {item} → kept sleep --accept-loss", "red")) for item in done.stopped]
            if done.lingering:
                text = format_count(done.lingering, "old memory is unconfirmed", "old memories are unconfirmed")
                lines.append(line((text, "yellow"), " → kept review --stale"))
            lines += _waiting_texts_lines(workspace)
            if not lines and not call.quiet:
                lines.append(line("Nothing to do."))
            write_lines(lines)
            write_lines(line((problem, "red")) for problem in done.written.problems)
        return int(done.partly)


def upgrade(call: GlobalOptions, *, yes: bool = False, as_json: bool = False) -> int:
    """Retire memories that the current rules would not make, and restore people's own words. Shows a preview first."""
    with command_workspace(call) as workspace:
        report = preview_upgrade(workspace)
        if not as_json:
            write_lines(_format_upgrade(report, everything=not call.quiet))
        if (report.retired or report.made) and not yes:
            if as_json:
                write_json(_upgrade_body(report))
                return 0
            if not is_interactive() or not confirm("Do this now?"):
                write_line(("Nothing was changed.", ""), " → kept upgrade --yes")
                return 0
        done = run_upgrade(workspace) if report.retired or report.made else report
        if as_json:
            write_json(_upgrade_body(done))
        elif done.run:
            write_line((f"Done in run {done.run}.", ""), " → kept undo takes it back")
        write_lines(line((problem, "red")) for problem in done.problems)
        return int(bool(done.problems))


def _format_upgrade(report: UpgradeReport, *, everything: bool) -> list[Line]:
    if not (report.retired or report.made):
        return [line("Nothing to upgrade: no memory comes from rules of an earlier version.")]
    retired = format_count(len(report.retired), "memory retires", "memories retire")
    counts = f"{report.active} active, {len(report.retired) - report.active} held"
    made = f"{format_count(len(report.made), 'memory is', 'memories are')} restored in the person's own words"
    return [
        line((retired, "yellow"), f" ({counts}): no words of a person support them"),
        *(_upgrade_line("-", memory) for memory in report.retired if everything),
        line((made, "green")),
        *(_upgrade_line("+", memory) for memory in report.made if everything),
    ]


def _upgrade_line(mark: str, memory: Memory) -> Line:
    waits = ("  (held)", "dim") if memory.status is Status.HELD else ("", "")
    return hanging_line([(f"{mark} {memory.id}", "yellow"), ("  ", "")], memory.content, waits)


def _upgrade_body(report: UpgradeReport) -> dict[str, object]:
    names = ("id", "content", "category", "status")
    return json_fields(report, "run", "problems") | {
        "retired": [json_fields(memory, *names) for memory in report.retired],
        "made": [json_fields(memory, *names) for memory in report.made],
    }
