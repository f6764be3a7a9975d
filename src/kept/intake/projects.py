"""Record the identity of each directory when it is first seen, and move memories when a person or new evidence corrects it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kept.core.errors import UsageError
from kept.core.memory import Candidate, CandidateVerdict, Memory, Status
from kept.core.operation import Move
from kept.core.project import Project, directory_name
from kept.core.value import dataclass, replace
from kept.extraction.extract_threads import reextract_thread
from kept.extraction.segment import WINDOW
from kept.extraction.verdicts import move_proposals
from kept.intake.project_evidence import collect_branches, count_remotes, derive_identities, first_commits, save_branches
from kept.intake.reading import ReadingReport
from kept.local.progress import Progress, ignore_progress
from kept.store.values import Proposal
from kept.workspace import RunNumber, Workspace, project_directory


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveReport:
    """The result of a correction: the scopes that memories left or entered, and the number moved."""

    scopes: frozenset[str] = frozenset()
    memories: int = 0


def collect_pending_evidence(workspace: Workspace, reading: ReadingReport) -> None:
    """Add the evidence in threads that wait for extraction, because an interrupted run may have archived them without recording it.

    Evidence in newly read threads is then counted twice, which changes the shares little. Raises StoreError.
    """
    archive = workspace.store.archive
    for thread in tuple(archive.threads(pending=True)):
        for start in range(0, thread.events, WINDOW):  # a million events at once take 600 MB
            events = archive.events(thread.id, start, start + WINDOW)
            count_remotes(reading.remotes, events)
            collect_branches(reading.branches, events)


def record_projects(workspace: Workspace, reading: ReadingReport, *, keep: bool = True) -> None:
    """Record new directories, and apply the evidence about known ones.

    A directory that disappears keeps its record. Git remotes and branches come from ``reading``, because later readings do not see
    these transcripts again. ``keep`` saves the branches and first commits. If a known directory gets another identity, its memories
    are in the wrong scope until :func:`move_memories` runs. Raises StoreError.
    """
    archive, remotes = workspace.store.archive, reading.remotes
    if keep and reading.branches:
        save_branches(workspace.paths, reading.branches)
    places = {place for directory, path in archive.directories() if (place := project_directory(directory, path))}
    fresh = sorted(places - {project.directory for project in archive.projects()})
    if not fresh and not remotes:
        return
    with workspace.store.transaction():
        for place in fresh:
            record_directory(workspace, place)
        known = archive.projects()
        found = derive_identities(known, remotes, first_commits(workspace, known, keep=keep))
        for project in known:
            if found[project.directory] != project.identity:
                identity = found[project.directory]
                archive.save_project(replace(project, identity=identity, name=directory_name(identity)))
        for place in fresh:  # a new directory has no memories yet, so its scope can be set directly
            if (noted := archive.project(place)) is not None:
                archive.save_project(replace(noted, scope=workspace.scope(place)))


def move_memories(workspace: Workspace, run: RunNumber, progress: Progress = ignore_progress) -> MoveReport:
    """Move memories to the scopes that their directories now belong to, as one pass.

    Threads in such directories are extracted again, so that their candidates are in the new scope. A memory whose candidates all
    come from these threads moves too. It keeps its id, its history and a person's changes. Raises StoreError.
    """
    changed = {project.directory: project for project in list_misplaced_directories(workspace)}
    if not changed:
        return MoveReport()
    threads = [thread for thread in workspace.store.archive.threads() if project_directory(thread.project, thread.path) in changed]
    with workspace.store.transaction():
        renamed: dict[str, CandidateVerdict] = {}
        for number, thread in enumerate(threads):
            progress("moving", number, len(threads))
            known = _match_renamed(*reextract_thread(workspace, run, thread, [thread.id for thread in threads[number + 1 :]]))
            scopes = changed[project_directory(thread.project, thread.path)].scope, workspace.scope(thread.project, thread.path)
            renamed |= known | move_proposals(workspace, run, thread, known, scopes)
        progress("moving", len(threads), len(threads))
        for entry in changed.values():
            workspace.store.archive.save_project(replace(entry, scope=workspace.scope(entry.directory)))
        emptied = _map_emptied_scopes(workspace, changed)
        operations = tuple(_list_moves(workspace, {project.scope for project in changed.values()}, renamed, emptied))
        if operations:
            run.commit("move", operations, subject=", ".join(sorted(changed))[:200])
    return MoveReport(
        scopes=frozenset({project.scope for project in changed.values()} | {workspace.scope(item) for item in changed}),
        memories=len(operations),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectFamily:
    """A project: its scope, name, identity and directories, and its number of active memories."""

    scope: str
    name: str
    identity: str
    directories: tuple[str, ...]
    memories: int


def list_project_families(workspace: Workspace) -> tuple[ProjectFamily, ...]:
    """All projects, sorted by name."""
    names, now = workspace.scope_names(), workspace.clock()
    counts = Counter(memory.scope for memory in workspace.store.log.memories() if memory.status_at(now) is Status.ACTIVE)
    directories: dict[str, list[Project]] = {}
    for project in workspace.store.archive.projects():
        directories.setdefault(workspace.scope(project.directory), []).append(project)
    families = (
        ProjectFamily(
            scope=scope,
            name=names.get(scope, scope),
            identity=workspace.project_identity(members[0].directory),
            memories=counts[scope],
            directories=tuple(member.directory for member in members),
        )
        for scope, members in directories.items()
    )
    return tuple(sorted(families, key=lambda family: (family.name, family.scope)))


def find_project_family(workspace: Workspace, word: str) -> ProjectFamily:
    """Find a project by a directory, its name or its scope. Raises UsageError if none or several match."""
    families = list_project_families(workspace)
    names = {word, str(Path(word).expanduser().absolute())}
    fits = [family for family in families if word in (family.scope, family.name) or names & set(family.directories)]
    fits = fits or [family for family in families if directory_name(family.identity) == word]
    if len(fits) != 1:
        what = f"{word!r} fits {len(fits)} projects" if fits else f"there is no project {word!r}"
        raise UsageError(what, hint="give one of its directories; `kept projects` lists them")
    return fits[0]


def list_misplaced_directories(workspace: Workspace) -> tuple[Project, ...]:
    """The directories whose memories are not in the scope that settings and evidence determine."""
    return tuple(project for project in workspace.store.archive.projects() if workspace.scope(project.directory) != project.scope)


def _match_renamed(before: tuple[Proposal, ...], after: tuple[CandidateVerdict, ...]) -> dict[str, CandidateVerdict]:
    """Map each candidate's old id to its new version. Candidates that differ only in scope, or have no words, are paired
    in order.
    """
    new: dict[tuple[object, ...], list[CandidateVerdict]] = {}
    for judged in reversed(after):
        new.setdefault(_identity_of(judged.candidate), []).append(judged)
    old = (proposal.judged.candidate for proposal in before)
    pairs = ((candidate.id, new[_identity_of(candidate)]) for candidate in old if _identity_of(candidate) in new)
    return {number: alike.pop() if len(alike) > 1 else alike[0] for number, alike in pairs}


def _identity_of(candidate: Candidate) -> tuple[object, ...]:
    """The fields of a candidate that do not depend on its scope, as a key."""
    evidence = tuple((item.event, item.quote) for item in candidate.evidence)
    return candidate.profile, candidate.category, candidate.trigger, candidate.at, candidate.content, evidence


def _map_emptied_scopes(workspace: Workspace, changed: dict[str, Project]) -> dict[str, str]:
    """Map each scope without directories to the scope that all its former directories belong to now."""
    remaining = {project.scope for project in workspace.store.archive.projects()}
    reached: dict[str, set[str]] = {}
    for directory, project in changed.items():
        reached.setdefault(project.scope, set()).add(workspace.scope(directory))
    return {scope: min(targets) for scope, targets in reached.items() if scope not in remaining and len(targets) == 1}


def _list_moves(
    workspace: Workspace, scopes: set[str], renamed: dict[str, CandidateVerdict], emptied: dict[str, str]
) -> Iterator[Move]:
    """Yield the operation for each memory of these scopes that moves."""
    for memory in workspace.store.log.memories():
        target = _find_new_scope(workspace, memory, renamed, emptied) if memory.scope in scopes else ""
        if target and target != memory.scope:
            candidates = tuple(sorted({renamed[item].candidate.id if item in renamed else item for item in memory.candidates}))
            reason = f"moved to {workspace.name(target)}"
            yield Move(memory=memory.id, at=memory.last_seen, reason=reason, scope=target, candidates=candidates)


def _find_new_scope(workspace: Workspace, memory: Memory, renamed: dict[str, CandidateVerdict], emptied: dict[str, str]) -> str:
    """The scope to which all candidates of a memory moved. For a memory without candidates, the new scope of its emptied scope.
    Empty if the memory does not move.
    """
    stay = {proposal.judged.candidate.id for proposal in workspace.store.log.proposals(memory.profile, memory.scope)}
    if stay & set(memory.candidates):
        return ""
    reached = Counter(renamed[item].candidate.scope for item in memory.candidates if item in renamed)
    return max(sorted(reached), key=lambda scope: reached[scope]) if reached else emptied.get(memory.scope, "")


def record_directory(workspace: Workspace, place: str) -> None:
    """Record the identity of a directory, unless it is known."""
    if workspace.store.archive.project(place) is None:
        identity = workspace.detect_identity(place)
        workspace.store.archive.save_project(
            Project(directory=place, identity=identity, name=directory_name(identity), scope=workspace.scope(place))
        )
