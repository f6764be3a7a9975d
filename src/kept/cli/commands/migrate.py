"""``kept migrate``: have what is remembered lie on a server that several machines share, or on this machine alone again."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import call_options, command_home
from kept.cli.show import line
from kept.core.errors import UsageError
from kept.pipeline.move_store import move_to_file, move_to_server


def migrate(
    context: typer.Context,
    *,
    to: Annotated[str, typer.Option("--to", metavar="URL|sqlite", help="postgresql://ROLE@HOST/DATABASE, or sqlite: back.")],
    drop: Annotated[bool, typer.Option("--drop", help="With sqlite: erase what the server holds of you.")] = False,
) -> None:
    """Move what is remembered to a PostgreSQL server, where your other machines take part in it, or back to this machine alone.

    Before the settings change, a store made of the server's rows alone is checked whole (its chain, its memories) and its export
    compared with this one's, byte for byte. All of it stays on this machine too, where it is read with or without a network.
    """
    home, quiet = command_home(context), call_options(context).quiet
    if to == "sqlite":
        url = move_to_file(home, drop=drop)
        left = "which holds nothing of it any more" if drop else "which still holds it (--drop erases it there)"
        told = [
            line(("Moved and proven: ", "green"), f"what is remembered lies in {show.format_path(home.store)} alone, no longer"),
            line(f"on {url}, {left}"),
        ]
    elif drop:
        raise UsageError(
            "--drop erases what a server holds, after everything was taken from it", hint="kept migrate --to sqlite --drop"
        )
    else:
        move_to_server(home, to)
        told = [
            line(("Moved and proven: ", "green"), f"what is remembered lies on {to} and, to be read, here"),
            line(("On another machine: kept config set store.url URL, then kept run", "dim")),
        ]
    if not quiet:
        show.write_lines(told)
