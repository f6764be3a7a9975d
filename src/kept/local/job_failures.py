"""Failures of what runs while nobody watches (the night's job, the run at a session's end): noted, shown, told to one session once.

A hook waits for this module: it imports next to nothing, and where nothing failed it tries to open one file.
"""

import json
import os
from contextlib import suppress
from typing import NamedTuple

from kept.local.queue import queue_path

FILE = "failures.json"


class JobFailure(NamedTuple):
    """What failed (``night check``, ``session end``), since when it does without a break (an instant as text), and how, in
    words.
    """

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
