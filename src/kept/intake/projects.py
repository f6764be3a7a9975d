"""Projects: what each directory is, recorded when it is first seen; and memories that move when a person corrects that."""

from collections import Counter
from pathlib import Path

from kept.core.errors import UsageError
from kept.core.memory import Actor, CandidateVerdict, Memory, Status
from kept.core.operation import Move
from kept.core.project import Project, directory_name, project_scope
from kept.core.value import dataclass, replace
from kept.extraction.extract_threads import reextract_thread
from kept.extraction.revalidate import move_proposals
from kept.intake.directories import note_directory
from kept.intake.kinship import first_commits, identities, note_branches, note_remotes, save_branches
from kept.intake.reading import ReadingReport
from kept.local.progress import Progress, ignore_progress
from kept.store.values import Draft, Proposal
from kept.workspace import Workspace, project_directory


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveReport:
    """What a correction of projects did: the scopes that memories left or came to, and how many moved."""

    scopes: frozenset[str] = frozenset()
    memories: int = 0


def note_evidence_of_waiting(workspace: Workspace, reading: ReadingReport) -> None:
    """Add what threads that wait for extraction say of their projects: a run that was cut short may have archived them and noted
    nothing. What the reading itself brought counts twice by it, which changes no share. Raises StoreError.
    """
    archive = workspace.store.archive
    for thread in tuple(archive.threads(pending=True)):
        events = archive.events(thread.id, 0, thread.events)
        note_remotes(reading.remotes, events)
        note_branches(reading.branches, events)


