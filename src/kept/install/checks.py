"""Checks of ``kept doctor``: this machine (programs, environment, kept's files, disk, clock, run lock). Also helpers of
all checks.
"""

import os
import re
import resource
import shlex
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG, S_ISVTX, S_IWOTH
from tempfile import TemporaryFile
from zoneinfo import ZoneInfo

from kept import __version__
from kept.core.errors import BusyError
from kept.core.value import dataclass
from kept.llm.process import RunningPrograms
from kept.local.files import hold_lock, read_text
from kept.local.queue import queue_path
from kept.local.settings import load_settings
from kept.paths import Paths

_MOST_OUTPUT = 10_000_000  # bytes; a program that prints more counts as one that does not end


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFinding:
    """The result of one check. ``ok`` is False for a fault, and None for mere information.

    ``fix`` is the command that fixes the fault, or an instruction. ``repair`` names the repair that ``kept doctor --fix`` does. It
    is empty if only a person can fix the fault.
    """

    name: str
    ok: bool | None
    detail: str
    fix: str = ""
    repair: str = ""


def make_fault(name: str, detail: str, fix: str, *, repair: str = "") -> CheckFinding:
    """Return the finding for a fault. If there is a ``repair`` and the fix is ``kept setup``, the fix becomes ``kept
    doctor --fix``.
    """
    fix = "kept doctor --fix" if repair and fix == "kept setup" else fix
    return CheckFinding(name=name, ok=False, detail=detail, fix=fix, repair=repair)


def make_note(name: str, detail: str, fix: str = "") -> CheckFinding:
    """Return a finding for information, or for what may be a fault."""
    return CheckFinding(name=name, ok=None, detail=detail, fix=fix)


def make_pass(name: str, detail: str) -> CheckFinding:
    """Return the finding for what is well."""
    return CheckFinding(name=name, ok=True, detail=detail)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramResult:
    """The result of a program: its output and its exit code. The code is None if it was stopped or could not be started."""

    code: int | None
    out: str
    err: str


def run_limited(
    command: str | Sequence[str], *, seconds: float, env: Mapping[str, str], given: bytes = b"", where: Path = Path("/")
) -> ProgramResult:
    """Run a shell command line (a string) or a program with arguments. Kills it and its child processes after ``seconds``."""
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    try:
        result = RunningPrograms().run(words, text=given, folder=where, env=env, timeout=seconds, most=_MOST_OUTPUT)
    except OSError as error:
        return ProgramResult(code=None, out="", err=f"{shlex.join(words)}: {error.strerror}")
    if result.stop_reason:
        return ProgramResult(code=None, out="", err="")
    out, err = (text.decode("utf-8", "replace") for text in (result.output, result.errors))
    return ProgramResult(code=result.code, out=out, err=err)


def kept_version(program: str) -> str:
    """Ask a kept program for its version. Empty if it does not answer."""
    env = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return run_limited([program, "--version"], seconds=15, env=env).out.strip()


_FREE_BYTES = 200_000_000  # bytes of free space below which a backup may fail
_STUCK_HOURS = 12  # a run that holds its lock longer counts as stuck; the nightly model step alone may take four hours
_DAY = 86_400.0  # maximum difference of clocks in seconds


