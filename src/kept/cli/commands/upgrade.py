"""``kept upgrade``: extract again with today's rules, after a preview."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import call_options, command_workspace, is_interactive
from kept.cli.show import format_count, hanging_line, line
from kept.core.codec import json_fields
from kept.core.memory import Memory, Status
from kept.pipeline.upgrade import UpgradeReport, preview_upgrade
from kept.pipeline.upgrade import run_upgrade as make_anew


def upgrade(
    context: typer.Context,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is changed as one JSON object.")] = False,
) -> int:
    """Retire what only rules of earlier versions would make, and restore people's own words. Shows a preview first; undone as
    one run.
    """
    with command_workspace(context) as workspace:
        upgrade_report = preview_upgrade(workspace)
        if not as_json:
            show.write_lines(_format_upgrade(upgrade_report, everything=not call_options(context).quiet))
        if (upgrade_report.retired or upgrade_report.made) and not yes:
            if as_json:
                show.write_json(_upgrade_body(upgrade_report))
                return 0
            if not is_interactive() or not typer.confirm("Do this now?", default=False):
                show.write_line(("Nothing was changed.", ""), (" → kept upgrade --yes", "dim"))
                return 0
        done = make_anew(workspace) if upgrade_report.retired or upgrade_report.made else upgrade_report
        if as_json:
            show.write_json(_upgrade_body(done))
        elif done.run:
            show.write_line((f"Done in run {done.run}.", ""), (" → kept undo takes it back", "dim"))
        show.write_lines(line((problem, "red")) for problem in done.problems)
        return int(bool(done.problems))


def _format_upgrade(found: UpgradeReport, *, everything: bool) -> list[show.Line]:
    if not (found.retired or found.made):
        return [line("Nothing to upgrade: no memory comes from rules of an earlier version.")]
    lines = [
        line(
            (f"{format_count(len(found.retired), 'memory retires', 'memories retire')}", "yellow"),
            (
                f" ({found.active} active, {len(found.retired) - found.active} waiting): nothing that a person said supports them",
                "",
            ),
        )
    ]
    lines += [_upgrade_line("-", memory) for memory in found.retired if everything]
    lines.append(
        line((f"{format_count(len(found.made), 'memory is', 'memories are')} recreated in the words that were said", "green"))
    )
    lines += [_upgrade_line("+", memory) for memory in found.made if everything]
    return lines


def _upgrade_line(mark: str, memory: Memory) -> show.Line:
    waits = ("  (waits)", "dim") if memory.status is Status.HELD else ("", "")
    return hanging_line([(f"{mark} {memory.id}", "yellow"), ("  ", "")], memory.content, waits)


def _upgrade_body(found: UpgradeReport) -> dict[str, object]:
    def memory_bodies(memories: tuple[Memory, ...]) -> list[dict[str, str]]:
        return [json_fields(memory, "id", "content", "category", "status") for memory in memories]

    return json_fields(found, "run", "problems") | {"retired": memory_bodies(found.retired), "made": memory_bodies(found.made)}
