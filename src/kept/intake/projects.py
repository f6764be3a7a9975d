"""Projects: what each directory is, recorded when it is first seen; and memories that move when a person corrects that."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from kept.core.errors import UsageError
from kept.core.memory import Actor, Judged, Memory, Status
from kept.core.operation import Move
from kept.core.project import Project, directory_name, scope_of
from kept.extraction.extract_threads import extract_anew
from kept.extraction.revalidate import moved
from kept.intake.directories import note
from kept.intake.kinship import first_commits, identities, keep_branches
from kept.intake.reading import Reading
from kept.local.progress import Progress, silent
from kept.store.values import Draft, Proposal
from kept.workspace import Workspace, place_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What a correction of projects did: the scopes that memories left or came to, and how many moved."""

    scopes: frozenset[str] = frozenset()
    memories: int = 0


def record(workspace: Workspace, reading: Reading, *, keep: bool = True) -> None:
    """Note what every directory is that was not seen before, and what evidence says of those that were.

    One that disappears later keeps what was noted. The repositories that git named and the branches are those of the ``reading``:
    no later one sees these transcripts again. With ``keep`` the branches are noted for good.
    Where evidence gives a known directory another identity, its memories lie elsewhere than they belong: see :func:`misplaced`.
    Raises StoreError.
    """
    archive, remotes = workspace.store.archive, reading.remotes
    if keep and reading.branches:
        keep_branches(workspace.paths, reading.branches)
    places = {place for directory, path in archive.directories() if (place := place_of(directory, path))}
    fresh = sorted(places - {each.directory for each in archive.projects()})
    if not fresh and not remotes:
        return
    with workspace.store.transaction():
        for place in fresh:
            note(workspace, place)
        known = archive.projects()
        found = identities(known, remotes, first_commits(workspace, known, keep=keep))
        for project in known:
            if found[project.directory] != project.identity:
                identity = found[project.directory]
                archive.put_project(replace(project, identity=identity, name=directory_name(identity)))
        for place in fresh:  # nothing of it is remembered yet: its memories lie where they belong from the beginning
            if (noted := archive.project(place)) is not None:
                archive.put_project(replace(noted, scope=workspace.scope(place)))


