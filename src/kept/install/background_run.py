"""Start kept in the background, detached from the hook: for a transcript, the first time, a missed night; one at a time."""

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

_CPU_SECONDS = 300  # beyond this the system ends the reading of one transcript; what it did until then stays done
_OF_SESSIONS = ("run", "--quiet", "--occasion", "session-end", "--")
_LATE, _LATE_BYTES = "late", 20_000  # the transcripts of sessions that ended during a run; the night reads what has no room
_MISSED = 26 * 3600.0  # seconds after which a night counts as missed
FIRST = "kept has begun to read the sessions on this machine in the background; later sessions will know what matters from them."


def start_run(root: str, path: str) -> bool:
    """Start ``kept run`` for a transcript and return at once; False where a run is under way. Raises OSError."""
    begun = _start_command(root, [*_OF_SESSIONS, path])
    if not begun and path.isprintable():
        append_line(queue_path(state_folder(root), _LATE), path, _LATE_BYTES)
    return begun


def start_missed_run(root: str) -> str:
    """Begin in the background what nothing else does where only the plugin is there: the first run, the night's job that was
    missed, or the reading of what ended while another run was under way. Returns at once, with the line that tells of
    a first run, else empty. Raises OSError.
    """
    state = state_folder(root)
    if not os.path.exists(os.path.join(state, "kept.db")):  # noqa: PTH110, PTH118 - as in local/queue.py
        os.makedirs(os.path.join(state, "hooks"), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH118 - as above
        os.chmod(state, 0o700)  # noqa: PTH101 - as above
        _first_look_time(state)
        return FIRST if _start_command(root, ["run", "--quiet", "--no-llm"], bounded=False) else ""
    if _is_missed(state):
        _start_command(root, ["schedule", "run"], bounded=False)
    elif not is_run_active(root) and (late := take_lines(queue_path(state, _LATE))):
        _start_command(root, [*_OF_SESSIONS, *dict.fromkeys(late)])
    return ""


def _is_missed(state: str) -> bool:
    """Whether the night's job did not run for more than a day; where it never did, since the plugin first looked."""
    try:
        last = os.stat(os.path.join(state, "night.json")).st_mtime  # noqa: PTH116, PTH118 - as above
    except FileNotFoundError:
        last = _first_look_time(state)
    return time.time() - last > _MISSED


def _first_look_time(state: str) -> float:
    """When the plugin first looked here: the time of a file that is made once and never written again."""
    handle = os.open(os.path.join(state, "plugin.since"), os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)  # noqa: PTH118 - as above
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)


def _start_command(root: str, words: list[str], *, bounded: bool = True) -> bool:
    """Start a command of kept's, apart from the hook, where no run is under way."""
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
    """Whether any of these profiles is extracted when a session ends. Raises ConfigError for one that is none."""
    own = Path(root) / ".config" / "kept" / "profiles"
    return any(load_profile(profile, own).when.on(Occasion.SESSION_END) for profile in profiles)


def _lower_priority() -> None:
    """In the new process: give way to everybody else."""
    with suppress(OSError):
        os.nice(10)


def _limit_processor_time() -> None:
    """In the new process: give way, and end after so much time of the processor."""
    _lower_priority()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))


def is_run_active(root: str) -> bool:
    """Whether a run holds its lock."""
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
