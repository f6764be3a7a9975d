"""Write output: styled, wrapped lines on a terminal, plain whole lines for a program, JSON on request.

Text from transcripts is treated as plain text: markup in it is not interpreted, and control characters are removed.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from kept.core import text as core_text
from kept.core.markup import remove_invisible
from kept.core.value import dataclass
from kept.local.agents_shell import agent_variable

if TYPE_CHECKING:
    from rich.console import Console

Span = tuple[str, str]  # a text and its style: "", "dim", "bold", "cyan", "green", "yellow", "red"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line. If the terminal is too narrow, ``body`` wraps and stays indented to the right of ``head``."""

    head: tuple[Span, ...] = ()
    body: tuple[Span, ...] = ()


def to_safe_line(text: str) -> str:
    """The text on one line, without characters that move the cursor or that hide or reorder text."""
    if text.isascii() and text.isprintable():
        return text
    return remove_invisible("".join(" " if char.isspace() else char for char in text))


def line(*spans: Span | str) -> Line:
    """Build a line from spans. A plain string is unstyled, but one that begins with an arrow names a command and is dim."""
    return Line(body=tuple((span, "dim" if span.startswith(" → ") else "") if isinstance(span, str) else span for span in spans))


def hanging_line(head: Iterable[Span], *body: Span | str) -> Line:
    """Build a line with a head. A body that wraps stays to the right of it."""
    return Line(head=tuple(head), body=line(*body).body)


def write_lines(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Write lines: styled and wrapped on a terminal, else plain and unwrapped."""
    target = stream or sys.stdout
    if target.isatty():
        _print_styled(lines, _create_console(target))
    else:
        target.writelines(
            f"{''.join(to_safe_line(words) for words, _ in (*shown_line.head, *shown_line.body)).rstrip()}\n"
            for shown_line in lines
        )
        target.flush()


def write_line(*spans: Span | str, stream: TextIO | None = None) -> None:
    """Write one line of spans."""
    write_lines([line(*spans)], stream)


def page_lines(lines: Iterable[Line]) -> None:
    """Write lines through the pager (``$PAGER``) on a terminal; ``less`` exits at once if they fit on one screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb" or agent_variable(os.environ):
        write_lines(lines)
        return
    import shlex  # noqa: PLC0415 - only a terminal needs them
    import subprocess  # noqa: PLC0415 - as above

    os.environ.setdefault("LESS", "FRX")  # keep colours, exit if the list fits on one screen, leave it on the screen
    try:
        pager = subprocess.Popen(shlex.split(os.environ.get("PAGER") or "less"), stdin=subprocess.PIPE, encoding="utf-8")  # noqa: S603 - the person's own
    except (OSError, ValueError):
        write_lines(lines)
        return
    with suppress(BrokenPipeError), pager, cast(TextIO, pager.stdin) as pipe:  # the person may leave the pager early
        _print_styled(lines, _create_console(pipe, terminal=True))


def _create_console(target: TextIO, *, terminal: bool | None = None) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - costs start-up time, and only a terminal needs it

    return Console(file=target, highlight=False, markup=False, emoji=False, force_terminal=terminal)


def _print_styled(lines: Iterable[Line], console: "Console") -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    for shown_line in lines:
        head = Text.assemble(*((to_safe_line(words), style) for words, style in shown_line.head))
        body = Text.assemble(*((to_safe_line(words), style) for words, style in shown_line.body))
        width = max(20, console.width - head.cell_len)
        for number, part in enumerate(body.wrap(console, width) or [Text()]):
            part.rstrip()
            console.print(head if number == 0 else " " * head.cell_len, part, sep="", soft_wrap=True)


# Characters that are harmless to a program in a JSON string but not to a terminal: C1 controls, bidirectional marks and line
# separators. Also surrogates, which cannot be encoded.
_HIDDEN = ((0x7F, 0xA0), (0x200B, 0x2010), (0x2028, 0x202F), (0x2066, 0x206A), (0xD800, 0xE000))
_UNSEEN = {code: f"\\u{code:04x}" for start, stop in _HIDDEN for code in range(start, stop)}


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Encode a JSON document so that it is safe for a terminal and readable for any program."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not utf8, indent=indent, allow_nan=False).translate(_UNSEEN)


def write_json(value: Any) -> None:
    """Write a JSON document as the whole output of a command."""
    write_text(f"{json_text(value)}\n")


def write_answer(body: Callable[[], Any], lines: Iterable[Line], *, as_json: bool) -> None:
    """Write a command's result as JSON or as lines. Computes only the chosen form."""
    write_json(body()) if as_json else write_lines(lines)


def diff_lines(lines: Iterable[str], indent: str = "  ") -> Iterator[Line]:
    """The lines of a unified diff in colours."""
    yield from (line((f"{indent}{text}", {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "dim"))) for text in lines)


def more_lines(count: int, shown: int, rest: str, *, indent: int = 2) -> Iterator[Line]:
    """A line that says how many results are not shown, and that ``rest`` shows them. Yields nothing if all are shown."""
    if count > shown:
        yield line((f"{' ' * indent}… and {count - shown:,} more → {rest}", "dim"))


def write_text(text: str) -> None:
    """Write a text that is already safe for a terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def format_id(memory_id: str) -> str:
    """The beginning of an id. Lists show it, and every command accepts it."""
    return memory_id[:10]


format_count = core_text.format_count


def format_size(bytes_: int) -> str:
    """A size in words: ``412 B``, ``4.1 KB``, ``2.0 GB``."""
    amount = float(bytes_)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def format_path(path: str | Path) -> str:
    """A path with ``~`` for the user's home if stdout is a terminal, else the full path."""
    text, user = str(path), os.environ.get("HOME", "")
    inside = len(user) > 1 and text.startswith(f"{user.rstrip('/')}/")
    return f"~{text[len(user.rstrip('/')) :]}" if inside and sys.stdout.isatty() else text