def move(workspace: Workspace, run: int, progress: Progress = silent) -> Moved:
    """Bring memories to where a person's corrections in the settings say their directories belong, as one pass.

    What was said in such a directory is extracted again, so that its candidates stand in the new scope; a memory that rests on
    nothing else goes with them, with its id, its history and what a person made of it. Raises StoreError.
    """
    changed = {each.directory: each for each in misplaced(workspace)}
    if not changed:
        return Moved()
    threads = [each for each in workspace.store.archive.threads() if place_of(each.project, each.path) in changed]
    with workspace.store.transaction():
        renamed: dict[str, Judged] = {}
        for number, thread in enumerate(threads):
            progress("moving", number, len(threads))
            known = _renamed(*extract_anew(workspace, run, thread, [each.id for each in threads[number + 1 :]]))
            scopes = changed[place_of(thread.project, thread.path)].scope, workspace.scope(thread.project, thread.path)
            renamed |= known | moved(workspace, run, thread, known, scopes)
        progress("moving", len(threads), len(threads))
        for each in changed.values():
            workspace.store.archive.put_project(_placed(workspace, each))
        operations = tuple(_moves(workspace, {each.scope for each in changed.values()}, renamed, _targets(workspace, changed)))
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
    return Moved(
        scopes=frozenset({each.scope for each in changed.values()} | {workspace.scope(each) for each in changed}),
        memories=len(operations),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """One project: its scope, what it is called, its identity, its directories, and how many active memories are filed under it."""

    scope: str
    name: str
    identity: str
    directories: tuple[str, ...]
    memories: int


def families(workspace: Workspace) -> tuple[Family, ...]:
    """Every project, by name."""
    names, held = (
        workspace.names(),
        Counter(each.scope for each in workspace.store.log.memories() if each.status_at(workspace.clock()) is Status.ACTIVE),
    )
    directories: dict[str, list[Project]] = {}
    for project in workspace.store.archive.projects():
        directories.setdefault(workspace.scope(project.directory), []).append(project)
    found = (
        Family(
            scope=scope,
            name=names.get(scope, scope),
            identity=workspace.identity(members[0].directory),
            memories=held[scope],
            directories=tuple(member.directory for member in members),
        )
        for scope, members in directories.items()
    )
    return tuple(sorted(found, key=lambda family: (family.name, family.scope)))


def family(workspace: Workspace, word: str) -> Family:
    """The project that a person means: by a directory of it, its name or its scope. Raises UsageError where none or several fit."""
    known = families(workspace)
    place = str(Path(word).expanduser().absolute())
    fits = [each for each in known if word in (each.scope, each.name) or place in each.directories or word in each.directories]
    fits = fits or [each for each in known if directory_name(each.identity) == word]
    if len(fits) != 1:
        what = f"{word!r} could be {len(fits)} projects" if fits else f"there is no project {word!r}"
        raise UsageError(what, hint="name a directory of it: kept projects")
    return fits[0]


def misplaced(workspace: Workspace) -> tuple[Project, ...]:
    """The directories whose memories lie elsewhere than the settings say."""
    return tuple(each for each in workspace.store.archive.projects() if workspace.scope(each.directory) != each.scope)


def _placed(workspace: Workspace, project: Project) -> Project:
    return Project(
        directory=project.directory,
        identity=project.identity,
        name=project.name,
        scope=scope_of(workspace.identity(project.directory)),
    )


def _renamed(before: tuple[Proposal, ...], after: tuple[Judged, ...]) -> dict[str, Judged]:
    """What each candidate became, by its old id."""
    found = {_identity_of(each): each for each in after}
    return {each.judged.candidate.id: found[_identity_of(each.judged)] for each in before if _identity_of(each.judged) in found}


def _identity_of(judged: Judged) -> tuple[object, ...]:
    each = judged.candidate
    return each.profile, each.category, each.trigger, each.at, each.content, tuple((one.event, one.quote) for one in each.evidence)


def _targets(workspace: Workspace, changed: dict[str, Project]) -> dict[str, str]:
    """Where a scope that no directory belongs to any more goes as a whole: to where all its directories went, where that is one
    place.
    """
    held = {each.scope for each in workspace.store.archive.projects()}
    reached: dict[str, set[str]] = {}
    for directory, each in changed.items():
        reached.setdefault(each.scope, set()).add(workspace.scope(directory))
    return {scope: min(found) for scope, found in reached.items() if scope not in held and len(found) == 1}


def _moves(workspace: Workspace, scopes: set[str], renamed: dict[str, Judged], whole: dict[str, str]) -> list[Move]:
    operations: list[Move] = []
    for memory in workspace.store.log.memories():
        if memory.scope in scopes:
            target = _target(workspace, memory, renamed, whole)
            if target and target != memory.scope:
                became = tuple(sorted({renamed[each].candidate.id if each in renamed else each for each in memory.candidates}))
                reason = f"moved to {workspace.name(target)}"
                operations.append(Move(memory=memory.id, at=memory.last_seen, reason=reason, scope=target, candidates=became))
    return operations


def _target(workspace: Workspace, memory: Memory, renamed: dict[str, Judged], whole: dict[str, str]) -> str:
    """Where a memory goes: with the candidates it rests on if all that live went; else with its scope, if that went as a whole."""
    stay = {each.judged.candidate.id for each in workspace.store.log.proposals(memory.profile, memory.scope)}
    if stay & set(memory.candidates):
        return ""
    reached = Counter(renamed[each].candidate.scope for each in memory.candidates if each in renamed)
    return max(sorted(reached), key=lambda scope: reached[scope]) if reached else whole.get(memory.scope, "")
