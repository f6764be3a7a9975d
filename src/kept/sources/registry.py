"""The list of formats, in the order in which kept tries them (its own entries, saved screens, formats of tools, third-party
formats, general formats), and the format of a file.

Third parties add a format as an entry point of the group ``kept.sources``. It names a Source, or a class or function without
arguments that returns one. A plugin that cannot be loaded is left out, and :data:`LEFT_OUT` has the reason.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from zoneinfo import ZoneInfo

from kept.core.codec import load_table
from kept.core.errors import SourceError
from kept.core.value import dataclass
from kept.local.files.walking import MACHINERY
from kept.sources.base import Source
from kept.sources.documents import is_own_document, sniff_rows
from kept.sources.entries import KeptEntries
from kept.sources.formats.aider import Aider
from kept.sources.formats.claude_code import ClaudeCode
from kept.sources.formats.codex import Codex
from kept.sources.formats.console.reader import Console
from kept.sources.formats.copilot import CopilotChat, CopilotCli
from kept.sources.formats.cursor import CursorAgent, CursorEditor
from kept.sources.formats.exports import CHATGPT, CLAUDE_AI
from kept.sources.formats.gemini import Gemini
from kept.sources.formats.generic import Generic
from kept.sources.formats.journal import Journal
from kept.sources.formats.opencode import OpenCode
from kept.sources.formats.pi import Pi
from kept.sources.formats.specstory import SpecStory
from kept.sources.formats.vault import SUFFIXES, Vault
from kept.sources.records import HEAD_BYTES, LINE_LIMIT, open_regular, read_beginning, wide_encoding

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


GROUP = "kept.sources"


class LoadedPlugins(NamedTuple):
    """Third-party formats, and those that could not be loaded, as (name, reason)."""

    sources: tuple[Source, ...]
    left_out: tuple[tuple[str, str], ...]


def load_plugins(points: "Iterable[EntryPoint]") -> LoadedPlugins:
    """Load the formats of these entry points, in the order of their names."""
    sources: list[Source] = []
    left_out: list[tuple[str, str]] = []
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            found = point.load()
            source = cast("Callable[[], Any]", found)() if callable(found) else found
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            left_out.append((point.name, f"cannot be loaded: {type(error).__name__}"))
            continue
        if all(callable(getattr(source, name, None)) for name in ("places", "claims", "read")) and isinstance(
            getattr(source, "name", None), str
        ):
            sources.append(source)
        else:
            left_out.append((point.name, "is not a source: it needs name, places, claims and read"))
    return LoadedPlugins(tuple(sources), tuple(left_out))


def find_plugins(folders: Iterable[str]) -> "tuple[EntryPoint, ...]":
    """The entry points of the group ``kept.sources`` in the packages that are installed in these folders.

    ``importlib.metadata`` parses e-mail headers, which takes a tenth of a run that finds nothing new. It is imported only if a file
    names the group.
    """
    if not any(f"[{GROUP}]".encode() in text for folder in folders for text in _read_entry_points(Path(folder))):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415 - as above

    return tuple(entry_points(group=GROUP))


def _read_entry_points(folder: Path) -> Iterator[bytes]:
    with suppress(OSError):
        for package in folder.iterdir():
            if package.suffix in (".dist-info", ".egg-info"):
                with suppress(OSError):
                    yield (package / "entry_points.txt").read_bytes()


_TOOLS: tuple[Source, ...] = (
    *(ClaudeCode(), Codex(), Gemini(), Pi(), SpecStory(), CopilotCli(), CopilotChat(), CursorAgent(), CursorEditor(), OpenCode()),
    *(CHATGPT, CLAUDE_AI, Aider()),
)
_PLUGINS, LEFT_OUT = load_plugins(find_plugins(sys.path))
PLUGINS = frozenset(source.name for source in _PLUGINS)
# Console precedes the tools' formats, because a saved screen may show a record of a transcript.
SOURCES: tuple[Source, ...] = (KeptEntries(), Console(), *_TOOLS, *_PLUGINS, Vault(), Journal(), Generic())


def with_zone(zone: ZoneInfo) -> tuple[Source, ...]:
    """All formats, with ``zone`` as the time zone of times that name none."""
    return tuple(
        replace(cast("Any", source), zone=zone) if "zone" in getattr(source, "__dataclass_fields__", ()) else source
        for source in SOURCES
    )


_TEXT = "plain text without speakers' names (lines such as `User:` and `Assistant:`)"


@cache
def _load_kinds() -> Mapping[str, Mapping[str, str]]:
    return load_table(Path(__file__).with_name("file_kinds.toml"))


def describe_file(path: Path, head: bytes) -> str:
    """Describe the kind of a file by its first bytes and its name, without quoting its content."""
    kinds = _load_kinds()
    opening = head.decode("latin-1")
    if known := next((kind for magic, kind in kinds["magic"].items() if opening.startswith(magic)), ""):
        return known
    if encoding := wide_encoding(head):
        return f"{encoding} text: convert it to UTF-8"
    named = next((kind for suffix, kind in kinds["name"].items() if path.name.lower().endswith(suffix)), "")
    if named:
        return named
    if b"\0" in head:
        return "binary data"
    if not _is_utf8(head):
        return "text that is not UTF-8: convert it"
    text = head.lstrip()
    if text.startswith(b"<"):
        return "HTML or XML"
    is_json = text[:1] in (b"{", b"[") and text[1:].lstrip()[:1] in b'"{}[]-0123456789'  # a TOML table starts with a letter
    return "JSON that is no conversation a reader knows" if is_json else _TEXT


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"  # the first bytes end within a character
    return True


class SkipReason(StrEnum):
    """Why a path is not read."""

    LINK = "symbolic link"
    NOT_A_FILE = "not a regular file"
    MACHINERY = "a program's own folder, not searched"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    SPARSE = "sparse"
    UNKNOWN_FORMAT = "unknown format"
    NAME_NOT_UTF8 = "file name is not UTF-8"
    OWN = "written by kept itself"
    CLIENT_NOTES = "Claude Code's own notes: to import them, kept import --from claude"


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    """A path that is not read, and why; ``kind`` describes a file of unknown format."""

    path: Path
    reason: SkipReason
    kind: str = ""

    @property
    def sentence(self) -> str:
        """The reason as a sentence for a report."""
        return f"{self.reason.value}: {self.kind}" if self.kind else self.reason.value


_NOTES = ("vault", "journal", "generic")  # formats that would also recognize kept's own files


def identify_file(path: Path, *, sources: Sequence[Source] = SOURCES, named: bool = False, owner: str = "") -> Source | SkippedFile:
    """Return the format of a file, or the reason why it is not read.

    ``owner`` is the format of the tool whose folder contains the file. If the file's name is that of a transcript of this tool, the
    file has this format, whatever it contains. For other files the first 64 KB decide. If no format recognizes them, more of the
    file is read. ``named`` means that a person named this file: then Markdown of unknown format is read as a journal.
    """
    reason = _find_skip_reason(path)
    if reason is not None:
        return SkippedFile(path=path, reason=reason)
    owning = next((source for source in sources if source.name == owner), None)
    if owning and hasattr(owning, "owns") and owning.owns(path) and os.access(path, os.R_OK):
        return owning
    try:
        with open_regular(path) as file:
            head = file.read(HEAD_BYTES)
            found = _find_claiming_source(path, head, sources)
            if found is None and len(head) == HEAD_BYTES:
                file.seek(0)
                found = next(
                    (source for more in _read_further(path, file) if (source := _find_claiming_source(path, more, sources))), None
                )
    except (OSError, SourceError):
        return SkippedFile(path=path, reason=SkipReason.UNREADABLE)
    markdown = path.suffix.lower() in SUFFIXES
    if markdown and b"<!-- kept:" in head and (found is None or found.name in _NOTES) and is_own_document(sniff_rows(head, path)):
        return SkippedFile(path=path, reason=SkipReason.OWN)
    if found is None and named and markdown:
        found = next((source for source in sources if isinstance(source, Journal)), None)
    if found is None and markdown and owner == "claude-code" and path.parent.name == "memory":
        return SkippedFile(path=path, reason=SkipReason.CLIENT_NOTES)
    return found or SkippedFile(path=path, reason=SkipReason.UNKNOWN_FORMAT, kind=describe_file(path, head))


def _find_claiming_source(path: Path, head: bytes, sources: Sequence[Source]) -> Source | None:
    return next((source for source in sources if source.claims(path, head)), None)


_MORE_BYTES = 4 * 2**20  # bytes to read if the first 64 KB are inconclusive
_DOCUMENT_BYTES = 2**20
_DOCUMENTS = (*SUFFIXES, ".txt", ".json")


def _read_further(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield more of a file whose first bytes no format recognizes: one longer beginning of a document, or runs of whole lines of
    about 64 KB of JSON Lines.

    Lines are complete up to the limit of a record, so a first record of several megabytes is recognized.
    """
    if path.suffix.lower() in _DOCUMENTS:
        yield file.read(_DOCUMENT_BYTES)
        return
    run: list[bytes] = []
    held = taken = 0
    while taken < _MORE_BYTES and (line := file.readline(LINE_LIMIT + 1)):
        taken += len(line)
        if not taken - len(line) and line.lstrip() and line.lstrip()[:1] != b"{":
            return  # not JSON Lines
        if line.strip() and len(line) <= LINE_LIMIT:
            run.append(line)
            held += len(line)
        if held >= HEAD_BYTES:
            yield b"".join(run)
            run, held = [], 0
    if run:
        yield b"".join(run)


