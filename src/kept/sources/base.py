"""What every transcript format offers: where it lives, how to recognise it, how to read it on from a cursor.

Knows no format.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from kept.core.event import Cursor, Slice

ENTRY = "entry"  # the format of the entries that kept writes itself


class Source(Protocol):
    """One transcript format.

    ``read`` is a left fold over the file with an explicit carry. It yields bounded slices (about 8 MB of input or 2,000 events
    each) and can be stopped after any of them; the cursor of the last one taken continues it, in this run or a later one. Reading a
    growing file piece by piece gives the same events as reading it at once, and accounts that add up to the same.

    Nothing new yields no slice at all. A file with nothing new but an unfinished last record yields one slice whose cursor
    equals the one given and whose account holds only ``pending``. A file that was rewritten or shrank since the cursor was
    taken is read again from its start, noted as ``rewritten-file``; event keys make that harmless.

    ``read`` raises SourceError where the file as a whole cannot be read (permission, encoding, not a regular file); nothing
    is consumed then. A broken record never raises: it is set aside in the account.
    """

    @property
    def name(self) -> str:
        """The format's name, in lower case with hyphens."""
        ...

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The folders or files where this tool keeps its transcripts, whether they exist or not."""
        ...

    def claims(self, path: Path, head: bytes) -> bool:
        """Whether a file is of this format, judged by its first bytes (at most 64 KB, possibly cut) and, where needed, its name."""
        ...

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """The events after the cursor, in file order. Raises SourceError."""
        ...


@runtime_checkable
class FolderSource(Source, Protocol):
    """A format whose tool keeps its transcripts in folders of its own, where a file's name tells what it is."""

    def owns(self, path: Path) -> bool:
        """Whether a file in one of the tool's own folders is a transcript, whatever its first bytes look like."""
        ...


def named_folder(env: Mapping[str, str], variable: str, usual: Path) -> Path:
    """The folder that a variable of the environment names, else the usual one."""
    named = env.get(variable, "")
    return Path(named).expanduser() if named else usual


def settings_folders(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where programs with a window keep their data on Linux (``$XDG_CONFIG_HOME`` counts), macOS and Windows."""
    return (
        named_folder(env, "XDG_CONFIG_HOME", home / ".config"),
        home / "Library" / "Application Support",
        home / "AppData" / "Roaming",
    )
