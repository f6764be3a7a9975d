"""``kept sleep``: retire what has faded, list what lingers, update the files."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import asked, at_desk
from kept.cli.show import counted, entry, line
from kept.pipeline.sleep import sleep as do_sleep


def sleep(
    context: typer.Context,
    *,
    accept_loss: Annotated[bool, typer.Option("--accept-loss", help="Let through what a guard stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> int:
    """Retire what its project stopped naming, name what lingers, bring the files up to date. Nothing to do writes nothing."""
    with at_desk(context) as workspace:
        done = do_sleep(workspace, allow=accept_loss)
        if as_json:
            show.write_json(
                {
                    "retired": [each.id for each in done.retired],
                    "stopped": done.stopped,
                    "lingering": done.lingering,
                    "outputs": [{"path": path, "bytes": size} for path, size in done.written.files],
                    "problems": done.written.problems,
                }
            )
        else:
            lines = [entry([(each.id, "yellow"), ("  ", "")], each.content, ("  (faded)", "dim")) for each in done.retired]
            lines += [line((f"stopped by the guard: {each} → kept sleep --accept-loss", "red")) for each in done.stopped]
            if done.lingering:
                lines.append(
                    line(
                        (f"{counted(done.lingering, 'memory lingers', 'memories linger')}", "yellow"),
                        (" → kept review --stale", "dim"),
                    )
                )
            if not lines and not asked(context).quiet:
                lines.append(line("Nothing to do."))
            show.write(lines)
            show.write(line((each, "red")) for each in done.written.problems)
        return int(done.partly)
