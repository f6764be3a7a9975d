"""Install, query and remove the nightly job in the system's scheduler: systemd, launchd or cron.

Writes only its own files and a marked crontab line, and removes exactly those. Missed nights need no job of their own, because the
next run reads everything new.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import time
from enum import StrEnum
from pathlib import Path

from kept.core.errors import ConfigError, KeptError, UsageError
from kept.core.value import dataclass
from kept.local import files
from kept.local.settings import load_zone as known_zone
from kept.paths import Paths

UNIT = "kept-nightly"
LABEL = "dev.kept.nightly"
MARK = "# kept nightly"  # ends kept's line in the crontab
_SECONDS = 30

Run = Callable[[Sequence[str], str], "CommandResult"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """The result of a system command: its exit code (127 if there is no such command) and its output."""

    code: int
    out: str


class SchedulerKind(StrEnum):
    """The schedulers that can start the nightly job."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"
    CRON = "cron"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEntry:
    """The job to install: the command with its arguments, the time of day, and the time zone (empty: that of the system)."""

    command: tuple[str, ...]
    at: time
    zone: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledJob:
    """An installed job: its files (or ``crontab``), and whether the scheduler runs it. ``detail`` is the scheduler's own output."""

    kind: SchedulerKind
    places: tuple[str, ...]
    enabled: bool
    detail: str = ""


