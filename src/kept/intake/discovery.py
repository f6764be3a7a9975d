"""Discovery: find the files to read with their formats, and the files that are left out with the reasons."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast

from kept.core.document import END
from kept.core.errors import SourceError, UsageError
from kept.core.event import Author
from kept.core.project import matches_path
from kept.core.value import dataclass, fields, replace
from kept.intake.cleaned_files import FilesToRead, SourcePlaces
from kept.local.files.walking import find_file_names
from kept.local.progress import isolate_errors
from kept.local.settings.tables import SourceRoot, find_root_above
from kept.sources.base import ENTRY, Source
from kept.sources.entries import find_entries
from kept.sources.registry import SOURCES, SkippedFile, SkipReason, identify_file, tool_folder_format, with_zone
from kept.sources.stat_cache import folder_settings_entry, is_unchanged, make_stat_entry, size_when_read
from kept.workspace import Workspace

_NOTES = (".md", ".markdown", ".mdx", ".txt")
# Files that may have the format that a root names.
_TEXTS = (".md", ".markdown", ".mdx", ".txt", ".log", ".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, kw_only=True, slots=True)
class _PathCandidate:
    """A path to examine.

    ``owner`` is the format of the tool whose folder contains it, ``root`` the root of the settings that contains it. ``named``: a
    person named this file. ``asked``: a person named this file or a folder above it.
    """

    path: str
    owner: str = ""
    root: SourceRoot | None = None
    named: bool = False
    asked: bool = False


def discover(workspace: Workspace, paths: Sequence[Path], *, force: bool = False) -> FilesToRead:
    """Find the files to read below ``paths``. Without paths, search all known places and the roots of the settings.

    ``force`` includes unchanged files. Raises UsageError if one of the paths does not exist.
    """
    files: dict[str, Source] = {}
    unchanged: dict[str, str] = {}
    skipped: list[tuple[str, str]] = []
    left: list[tuple[str, str]] = []
    sources = with_zone(workspace.zone)
    if not paths:
        gone = [place for root in workspace.settings.root if not os.path.lexists(place := root.resolve(workspace.paths.user))]
        skipped += [(printable(place), "the folder does not exist; to stop reading it: kept sources remove") for place in gone]
    folder, noted, off = "", dict[str, tuple[str, str]](), workspace.settings.sources_off
    places, read = list_source_places(workspace), dict[str, int]()
    known = tuple((source.name, Path(os.path.realpath(place))) for source, place in places) if paths else ()
    for candidate in _paths_to_examine(workspace, paths, places):
        plain = candidate.path
        if matches_path(plain, workspace.settings.exclude):
            left.append((printable(plain), "excluded by you"))
            continue
        if not force:
            if plain.rpartition("/")[0] != folder:
                folder = plain.rpartition("/")[0]
                noted = workspace.store.archive.stat_cache_below(folder) if printable(folder) == folder else {}
            name, entry = noted.get(plain, ("", ""))
            if entry and name not in off and is_unchanged(entry, make_stat_stamp(workspace, plain, name)):
                unchanged[plain] = name
                continue
            read[plain] = size_when_read(entry)
        path, shown = Path(plain), printable(plain)
        try:
            with isolate_errors("its format cannot be determined", str(path)):
                owner = candidate.owner or _owner(path, known)
                source = format_of(path, sources, candidate.root, named=candidate.named, owner=owner)
                if is_own_output(workspace, path):
                    source = SkippedFile(path=path, reason=SkipReason.OWN)
        except SourceError as error:
            skipped.append((shown, error.what))
            continue
        match source:
            case SkippedFile():
                (skipped if _is_missed(candidate, source) else left).append((shown, source.sentence))
            case _ if source.name in off:
                left.append((shown, f"{source.name} is switched off by you"))
            case _:
                files[plain] = source
    return FilesToRead(
        files=files,
        unchanged=Counter(unchanged.values()),
        skipped=tuple(skipped),
        left=tuple(left),
        named=tuple(paths),
        places=places,
        read=read,
    )


def format_of(
    path: Path, sources: Sequence[Source], root: SourceRoot | None = None, *, named: bool = False, owner: str = ""
) -> Source | SkippedFile:
    """The format of a file according to :func:`identify_file` and to the settings of its root."""
    source = identify_file(path, sources=sources, named=named, owner=owner)
    if root is None:
        return source
    if isinstance(source, SkippedFile):
        # An unrecognized file in a vault is a note, not a conversation.
        name = "journal" if root.format == "vault" else root.format
        chosen = next((source for source in sources if source.name == name), None)
        suffixes = _NOTES if name == "journal" else _TEXTS
        if chosen is None or source.reason is not SkipReason.UNKNOWN_FORMAT or path.suffix.lower() not in suffixes:
            return source
        source = chosen
    if root.author and is_dataclass(source) and any(item.name == "author" for item in fields(source)):
        author = Author.HUMAN if root.author == "person" else Author.ASSISTANT
        return cast("Source", replace(cast("Any", source), author=author))
    return source


def is_own_output(workspace: Workspace, path: Path) -> bool:
    """True if the store records that kept wrote this whole file, whatever it contains now. Raises DamagedError."""
    if path.suffix.lower() not in _NOTES:
        return False
    root, real = workspace.paths.root, workspace.paths.root.resolve()
    known = root / path.relative_to(real) if path.is_relative_to(real) else path
    return any(written.key == END for output in workspace.store.output_states(str(known)) for written in output.lines)


def printable(path: Path | str) -> str:
    """A path as text, even if its name is not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_missed(candidate: _PathCandidate, skipped: SkippedFile) -> bool:
    """True if the skipped file might be a transcript. That is any file that a person asked for. In a tool's folder, files of
    unknown format or without content do not count.
    """
    if skipped.reason in (SkipReason.MACHINERY, SkipReason.OWN, SkipReason.CLIENT_NOTES):
        return False
    return candidate.asked or skipped.reason not in (SkipReason.UNKNOWN_FORMAT, SkipReason.EMPTY)


