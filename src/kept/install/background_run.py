"""Start kept as a background process that outlives the hook, unless a run is active."""

import fcntl
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kept.core.fence import GUARD
from kept.local.queue import append_line, queue_path, state_folder, take_lines
from kept.profiles import load_profile
from kept.profiles.profile import Occasion

_CPU_SECONDS = 300  # CPU seconds after which the system kills the run of an ended session; what it has read by then is stored
_OF_SESSIONS = ("run", "--quiet", "--occasion", "session-end", "--")
# The file that lists transcripts whose session ended during a run. If it is full, the nightly run reads the others.
_LATE, _LATE_BYTES = "late", 20_000
_MISSED = 26 * 3600.0  # seconds since the last nightly job after which one counts as missed
FIRST = "kept has begun to read the sessions on this machine in the background; later sessions will know what matters from them."


def start_run(root: str, path: str) -> bool:
    """Start ``kept run`` for a transcript and return at once.

    If a run is active, queues the transcript and returns False. Raises OSError.
    """
    begun = _start_command(root, [*_OF_SESSIONS, path])
    if not begun and path.isprintable():
        append_line(queue_path(state_folder(root), _LATE), path, _LATE_BYTES)
    return begun


def start_missed_run(root: str) -> str:
    """Start a run in the background if one is due, because an installation with only the plugin has no scheduler. Return at once.

    Due are the first run, a missed nightly job, and a run for sessions that ended during another run. Returns a message for the
    first run, else an empty text. Raises OSError.
    """
    state = state_folder(root)
    if not os.path.exists(os.path.join(state, "kept.db")):  # noqa: PTH110, PTH118 - as in local/queue.py
        os.makedirs(os.path.join(state, "hooks"), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH118 - as above
        os.chmod(state, 0o700)  # noqa: PTH101 - as above
        _first_check_time(state)
        return FIRST if _start_command(root, ["run", "--quiet", "--no-llm"], bounded=False) else ""
    if _is_missed(state):
        _start_command(root, ["schedule", "run"], bounded=False)
    elif not is_run_active(root) and (late := take_lines(queue_path(state, _LATE))):
        _start_command(root, [*_OF_SESSIONS, *dict.fromkeys(late)])
    return ""


def _is_missed(state: str) -> bool:
    """True if the nightly job last ran more than 26 hours ago. If it never ran, the time counts from the plugin's first check."""
    try:
        last = os.stat(os.path.join(state, "night.json")).st_mtime  # noqa: PTH116, PTH118 - as above
    except FileNotFoundError:
        last = _first_check_time(state)
    return time.time() - last > _MISSED


def _first_check_time(state: str) -> float:
    """The time of the plugin's first check: the modification time of a file that is created then and never changed."""
    handle = os.open(os.path.join(state, "plugin.since"), os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)  # noqa: PTH118 - as above
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)


def _start_command(root: str, words: list[str], *, bounded: bool = True) -> bool:
    """Start a kept command as a process independent of the hook. Returns False if a run is active."""
    if is_run_active(root):
        return False
    with open(os.path.join(state_folder(root), "hooks", "run.log"), "wb") as log:  # noqa: PTH118, PTH123 - as in local/queue.py
        subprocess.Popen(  # noqa: S603 - this interpreter, this program, a path as an argument of its own
            [sys.executable, "-m", "kept", "--home", root, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=True,
            cwd="/",
            env={**os.environ, GUARD: "1"},
            preexec_fn=_limit_processor_time if bounded else _lower_priority,  # noqa: PLW1509 - a hook has one thread
        )
    return True


def has_session_end_profile(root: str, profiles: Sequence[str]) -> bool:
    """True if any of these profiles extracts at the end of a session. Raises ConfigError for an unknown profile."""
    own = Path(root) / ".config" / "kept" / "profiles"
    return any(load_profile(profile, own).when.on(Occasion.SESSION_END) for profile in profiles)


def _lower_priority() -> None:
    """Lower the priority of the new process."""
    with suppress(OSError):
        os.nice(10)


def _limit_processor_time() -> None:
    """Lower the priority of the new process and limit its CPU time."""
    _lower_priority()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))


def is_run_active(root: str) -> bool:
    """True if a run holds the run lock."""
    try:
        handle = os.open(os.path.join(state_folder(root), "run.lock"), os.O_RDWR | os.O_CLOEXEC)  # noqa: PTH118 - as in local/queue.py
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
