"""The knowledge graph as values: who and what memories are about, and what ties them together."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class NodeKind(StrEnum):
    """What a node stands for, in the order in which nodes are listed."""

    YOU = "you"
    PROJECT = "project"
    ENTITY = "entity"
    RESOURCE = "resource"
    MEMORY = "memory"


class EdgeKind(StrEnum):
    """What an edge says: a memory is about something, a memory names something, or two things are in the same memories."""

    ABOUT = "about"
    NAMES = "names"
    TOGETHER = "together"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One node. ``id`` is that of a memory, else the path a knowledge page about it has (``projects/harbor``), written or not.

    ``weight`` counts the memories about a thing, or those that name it; of a memory it is its confidence times log2(1 + sessions).
    ``detail`` is a memory's kind or a project's scope; ``page`` the file of its page where one is written.
    """

    id: str
    kind: NodeKind
    label: str
    weight: float
    detail: str = ""
    page: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """One edge between two nodes; ``weight`` is how many memories it rests on."""

    source: str
    target: str
    kind: EdgeKind
    weight: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """A graph within bounds: the weightiest nodes of each kind first, edges among them, and how many nodes of each kind are left
    out.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: Mapping[NodeKind, int]
