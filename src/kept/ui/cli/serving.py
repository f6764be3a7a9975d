"""``kept mcp``: starts the server of tools. The other front doors are found by name: they know nothing of each other."""

import importlib
import os
from functools import partial
from typing import Annotated

import typer

from kept.app.desk import find_home, opened
from kept.app.meaning import kept_warm
from kept.ui.cli.front import asked


def mcp(
    context: typer.Context,
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP on this machine instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="With --http: a loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65_535, help="With --http: the port; the path is /mcp.")] = 8321,
) -> None:
    """Serve memory as tools and resources to any agent that speaks MCP; while it runs, hooks also find facts by meaning."""
    call = asked(context)
    home = find_home(call.home, os.environ)
    serve = importlib.import_module("kept.ui.mcp").serve
    with kept_warm(home, os.environ):
        serve(partial(opened, home, profile=call.profile, zone=call.zone), http=http, host=host, port=port)
