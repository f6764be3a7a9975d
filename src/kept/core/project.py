"""Projects: whom a memory is for when it is not for the user everywhere.

The raw working directory is evidence; the project is a recorded alias of it that a person can correct.
"""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import count, groupby
from pathlib import PurePosixPath, PureWindowsPath

from kept.core.codec import digest
from kept.core.text import flag_mixed_scripts, project_label
from kept.core.value import dataclass

_SEP = r"[/\\]"
_NAME = r"[^/\\]+"
# Worktrees inside of a repository or beside it: git's own, those of agents, and of editors.
_WORKTREE = re.compile(
    rf"^(?P<root>.+?)(?:{_SEP}(?:\.git{_SEP}|\.{_NAME}{_SEP})?\.?worktrees|{_SEP}\.conductor|[.-]worktrees){_SEP}{_NAME}"
)
# Workspace managers that keep the worktrees of all repositories in one place: by the repository, or by a task and then the
# repository.
_BY_REPOSITORY = re.compile(
    rf"^(?P<root>.*{_SEP}(?:conductor{_SEP}workspaces|\.conductor{_SEP}workspaces|(?:\.cursor|\.superset|superpowers"
    rf"|home{_SEP}{_NAME}|Users{_SEP}{_NAME}|root){_SEP}worktrees){_SEP}"
    rf"(?P<repository>{_NAME})){_SEP}{_NAME}"
)
_BY_TASK = re.compile(rf"^(?P<root>.*{_SEP}(?:\.codex|vibe-kanban){_SEP}worktrees){_SEP}{_NAME}{_SEP}(?P<repository>{_NAME})")
# Managers whose folders say nothing of the repository: each worktree is known by its own ``.git`` alone.
_NAMELESS = re.compile(rf"{_SEP}\.claude-squad{_SEP}worktrees{_SEP}")
_SLUG = re.compile(r"[^a-z0-9]+")
_MOST_PARENTS = 3
PROJECT = "project:"
REMOTE, FOLDER = "git:", "dir:"  # how an identity begins: what a repository's origin is called, or a folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What a directory was found to be: the ``identity`` that all directories of one project share, and its ``name``.

    ``scope`` is where the memories of what was said in the directory lie.
    """

    directory: str
    identity: str
    name: str
    scope: str


def project_root(directory: str) -> str:
    """The directory a project is known by: that of the checkout a worktree belongs to, without a trailing separator."""
    place = directory[:4096]
    if _NAMELESS.search(place):
        return directory.rstrip("/\\") or directory
    if by_task := _BY_TASK.match(place):
        return f"{by_task['root']}/{by_task['repository']}"
    match = _BY_REPOSITORY.match(place) or _WORKTREE.match(place)
    return (match["root"] if match else directory).rstrip("/\\") or directory


def managed_repository(directory: str) -> str:
    """The name of the repository of which a workspace manager made a directory, by how the manager names its folders; empty for
    others.
    """
    match = _BY_REPOSITORY.match(directory[:4096]) or _BY_TASK.match(directory[:4096])
    return match["repository"] if match else ""


# Folders that only hold a tool's own files: they say nothing of what was worked on.
_INNER = frozenset(
    {"sessions", "archived_sessions", "chats", "chatsessions", "history", "conversations", "projects", "tmp", "agents"}
)


def fallback_project_folder(path: str) -> str:
    """The folder that stands for a project where a conversation names none: the file's, above folders of dates and of a tool."""
    folder = _to_pure_path(path).parent
    while folder.parent != folder and (folder.name.isdigit() or folder.name.casefold() in _INNER):
        folder = folder.parent
    return str(folder)


def directory_name(directory: str) -> str:
    """The last component of a directory or identity, for people: any operating system's separators, control characters removed."""
    return (
        "".join(char for char in _to_pure_path(directory.removeprefix(FOLDER)).name.lstrip(".") if char.isprintable())[:80]
        or "project"
    )


def project_scope(identity: str) -> str:
    """The scope of a project: ``"project:<slug>-<hash>"``. The key is derived and never used as a path."""
    slug = _SLUG.sub("-", directory_name(identity).lower()).strip("-")[:40] or "project"
    return f"{PROJECT}{slug}-{digest(identity, size=3)}"


def short_names(identities: Mapping[str, str]) -> dict[str, str]:
    """What each project is called, by scope, given identities by scope: labels, with a parent where two would be called the same,
    and with the end of the scope where that does not tell them apart.
    """
    parts = {scope: _to_pure_path(identity.partition(":")[2]).parts for scope, identity in identities.items()}
    named: dict[str, str] = {}
    labels = {scope: project_label(directory_name(identity)) for scope, identity in identities.items()}
    alike = sorted((label.casefold(), scope) for scope, label in labels.items())
    for _, group in groupby(alike, key=lambda each: each[0]):
        scopes = [scope for _, scope in group]
        longest = max(len(parts[scope]) for scope in scopes)
        reach = next(
            n
            for n in count()
            if n >= longest or len({tuple(map(str.casefold, parts[scope][-1 - n :])) for scope in scopes}) == len(scopes)
        )
        for scope in scopes:
            parents = "/".join(project_label(part) for part in parts[scope][-1 - reach : -1][-_MOST_PARENTS:] if part != "/")
            named[scope] = flag_mixed_scripts(labels[scope] + (f" ({parents})" if parents else ""))
    times = Counter(map(str.casefold, named.values()))
    return {scope: name if times[name.casefold()] == 1 else f"{name} ({scope.rpartition('-')[2]})" for scope, name in named.items()}


def correct_directory(directory: str, corrections: Mapping[str, str]) -> str | None:
    """The directory that a person says a directory (or one above it) is the same project as; None where they say nothing.

    A directory that is mapped to itself is a project of its own, whatever repository it lies in.
    """
    named = {project_root(each): other for each, other in corrections.items()}
    seen: set[str] = set()
    place, found = project_root(directory), None
    while place not in seen:
        seen.add(place)
        other = next((named[item] for item in (place, *map(str, _to_pure_path(place).parents)) if item in named), None)
        if other is None:
            break
        place = found = project_root(other)
    return found


def _to_pure_path(path: str) -> PurePosixPath | PureWindowsPath:
    return PureWindowsPath(path) if "\\" in path and "/" not in path else PurePosixPath(path)
