"""``kept forget``: show where words are stored, ask, erase them everywhere, and report what remains."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from kept.cli.command_support import command_workspace, confirm, is_interactive, parse_period, progress_if_shown
from kept.cli.console import Line, format_count, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.cli.lists import memory_line
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.erasure import ErasureMatch
from kept.core.errors import UsageError
from kept.memories import browse, person
from kept.pipeline.erase.forget import (
    ErasureReport,
    ErasureRequest,
    find_erasure_places,
    make_erasure_request,
    make_retention_request,
    nothing_aged,
    preview_out_of_reach,
)
from kept.pipeline.erase.forget import forget as erase
from kept.workspace import Workspace


def forget(
    call: GlobalOptions,
    ids: list[str] | None = None,
    *,
    words: list[str] | None = None,
    source: str = "",
    session: str = "",
    project: str = "",
    since: str = "",
    until: str = "",
    aged: bool = False,
    also: list[str] | None = None,
    yes: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Erase memories for good, and their words wherever kept has them: conversations, summaries, files, logs, backups.

    First shows where the words are, and asks. Near copies, which say almost the same, stay unless you choose them. Erasing cannot
    be undone. What remains is the memory's id, and a keyed fingerprint by which kept recognises the words if it reads them again.

    Name memories and sentences; or a session or source, a project, and days; or --aged alone.
    """
    with command_workspace(call) as workspace:
        named = source or (browse.find_session(workspace, session, private=True) if session else "")
        if source and session:
            raise UsageError("--source and --session do not go together", hint="forget them one after the other")
        request = _make_request(workspace, ids or [], words or [], named, project=project, since=since, until=until, aged=aged)
        quiet = call.quiet
        shown = sys.stderr.isatty() and not quiet
        if shown:
            write_line(("Reading everything that kept stores, backups included; this may take minutes.", "dim"), stream=sys.stderr)
        chosen = list(also or [])
        if dry_run or not yes:
            with progress_if_shown(shown=shown) as progress:
                erasure_matches = find_erasure_places(workspace, request, progress=progress)
            if aged and not erasure_matches:
                raise nothing_aged()
            _show_places(workspace, request, erasure_matches, as_json=as_json and (dry_run or not is_interactive()))
            if dry_run:
                return 0
            chosen += _confirm_erasure(erasure_matches)
        with progress_if_shown(shown=shown) as progress:
            gone = erase(workspace, request, also=chosen, progress=progress)
        if aged and not (gone.places.total() or gone.problems or gone.remains):
            raise nothing_aged()
        if named and not (gone.memories or gone.sessions or gone.items or gone.problems):
            hint = "name a source of `kept sources`, a file, or a session by 8 characters of its id or more"
            raise UsageError(f"kept has read nothing from {named!r}", hint=hint)
        _show_result(workspace, request, gone, aged=aged, quiet=quiet, as_json=as_json)
        return int(bool(gone.problems or gone.remains))


def _make_request(
    workspace: Workspace, ids: list[str], words: list[str], named: str, *, project: str, since: str, until: str, aged: bool
) -> ErasureRequest:
    """The request that the arguments describe. ``named`` is a session, file or source. Raises UsageError if they do not go
    together.
    """
    if (ids or words) and (named or project or since or until):
        raise UsageError(
            "ids and words do not go together with --source, --project or dates", hint="forget them one after the other"
        )
    if aged == bool(ids or words or named or project or since or until):
        hint = "--aged stands alone" if aged else "give ids, --words, --session, --source, --project, --since or --aged"
        raise UsageError("say what to forget", hint=hint)
    if aged:
        return make_retention_request(workspace)
    first, last = parse_period(workspace, since, until)
    return make_erasure_request(
        workspace,
        [person.find_memory(workspace, memory_id) for memory_id in ids],
        said=words,
        source=named,
        project=workspace.find_scope(project) if project else "",
        since=first,
        until=last,
    )


def _show_result(
    workspace: Workspace, request: ErasureRequest, gone: ErasureReport, *, aged: bool, quiet: bool, as_json: bool
) -> None:
    """Print what was erased, and on stderr the problems and the places that still contain the words."""
    if as_json:
        write_json(_erasure_body(gone))
    elif not quiet:
        before = tuple(memory.id for memory in request.memories if not memory.content)
        write_lines(_format_erasure(gone, proved=not (aged or before or gone.remains)))
        if before:
            text = f"{', '.join(before)} was forgotten before, so kept no longer knows its words"
            write_line(("Not proved: ", "yellow"), text, ' → kept forget --words "…"')
    remaining = (f"the words are still in {place}; {_advise(workspace, place)}" for place in gone.remains)
    write_lines([line(f"kept: {problem}") for problem in (*gone.problems, *remaining)], sys.stderr)


