"""What hooks leave for the next run and note of a session: where it lies, its lines, the bounded files they are
appended to, and what failed in jobs that ran while nobody looked.

Imports next to nothing, for hooks wait for it. Plain ``os`` calls: pathlib takes longer to import than a line takes to write.
"""

import json
import os
import time
from contextlib import suppress
from typing import NamedTuple

NIGHT, SESSION = "night", "session"  # whose failures are noted: the night's job, the run at a session's end
_LINE = 3_500  # bytes of a line: below what a single append to a file keeps whole on every system
_OLD = 7 * 86_400.0  # seconds after which what was noted of a session goes
_LOOKED = 500
_QUEUE_BYTES = 256_000
_USES_BYTES = 1_000_000
_TOLD_BYTES = 64_000
_LOG_BYTES = 128_000
_TOLD = ".told"
_NAME = 80


def append_line(path: str, line: str, most: int) -> bool:
    """Add a line to a file (0600, made with its folder where it is missing); False where the file has ``most`` bytes already.

    Raises OSError.
    """
    raw = line.replace("\n", " ").encode("utf-8", "replace")[:_LINE] + b"\n"
    try:
        handle = _open_for_append(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - see above
        handle = _open_for_append(path)
    try:
        if os.fstat(handle).st_size + len(raw) > most:
            return False
        os.write(handle, raw)
    finally:
        os.close(handle)
    return True


def _open_for_append(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def read_lines(path: str, most: int = 1_000_000) -> list[str]:
    """The whole lines of a file, at most so many bytes of it; empty where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        raw = os.read(handle, most)
    finally:
        os.close(handle)
    return raw.decode("utf-8", "replace").split("\n")[:-1]


def take_lines(path: str) -> list[str]:
    """The lines of a file, which is gone afterwards: what is appended meanwhile goes into a new one. Raises OSError."""
    own = f"{path}.{os.getpid()}"
    try:
        os.rename(path, own)  # noqa: PTH104 - see above
    except FileNotFoundError:
        return []
    found = read_lines(own)
    os.unlink(own)  # noqa: PTH108 - see above
    return found


def delete_if_present(path: str) -> None:
    """Forget a file, where it is there."""
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - see above


def delete_old_files(folder: str, ending: str) -> None:
    """Forget files of a folder that end so and were not written to for a week; looks at 500 at most."""
    with suppress(OSError), os.scandir(folder) as entries:  # see above
        for _, entry in zip(range(_LOOKED), entries, strict=False):
            if entry.name.endswith(ending) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD:
                delete_if_present(entry.path)


def is_state_outside_home(root: str) -> bool:
    """Whether a link leads kept's own folder out of the home: nothing is written there."""
    real, state = os.path.realpath(root), os.path.realpath(state_folder(root))
    return os.path.commonpath((real, state)) != real


def state_folder(root: str) -> str:
    """The folder of kept's own state below a home."""
    return os.path.join(root, ".local", "share", "kept")  # noqa: PTH118 - pathlib takes longer to import than all of this takes


def queue_path(state: str, name: str) -> str:
    """Where something that hooks leave lies."""
    return os.path.join(state, "hooks", name)  # noqa: PTH118 - as above


def enqueue_transcript(state: str, path: str, at: str) -> None:
    """Note that a transcript has something new. Raises OSError."""
    append_line(queue_path(state, "queue"), f"{at}\t{path}", _QUEUE_BYTES)


def take_queued_transcripts(state: str) -> list[str]:
    """The transcripts that hooks named since the last run, each once."""
    return list(dict.fromkeys(line.partition("\t")[2] for line in take_lines(queue_path(state, "queue"))))


def log_used_memories(state: str, ids: list[str]) -> None:
    """Note that memories were of use; the next run counts them (:mod:`kept.recall.indexing`). Raises OSError."""
    if ids:
        append_line(os.path.join(state, "used.log"), " ".join(ids), _USES_BYTES)  # noqa: PTH118 - as above


def load_shown(state: str, session: str) -> frozenset[str] | None:
    """The keys of what was shown in a session; None where nothing was noted of it."""
    found = read_lines(_session_path(state, session))
    return frozenset(key for line in found for key in line.split()) if found else None


def save_shown(state: str, session: str, keys: list[str]) -> None:
    """Note what was shown in a session. Raises OSError."""
    append_line(_session_path(state, session), " ".join(["-", *keys]), _TOLD_BYTES)


def reset_shown(state: str, session: str) -> None:
    """Nothing was shown in a session so far; what was noted of sessions a week ago goes."""
    delete_if_present(_session_path(state, session))
    delete_old_files(queue_path(state, ""), _TOLD)


def session_file_name(session: str) -> str:
    """The name of the files of a session."""
    return "".join(char if char.isascii() and (char.isalnum() or char == "-") else "_" for char in session[:_NAME])


def _session_path(state: str, session: str) -> str:
    return queue_path(state, session_file_name(session) + _TOLD)


def log_hook_problem(state: str, at: str, event: str, what: str) -> None:
    """Write a line into the log of the hooks; the older half goes when it is full. Raises OSError."""
    path = queue_path(state, "log")
    if not append_line(path, f"{at} {event}: {what}", _LOG_BYTES):
        kept = read_lines(path)
        delete_if_present(path)
        for line in kept[len(kept) // 2 :]:
            append_line(path, line, _LOG_BYTES)
        append_line(path, f"{at} {event}: {what}", _LOG_BYTES)


def load_hook_log(state: str) -> list[str]:
    """The lines of that log, oldest first."""
    return read_lines(queue_path(state, "log"))


FILE = "failures.json"


class JobFailure(NamedTuple):
    """What failed (``night check``, ``session end``), since when without a break (an instant as text), and how."""

    what: str
    since: str
    detail: str


def load_failures(state: str) -> list[JobFailure]:
    """What failed the last time it ran; nothing where the note cannot be read."""
    try:
        with open(f"{state}/{FILE}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than this takes
            return [JobFailure(str(what), str(since), str(detail)) for what, since, detail in json.load(file)]
    except (OSError, ValueError, TypeError):
        return []


def format_failures_note(before: list[JobFailure], runner: str, found: dict[str, str], at: str) -> str:
    """The note after a run of ``runner`` (the first word of what failed): what failed now, since when; what others noted stays."""
    since = {item.what: item.since for item in before}
    others = [item for item in before if item.what.partition(" ")[0] != runner]
    now = [JobFailure(what, since.get(what, at), detail[:300]) for what, detail in sorted(found.items())]
    return json.dumps([*others, *now])


def claim_unreported_failures(state: str) -> list[JobFailure]:
    """The failures that no session was told of so far; from now on they count as told."""
    return [failure for failure in load_failures(state) if _claim_failure(state, failure)]


def _reported_marker(failure: JobFailure) -> str:
    return f"failure.{''.join(char if char.isalnum() else '-' for char in f'{failure.what}.{failure.since}')}.told"


def _claim_failure(state: str, failure: JobFailure) -> bool:
    try:
        os.makedirs(queue_path(state, ""), mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
        os.close(os.open(queue_path(state, _reported_marker(failure)), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False  # told already, or there is no place to note it: rather not told than told each time
    return True


def forget_reported_failures(state: str) -> None:
    """Forget what was told of failures that stand no more."""
    stand = {_reported_marker(failure) for failure in load_failures(state)}
    with suppress(OSError):
        for name in os.listdir(queue_path(state, "")):  # noqa: PTH208 - as above
            if name.startswith("failure.") and name not in stand:
                os.unlink(queue_path(state, name))  # noqa: PTH108 - as above


def render_failures(failures: list[JobFailure]) -> str:
    """One line for a session's context: what was not done, and what says more. No word of it comes from a transcript or a file."""
    names = ", ".join(failure.what for failure in failures)
    return (
        f"- kept could not do all of its own work ({names}). `kept status` says what, `kept doctor` how to mend it; the user "
        "may not know yet."
    )