def tool_folder_format(path: Path) -> str:
    """The format of the tool whose usual folder (such as ``.claude/projects``), here or in a copy, contains a file; else empty."""
    parts = path.parts[:-1]
    for name, tail in _FOLDERS:
        size = len(tail)
        if any(parts[start : start + size] == tail for start in range(len(parts) - size + 1)):
            return name
    return ""


_NOWHERE = Path("/nowhere")
_FOLDERS = tuple(
    (source.name, place.relative_to(_NOWHERE).parts)
    for source in SOURCES
    if hasattr(source, "owns")
    for place in source.places(_NOWHERE, {})
    if not place.suffix
)


# If a file exceeds its allocated blocks by this factor, it is nearly all zeros.
_SPARSE_BYTES = 64 * 2**20
_SPARSE_FACTOR = 16
_BLOCK = 512


def _find_skip_reason(path: Path) -> SkipReason | None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return SkipReason.NAME_NOT_UTF8
    try:
        info = path.lstat()
    except (OSError, ValueError):
        return SkipReason.UNREADABLE
    if stat.S_ISLNK(info.st_mode):
        return SkipReason.LINK
    if stat.S_ISDIR(info.st_mode) and not os.access(path, os.R_OK | os.X_OK):
        return SkipReason.UNREADABLE
    if stat.S_ISDIR(info.st_mode) and path.name in MACHINERY:
        return SkipReason.MACHINERY
    if not stat.S_ISREG(info.st_mode):
        return SkipReason.NOT_A_FILE
    if info.st_size == 0:
        return SkipReason.EMPTY
    if info.st_size > _SPARSE_BYTES and info.st_blocks * _BLOCK * _SPARSE_FACTOR < info.st_size:
        return SkipReason.SPARSE
    return None


def find_wide_encoding(path: Path) -> str:
    """UTF-16 or UTF-32 if a file begins with that encoding; else empty. No source reads either."""
    return wide_encoding(read_beginning(path, 4))
