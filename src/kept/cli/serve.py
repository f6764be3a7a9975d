"""``kept mcp`` and ``kept web``: start these servers. They are imported by name, because ``cli``, ``mcp`` and ``web`` are
independent.

A file in the state folder contains the page's port. The page's key is never in a file, because any agent of the same user could
read the file and approve memories with the key.
"""

import importlib
import os
import secrets
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread

from kept.cli.command_support import command_home
from kept.cli.console import line, write_line, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.errors import BusyError, KeptError
from kept.local import files
from kept.paths import Paths, sample_env, sample_home
from kept.pipeline.run import sample_files
from kept.recall.embed_server.server import run_embed_server
from kept.workspace import Workspace, open_workspace


def mcp(call: GlobalOptions, *, http: bool = False, host: str = "127.0.0.1", port: int = 8321) -> None:
    """Serve memory as tools and resources to any agent that speaks MCP; while it runs, hooks also find facts by meaning."""
    home = command_home(call)
    serve = importlib.import_module("kept.mcp").serve
    key = load_mcp_key(home) if http else ""
    if http:
        header = f"Authorization: Bearer {key}"
        write_line(f'claude mcp add --transport http kept http://{host}:{port}/mcp --header "{header}"', stream=sys.stderr)
    with run_embed_server(home, os.environ):
        serve(partial(open_workspace, home, profile=call.profile, zone=call.zone), key=key, host=host, port=port)


def web(call: GlobalOptions, *, port: int = 0, no_open: bool = False) -> None:
    """See, edit, approve and undo memories in the browser of this machine; Ctrl-C ends it.

    The address ends with a key that is new at every start. Without the key, no other user or web page has access.
    """
    home = command_home(call)
    page = importlib.import_module("kept.web")
    running_port = find_running_page(home)
    if running_port is not None:  # one server is enough, because a signed-in browser can open its page again
        _show_page(f"http://127.0.0.1:{running_port}/overview", "The page is served already.", no_open=no_open)
        write_line("To sign in a browser, open the address shown in the terminal where it was started.")
        return
    listener = page.open_socket(port)
    open_home = partial(open_workspace, home, profile=call.profile, zone=call.zone, new_store=call.new_store)
    with listener:
        with open_home():
            pass  # reports an error in the store or the settings before the server starts
        actual_port = listener.getsockname()[1]
        with announce_page(home, actual_port) as key, run_embed_server(home, os.environ):
            page.serve(
                open_home,
                home,
                key=key,
                own=listener,
                ready=partial(
                    _show_page,
                    f"http://127.0.0.1:{actual_port}/overview#{key}",
                    "The page is served to this machine only; Ctrl-C ends it.",
                    no_open=no_open,
                ),
                open_sample=_sample_opener(home, call),
            )


def _sample_opener(home: Paths, call: GlobalOptions) -> Callable[[], AbstractContextManager[Workspace]] | None:
    """A function that opens the workspace of the bundled sample; None if the sample is not installed."""
    sample = sample_home(home)
    env = sample_env(sample, os.environ)
    return partial(open_workspace, sample, profile=call.profile, zone=call.zone, env=env) if sample_files() else None


def _show_page(address: str, what: str, *, no_open: bool) -> None:
    write_lines([line(what), line((address, "bold"))])
    if not no_open and (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        Thread(target=webbrowser.open, args=[address], daemon=True).start()  # opening the browser may block until the page answers


_KEY_BYTES = 32


def find_running_page(home: Paths) -> int | None:
    """The port at which another process serves the page for this home. None if no process does, or if the port cannot be read."""
    if not _lock_path(home).exists():
        return None
    with suppress(BusyError), files.hold_lock(_lock_path(home)):
        return None
    with suppress(KeptError, ValueError):
        return int(files.read_file(_port_path(home), at_most=1_000).data.decode("ascii"))
    return None


@contextmanager
def announce_page(home: Paths, port: int) -> Iterator[str]:
    """Hold the page's lock and write the port to ``web.port`` during the block. Yields a new key.

    Raises BusyError if another process already serves the page.
    """
    with files.hold_lock(_lock_path(home)):
        _write_private(home, _port_path(home), f"{port}\n")
        try:
            yield secrets.token_urlsafe(_KEY_BYTES)
        finally:
            with suppress(KeptError):
                files.delete_if_unchanged(_port_path(home), expect=files.read_file(_port_path(home)).stamp, root=home.state)


def load_mcp_key(home: Paths) -> str:
    """Return the key that clients of ``kept mcp --http`` need. It is created once, in ``mcp.key`` (mode 0600). Raises KeptError."""
    path = home.state / "mcp.key"
    key = files.read_file(path, at_most=1_000).data.decode("ascii", "replace").strip()
    if not key:
        key = secrets.token_urlsafe(_KEY_BYTES)
        _write_private(home, path, f"{key}\n")
    return key


def _write_private(home: Paths, path: Path, text: str) -> None:
    """Replace a file by a new one, which does not inherit the mode or links of the old one."""
    files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=home.state)
    files.write_if_unchanged(path, text.encode(), expect=files.MISSING, root=home.state)


def _lock_path(home: Paths) -> Path:
    return home.state / "web.lock"


def _port_path(home: Paths) -> Path:
    return home.state / "web.port"
