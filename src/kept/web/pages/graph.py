"""The page of the knowledge graph: a list of its nodes, and a drawing of those that are chosen."""

from collections import defaultdict
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.outputs.graph import EdgeKind, Graph, Node, NodeKind, build_knowledge_graph
from kept.web.context import request_workspace
from kept.web.listing import LABELS
from kept.web.render import NavigationPage, render_page
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="graph", title="Knowledge", path="/graph", key="k", router=router)

_TIES = 8


@router.get("/graph")
def graph(request: Request, project: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show the people, projects and things that memories are about, and their relations.

    ``project`` restricts them to one project.
    """
    with request_workspace(request) as workspace:
        found = build_knowledge_graph(workspace, project=project)
        values: dict[str, Any] = {
            "project": project,
            "things": _group_nodes(found),
            "chosen": _find_latest(workspace, found),
            "heaviest": max((node.weight for node in found.nodes if node.kind is not NodeKind.MEMORY), default=1),
            "left_out": sum(found.left_out.values()),
            "projects": sorted(set(workspace.scope_names().values()), key=str.casefold),
        }
        return render_page(request, workspace, "graph.html", here=PAGE.id, **values)


def _find_latest(workspace: Workspace, found: Graph) -> str:
    """The id of the project with the latest memory. If there is none, the id of the node with the greatest weight."""
    projects = {node.id for node in found.nodes if node.kind is NodeKind.PROJECT}
    last = {memory.id: memory.last_seen.timestamp() for memory in workspace.store.log.memories() if memory.last_seen}
    about = [edge for edge in found.edges if edge.target in projects and edge.source in last]
    if not about:
        return next((node.id for node in found.nodes if node.kind is not NodeKind.MEMORY), "")
    return max(about, key=lambda edge: (last[edge.source], edge.target)).target


class ListedNode(NamedTuple):
    """A node that is not a memory, and its related nodes (``ties``), the strongest relation first.

    ``alone`` means that only one memory mentions the node.
    """

    node: Node
    ties: list[Node]
    alone: bool


def _group_nodes(found: Graph) -> list[tuple[str, list[ListedNode]]]:
    """The nodes that are not memories, by the title of their kind."""
    nodes = {graph_node.id: graph_node for graph_node in found.nodes}
    ties: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for edge in found.edges:
        if edge.kind is EdgeKind.TOGETHER:
            ties[edge.source].append((-edge.weight, edge.target))
            ties[edge.target].append((-edge.weight, edge.source))
    made = []
    for kind, title in LABELS["nodes"].items():
        inside = [
            ListedNode(node, [nodes[other] for _, other in sorted(ties[node.id])[:_TIES]], node.weight <= 1 and not ties[node.id])
            for node in found.nodes
            if node.kind == kind
        ]
        if inside:
            made.append((title, inside))
    return made
