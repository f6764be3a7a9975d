"""Other systems, simulated: what kept does where the system calls itself macOS or Windows. It was never run on either."""

import json
import os
import subprocess
import sys

import pytest

# A system that calls itself another, and has no /proc.
DISGUISE = """
import asyncio, os, subprocess, sys, urllib.request, rich.console, tzlocal  # what others decide by the system's name is decided
sys.platform, os.name = {platform!r}, {name!r}
def refuse(event, args):
    if event == "open" and str(args[0]).startswith("/proc"):
        raise FileNotFoundError(args[0])
sys.addaudithook(refuse)
from kept.cli import main
main(sys.argv[1:])
"""


def kept_on(platform, *words, name="posix", env=None, code=0):
    """What kept says on a system of that name."""
    program = DISGUISE.format(platform=platform, name=name)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_mac_reads_writes_undoes_and_checks_without_proc(home):
    assert json.loads(kept_on("darwin", "run", "--no-llm", "--json", "src/kept/sample/projects"))["sessions"] == 3
    assert (home / ".claude" / "rules" / "memory.md").exists()
    assert "parquet" in kept_on("darwin", "search", "parquet").lower()
    kept_on("darwin", "undo")
    assert "0 memories" in kept_on("darwin", "status")
    kept_on("darwin", "check")


def test_the_nightly_job_of_a_mac_is_an_agent_of_launchd_that_goes_without_a_trace(home, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    launchctl = programs / "launchctl"
    launchctl.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n', encoding="utf-8")
    launchctl.chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    kept_on("darwin", "schedule", "install", "--at", "02:30", env=env)
    agent = home / "Library" / "LaunchAgents" / "dev.kept.nightly.plist"
    assert agent.exists()
    kept_on("darwin", "schedule", "uninstall", env=env)
    assert not agent.exists()
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    assert f"bootstrap gui/{os.getuid()} {agent}" in calls
    assert f"bootout gui/{os.getuid()} {agent}" in calls


@pytest.mark.parametrize("words", [("run",), ("--version",), ("hook", "session-start")])
def test_windows_is_told_in_one_line_what_to_do(words, home):
    told = kept_on("win32", *words, name="nt", code=0 if words[0] == "hook" else 2)
    assert told.splitlines() == ([] if words[0] == "hook" else ["kept: Windows itself is not supported: run kept in WSL"])
