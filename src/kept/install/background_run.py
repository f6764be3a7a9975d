"""Start one run in the background for one transcript: detached from the hook, one at a time, bounded, ignored by hooks."""

import fcntl
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kept.core.fence import GUARD
from kept.local.queue import state_of
from kept.profiles import profile
from kept.profiles.profile import Occasion

_CPU_SECONDS = 300  # beyond this the system ends it; what it did until then stays done


def start_run(root: str, path: str) -> bool:
    """Start ``kept run`` for a transcript, where no run is under way; False where one is. Returns at once. Raises OSError."""
    if under_way(root):
        return False
    state = state_of(root)
    with open(os.path.join(state, "hooks", "run.log"), "wb") as log:  # noqa: PTH118, PTH123 - as in local/queue.py
        subprocess.Popen(  # noqa: S603 - this interpreter, this program, a path as an argument of its own
            [sys.executable, "-m", "kept", "run", "--home", root, "--quiet", "--occasion", "session-end", "--", path],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=True,
            cwd="/",
            env={**os.environ, GUARD: "1"},
            preexec_fn=_bound,  # noqa: PLW1509 - a hook has one thread
        )
    return True


def wanted(root: str, profiles: Sequence[str]) -> bool:
    """Whether any of these profiles is extracted when a session ends. Raises ConfigError for one that is none."""
    own = Path(root) / ".config" / "kept" / "profiles"
    return any(profile(each, own).when.on(Occasion.SESSION_END) for each in profiles)


def _bound() -> None:
    """In the new process: give way to everybody else, and end after so much time of the processor."""
    with suppress(OSError, ValueError):
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))


def under_way(root: str) -> bool:
    """Whether a run holds its lock."""
    try:
        handle = os.open(os.path.join(state_of(root), "run.lock"), os.O_RDWR | os.O_CLOEXEC)  # noqa: PTH118 - as in local/queue.py
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
