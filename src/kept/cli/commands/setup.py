"""``kept setup``, ``schedule``, ``uninstall``: install hooks, sections and the nightly job, and remove them again."""

import os
import sys
from collections.abc import Iterator, Mapping

from kept.cli.command_support import check_choice, command_home, command_workspace, confirm, is_interactive
from kept.cli.commands.run import run_and_report
from kept.cli.console import (
    Line,
    format_count,
    format_path,
    format_size,
    hanging_line,
    line,
    write_answer,
    write_json,
    write_line,
    write_lines,
)
from kept.cli.lists import step_line
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump
from kept.core.errors import KeptError, UsageError
from kept.install.schedule import InstalledJob, find_dead_program, install_job, job_files, list_installed_jobs
from kept.install.schedule import uninstall_job as uninstall_schedule
from kept.install.setup import (
    SettingsChange,
    UninstallReport,
    delete_own_folders,
    has_server,
    hooked_clients,
    install_hooks,
    plan_hooks,
    plugin_clients,
    record_program_path,
    remove_outputs,
    section_clients,
    uninstall_kept,
    uninstall_system_parts,
    used_clients,
)
from kept.intake.survey import survey
from kept.local.clients import CLAUDE, CODEX, Client
from kept.memories.browse import WORDS
from kept.memories.configure import change_setting, load_setting
from kept.paths import Paths
from kept.pipeline.importing import count_importable_notes
from kept.pipeline.nightly import NightReport, load_last_night, record_failed_start, run_nightly
from kept.pipeline.run import RunOptions
from kept.workspace import Workspace, open_workspace, utc_now


def setup(
    call: GlobalOptions,
    *,
    yes: bool = False,
    only_show: bool = False,
    hooks: bool = True,
    sections: bool = True,
    allow: bool = True,
    nightly: bool = True,
    at: str = "",
) -> int:
    """Install hooks, sections and the nightly job: show exactly what is written where, write it, and run once."""
    home = command_home(call)
    with command_workspace(call, dry=only_show) as workspace:
        write_lines(_survey_lines(workspace))
        memory_file = workspace.profile.outputs.memory_file
    changes = plan_hooks(home, hooks=hooks, allow=allow and load_setting(home, "handover") != "off")
    readers = tuple(client for client in section_clients(home) if sections and client.name not in load_setting(home, "sections"))
    jobs = list_installed_jobs(home, os.environ)
    dead_job = next((job for job in jobs if find_dead_program(job)), None)
    job_line = _plan_job_line(jobs, dead_job, at or "02:30") if nightly else None
    write_lines(_plan_lines(home, changes, readers, memory_file, job_line, hooks=hooks, allow=allow, whole=only_show))
    if only_show:
        return 0
    if not yes:
        if not is_interactive():
            raise UsageError("there is no terminal to ask on", hint="kept setup --yes, or --show to only look")
        if not confirm("Write this, and run kept once?"):
            write_line("Nothing was changed.")
            return 0
    if readers:
        change_setting(home, "sections", ",".join([*load_setting(home, "sections"), *(client.name for client in readers)]))
    code = 0
    for hook in install_hooks(home, changes):
        write_line("Wrote ", format_path(hook.path), (f"  {hook.what}", "dim"))
    if nightly and (dead_job or not jobs):
        code = _install_job(call, home, at=at, kind=dead_job.kind if dead_job else "")
    elif not jobs and load_setting(home, "at_session_end") != "run":
        hint = " → kept config set at_session_end run reads each one when it ends"
        write_line(("Without a nightly job, sessions are read when you call kept run", "yellow"), (hint, "dim"))
    code = max(code, run_and_report(call, RunOptions(), ask=not yes))
    record_program_path(home, overwrite=True)
    return code


def _install_job(call: GlobalOptions, home: Paths, *, at: str, kind: str) -> int:
    """Install the nightly job. If no scheduler would run it, have each session read when it ends. Returns the exit code."""
    code, runs = 0, False
    try:
        done = install_job(home, os.environ, at=at, zone=call.zone or "", kind=kind)
        write_lines(_installed_lines(done))
        runs = done.enabled
    except KeptError as error:
        write_line((f"no nightly job was installed: {error}", "yellow"))
        code = 1
    if not runs and hooked_clients(home) and home.root == home.user:
        change_setting(home, "at_session_end", "run")
        hint = " → kept config set at_session_end queue stops that"
        write_line(("Instead, each session is read when it ends", "yellow"), (hint, "dim"))
    return code


