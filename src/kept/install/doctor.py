"""``kept doctor``: check the installation by using it, name a fix for each problem, and apply the fixes that need no person.

Checks change nothing permanently. A file that is written as a test is deleted again.
"""

import importlib.util
import os
import shutil
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from kept.changes import apply_person_change
from kept.core.errors import KeptError, StoreError
from kept.core.redact import hide_secrets
from kept.install.checks import (
    CheckFinding,
    check_folders,
    check_program,
    check_run_lock,
    check_settings_file,
    find_exposed_paths,
    make_fault,
    make_note,
    make_pass,
    run_limited,
)
from kept.install.client_checks import check_clients, find_misplaced_settings
from kept.install.schedule import SchedulerKind, find_dead_program, list_installed_jobs
from kept.install.setup import SettingsChange, hooked_clients, install_hooks, plan_hooks, record_program_path, used_clients
from kept.intake.survey import survey
from kept.llm.available import is_on_this_machine
from kept.local.queue import NIGHT, load_failures, load_hook_log, queue_path, read_lines
from kept.local.settings import LlmSettings, load_settings
from kept.memories.backups import recorded_backups
from kept.outputs.write import FileState, file_states
from kept.paths import Paths
from kept.pipeline.nightly import load_last_night
from kept.pipeline.trial import FAILED, OVERRULE, load_score
from kept.pipeline.usage import load_quarantined
from kept.recall.embed import MANY_PACK, PACK
from kept.store.postgres import NOT_COMPARED, connect_server
from kept.workspace import Workspace, open_workspace, refuse_lost_store, utc_now

_MISSED_DAYS = 3  # days without a nightly job after which this is reported
_OLD_BACKUP_DAYS = 30  # days after which the newest backup counts as too old
_UNKNOWN_SHARE = 0.1  # a larger share of unknown records is a fault: the disk is damaged, or the client changed its format
_WAITING = timedelta(days=3)  # if anything runs automatically, transcripts that hooks queue are read within this time
_DAY = timedelta(days=1)  # maximum difference of clocks
_LEAST = {PACK: 10_000_000, MANY_PACK: 30_000_000}  # minimum size of a complete model file in bytes
_MODEL_SECONDS = 30.0  # seconds within which a language model on this machine must answer
_UNASKED = "kept config try asks it one question"
_NEEDS_SETTINGS = ("store", "agents")  # skipped if the settings are invalid, because they would only report that again


def run_checks(home: Paths, *, profile: str | None = None, zone: str | None = None) -> tuple[CheckFinding, ...]:
    """Run all checks. A check that raises an error becomes a finding."""
    checks: tuple[tuple[str, Callable[[], Iterator[CheckFinding]]], ...] = (
        ("program", lambda: check_program(home)),
        ("settings", lambda: check_settings_file(home)),
        ("folder", lambda: check_folders(home)),
        ("store", lambda: _check_store(home, profile, zone)),
        ("meaning", _check_local_models),
        ("agents", lambda: check_clients(home)),
        ("hook log", lambda: _check_hook_log(home)),
        ("run", lambda: check_run_lock(home)),
        ("nights", lambda: _check_schedule(home)),
        ("extras", _check_extras),
    )
    check_findings: list[CheckFinding] = []
    for name, check in checks:
        if name in _NEEDS_SETTINGS and any(finding.name == "settings" and finding.ok is False for finding in check_findings):
            continue
        try:
            check_findings += check()
        except (KeptError, OSError, ValueError) as error:
            what, fix = (error.what, error.hint) if isinstance(error, KeptError) else (str(error), "")
            where = f" ({error.where})" if isinstance(error, KeptError) and error.where else ""
            check_findings.append(make_fault(name, f"{what}{where}", fix or "fix that, then run kept doctor again"))
    return tuple(dict.fromkeys(check_findings))


def apply_repairs(home: Paths, findings: Iterable[CheckFinding]) -> Mapping[str, str]:
    """Do the repairs that the findings name. Returns a description of each repair. Raises KeptError if one fails."""
    return {name: REPAIRS[name](home) for name in dict.fromkeys(finding.repair for finding in findings if finding.repair)}


def _make_private(home: Paths) -> str:
    for path in (home.state, *find_exposed_paths(home)):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return f"made {home.state} and its files private to you"


