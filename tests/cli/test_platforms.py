"""Other systems, simulated: what kept does where the system calls itself macOS or Windows. It was never run on either."""

import json
import os
import re
import subprocess
import sys

# A system that calls itself another, and has no /proc.
DISGUISE = """
import asyncio, os, subprocess, sys, urllib.request, rich.console, tzlocal  # what others decide by the system's name is decided
sys.platform, os.name = {platform!r}, {name!r}
def refuse(event, args):
    if event == "open" and str(args[0]).startswith("/proc"):
        raise FileNotFoundError(args[0])
sys.addaudithook(refuse)
from kept.cli import main
for words in {calls}:
    try:
        main(words)
    except SystemExit as ended:
        print(f"\f{{ended.code or 0}}", flush=True)
"""


def kept_on(platform, *calls, name="posix", env=None, code=0):
    """What kept says to each call on a system of that name."""
    program = DISGUISE.format(platform=platform, name=name, calls=[each.split() for each in calls])
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        env={**os.environ, **(env or {})},
    )
    told, codes = zip(*re.findall(r"(?s)(.*?)\f(\d+)\n", done.stdout), strict=True)
    assert codes == (str(code),) * len(calls), done.stdout
    return told


def test_a_mac_reads_writes_undoes_and_checks_without_proc(home):
    run, found = kept_on("darwin", "run --no-llm --json src/kept/sample/projects", "search parquet")
    assert json.loads(run)["sessions"] == 3
    assert (home / ".claude" / "rules" / "memory.md").exists()
    assert "parquet" in found.lower()
    assert "0 memories" in kept_on("darwin", "undo", "status", "check")[1]


def test_the_nightly_job_of_a_mac_is_an_agent_of_launchd_that_goes_without_a_trace(home, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    launchctl = programs / "launchctl"
    launchctl.write_text(f'#!/bin/sh\necho "$@" $(ls {home}/Library/LaunchAgents) >> {tmp_path}/calls\n', encoding="utf-8")
    launchctl.chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    kept_on("darwin", "schedule install --at 02:30", "schedule uninstall", env=env)
    agent = home / "Library" / "LaunchAgents" / "dev.kept.nightly.plist"
    assert not agent.exists()
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    assert f"bootstrap gui/{os.getuid()} {agent} {agent.name}" in calls
    assert f"bootout gui/{os.getuid()} {agent}" in calls


def test_windows_is_told_in_one_line_what_to_do(home):
    line = "kept: Windows itself is not supported: run kept in WSL\n"
    assert kept_on("win32", "run", "--version", name="nt", code=2) == (line, line)
    assert kept_on("win32", "hook session-start", name="nt") == ("",)
