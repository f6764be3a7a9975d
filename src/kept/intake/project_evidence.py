"""Find out which directories belong to one project.

The evidence is the remotes that git printed in transcripts, a common first commit, and the folders of workspace managers. Shared
names and branches are weaker evidence: they only cause a suggestion to the person. Memories are moved by
:mod:`kept.intake.projects`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kept.core.event import Event, EventKind
from kept.core.pattern import compile_late
from kept.core.project import FOLDER, REMOTE, Project, directory_name, managed_repository, project_root
from kept.local import files
from kept.local.git import first_commit, remote_name
from kept.paths import Paths
from kept.workspace import Workspace

Remotes = dict[str, Counter[str]]
"""For each working directory, the number of times that the output of git commands names each repository (host and path)."""

Branches = dict[str, set[str]]
"""For each working directory, the hashes of its branch names. Names are hashed, because they may contain words that are forgotten
later."""

_COMMITS = "first_commits.json"
_BRANCHES = "branches.json"
_BRANCHES_KEPT = 200  # branches per directory
_SHARED_BRANCHES = 2  # branches that only two projects have; so many suggest that the two are one
_WORDS = compile_late(r"[^\W_]+")
_OUTPUT_CHARS = 20_000  # characters of an output that are examined
_REMOTE_SHARE = 0.8  # share of the remotes that git printed in a project's directories that must be the same
# Lines of `git push`, `git fetch`, `git remote -v`.
_REMOTE_LINE = compile_late(r"^(?:To|From|origin[ \t]+)[ \t]*(\S{5,300}?)(?:[ \t]+\((?:fetch|push)\))?[ \t]*$", re.MULTILINE)
_GIT = compile_late(r"\bgit\b[^|;&]*\b(?:push|pull|fetch|remote)\b")
# Commands about another repository than the origin of the session's folder: a mirror, a deployment, a folder elsewhere.
_NAMED_REMOTE = compile_late(r"\bgit\b[^|;&\n]*?[ \t](?:push|pull|fetch)(?:[ \t]+-[^ \t|;&\n]*)*[ \t]+([A-Za-z./~][^|;&\s<>]*)")
_OTHER_FOLDER = compile_late(r"\bgit[ \t]+-C[ \t]+(\S+)|(?:^|[;&|(\n])[ \t]*(?:cd|pushd)[ \t]+([^\s;&|]+)")


def count_remotes(remotes: Remotes, events: Iterable[Event]) -> None:
    """Count the repositories that the output of git commands names."""
    for event in events:
        if event.kind is EventKind.TOOL_OUTPUT and event.tool and _is_about_origin(event.tool.target, event.project):
            for line in _REMOTE_LINE.finditer(event.text[:_OUTPUT_CHARS]):
                if name := remote_name(line[1]):
                    remotes.setdefault(event.project, Counter())[name] += 1


def _is_about_origin(command: str, directory: str) -> bool:
    """True if a command shows the remotes of the repository in a directory, as far as it names no other remote or folder."""
    remotes = {match[1] for match in _NAMED_REMOTE.finditer(command)}
    folders = {(match[1] or match[2]).strip("\"'").rstrip("/") for match in _OTHER_FOLDER.finditer(command)}
    return bool(directory and _GIT.search(command)) and remotes <= {"origin"} and folders <= {directory.rstrip("/")}


def collect_branches(branches: Branches, events: Iterable[Event]) -> None:
    """Record branches with the directories of their events. Names of one word are ignored, because many repositories have `main`,
    `fix` or `release`.
    """
    for name, directory in {(event.branch, event.project) for event in events if event.branch and event.project}:
        if len(_WORDS.findall(name)) > 1:
            branches.setdefault(directory, set()).add(hashlib.sha256(name.encode()).hexdigest()[:16])


def save_branches(home: Paths, branches: Branches) -> None:
    """Add branches to those known from earlier transcripts."""
    known, before = load_branches(home), load_branches(home)
    for directory, names in branches.items():
        own = known.setdefault(directory, set())
        own.update(sorted(names - own)[: max(0, _BRANCHES_KEPT - len(own))])
    if known != before:
        body = {directory: sorted(names) for directory, names in sorted(known.items())}
        files.write_object(home.state / _BRANCHES, body, root=home.root)


def load_branches(home: Paths) -> Branches:
    """Load the hashed branch names saved from transcripts."""
    saved = files.read_object(home.state / _BRANCHES)
    return {directory: set(names) for directory, names in saved.items() if isinstance(names, list)}


def derive_identities(projects: Sequence[Project], remotes: Remotes, commits: Mapping[str, str]) -> dict[str, str]:
    """Return the identity of each directory. Directories are joined by remote, then by first commit, then by the layout of
    workspace managers.

    ``commits`` maps directories to first commits. Contradictory remotes and ambiguous names are ignored.
    """
    identities = {project.directory: project.identity for project in projects}
    _join_by_remote(identities, remotes)
    _join_by_commit(identities, commits)
    _join_by_layout(identities)
    return identities


def _join_by_remote(identities: dict[str, str], remotes: Remotes) -> None:
    """Replace the identity of a folder without a remote by the repository that git's output in its transcripts names."""
    named: dict[str, Counter[str]] = {}
    for directory, counted in remotes.items():
        if directory in identities:
            named.setdefault(identities[directory], Counter()).update(counted)
    for identity, counted in named.items():
        (remote, most), *_ = counted.most_common(1)
        if identity.startswith(FOLDER) and most >= _REMOTE_SHARE * counted.total():
            _join_identities(identities, identity, REMOTE + remote)