def plan_hook_repair(home: Paths) -> tuple[SettingsChange, ...]:
    """Return the changes that repair hooks. Raises ConfigError.

    Only agents are changed that call kept, or that did before an environment variable changed their folder. For other agents the
    person's consent is needed (``kept setup``).
    """
    calling = hooked_clients(home)
    own = [
        home.of(client) / client.file
        for client in used_clients(home)
        if client in calling or any(find_misplaced_settings(home, client))
    ]
    return tuple(hook for hook in plan_hooks(home, allow=False) if hook.path in own)


def _enter_hooks(home: Paths) -> str:
    return f"wrote the hooks to {', '.join(str(hook.path) for hook in install_hooks(home, plan_hook_repair(home))) or 'no file'}"


def _write_files(home: Paths) -> str:
    with open_workspace(home) as workspace:
        written = apply_person_change(workspace, lambda: None)[1]
    return f"wrote {', '.join(path for path, _ in written.files) or 'the files'}"


def _update_program_note(home: Paths) -> str:
    record_program_path(home, overwrite=True)
    return "recorded where this kept is installed"


REPAIRS: Mapping[str, Callable[[Paths], str]] = {
    "private": _make_private,
    "hooks": _enter_hooks,
    "files": _write_files,
    "program": _update_program_note,
}


def _check_store(home: Paths, profile: str | None, zone: str | None) -> Iterator[CheckFinding]:
    if not home.store.exists():
        refuse_lost_store(home)
        fix = "kept run makes one; kept restore FILE puts a backup back"
        yield make_note("store", "there is none", fix)
        return
    with open_workspace(home, profile=profile, zone=zone) as workspace:
        yield make_pass("settings", f"profiles {', '.join(profile.id for profile in workspace.profiles)}, zone {workspace.zone}")
        yield from _check_server(workspace)
        damage_found = workspace.store.find_damage()
        damage = [item for item in damage_found if not item.startswith(NOT_COMPARED)]  # the finding about the server has the reason
        yield CheckFinding(
            name="store", ok=not damage, detail=damage[0] if damage else "whole", fix="kept check, then kept restore FILE"
        )
        yield from _check_store_clock(workspace)
        yield from _check_sources(workspace)
        yield from _check_quarantined(workspace)
        yield from _check_outputs(workspace)
        yield from _check_language_model(workspace)
        noted = (path for path in recorded_backups(workspace.store.log) if path.is_file())
        copies = sorted({*home.backups.glob("*-*.db"), *noted}, key=lambda path: path.stat().st_mtime)
        newest = (workspace.clock().timestamp() - copies[-1].stat().st_mtime) / 86_400 if copies else None
        yield CheckFinding(
            name="backup",
            ok=newest < _OLD_BACKUP_DAYS if newest is not None else None,
            detail=f"the newest is {newest:.0f} days old" if newest is not None else "there is none yet",
            fix="kept backup FILE",
        )
        if copies and not _is_intact_copy(copies[-1]):
            yield make_fault("backup", f"{copies[-1]} is damaged", "kept backup FILE")


def _check_server(workspace: Workspace) -> Iterator[CheckFinding]:
    """Check that the server in the settings can be reached, and that its role sees only its own rows."""
    url = workspace.settings.store.url
    if not url:
        return
    try:
        with closing(connect_server(url)) as server:
            owner, sees_all = server.owner, server.sees_all
        detail = (
            f"{owner} is an administrator of the server and sees every owner's rows"
            if sees_all
            else f"it knows this home as {owner}"
        )
        yield CheckFinding(name="server", ok=not sees_all, detail=detail, fix="have a separate role created (docs/team.md)")
    except StoreError as error:
        yield make_fault("server", f"{error.what} ({error.where})", error.hint)