def _survey_lines(workspace: Workspace) -> Iterator[Line]:
    surveyed = survey(workspace)
    total = sum(tool_survey.size for tool_survey in surveyed.tools)
    read = [tool_survey for tool_survey in surveyed.tools if tool_survey.files]
    yield line(
        (f"Found {format_count(sum(tool_survey.files for tool_survey in read), 'transcript')}, {format_size(total)}", "bold"),
        " → kept sources",
    )
    for item in read:
        yield line(f"  {item.name:<16}{format_count(item.files, 'file'):>13}  {format_size(item.size):>9}")
    for tool, count in count_importable_notes(workspace).items():
        what = f"{format_count(count, 'note')} {WORDS['notes'][tool]}, not read automatically"
        yield line(f"  {what}", f" → kept import --from {tool} imports them once, for your review")
    if not any(workspace.store.archive.threads()):
        took = f"Reading them for the first time takes about {max(1, round(total / 2_000_000)):,} s; no key, no network."
        yield line((took, "dim"))


def _plan_lines(
    home: Paths,
    changes: tuple[SettingsChange, ...],
    readers: tuple[Client, ...],
    memory_file: str,
    job_line: Line | None,
    *,
    hooks: bool,
    allow: bool,
    whole: bool,
) -> Iterator[Line]:
    yield line(("This will be written:", "bold"))
    for change in changes:
        yield hanging_line([("  ", "")], format_path(change.path), (f"  {change.what}; the rest stays as it is", "dim"))
        if whole:
            yield from (line((f"      {text}", "dim")) for text in change.text.splitlines())
    if hooks and not changes:
        names = ", ".join(dict.fromkeys(client.name for client in (*hooked_clients(home), *plugin_clients(home))))
        yield line(
            (f"  no hooks: {f'{names} calls kept already' if names else 'neither Claude Code nor Codex is used here'}", "dim")
        )
    if allow and CLAUDE in used_clients(home) and CLAUDE not in plugin_clients(home) and not has_server(home):
        step = " → claude mcp add --scope user kept -- kept mcp"
        yield hanging_line([("  ", "")], "the MCP server with that tool is not added to claude; add it yourself", (step, "dim"))
    for reader in readers:
        what = "  a section of memories, at most half the size of memory.md; the rest stays as it is"
        yield hanging_line([("  ", "")], format_path(home.of(reader) / reader.instructions), (what, "dim"))
    if CODEX in used_clients(home) and changes:
        yield line(("  Codex asks you once whether it may call these hooks", "dim"))
    if job_line is not None:
        yield job_line
    if memory_file:
        by_hook = "  memories that apply everywhere, once there are any; the hook adds the memories of a project"
        called = (hooks and CLAUDE in used_clients(home)) or CLAUDE in (*hooked_clients(home), *plugin_clients(home))
        what = by_hook if called else "  your memories; edit it as you like"
        yield hanging_line([("  ", "")], format_path(home.output_path(memory_file)), (what, "dim"))
    yield hanging_line(
        [("  ", "")],
        format_path(home.state),
        ("  the store; kept uninstall removes everything else, with --purge also the store", "dim"),
    )


def _plan_job_line(jobs: tuple[InstalledJob, ...], dead_job: InstalledJob | None, at: str) -> Line:
    if dead_job is not None:
        what = f"  the nightly job of {dead_job.kind} again, at {at}: it calls {find_dead_program(dead_job)}, which cannot be run"
    else:
        what = f"  {jobs[0].kind} runs kept already" if jobs else f"  the nightly job, at {at}"
    return line(what, (" → kept schedule install --show", "dim"))


def uninstall(call: GlobalOptions, *, everything: bool = False, yes: bool = False) -> int:
    """Remove every hook, schedule, file and line that kept added. The store stays, unless you give --purge.

    Text that you added to kept's files is saved elsewhere; the command says where.
    """
    if everything and not yes:
        if not is_interactive():
            raise UsageError("--purge deletes all memories", hint="kept export first, then kept uninstall --purge --yes")
        if not confirm(("Delete all memories for good?", "bold red")):
            write_line("Nothing was changed.")
            return 0
    home = command_home(call)
    left = _uninstall_outside(call, home)
    write_lines(_uninstall_lines(left))
    if left.problems:
        return 1
    if everything and any(".db" not in path.name for path in (home.state / "aside").glob("*")):
        write_line(("Not purged: the folder to be deleted has copies of your files: ", "yellow"), format_path(home.state / "aside"))
        write_line("Move them, then run this again.")
        return 1
    for client in plugin_clients(home):
        write_line((f"You must remove the plugin of {client.name} yourself", "yellow"), f" → {client.remove_plugin}")
    if everything:
        gone, links = delete_own_folders(home)
        write_lines(line("Deleted ", format_path(folder)) for folder in gone)
        write_lines(
            line(
                ("Not deleted, because it is a link: ", "yellow"),
                f"{format_path(folder)} → {folder.resolve()}. Delete both yourself.",
            )
            for folder in links
        )
        if links:
            return 1
    elif home.state.exists():
        write_line("The store stays in ", format_path(home.state), " → kept uninstall --purge deletes it")
    sys.stdout.flush()
    return 0


