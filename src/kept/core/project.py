"""Projects: the identity, scope and display name of a working directory.

Memories have the scope of the user or of a project. The raw working directory is stored unchanged, as evidence. Its project is
recorded separately, and a person can correct it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import count, groupby
from pathlib import PurePosixPath, PureWindowsPath

from kept.core.digest import digest
from kept.core.pattern import compile_late
from kept.core.text import flag_mixed_scripts, project_label
from kept.core.value import dataclass

_SEP = r"[/\\]"
_NAME = r"[^/\\]+"
# Worktrees of git, agents and editors, within or beside a repository.
_WORKTREE = compile_late(
    rf"^(?P<root>.+?)(?:{_SEP}(?:\.git{_SEP}|\.{_NAME}{_SEP})?\.?worktrees|{_SEP}\.conductor|[.-]worktrees){_SEP}{_NAME}"
)
# Workspace managers that keep the worktrees of all repositories in one folder. They are named by repository, or by task and then
# repository.
_BY_REPOSITORY = compile_late(
    rf"^(?P<root>.*{_SEP}(?:conductor{_SEP}workspaces|\.conductor{_SEP}workspaces|(?:\.cursor|\.superset|superpowers"
    rf"|home{_SEP}{_NAME}|Users{_SEP}{_NAME}|root){_SEP}worktrees){_SEP}"
    rf"(?P<repository>{_NAME})){_SEP}{_NAME}"
)
_BY_TASK = compile_late(rf"^(?P<root>.*{_SEP}(?:\.codex|vibe-kanban){_SEP}worktrees){_SEP}{_NAME}{_SEP}(?P<repository>{_NAME})")
# Managers whose folder names do not contain the repository. Only the worktree's own ``.git`` identifies it.
_NAMELESS = compile_late(rf"{_SEP}\.claude-squad{_SEP}worktrees{_SEP}")
_SLUG = compile_late(r"[^a-z0-9]+")
_MOST_PARENTS = 3
PROJECT = "project:"
REMOTE, FOLDER = "git:", "dir:"  # prefixes of an identity, which is the URL of a repository's origin or a folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """The project of a directory. All directories of one project share its ``identity``; ``name`` is the project's name.

    ``scope`` is the scope of memories from sessions in that directory.
    """

    directory: str
    identity: str
    name: str
    scope: str


def project_root(directory: str) -> str:
    """The directory that identifies a project, without a trailing separator. A worktree belongs to its main checkout."""
    place = directory[:4096]
    if _NAMELESS.search(place):
        return directory.rstrip("/\\") or directory
    if by_task := _BY_TASK.match(place):
        return f"{by_task['root']}/{by_task['repository']}"
    match = _BY_REPOSITORY.match(place) or _WORKTREE.match(place)
    return (match["root"] if match else directory).rstrip("/\\") or directory


def managed_repository(directory: str) -> str:
    """The repository name in the path of a worktree that a workspace manager made; empty for other directories."""
    match = _BY_REPOSITORY.match(directory[:4096]) or _BY_TASK.match(directory[:4096])
    return match["repository"] if match else ""


# Folders with a tool's own files, whose names do not identify a project.
_INNER = frozenset(
    {"sessions", "archived_sessions", "chats", "chatsessions", "history", "conversations", "projects", "tmp", "agents"}
)


def fallback_project_folder(path: str) -> str:
    """The folder that identifies a project if a transcript names no directory: the nearest one above the transcript's file.

    Folders with digits as names (dates) and folders with a tool's own files are skipped.
    """
    folder = _to_pure_path(path).parent
    while folder.parent != folder and (folder.name.isdigit() or folder.name.casefold() in _INNER):
        folder = folder.parent
    return str(folder)


def directory_name(directory: str) -> str:
    """The last component of a directory or identity, for display. Accepts any separators and removes control characters."""
    name = _to_pure_path(directory.removeprefix(FOLDER)).name.lstrip(".")
    return "".join(filter(str.isprintable, name))[:80] or "project"


def project_scope(identity: str) -> str:
    """The scope of a project: ``"project:<slug>-<hash>"``. It is derived from the identity, and never used as a path."""
    slug = _SLUG.sub("-", directory_name(identity).lower()).strip("-")[:40] or "project"
    return f"{PROJECT}{slug}-{digest(identity, size=3)}"


def short_names(identities: Mapping[str, str]) -> dict[str, str]:
    """Map each scope to the display name of its project. ``identities`` maps scopes to identities.

    Equal names get as many parent folders as make them distinct, and the hash of the scope if that is not enough.
    """
    parts = {scope: _to_pure_path(identity.partition(":")[2]).parts for scope, identity in identities.items()}
    names: dict[str, str] = {}
    labels = {scope: project_label(directory_name(identity)) for scope, identity in identities.items()}
    alike = sorted((label.casefold(), scope) for scope, label in labels.items())
    for _, group in groupby(alike, key=lambda pair: pair[0]):
        scopes = [scope for _, scope in group]
        longest = max(len(parts[scope]) for scope in scopes)
        reach = next(
            n
            for n in count()
            if n >= longest or len({tuple(map(str.casefold, parts[scope][-1 - n :])) for scope in scopes}) == len(scopes)
        )
        for scope in scopes:
            parents = "/".join(project_label(part) for part in parts[scope][-1 - reach : -1][-_MOST_PARENTS:] if part != "/")
            names[scope] = flag_mixed_scripts(labels[scope] + (f" ({parents})" if parents else ""))
    counts = Counter(map(str.casefold, names.values()))
    hashes = {scope: scope.rpartition("-")[2] for scope in names}
    return {scope: name if counts[name.casefold()] == 1 else f"{name} ({hashes[scope]})" for scope, name in names.items()}


def correct_directory(directory: str, corrections: Mapping[str, str]) -> str | None:
    """The directory whose project a directory belongs to according to a person's corrections. None if no correction applies.

    A correction also applies to all directories below its directory, and corrections may be chained. A directory that is mapped to
    itself is a separate project, even within a repository.
    """
    by_root = {project_root(corrected): other for corrected, other in corrections.items()}
    seen: set[str] = set()
    place, found = project_root(directory), None
    while place not in seen:
        seen.add(place)
        other = next((by_root[item] for item in (place, *map(str, _to_pure_path(place).parents)) if item in by_root), None)
        if other is None:
            break
        place = found = project_root(other)
    return found


def matches_path(path: str, patterns: Iterable[str]) -> bool:
    """True if a glob pattern matches a path or one of its parent folders."""
    return any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern.rstrip('/')}/*") for pattern in patterns)


def _to_pure_path(path: str) -> PurePosixPath | PureWindowsPath:
    return PureWindowsPath(path) if "\\" in path and "/" not in path else PurePosixPath(path)
