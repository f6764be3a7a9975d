"""Payloads of agents' hooks, and calls of ``kept hook`` with them, in this process or in one of its own."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper

import pytest

from kept.cli import hook as hooks

SESSION = "11111111-1111-4111-8111-111111111111"


def harbor():
    """The project directory of these tests, below the test's home."""
    return f"{os.environ['HOME']}/harbor"


def payload(event, **fields):
    """The payload that Claude Code sends for an event."""
    return {
        "session_id": SESSION,
        "transcript_path": f"/home/u/.claude/projects/-home-u-harbor/{SESSION}.jsonl",
        "cwd": harbor(),
        "permission_mode": "default",
        "hook_event_name": event,
        **fields,
    }


def hook(event, body, *options, env=None):
    """Answer a hook in this process; ``body`` is a payload or raw bytes. Returns exit code, stdout and stderr.

    A process for each call takes ten times as long. The time limit for reading the store is long, so that no test fails on a busy
    machine.
    """
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        for name, stream in (("stdin", TextIOWrapper(BytesIO(_encoded(body)))), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        patch.setattr(hooks, "_SECONDS", _PATIENCE)
        hooks._load_settings.cache_clear()  # a process of a client reads them anew
        code = hooks.answer_event([event, *options])
    return code, *(each.buffer.getvalue().decode() for each in (out, err))


def hook_process(event, body, *options, env=None):
    """Run a hook in a separate process, as clients do; otherwise as ``hook``.

    Returns when the run that the hook may have started in the background has ended too, so that it never writes into the home of
    the next test.
    """
    done = subprocess.run(
        [sys.executable, "-c", _PATIENT, "hook", event, *options],
        input=_encoded(body),
        capture_output=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


_PATIENCE = 600.0
_PATIENT = f"""
import os, sys
from kept.cli import hook, main
hook._SECONDS = {_PATIENCE}
leave = os._exit
def wait_and_leave(code):
    try:
        while True:
            os.wait()
    except ChildProcessError:
        leave(code)
os._exit = wait_and_leave
main(sys.argv[1:])
"""


def _encoded(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def injected(event, body, *options, env=None, call=hook):
    """The text that a hook adds; empty if it adds nothing."""
    code, out, err = call(event, body, *options, env=env)
    assert (code, err) == (0, "")
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def log_of(home):
    """The lines of the hooks' log."""
    path = home / ".local" / "share" / "kept" / "hooks" / "log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
