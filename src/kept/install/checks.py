"""What every check of the installation shares: a finding, and a program run for a bounded time."""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFinding:
    """One thing looked at: ``well`` is False where it is wrong, None where it is only worth knowing; ``fix`` is the command that
    mends it, or what to do. ``repair`` names what ``kept doctor --fix`` does about it; empty where that is a person's to do.
    """

    name: str
    well: bool | None
    detail: str
    fix: str = ""
    repair: str = ""


def make_fault(name: str, detail: str, fix: str, *, repair: str = "") -> CheckFinding:
    """One thing that is wrong."""
    return CheckFinding(name=name, well=False, detail=detail, fix=fix, repair=repair)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramResult:
    """What a program answered: its exit code (None: it took too long or could not be started), and what it wrote."""

    code: int | None
    out: str
    err: str


def run_limited(
    command: str | Sequence[str], *, seconds: float, env: Mapping[str, str], given: bytes = b"", where: Path = Path("/")
) -> ProgramResult:
    """Run a command line by a shell, or a program with its arguments; after so many seconds it and what it started is ended."""
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    try:
        process = subprocess.Popen(  # noqa: S603 - what a client calls, or this program
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=where,
            start_new_session=True,
        )
    except OSError as error:
        return ProgramResult(code=None, out="", err=f"{shlex.join(words)}: {error.strerror}")
    try:
        out, err = process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ProgramResult(code=None, out="", err="")
    return ProgramResult(code=process.returncode, out=out.decode("utf-8", "replace"), err=err.decode("utf-8", "replace"))


def kept_version(program: str) -> str:
    """What version a kept says it is; empty where it does not answer."""
    env = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return run_limited([program, "--version"], seconds=15, env=env).out.strip()