def check_program(home: Paths) -> Iterator[CheckFinding]:
    """Check Python, SQLite, and which kept a shell and the plugin run."""
    yield CheckFinding(
        name="python", ok=sys.version_info >= (3, 11), detail=sys.version.split()[0], fix="install Python 3.11 or newer"
    )
    options = {row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA compile_options")}
    full_text = any("FTS5" in option for option in options)
    yield CheckFinding(
        name="sqlite",
        ok=full_text,
        detail=f"{sqlite3.sqlite_version}{'' if full_text else ' without full-text search'}",
        fix="use a Python whose SQLite has FTS5",
    )
    yield _check_path_program()
    path = Path(read_text(home.state / "program").strip() or "/")
    if path != Path("/") and not os.access(path, os.X_OK):
        detail = f"the plugin looks for kept at {path}, which cannot be run"
        yield make_fault("program", detail, "kept setup", repair="program")
    elif path != Path("/") and __version__ not in (version := kept_version(str(path))):
        detail = f"the plugin runs {path} ({version[:80] or 'it does not answer'}); this is kept {__version__}"
        yield make_fault("program", detail, "kept setup", repair="program")


def _check_path_program() -> CheckFinding:
    """Check that the ``kept`` program on the PATH is this one."""
    on_path, own = shutil.which("kept"), Path(sys.executable).with_name("kept")
    if on_path is None:
        detail = "`kept` is not on your PATH; hooks and the schedule call it by its full path"
        return make_note("command", detail, f"export PATH={own.parent}:$PATH")
    if own.is_file() and not own.samefile(on_path):
        version = kept_version(on_path)
        detail = (
            f"{on_path} is first on the PATH ({version[:80] or 'it does not answer'}); this is kept {__version__} in {own.parent}"
        )
        return CheckFinding(
            name="command", ok=None if __version__ in version else False, detail=detail, fix=f"export PATH={own.parent}:$PATH"
        )
    return make_pass("command", on_path)


def check_settings_file(home: Paths) -> Iterator[CheckFinding]:
    """Check that the settings are valid, and that no environment variable makes kept use another zone or store."""
    load_settings(home.settings)
    zone = os.environ.get("TZ", "").removeprefix(":")
    if zone and not Path(zone).is_absolute() and not re.fullmatch(r"[A-Za-z]{3,5}[-+0-9:,./MJA-Za-z]*", zone):
        try:
            ZoneInfo(zone)
        except (LookupError, ValueError, OSError):
            yield make_fault("zone", f"TZ names {zone}, which is not a time zone, so days follow UTC", "unset TZ")
    usual = home.user / ".local" / "share" / "kept" / "kept.db"
    if home.root != home.user and os.environ.get("KEPT_HOME") and usual.exists():
        detail = f"KEPT_HOME makes kept use {home.root}; there is another store in {usual.parent}"
        yield CheckFinding(name="store elsewhere", ok=None if home.store.exists() else False, detail=detail, fix="unset KEPT_HOME")


def check_folders(home: Paths) -> Iterator[CheckFinding]:
    """Check that kept's own folder is private and writable, on a disk with enough space and the right time."""
    if not home.state.exists():
        yield make_note("home", f"nothing is kept in {home.state} yet", "kept run")
        return
    for item in (home.state, Path(queue_path(str(home.state), ""))):
        if item.exists() and not item.is_dir():
            yield make_fault("folder", f"{item} is a file", f"mv {item} {item}.aside; kept run")
            return
    mode = home.state.stat().st_mode & 0o7777
    fix = "kept doctor --fix"
    yield CheckFinding(
        name="folder",
        ok=mode & 0o777 == 0o700,
        detail=f"{home.state} has mode {mode:04o}",
        fix=f"chmod 700 {home.state}",
        repair="private" if mode & 0o777 != 0o700 else "",
    )
    open_files = find_exposed_paths(home)
    if open_files:
        detail = f"{len(open_files)} files can be read by others, or not by you, such as {open_files[0]}"
        yield make_fault("private", detail, fix, repair="private")
    owner = os.geteuid() or home.user.stat().st_uid  # under sudo the home's owner counts, because sudo leaves files of root there
    strange = [path for path in home.state.rglob("*") if _is_other_users(path, owner)]
    if strange:
        detail = f"{strange[0]} belongs to another user"
        yield make_fault("owner", detail, f"sudo chown -R {owner} {home.state}")
    # Settings name programs that kept runs, so whoever may write them, or replace a folder above them, may run programs as you.
    above = [folder for folder in (home.state, home.config) for folder in folder.parents if folder.is_relative_to(home.root)]
    for path in dict.fromkeys((*above, home.config, *sorted(home.config.rglob("*")))):
        if _is_writable_for_all(path):
            yield make_fault("writable for all", f"everybody may write to {path}", f"chmod o-w {shlex.quote(str(path))}")
    yield from _check_disk(home)
    yield from _check_file_clock(home)


def _is_writable_for_all(path: Path) -> bool:
    """True if every user may change a file or folder. In a sticky folder nobody may replace what belongs to others."""
    try:
        mode = path.stat().st_mode
    except OSError:  # missing, or checked elsewhere
        return False
    return bool(mode & S_IWOTH) and not (S_ISDIR(mode) and mode & S_ISVTX)


def find_exposed_paths(home: Paths) -> list[Path]:
    """Find kept's files and folders that other users may access, or that their owner cannot access."""
    return [path for path in sorted(home.state.rglob("*")) if _is_exposed(path)]


def _is_exposed(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # a run has just deleted it
        return False
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        return False
    return bool(mode & 0o077 or mode & 0o600 != 0o600 or (S_ISDIR(mode) and not mode & 0o100))


def _is_other_users(path: Path, owner: int) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:  # as above
        return False
    return not S_ISLNK(status.st_mode) and status.st_uid != owner


def _check_disk(home: Paths) -> Iterator[CheckFinding]:
    """Check that files can be written to the disk, and that a backup would fit."""
    try:
        with TemporaryFile(dir=home.state) as proof:
            proof.write(b"kept" * 16_384)
            proof.flush()
            os.fsync(proof.fileno())
    except OSError as error:
        yield make_fault("writable", f"{home.state}: {error.strerror}", f"df -h {home.state}; ls -ld {home.state}")
    else:
        yield make_pass("writable", str(home.state))
    needed = max(_FREE_BYTES, 2 * home.store.stat().st_size if home.store.exists() else 0)
    free = shutil.disk_usage(home.state).free
    detail, fix = f"{free // 1_000_000:,} MB free", "make room: a backup needs as much as the store"
    yield CheckFinding(name="disk", ok=free > needed, detail=detail, fix=fix)
    state = os.statvfs(home.state)
    if state.f_files and state.f_favail < 100:
        yield make_fault("disk", "the disk has no room for further files", f"df -i {home.state}")
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and most < needed:
        yield make_fault("limit", f"a file may have {most:,} bytes at most here", "ulimit -f unlimited")


def _check_file_clock(home: Paths) -> Iterator[CheckFinding]:
    """Yield a fault if the clocks of machine and disk differ by more than a day, or a file of kept is more than a day in
    the future.
    """
    with suppress(OSError), TemporaryFile(dir=home.state) as proof:
        apart = abs(os.fstat(proof.fileno()).st_mtime - time.time())
        if apart > _DAY:
            yield make_fault("clock", "the disk and this machine disagree on the date", "timedatectl set-ntp true")
    newest = max((path.stat().st_mtime for path in (Path(__file__), home.store) if path.exists()), default=0.0)
    if newest > time.time() + _DAY:
        day = datetime.fromtimestamp(newest, tz=UTC).date()
        detail = f"it is {datetime.now(UTC).date()} here, but kept's own files are dated {day}"
        yield make_fault("clock", detail, "timedatectl set-ntp true")


def check_run_lock(home: Paths) -> Iterator[CheckFinding]:
    """Report a run that holds the lock. That is a fault if its process is stopped, or was started more than 12 hours ago."""
    if not home.lock.exists():
        return
    try:
        with hold_lock(home.lock):
            return
    except BusyError as error:
        search_match = re.search(r"process (\d+)", str(error))
    number = search_match.group(1) if search_match else ""
    state, hours = _process_state(number)
    stands = state in ("T", "t", "Z")
    stuck = stands or hours > _STUCK_HOURS
    detail = f"process {number or 'unknown'} has been running it for {hours:.1f} hours{' without any progress' if stands else ''}"
    fix = f"kill -9 {number}; kept run" if stuck else "wait for it"
    yield CheckFinding(name="run", ok=False if stuck else None, detail=detail, fix=fix)


def _process_state(number: str) -> tuple[str, float]:
    """Return the state of a process as Linux's letter, and the hours since its start. Empty and 0 if they are unknown."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        up = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
    except (OSError, ValueError):
        return "", 0.0
    return fields[0], (up - int(fields[19]) / os.sysconf("SC_CLK_TCK")) / 3600
