"""Routing: which outputs show a memory and why, and what was extracted from some days. Changes nothing."""

from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path

from kept.core.fence import Context
from kept.core.memory import USER_SCOPE, CandidateVerdict, Memory
from kept.core.value import dataclass, replace
from kept.local.clients import CLIENTS
from kept.memories.client_memory import notes_shown_by_clients
from kept.outputs.compose.pages import OutputRoute, find_routes, find_sheet_routes
from kept.outputs.compose.sheet import is_shown, rank_memories
from kept.outputs.targets import (
    OutputContent,
    Target,
    TargetForm,
    calls_hooks,
    client_of,
    compose_document,
    list_editable_targets,
    scopes_with_own_file,
    written_projects,
)
from kept.profiles.profile import OutputPlace, Profile
from kept.recall.preview import list_read_memories, preview_context
from kept.workspace import Workspace

_HOOK = "by a hook"


def routes_by_memory(workspace: Workspace, memories: Sequence[Memory]) -> dict[str, tuple[OutputRoute, ...]]:
    """The routes of memories, by id. Memories without content or without an active profile are left out. Raises StoreError."""
    every, names, found = workspace.store.log.memories(), workspace.scope_names(), {}
    apart = scopes_with_own_file(workspace)
    hooks = {
        profile.id: calls_hooks(workspace, client_of(workspace, _memory_file(workspace, profile))) for profile in workspace.profiles
    }
    for item in memories:
        profile = workspace.profile_of(item)
        if profile is None or not item.content:
            continue
        output_routes = find_routes(
            item,
            [memory for memory in every if memory.profile == item.profile],
            profile,
            as_of=workspace.clock(),
            names=names,
            zone=workspace.zone,
        )
        where = apart.get((item.scope, item.profile), "")
        hooked = item.scope != USER_SCOPE and hooks[profile.id]
        why = "its project has a separate file" if where else "a hook brings it to the sessions of its project"
        elsewhere = OutputRoute(place=OutputPlace.MEMORY, where=where or _HOOK, why=why)
        missing = {
            OutputPlace.VIEW: "there is no room, because others are more relevant",
            OutputPlace.MEMORY: "the file did not contain it when it was last written",
        }
        paths = {
            OutputPlace.VIEW: workspace.paths.root / profile.outputs.view_file,
            OutputPlace.MEMORY: _memory_file(workspace, profile),
        }
        found[item.id] = tuple(
            elsewhere
            if (where or hooked) and route.place is OutputPlace.MEMORY and route.where
            else replace(route, where="", why=missing[route.place])
            if route.where and route.place in missing and not _is_written(workspace, paths[route.place], item)
            else route
            for route in output_routes
        )
    return found


def explain_no_room(workspace: Workspace, memories: Sequence[Memory]) -> dict[str, str]:
    """The reasons why the memory files do not show active memories, by id. Shown memories are left out. Raises StoreError."""
    every, names = workspace.store.log.memories(), workspace.scope_names()
    found: dict[str, OutputRoute] = {}
    for profile in workspace.profiles:
        asked = [item for item in memories if item.profile == profile.id and is_shown(item, (profile,), OutputPlace.MEMORY)]
        if asked and profile.outputs.memory_file:
            others = [memory for memory in every if memory.profile == profile.id]
            now, zone, path = workspace.clock(), workspace.zone, profile.outputs.memory_file
            found |= find_sheet_routes(asked, others, profile, OutputPlace.MEMORY, path, as_of=now, names=names, zone=zone)
    return {number: route.why for number, route in found.items() if not route.where}


