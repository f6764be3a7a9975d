"""``kept search``: find memories, summaries and archived turns. Read-only."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from kept.cli.command_support import check_choice, command_home, command_workspace, parse_period
from kept.cli.console import Line, format_count, format_id, hanging_line, line, write_json, write_line, write_lines
from kept.cli.lists import EVERYWHERE, memory_line, scope_name, turn_line
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump
from kept.core.errors import UsageError
from kept.core.memory import USER_SCOPE, Status
from kept.core.times import format_day
from kept.local.settings import load_settings
from kept.memories.browse import find_scopes
from kept.profiles.profile import find_kind
from kept.recall.index import UnitKind
from kept.recall.question import telling_words
from kept.recall.search import Filters, Hit, leave_out_far, search_sessions
from kept.recall.search import search as search_store
from kept.recall.spelling import correct_spelling, excerpt, has_meaning
from kept.workspace import Workspace

_SHOWN = 240  # maximum characters of a turn
_LAYERS = {"memories": UnitKind.MEMORY, "summaries": UnitKind.SUMMARY, "turns": UnitKind.TURN}


def search(
    call: GlobalOptions,
    query: list[str],
    *,
    within: str = "memories,summaries,turns",
    project: str = "",
    category: str = "",
    since: str = "",
    until: str = "",
    sessions: bool = False,
    store: str = "",
    limit: int = 10,
    every: bool = False,
    as_json: bool = False,
) -> None:
    """Search memories, then days, then conversations, the best of each first. Identifiers and paths also match by their parts."""
    layers = dict.fromkeys(
        _LAYERS[check_choice(part.strip(), tuple(_LAYERS), "--in")] for part in within.split(",") if part.strip()
    )
    words = " ".join(query)
    if store:
        if project or category or since or until or sessions:
            raise UsageError("--store works only with words, --limit and --json", hint="kept search --store URL WORDS")
        _search_server(call, store, words, limit, as_json=as_json)
        return
    with command_workspace(call) as workspace:
        first, last = parse_period(workspace, since, until)
        filters = Filters(
            scopes=tuple(sorted(find_scopes(workspace, project))),
            category=find_kind(workspace.profiles, category)[1],
            since=first,
            until=last,
        )
        asked = correct_spelling(workspace, words)
        if sessions:
            hits = search_sessions(workspace, asked, limit=limit, filters=filters)
        else:
            kinds = [kind for kind in layers if kind is UnitKind.MEMORY or not category]  # only memories have a category
            hits = search_store(workspace, asked, where=kinds, limit=limit, filters=filters, meaning=has_meaning(asked))
        if as_json:
            write_json({"query": words, "searched_for": asked, "hits": [dump(hit) for hit in hits]})
            return
        write_lines([line((f"Searched for: {asked}", "dim"))] if asked != words else ())
        shown = hits if every else leave_out_far(hits)
        _show_hits(workspace, shown, telling_words(asked))
        if far := len(hits) - len(shown):
            text = f"{format_count(far, 'weak match', 'weak matches')} left out → --all"
            write_line((text, "dim"))


def _show_hits(workspace: Workspace, hits: Sequence[Hit], keywords: Sequence[str]) -> None:
    """Print memories, then summaries, then turns. A turn of a held proposal has a hint, unless the proposal is shown itself."""
    order, ids = list(_LAYERS.values()), {hit.id for hit in hits}
    waiting = _waiting_by_turn(workspace) if any(hit.kind is UnitKind.TURN for hit in hits) else {}
    hints = {turn: held for turn, held in waiting.items() if held not in ids}
    sections = sorted(hits, key=lambda hit: order.index(hit.kind))
    write_lines([_hit_line(workspace, hit, keywords, hints) for hit in sections] or [line("Nothing found.")])


def _search_server(call: GlobalOptions, url: str, words: str, limit: int, *, as_json: bool) -> None:
    """Search on a server. Neither needs nor creates a store on this machine."""
    from kept.recall.server_search import search_server  # noqa: PLC0415 - rarely used

    settings = load_settings(command_home(call).settings)
    hits = search_server(url, words, settings.recall, os.environ, datetime.now(UTC), limit=limit)
    if as_json:
        write_json({"query": words, "hits": [dump(hit) for hit in hits]})
        return
    for hit in hits:
        where = EVERYWHERE if hit.scope == USER_SCOPE else " of ".join(filter(None, (hit.author, hit.project)))
        why = ", ".join(filter(None, ("" if hit.status == Status.ACTIVE else hit.status, where, *hit.reasons)))
        write_lines([hanging_line([("    ", ""), (format_id(hit.id), "yellow"), ("  ", "")], hit.text, (f"  ({why})", "dim"))])
    if not hits:
        write_line("Nothing found.")


def _waiting_by_turn(workspace: Workspace) -> dict[str, str]:
    """Maps the key of each turn that a held proposal is based on to the proposal's id."""
    from kept.memories.waiting import list_pending_proposals  # noqa: PLC0415 - only if turns are found

    return {rests.event: item.memory.id for item in list_pending_proposals(workspace) for rests in item.memory.evidence}


def _hit_line(workspace: Workspace, hit: Hit, words: Sequence[str], waiting: Mapping[str, str]) -> Line:
    held = hit.id if hit.status == Status.HELD else waiting.get(hit.id, "")
    waits = f" → kept review --approve {format_id(held)}" if held else ""
    why = (f"  [{', '.join(hit.reasons)}]{waits}", "dim")
    match hit.kind:
        case UnitKind.MEMORY if (memory := workspace.store.log.memory(hit.id)) is not None:
            state = "" if hit.status == Status.ACTIVE else hit.status
            shown_line = memory_line(
                memory, workspace.zone, ", ".join(filter(None, (state, scope_name(memory.scope, workspace.scope_names()))))
            )
        case UnitKind.TURN if (turn := workspace.store.archive.event(hit.id)) is not None:
            head = turn_line(workspace, turn).head
            shown_line = Line(head=head, body=line(excerpt(hit.text, words, _SHOWN)).body)
        case _:
            shown_line = hanging_line([(f"    {format_day(hit.first_at, workspace.zone)}  day summary: ", "dim")], hit.text)
    return Line(head=shown_line.head, body=(*shown_line.body, why))