def _join_by_commit(identities: dict[str, str], commits: Mapping[str, str]) -> None:
    """Join directories with the same first commit."""
    groups: dict[str, Counter[str]] = {}
    for directory, commit in commits.items():
        if commit and directory in identities:
            groups.setdefault(commit, Counter())[identities[directory]] += 1
    for group in groups.values():
        best = min(group, key=lambda identity: (not identity.startswith(REMOTE), -group[identity], identity))
        for identity in group:
            _join_identities(identities, identity, best)


def _join_by_layout(identities: dict[str, str]) -> None:
    """Join a workspace manager's folder with the repository it is named after, if exactly one project has that name."""
    managed = {
        identity: name.casefold()
        for directory, identity in identities.items()
        if (name := managed_repository(directory)) and identity == FOLDER + project_root(directory)
    }
    for identity, name in managed.items():
        others = {other for other in identities.values() if other not in managed and directory_name(other).casefold() == name}
        if len(others) == 1:
            _join_identities(identities, identity, min(others))


def _join_identities(identities: dict[str, str], identity: str, other: str) -> None:
    for directory, known in identities.items():
        if known == identity:
            identities[directory] = other


def first_commits(workspace: Workspace, projects: Sequence[Project], *, keep: bool) -> dict[str, str]:
    """Map each directory that is or was a git checkout to its first commit. ``keep`` saves newly found commits."""
    path = workspace.paths.state / _COMMITS
    known = {directory: str(commit) for directory, commit in files.read_object(path).items()}
    now = dict(known)
    for project in projects:
        if project.directory in now or (checkout := workspace.find_checkout(project.directory)) is None:
            continue
        if (commit := first_commit(checkout.git)) is not None:  # without git, the next run asks again
            now[project.directory] = commit
    if keep and now != known:
        files.write_object(path, now, root=workspace.paths.root)
    return now


def suggest_same_projects(projects: Sequence[Project], branches: Branches) -> tuple[tuple[str, str, str], ...]:
    """Return the pairs of identities that may be one project, as (identity, identity, evidence). The evidence is too weak to join
    them automatically.
    """
    pairs = _pair_by_branches(projects, branches)
    known = sorted({project.identity for project in projects})
    first_called: dict[str, str] = {}
    for identity in known:  # paired with the first of its name, so that joining all pairs joins all of that name
        first = first_called.setdefault(directory_name(identity).casefold(), identity)
        if first != identity:
            pairs[first, identity] = f"both are called {directory_name(first)}"
    for project in projects:
        name = managed_repository(project.directory).casefold()
        for other in known if name else ():
            if other != project.identity and directory_name(other).casefold() == name:
                first, second = sorted((project.identity, other))
                pairs[first, second] = f"{project.directory} is a manager's workspace of {name}"
    return tuple((first, second, evidence) for (first, second), evidence in sorted(pairs.items()))


def _pair_by_branches(projects: Sequence[Project], branches: Branches) -> dict[tuple[str, str], str]:
    """Return the pairs of identities that share branch names which no third identity has, with the evidence."""
    owners: dict[str, set[str]] = {}
    for project in projects:
        for name in branches.get(project.directory, ()):
            owners.setdefault(name, set()).add(project.identity)
    shared = Counter((min(pair), max(pair)) for pair in owners.values() if len(pair) == 2)
    return {pair: f"{count} branches of both have the same names" for pair, count in shared.items() if count >= _SHARED_BRANCHES}