def find_displaced(workspace: Workspace, memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    """The memories that others pushed out of a full memory file. Maps the id of each shown memory to those it pushed out.

    The given memories are taken in order. A memory pushed out what the file would show without it and the given ones before it, but
    not with it, unless the file was last written with it. Raises StoreError.
    """
    every = {memory.id: memory for memory in workspace.store.log.memories()}
    content = OutputContent(
        memories=(), names=workspace.scope_names(), projects=written_projects(workspace), injected=notes_shown_by_clients(workspace)
    )

    def shown_without(target: Target, left_out: Collection[str]) -> set[str]:
        some = tuple(memory for memory in every.values() if memory.id not in left_out)
        document = compose_document(workspace, replace(content, memories=some), target, 0)
        return {fact.id for section in document.sections for fact in section.facts}

    found = {}
    for target in list_editable_targets(workspace):
        written = {line.key for output in workspace.store.output_states(str(target.path))[:1] for line in output.lines}
        asked = [memory.id for memory in memories if memory.id in written]
        if target.form is not TargetForm.MEMORY or not asked:
            continue
        before = shown_without(target, asked)
        for number, memory in enumerate(asked, 1):
            after = shown_without(target, asked[number:])
            found[memory] = [every[item] for item in sorted(before - after - written)]
            before = after
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionStart:
    """The memories that an agent's session sees when it starts in a directory.

    ``read`` are the memories in files that it reads by itself, the most important first. ``foreign`` are memories of other projects
    in these files. ``context`` is what a hook adds. If ``hooked`` is False, no hook is installed, and it is what a hook would add.
    """

    read: tuple[Memory, ...]
    foreign: tuple[Memory, ...]
    context: Context
    hooked: bool

    @property
    def memory_count(self) -> int:
        """The number of memories that the session sees. Those of other projects do not count."""
        return len(self.read) + (len(self.context.pieces) if self.hooked else 0)

    def find_way(self, memory: str) -> tuple[bool, str]:
        """True if the session sees a memory, with a text that says how it sees it, or why it does not."""
        if any(item.id == memory for item in self.read):
            return True, "it is in a file that is read at every start"
        added = any(piece.key == memory for piece in self.context.pieces)
        if not self.hooked:
            adds = ", which would add it" if added else ""
            return False, f"it is in no file that the session reads at its start, and no hook is installed{adds} (kept setup)"
        if added:
            return True, "a hook puts it there"
        left = next((reason for piece, reason in self.context.omitted if piece.key == memory), "")
        return False, left or "it is not shown at the start, but a prompt about it brings it"


def preview_start(workspace: Workspace, directory: str = "", *, client: str = "claude", budget: int = 0) -> SessionStart:
    """The memories that the next session of an agent in a directory will see when it starts. Raises StoreError."""
    context = preview_context(workspace, directory=directory, client=client, budget=budget)
    own, foreign = (
        tuple(rank_memories([memory for memory in memories if workspace.profile_of(memory)], workspace.profiles))
        for memories in list_read_memories(workspace, directory, client)
    )
    return SessionStart(read=own, foreign=foreign, context=context, hooked=client_has_hooks(workspace, client))


def client_has_hooks(workspace: Workspace, client: str) -> bool:
    """True if an agent calls the hooks of ``kept``. Also True for an unknown agent, which is assumed to query memories itself."""
    return all(calls_hooks(workspace, item) for item in CLIENTS if item.name == client)


def _memory_file(workspace: Workspace, profile: Profile) -> Path:
    return workspace.paths.output_path(profile.outputs.memory_file or ".")


def _is_written(workspace: Workspace, path: Path, memory: Memory) -> bool:
    """True if a file contained a memory when kept last wrote it."""
    return any(line.key == memory.id for output in workspace.store.output_states(str(path))[:1] for line in output.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedMemories:
    """What was extracted from some days: the memories in order of time, and the refused candidates."""

    memories: tuple[Memory, ...]
    refused: tuple[CandidateVerdict, ...]


def extracted_between(workspace: Workspace, first: date, last: date) -> ExtractedMemories:
    """What was extracted from the days ``first`` to ``last`` and was first said then, whichever output shows it.

    Raises StoreError.
    """
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    found = [
        memory
        for memory in workspace.store.log.memories_between(start, stop)
        if memory.content and memory.first_seen is not None and start <= memory.first_seen < stop
    ]
    refused = [proposal.judged for proposal in workspace.store.log.refused()]
    return ExtractedMemories(
        memories=tuple(sorted(found, key=lambda each: (each.first_seen or start, each.id))),
        refused=tuple(judged for judged in refused if judged.candidate.at is not None and start <= judged.candidate.at < stop),
    )
