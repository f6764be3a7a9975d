"""Which directories are one project, by evidence: git's output in transcripts, a common first commit, the layout of a workspace
manager.

Computes identities; moves nothing.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kept.core.event import Event, EventKind
from kept.core.project import FOLDER, REMOTE, Project, directory_name, managed_repository, project_root
from kept.local import files
from kept.local.git import first_commit, remote_name
from kept.paths import Paths
from kept.workspace import Workspace

Remotes = dict[str, Counter[str]]
"""How often git named a repository (host and path) in the output of a command, by working directory."""

Branches = dict[str, set[str]]
"""Hashes of the names of branches that were worked on, by working directory: names may hold words that are forgotten later."""

_COMMITS = "first_commits.json"
_BRANCHES = "branches.json"
_BRANCHES_KEPT = 200  # branches per directory
_SHARED_BRANCHES = 2  # branches that two projects, and no third one, must share to suggest that they are one
# A one-word name is no evidence: many repositories have `main`, `fix` or `release`.
_WORDS = re.compile(r"[^\W_]+")
_OUTPUT = 20_000  # characters of an output that are examined
_SHARE = 0.8  # share of all mentions by git in a project's directories that one repository must have
# Lines of `git push`, `git fetch`, `git remote -v`.
_NAMED = re.compile(r"^(?:To|From|(?:origin)[ \t]+)[ \t]*(\S{5,300}?)(?:[ \t]+\((?:fetch|push)\))?[ \t]*$", re.MULTILINE)
_GIT = re.compile(r"\bgit\b[^|;&]*\b(?:push|pull|fetch|remote)\b")


def count_remotes(remotes: Remotes, events: Iterable[Event]) -> None:
    """Count the repositories that git named in the output events."""
    for event in events:
        if event.kind is EventKind.TOOL_OUTPUT and event.tool and event.project and _GIT.search(event.tool.target):
            for search_match in _NAMED.finditer(event.text[:_OUTPUT]):
                if name := remote_name(search_match[1]):
                    remotes.setdefault(event.project, Counter())[name] += 1


def collect_branches(branches: Branches, events: Iterable[Event]) -> None:
    """Record the branches of events whose names have several words, since those are chosen by a person."""
    for name, directory in {(event.branch, event.project) for event in events if event.branch and event.project}:
        if len(_WORDS.findall(name)) > 1:
            branches.setdefault(directory, set()).add(hashlib.sha256(name.encode()).hexdigest()[:16])


def save_branches(home: Paths, branches: Branches) -> None:
    """Add branches to those known from earlier transcripts."""
    known = load_branches(home)
    for directory, names in branches.items():
        free = _BRANCHES_KEPT - len(known.get(directory, set()))
        known.setdefault(directory, set()).update(sorted(names - known[directory])[: max(0, free)])
    body = {directory: sorted(names) for directory, names in sorted(known.items())}
    if known != load_branches(home):
        place = home.state / _BRANCHES
        files.write_if_unchanged(place, json.dumps(body, indent=1).encode(), expect=files.read_file(place).stamp, root=home.root)


def load_branches(home: Paths) -> Branches:
    """Load the branches known from transcripts."""
    return {directory: set(names) for directory, names in _load(home.state / _BRANCHES).items() if isinstance(names, list)}


def derive_identities(projects: Sequence[Project], remotes: Remotes, commits: Mapping[str, str]) -> dict[str, str]:
    """The identity of each directory by the evidence: first what git named, then a common first commit, then a manager's name.

    ``commits`` maps directories to first commits. Contradictory evidence is ignored.
    """
    found = {project.directory: project.identity for project in projects}
    _join_by_remote(found, remotes)
    _join_by_commit(found, commits)
    _join_by_layout(found)
    return found


def _join_by_remote(found: dict[str, str], remotes: Remotes) -> None:
    """Give a folder the identity of the repository that git pushed to or fetched from there."""
    named: dict[str, Counter[str]] = {}
    for directory, counted in remotes.items():
        if directory in found:
            named.setdefault(found[directory], Counter()).update(counted)
    for identity, counted in named.items():
        (remote, most), *_ = counted.most_common(1)
        if identity.startswith(FOLDER) and most >= _SHARE * counted.total():
            _join_identities(found, identity, REMOTE + remote)


def _join_by_commit(found: dict[str, str], commits: Mapping[str, str]) -> None:
    """Join repositories with the same first commit, whatever their present names."""
    groups: dict[str, Counter[str]] = {}
    for directory, commit in commits.items():
        if commit and directory in found:
            groups.setdefault(commit, Counter())[found[directory]] += 1
    for group in groups.values():
        best = min(group, key=lambda identity: (not identity.startswith(REMOTE), -group[identity], identity))
        for identity in group:
            _join_identities(found, identity, best)


def _join_by_layout(found: dict[str, str]) -> None:
    """Join a manager's workspace with the repository that it names, if exactly one project has that name."""
    managed = {
        identity: name.casefold()
        for directory, identity in found.items()
        if (name := managed_repository(directory)) and identity == FOLDER + project_root(directory)
    }
    for identity, name in managed.items():
        others = {other for other in found.values() if other not in managed and directory_name(other).casefold() == name}
        if len(others) == 1:
            _join_identities(found, identity, min(others))


