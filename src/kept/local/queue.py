"""Small files in the state folder: work that hooks leave for the next run, the state of sessions, failures of background jobs.

The size of each file is limited. Hooks import this module, so it imports next to nothing. It uses ``os`` and not pathlib, because
importing pathlib takes longer than writing a line.
"""

import os
import time

from kept.core.fence import estimate_token_count
from kept.core.light import NamedTuple, format_json, parse_json

NIGHT, SESSION = "night", "session"  # jobs whose failures are recorded: the nightly job, the run at the end of a session
_LINE = 3_500  # maximum bytes of a line, because a single append of this size is atomic on every system
_EXPIRY_SECONDS = 7 * 86_400.0  # a session's files are deleted after this many seconds without a write
_MOST_EXAMINED = 500  # maximum number of files in a folder whose age is checked
_QUEUE_BYTES = 256_000
_USES_BYTES = 1_000_000
_SHOWN_BYTES = 64_000
_LOG_BYTES = 128_000
_COUNT_BYTES = 64_000
_SHOWN_SUFFIX = ".told"
_NAME_CHARS = 80


def append_line(path: str, line: str, most: int) -> bool:
    """Append a line to a file. Creates the file (mode 0600) and its folder if they are missing.

    Returns False, without writing, if the file would exceed ``most`` bytes. Raises OSError.
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
    """Read the complete lines in the first ``most`` bytes of a file. Empty if there is no file."""
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
    """Read the lines of a file and delete it. Lines that are appended at the same time go into a new file. Raises OSError."""
    own = f"{path}.{os.getpid()}"
    try:
        os.rename(path, own)  # noqa: PTH104 - see above
    except FileNotFoundError:
        return []
    lines = read_lines(own)
    os.unlink(own)  # noqa: PTH108 - see above
    return lines


def delete_if_present(path: str) -> None:
    """Delete a file if it exists."""
    try:
        os.unlink(path)  # noqa: PTH108 - see above
    except OSError:
        return


def delete_old_files(folder: str, ending: str) -> None:
    """Delete files with the suffix ``ending`` that were not written for a week. Checks at most 500 files."""
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_MOST_EXAMINED), entries, strict=False):
                if entry.name.endswith(ending) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _EXPIRY_SECONDS:
                    delete_if_present(entry.path)
    except OSError:
        return


def is_state_outside_home(root: str) -> bool:
    """True if a link leads kept's own folder out of the home ``root``, or cannot be read. Then nothing may be written there."""
    try:
        real, state = os.path.realpath(root), os.path.realpath(state_folder(root))
    except OSError:
        return True
    return os.path.commonpath((real, state)) != real


def state_folder(root: str) -> str:
    """The folder with kept's own state below a home."""
    return os.path.join(root, ".local", "share", "kept")  # noqa: PTH118 - pathlib takes longer to import than all of this takes


def queue_path(state: str, name: str) -> str:
    """The path of a file that hooks write."""
    return os.path.join(state, "hooks", name)  # noqa: PTH118 - as above


def enqueue_transcript(state: str, path: str, at: str) -> None:
    """Record that a transcript has new content. Raises OSError."""
    append_line(queue_path(state, "queue"), f"{at}\t{path}", _QUEUE_BYTES)


def take_queued_transcripts(state: str) -> list[str]:
    """Empty the queue, and return the transcripts that hooks queued since the last run, without duplicates."""
    return list(dict.fromkeys(line.partition("\t")[2] for line in take_lines(queue_path(state, "queue"))))


def log_used_memories(state: str, ids: list[str]) -> None:
    """Record that memories were used. The next run counts the uses (:mod:`kept.recall.indexing`). Raises OSError."""
    if ids:
        append_line(os.path.join(state, "used.log"), " ".join(ids), _USES_BYTES)  # noqa: PTH118 - as above


def load_shown(state: str, session: str) -> frozenset[str] | None:
    """Load the keys of the context pieces that were shown in a session. None if nothing is recorded for it."""
    lines = read_lines(_session_path(state, session))
    return frozenset(key for line in lines for key in line.split()) if lines else None


def save_shown(state: str, session: str, keys: list[str]) -> None:
    """Record the keys of the context pieces that were shown in a session. Raises OSError."""
    append_line(_session_path(state, session), " ".join(["-", *keys]), _SHOWN_BYTES)


