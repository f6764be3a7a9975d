"""A home with memories, and calls of ``kept hook`` in a separate process, as an agent makes them."""

import json
import os
import subprocess
import sys

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


# A hook whose time limit for reading the store does not fail on a busy machine; its other limits are unchanged.
_PATIENT = "import sys; from kept.cli import hook, main; hook._SECONDS = 600.0; main(sys.argv[1:])"


def hook(event, body, *options, env=None):
    """Run a hook in a separate process; ``body`` is a payload or raw bytes. Returns exit code, stdout and stderr."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    done = subprocess.run(
        [sys.executable, "-c", _PATIENT, "hook", event, *options],
        input=raw,
        capture_output=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def injected(event, body, *options, env=None):
    """The text that a hook adds; empty if it adds nothing."""
    code, out, err = hook(event, body, *options, env=env)
    assert (code, err) == (0, "")
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def log_of(home):
    """The lines of the hooks' log."""
    path = home / ".local" / "share" / "kept" / "hooks" / "log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
