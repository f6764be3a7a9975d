"""A log below the state folder: bounded, readable by its owner alone, opened without following a link."""

import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path


class PrivateLog(RotatingFileHandler):
    """Appends lines to a file, and keeps so many older files when it has grown past ``most`` bytes. Raises OSError."""

    def __init__(self, place: Path, *, most: int, older: int) -> None:
        super().__init__(place, maxBytes=most, backupCount=older, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return open(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")  # noqa: PTH123 - a descriptor has no path
