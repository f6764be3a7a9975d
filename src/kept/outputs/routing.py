"""Routing: where a memory is shown, output by output, and why (A6). Changes nothing."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from kept.core.memory import USER_SCOPE, CandidateVerdict, Memory
from kept.core.value import dataclass, replace
from kept.outputs.compose.pages import OutputRoute, find_routes
from kept.outputs.targets import calls_hooks, client_of, scopes_with_own_file
from kept.profiles.profile import OutputPlace, Profile
from kept.workspace import Workspace


def routes_by_memory(workspace: Workspace, memories: Sequence[Memory]) -> dict[str, tuple[OutputRoute, ...]]:
    """The routes of some memories, by id; none for a memory whose profile is not active. Raises StoreError."""
    every, names, found = workspace.store.log.memories(), workspace.scope_names(), {}
    apart = scopes_with_own_file(workspace)
    hooks = {profile.id: has_hooks(workspace, profile) for profile in workspace.profiles}
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
        why = "its project has a file of its own" if where else "a hook brings it to the sessions of its project"
        elsewhere = OutputRoute(place=OutputPlace.MEMORY, where=where, why=why)
        seen = _is_in_view(workspace, profile, item)
        found[item.id] = tuple(
            elsewhere
            if (where or hooked) and route.place is OutputPlace.MEMORY and route.where
            else replace(route, where="", why="there is no room: more relevant ones are there")
            if route.place is OutputPlace.VIEW and not seen
            else route
            for route in output_routes
        )
    return found


def has_hooks(workspace: Workspace, profile: Profile) -> bool:
    """Whether the client whose memory file a profile writes calls the hooks of kept."""
    return calls_hooks(workspace, client_of(workspace, _memory_file(workspace, profile)))


def _memory_file(workspace: Workspace, profile: Profile) -> Path:
    return workspace.paths.output_path(profile.outputs.memory_file or ".")


def _is_in_view(workspace: Workspace, profile: Profile, memory: Memory) -> bool:
    """Whether the JSON view, as it was last written, has a memory."""
    written = (
        workspace.store.output_states(str(workspace.paths.root / profile.outputs.view_file)) if profile.outputs.view_file else ()
    )
    return any(line.key == memory.id for output in written[:1] for line in output.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedMemories:
    """What was extracted of some days: the memories it became, in the order of their times; and what was refused."""

    memories: tuple[Memory, ...]
    refused: tuple[CandidateVerdict, ...]


def extracted_between(workspace: Workspace, first: date, last: date) -> ExtractedMemories:
    """What was first said from ``first`` to ``last`` and extracted, wherever it went. Raises StoreError."""
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
