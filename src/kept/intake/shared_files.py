"""Find the files that other people may have written: fixtures, chats and histories in a repository. They are read, but memories
from their prompts are held.

Examines the folders above a file, not the file itself.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from kept.core.errors import KeptError
from kept.core.event import UNCONFIRMED_MARK, Slice, is_note, is_prompt, is_unconfirmed
from kept.local.files import read_file
from kept.local.settings.tables import SourceRoot
from kept.sources.base import Source

# Files at the root of a repository. A downloaded copy has no .git, but it has a manifest.
_REPOSITORIES = (
    *(".git", ".hg", ".jj", ".svn", "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile", "deno.json", "mix.exs", "pubspec.yaml"),
)
_PROJECTS_OWN = ".specstory"  # this client's folder is in each project; other clients' folders are in the home
_INDEX_BYTES = 64 * 2**20
_SHORTENED = (4).to_bytes(4)  # the index version from which names are compressed


def list_own_places(roots: Sequence[SourceRoot], places: Sequence[tuple[Source, Path]], user: Path) -> tuple[Path, ...]:
    """The places whose transcripts are the person's own: the roots of the settings, the places of clients, and the bundled sample.
    A client's place that a repository may have brought does not count.
    """
    named = (root.resolve(user) for root in roots)
    kept = (place for _, place in places if not _may_be_shipped(place, user))
    return tuple(Path(os.path.realpath(place)) for place in (*kept, *named, Path(__file__).parents[1] / "sample"))


def _may_be_shipped(place: Path, home: Path) -> bool:
    """True if a folder, or the target of its link, may have come with a repository or a copy of one.

    In a git checkout, a folder that git's index does not name is the person's. Outside of one, a project's ``.specstory`` may have
    been downloaded with the project, unless it is in a hidden folder of the home.
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
    """True if git's index names the folder or a link in its path. Also true if the index is empty, because it cannot be read."""
    links = (f"{part.as_posix()}\0".encode() for part in (name, *name.parents) if part.name)
    return not index or f"{name.as_posix()}/".encode() in index or any(link in index for link in links)


def _read_index(git: Path) -> bytes:
    """Read the index of a checkout, worktree or submodule (where ``.git`` is a file). Empty if the index is unreadable or
    compresses names.
    """
    try:
        if git.is_file():
            git = git.parent / read_file(git).data.decode(errors="replace").removeprefix("gitdir:").strip()
        index = read_file(git / "index", at_most=_INDEX_BYTES).data
    except (KeptError, OSError):
        return b""
    return index if index[4:8] < _SHORTENED else b""


def is_own(path: Path, own: Sequence[Path]) -> bool:
    """True if a file is in one of the person's ``own`` places."""
    return any(Path(os.path.realpath(path)).is_relative_to(place) for place in own)


def is_in_repository(path: Path, own: Sequence[Path], home: Path, named: Sequence[Path] = ()) -> bool:
    """True if a file is in a repository and in none of the person's ``own`` places.

    A repository does not count if it is the home, or if it contains a path that the person ``named``.
    """
    if is_own(path, own):
        return False
    path, home = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    chosen = [place for name in named if path.is_relative_to(place := Path(os.path.realpath(name)))]
    above = takewhile(lambda folder: folder != home and all(map(folder.is_relative_to, chosen)), path.parents)
    return any((folder / mark).exists() for folder in above for mark in _REPOSITORIES)


def label_shared(piece: Slice, *, shared: bool) -> Slice:
    """Mark the prompts of a ``shared`` file as unconfirmed."""
    if not shared:
        return piece
    noted = Counter(piece.account.noted)
    events = []
    for event in piece.events:
        if is_prompt(event) and not is_note(event) and not is_unconfirmed(event):
            noted["unconfirmed-prompt:repository"] += 1
            events.append(replace(event, label_reason=f"{UNCONFIRMED_MARK}{event.label_reason}"))
        else:
            events.append(event)
    return replace(piece, events=tuple(events), account=replace(piece.account, noted=dict(noted)))
