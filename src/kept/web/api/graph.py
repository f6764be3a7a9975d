"""The API for the knowledge graph that the page draws."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from kept.core.codec import to_json
from kept.outputs.compose.graph import MOST_NODES
from kept.outputs.graph import build_knowledge_graph
from kept.web.context import request_workspace

router = APIRouter(tags=["graph"])


class NodeOut(BaseModel):
    """A person, project, thing or memory."""

    id: str = Field(description="The id of a memory; for other things the path of their knowledge page.")
    kind: Literal["you", "project", "entity", "resource", "memory"]
    label: str
    weight: float
    detail: str
    page: str = Field(description="The path of its knowledge page below the home; empty if there is none.")


class EdgeOut(BaseModel):
    """A relation of two nodes, and the number of memories that it is based on."""

    source: str
    target: str
    kind: Literal["about", "names", "together"]
    weight: int


class GraphOut(BaseModel):
    """The graph, the nodes with the greatest weight first, and the number of nodes of each kind that are left out."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]
    left_out: dict[str, int]


@router.get("/graph", response_model=GraphOut)
def get_graph(
    request: Request,
    *,
    project: Annotated[str, Query(max_length=200, description="Only projects with this in their name.")] = "",
    most: Annotated[int, Query(ge=1, le=5_000, description="Nodes at most.")] = MOST_NODES,
) -> dict[str, Any]:
    """The knowledge graph of the memories."""
    with request_workspace(request) as workspace:
        graph = build_knowledge_graph(workspace, project=project, most=most)
        left_out = {kind.value: count for kind, count in graph.left_out.items()}
        return {"nodes": to_json(graph.nodes), "edges": to_json(graph.edges), "left_out": left_out}
