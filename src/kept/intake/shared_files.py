"""Files that other people write too: a repository's fixtures, chats and histories are read, and what they tell waits.

Looks at the folders above a file, and at no file.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

from kept.core.errors import KeptError
from kept.core.event import UNCONFIRMED_MARK, Author, EventKind, Slice, is_note, is_unconfirmed
from kept.local.files import read_file
from kept.local.settings.tables import SourceRoot
from kept.sources.base import Source

# What the folder of a repository holds; of a downloaded copy its manifest stays.
_REPOSITORIES = (
    *(".git", ".hg", ".jj", ".svn", "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile", "deno.json", "mix.exs", "pubspec.yaml"),
)
_PROJECTS_OWN = ".specstory"  # lies in each project, where every other client's folder lies in the home
_INDEX_BYTES = 64 * 2**20
_SHORTENED = (4).to_bytes(4)  # the version of an index from which on names are shortened


def list_own_places(roots: Sequence[SourceRoot], places: Sequence[tuple[Source, Path]], user: Path) -> tuple[Path, ...]:
    """Where transcripts are a person's own: the roots they named, and their clients' places on this machine, but for those that
    may have come with a repository. The bundled sample plays a person's.
    """
    named = (root.resolve(user) for root in roots)
    kept = (place for _, place in places if not _may_be_shipped(place, user))
    return tuple(Path(os.path.realpath(place)) for place in (*kept, *named, Path(str(files("kept"))) / "sample"))


def _may_be_shipped(place: Path, home: Path) -> bool:
    """Whether a folder may have come with a repository or a copy of one, as it stands and where its links lead.

    What git's index does not name, in the plain, is a person's. Without git nothing tells a project of theirs from a downloaded
    one, and their clients' own folders lie in hidden ones of the home.
    """
    for at in dict.fromkeys((place, Path(os.path.realpath(place)))):
        above = takewhile(lambda folder: folder != home, at.parents)
        if checkout := next((folder for folder in above if (folder / ".git").exists()), None):
            if _is_tracked(at.relative_to(checkout), _read_index(checkout / ".git")):
                return True
        elif _PROJECTS_OWN in at.parts:
            hidden = at.is_relative_to(home) and at.relative_to(home).parts[0].startswith(".")
            if not hidden:
                return True
    return False


def _is_tracked(name: Path, index: bytes) -> bool:
    """Whether an index names a folder, or a link above it; an index that cannot be read may."""
    links = (f"{part.as_posix()}\0".encode() for part in (name, *name.parents) if part.name)
    return not index or f"{name.as_posix()}/".encode() in index or any(link in index for link in links)


def _read_index(git: Path) -> bytes:
    """The index of a checkout; of a worktree or submodule that of the folder its file names. Empty for one that shortens names."""
    try:
        if git.is_file():
            git = git.parent / read_file(git).data.decode(errors="replace").removeprefix("gitdir:").strip()
        index = read_file(git / "index", at_most=_INDEX_BYTES).data
    except (KeptError, OSError):
        return b""
    return index if index[4:8] < _SHORTENED else b""


def is_own(path: Path, own: Sequence[Path]) -> bool:
    """Whether a file lies in one of the person's ``own`` places."""
    return any(Path(os.path.realpath(path)).is_relative_to(place) for place in own)


def is_in_repository(path: Path, own: Sequence[Path], home: Path, named: Sequence[Path] = ()) -> bool:
    """Whether a file lies in a repository, which many people write, and in none of the person's ``own`` places. A home that is
    itself one is no sign, nor is one above a path that the person ``named``: they chose what they named in it.
    """
    if is_own(path, own):
        return False
    path, home = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    chosen = [place for name in named if path.is_relative_to(place := Path(os.path.realpath(name)))]
    above = takewhile(lambda folder: folder != home and all(map(folder.is_relative_to, chosen)), path.parents)
    return any((folder / mark).exists() for folder in above for mark in _REPOSITORIES)


def label_shared(piece: Slice, *, shared: bool) -> Slice:
    """A slice whose prompts wait where its file is shared: fixtures and others' histories lie beside a person's own."""
    if not shared:
        return piece
    noted = Counter(piece.account.noted)
    events = []
    for event in piece.events:
        if event.kind is EventKind.PROMPT and event.author is Author.HUMAN and not is_note(event) and not is_unconfirmed(event):
            noted["unconfirmed-prompt:repository"] += 1
            events.append(replace(event, label_reason=f"{UNCONFIRMED_MARK}{event.label_reason}"))
        else:
            events.append(event)
    return replace(piece, events=tuple(events), account=replace(piece.account, noted=dict(noted)))
