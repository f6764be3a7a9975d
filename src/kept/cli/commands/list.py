"""``kept list``: memories, read-only."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain, groupby
from typing import Annotated, Any

import typer

from kept.cli import show
from kept.cli.front import check_choice, command_workspace
from kept.cli.lists import grouped_lines
from kept.cli.show import Line, hanging_line, line
from kept.core.errors import UsageError
from kept.core.memory import CandidateVerdict, Memory, Status
from kept.memories.browse import (
    MemoryFilter,
    filter_memories,
    find_project,
    find_scopes,
    to_export,
    to_json_value,
)
from kept.memories.history import memories_at
from kept.memories.waiting import list_pending_proposals, list_refused
from kept.profiles.profile import format_kind, parse_kind
from kept.store.values import Outline
from kept.workspace import Workspace

_STRETCH = 200  # memories that are read together


def list_(
    context: typer.Context,
    *,
    at: Annotated[str, typer.Option("--at", "--as-of", metavar="DATE", help="What was true at the end of a past day.")] = "",
    recorded: Annotated[bool, typer.Option("--recorded", help="With --at: what kept knew then.")] = False,
    refused_: Annotated[bool, typer.Option("--refused", help="The proposals that were refused, and why.")] = False,
    held: Annotated[
        bool, typer.Option("--held", help="The proposals held for your decision, as `kept review --all` asks.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Whatever their status: retired, superseded, expired …")] = False,
    category: Annotated[str, typer.Option(metavar="CATEGORY", help="Only this category.")] = "",
    project: Annotated[
        str, typer.Option(metavar="PROJECT", help="Only projects with this in their name, or the one of this folder.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List memories: the active ones, by project and category, newest first."""
    with command_workspace(context) as workspace:
        if recorded and not at:
            raise UsageError("--recorded needs --at DATE", hint="kept list --at 2026-01-31 --recorded")
        moment = workspace.parse_moment(at) if at else workspace.clock()
        if refused_:
            scopes = find_scopes(workspace, project) or None
            _print_refused(workspace, category, scopes, as_json=as_json)
            return
        memories: Sequence[Memory | Outline] = workspace.store.log.outlines(moment)
        if at:
            memories = memories_at(workspace, moment, recorded=recorded)
        elif held or everything:
            proposals = list_pending_proposals(workspace)
            memories = [item.memory for item in proposals if held or not item.stored]
            memories += () if held else workspace.store.log.memories()
        _check_category(workspace, category, memories)
        statuses = (Status.HELD,) if held else (Status.ACTIVE,)
        which = MemoryFilter(statuses=statuses, category=category, project=find_project(workspace, project), everything=everything)
        found = filter_memories(workspace, memories, which, moment)
        there = [item for item in found if isinstance(item, Memory)]
        listed = there or _load_memories(workspace, [item.id for item in found])
        if as_json:
            show.write_json([to_export(workspace, memory, moment) for memory in listed])
        elif found:
            names, shown_at = workspace.scope_names(), None if held else moment
            lines = grouped_lines(listed, workspace.profiles, names, workspace.zone, shown_at, ordered=True)
            show.page_lines(chain(lines, _past_line(workspace, moment, recorded=recorded) if at else ()))
        else:
            none = "kept had read nothing by then." if at and recorded and not memories else "Nothing to show."
            waits = not held and any(item.status == Status.HELD for item in memories)
            show.write_line(none, ("" if at else " → kept review --all" if waits else "" if memories else " → kept run", "dim"))


def _load_memories(workspace: Workspace, ids: Sequence[str]) -> Iterator[Memory]:
    """The memories of a list, read as they are shown: who looks at its beginning waits for no more."""
    for start in range(0, len(ids), _STRETCH):
        yield from workspace.store.log.some(ids[start : start + _STRETCH])


def _past_line(workspace: Workspace, moment: datetime, *, recorded: bool) -> list[Line]:
    """Which of the two pasts a list shows."""
    local = moment.astimezone(workspace.zone)  # a day counts to its end, which is when the next one begins
    when = f"at the end of {local.date() - timedelta(days=1)}" if not (local.hour or local.minute) else f"at {local:%Y-%m-%d %H:%M}"
    told = f"What kept knew {when}." if recorded else f"What was true {when}. What kept knew then: --recorded"
    return [line((told, "dim"))]


def _check_category(workspace: Workspace, category: str, memories: Sequence[Memory | Outline]) -> None:
    known = {
        name
        for profile in workspace.profiles
        for category in profile.categories
        for name in (category.id, format_kind(profile.id, category.id))
    }
    known |= {name for memory in memories for name in (memory.category, format_kind(memory.profile, memory.category))}
    if category and category not in known:
        known = {item for item in known if "." not in item}
        check_choice(category, tuple(sorted(known)), "--category")


def _print_refused(workspace: Workspace, category: str, scopes: Collection[str] | None, *, as_json: bool) -> None:
    profile, kind = parse_kind(category)
    candidate_verdicts = [
        each
        for each in sorted(list_refused(workspace), key=lambda each: (_refusal_reason(each), each.candidate.content))
        if (scopes is None or each.candidate.scope in scopes)
        and kind in ("", each.candidate.category)
        and profile in ("", each.candidate.profile)
    ]
    if as_json:
        show.write_json([_refused_body(judged) for judged in candidate_verdicts])
        return
    lines: list[Line] = []
    for reason, group in groupby(candidate_verdicts, key=_refusal_reason):
        several = tuple(group)
        lines.append(line((reason, "cyan"), (f"  {len(several):,}", "dim")))
        lines += [
            hanging_line(
                [("  ", ""), (show.format_id(judged.candidate.id), "yellow"), ("  ", "")],
                judged.candidate.content,
                (f"  {_refusal_detail(judged)}".rstrip(), "dim"),
            )
            for judged in several
        ]
    show.page_lines(lines or [line("Nothing was refused.")])


def _refused_body(judged: CandidateVerdict) -> dict[str, Any]:
    body: dict[str, Any] = to_json_value(judged.candidate)
    del body["confidence"]
    return body | {"reason": _refusal_reason(judged), "detail": _refusal_detail(judged)}


def _refusal_reason(judged: CandidateVerdict) -> str:
    return getattr(judged.verdict, "reason", "")


def _refusal_detail(judged: CandidateVerdict) -> str:
    return getattr(judged.verdict, "detail", "")
