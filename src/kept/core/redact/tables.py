"""Finds passwords in tables (Markdown, CSV, program output): the cells below a heading such as "password"."""

from collections.abc import Iterator
from itertools import islice

from kept.core.redact.shape import compile_re2
from kept.core.redact.values import Setting, is_secret_value, rank_name

_HEADING = compile_re2(rb"(?im)^[^\n]{0,300}passw(?:or[dt]|d)\b[^\n]{0,300}$")
_CELLS = {b"|": compile_re2(rb"[^|]+"), b",": compile_re2(rb"[^,]+"), b"": compile_re2(rb"\S+(?: \S+)*")}
_ROW = compile_re2(rb"(?m)^[^\n]{0,1000}")  # a line, at most its first 1,000 bytes
_MOST_ROWS = 50
_TRIMMED = b" \t\"'`*"


def find_table_values(data: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of passwords below headings; a row with a different number of cells ends a table."""
    for heading in _HEADING.finditer(data):
        sign = next((sign for sign in (b"|", b",") if sign in heading.group()), b"")
        names = [cell for _, _, cell in _split_row(data, heading.start(), heading.end(), sign)]
        columns = [place for place, name in enumerate(names) if rank_name(name) == 3 and len(name.split()) <= 3]
        rows = _ROW.finditer(data, heading.end() + 1) if columns and len(names) > 1 else ()
        for row in islice(rows, _MOST_ROWS):
            cells = _split_row(data, row.start(), row.end(), sign)
            if len(cells) != len(names):
                break
            for start, end, value in (cells[column] for column in columns):
                if is_secret_value(Setting.QUOTED, 3, value):
                    yield start, end


def _split_row(data: bytes, start: int, stop: int, sign: bytes) -> list[tuple[int, int, bytes]]:
    """The cells of a line that are not empty: start, end and content of each."""
    cells: list[tuple[int, int, bytes]] = []
    for cell in _CELLS[sign].finditer(data, start, stop):
        words = cell.group().strip(_TRIMMED + b"\r")
        if words:
            low = cell.start() + cell.group().index(words)
            cells.append((low, low + len(words), words))
    return cells
