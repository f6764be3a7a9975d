"""``kept list``: memories, read-only."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any

import typer

from kept.cli import show
from kept.cli.front import at_desk, one_of
from kept.cli.lists import grouped
from kept.cli.show import Line, entry, line
from kept.core.errors import UsageError
from kept.core.memory import Judged, Memory, Status
from kept.core.times import minute_text
from kept.memories.browse import Filter, chosen, exported, plain, refused
from kept.memories.history import memories_at
from kept.profiles.profile import kind_of
from kept.workspace import Workspace


def list_(
    context: typer.Context,
    *,
    at: Annotated[str, typer.Option("--at", "--as-of", metavar="DATE", help="What was true at the end of a past day.")] = "",
    recorded: Annotated[bool, typer.Option("--recorded", help="With --at: what kept knew then.")] = False,
    refused_: Annotated[bool, typer.Option("--refused", help="The proposals that were refused, and why.")] = False,
    held: Annotated[bool, typer.Option("--held", help="Only those that wait for your decision.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Whatever their status: retired, superseded, expired …")] = False,
    category: Annotated[str, typer.Option(metavar="CATEGORY", help="Only this category.")] = "",
    project: Annotated[str, typer.Option(metavar="NAME", help="Only projects with this in their name.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List memories: the active ones, by project and category, newest first."""
    with at_desk(context) as workspace:
        if recorded and not at:
            raise UsageError("--recorded needs --at DATE", hint="kept list --at 2026-01-31 --recorded")
        moment = workspace.moment(at) if at else workspace.clock()
        if refused_:
            _list_refused(workspace, as_json=as_json)
            return
        memories = memories_at(workspace, moment, recorded=recorded) if at else workspace.store.log.memories()
        _check_category(workspace, category, memories)
        statuses = (Status.HELD,) if held else (Status.ACTIVE,)
        which = Filter(statuses=statuses, category=category, project=project, everything=everything)
        found = chosen(workspace, memories, which, moment)
        if as_json:
            show.write_json([exported(workspace, each, moment) for each in found])
        elif found:
            lines = list(grouped(found, workspace.profiles, workspace.names(), workspace.zone, None if held else moment))
            show.page([*lines, *_past_line(workspace, moment, recorded=recorded)] if at else lines)
        else:
            show.write([line("Nothing to show.", ("" if memories or at else " → kept run", "dim"))])


def _past_line(workspace: Workspace, moment: datetime, *, recorded: bool) -> list[Line]:
    """Which of the two pasts a list shows."""
    day = minute_text(moment, workspace.zone)
    told = f"What kept knew at {day}." if recorded else f"What was true at {day}. What kept knew then: --recorded"
    return [line((told, "dim"))]


def _check_category(workspace: Workspace, category: str, memories: Sequence[Memory]) -> None:
    known = {name for each in workspace.profiles for one in each.categories for name in (one.id, kind_of(each.id, one.id))}
    known |= {name for each in memories for name in (each.category, kind_of(each.profile, each.category))}
    if category and category not in known:
        known = {each for each in known if "." not in each}
        one_of(category, tuple(sorted(known)), "--category")


def _list_refused(workspace: Workspace, *, as_json: bool) -> None:
    found = sorted(refused(workspace), key=lambda each: (_reason(each), each.candidate.content))
    if as_json:
        show.write_json([_refused_body(each) for each in found])
        return
    lines: list[Line] = []
    for reason, group in groupby(found, key=_reason):
        several = tuple(group)
        lines.append(line((reason, "cyan"), (f"  {len(several):,}", "dim")))
        lines += [
            entry(
                [("  ", ""), (each.candidate.id, "yellow"), ("  ", "")],
                each.candidate.content,
                (f"  {_detail(each)}".rstrip(), "dim"),
            )
            for each in several
        ]
    show.page(lines or [line("Nothing was refused.")])


def _refused_body(judged: Judged) -> dict[str, Any]:
    body: dict[str, Any] = plain(judged.candidate)
    del body["confidence"]
    return body | {"reason": _reason(judged), "detail": _detail(judged)}


def _reason(judged: Judged) -> str:
    return getattr(judged.verdict, "reason", "")


def _detail(judged: Judged) -> str:
    return getattr(judged.verdict, "detail", "")
