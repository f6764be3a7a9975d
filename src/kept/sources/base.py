"""The interface of a transcript format: where it stores files, how to recognize them, how to read on from a cursor."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from kept.core.event import Cursor, Slice

ENTRY = "entry"  # the format of kept's own journal entries


class Source(Protocol):
    """One transcript format.

    ``read`` is a left fold over the file with an explicit state. It yields bounded slices (about 8 MB of input or 2,000 events
    each) and can be stopped after any of them; the cursor of the last slice continues it, in this run or a later one. Reading a
    growing file piece by piece gives the same events as reading it at once, and accounts with the same sum.

    If there is nothing new, no slice is yielded. If the only new part is an incomplete last record, one slice is yielded whose
    cursor equals the given one and whose account has only ``pending``. A file that was rewritten or shrank since the cursor is read
    again from its start, noted as ``rewritten-file``; event keys make that harmless.

    ``read`` raises SourceError if the file as a whole cannot be read (permission, encoding, not a regular file); nothing is
    consumed then. A broken record never raises: it is counted in the account.
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


@runtime_checkable
class FolderSource(Source, Protocol):
    """A format whose tool has its own folders, in which the name of a file shows its kind."""

    def owns(self, path: Path) -> bool:
        """True if a file in one of the tool's own folders is a transcript, whatever its first bytes are."""


def named_folder(env: Mapping[str, str], variable: str, usual: Path) -> Path:
    """The folder named by an environment variable, else the default."""
    named = env.get(variable, "")
    return Path(named).expanduser() if named else usual


def settings_folders(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders of desktop programs' data on Linux (including ``$XDG_CONFIG_HOME``), macOS and Windows."""
    return (
        named_folder(env, "XDG_CONFIG_HOME", home / ".config"),
        home / "Library" / "Application Support",
        home / "AppData" / "Roaming",
    )