def _join_identities(found: dict[str, str], identity: str, other: str) -> None:
    for directory, known in found.items():
        if known == identity:
            found[directory] = other


def first_commits(workspace: Workspace, projects: Sequence[Project], *, keep: bool) -> dict[str, str]:
    """The first commit of each directory that is or was a checkout when last examined; ``keep`` saves new ones."""
    known = _load_commits(workspace.paths)
    now = dict(known)
    for project in projects:
        if project.directory not in now and (checkout := workspace.find_checkout(project.directory)) is not None:
            now[project.directory] = first_commit(checkout.git)
    if keep and now != known:
        place = workspace.paths.state / _COMMITS
        files.write_if_unchanged(
            place, json.dumps(now, indent=1).encode(), expect=files.read_file(place).stamp, root=workspace.paths.root
        )
    return now


def _load_commits(home: Paths) -> dict[str, str]:
    return {directory: str(commit) for directory, commit in _load(home.state / _COMMITS).items()}


def _load(place: Path) -> dict[str, object]:
    try:
        body = json.loads(files.read_file(place).data or b"{}")
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def suggest_same_projects(projects: Sequence[Project], branches: Branches) -> tuple[tuple[str, str, str], ...]:
    """Pairs of identities that may be one project, with evidence that is too weak to decide."""
    pairs = _pair_by_branches(projects, branches)
    known = sorted({project.identity for project in projects})
    first_called: dict[str, str] = {}
    for identity in known:  # each is paired with the first of its name, so joining all pairs joins the whole group
        first = first_called.setdefault(directory_name(identity).casefold(), identity)
        if first != identity:
            pairs[first, identity] = f"both are called {directory_name(first)}"
    for project in projects:
        name = managed_repository(project.directory).casefold()
        for other in known if name else ():
            if other != project.identity and directory_name(other).casefold() == name:
                first, second = sorted((project.identity, other))
                pairs[first, second] = f"{project.directory} is a manager's workspace of {name}"
    return tuple((one, other, why) for (one, other), why in sorted(pairs.items()))


def _pair_by_branches(projects: Sequence[Project], branches: Branches) -> dict[tuple[str, str], str]:
    """Pairs of identities that share branch names with each other and with no third one."""
    workers: dict[str, set[str]] = {}
    for project in projects:
        for name in branches.get(project.directory, ()):
            workers.setdefault(name, set()).add(project.identity)
    shared = Counter((min(pair), max(pair)) for pair in workers.values() if len(pair) == 2)
    return {pair: f"{count} branches of both have the same names" for pair, count in shared.items() if count >= _SHARED_BRANCHES}