def _advise(workspace: Workspace, place: str) -> str:
    """Advise what to do about words that remain in a place. Never advises to delete one of kept's own files, such as the store."""
    if place.startswith(str(workspace.paths.state)):
        return "kept forget --words erases them, unless a project's folder has that name"
    return "forget them by --words, or delete the file"


def _erasure_body(gone: ErasureReport) -> dict[str, Any]:
    """The result of erasing as JSON."""
    names = {"forgotten": "memories", "sessions": "sessions", "items": "items", "outside": "outside"}
    places = {name: count for name, count in gone.places.items() if count}
    near = [json_fields(place, "id", "where", "text") for place in gone.near]
    return json_fields(gone, **names) | {"places": places, "near": near} | json_fields(gone, "remains", "out_of_reach", "problems")


def _format_erasure(gone: ErasureReport, *, proved: bool) -> Iterator[Line]:
    if not (gone.places.total() or gone.sessions or gone.items):
        yield line("Nothing that kept stores contained this. If it is read later, it does not become a memory.")
    else:
        yield line(("Forgotten: ", "green"), ", ".join(gone.memories) or "no memory")
    if gone.sessions:
        yield line(("Sessions erased; they will not be read again: ", "green"), ", ".join(gone.sessions))
    if gone.items:
        yield line(("Erased from external sources: ", "green"), format_count(gone.items, "item"))
    erased = [f"{name} ({count:,})" for name, count in gone.places.items() if count]
    if erased:
        yield line(("Erased in: ", "green"), ", ".join(erased))
    for place in gone.outside:
        yield line(("Rewritten outside of this home: ", "yellow"), format_path(place))
    if proved and gone.out_of_reach:
        yield line("Every file, row and backup that kept can reach was read again; none contains the words. Out of its reach:")
    elif proved:
        yield line(("Proved: ", "green"), "every file, row and backup of kept's was read again; none contains the words")
    if gone.near:
        yield line((f"{format_count(len(gone.near), 'near copy')} stay; --also erases one:", "yellow"))
        yield from _format_near_copies(gone.near)
    yield from _format_out_of_reach(gone.out_of_reach)


def _format_out_of_reach(texts: Sequence[str]) -> Iterator[Line]:
    if texts:
        yield line(("kept cannot erase the words here:", "yellow"))
        yield from (hanging_line([("  ", "")], text) for text in texts)


def _format_near_copies(matches: Sequence[ErasureMatch]) -> Iterator[Line]:
    yield from (
        hanging_line([("  ", ""), (place.id, "yellow"), ("  ", "")], f"“{place.text}”", (f"  ({place.where})", "dim"))
        for place in matches
    )


def _preview_lines(workspace: Workspace, request: ErasureRequest, matches: Sequence[ErasureMatch]) -> Iterator[Line]:
    yield from (memory_line(memory, workspace.zone) for memory in request.memories)
    exact = [place for place in matches if not place.near]
    if not exact:
        yield line("Nothing that kept stores contains this.")
    for holder, group in groupby(sorted(exact, key=lambda place: (place.holder, place.where)), key=lambda place: place.holder):
        members = list(group)
        yield line((f"{holder[:1].upper()}{holder[1:]}", "bold"), (f"  {format_count(len(members), 'place')}", "dim"))
        for place in members:
            yield hanging_line([("    ", "")], place.where, (f"  “{place.text}”" if place.text else "", "dim"))
    near = [place for place in matches if place.near]
    if near:
        yield line(("Near copies, which stay unless you choose them:", "yellow"))
        yield from _format_near_copies(near)
    else:
        yield line(("There are no near copies.", "dim"))
    yield from _format_out_of_reach(preview_out_of_reach(workspace, request))


def _show_places(workspace: Workspace, request: ErasureRequest, matches: Sequence[ErasureMatch], *, as_json: bool) -> None:
    if as_json:
        named = [json_fields(place, "holder", "where", "text") | {"near": place.id if place.near else ""} for place in matches]
        write_json(named)
    else:
        write_lines(_preview_lines(workspace, request, matches))


def _confirm_erasure(erasure_matches: Sequence[ErasureMatch]) -> list[str]:
    """Ask whether to erase the words shown. Returns the chosen near copies. Raises UsageError if the answer is no."""
    if not is_interactive():
        raise UsageError("forgetting cannot be undone, so it needs a yes; nothing was erased", hint="add --yes")
    count = len([place for place in erasure_matches if not place.near])
    if not confirm((f"Erase all of it ({format_count(count, 'place')}), in backups too? This cannot be undone.", "bold red")):
        raise UsageError("nothing was forgotten")
    return [place.id for place in erasure_matches if place.near and confirm(("Also ", "bold red"), f"“{place.text}”")]
