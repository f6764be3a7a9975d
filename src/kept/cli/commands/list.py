"""``kept list``: list memories. Read-only."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import chain, groupby
from typing import Any

from kept.cli.command_support import check_choice, command_workspace
from kept.cli.console import Line, format_id, hanging_line, line, page_lines, write_json, write_line
from kept.cli.lists import BY, grouped_lines, source_of
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump
from kept.core.errors import UsageError
from kept.core.memory import CandidateVerdict, Memory, Status
from kept.memories.browse import MemoryFilter, filter_memories, find_project, find_scopes, list_active, to_export
from kept.memories.history import memories_at
from kept.memories.waiting import REFUSALS, list_pending_proposals, list_refused
from kept.profiles.profile import find_kind
from kept.workspace import Workspace


def list_(
    call: GlobalOptions,
    *,
    at: str = "",
    recorded: bool = False,
    refused_: bool = False,
    held: bool = False,
    everything: bool = False,
    category: str = "",
    project: str = "",
    by: str = "",
    as_json: bool = False,
) -> None:
    """List memories: the active ones, by project and category, newest first."""
    with command_workspace(call) as workspace:
        if recorded and not at:
            raise UsageError("--recorded needs --at DATE", hint="kept list --at 2026-01-31 --recorded")
        moment = workspace.parse_moment(at) if at else workspace.clock()
        if refused_:
            scopes = find_scopes(workspace, project) or None
            _print_refused(workspace, category, scopes, as_json=as_json)
            return
        if by:
            check_choice(by, BY, "--by")
        if category:
            _check_category(workspace, category)
        statuses = (Status.HELD,) if held else (Status.ACTIVE,)
        which = MemoryFilter(statuses=statuses, category=category, project=find_project(workspace, project), everything=everything)
        memories: Sequence[Memory] = ()
        if at:
            memories = memories_at(workspace, moment, recorded=recorded)
        elif held or everything:
            proposals = list_pending_proposals(workspace)
            memories = [item.memory for item in proposals if held or not item.stored]
            memories += () if held else workspace.store.log.memories()
        whole = at or held or everything
        listed = iter(filter_memories(workspace, memories, which, moment)) if whole else list_active(workspace, which, moment)
        listed = (memory for memory in listed if by in ("", source_of(memory)))
        if as_json:
            write_json([to_export(workspace, memory, moment) for memory in listed])
        elif first := next(listed, None):
            lines = grouped_lines(workspace, chain([first], listed), None if held else moment, ordered=True)
            page_lines(chain(lines, _past_line(workspace, moment, recorded=recorded) if at else ()))
        else:
            none = "kept had read nothing by then." if at and recorded and not memories else "Nothing to show."
            statuses_present = {status for status, *_ in workspace.store.log.count_memories(moment)}
            waits = Status.HELD in statuses_present and not held
            write_line(none, ("" if at else " → kept review --all" if waits else "" if statuses_present else " → kept run", "dim"))


def _past_line(workspace: Workspace, moment: datetime, *, recorded: bool) -> list[Line]:
    """Say whether the list shows what kept knew at ``moment``, or what was true then. One line."""
    local = moment.astimezone(workspace.zone)  # midnight stands for the end of the day before
    when = f"at the end of {local.date() - timedelta(days=1)}" if not (local.hour or local.minute) else f"at {local:%Y-%m-%d %H:%M}"
    text = f"What kept knew {when}." if recorded else f"What was true {when}. What kept knew then: --recorded"
    return [line((text, "dim"))]


def _check_category(workspace: Workspace, category: str) -> None:
    kinds = {(profile.id, category.id) for profile in workspace.profiles for category in profile.categories}
    kinds |= {(profile, kind) for _, profile, kind in workspace.store.log.count_memories(workspace.clock())}
    profile, name = find_kind(workspace.profiles, category)
    if name not in {known for whose, known in kinds if profile in ("", whose)}:
        check_choice(category, tuple(sorted({known for _, known in kinds})), "--category")


def _print_refused(workspace: Workspace, category: str, scopes: Collection[str] | None, *, as_json: bool) -> None:
    profile, kind = find_kind(workspace.profiles, category)
    candidate_verdicts = [
        judged
        for judged in sorted(list_refused(workspace), key=lambda judged: (_refusal_reason(judged), judged.candidate.content))
        if (scopes is None or judged.candidate.scope in scopes)
        and kind in ("", judged.candidate.category)
        and profile in ("", judged.candidate.profile)
    ]
    if as_json:
        write_json([_refused_body(judged) for judged in candidate_verdicts])
        return
    lines: list[Line] = []
    for reason, group in groupby(candidate_verdicts, key=_refusal_reason):
        several = tuple(group)
        explained = f"  {REFUSALS[reason]}" if reason in REFUSALS else ""
        lines.append(line((reason, "cyan"), (f"  {len(several):,}{explained}", "dim")))
        lines += [
            hanging_line(
                [("  ", ""), (format_id(judged.candidate.id), "yellow"), ("  ", "")],
                judged.candidate.content,
                (f"  {_refusal_detail(judged)}".rstrip(), "dim"),
            )
            for judged in several
        ]
    page_lines(lines or [line("Nothing was refused.")])


def _refused_body(judged: CandidateVerdict) -> dict[str, Any]:
    body: dict[str, Any] = dump(judged.candidate)
    del body["confidence"]
    return body | {"reason": _refusal_reason(judged), "detail": _refusal_detail(judged)}


def _refusal_reason(judged: CandidateVerdict) -> str:
    return getattr(judged.verdict, "reason", "")


def _refusal_detail(judged: CandidateVerdict) -> str:
    return getattr(judged.verdict, "detail", "")
