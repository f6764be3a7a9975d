"""Check the installation and name a fix for each problem. Read-only."""

import importlib.util
import json
import os
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kept.core.errors import KeptError
from kept.install.schedule import installed_entries
from kept.install.schedulers import Kind
from kept.install.setup import hooked, plugged, sectioned, used
from kept.intake.discovery import survey
from kept.local.clients import CLIENTS, GEMINI, Client, program_of
from kept.local.job_failures import standing_failures
from kept.local.queue import complaints
from kept.local.settings import load_settings
from kept.paths import Paths
from kept.pipeline.nightly import NIGHT, last_night
from kept.pipeline.usage import set_aside
from kept.recall.embed import MANY_PACK, PACK
from kept.workspace import Workspace, now, opened

_ROOM = 200_000_000  # bytes free below which a backup may fail
_MISSED = 3  # days without a night from which on it is told
_OLD = 30  # days after which the newest backup is told


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing looked at: ``well`` is False where it is wrong, None where it is only worth knowing; ``fix`` says what to do."""

    name: str
    well: bool | None
    detail: str
    fix: str = ""


def examine(home: Paths, *, profile: str | None = None, zone: str | None = None) -> tuple[Finding, ...]:
    """Look at everything. A look that fails is itself a finding."""
    looks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _program,
        lambda: _folders(home),
        lambda: _store(home, profile, zone),
        _model,
        lambda: _hooks(home),
        lambda: _complaints(home),
        lambda: _night(home),
        _extras,
    )
    found: list[Finding] = []
    for look in looks:
        try:
            found += look()
        except (KeptError, OSError, ValueError) as error:
            found.append(Finding(name="look", well=False, detail=str(error), fix="mend that, then run kept doctor again"))
    return tuple(found)


def _program() -> Iterator[Finding]:
    yield Finding(
        name="python", well=sys.version_info >= (3, 11), detail=sys.version.split()[0], fix="install Python 3.11 or newer"
    )
    options = {row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA compile_options")}
    full_text = any("FTS5" in each for each in options)
    yield Finding(
        name="sqlite",
        well=full_text,
        detail=f"{sqlite3.sqlite_version}{'' if full_text else ' without full-text search'}",
        fix="use a Python whose SQLite has FTS5",
    )
    found = shutil.which("kept")
    yield Finding(
        name="command",
        well=None if found is None else True,
        detail=found or "`kept` is not on your PATH; hooks and the schedule call it by its full path",
        fix=f"add {Path(sys.executable).parent} to PATH" if found is None else "",
    )


def _folders(home: Paths) -> Iterator[Finding]:
    if not home.state.exists():
        yield Finding(name="home", well=None, detail=f"nothing is kept in {home.state} yet", fix="kept run")
        return
    mode = stat.S_IMODE(home.state.stat().st_mode)
    yield Finding(name="folder", well=not mode & 0o077, detail=f"{home.state} has mode {mode:04o}", fix=f"chmod 700 {home.state}")
    yield Finding(
        name="writable", well=os.access(home.state, os.W_OK), detail=str(home.state), fix="give yourself the right to write there"
    )
    free = shutil.disk_usage(home.state).free
    yield Finding(
        name="room",
        well=free > _ROOM,
        detail=f"{free // 1_000_000:,} MB free",
        fix="make room: a backup needs as much as the store",
    )


def _store(home: Paths, profile: str | None, zone: str | None) -> Iterator[Finding]:
    if not home.store.exists():
        return
    with opened(home, profile=profile, zone=zone) as workspace:
        yield Finding(
            name="settings",
            well=True,
            detail=f"profiles {', '.join(each.id for each in workspace.profiles)}, zone {workspace.zone}",
        )
        damage = workspace.store.damage()
        yield Finding(
            name="store", well=not damage, detail=damage[0] if damage else "whole", fix="kept check, then kept restore FILE"
        )
        yield from _sources(workspace)
        yield from _set_aside(workspace)
        copies = sorted(home.backups.glob("kept-*.db")) if home.backups.is_dir() else []
        newest = (workspace.clock().timestamp() - copies[-1].stat().st_mtime) / 86_400 if copies else None
        yield Finding(
            name="backup",
            well=newest < _OLD if newest is not None else None,
            detail=f"the newest is {newest:.0f} days old" if newest is not None else "there is none yet",
            fix="kept backup FILE",
        )


def _sources(workspace: Workspace) -> Iterator[Finding]:
    found = survey(workspace)
    read = [each for each in found.tools if each.files or each.sessions]
    yield Finding(
        name="sources",
        well=bool(read) or None,
        detail=", ".join(f"{each.name} {each.files:,}" for each in read) or "no transcripts were found",
        fix="" if read else "give a folder: kept run PATH",
    )
    unreadable = {path for each in found.tools for path, _ in each.unreadable} | found.unread.keys()
    if unreadable:
        detail = f"{len(unreadable)} files could not be read, such as {min(unreadable)}"
        yield Finding(
            name="unreadable", well=False, detail=detail, fix="kept sources says why; kept sources exclude PATH leaves one out"
        )
    doomed = sum(len(each.doomed) for each in found.tools)
    if doomed:
        yield Finding(
            name="vanishing", well=False, detail=f"{doomed} transcripts will be deleted by their tool within a week", fix="kept run"
        )


def _set_aside(workspace: Workspace) -> Iterator[Finding]:
    aside = set_aside(workspace)
    if aside:
        session, fault = next(iter(aside.items()))
        detail = f"the language model's reply about {len(aside)} sessions could not be used, such as {session} ({fault})"
        fix = "kept run --force asks again; so does another model or a mended program"
        yield Finding(name="set aside", well=False, detail=detail, fix=fix)


def _model() -> Iterator[Finding]:
    there = PACK.exists() and MANY_PACK.exists()
    without = "the local model knows English alone" if PACK.exists() else "no local model: search goes by words alone"
    yield Finding(
        name="meaning",
        well=there or None,
        detail="the local models are there" if there else without,
        fix="" if there else "make run brings it; a built wheel carries it",
    )


def _hooks(home: Paths) -> Iterator[Finding]:
    calling, there = hooked(home), plugged(home)
    for client in (*CLIENTS, GEMINI):
        if client in calling and client in there:
            detail = "called by the settings and by the plugin; the plugin's hooks stay silent, so nothing is told twice"
            yield Finding(name=client.name, well=None, detail=detail, fix=f"keep one: {_LEAVE.get(client.name, '')}")
        elif client in there:
            yield Finding(name=client.name, well=True, detail="calls kept before each prompt (plugin)")
        elif client in calling:
            yield _called(home, client)
        elif client in used(home):
            yield Finding(name=client.name, well=None, detail="does not call kept", fix="kept setup, or the plugin")
    for client in sectioned(home):
        if client in there or client in calling or client.name in load_settings(home.settings).sections:
            continue
        detail = f"nothing of memory arrives in {home.of(client) / client.instructions}"
        yield Finding(name=f"{client.name} section", well=None, detail=detail, fix="kept setup")


_LEAVE = {"claude": "claude plugin uninstall kept@kept", "codex": "codex plugin remove kept@kept"}


def _called(home: Paths, client: Client) -> Finding:
    """Whether the kept that a client's settings call is there."""
    words = shlex.split(json.loads(f'"{program_of((home.of(client) / client.file).read_text(encoding="utf-8"))}"'))
    if words and words[0].startswith("/") and not os.access(words[0], os.X_OK):
        return Finding(name=client.name, well=False, detail=f"calls {words[0]}, which is not there", fix="kept setup")
    return Finding(name=client.name, well=True, detail="calls kept before each prompt")