def make_stat_stamp(workspace: Workspace, path: str, source: str) -> str:
    """The stat entry of a file. It includes the author and project of the file's root, so that a change of these is noticed."""
    root = find_root_above(workspace.settings.root, path, workspace.paths.user)
    return make_stat_entry(path, source, folder_settings_entry(root.author, root.project) if root else "")


def list_source_places(workspace: Workspace) -> SourcePlaces:
    """The existing places of all sources, and kept's own: recorded messages of agents, and journal entries."""
    by_name = {source.name: source for source in SOURCES}
    found = [(source, place) for source in SOURCES for place in source_places(workspace, source)]
    found.append((by_name["generic"], workspace.paths.agents))
    found += [(by_name[ENTRY], path) for path in find_entries(workspace.paths.root / workspace.settings.journal.folder)]
    return tuple((source, place) for source, place in found if place.exists())


def source_places(workspace: Workspace, source: Source) -> list[Path]:
    """The places of a source below the user's home and below ``--home``, without duplicates. They need not exist."""
    homes = dict.fromkeys((workspace.paths.user, workspace.paths.root))
    return list(dict.fromkeys(place for home in homes for place in source.places(home, workspace.env)))


def _paths_to_examine(workspace: Workspace, paths: Sequence[Path], places: SourcePlaces) -> Iterator[_PathCandidate]:
    """Yield the given files and those below the given folders. Without ``paths``, yield the files in all places and roots."""
    if not paths:
        for source, place in places:
            yield from (_PathCandidate(path=path, owner=source.name) for path in find_file_names(place))
        for root in workspace.settings.root:
            folder = root.resolve(workspace.paths.user)
            there = os.path.exists(folder)  # noqa: PTH110 - as in tables.is_vault
            yield from (_PathCandidate(path=path, root=root) for path in (find_file_names(folder) if there else ()))
        return
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError("there is no such file or directory", where=str(path), hint="look at the path and its permissions")
        named = not path.is_dir()
        for file in (str(path.absolute()),) if named else find_file_names(path):
            above = find_root_above(workspace.settings.root, file, workspace.paths.user)
            yield _PathCandidate(path=file, root=above, named=named, asked=True)


def _owner(path: Path, known: Sequence[tuple[str, Path]]) -> str:
    """The format of the tool whose folder contains a file, by known places or by the folder's layout. Empty if there is none."""
    return next((name for name, place in known if path.is_relative_to(place)), "") or tool_folder_format(path)
