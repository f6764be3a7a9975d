"""``kept run``: the main job, its progress and its report. Without transcripts it runs on the bundled sample.

``kept sleep`` is the nightly consolidation on its own.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kept.cli import show
from kept.cli.call import Call
from kept.cli.front import asked, at_desk, home_of, key, on_terminal, one_of, progress_when
from kept.cli.model_offer import offer_model, searchable_line, without_model_line
from kept.cli.report import idle, idle_line, outdated_lines, report_lines, troubles, waiting_lines
from kept.cli.show import counted, entry, line
from kept.core.errors import BusyError, KeptError
from kept.install.setup import note_program
from kept.local.agents_shell import agents_sign
from kept.paths import Paths
from kept.pipeline.follow_roots import follow as follow_root
from kept.pipeline.follow_roots import unfollowed
from kept.pipeline.nightly import SESSION, note_failures
from kept.pipeline.run import Options, Report
from kept.pipeline.run import run as run_all
from kept.pipeline.sample_run import sample_files, sample_home
from kept.pipeline.sleep import sleep as do_sleep
from kept.profiles.profile import Occasion
from kept.workspace import Workspace, now, opened


def run(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH…", help="Files or folders to read; without any, every source found here.")
    ] = None,
    *,
    no_llm: Annotated[bool, typer.Option("--no-llm", help="Use no language model.")] = False,
    since: Annotated[str, typer.Option(metavar="DATE", help="Only sessions with events on this day or later.")] = "",
    until: Annotated[str, typer.Option(metavar="DATE", help="Only sessions with events on this day or earlier.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Read and analyse everything again.")] = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Let through what a guard stopped, and take a file that was set aside as your edit."),
    ] = False,
    occasion: Annotated[
        str, typer.Option(metavar="WHEN", help="real-time, session-end or nightly: profiles that are not extracted then wait.")
    ] = "nightly",
    follow: Annotated[bool, typer.Option("--follow", help="Read the given folders at every later run as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> int:
    """Read what is new, remember what matters, write the memory file.

    Your own edits in the memory file are taken over first. A run that is cut short loses nothing; the next one continues.
    """
    options = Options(
        dry=dry_run,
        force=force,
        allow=accept_loss,
        model=not no_llm,
        agent=bool(agents_sign(os.environ)),
        occasion=Occasion(one_of(occasion, tuple(each.value for each in Occasion), "--occasion")),
    )
    try:
        if since or until:
            with at_desk(context) as workspace:
                first = workspace.day(since) if since else None
                options = replace(options, since=first, until=workspace.day(until, last=True) if until else None)
        return run_and_tell(context, options, paths or [], follow=follow, as_json=as_json)
    except BusyError as busy:
        if as_json:
            show.write_json({"busy": str(busy)})
            return 0
        raise


def run_and_tell(
    context: typer.Context,
    options: Options,
    paths: Sequence[Path] = (),
    *,
    follow: bool = False,
    as_json: bool = False,
    ask: bool = True,
) -> int:
    """Run and print the report; ``ask`` lets a person at a terminal say which language model may be asked, once."""
    call = asked(context)
    told = not (as_json or call.quiet)
    with _note_outcome(home_of(context), options.occasion), at_desk(context) as workspace:
        report = _run_with_progress(workspace, paths, options, call, as_json=as_json)
        home = workspace.paths
        if not options.dry:
            note_program(home)
        if _empty(workspace, report, paths):
            code, again = _on_sample(home, options, call, as_json=as_json), False
        else:
            code = _tell(workspace, report, options, call, as_json=as_json)
            if report.sources and not options.dry:
                _offer(workspace, paths, follow=follow, told=told)
            again = ask and told and options.model and not options.dry and offer_model(workspace)
    return run_and_tell(context, options, paths, as_json=as_json, ask=False) if again else code


def _offer(workspace: Workspace, paths: Sequence[Path], *, follow: bool, told: bool) -> None:
    """Follow the folders a person named, where they said so or say so now."""
    for place in unfollowed(workspace, paths):
        wanted = follow
        if not follow and told and on_terminal():
            show.write([line(f"Read {show.format_path(place)} at every run from now on? ", ("[y/n] ", "dim"))])
            wanted = key("yn") == "y"
        if wanted:
            follow_root(workspace.paths, place)
            if told:
                show.write([line((show.format_path(place), "bold"), " is read by every run from now on.")])
        elif told:
            show.write([line((f"{show.format_path(place)} was read this once", "dim"), (" → kept sources add PATH", "dim"))])


@contextmanager
def _note_outcome(home: Paths, occasion: str) -> Iterator[None]:
    """A run at a session's end has nobody to tell: what stopped it is noted until one goes well."""
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
            note_failures(home, SESSION, wrong, now())


