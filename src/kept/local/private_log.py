"""A log file below the state folder: bounded in size, readable only by its owner, opened without following links."""

import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path


class PrivateLog(RotatingFileHandler):
    """A log that is rotated when it exceeds ``most`` bytes and keeps ``older`` previous files. Raises OSError."""

    def __init__(self, place: Path, *, most: int, older: int) -> None:
        super().__init__(place, maxBytes=most, backupCount=older, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return open(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")  # noqa: PTH123 - a descriptor has no path