def _uninstall_outside(call: GlobalOptions, home: Paths) -> UninstallReport:
    if not home.store.exists():  # the store is already gone; remove the rest
        left = uninstall_system_parts(home, os.environ)
        try:
            with open_workspace(home, dry=True, new_store=True) as workspace:
                remove_outputs(workspace, left)
        except KeptError as error:
            left.problems.append(str(error))
        return left
    with command_workspace(call) as workspace:
        return uninstall_kept(workspace, os.environ)


def _uninstall_lines(left: UninstallReport) -> Iterator[Line]:
    for item in left.removed:
        yield line("Removed ", format_path(item) if item.startswith("/") else item)
    for item in left.quarantined:
        yield line(("Saved, because you wrote in it: ", "yellow"), format_path(item))
    for item in left.problems:
        yield line((item, "red"))


_ACTIONS = ("status", "install", "uninstall", "run")


def schedule(
    call: GlobalOptions, action: str = "status", *, at: str = "", kind: str = "", only_show: bool = False, as_json: bool = False
) -> int:
    """Install, show or remove the nightly job: a run, `kept sleep`, a check and a backup of the store.

    The job runs at low priority without a terminal, and records the result of each step. The next run makes up for a missed night.
    It stops reading and asking a model after `night_minutes` (240). `--tz` sets the time zone of `--at`, if the scheduler supports
    zones (systemd).
    """
    home = command_home(call)
    match check_choice(action, _ACTIONS, "schedule"):
        case "install" if only_show:
            planned = job_files(home, os.environ, at=at, zone=call.zone or "", kind=kind)
            write_json(planned) if as_json else write_lines(_job_lines(planned))
        case "install":
            job = install_job(home, os.environ, at=at, zone=call.zone or "", kind=kind)
            write_json(dump(job)) if as_json else write_lines(_installed_lines(job))
            return 0 if job.enabled or home.root != home.user else 1
        case "uninstall":
            removed = uninstall_schedule(home, os.environ)
            write_json(list(removed)) if as_json else write_lines(_removed_lines(removed))
        case "run":
            try:
                with command_workspace(call) as workspace:
                    night = run_nightly(workspace)
            except (KeptError, OSError) as error:
                record_failed_start(home, utc_now(), error)
                raise
            if as_json:
                write_json(dump(night))
            elif not call.quiet or night.failed:
                write_lines(_night_lines(night))
            return int(bool(night.failed))
        case "status":
            installed_jobs, night_before = list_installed_jobs(home, os.environ), load_last_night(home)
            body = {"installed": dump(installed_jobs), "last_night": dump(night_before)}
            write_answer(lambda: body, _schedule_lines(installed_jobs, night_before), as_json=as_json)
    return 0


def _job_lines(planned: Mapping[str, str]) -> Iterator[Line]:
    for place, text in planned.items():
        yield line((format_path(place), "bold"))
        yield from (line(f"    {item}") for item in text.splitlines())
    yield line(("Nothing was written.", "dim"))


def _installed_lines(done: InstalledJob) -> Iterator[Line]:
    for place in done.places:
        yield line("Wrote ", format_path(place))
    if done.enabled:
        yield line((f"{done.kind} runs kept every night", "green"), " → kept schedule status")
    else:
        fails = done.kind == "systemd" and not done.detail.startswith("a trial")
        step = " → kept schedule install --with cron, or let systemd run without a session: loginctl enable-linger" if fails else ""
        yield line((f"{done.kind} does not run it yet: {done.detail or 'it gave no reason'}", "yellow"), (step, "dim"))


def _removed_lines(removed: tuple[str, ...]) -> Iterator[Line]:
    for item in removed:
        yield line("Removed ", format_path(item))
    if not removed:
        yield line("Nothing was installed.")


def _night_lines(night: NightReport) -> Iterator[Line]:
    if night.busy:
        yield line("Another run is under way; it does the work.")
    yield from (step_line(step.name, step.detail, done=step.done) for step in night.steps)


def _schedule_lines(jobs: tuple[InstalledJob, ...], night: NightReport | None) -> Iterator[Line]:
    if not jobs:
        yield line("No nightly job is installed", " → kept schedule install")
    for job in jobs:
        runs = ("runs every night", "green") if job.enabled else ("is written, but the system does not run it", "yellow")
        yield line(f"{job.kind} ", runs, (f"  {', '.join(job.places)}  {job.detail}".rstrip(), "dim"))
    if night is not None:
        yield line(f"Last night ({night.at:%Y-%m-%d %H:%M} UTC):")
        yield from _night_lines(night)
