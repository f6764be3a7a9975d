"""The rows of a saved screen: bytes in, rows out, in bounded memory, whatever a terminal left in them.

For recordings (``script``, ``tmux pipe-pane``) in which a program moved the cursor up and drew over what it had drawn, a terminal
without a picture says what stands on it, scrollback included. Knows the escape sequences by which clients redraw; colours, titles
and modes change nothing here. Knows nothing of what the rows say.
"""

import codecs
import os
import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from kept.core.errors import SourceError
from kept.sources.documents import Row, Snapshot
from kept.sources.records import STRIDE, refuse_wide_text, wide_encoding

# Escape sequences: control sequences with their parameters and final byte, strings, other escapes, single control characters; or
# text.
_PIECE = re.compile(
    r"(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|(\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?)|\x1b([ -/]*[0-~]?)"
    r"|([\x00-\x08\x0b-\x1f\x7f-\x9f])|([^\x00-\x08\x0b-\x1f\x7f-\x9f]+)"
)
_HEIGHT = re.compile(r'LINES="(\d{1,4})"')
_MOVES = re.compile(rb"\x1b\[[0-9;]{0,20}[ABCEFGHJKLMSTXdf]")
# No larger screens exist; a recording that jumps further would make rows of nothing.
_LEAST_HEIGHT, _HIGHEST = 24, 200
_COLUMNS = 500
_HELD = 4_000  # rows that scrolled out are given in runs of about so many


def moves_cursor(data: bytes) -> bool:
    """Whether a program moved the cursor in these bytes, or erased anything."""
    return _MOVES.search(data) is not None


class Terminal:
    """A screen of some height and the rows above it. Lines are fed; rows come out once they can no longer change."""

    def __init__(self) -> None:
        self._rows: list[Row] = [Row("", 0, 0)]
        self._top = 0
        self._height, self._known = _LEAST_HEIGHT, False
        self._region: tuple[int, int] | None = None
        self._y = self._x = 0
        self._saved = (0, 0)
        self._given = 0
        self._place = (0, 0)

    def feed(self, text: str, start: int, end: int) -> Iterator[Row]:
        """Write a line; ``start`` and ``end`` say where in the file it stands. Gives rows that scrolled out of reach."""
        if not self._known and (search_match := _HEIGHT.search(text[:400])):
            self._height, self._known = max(2, min(int(search_match.group(1)), _HIGHEST)), True
        self._place = (start, end)
        ended = text.endswith("\n")
        for piece in _PIECE.finditer(text.rstrip("\r\n") if ended else text):
            arguments, final, _, escape, control, words = piece.groups()
            if words:
                self._print_text(words)
            elif final:
                self._apply_control(final, arguments)
            elif control:
                self._x = {"\r": 0, "\b": max(0, self._x - 1)}.get(control, self._x)
            elif escape:
                self._apply_escape(escape)
        if ended:
            self._feed_line()
        if self._top > _HELD:
            yield from self._emit_rows(self._top)

    def remaining_rows(self) -> Iterator[Row]:
        """The rows that are left when nothing more is written."""
        while len(self._rows) > 1 and not self._rows[-1].text:
            self._rows.pop()
        return self._emit_rows(len(self._rows))

    def _emit_rows(self, count: int) -> Iterator[Row]:
        """The first rows, their places put in order: a row that was drawn again stands later in the file than those below it."""
        rows, self._rows = self._rows[:count], self._rows[count:]
        self._top, self._y = self._top - count, self._y - count
        self._saved = (max(0, self._saved[0] - count), self._saved[1])
        for row in rows:
            start, self._given = self._given, max(self._given, row.end)
            yield Row(row.text.expandtabs(), start, self._given)

    def _print_text(self, words: str) -> None:
        self._fill_rows(self._y)
        text = self._rows[self._y].text
        self._put_row(text[: self._x].ljust(self._x) + words + text[self._x + len(words) :])
        self._x += len(words)

    def _put_row(self, text: str) -> None:
        row = self._rows[self._y]
        self._rows[self._y] = Row(
            text.rstrip() if text.isspace() else text, row.start if row.text else self._place[0], self._place[1]
        )

    def _fill_rows(self, number: int) -> None:
        while len(self._rows) <= number:
            self._rows.append(Row("", *self._place))
        self._top = max(self._top, len(self._rows) - self._height)

    def _feed_line(self) -> None:
        """Go down a row, and to its beginning; at the end of the scrolling region its rows move up."""
        self._x = 0
        bottom = self._top + self._region[1] if self._region else -1
        if self._y != bottom:
            self._y += 1
            self._fill_rows(self._y)
            return
        assert self._region
        if self._region[0] == 0:
            self._rows.insert(self._y + 1, Row("", *self._place))
            self._y += 1
            self._top += 1
        else:
            self._rows.insert(self._y + 1, Row("", *self._place))
            del self._rows[self._top + self._region[0]]

    def _apply_escape(self, escape: str) -> None:
        match escape:
            case "7":
                self._saved = (self._y, self._x)
            case "8":
                self._move_cursor(self._saved[0], self._saved[1])
            case "D" | "E":
                self._feed_line()
            case "M":
                first, last = self._region or (0, self._height - 1)
                if self._y > self._top + first:
                    self._y -= 1
                    return
                self._fill_rows(self._top + last)
                self._rows.insert(self._top + first, Row("", *self._place))
                del self._rows[self._top + last + 1]

    def _move_cursor(self, y: int, x: int) -> None:
        self._y = max(self._top, min(y, self._top + self._height - 1))
        self._x = max(0, min(x, max(self._x, _COLUMNS)))
        self._fill_rows(self._y)

    def _apply_control(self, final: str, arguments: str) -> None:
        if arguments[:1] in ("?", ">", "=", "<"):
            return
        numbers = [int(part[:5]) if part.isascii() and part.isdecimal() else 0 for part in arguments.split(";")]
        count = min(max(1, numbers[0]), _COLUMNS)
        match final:
            case "A" | "F":
                self._move_cursor(self._y - count, 0 if final == "F" else self._x)
            case "B" | "E":
                self._move_cursor(self._y + count, 0 if final == "E" else self._x)
            case "C":
                self._move_cursor(self._y, self._x + count)
            case "D":
                self._move_cursor(self._y, self._x - count)
            case "G" | "`":
                self._move_cursor(self._y, count - 1)
            case "d":
                self._move_cursor(self._top + self._reach_row(count) - 1, self._x)
            case "H" | "f":
                self._move_cursor(self._top + self._reach_row(count) - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1)
            case "J" | "K":
                self._erase(final, numbers[0])
            case "r":
                first, last = count, numbers[1] if len(numbers) > 1 else 0
                whole = first == 1 and (last == 0 or last >= self._height)
                self._region = None if whole or not first < self._reach_row(last) else (first - 1, last - 1)
                if self._region:
                    self._fill_rows(self._top + self._region[1])
                self._move_cursor(self._top, 0)
            case _:
                pass

    def _reach_row(self, row: int) -> int:
        """The row, the screen taken to be as high where nothing said how high it is."""
        if not self._known and row > self._height:
            self._height = min(row, _HIGHEST)
        return min(row, self._height)

    def _erase(self, what: str, how: int) -> None:
        self._fill_rows(self._y)
        text = self._rows[self._y].text
        self._put_row({0: text[: self._x], 1: " " * self._x + text[self._x :]}.get(how, ""))
        if what == "J":
            first, last = {0: (self._y + 1, len(self._rows)), 1: (self._top, self._y)}.get(how, (self._top, len(self._rows)))
            self._rows[first:last] = [Row("", row.start, row.end) for row in self._rows[first:last]]


