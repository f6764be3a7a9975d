"""Logs below the state folder, which have a limited size and are readable only by their owner.

The log of unexpected errors has one entry per error, with the types and stack traces of the error and its causes. It omits the
messages of exceptions, because they may quote a transcript.
"""

import logging
import os
import traceback
from contextlib import closing, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import unquote

from kept.core.times import format_instant


class PrivateLog(RotatingFileHandler):
    """A log that is rotated when it exceeds ``most`` bytes and keeps ``older`` previous files. Raises OSError."""

    def __init__(self, place: Path, *, most: int, older: int) -> None:
        super().__init__(place, maxBytes=most, backupCount=older, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return open(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")  # noqa: PTH123 - a descriptor has no path


NAME = "errors.log"
_BYTES = 500_000
_COPIES = 1
_PACKAGE = Path(__file__).parents[1]


def error_line(error: BaseException) -> str:
    """Format an unexpected error as one line: its type, and the innermost place in kept's code in its stack trace."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(unquote(frame.filename)).is_relative_to(_PACKAGE)] or frames
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"something unexpected went wrong: {type(error).__name__}{where}"


def log_error(state: Path, doing: str, error: BaseException) -> Path | None:
    """Append an error to the log in the state folder. ``doing`` is the action that failed.

    Returns the path of the log, or None if it cannot be written.
    """
    place = state / NAME
    with suppress(OSError), closing(PrivateLog(place, most=_BYTES, older=_COPIES)) as handler:
        text = "\n".join((f"{format_instant(datetime.now(UTC))} {doing}: {error_line(error)}", *_format_trace(error)))
        handler.emit(logging.LogRecord("kept", logging.ERROR, "", 0, text, (), None))
        return place
    return None


def _format_trace(error: BaseException) -> list[str]:
    """The lines of an error's stack trace, outermost call first. The traces of its causes come before it."""
    lines: list[str] = []
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        lines += [*_format_trace(cause), "  which led to"]
    lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    return [*lines, f"  {type(error).__name__}"]
