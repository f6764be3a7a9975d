"""The API for the knowledge graph that the page draws."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from kept.core.codec import to_json
from kept.outputs.graph import MOST_NODES, build_knowledge_graph
from kept.web.context import request_workspace

router = APIRouter(tags=["graph"])


class NodeOut(BaseModel):
    """A node of the graph: a person, project, thing or memory."""

    id: str = Field(description="The id of a memory; for other things the path of their knowledge page.")
    kind: Literal["you", "project", "entity", "resource", "memory"]
    label: str
    weight: float
    detail: str
    page: str = Field(description="The path of its knowledge page below the home; empty if there is none.")


class EdgeOut(BaseModel):
    """A relation between two nodes. The weight is the number of memories on which it is based."""

    source: str
    target: str
    kind: Literal["about", "names", "together"]
    weight: int


class GraphOut(BaseModel):
    """The graph. Nodes with a greater weight come first. `left_out` has the number of omitted nodes of each kind."""

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
    """Return the knowledge graph of the memories."""
    with request_workspace(request) as workspace:
        graph = build_knowledge_graph(workspace, project=project, most=most)
        left_out = {kind.value: count for kind, count in graph.left_out.items()}
        return {"nodes": to_json(graph.nodes), "edges": to_json(graph.edges), "left_out": left_out}
