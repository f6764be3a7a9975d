"""The knowledge graph: active memories, their subjects (persons, projects and things), the names in them, and the connections.

The graph uses the same paths and names as the knowledge pages, so that a node can link to its page. Its size is bounded. Things
are chosen before memories, and nodes with the highest weight first. Omitted nodes are counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from math import log2

from kept.core.markup import to_fact_text
from kept.core.memory import Memory, Status
from kept.core.value import dataclass
from kept.memories.browse import matching_scopes
from kept.outputs.compose.pages import OWNER, PROJECTS, RESOURCES, home_page_of, make_slug
from kept.outputs.compose.sheet import unique_scope_names
from kept.profiles.profile import Profile, format_kind
from kept.workspace import Workspace


class NodeKind(StrEnum):
    """The kinds of nodes, in the order in which they are listed."""

    YOU = "you"
    PROJECT = "project"
    ENTITY = "entity"
    RESOURCE = "resource"
    MEMORY = "memory"


class EdgeKind(StrEnum):
    """The meaning of an edge: a memory is about something, a memory names something, or two things occur in the same memories."""

    ABOUT = "about"
    NAMES = "names"
    TOGETHER = "together"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One node.

    ``id`` is a memory's id, or the path of a thing's knowledge page (``projects/harbor``), whether or not that page is written.
    ``weight`` of a thing is the number of memories that are about it or name it. ``weight`` of a memory is confidence ×
    log2(1 + sessions), plus 1 if it is pinned. ``detail`` is a memory's kind or a project's scope. ``page`` is the file of the
    node's page, or empty if no page is written.
    """

    id: str
    kind: NodeKind
    label: str
    weight: float
    detail: str = ""
    page: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """One edge between two nodes. ``weight`` is the number of memories from which it comes."""

    source: str
    target: str
    kind: EdgeKind
    weight: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """A graph of bounded size: the nodes with the highest weight, and the edges among them.

    ``left_out`` is the number of omitted nodes of each kind that has any.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: Mapping[NodeKind, int]


MOST_NODES = 1_000  # maximum number of nodes, because more cannot be read in a picture
_THINGS = 0.5  # share of the nodes that things get if there are many memories
_NAMED = 2  # minimum number of memories that name a resource for it to become a node
_PINNED = 1.0
_LABEL = 160
_PARTNERS = 8  # only so many names in a memory count as named together, because a longer list says nothing about its items


def build_graph(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    *,
    as_of: datetime,
    names: Mapping[str, str],
    most: int = MOST_NODES,
    pages: Mapping[str, str] | None = None,
) -> Graph:
    """Build the graph of the memories that are active at a moment.

    Args:
        memories: any memories. Those that are not active at that moment, or are of an unknown profile, are left out.
        profiles: the profiles. They determine each memory's home page.
        as_of: the moment at which status and expiry are evaluated.
        names: the name of each project scope.
        most: maximum number of nodes.
        pages: the file of each written knowledge page, by its path.
    """
    known = {profile.id: profile for profile in profiles}
    active = [
        memory for memory in memories if memory.content and memory.profile in known and memory.status_at(as_of) is Status.ACTIVE
    ]
    called = unique_scope_names(active, names)
    homes = {memory.id: home_page_of(memory, known[memory.profile], called) for memory in active}
    resources = _shared_resources(active)
    things = [*_home_nodes(active, homes, pages or {}), *_resource_nodes(resources, pages or {})]
    spoken = _mentioned_entities(active, things)
    memory_nodes = [_memory_node(memory) for memory in active]
    chosen = _heaviest_nodes(things, int(most * _THINGS) if len(active) > most * (1 - _THINGS) else most - len(active))
    shown = _heaviest_nodes(memory_nodes, most - len(chosen))
    ids = {node.id for node in (*chosen, *shown)}
    edges = [
        edge
        for edge in (*_link_memories(active, homes, resources, spoken), *_cooccurrence_edges(active, homes, resources, spoken))
        if edge.source in ids and edge.target in ids
    ]
    counts = Counter(node.kind for node in (*things, *memory_nodes))
    counts.subtract(node.kind for node in (*chosen, *shown))
    return Graph(nodes=(*chosen, *shown), edges=tuple(edges), left_out=dict(+counts))


def _memory_node(memory: Memory) -> Node:
    weight = memory.confidence * log2(1 + max(1, memory.observations)) + (_PINNED if memory.pinned else 0.0)
    return Node(
        id=memory.id,
        kind=NodeKind.MEMORY,
        label=to_fact_text(memory.content, _LABEL),
        weight=round(weight, 3),
        detail=format_kind(memory.profile, memory.category),
    )


def _home_nodes(active: Sequence[Memory], homes: Mapping[str, tuple[str, str]], pages: Mapping[str, str]) -> Iterator[Node]:
    """Yield the nodes of the home pages: you, projects and entities."""
    count = Counter(path for path, _ in homes.values())
    scopes = {homes[memory.id][0]: memory.scope for memory in active}
    for path, title in dict(homes.values()).items():
        kind = NodeKind.PROJECT if path.startswith(f"{PROJECTS}/") else NodeKind.YOU if path == OWNER else NodeKind.ENTITY
        detail = scopes[path] if kind is NodeKind.PROJECT else ""
        label = to_fact_text(title, _LABEL)
        yield Node(id=path, kind=kind, label=label, weight=count[path], detail=detail, page=pages.get(path, ""))


def _shared_resources(active: Sequence[Memory]) -> dict[str, tuple[str, frozenset[str]]]:
    """Node id → a resource that several memories name: its name, and the ids of these memories."""
    by_name: defaultdict[str, set[str]] = defaultdict(set)
    for memory in active:
        for name in memory.artifacts:
            if len(name) > 3:
                by_name[name].add(memory.id)
    resources: dict[str, tuple[str, frozenset[str]]] = {}
    for name, ids in sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0])):
        node = f"{RESOURCES}/{make_slug(name)}"
        label, before = resources.get(node, (name, frozenset[str]()))
        resources[node] = (label, before | ids)
    return {node: resource for node, resource in resources.items() if len(resource[1]) >= _NAMED}


def _resource_nodes(resources: Mapping[str, tuple[str, frozenset[str]]], pages: Mapping[str, str]) -> Iterator[Node]:
    for path, (name, ids) in resources.items():
        label = to_fact_text(name, _LABEL)
        yield Node(id=path, kind=NodeKind.RESOURCE, label=label, weight=len(ids), page=pages.get(path, ""))


def _mentioned_entities(active: Sequence[Memory], things: Iterable[Node]) -> dict[str, list[str]]:
    by_word: defaultdict[str, list[Node]] = defaultdict(list)
    for thing in things:
        if thing.kind is NodeKind.ENTITY and thing.label:
            by_word[thing.label.casefold().split()[0]].append(thing)
    found: dict[str, list[str]] = {}
    for memory in active if by_word else ():
        words = [word.strip(".,;:!?()[]{}'\"`’") for word in memory.content.casefold().split()]
        text = f" {' '.join(words)} "
        ids = [node.id for word in dict.fromkeys(words) for node in by_word.get(word, ()) if f" {node.label.casefold()} " in text]
        if ids:
            found[memory.id] = ids
    return found


def _heaviest_nodes(nodes: Iterable[Node], most: int) -> tuple[Node, ...]:
    kinds = list(NodeKind)
    ordered = sorted(nodes, key=lambda each: (each.kind is not NodeKind.YOU, -each.weight, kinds.index(each.kind), each.id))
    return tuple(ordered[: max(0, most)])


_Homes = Mapping[str, tuple[str, str]]
_Resources = Mapping[str, tuple[str, frozenset[str]]]
_Spoken = Mapping[str, Sequence[str]]


def _link_memories(active: Sequence[Memory], homes: _Homes, resources: _Resources, spoken: _Spoken) -> Iterator[Edge]:
    for memory in active:
        home = homes[memory.id][0]
        yield Edge(source=memory.id, target=home, kind=EdgeKind.ABOUT)
        for other in dict.fromkeys(spoken.get(memory.id, ())):
            if other != home:
                yield Edge(source=memory.id, target=other, kind=EdgeKind.NAMES)
    for path, (_, members) in resources.items():
        for number in sorted(members):
            yield Edge(source=number, target=path, kind=EdgeKind.NAMES)


def _cooccurrence_edges(active: Sequence[Memory], homes: _Homes, resources: _Resources, spoken: _Spoken) -> Iterator[Edge]:
    """Yield the edges between things that occur in the same memories, weighted by the number of these memories.

    An edge connects a home page with a thing that its memories name, or two things that the same memories name.
    """
    named: defaultdict[str, list[str]] = defaultdict(list)
    for path, (_, members) in resources.items():
        for number in members:
            named[number].append(path)
    count: Counter[tuple[str, str]] = Counter()
    for memory in active:
        home, others = homes[memory.id][0], sorted({*named[memory.id], *spoken.get(memory.id, ())})
        count.update((home, other) for other in others if other != home)
        some = others[:_PARTNERS]
        count.update(combinations(some, 2))
    for (source, target), weight in sorted(count.items()):
        yield Edge(source=source, target=target, kind=EdgeKind.TOGETHER, weight=weight)


def build_knowledge_graph(workspace: Workspace, *, project: str = "", most: int = MOST_NODES) -> Graph:
    """The graph of the active memories of the active profiles. Raises StoreError.

    With ``project``, it contains only the memories of projects whose name contains that text.
    """
    names = workspace.scope_names()
    memories = workspace.store.log.memories()
    if project:
        wanted = matching_scopes(names, project)
        memories = tuple(memory for memory in memories if memory.scope in wanted)
    return build_graph(memories, workspace.writing, as_of=workspace.clock(), names=names, most=most, pages=_page_files(workspace))


def _page_files(workspace: Workspace) -> dict[str, str]:
    """Path of a written knowledge page → its file, relative to kept's home."""
    folders = [profile.outputs.pages_folder.rstrip("/") for profile in reversed(workspace.writing) if profile.outputs.pages_folder]
    found: dict[str, str] = {}
    for written in workspace.store.outputs() if folders else ():
        name = written.removeprefix(f"{workspace.paths.root}/")
        for folder in folders:
            if name.startswith(f"{folder}/") and name.endswith(".md"):
                found[name.removeprefix(f"{folder}/").removesuffix(".md")] = name
    return found