def run_command(words: Sequence[str], given: str = "") -> CommandResult:
    """Run a system command with ``given`` as its input, for at most 30 seconds. Bytes that are not UTF-8 become surrogates."""
    try:
        # The names of programs are fixed, and arguments are passed without a shell.
        data = given.encode("utf-8", "surrogateescape")
        done = subprocess.run(list(words), input=data, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except FileNotFoundError:
        return CommandResult(code=127, out=f"there is no command {words[0]}")
    except (OSError, subprocess.TimeoutExpired) as error:
        return CommandResult(code=126, out=str(error))
    if done.returncode:
        return CommandResult(code=done.returncode, out=(done.stdout + done.stderr).decode("utf-8", "replace").strip())
    return CommandResult(code=0, out=done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n"))


def available_schedulers(
    platform: str = sys.platform, find_program: Callable[[str], str | None] = shutil.which
) -> tuple[SchedulerKind, ...]:
    """The schedulers of this system, the preferred one first."""
    if platform == "darwin":
        return (SchedulerKind.LAUNCHD, *([SchedulerKind.CRON] if find_program("crontab") else []))
    return tuple(
        kind for kind, name in ((SchedulerKind.SYSTEMD, "systemctl"), (SchedulerKind.CRON, "crontab")) if find_program(name)
    )


def service_text(entry: JobEntry) -> str:
    """The text of the systemd service. It runs the job once per start, at low priority and without a terminal. Errors go to the
    system's journal.
    """
    return _load_unit("service").replace("COMMAND", " ".join(map(_quote_systemd, entry.command)))


def timer_text(entry: JobEntry) -> str:
    """The text of the systemd timer. It fires every night at the entry's time and zone. If the machine was off, it fires
    at startup.
    """
    return _load_unit("timer").replace("TIME", f"{entry.at:%H:%M}:00 {entry.zone}".rstrip())


def _load_unit(kind: str) -> str:
    return Path(__file__).with_name("units").joinpath(f"{UNIT}.{kind}").read_text(encoding="utf-8")


def _quote_systemd(word: str) -> str:
    """Quote a word for a systemd command line, so that systemd expands nothing in it."""
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{safe}"' if re.search(r"[^\w@+=:,./-]", safe) else safe


def launchd_text(entry: JobEntry) -> str:
    """The text of the launchd agent. It runs at the machine's local time and at low priority. If the machine was asleep, it runs on
    waking.
    """
    import plistlib  # noqa: PLC0415 - only macOS needs it

    body = {
        "Label": LABEL,
        "ProgramArguments": list(entry.command),
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 19,
        "StartCalendarInterval": {"Hour": entry.at.hour, "Minute": entry.at.minute},
        "RunAtLoad": False,
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": "/dev/null",
    }
    return plistlib.dumps(body).decode()


def cron_line(entry: JobEntry) -> str:
    """The crontab line. Its time is the machine's local time."""
    words = " ".join(_quote_shell(item) for item in entry.command)
    return f"{entry.at.minute} {entry.at.hour} * * * nice -n 19 {words} >/dev/null 2>&1 {MARK}"


def _quote_shell(word: str) -> str:
    if any(char in word for char in "\n\r\0"):
        raise UsageError("a crontab cannot contain a path with a line break", where=word[:80])
    return shlex.quote(word).replace("%", "\\%")


def units_folder(home: Path, env: Mapping[str, str]) -> Path:
    """The folder from which systemd reads a user's units."""
    given = env.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given and Path(given).is_relative_to(home) else home / ".config") / "systemd" / "user"


def job_entry_files(kind: SchedulerKind, entry: JobEntry, home: Path, env: Mapping[str, str]) -> Mapping[Path, str]:
    """Map the files of a job to their texts. Empty for cron, which uses a crontab line."""
    match kind:
        case SchedulerKind.SYSTEMD:
            folder = units_folder(home, env)
            return {folder / f"{UNIT}.service": service_text(entry), folder / f"{UNIT}.timer": timer_text(entry)}
        case SchedulerKind.LAUNCHD:
            return {home / "Library" / "LaunchAgents" / f"{LABEL}.plist": launchd_text(entry)}
        case SchedulerKind.CRON:
            return {}


def enable_job(kind: SchedulerKind, entry: JobEntry, places: Sequence[Path], run: Run = run_command) -> CommandResult:
    """Enable a job in the scheduler. Its files must exist already."""
    match kind:
        case SchedulerKind.SYSTEMD:
            reloaded = run(["systemctl", "--user", "daemon-reload"], "")
            return reloaded if reloaded.code else run(["systemctl", "--user", "enable", "--now", f"{UNIT}.timer"], "")
        case SchedulerKind.LAUNCHD:
            run(["launchctl", "bootout", _launchd_domain(), str(places[0])], "")
            return run(["launchctl", "bootstrap", _launchd_domain(), str(places[0])], "")
        case SchedulerKind.CRON:
            others = _other_crontab_lines(run)
            return run(["crontab", "-"], "".join(f"{item}\n" for item in (*others, cron_line(entry))))


def disable_job(kind: SchedulerKind, places: Sequence[Path], run: Run = run_command) -> CommandResult:
    """Remove a job from the scheduler. All other lines of a crontab stay unchanged."""
    match kind:
        case SchedulerKind.SYSTEMD:
            return run(["systemctl", "--user", "disable", "--now", f"{UNIT}.timer"], "")
        case SchedulerKind.LAUNCHD:
            return run(["launchctl", "bootout", _launchd_domain(), str(places[0])], "") if places else CommandResult(code=0, out="")
        case SchedulerKind.CRON:
            others = _other_crontab_lines(run)
            return run(["crontab", "-"], "".join(f"{other}\n" for other in others)) if others else run(["crontab", "-r"], "")


def find_crontab_line(run: Run = run_command) -> str:
    """Return kept's line in the crontab. Empty if there is none."""
    command_result = run(["crontab", "-l"], "")
    return (
        next((line for line in command_result.out.splitlines() if line.rstrip().endswith(MARK)), "")
        if not command_result.code
        else ""
    )


def _other_crontab_lines(run: Run) -> list[str]:
    """The lines of the crontab that are not kept's. Raises KeptError if there is a crontab that cannot be read."""
    command_result = run(["crontab", "-l"], "")
    if command_result.code and "no crontab" not in command_result.out:
        raise KeptError(f"the crontab cannot be read: {command_result.out[:200]}", hint="nothing was changed")
    lines = command_result.out.split("\n") if command_result.out and not command_result.code else []
    return [line for line in lines if not line.rstrip().endswith(MARK)]


def query_job_state(kind: SchedulerKind, run: Run = run_command) -> CommandResult:
    """Ask the scheduler about the job. The result's code is 0 if the job is enabled."""
    match kind:
        case SchedulerKind.SYSTEMD:
            return run(["systemctl", "--user", "list-timers", f"{UNIT}.timer", "--no-pager", "--no-legend"], "")
        case SchedulerKind.LAUNCHD:
            return run(["launchctl", "print", f"{_launchd_domain()}/{LABEL}"], "")
        case SchedulerKind.CRON:
            line = find_crontab_line(run)
            return CommandResult(code=0 if line else 1, out=line)


def _launchd_domain() -> str:
    return f"gui/{os.getuid()}"


AT = time(2, 30)


def install_job(
    home: Paths, env: Mapping[str, str], *, at: str = "", zone: str = "", kind: str = "", run: Run = run_command
) -> InstalledJob:
    """Install the nightly job at the time ``at`` (HH:MM), in ``zone`` if the scheduler supports zones. Replaces an existing job.

    If ``home`` is not the user's own, the files are written below it but the job is not enabled, because a trial home must not run
    automatically. Raises UsageError for an invalid time or zone, ConfigError if the system has no known scheduler.
    """
    chosen, entry = _plan_job(home, env, at=at, zone=zone, kind=kind)
    wanted = job_entry_files(chosen, entry, home.root, env)
    for path, text in wanted.items():
        files.write_if_unchanged(path, text.encode(), expect=files.read_file(path).stamp, root=home.root)
    if home.root != home.user:
        return InstalledJob(
            kind=chosen, places=tuple(map(str, wanted)), enabled=False, detail="a trial home: not registered with the system"
        )
    done = enable_job(chosen, entry, tuple(wanted), run)
    return InstalledJob(kind=chosen, places=tuple(map(str, wanted)) or ("crontab",), enabled=not done.code, detail=done.out)


def job_files(home: Paths, env: Mapping[str, str], *, at: str = "", zone: str = "", kind: str = "") -> Mapping[str, str]:
    """Map the files that :func:`install_job` would write (or ``crontab``) to their texts. Raises UsageError, ConfigError."""
    chosen, entry = _plan_job(home, env, at=at, zone=zone, kind=kind)
    files_by_place = job_entry_files(chosen, entry, home.root, env)
    return {str(path): text for path, text in files_by_place.items()} or {"crontab": f"{cron_line(entry)}\n"}


def _plan_job(home: Paths, env: Mapping[str, str], *, at: str, zone: str, kind: str) -> tuple[SchedulerKind, JobEntry]:
    """Choose the scheduler and make the job to install. Raises UsageError, ConfigError."""
    chosen = _scheduler_kind(kind)
    if zone:
        known_zone(zone)
        if chosen is not SchedulerKind.SYSTEMD:
            raise UsageError(f"{chosen} does not support time zones", hint="leave out --tz: times are in the machine's time zone")
    return chosen, JobEntry(command=_job_command(home, env), at=_parse_time(at), zone=zone)


def uninstall_job(home: Paths, env: Mapping[str, str], *, run: Run = run_command) -> tuple[str, ...]:
    """Remove the job from every scheduler of this system. Returns the removed files and lines. All others stay."""
    removed: list[str] = []
    own = home.root == home.user
    for kind in SchedulerKind:
        places = [file for file in job_entry_files(kind, _ANY, home.root, env) if file.is_file()]
        if own and (places or (kind is SchedulerKind.CRON and find_crontab_line(run))):
            disable_job(kind, places, run)
            removed += [] if places else ["the line of the crontab"]
        for path in places:
            files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=home.root)
            removed.append(str(path))
        for folder in dict.fromkeys(place.parent for place in places):
            remove_empty_folders(folder, lambda place: place.name in ("user", "systemd") and place.is_relative_to(home.root))
    return tuple(removed)


