"""The MCP server: its tools, resources and prompts, and a notification when the memory file changes.

Clients reach it over stdio, or over HTTP with a key, only from this machine and from no web page.
"""

import asyncio
import hmac
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote, urlsplit

from kept.core.errors import KeptError, UsageError

try:
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.mcpserver.resolve import ListRoots, Resolve
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import CallToolResult, ListRootsResult, TextContent, ToolAnnotations
    from starlette.responses import PlainTextResponse
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError as error:
    raise UsageError("`kept mcp` needs the extra mcp", hint="pip install 'kept[mcp]'") from error

from kept import __version__
from kept.core.fence import NOTICE, escape_tags
from kept.mcp import schema
from kept.pipeline import tools
from kept.workspace import Workspace

T = TypeVar("T")
OpenWorkspace = Callable[[], AbstractContextManager[Workspace]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MEMORY = "kept://memory"
SECONDS = 1.0  # polling interval in seconds; without a listener, the file is not polled


class FileBus(InMemorySubscriptionBus):
    """Polls one file while a client listens, and reports its changes. ``find`` returns the file's path when polling starts."""

    def __init__(self, find: Callable[[], Path]) -> None:
        super().__init__()
        self._find = find

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Subscribe as in the base class, and start polling."""
        unsubscribe = super().subscribe(listener)
        task = asyncio.get_running_loop().create_task(self._watch_file(listener))

        def stop() -> None:
            task.cancel()
            unsubscribe()

        return stop

    async def _watch_file(self, listener: Callable[[ServerEvent], None]) -> None:
        path = await asyncio.to_thread(self._find)
        before = _stat_stamp(path)
        while True:
            await asyncio.sleep(SECONDS)
            now = _stat_stamp(path)
            if now != before:
                before = now
                listener(ResourceUpdated(uri=MEMORY))


def _stat_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)


def _ask_for_roots(context: Context, project: str) -> ListRoots | ListRootsResult:
    """Ask the client for its roots if the call names no directory and the client supports them."""
    capabilities = context.client_capabilities
    asking = not project and capabilities is not None and capabilities.roots is not None
    return ListRoots() if asking else ListRootsResult(roots=[])


Directory = Annotated[ListRootsResult, Resolve(_ask_for_roots)]


def call_directory(project: str, roots: ListRootsResult) -> str:
    """The directory of a call: the one it names, or the client's first root that exists, or the directory of this process."""
    folders = (unquote(urlsplit(str(root.uri)).path) for root in roots.roots)
    return project or next((folder for folder in folders if Path(folder).is_dir()), str(Path.cwd()))


_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_PROPOSES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def create_server(open_workspace: OpenWorkspace) -> MCPServer:
    """Create the server. ``open_workspace`` opens the workspace for each call."""

    def memory_file() -> Path:
        with open_workspace() as workspace:
            return tools.memory_path(workspace)

    server = MCPServer(
        "kept",
        title="kept",
        version=__version__,
        instructions=schema.INSTRUCTIONS,
        log_level="WARNING",
        tools=create_tools(open_workspace),
        subscriptions=FileBus(memory_file),
    )

    def read(answer: Callable[[Workspace], str]) -> str:
        try:
            with open_workspace() as workspace:
                return answer(workspace)
        except KeptError as error:
            raise ResourceError(str(error)) from error

    @server.resource(MEMORY, name="memory", title="What is remembered", mime_type="text/markdown")
    def memory() -> str:
        """The memories as memory.md shows them."""
        return read(tools.format_memories)

    @server.resource("kept://days", name="days", title="Days with sessions", mime_type="text/plain")
    def days() -> str:
        """Every day on which something happened, the latest first."""
        return read(tools.format_known_days)

    @server.resource("kept://day/{date}", name="day", title="One day", mime_type="text/markdown")
    def day(date: str) -> str:
        """What happened that day."""
        return read(lambda workspace: tools.get_day_history(workspace, date))

    @server.prompt("recall", title="Memories of a topic")
    def recall(topic: str) -> str:
        """Answer from the memories of a topic."""
        return f"Search kept's memory for {topic!r} (search_memory), then tell me in a few lines what it says, with ids and days."

    @server.prompt("remember", title="Remember a sentence")
    def remember(words: str) -> str:
        """Hand over a sentence of mine to be remembered."""
        return f"Remember this, in my words (save_what_user_said): {words}"

    return server


def create_tools(open_workspace: OpenWorkspace) -> list[Tool]:
    """Create the tools. A KeptError becomes a tool error of one line, which says what to do next."""

    def run_tool(call: Callable[[Workspace], T]) -> T:
        try:
            with open_workspace() as workspace:
                return call(workspace)
        except KeptError as error:
            raise ToolError(str(error)) from error

    def search_memory(
        *,
        query: schema.Query,
        layers: schema.Layers = ["memories"],  # noqa: B006 - an agent sees the default; nothing changes it
        project: schema.ProjectName = "",
        category: schema.OneCategory = "",
        since: schema.Since = "",
        until: schema.Until = "",
        limit: schema.Limit = 10,
    ) -> Annotated[CallToolResult, schema.SearchResult]:
        """Search the memories of earlier sessions: rules, decisions, preferences, facts, fixes; best first."""
        matches = run_tool(
            lambda workspace: tools.search_memory(
                workspace, query, within=layers, project=project, category=category, since=since, until=until, limit=limit
            )
        )
        results = [asdict(match) | {"text": escape_tags(match.text), "reasons": list(match.reasons)} for match in matches]
        return _tool_result(tools.format_matches(matches), {"notice": NOTICE, "results": results})

    def get_memory_evidence(id: schema.MemoryId) -> str:  # noqa: A002 - the name an agent sees
        """One memory with its evidence: the words it is based on, their author and session, and every change since."""
        return run_tool(lambda workspace: tools.get_memory(workspace, id))

    def get_day_history(date: schema.Day) -> str:
        """What happened on a day: its sessions, its work, and new and confirmed memories."""
        return run_tool(lambda workspace: tools.get_day_history(workspace, date))

    def get_task_context(
        roots: Directory, message: schema.Message = "", project: schema.Directory = "", budget: schema.Budget = 0
    ) -> str:
        """The few remembered lines that matter for a task or message in a project, with the rules that hold there; often none."""
        return run_tool(lambda workspace: tools.get_context(workspace, message, call_directory(project, roots), budget))

    # ``replaces`` and ``needed_for`` are not used here: extraction reads them from the call in the transcript.
    def save_what_user_said(
        roots: Directory,
        *,
        text: schema.Words,
        kind: schema.Kind,
        lasts: schema.Lasts,
        alone: schema.Alone,
        replaces: schema.Replaced = "",  # noqa: ARG001
        needed_for: schema.Needed = [],  # noqa: ARG001, B006 - as above
        project: schema.Directory = "",
    ) -> Annotated[CallToolResult, schema.ProposalResult]:
        """Save words the user typed that a colleague joining later must know (rule, decision, cause, fact) or asked you to keep."""
        folder = call_directory(project, roots)
        saved = run_tool(lambda workspace: tools.suggest_memory(workspace, text, kind, folder, lasts=lasts, alone=alone))
        return _proposal_result(saved)

    def resolve_remembered_question(
        id: schema.MemoryId,  # noqa: A002 - the name an agent sees
        answer: schema.Sentence,
        category: schema.Category = "decision",
    ) -> Annotated[CallToolResult, schema.ProposalResult]:
        """Answer a remembered open question once the user has; it is held for their yes unless their settings trust agents."""
        return _proposal_result(run_tool(lambda workspace: tools.resolve_question(workspace, id, answer, category)))

    return [
        schema.make_tool(search_memory, "Search memory", _READS),
        schema.make_tool(get_memory_evidence, "Show one memory with its evidence", _READS),
        schema.make_tool(get_day_history, "Show what happened on a day", _READS),
        schema.make_tool(get_task_context, "Memory for a task", _READS),
        schema.make_tool(save_what_user_said, "Save the user's words", _PROPOSES),
        schema.make_tool(resolve_remembered_question, "Answer an open question", _PROPOSES),
    ]


def _proposal_result(proposal: tools.ProposalReply) -> CallToolResult:
    return _tool_result(proposal.message, asdict(proposal))


def _tool_result(text: str, fields: dict[str, object]) -> CallToolResult:
    """Make a result with a text for clients that show text, and with fields for clients that read structured content."""
    return CallToolResult(content=[TextContent(text=text)], structured_content=fields)


def serve(open_workspace: OpenWorkspace, *, key: str, host: str, port: int) -> None:
    """Serve over stdio until the client disconnects or, with a ``key``, over HTTP until stopped. Raises UsageError if ``host`` is
    not this machine.
    """
    if not key:
        create_server(open_workspace).run("stdio")
        return
    if host not in LOOPBACK:
        raise UsageError(f"kept serves this machine only, not {host}", hint=f"--host may be {', '.join(LOOPBACK)}")
    uvicorn.run(create_mcp_app(open_workspace, key, port), host=host, port=port, log_level="warning")


def create_mcp_app(open_workspace: OpenWorkspace, key: str, port: int) -> ASGIApp:
    """Create the HTTP application. It accepts a request only if it is addressed to this machine, has the key, and does not come
    from another web page.
    """
    names = [f"{item}:{port}" for item in ("127.0.0.1", "localhost", "[::1]")]
    allowed = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    app = create_server(open_workspace).streamable_http_app(stateless_http=True, transport_security=allowed)
    expected = f"Bearer {key}".encode()

    async def check_key(scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, Any] = dict(scope.get("headers", ()))
        if scope["type"] == "http" and not hmac.compare_digest(headers.get(b"authorization", b""), expected):
            await PlainTextResponse("kept mcp --http wrote the header to send", status_code=401)(scope, receive, send)
            return
        await app(scope, receive, send)

    return check_key
