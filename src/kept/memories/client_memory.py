"""Client memory: what coding agents remember in files of their own, taken up by every run where a person wants it. It is the
agent's voice.

A note waits; it becomes active once the person's own words say the same. A file that the client puts before its sessions anyway is
not written out again for it. A client's own memory is only read, never changed and never switched off.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kept.core.artifact import artifacts
from kept.core.codec import digest
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.fingerprint import recognised
from kept.core.memory import CLIENT_MEMORY, USER_SCOPE, Actor, Evidence, Memory, Status
from kept.core.operation import Add
from kept.core.project import root_of
from kept.core.text import normal_form
from kept.memories.foreign import Note, notes
from kept.memories.person import usable
from kept.store.values import Draft
from kept.workspace import Workspace

# What tools call their notes, and the category of the default profile that is nearest; the person decides in review.
_KINDS = {"user": "preference", "feedback": "preference", "project": "project_fact", "reference": "project_fact"}
CONFIDENCE = 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A note of another tool's with the category and the scope it belongs to."""

    note: Note
    category: str
    scope: str


def placed(workspace: Workspace, tools: Sequence[str]) -> Iterator[Placed]:
    """The notes of these tools, each with its category and scope."""
    folders = tuple(dict.fromkeys(Path(root_of(project)) for _, project in _folders(workspace)))
    return place(workspace, notes(workspace.paths.root, folders, tools))


def place(workspace: Workspace, found: Iterable[Note]) -> Iterator[Placed]:
    """Notes, each with its category and scope."""
    beside = dict(reversed(_folders(workspace)))
    for note in found:
        yield Placed(note=note, category=_category(workspace, note.kind), scope=_scope_of_note(workspace, note, beside))


def _folders(workspace: Workspace) -> list[tuple[str, str]]:
    """The folder of each transcript, and the project it is about."""
    return [(str(Path(thread.path).parent), thread.project) for thread in workspace.store.archive.threads() if thread.project]


def take_up_notes(workspace: Workspace, run: Callable[[], int]) -> int:
    """Take up what is new in the notes of the tools that the settings name, in one pass. Returns how many notes; raises
    StoreError.
    """
    if not workspace.settings.client_memory:
        return 0
    known = workspace.store.log.memories()
    taken = {memory.id for memory in known} | {(memory.scope, normal_form(memory.content)) for memory in known if memory.content}
    forgotten, key = workspace.store.log.forgotten(), workspace.store.key("forget")
    additions: list[Add] = []
    for each in placed(workspace, workspace.settings.client_memory):
        memory = _memory_of_note(workspace, each)
        if memory is None or taken & {memory.id, (memory.scope, normal_form(memory.content))}:
            continue
        if not (forgotten and recognised(memory.content, forgotten, key)):
            taken |= {memory.id, (memory.scope, normal_form(memory.content))}
            additions.append(Add(memory=memory.id, at=each.note.at, reason=f"held: remembered by {each.note.tool}", value=memory))
    if additions:
        draft = Draft(
            run=run(),
            stage="client memory",
            subject=", ".join(workspace.settings.client_memory),
            actor=Actor.MACHINE,
            recorded_at=workspace.clock(),
            operations=tuple(additions),
        )
        workspace.store.log.commit(draft)
    return len(additions)


def injected(workspace: Workspace) -> Mapping[str, frozenset[tuple[str, str]]]:
    """What clients put before their own sessions anyway, by tool: scopes and normal forms of the notes that runs take up.

    What Claude Code knows of the person stands in the memory of one project, so other projects still need it.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for each in placed(workspace, workspace.settings.client_memory) if workspace.settings.client_memory else ():
        if each.scope != USER_SCOPE or each.note.tool != "claude":
            found.setdefault(each.note.tool, set()).add((each.scope, normal_form(each.note.text)))
    return {tool: frozenset(forms) for tool, forms in found.items()}


def _memory_of_note(workspace: Workspace, placed_note: Placed) -> Memory | None:
    note = placed_note.note
    try:
        content = usable(workspace, note.text)
    except UsageError:
        return None
    evidence = Evidence(
        quote=content, event="", session="", path=str(note.path), at=note.at, author=note.tool, origin=Origin.ASSISTANT
    )
    return Memory(
        id=digest(workspace.profile.id, placed_note.scope, placed_note.category, content, size=5),
        profile=workspace.profile.id,
        category=placed_note.category,
        scope=placed_note.scope,
        status=Status.HELD,
        content=content,
        confidence=CONFIDENCE,
        origin=Origin.ASSISTANT,
        first_seen=note.at,
        last_seen=note.at,
        artifacts=artifacts(content),
        evidence=(evidence,),
        trigger=CLIENT_MEMORY,
    )


def _category(workspace: Workspace, kind: str) -> str:
    wanted = (each for each in (kind, _KINDS.get(kind, ""), "project_fact") if workspace.profile.category(each))
    return next(wanted, workspace.profile.categories[0].id)


def _scope_of_note(workspace: Workspace, note: Note, beside: Mapping[str, str]) -> str:
    if note.kind == "user":
        return USER_SCOPE
    if note.folder:
        return workspace.scope(note.folder)
    if note.beside:
        return workspace.scope(beside.get(note.beside, ""), str(note.path.parent))
    return USER_SCOPE


__all__ = ["CONFIDENCE", "Placed", "injected", "place", "placed", "take_up_notes"]
