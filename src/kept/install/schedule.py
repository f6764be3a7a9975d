"""Install, look up and remove the nightly job in the system's scheduler.

A missed night needs no entry of its own: the next run reads whatever is new, whenever it comes.
"""

import os
import sys
from collections.abc import Mapping
from datetime import time
from pathlib import Path

from kept.core.errors import ConfigError, UsageError
from kept.install import schedulers
from kept.install.schedulers import InstalledJob, JobEntry, Run, SchedulerKind, run_command
from kept.local import files
from kept.local.settings import load_zone as known_zone
from kept.paths import Paths

AT = time(2, 30)


def install_job(
    home: Paths, env: Mapping[str, str], *, at: str = "", zone: str = "", kind: str = "", run: Run = run_command
) -> InstalledJob:
    """Enter the night's job (``at`` HH:MM, in a named zone where the scheduler knows zones). Entering it again replaces it.

    Where ``home`` is not the user's, the files are written below it and the system is told nothing: a trial never runs by itself.
    Raises UsageError for a time or zone that is none, ConfigError where the system has no scheduler that is known.
    """
    chosen, entry = _plan_job(home, env, at=at, zone=zone, kind=kind)
    wanted = schedulers.job_entry_files(chosen, entry, home.root, env)
    for path, text in wanted.items():
        files.write_if_unchanged(
            path,
            text.encode("utf-16" if chosen is SchedulerKind.WINDOWS else "utf-8"),
            expect=files.read_file(path).stamp,
            root=home.root,
        )
    if home.root != home.user:
        return InstalledJob(
            kind=chosen, places=tuple(map(str, wanted)), enabled=False, detail="a trial home: not registered with the system"
        )
    done = schedulers.enable_job(chosen, entry, tuple(wanted), run)
    return InstalledJob(kind=chosen, places=tuple(map(str, wanted)) or ("crontab",), enabled=not done.code, detail=done.out)


def job_files(home: Paths, env: Mapping[str, str], *, at: str = "", zone: str = "", kind: str = "") -> Mapping[str, str]:
    """What :func:`install_job` would write: text by place. Writes nothing. Raises UsageError, ConfigError."""
    chosen, entry = _plan_job(home, env, at=at, zone=zone, kind=kind)
    files_by_place = schedulers.job_entry_files(chosen, entry, home.root, env)
    return {str(path): text for path, text in files_by_place.items()} or {"crontab": f"{schedulers.cron_line(entry)}\n"}


def _plan_job(home: Paths, env: Mapping[str, str], *, at: str, zone: str, kind: str) -> tuple[SchedulerKind, JobEntry]:
    """The scheduler and what is entered with it. Raises UsageError, ConfigError."""
    chosen = _scheduler_kind(kind)
    if zone:
        known_zone(zone)
        if chosen is not SchedulerKind.SYSTEMD:
            raise UsageError(f"{chosen} does not support time zones", hint="leave --tz out: the time is the machine's own")
    return chosen, JobEntry(command=_job_command(home, env), at=_parse_time(at), zone=zone)


def uninstall_job(home: Paths, env: Mapping[str, str], *, run: Run = run_command) -> tuple[str, ...]:
    """Take every entry out of every scheduler this system has; what was taken out, in words. Every other line and file stays."""
    told: list[str] = []
    own = home.root == home.user
    for kind in SchedulerKind:
        places = [file for file in schedulers.job_entry_files(kind, _ANY, home.root, env) if file.is_file()]
        if own and (places or (kind is SchedulerKind.CRON and schedulers.find_crontab_line(run))):
            schedulers.disable_job(kind, places, run)
            told += [] if places else ["the line of the crontab"]
        for path in places:
            files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=home.root)
            told.append(str(path))
        for folder in dict.fromkeys(place.parent for place in places):
            _remove_empty_folders(folder, home.root)
    return tuple(told)


def _remove_empty_folders(folder: Path, root: Path) -> None:
    """Remove the folders of systemd that are left empty."""
    while folder.name in ("user", "systemd") and folder.is_relative_to(root):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def list_installed_jobs(home: Paths, env: Mapping[str, str], *, run: Run = run_command) -> tuple[InstalledJob, ...]:
    """Which entries stand, and whether the system runs them."""
    found = []
    for kind in SchedulerKind:
        places = tuple(str(file) for file in schedulers.job_entry_files(kind, _ANY, home.root, env) if file.is_file())
        line = schedulers.find_crontab_line(run) if kind is SchedulerKind.CRON and home.root == home.user else ""
        if places or line:
            command_result = (
                schedulers.query_job_state(kind, run)
                if home.root == home.user
                else schedulers.CommandResult(code=1, out="a trial home")
            )
            found.append(
                InstalledJob(
                    kind=kind,
                    places=places or ("crontab",),
                    enabled=not command_result.code and bool(command_result.out),
                    detail=command_result.out[:300],
                )
            )
    return tuple(found)


_ANY = JobEntry(command=("kept",), at=AT)


def _scheduler_kind(name: str) -> SchedulerKind:
    if name and name not in list(SchedulerKind):
        raise UsageError(f"there is no scheduler {name!r}", hint=f"one of: {', '.join(SchedulerKind)}")
    scheduler_kinds = (SchedulerKind(name),) if name else schedulers.available_schedulers()
    if not scheduler_kinds:
        raise ConfigError("this system has no scheduler that kept knows", hint="have `kept schedule run` started every night")
    return scheduler_kinds[0]


def _parse_time(text: str) -> time:
    try:
        return time.fromisoformat(text).replace(second=0, microsecond=0, tzinfo=None) if text else AT
    except ValueError as error:
        raise UsageError(f"{text!r} is no time of day", hint="write HH:MM, such as 02:30") from error


# What says where clients keep their files: a scheduler knows nothing of the shell that they are set in.
_VARIABLES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR"),
    *("OPENCODE_DB", "AIDER_CHAT_HISTORY_FILE", "VAULTS_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
)


def _job_command(home: Paths, env: Mapping[str, str]) -> tuple[str, ...]:
    """The command of the night's job: this very interpreter, so that no PATH decides which kept runs, and the folders of clients
    that the environment names now. Windows keeps its variables with the user.
    """
    script = Path(sys.executable).with_name("kept")
    program = (str(script),) if script.is_file() else (sys.executable, "-m", "kept")
    named = tuple(f"{name}={env[name]}" for name in _VARIABLES if env.get(name)) if os.name == "posix" else ()
    return (
        *(("/usr/bin/env", *named) if named else ()),
        *program,
        "schedule",
        "run",
        "--quiet",
        *(("--home", str(home.root)) if home.root != home.user else ()),
    )
