"""Preview the context that a session would get, for a person, an agent over MCP, or a program. Read-only."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from kept.core.fence import Context, ContextPiece
from kept.core.memory import USER_SCOPE, Memory
from kept.recall.context import assemble_context, failure_marks, find_already_read
from kept.recall.embed_server.query import memories_in_process, turns_in_process
from kept.recall.index import UnitKind
from kept.recall.nearby import ContextRequest, RecallEnvironment
from kept.recall.passages import PREFIX
from kept.recall.relevance import parse_weights
from kept.recall.search import Filters, search
from kept.store.reader import StoreReader
from kept.workspace import Workspace

CLIENTS = ("claude", "codex", "gemini", "none")
_SECONDS = 10.0  # time limit for reading the store; higher than in a hook, because a person asked for the preview
_TOO_FAR = "not relevant enough"
_RANKED = 100  # maximum number of search results that may fill the budget
_MISSED = 12  # maximum number of facts reported as not near enough


def preview_context(
    workspace: Workspace,
    message: str = "",
    *,
    directory: str = "",
    scope: str = "",
    budget: int = 0,
    client: str = "claude",
    others: bool = True,
    fill: bool = False,
    meaning: bool = True,
) -> Context:
    """The context that a hook would add to a message in a directory. Without a message, it is that of a session that starts there.

    Args:
        workspace: the workspace.
        message: the user's message.
        directory: the absolute path in which the session works; empty for none.
        scope: the scope of the directory, if known.
        budget: the maximum number of tokens; 0 for the setting ``context_tokens``.
        client: one of ``CLIENTS``; what it loads by itself is left out. ``none`` loads nothing and also gets the project's rules.
        others: whether fixes from other projects are included.
        fill: whether the best search results fill the rest of the budget.
        meaning: whether meanings are compared. A hook does so only if an embedding server runs, or if the settings say so.

    Raises StoreError.
    """
    asked = ContextRequest(
        message=message,
        directory=directory,
        marks=failure_marks(message),
        budget=budget or workspace.settings.context_tokens,
        client=client,
        rules=client == "none",
        others=others,
        whole=not message,
    )
    place = RecallEnvironment(
        store=str(workspace.paths.store),
        user=str(workspace.paths.user),
        profiles=tuple(profile.id for profile in workspace.profiles),
        zone=workspace.zone,
        seconds=_SECONDS,
        weights=parse_weights(asdict(workspace.settings.recall)),
    )
    scope = scope or (workspace.scope(directory) if directory else "")
    missed: list[ContextPiece] = []
    context = assemble_context(
        place,
        asked,
        now=workspace.clock(),
        scope=scope,
        missed=missed,
        nearest=memories_in_process(workspace, message) if meaning else None,
        said=turns_in_process(workspace, message) if meaning else None,
        ranked=partial(_rank_by_search, workspace, message) if fill else None,
    )
    shown = {piece.key for piece in context.pieces}
    best = sorted((piece for piece in missed if piece.key not in shown), key=lambda piece: (-piece.near, -piece.score, piece.key))
    if not best:
        return context
    omitted = tuple((piece, _TOO_FAR) for piece in best[:_MISSED])
    count = context.left_out.get(_TOO_FAR, 0) + len(omitted)
    return context._replace(omitted=context.omitted + omitted, left_out=context.left_out | {_TOO_FAR: count})


def _rank_by_search(workspace: Workspace, message: str, scopes: Sequence[str]) -> list[str]:
    """The search results as keys of context pieces, best first."""
    filters = Filters(scopes=tuple(scopes), statuses=("active",))
    hits = search(workspace, message, where=(UnitKind.MEMORY, UnitKind.TURN), limit=_RANKED, filters=filters)
    return [hit.id if hit.kind is UnitKind.MEMORY else PREFIX + hit.id for hit in hits]


def list_read_memories(workspace: Workspace, directory: str, client: str) -> tuple[list[Memory], list[Memory]]:
    """The memories in the files that a client in this directory loads: first its own, then those of other projects.

    Raises StoreError.
    """
    asked = ContextRequest(directory=directory, client=client)
    with StoreReader(str(workspace.paths.store), _SECONDS) as reader:
        keys, _ = find_already_read(reader, asked, str(workspace.paths.user))
    here = (USER_SCOPE, workspace.scope(directory) if directory else USER_SCOPE)
    read = [memory for memory in map(workspace.store.log.memory, sorted(keys)) if memory is not None]
    return [memory for memory in read if memory.scope in here], [memory for memory in read if memory.scope not in here]


def session_directories(workspace: Workspace) -> tuple[tuple[str, str], ...]:
    """A directory of each project in which sessions worked, with the project's name. Sorted by name. Raises StoreError."""
    names = workspace.scope_names()
    found: dict[str, str] = {}
    for directory, _ in workspace.store.archive.directories():
        if directory:
            found.setdefault(workspace.scope(directory), directory)
    return tuple(
        sorted(((directory, names.get(scope, scope)) for scope, directory in found.items()), key=lambda each: each[1].casefold())
    )
