"""What every command begins with: its workspace, opened as the global options say; and how it asks a person something."""

import os
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from kept.cli.call import GlobalOptions
from kept.cli.show import to_safe_line
from kept.core.errors import BusyError, UsageError
from kept.local import files
from kept.local.agents_shell import agent_variable
from kept.local.progress import Progress, ignore_progress
from kept.paths import Paths, find_paths
from kept.workspace import Workspace, open_workspace


def call_options(context: typer.Context) -> GlobalOptions:
    """The global options of this call."""
    return context.find_object(GlobalOptions) or GlobalOptions()


_END_OF_INPUT = "\x04"  # Ctrl-D


@contextmanager
def command_workspace(context: typer.Context, also: Sequence[str] = (), *, dry: bool = False) -> Iterator[Workspace]:
    """The workspace of the global options, with profiles ``also`` in use; ``dry`` makes no store. Raises KeptError."""
    call = call_options(context)
    with open_workspace(
        command_home(context), profile=call.profile, zone=call.zone, anew=call.anew, dry=dry, also=also
    ) as workspace:
        if not dry:
            delete_leftovers(workspace)
        yield workspace


def command_home(context: typer.Context) -> Paths:
    """The home the global options ask for. Raises ConfigError."""
    return find_paths(call_options(context).home, os.environ)


def is_interactive() -> bool:
    """Whether a person sits at both ends: an agent may give its commands a terminal as well."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not agent_variable(os.environ)


def read_key(choices: str) -> str:
    """One keystroke out of ``choices`` (others are ignored); the last of them where nobody is there to answer."""
    while True:
        pressed = read_keystroke().lower()
        if pressed in ("", _END_OF_INPUT):
            return choices[-1]
        if pressed in choices:
            return pressed


def read_keystroke() -> str:
    """The next keystroke, without waiting for Enter and without an echo; empty where the terminal is gone.

    What was typed before the question counts: nothing is flushed. Ctrl-C interrupts as everywhere.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        return os.read(terminal, 1).decode("ascii", "replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def edit_line(text: str) -> str:
    """A line of text as a person leaves it, changed in place where the terminal can. The old one where nothing is entered."""
    try:
        import readline  # noqa: PLC0415 - absent on some platforms, and only wanted here

        readline.set_startup_hook(lambda: readline.insert_text(to_safe_line(text)))
    except ImportError:
        readline = None  # type: ignore[assignment]
    try:
        return input("  › ").strip() or text
    except EOFError:
        return text
    finally:
        if readline is not None:
            readline.set_startup_hook()


def check_choice(value: str, allowed: tuple[str, ...], option: str) -> str:
    """The value, if it is allowed. Raises UsageError that names what is."""
    if value not in allowed:
        raise UsageError(f"{option} cannot be {value!r}", hint=f"one of: {', '.join(allowed)}")
    return value


@contextmanager
def progress_if_shown(*, shown: bool) -> Iterator[Progress]:
    """A progress bar for each stage as it begins, on the error stream, where it is to be shown; gone at the end."""
    if not shown:
        yield ignore_progress
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield tell


def delete_leftovers(workspace: Workspace) -> None:
    """Delete what a command that was killed left unfinished beside kept's own files and beside those it writes for people."""
    folders = {
        workspace.paths.state,
        workspace.paths.settings.parent,
        *(Path(output).parent for output in workspace.store.outputs()),
    }
    for folder in folders:
        files.delete_temp_files(folder)
    unfinished = [
        path
        for path in (workspace.paths.backups / "fresh.db", workspace.paths.store.with_name("kept.db.restoring"))
        if path.exists()
    ]
    if unfinished:
        with suppress(BusyError), files.hold_lock(workspace.paths.lock):
            for item in unfinished:
                item.unlink(missing_ok=True)
