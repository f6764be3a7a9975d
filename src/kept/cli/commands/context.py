"""``kept context`` and the help of ``kept hook``: what a session would get now, and why."""

from collections.abc import Iterator, Sequence

from kept.cli import hook as hooks
from kept.cli.command_support import check_choice, command_workspace
from kept.cli.console import Line, format_count, hanging_line, line, write_json, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.codec import to_json
from kept.core.errors import UsageError
from kept.core.fence import TITLES, Context, render_block
from kept.core.times import format_day
from kept.memories.browse import find_directory
from kept.outputs.routing import preview_start
from kept.recall.context_budget import SHOWN
from kept.recall.embed_server import NAME as SOCKET
from kept.recall.preview import CLIENTS, preview_context
from kept.workspace import Workspace

# No session has been shown anything here, so a SHOWN memory can only be in this file.
_IN_FILE = "in the memory file that the agent reads"


def context(
    call: GlobalOptions,
    message: list[str] | None = None,
    *,
    project: str = "",
    budget: int = 0,
    client: str = "claude",
    why: bool = False,
    as_text: bool = False,
    as_json: bool = False,
) -> None:
    """Show what a hook would add at the start of a session or, with MESSAGE, to a prompt. That may be nothing."""
    words = " ".join(message or ())
    check_choice(client, CLIENTS, "--client")
    with command_workspace(call) as workspace:
        directory = find_directory(workspace, project or ".")
        assembled = preview_context(workspace, words, directory=directory, budget=budget, client=client, fill=bool(budget))
        start = preview_start(workspace, directory, client=client)
        hooked = {piece.key for piece in assembled.pieces}
        if words and not budget and hooked and not _compares_meanings(workspace):
            hooked &= {
                piece.key for piece in preview_context(workspace, words, directory=directory, client=client, meaning=False).pieces
            }
        read = () if words else tuple((memory.content, format_day(memory.last_seen, workspace.zone)) for memory in start.read)
    if as_json:
        write_json(
            {
                "message": words,
                "tokens": assembled.tokens,
                "lines": to_json(assembled.pieces),
                "left_out": assembled.left_out,
                "omitted": [piece._asdict() | {"omitted": why} for piece, why in assembled.omitted],
            }
        )
        return
    if as_text:
        write_lines([line(item) for item in render_block(assembled.pieces).splitlines()])
        return
    write_lines(_context_lines(assembled, read, why=why))
    if missed := sum(piece.key not in hooked for piece in assembled.pieces):
        text = f"Found by meaning: {missed}; hooks find these only while `kept mcp` or `kept web` runs, or with"
        write_lines([line((text, "yellow"), " → kept config set context_meaning true")])
    if assembled.pieces and not start.hooked:
        write_lines([line(("No hook is installed yet, so sessions do not get this", "yellow"), " → kept setup")])


def _compares_meanings(workspace: Workspace) -> bool:
    """True if a hook before a prompt compares meanings now, in an embedding server or by itself."""
    return workspace.settings.context_meaning or (workspace.paths.state / SOCKET).exists()


def _context_lines(assembled: Context, read: Sequence[tuple[str, str]], *, why: bool) -> Iterator[Line]:
    if read:
        yield line(("The session reads this from its memory file:", "bold"))
        yield from (hanging_line([("  ", "")], words, (f"  {day}".rstrip(), "dim")) for words, day in read)
    layer = ""
    for piece in assembled.pieces:
        if piece.layer != layer:
            layer = piece.layer
            yield line((TITLES[layer], "bold"))
        score = f"near {piece.near:.2f}, score {piece.score:.2f}: " if why else ""
        yield hanging_line([("  ", "")], piece.text, (f"  {piece.day}  {score}{piece.reason}".rstrip(), "dim"))
    for piece, reason in assembled.omitted if why else ():
        if read and reason == SHOWN:
            continue
        text = f"  {_IN_FILE if reason == SHOWN else reason}; near {piece.near:.2f}, score {piece.score:.2f}: {piece.reason}"
        yield hanging_line([("  not shown: ", "dim")], piece.text, (text, "dim"))
    left = ", ".join(
        f"{count:,} {_IN_FILE if reason == SHOWN else reason}"
        for reason, count in sorted(assembled.left_out.items())
        if not (read and reason == SHOWN)
    )
    if assembled.pieces:
        yield line((f"{format_count(assembled.tokens, 'token')}{f'; left out: {left}' if left else ''}", "dim"))
    else:
        none = "Nothing is added to that" if read else "Nothing is relevant enough to be added"
        yield line((f"{none}{f' (left out: {left})' if left else ''}.", "dim"))


def hook(call: GlobalOptions, event: str, client: str = "") -> int:
    """Answer a coding agent's hook, with its payload on stdin. Always exits with 0; errors go to kept's log."""
    if event not in hooks.EVENTS:
        raise UsageError(f"there is no event {event!r}", hint=f"events: {', '.join(hooks.EVENTS)}")
    home = call.home
    return hooks.answer_event([event, *(["--client", client] if client else []), *(["--home", home] if home else [])])
