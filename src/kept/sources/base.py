"""The interface of a transcript format: its folders, how to recognize its files, and how to read them from a cursor on."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from kept.core.event import Cursor, Slice

ENTRY = "entry"  # the format of kept's own journal entries


class Source(Protocol):
    """One transcript format.

    ``read`` yields bounded slices (about 8 MB of input or 2,000 events each). The caller may stop after any slice; the cursor of
    that slice continues the reading, in this run or a later one. A file that is read piece by piece as it grows gives the same
    events and the same total counts as a file read at once.

    If there is nothing new, ``read`` yields no slice. If the only new part is an incomplete last record, it yields one slice whose
    cursor equals the given one and whose account has only ``pending``. A file that was rewritten or shrank since the cursor is read
    again from its start, and the account notes ``rewritten-file``. Its events have the same keys as before, so none is stored
    twice.

    ``read`` raises SourceError if the file as a whole cannot be read (permission, encoding, not a regular file), and then consumes
    nothing. It never raises for a broken record: the account counts it.
    """

    @property
    def name(self) -> str:
        """The format's name, in lower case with hyphens."""

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The folders or files where this tool stores its transcripts, whether or not they exist."""

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a file has this format, judging by its first bytes (at most 64 KB, may be truncated) and, if needed, its name."""

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events after the cursor, in file order. Raises SourceError."""


class FolderSource(Source, Protocol):
    """A format whose tool has its own folders, in which the name of a file shows its kind. Recognized by its method ``owns``."""

    def owns(self, path: Path) -> bool:
        """True if a file in one of the tool's own folders is a transcript, whatever its first bytes are."""


def named_folder(env: Mapping[str, str], variable: str, usual: Path) -> Path:
    """The folder named by an environment variable, else the default."""
    named = env.get(variable, "")
    return Path(named).expanduser() if named else usual


def settings_folders(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders where desktop programs store their data on Linux (including ``$XDG_CONFIG_HOME``), macOS and Windows."""
    return (
        named_folder(env, "XDG_CONFIG_HOME", home / ".config"),
        home / "Library" / "Application Support",
        home / "AppData" / "Roaming",
    )