def reset_shown(state: str, session: str) -> None:
    """Clear the record of what was shown in a session, and delete the records of sessions older than a week."""
    delete_if_present(_session_path(state, session))
    delete_old_files(queue_path(state, ""), _SHOWN_SUFFIX)


def session_file_name(session: str) -> str:
    """The base name of a session's files."""
    return "".join(char if char.isascii() and (char.isalnum() or char == "-") else "_" for char in session[:_NAME_CHARS])


def _session_path(state: str, session: str) -> str:
    return queue_path(state, session_file_name(session) + _SHOWN_SUFFIX)


def log_hook_problem(state: str, at: str, event: str, what: str) -> None:
    """Append a line to the hooks' log. Raises OSError."""
    append_bounded(queue_path(state, "log"), f"{at} {event}: {what}", _LOG_BYTES)


def record_added_text(state: str, day: str, text: str) -> None:
    """Record how many tokens a hook added to a session or prompt on a day. Raises OSError."""
    append_bounded(queue_path(state, "put"), f"{day} {estimate_token_count(text)}", _COUNT_BYTES)


def append_bounded(path: str, line: str, most: int) -> None:
    """Append a line to a file. If the file would exceed ``most`` bytes, delete its older half first. Raises OSError."""
    if not append_line(path, line, most):
        lines = read_lines(path)
        delete_if_present(path)
        for item in (*lines[len(lines) // 2 :], line):
            append_line(path, item, most)


def load_hook_log(state: str) -> list[str]:
    """The lines of the hooks' log, oldest first."""
    return read_lines(queue_path(state, "log"))


FAILURES_FILE = "failures.json"


class JobFailure(NamedTuple):
    """A job that failed (such as ``night check``), the time of the first of its consecutive failures as text, and the error."""

    what: str
    since: str
    detail: str


def load_failures(state: str) -> list[JobFailure]:
    """Load the jobs that failed in their last run. Empty if the record cannot be read."""
    try:
        with open(f"{state}/{FAILURES_FILE}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than this takes
            return [JobFailure(str(what), str(since), str(detail)) for what, since, detail in parse_json(file.read())]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def format_failures_note(before: list[JobFailure], runner: str, errors: dict[str, str], at: str) -> str:
    """Format the record of failures after a run of ``runner``. Failures of other runners stay.

    ``runner`` is the first word of its jobs' names. ``errors`` maps the jobs that failed in this run to their errors.
    """
    since = {item.what: item.since for item in before}
    others = [item for item in before if item.what.partition(" ")[0] != runner]
    now = [JobFailure(what, since.get(what, at), detail[:300]) for what, detail in sorted(errors.items())]
    return format_json([*others, *now])


def claim_unreported_failures(state: str) -> list[JobFailure]:
    """Return the failures that were not reported to a session yet, and mark them as reported."""
    return [failure for failure in load_failures(state) if _claim_failure(state, failure)]


def _reported_marker(failure: JobFailure) -> str:
    return f"failure.{''.join(char if char.isalnum() else '-' for char in f'{failure.what}.{failure.since}')}.told"


def _claim_failure(state: str, failure: JobFailure) -> bool:
    try:
        os.makedirs(queue_path(state, ""), mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
        os.close(os.open(queue_path(state, _reported_marker(failure)), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False  # reported already, or the marker cannot be written: then no report is better than one in every session
    return True


def forget_reported_failures(state: str) -> None:
    """Delete the markers of reported failures if the job no longer fails."""
    markers = {_reported_marker(failure) for failure in load_failures(state)}
    try:
        for name in os.listdir(queue_path(state, "")):  # noqa: PTH208 - as above
            if name.startswith("failure.") and name not in markers:
                os.unlink(queue_path(state, name))  # noqa: PTH108 - as above
    except OSError:
        return


def render_failures(failures: list[JobFailure]) -> str:
    """One line for a session's context that names the failed jobs. It contains no text from transcripts or files."""
    names = ", ".join(failure.what for failure in failures)
    return (
        f"- kept could not do all of its own work ({names}). `kept status` says what failed, `kept doctor` how to fix it; the "
        "user may not know yet."
    )
