"""Writing to the terminal: styled, wrapped lines where a person looks, plain whole lines where a program reads, JSON when asked.

Words out of transcripts are only ever words here: no markup is read in them and no control character gets through.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from kept.core.markup import remove_invisible
from kept.core.value import dataclass
from kept.local.agents_shell import agent_variable

if TYPE_CHECKING:
    from rich.console import Console

Span = tuple[str, str]  # words and their style: "", "dim", "bold", "cyan", "green", "yellow", "red"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line. Where a terminal is too narrow, ``body`` wraps under itself, to the right of ``head``."""

    head: tuple[Span, ...] = ()
    body: tuple[Span, ...] = ()


def to_safe_line(text: str) -> str:
    """The text on one line, without any character that moves a cursor, hides or reorders what is shown."""
    if text.isascii() and text.isprintable():
        return text
    return remove_invisible("".join(" " if char.isspace() else char for char in text))


def line(*spans: Span | str) -> Line:
    """A line of spans; a bare text is unstyled."""
    return Line(body=tuple((span, "") if isinstance(span, str) else span for span in spans))


def hanging_line(head: Iterable[Span], *body: Span | str) -> Line:
    """A line whose body hangs to the right of its head."""
    return Line(head=tuple(head), body=line(*body).body)


def write_lines(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Write lines: styled and wrapped on a terminal, else plain, one line each and whole."""
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
    """Write lines by way of the pager (``$PAGER``) on a terminal, which shows what fits on one screen at once."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb" or agent_variable(os.environ):
        write_lines(lines)
        return
    import shlex  # noqa: PLC0415 - only a terminal needs them
    import subprocess  # noqa: PLC0415 - as above

    os.environ.setdefault("LESS", "FRX")  # colours through, no pager for a short list, and the list stays on the screen
    try:
        pager = subprocess.Popen(shlex.split(os.environ.get("PAGER") or "less"), stdin=subprocess.PIPE, encoding="utf-8")  # noqa: S603 - the person's own
    except (OSError, ValueError):
        write_lines(lines)
        return
    with suppress(BrokenPipeError), pager, cast(TextIO, pager.stdin) as pipe:  # who has seen enough leaves
        _print_styled(lines, _create_console(pipe, terminal=True))


def _create_console(target: TextIO, *, terminal: bool | None = None) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - costs start-up time, and only a terminal needs it

    return Console(file=target, highlight=False, markup=False, emoji=False, force_terminal=terminal)


def _print_styled(lines: Iterable[Line], console: "Console") -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    for shown_line in lines:
        head = Text.assemble(*((to_safe_line(words), style) for words, style in shown_line.head))
        body = Text.assemble(*((to_safe_line(words), style) for words, style in shown_line.body))
        room = max(20, console.width - head.cell_len)
        for number, part in enumerate(body.wrap(console, room) or [Text()]):
            part.rstrip()
            console.print(head if number == 0 else " " * head.cell_len, part, sep="", soft_wrap=True)


# Harmless inside a JSON string to a program, but not to the terminal that shows it: C1 controls, bidi marks, line separators,
# and halves of characters, which no encoding can write.
_HIDDEN = ((0x7F, 0xA0), (0x200B, 0x2010), (0x2028, 0x202F), (0x2066, 0x206A), (0xD800, 0xE000))
_UNSEEN = {code: f"\\u{code:04x}" for start, stop in _HIDDEN for code in range(start, stop)}


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """A JSON document as text that a terminal shows unharmed and any program reads."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not utf8, indent=indent, allow_nan=False).translate(_UNSEEN)


def write_json(value: Any) -> None:
    """Write the one JSON document of a command."""
    write_text(f"{json_text(value)}\n")


def write_answer(body: Callable[[], Any], lines: Iterable[Line], *, as_json: bool) -> None:
    """Write what a command found: as JSON where that was asked for, else as lines; only what is written is made."""
    write_json(body()) if as_json else write_lines(lines)


def more_lines(found: int, shown: int, rest: str, *, indent: int = 2) -> Iterator[Line]:
    """That there is more than is shown, and what ``rest`` shows it; nothing where there is not."""
    if found > shown:
        yield line((f"{' ' * indent}… and {found - shown:,} more → {rest}", "dim"))


def write_text(text: str) -> None:
    """Write a text that is fit for a terminal already."""
    sys.stdout.write(text)
    sys.stdout.flush()


def format_id(number: str) -> str:
    """As much of an id as a list shows; a beginning of it is enough for every command."""
    return number[:10]


def format_count(number: int, singular: str, plural: str = "") -> str:
    """``1 memory``, ``2,000 memories``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_size(bytes_: int) -> str:
    """``412 B``, ``4.1 KB``, ``2.0 GB``."""
    amount = float(bytes_)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def format_weekday(which: date) -> str:
    """``Friday 2026-02-13``."""
    return f"{which:%A} {which.isoformat()}"


def format_path(path: str | Path) -> str:
    """A path as people write it, with ``~`` for the user's home, on a terminal; in full where a program reads."""
    text, user = str(path), os.environ.get("HOME", "")
    inside = len(user) > 1 and text.startswith(f"{user.rstrip('/')}/")
    return f"~{text[len(user.rstrip('/')) :]}" if inside and sys.stdout.isatty() else text
