"""``kept team``: share memories of a project with other people through the server; leave a team; accept a shared line.

``kept sync`` exchanges one person's memory between machines through a folder.
"""

import os
from collections.abc import Iterator

from kept.cli.command_support import check_choice, command_workspace
from kept.cli.commands.edit import print_problems
from kept.cli.console import Line, format_count, hanging_line, line, write_json, write_line, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.local.agents_shell import agent_variable
from kept.local.settings.tables import SHARED
from kept.memories import team as teams
from kept.memories.synced_folder import SyncFolder
from kept.memories.team import TeamFact
from kept.pipeline.machines import sync_machines
from kept.workspace import Workspace


def team(
    call: GlobalOptions,
    action: str = "",
    item: str = "",
    *,
    role: str = "",
    what: str = "approved",
    quotes: bool = False,
    as_json: bool = False,
) -> None:
    """Show what your teams know and who shared it; share a project's memories with a team, or take them back.

    Lines that others share stay on the server. They are not in your files or shown to your agents until you accept them.
    """
    with command_workspace(call) as workspace:
        if action:
            _act(workspace, action, item, role, what, quotes=quotes)
        facts = teams.list_team_facts(workspace)
        if as_json:
            write_json({"facts": [json_fields(fact) for fact in facts]})
        elif not action:
            write_lines(_fact_lines(workspace, facts))


def sync(call: GlobalOptions, *, key: str = "", show_key: bool = False, as_json: bool = False) -> int:
    """Exchange memories with your other machines through the folder that the setting sync.folder names. Every run does so too."""
    with command_workspace(call) as workspace:
        folder = SyncFolder(workspace=workspace)
        if show_key:
            write_line(folder.code)
            return 0
        if key:
            folder.join(key)
        report, written = sync_machines(workspace)
    if as_json:
        write_json(json_fields(report, "received", "sent", "clashes") | {"forgotten": len(report.forgotten)})
    elif not call.quiet:
        received, sent = format_count(report.received, "change"), format_count(report.sent, "change")
        write_line(("Synced: ", "green"), f"{received} from other machines, {sent} to them.")
        if report.clashes:
            write_line((f"{format_count(report.clashes, 'line')} changed on two machines → kept review", "yellow"))
    return print_problems(written)


def _act(workspace: Workspace, action: str, item: str, role: str, what: str, *, quotes: bool) -> None:
    check_choice(action, ("share", "leave", "accept"), "action")
    if not item or (action == "share" and not role):
        raise UsageError(
            f"`kept team {action}` needs more arguments", hint="kept team share PROJECT --with ROLE, kept team accept ID"
        )
    match action:
        case "share":
            teams.share_project(workspace, item, role, what=check_choice(what, SHARED, "--what"), quotes=quotes)
            write_line((item, "bold"), f" is shared with {role}: {what}.", (" Every run brings that up to date.", "dim"))
        case "leave":
            left = ", ".join(share.team for share in teams.leave_team(workspace, item))
            write_line((item, "bold"), f" is no longer shared with {left}; your lines are taken back.")
        case _:
            agent = bool(agent_variable(os.environ)) and not workspace.settings.trust_agents
            memory = teams.accept_fact(workspace, item, agent=agent)
            write_line((memory.id, "bold"), f"  {memory.content}", ("  held for you" if agent else "  is yours now", "dim"))


def _fact_lines(workspace: Workspace, facts: tuple[TeamFact, ...]) -> Iterator[Line]:
    names = workspace.scope_names()
    if not workspace.settings.share:
        yield line("No project is shared.", " → kept team share PROJECT --with ROLE")
    for share in workspace.settings.share:
        team_facts = [fact for fact in facts if fact.team == share.team]
        yield line(
            (names.get(share.project, share.project), "bold"), f" with {share.team}: {format_count(len(team_facts), 'line')}"
        )
        for fact in team_facts:
            by = ", ".join(witness.owner for witness in fact.witnesses)
            mark = "" if fact.known else f" → kept team accept {fact.id}"
            yield hanging_line([(f"  {fact.id}", "yellow"), ("  ", "")], fact.content, (f"  ({by}){mark}", "dim"))
            for witness in fact.witnesses:
                if witness.quote:
                    yield hanging_line([("    ", "")], f"{witness.owner}: “{witness.quote}”", ("", ""))
