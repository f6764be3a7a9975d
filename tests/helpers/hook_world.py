"""A home with memories, and calling ``kept hook`` in a process of its own as an agent does."""

import json
import os
import subprocess
import sys

SESSION = "11111111-1111-4111-8111-111111111111"


def harbor():
    """The directory of the project of these tests, below the home of the test."""
    return f"{os.environ['HOME']}/harbor"


def payload(event, **fields):
    """What Claude Code sends."""
    return {
        "session_id": SESSION,
        "transcript_path": f"/home/u/.claude/projects/-home-u-harbor/{SESSION}.jsonl",
        "cwd": harbor(),
        "permission_mode": "default",
        "hook_event_name": event,
        **fields,
    }


# A hook that lets reading the store take as long as it takes on a busy machine; what it waits for elsewhere is bounded as ever.
_PATIENT = "import sys; from kept.cli import hook, main; hook._SECONDS = 600.0; main(sys.argv[1:])"


def hook(event, body, *options, env=None):
    """The exit code, stdout and stderr of a hook in a process of its own; ``body`` is a payload or raw bytes."""
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
    """The text a hook injects; empty where it injects nothing."""
    code, out, err = hook(event, body, *options, env=env)
    assert (code, err) == (0, "")
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def log_of(home):
    """The lines of the hooks' own log."""
    path = home / ".local" / "share" / "kept" / "hooks" / "log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
