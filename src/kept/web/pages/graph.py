"""The page of the knowledge graph, as a drawing and as a list with the same content."""

from collections import defaultdict
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.outputs.compose.graph import EdgeKind, Graph, Node, NodeKind
from kept.outputs.graph import build_knowledge_graph
from kept.web.render import NavigationPage, render_page
from kept.web.room import request_workspace

router = APIRouter()
PAGE = NavigationPage(id="graph", title="Knowledge", path="/graph", key="k", router=router)

KINDS = {
    NodeKind.PROJECT: "Projects",
    NodeKind.ENTITY: "People and things",
    NodeKind.RESOURCE: "Files, tools, addresses",
    NodeKind.MEMORY: "Memories",
    NodeKind.YOU: "You",
}
_TIES = 8


@router.get("/graph")
def graph(request: Request, project: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The people, projects and things that memories are about, and their relations; for one project if its name is given."""
    with request_workspace(request) as workspace:
        found = build_knowledge_graph(workspace, project=project)
        values: dict[str, Any] = {
            "project": project,
            "things": _group_nodes(found),
            "kinds": {kind.value: title for kind, title in KINDS.items()},
            "counts": {kind.value: sum(node.kind is kind for node in found.nodes) for kind in NodeKind},
            "drawn": len(found.edges) > sum(node.kind is NodeKind.MEMORY for node in found.nodes),  # two things are connected
            "left_out": sum(found.left_out.values()),
            "projects": sorted(set(workspace.scope_names().values()), key=str.casefold),
        }
        return render_page(request, workspace, "graph.html", here=PAGE.id, **values)


class ListedNode(NamedTuple):
    """A node that is not a memory, with its related nodes, the strongest relation first; ``alone``: only one memory mentions it."""

    node: Node
    ties: list[Node]
    alone: bool


def _group_nodes(found: Graph) -> list[tuple[str, list[ListedNode]]]:
    """The nodes that are not memories, by kind."""
    nodes = {graph_node.id: graph_node for graph_node in found.nodes}
    ties: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for edge in found.edges:
        if edge.kind is EdgeKind.TOGETHER:
            ties[edge.source].append((-edge.weight, edge.target))
            ties[edge.target].append((-edge.weight, edge.source))
    made = []
    for kind, title in KINDS.items():
        inside = [
            ListedNode(node, [nodes[other] for _, other in sorted(ties[node.id])[:_TIES]], node.weight <= 1 and not ties[node.id])
            for node in found.nodes
            if node.kind is kind
        ]
        if inside and kind is not NodeKind.MEMORY:
            made.append((title, inside))
    return made