def _is_intact_copy(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as copy:
            return bool(copy.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def _check_store_clock(workspace: Workspace) -> Iterator[CheckFinding]:
    runs = workspace.store.log.runs(1)
    if runs and runs[0].started_at > workspace.clock() + _DAY:
        today, last = workspace.clock().date(), runs[0].started_at.date()
        detail = f"it is {today} here, but the last run was on {last}: the clock is or was wrong"
        yield make_fault("clock", detail, "timedatectl set-ntp true")


def _check_outputs(workspace: Workspace) -> Iterator[CheckFinding]:
    """Report files kept wrote that are missing, damaged or not accessible, and files a person edited."""
    for path, state, reason in file_states(workspace):
        if state is FileState.MISSING:
            yield make_fault("file", f"{path} is gone", "kept run", repair="files")
        elif state is FileState.DAMAGED:
            yield make_fault("file", f"{path}: {reason}", "kept run --accept-loss, or put the file back")
        elif state is FileState.EDITED:
            yield make_note("file", f"{path} was edited; the next run takes that over", "kept run")
        elif not os.access(path, os.R_OK | os.W_OK) or not Path(path).stat().st_mode & 0o400:
            yield make_fault("file", f"{path} cannot be read or written", f"chmod u+rw {path}")


def _check_language_model(workspace: Workspace) -> Iterator[CheckFinding]:
    """Check that the language model can be reached. Only a model on this machine is asked a question, because others cost money."""
    chosen = workspace.settings.llm
    if chosen.adapter == "none":
        return
    fault = _unreachable_reason(chosen, workspace.env)
    asked = not fault and workspace.llm is not None and is_on_this_machine(chosen.base_url)
    if asked:
        words = [sys.executable, "-m", "kept", "--home", str(workspace.paths.root), "config", "try", "--yes"]
        tried = run_limited(words, seconds=_MODEL_SECONDS, env=workspace.env)
        output = (tried.err.strip() or tried.out.strip()).splitlines()[-1:] or [f"nothing within {_MODEL_SECONDS:.0f} s"]
        fault = "" if tried.code == 0 else f"it does not answer: {output[0].removeprefix('It did not answer: ')[:300]}"
    yield CheckFinding(
        name="language model",
        ok=False if fault else True if asked else None,
        detail=f"{chosen.name}: {fault or ('it answered' if asked else _UNASKED)}",
        fix="kept config try",
    )
    if not fault and (score := load_score(workspace)).failed:
        yield make_note("language model", f"{FAILED} ({score.text})", OVERRULE.removeprefix("→ "))


def _model_address(chosen: LlmSettings) -> tuple[str, int]:
    parts = urlsplit(chosen.base_url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _unreachable_reason(chosen: LlmSettings, env: Mapping[str, str]) -> str:
    """Return the reason why the model cannot be reached, as far as that is known without asking it. Empty if there is none."""
    usual = {"anthropic": "ANTHROPIC_API_KEY", "openai": "" if chosen.base_url else "OPENAI_API_KEY"}.get(chosen.adapter, "")
    key = chosen.key_env or usual
    if key and not env.get(key):
        return f"there is no key in {key}"
    if chosen.adapter == "command":
        words = chosen.command.split()
        if not words or shutil.which(words[0], path=env.get("PATH")) is None:
            return f"there is no program {hide_secrets(chosen.command)!r}"
    host, port = _model_address(chosen)
    if host:
        try:
            socket.create_connection((host, port), timeout=3).close()
        except OSError as error:
            return f"nothing answers at {hide_secrets(chosen.base_url)}: {error.strerror or error}"
    return ""


def _check_sources(workspace: Workspace) -> Iterator[CheckFinding]:
    surveyed = survey(workspace)
    read = [tool for tool in surveyed.tools if tool.files or tool.sessions]
    yield CheckFinding(
        name="sources",
        ok=bool(read) or None,
        detail=", ".join(f"{tool.name} {tool.files:,}" for tool in read) or "no transcripts were found",
        fix="" if read else "give a folder: kept run PATH",
    )
    for root in workspace.settings.root:
        if not root.resolve(workspace.paths.user).exists():
            detail = f"{root.path}, which every run should read, is not there"
            yield make_fault("sources", detail, f"mount it, or kept sources remove {root.path}")
    for tool in surveyed.tools:
        if unknown := tool.account.unknown:
            detail = f"{unknown:,} of {tool.account.records:,} records of {tool.name} were not understood"
            well = None if unknown <= _UNKNOWN_SHARE * tool.account.records else False
            yield CheckFinding(name="records", ok=well, detail=detail, fix="kept sources --verbose")
    unreadable = {path for tool in surveyed.tools for path, _ in tool.unreadable} | surveyed.unread.keys()
    if unreadable:
        detail = f"{len(unreadable)} files could not be read, such as {min(unreadable)}"
        yield make_fault("unreadable", detail, "kept sources says why; kept sources exclude PATH leaves one out")
    expiring = sum(len(tool.expiring) for tool in surveyed.tools)
    if expiring:
        yield make_fault("vanishing", f"{expiring} transcripts will be deleted by their tool within a week", "kept run")


def _check_quarantined(workspace: Workspace) -> Iterator[CheckFinding]:
    quarantined = load_quarantined(workspace)
    if quarantined:
        session, fault = next(iter(quarantined.items()))
        detail = f"the language model's reply about {len(quarantined)} sessions could not be used, such as {session} ({fault})"
        fix = "kept run --force asks again; so does another model"
        yield make_fault("set aside", detail, fix)


def _check_local_models() -> Iterator[CheckFinding]:
    installed = PACK.exists() and MANY_PACK.exists()
    for pack, least in _LEAST.items():
        if pack.exists() and pack.stat().st_size < least:
            yield make_fault("meaning", f"{pack} is incomplete", f"rm {pack}; make run")
    without = "only the English local model is there" if PACK.exists() else "no local model: search compares words only"
    yield CheckFinding(
        name="meaning",
        ok=installed or None,
        detail="the local models are there" if installed else without,
        fix="" if installed else "make run downloads them; a built wheel contains them",
    )


def _check_hook_log(home: Paths) -> Iterator[CheckFinding]:
    lines = load_hook_log(str(home.state))
    if lines:
        yield make_note("hook log", f"{len(lines)} lines, the last: {lines[-1][:200]}", "fix the named problem")


def _check_schedule(home: Paths) -> Iterator[CheckFinding]:
    installed_jobs = list_installed_jobs(home, os.environ)
    yield from _check_queue(home)
    for job in installed_jobs:
        if dead := find_dead_program(job):
            yield make_fault("schedule", f"{job.kind} starts {dead} every night, which cannot be run", "kept setup")
        at_end = load_settings(home.settings).at_session_end == "run"
        detail = f"{job.kind}: {job.detail or 'runs every night'}" + ("; sessions are read when they end" if at_end else "")
        fix = "kept schedule install" + ("" if at_end else "; where that fails: kept config set at_session_end run")
        yield CheckFinding(name="schedule", ok=True if job.enabled else None if at_end else False, detail=detail, fix=fix)
    if not installed_jobs:
        yield make_note("schedule", "no nightly job is installed", "kept schedule install")
    night = load_last_night(home)
    if night is None and (home.state / "night.json").exists():
        yield make_fault("nights", "night.json contains no nightly run", "kept schedule run")
    for step in night.failed if night else ():
        yield make_fault(f"last night: {step.name}", step.detail, "kept schedule run")
    late = (utc_now() - night.at).days if night else 0
    if installed_jobs and late >= _MISSED_DAYS:
        detail = f"the nightly job last ran {late} days ago; the next run makes up for it"
        fix = (
            "kept schedule run; where you log out at night: loginctl enable-linger"
            if installed_jobs[0].kind == SchedulerKind.SYSTEMD
            else "kept schedule run"
        )
        yield make_fault("nights", detail, fix)
    for failure in load_failures(str(home.state)):
        if not failure.what.startswith(NIGHT):
            yield make_fault(failure.what, f"{failure.detail} (since {failure.since[:10]})", "kept run")


def _check_queue(home: Paths) -> Iterator[CheckFinding]:
    """Yield a fault if transcripts that hooks queued have not been read for days."""
    waiting = read_lines(queue_path(str(home.state), "queue"))
    with suppress(ValueError, IndexError):
        since = datetime.fromisoformat(waiting[0].partition("\t")[0])
        if utc_now() - since > _WAITING:
            detail = f"{len(waiting)} times sessions reported something new since {since.date()}, and no run has read it"
            yield make_fault("waiting", detail, "kept run; kept schedule install")


def _check_extras() -> Iterator[CheckFinding]:
    for name, module, what in (
        ("zstd", "zstandard", "Codex's compressed rollouts"),
        ("mcp", "mcp", "memory as tools for any agent"),
    ):
        installed = importlib.util.find_spec(module) is not None
        yield CheckFinding(
            name=f"extra {name}", ok=installed or None, detail=what, fix="" if installed else f'pip install "kept[{name}]"'
        )
