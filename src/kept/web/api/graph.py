"""The API for the knowledge graph that the page draws."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from kept.outputs.graph import MOST_NODES, Graph, build_knowledge_graph
from kept.web.context import request_workspace

router = APIRouter(tags=["graph"])


@router.get("/graph")
def get_graph(
    request: Request,
    *,
    project: Annotated[str, Query(max_length=200, description="Only projects with this in their name.")] = "",
    most: Annotated[int, Query(ge=1, le=5_000, description="Nodes at most.")] = MOST_NODES,
) -> Graph:
    """Return the knowledge graph of the memories."""
    with request_workspace(request) as workspace:
        return build_knowledge_graph(workspace, project=project, most=most)
