"""``kept schedule``: install, run, show and remove the nightly job."""

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import asked, at_desk, home_of, one_of
from kept.cli.show import Line, entry, line
from kept.core.codec import dump
from kept.core.errors import KeptError
from kept.install.schedule import install, installed_entries, uninstall
from kept.install.schedulers import Installed
from kept.pipeline.nightly import Night, last_night, nightly, not_begun
from kept.workspace import now

_ACTIONS = ("status", "install", "uninstall", "run")


def schedule(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="install|status|uninstall|run", help="What to do.")] = "status",
    *,
    at: Annotated[str, typer.Option(metavar="HH:MM", help="When, every night (02:30).")] = "",
    kind: Annotated[
        str, typer.Option("--with", metavar="SCHEDULER", help="systemd, launchd, cron or windows; the best there is.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Install, show or remove the nightly job, which runs kept, consolidates, checks and backs up.

    It runs at low priority without a terminal, each step with its own result; a night that was missed is made up for by the next
    run, and reading, extracting and asking stop after `night_minutes` (240). ``--tz`` names the zone of the time where the
    scheduler knows zones (systemd).
    """
    home, call = home_of(context), asked(context)
    match one_of(action, _ACTIONS, "schedule"):
        case "install":
            done = install(home, os.environ, at=at, zone=call.zone or "", kind=kind)
            show.write_json(dump(done)) if as_json else show.write(_installed_lines(done))
            return 0 if done.enabled or home.root != home.user else 1
        case "uninstall":
            told = uninstall(home, os.environ)
            show.write_json(list(told)) if as_json else show.write(_gone_lines(told))
        case "run":
            try:
                with at_desk(context) as workspace:
                    night = nightly(workspace)
            except (KeptError, OSError) as error:
                not_begun(home, now(), error)
                raise
            if as_json:
                show.write_json(dump(night))
            elif not call.quiet or night.failed:
                show.write(_night_lines(night))
            return int(bool(night.failed))
        case "status":
            found, night_before = installed_entries(home, os.environ), last_night(home)
            if as_json:
                show.write_json(
                    {"installed": [dump(each) for each in found], "last_night": dump(night_before) if night_before else None}
                )
            else:
                show.write(_standing_lines(found, night_before))
    return 0


def _installed_lines(done: Installed) -> Iterator[Line]:
    for each in done.places:
        yield line("Wrote ", show.format_path(each))
    if done.enabled:
        yield line((f"{done.kind} runs kept every night", "green"), (" → kept schedule status", "dim"))
    else:
        yield line((f"{done.kind} does not run it yet: {done.detail or 'it said nothing'}", "yellow"))


def _gone_lines(told: tuple[str, ...]) -> Iterator[Line]:
    for each in told:
        yield line("Removed ", show.format_path(each))
    if not told:
        yield line("Nothing was installed.")


def _night_lines(night: Night) -> Iterator[Line]:
    if night.busy:
        yield line("Another run is under way; it does the work.")
    for each in night.steps:
        yield entry(
            [(f"{each.name:<10}", "cyan"), ("done    " if each.done else "FAILED  ", "green" if each.done else "red")], each.detail
        )


def _standing_lines(found: tuple[Installed, ...], night: Night | None) -> Iterator[Line]:
    if not found:
        yield line("Nothing runs by itself", (" → kept schedule install", "dim"))
    for each in found:
        runs = ("runs every night", "green") if each.enabled else ("is written, but the system does not run it", "yellow")
        yield line(f"{each.kind} ", runs, (f"  {', '.join(each.places)}  {each.detail}".rstrip(), "dim"))
    if night is not None:
        yield line(f"Last night ({night.at:%Y-%m-%d %H:%M} UTC):")
        yield from _night_lines(night)
