"""Functions that commands share: open the workspace that the global options name, ask a person, show progress."""

import os
import select
import sys
import termios
import tty
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

from kept.cli.console import Line, Span, to_safe_line, write_line, write_lines, write_text
from kept.cli.registry import GlobalOptions
from kept.core.errors import BusyError, UsageError
from kept.local import files
from kept.local.agents_shell import agent_variable
from kept.local.progress import Progress, ignore_progress
from kept.paths import Paths, find_paths
from kept.workspace import Workspace, open_workspace

_END_OF_INPUT = "\x04"  # Ctrl-D
_ESCAPE = b"\x1b"
_KEY_SECONDS = 0.05  # the other bytes of an arrow key follow Escape within this time


@contextmanager
def command_workspace(call: GlobalOptions, also: Sequence[str] = (), *, dry: bool = False) -> Iterator[Workspace]:
    """Open the workspace that the global options name. The profiles ``also`` are active too. Raises KeptError.

    Deletes unfinished files of a killed command. If ``dry``, it deletes nothing and creates no store.
    """
    with open_workspace(
        command_home(call), profile=call.profile, zone=call.zone, new_store=call.new_store, dry=dry, also=also
    ) as workspace:
        if not dry:
            delete_leftovers(workspace)
        yield workspace


def command_home(call: GlobalOptions) -> Paths:
    """The paths of the home that the global options name. Raises ConfigError."""
    return find_paths(call.home, os.environ)


def parse_days(workspace: Workspace, first: str, last: str, option: str = "--since") -> tuple[date | None, date | None]:
    """Parse the first and last day of a period, None for an empty text. ``option`` names the first day. Raises UsageError."""
    start = workspace.day(first) if first else None
    end = workspace.day(last, last=True) if last else None
    if start and end and start > end:
        raise UsageError(f"{start} is after {end}", hint=f"give the earlier day with {option}")
    return start, end


def parse_period(workspace: Workspace, since: str, until: str) -> tuple[datetime | None, datetime | None]:
    """Parse the days of --since and --until: the first instant, and the one after the last. Raises UsageError."""
    start, end = parse_days(workspace, since, until)
    return workspace.day_bounds(start)[0] if start else None, workspace.day_bounds(end)[1] if end else None


def is_interactive() -> bool:
    """True if stdin and stdout are terminals and no agent runs the command. An agent may give its commands a terminal too."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not agent_variable(os.environ)


def read_choice(choices: str, hint: Line | None = None) -> str:
    """Read keys until one is in ``choices``, and return it. Other keys show ``hint``. The end of input gives the last choice."""
    while True:
        pressed = read_key().lower()
        if pressed in ("", _END_OF_INPUT):
            return choices[-1]
        if pressed in choices:
            return pressed
        if hint is not None:
            write_lines([hint])


def confirm(*question: Span | str) -> bool:
    """Ask a yes-or-no question that one key answers. Returns False at the end of the input. Needs a terminal."""
    write_line(*question, ("  y/n", "dim"))
    return read_choice("yn") == "y"


def read_key() -> str:
    """Read one key without waiting for Enter and without echo. Returns an empty text at the end of the input.

    The input is not flushed, so a key that was typed before the question answers it. Ctrl-C raises KeyboardInterrupt.
    """
    with _single_keys() as terminal:
        return os.read(terminal, 1).decode("ascii", "replace")


@contextmanager
def _single_keys() -> Iterator[int]:
    """Switch the terminal to read each key at once and without echo. Yields the terminal's file descriptor."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def read_answer() -> str | None:
    """Read a short line that Enter ends. Returns None if the person presses Escape, or if the input ends.

    Arrow keys begin with Escape, so the line editor (:func:`edit_line`) would wait for the rest of the key. Here arrow keys do
    nothing.
    """
    with _single_keys() as terminal:  # starts before the prompt is shown, so that the line editor gets no keys typed after it
        write_text("  › ")
        typed = _read_line_of_keys(terminal)
        write_text("\n")
    return typed


def _read_line_of_keys(terminal: int) -> str | None:
    typed, decoder = "", getincrementaldecoder("utf-8")("ignore")
    while (key := os.read(terminal, 1)) not in (b"\r", b"\n"):
        if key in (b"", _END_OF_INPUT.encode()) or (key == _ESCAPE and _is_escape_alone(terminal)):
            return None
        if key in (b"\x7f", b"\b") and typed:
            typed = typed[:-1]
            write_text("\b \b")
        elif key >= b" " and key != b"\x7f":
            letter = decoder.decode(key)
            typed += letter
            write_text(letter)
    return typed.strip()


def _is_escape_alone(terminal: int) -> bool:
    """True if nothing or Enter follows Escape. Otherwise reads the rest of the key that begins with Escape."""
    if not select.select([terminal], [], [], _KEY_SECONDS)[0]:
        return True
    key = os.read(terminal, 1)
    if key in (b"[", b"O"):  # arrow keys and similar keys end with a byte from @ to ~
        while (key := os.read(terminal, 1)) and not b"@" <= key <= b"~":
            pass
    return key in (b"", b"\r", b"\n")


def edit_line(text: str) -> str:
    """Let the person edit a line of text, in place if the terminal can. Returns the old text if they enter nothing."""
    try:
        import readline  # noqa: PLC0415 - missing on some platforms, and needed only here

        # Arrow keys begin with Escape, so the line editor waits for the rest of the key. Escape Enter would switch it to vi mode.
        readline.parse_and_bind(r'"\e\C-m": "\C-a\C-k\C-m"')
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
    """Return a value of ``option`` if it is allowed. Otherwise raise UsageError with the allowed values."""
    if value not in allowed:
        raise UsageError(f"{option} cannot be {value!r}", hint=f"one of: {', '.join(allowed)}")
    return value


@contextmanager
def progress_if_shown(*, shown: bool) -> Iterator[Progress]:
    """Yield a progress function, which shows a bar for each stage on stderr. It does nothing unless ``shown``."""
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
    """Delete the unfinished files that a killed command left beside kept's own files and its output files."""
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