ROW_BYTES = 2**18  # a longer line is given in several rows
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def snapshot_of(file: BinaryIO, path: Path) -> tuple[Snapshot, bool]:
    """What tells a state of the file from every other, and whether it is the recording of a program that moved the cursor.

    Raises SourceError where it is no UTF-8 text.
    """
    info = os.fstat(file.fileno())
    file.seek(0)
    refuse_wide_text(path, file.read(4))
    file.seek(0)
    digest, decoder, position = blake2b(digest_size=16), codecs.getincrementaldecoder("utf-8")(), 0
    recorded = False
    while data := file.read(STRIDE):
        digest.update(data)
        if b"\0" in data:
            raise SourceError("is not text: it holds zero bytes", where=str(path))
        try:
            decoder.decode(data)
        except UnicodeDecodeError as error:
            hint = "convert it to UTF-8; nothing of it was read"
            raise SourceError(f"is not UTF-8, near byte {position + error.start}", where=str(path), hint=hint) from error
        position += len(data)
        recorded = recorded or moves_cursor(data)
    return Snapshot(info.st_ino, position, digest.hexdigest()), recorded


def screen_rows(file: BinaryIO, *, recorded: bool) -> Iterator[Row]:
    """The rows of a file, as they stood on the screen in the end."""
    lines = _split_bytes(file)
    if not recorded:
        return (row for data, position in lines for row in _parse_rows(data, position))
    return _play_terminal(lines)


def _play_terminal(lines: Iterator[tuple[bytes, int]]) -> Iterator[Row]:
    terminal = Terminal()
    for data, position in lines:
        yield from terminal.feed(data.decode("utf-8", "replace"), position, position + len(data))
    yield from terminal.remaining_rows()


def _split_bytes(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The lines of a file, very long ones in pieces, each with its position."""
    file.seek(0)
    position = 0
    while data := file.readline(ROW_BYTES):
        if len(data) == ROW_BYTES and not data.endswith(b"\n"):
            data = data[: _complete_length(data)]
            file.seek(position + len(data))
        yield data, position
        position += len(data)


def head_rows(head: bytes) -> list[Row]:
    """The rows of a file's first bytes; none where they are no text. A text in another encoding is recognised, and refused when it
    is read.
    """
    encoding = wide_encoding(head[:4])
    if encoding:
        head = head[: len(head) // 4 * 4].decode(encoding.lower(), "replace").encode("utf-8", "replace")
    elif b"\0" in head:
        return []
    if not any(glyph in head for glyph in _GLYPHS):
        return []
    lines = ((line, number) for number, line in enumerate(head.splitlines(keepends=True)))
    return list(
        _play_terminal(lines) if moves_cursor(head) else (row for data, number in lines for row in _parse_rows(data, number))
    )


_GLYPHS = tuple(glyph.encode() for glyph in "⏺⎿❯●›▌└")


def _complete_length(data: bytes) -> int:
    """The length of the data without a character that is cut at its end."""
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if data[end - 1] >= 0xC0 else len(data)


def _parse_rows(data: bytes, position: int) -> Iterator[Row]:
    """The rows of one line of bytes: one, and more where carriage returns stand alone."""
    text = data.decode("utf-8", "replace").rstrip("\r\n")
    if position == 0:
        text = text.removeprefix("\ufeff")
    end = position + len(data)
    if not _CONTROL.search(text):
        yield Row(text.expandtabs(), position, end)
        return
    parts = _ESCAPE.sub("", text).split("\r")
    yield from (Row(part.expandtabs(), position, end) for part in parts)
