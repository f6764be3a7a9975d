"""Build the knowledge graph of a store. Changes nothing."""

from kept.memories.browse import matching_scopes
from kept.outputs.compose.graph import MOST_NODES, Graph, build_graph
from kept.workspace import Workspace


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