def record_projects(workspace: Workspace, reading: ReadingReport, *, keep: bool = True) -> None:
    """Note what every directory is that was not seen before, and what evidence says of those that were.

    One that disappears later keeps what was noted. The repositories that git named and the branches are those of the ``reading``:
    no later one sees these transcripts again. With ``keep`` the branches are noted for good.
    Where evidence gives a known directory another identity, its memories lie elsewhere than they belong: see
    :func:`list_misplaced_directories`. Raises StoreError.
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
            note_directory(workspace, place)
        known = archive.projects()
        found = identities(known, remotes, first_commits(workspace, known, keep=keep))
        for project in known:
            if found[project.directory] != project.identity:
                identity = found[project.directory]
                archive.save_project(replace(project, identity=identity, name=directory_name(identity)))
        for place in fresh:  # nothing of it is remembered yet: its memories lie where they belong from the beginning
            if (noted := archive.project(place)) is not None:
                archive.save_project(replace(noted, scope=workspace.scope(place)))


def move_memories(workspace: Workspace, run: int, progress: Progress = ignore_progress) -> MoveReport:
    """Bring memories to where a person's corrections in the settings say their directories belong, as one pass.

    What was said in such a directory is extracted again, so that its candidates stand in the new scope; a memory that rests on
    nothing else goes with them, with its id, its history and what a person made of it. Raises StoreError.
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
            workspace.store.archive.save_project(_place_project(workspace, entry))
        operations = tuple(
            _moves(workspace, {project.scope for project in changed.values()}, renamed, _targets(workspace, changed))
        )
        if operations:
            workspace.store.log.commit(
                Draft(
                    run=run,
                    stage="move",
                    subject=", ".join(sorted(changed))[:200],
                    actor=Actor.MACHINE,
                    recorded_at=workspace.clock(),
                    operations=operations,
                )
            )
    return MoveReport(
        scopes=frozenset({project.scope for project in changed.values()} | {workspace.scope(item) for item in changed}),
        memories=len(operations),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectFamily:
    """One project: its scope, what it is called, its identity, its directories, and how many active memories are filed under it."""

    scope: str
    name: str
    identity: str
    directories: tuple[str, ...]
    memories: int


def list_project_families(workspace: Workspace) -> tuple[ProjectFamily, ...]:
    """Every project, by name."""
    names, held = (
        workspace.scope_names(),
        Counter(memory.scope for memory in workspace.store.log.memories() if memory.status_at(workspace.clock()) is Status.ACTIVE),
    )
    directories: dict[str, list[Project]] = {}
    for project in workspace.store.archive.projects():
        directories.setdefault(workspace.scope(project.directory), []).append(project)
    project_families = (
        ProjectFamily(
            scope=scope,
            name=names.get(scope, scope),
            identity=workspace.project_identity(members[0].directory),
            memories=held[scope],
            directories=tuple(member.directory for member in members),
        )
        for scope, members in directories.items()
    )
    return tuple(sorted(project_families, key=lambda family: (family.name, family.scope)))


def find_project_family(workspace: Workspace, word: str) -> ProjectFamily:
    """The project that a person means: by a directory of it, its name or its scope. Raises UsageError where none or several fit."""
    project_families = list_project_families(workspace)
    place = str(Path(word).expanduser().absolute())
    fits = [
        project_family
        for project_family in project_families
        if word in (project_family.scope, project_family.name)
        or place in project_family.directories
        or word in project_family.directories
    ]
    fits = fits or [project_family for project_family in project_families if directory_name(project_family.identity) == word]
    if len(fits) != 1:
        what = f"{word!r} could be {len(fits)} projects" if fits else f"there is no project {word!r}"
        raise UsageError(what, hint="name a directory of it: kept projects")
    return fits[0]


def list_misplaced_directories(workspace: Workspace) -> tuple[Project, ...]:
    """The directories whose memories lie elsewhere than the settings say."""
    return tuple(project for project in workspace.store.archive.projects() if workspace.scope(project.directory) != project.scope)


def _place_project(workspace: Workspace, project: Project) -> Project:
    return Project(
        directory=project.directory,
        identity=project.identity,
        name=project.name,
        scope=project_scope(workspace.project_identity(project.directory)),
    )


def _match_renamed(before: tuple[Proposal, ...], after: tuple[CandidateVerdict, ...]) -> dict[str, CandidateVerdict]:
    """What each candidate became, by its old id."""
    found = {_identity_of(candidate_verdict): candidate_verdict for candidate_verdict in after}
    return {
        proposal.judged.candidate.id: found[_identity_of(proposal.judged)]
        for proposal in before
        if _identity_of(proposal.judged) in found
    }


def _identity_of(judged: CandidateVerdict) -> tuple[object, ...]:
    each = judged.candidate
    return (
        each.profile,
        each.category,
        each.trigger,
        each.at,
        each.content,
        tuple((item.event, item.quote) for item in each.evidence),
    )


def _targets(workspace: Workspace, changed: dict[str, Project]) -> dict[str, str]:
    """Where a scope that no directory belongs to any more goes as a whole: to where all its directories went, where that is one
    place.
    """
    held = {project.scope for project in workspace.store.archive.projects()}
    reached: dict[str, set[str]] = {}
    for directory, each in changed.items():
        reached.setdefault(each.scope, set()).add(workspace.scope(directory))
    return {scope: min(found) for scope, found in reached.items() if scope not in held and len(found) == 1}


def _moves(workspace: Workspace, scopes: set[str], renamed: dict[str, CandidateVerdict], whole: dict[str, str]) -> list[Move]:
    operations: list[Move] = []
    for memory in workspace.store.log.memories():
        if memory.scope in scopes:
            target = _target(workspace, memory, renamed, whole)
            if target and target != memory.scope:
                became = tuple(sorted({renamed[item].candidate.id if item in renamed else item for item in memory.candidates}))
                reason = f"moved to {workspace.name(target)}"
                operations.append(Move(memory=memory.id, at=memory.last_seen, reason=reason, scope=target, candidates=became))
    return operations


def _target(workspace: Workspace, memory: Memory, renamed: dict[str, CandidateVerdict], whole: dict[str, str]) -> str:
    """Where a memory goes: with the candidates it rests on if all that live went; else with its scope, if that went as a whole."""
    stay = {proposal.judged.candidate.id for proposal in workspace.store.log.proposals(memory.profile, memory.scope)}
    if stay & set(memory.candidates):
        return ""
    reached = Counter(renamed[item].candidate.scope for item in memory.candidates if item in renamed)
    return max(sorted(reached), key=lambda scope: reached[scope]) if reached else whole.get(memory.scope, "")