def remove_empty_folders(folder: Path, may_go: Callable[[Path], bool]) -> None:
    """Remove a folder if it is empty, then each parent that becomes empty, as long as ``may_go`` returns true for it."""
    while may_go(folder):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def list_installed_jobs(home: Paths, env: Mapping[str, str], *, run: Run = run_command) -> tuple[InstalledJob, ...]:
    """The installed jobs, and whether the scheduler runs them."""
    jobs = []
    for kind in SchedulerKind:
        places = tuple(str(file) for file in job_entry_files(kind, _ANY, home.root, env) if file.is_file())
        line = find_crontab_line(run) if kind is SchedulerKind.CRON and home.root == home.user else ""
        if places or line:
            command_result = query_job_state(kind, run) if home.root == home.user else CommandResult(code=1, out="a trial home")
            jobs.append(
                InstalledJob(
                    kind=kind,
                    places=places or ("crontab",),
                    enabled=not command_result.code and bool(command_result.out),
                    detail=command_result.out[:300],
                )
            )
    return tuple(jobs)


def find_dead_program(job: InstalledJob, *, run: Run = run_command) -> str:
    """Return the first program in an installed job's command that is named by a path and cannot be run. Empty if there is none."""
    cron = job.kind is SchedulerKind.CRON
    text = find_crontab_line(run) if cron else "\n".join(files.read_text(Path(place)) for place in job.places)
    programs = re.findall(r"(/[^\s\"'<>]*/(?:kept|python[\d.]*))(?=[\s\"'<])", text)
    return next((program for program in programs if not os.access(program, os.X_OK)), "")


_ANY = JobEntry(command=("kept",), at=AT)


def _scheduler_kind(name: str) -> SchedulerKind:
    if name and name not in list(SchedulerKind):
        raise UsageError(f"there is no scheduler {name!r}", hint=f"one of: {', '.join(SchedulerKind)}")
    scheduler_kinds = (SchedulerKind(name),) if name else available_schedulers()
    if not scheduler_kinds:
        raise ConfigError("this system has no scheduler that kept knows", hint="have `kept schedule run` started every night")
    return scheduler_kinds[0]


def _parse_time(text: str) -> time:
    try:
        return time.fromisoformat(text).replace(second=0, microsecond=0, tzinfo=None) if text else AT
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time of day", hint="write HH:MM, such as 02:30") from error


# The variables that set the folders of clients. They are part of the job, because a scheduler lacks the shell's environment.
_VARIABLES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR"),
    *("OPENCODE_DB", "AIDER_CHAT_HISTORY_FILE", "VAULTS_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
)


def _job_command(home: Paths, env: Mapping[str, str]) -> tuple[str, ...]:
    """The command of the nightly job. It names kept by its full path, because the PATH may lead to another kept. It also sets the
    variables for the folders of clients.
    """
    script = Path(sys.executable).with_name("kept")
    program = (str(script),) if script.is_file() else (sys.executable, "-m", "kept")
    named = tuple(f"{name}={env[name]}" for name in _VARIABLES if env.get(name))
    return (
        *(("/usr/bin/env", *named) if named else ()),
        *program,
        "schedule",
        "run",
        "--quiet",
        *(("--home", str(home.root)) if home.root != home.user else ()),
    )