def _complaints(home: Paths) -> Iterator[Finding]:
    told = complaints(str(home.state))
    if told:
        yield Finding(name="hook log", well=None, detail=f"{len(told)} lines, the last: {told[-1][:200]}", fix="mend what it names")


def _night(home: Paths) -> Iterator[Finding]:
    there = installed_entries(home, os.environ)
    for each in there:
        yield Finding(
            name="schedule",
            well=each.enabled,
            detail=f"{each.kind}: {each.detail or 'runs every night'}",
            fix="kept schedule install",
        )
    if not there:
        yield Finding(name="schedule", well=None, detail="nothing runs by itself", fix="kept schedule install")
    night = last_night(home)
    for step in night.failed if night else ():
        yield Finding(name=f"last night: {step.name}", well=False, detail=step.detail, fix="kept schedule run")
    late = (now() - night.at).days if night else 0
    if there and late >= _MISSED:
        detail = f"the night's job last ran {late} days ago; whatever runs next makes up for it"
        fix = (
            "kept schedule run; where you log out at night: loginctl enable-linger"
            if there[0].kind == Kind.SYSTEMD
            else "kept schedule run"
        )
        yield Finding(name="nights", well=False, detail=detail, fix=fix)
    for failure in standing_failures(str(home.state)):
        if not failure.what.startswith(NIGHT):
            yield Finding(name=failure.what, well=False, detail=f"{failure.detail} (since {failure.since[:10]})", fix="kept run")


def _extras() -> Iterator[Finding]:
    for name, module, what in (
        ("zstd", "zstandard", "Codex's compressed rollouts"),
        ("mcp", "mcp", "memory as tools for any agent"),
    ):
        there = importlib.util.find_spec(module) is not None
        yield Finding(name=f"extra {name}", well=there or None, detail=what, fix="" if there else f'pip install "kept[{name}]"')