def _run_with_progress(
    workspace: Workspace, paths: Sequence[Path], options: Options, call: Call, *, as_json: bool, sample: bool = False
) -> Report:
    if workspace.llm is not None and not (call.quiet or as_json):
        workspace.llm.tell = lambda sentence: show.write([line((sentence, "yellow"))], sys.stderr)
    with progress_when(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
        return run_all(workspace, paths, options, sample=sample, progress=progress)


def _empty(workspace: Workspace, report: Report, paths: Sequence[Path]) -> bool:
    """Whether there is nothing at all on this machine that kept could read or has read."""
    read = (
        paths or report.sources or report.reading.skipped or any(workspace.store.archive.files()) or workspace.settings.sources_off
    )
    return not (read or workspace.store.log.memories())


def _on_sample(home: Paths, options: Options, call: Call, *, as_json: bool) -> int:
    if not sample_files():
        show.write([line("No transcripts were found on this machine.", (" → kept run PATH", "dim"))])
        return 0
    there = sample_home(home)
    with opened(there, profile=call.profile, zone=call.zone, env={"HOME": str(there.root)}) as workspace:
        report = _run_with_progress(workspace, sample_files(), options, call, as_json=as_json, sample=True)
        if not (as_json or call.quiet):
            show.write(
                [
                    line(
                        (
                            (
                                "No transcripts were found on this machine: this is kept's bundled sample. Nothing of yours was "
                                "read or changed."
                            ),
                            "yellow",
                        )
                    )
                ]
            )
        code = _tell(workspace, report, options, call, as_json=as_json)
        if not (as_json or call.quiet):
            show.write([line((f"Look around in the sample: kept list --home {show.format_path(there.root)}", "dim"))])
        return code


def _tell(workspace: Workspace, report: Report, options: Options, call: Call, *, as_json: bool) -> int:
    if as_json:
        show.write_json(report.body())
    elif call.quiet:
        show.write(troubles(report, verbose=False), sys.stderr)
    elif idle(report):
        show.write([idle_line(report), *outdated_lines(report)])
    else:
        lines = report_lines(
            report, options, profiles=workspace.profiles, names=workspace.names(), zone=workspace.zone, verbose=call.verbose
        )
        show.write([*lines, *waiting_lines(workspace), searchable_line(workspace)])
        show.write(filter(None, [without_model_line(workspace, first=report.run == 1)]))
    return int(report.partly)


def sleep(
    context: typer.Context,
    *,
    accept_loss: Annotated[bool, typer.Option("--accept-loss", help="Let through what a guard stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> int:
    """Retire what its project stopped naming, list what lingers, update the files."""
    with at_desk(context) as workspace:
        done = do_sleep(workspace, allow=accept_loss)
        if as_json:
            show.write_json(
                {
                    "retired": [each.id for each in done.retired],
                    "stopped": done.stopped,
                    "lingering": done.lingering,
                    "outputs": [{"path": path, "bytes": size} for path, size in done.written.files],
                    "problems": done.written.problems,
                }
            )
        else:
            lines = [entry([(each.id, "yellow"), ("  ", "")], each.content, ("  (faded)", "dim")) for each in done.retired]
            lines += [line((f"stopped by the guard: {each} → kept sleep --accept-loss", "red")) for each in done.stopped]
            if done.lingering:
                lines.append(
                    line(
                        (f"{counted(done.lingering, 'memory lingers', 'memories linger')}", "yellow"),
                        (" → kept review --stale", "dim"),
                    )
                )
            if not lines and not asked(context).quiet:
                lines.append(line("Nothing to do."))
            show.write(lines)
            show.write(line((each, "red")) for each in done.written.problems)
        return int(done.partly)
