"""The project of a call: the directory it names, else the first folder among the client's roots, else where the server runs."""

from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import ListRoots, Resolve
from mcp.types import ListRootsResult


def _ask_for_roots(context: Context, project: str) -> ListRoots | ListRootsResult:
    """The client is asked where the call names no directory and the client has roots."""
    capabilities = context.client_capabilities
    asking = not project and capabilities is not None and capabilities.roots is not None
    return ListRoots() if asking else ListRootsResult(roots=[])


Directory = Annotated[ListRootsResult, Resolve(_ask_for_roots)]


def call_directory(project: str, roots: ListRootsResult) -> str:
    """The directory of a call, as an absolute path."""
    folders = (unquote(urlsplit(str(root.uri)).path) for root in roots.roots)
    return project or next((folder for folder in folders if Path(folder).is_dir()), str(Path.cwd()))
