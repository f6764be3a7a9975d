"""``kept mcp`` and ``kept web``: start these servers. They are imported by name: ``cli``, ``mcp`` and ``web`` are independent."""

import importlib
import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from threading import Thread
from typing import Annotated

import typer

from kept.cli import show
from kept.cli.call import GlobalOptions
from kept.cli.front import call_options
from kept.cli.show import line
from kept.install.serving import announce_page, find_running_page, load_mcp_key
from kept.paths import Paths, find_paths, sample_home
from kept.pipeline.sample_run import sample_files
from kept.recall.embed_server.server import run_embed_server
from kept.workspace import Workspace, open_workspace


def mcp(
    context: typer.Context,
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP on this machine, behind a key, instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="With --http: a loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65_535, help="With --http: the port; the path is /mcp.")] = 8321,
) -> None:
    """Serve memory as tools and resources to any agent that speaks MCP; while it runs, hooks also find facts by meaning."""
    call = call_options(context)
    home = find_paths(call.home, os.environ)
    serve = importlib.import_module("kept.mcp").serve
    key = load_mcp_key(home) if http else ""
    if http:
        header = f"Authorization: Bearer {key}"
        show.write_line(f'claude mcp add --transport http kept http://{host}:{port}/mcp --header "{header}"', stream=sys.stderr)
    with run_embed_server(home, os.environ):
        serve(partial(open_workspace, home, profile=call.profile, zone=call.zone), key=key, host=host, port=port)


def web(
    context: typer.Context,
    *,
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="The port; 0 picks any free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Tell the address, and open no browser.")] = False,
) -> None:
    """See, edit, approve and undo what is remembered, in the browser of this machine; Ctrl-C ends it.

    The address ends with a key after #, new with every start: without it, no other user and no web page gets in.
    """
    call = call_options(context)
    home = find_paths(call.home, os.environ)
    door = importlib.import_module("kept.web")
    before = find_running_page(home)
    if before is not None:  # one server is enough: a signed-in browser can open it again
        _show_page(f"http://127.0.0.1:{before}/overview", "The page is served already.", no_open=no_open)
        show.write_line("A browser that is not signed in needs the address from the terminal where it was started.")
        return
    own = door.open_socket(port)
    open_desk = partial(open_workspace, home, profile=call.profile, zone=call.zone, new_store=call.new_store)
    with own:
        with open_desk():
            pass  # report an error in the store or the settings before serving
        where = own.getsockname()[1]
        with announce_page(home, where) as key, run_embed_server(home, os.environ):
            door.serve(
                open_desk,
                home,
                key=key,
                own=own,
                ready=partial(
                    _show_page,
                    f"http://127.0.0.1:{where}/overview#{key}",
                    "The page is served here, to this machine alone; Ctrl-C ends it.",
                    no_open=no_open,
                ),
                open_sample=_sample_opener(home, call),
            )


def _sample_opener(home: Paths, call: GlobalOptions) -> Callable[[], AbstractContextManager[Workspace]] | None:
    """A function that opens a workspace of the bundled sample; None if the sample is not installed."""
    there = sample_home(home)
    env = {"HOME": str(there.root)}
    return partial(open_workspace, there, profile=call.profile, zone=call.zone, env=env) if sample_files() else None


def _show_page(address: str, what: str, *, no_open: bool) -> None:
    show.write_lines([line(what), line((address, "bold"))])
    if not no_open and (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        Thread(target=webbrowser.open, args=[address], daemon=True).start()  # it may wait for the browser, which waits for the page
