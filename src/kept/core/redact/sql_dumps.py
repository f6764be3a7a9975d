"""Finds the values of password columns in SQL dumps: in INSERT statements and in the rows of PostgreSQL's COPY.

A column is known by the statement's own list, or by the table's CREATE statement in the same text. Knows no rules or marks.
"""

from collections.abc import Iterator, Mapping

from kept.core.redact.shape import compile_re2
from kept.core.redact.values import Setting, is_secret_value, rank_name

_TABLE = rb"([\w.`\"\[\]-]{1,128})"
_CREATE = compile_re2(rb"(?i)\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?" + _TABLE + rb"\s*\(")
_COLUMN = compile_re2(rb"(?:[^,()]|\([^()]*\))+")
_NAME = compile_re2(rb"^\s*[`\"\[]?(\w{1,64})")
_KEYS = frozenset(b"primary unique key index constraint foreign check fulltext spatial exclude".split())
_INSERT = compile_re2(rb"(?i)\b(?:insert|replace)\s+(?:ignore\s+)?into\s+" + _TABLE + rb"\s*(?:\(([^()]{1,1000})\)\s*)?values\s*\(")
_COPY = compile_re2(rb"(?i)\bcopy\s+" + _TABLE + rb"\s*\(([^()]{1,1000})\)\s+from\s+stdin[^\n]*\n")
_CELL = compile_re2(rb"\s*(?:N?'((?:[^'\\]|\\.|'')*)'|\"([^\"\n]*)\"|((?:[^,()']|\([^()']*\))*))\s*([,)])")
_NEXT_ROW = compile_re2(rb"\s*,\s*\(")
_LONGEST_COLUMN = 2_000


def find_dumped_values(data: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of passwords in the rows of a dump."""
    tables: dict[bytes, list[bytes]] | None = None
    for head in _INSERT.finditer(data):
        if head.group(2) is None and tables is None:
            tables = _read_tables(data)
        names = _split_names(head.group(2)) if head.group(2) else (tables or {}).get(_bare(head.group(1)), [])
        yield from _read_inserted(data, head.end(), _secret_columns(names))
    heads = [*_COPY.finditer(data)]
    stops = [*(head.start() for head in heads[1:]), len(data)]
    for head, stop in zip(heads, stops, strict=False):
        yield from _read_copied(data, head.end(), stop, _secret_columns(_split_names(head.group(2))))


def _read_tables(data: bytes) -> dict[bytes, list[bytes]]:
    """The columns of the tables that the text creates, in order."""
    return {_bare(table.group(1)): _read_columns(data, table.end()) for table in _CREATE.finditer(data)}


def _read_columns(data: bytes, at: int) -> list[bytes]:
    """The columns of the list that begins here, in order."""
    names: list[bytes] = []
    while column := _COLUMN.match(data, at, min(len(data), at + _LONGEST_COLUMN)):
        name = _NAME.match(column.group())
        if name and name.group(1).lower() not in _KEYS:
            names.append(name.group(1))
        at = column.end() + 1
        if data[column.end() : at] != b",":
            break
    return names


def _bare(name: bytes) -> bytes:
    return name.rpartition(b".")[2].strip(b'`"[]').lower()


def _split_names(columns: bytes) -> list[bytes]:
    return [name.strip().strip(b'`"[]') for name in columns.split(b",")]


def _secret_columns(names: list[bytes]) -> Mapping[int, int]:
    """The ranks of the columns that hold secrets, by place."""
    return {place: rank for place, name in enumerate(names) if (rank := rank_name(name))}


def _read_inserted(data: bytes, at: int, columns: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """The secrets in the rows of an INSERT, of which the first begins here."""
    place = 0
    while columns and (cell := _CELL.match(data, at)):
        at = cell.end()
        group = next((number for number in (1, 2) if cell.group(number) is not None), 0)
        if group and place in columns and is_secret_value(Setting.QUOTED, columns[place], cell.group(group)):
            yield cell.span(group)
        place += 1
        if cell.group(4) == b")":
            following = _NEXT_ROW.match(data, at)
            if not following:
                return
            at, place = following.end(), 0


def _read_copied(data: bytes, at: int, stop: int, columns: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """The secrets in the tab-separated rows of a COPY, of which the first begins here, up to the next COPY."""
    while columns and at < stop and not data.startswith(b"\\.", at):
        end = data.find(b"\n", at, stop)
        end = stop if end < 0 else end
        start = at
        for place, cell in enumerate(data[at:end].split(b"\t")):
            value = cell.rstrip(b"\r")
            if place in columns and is_secret_value(Setting.QUOTED, columns[place], value):
                yield start, start + len(value)
            start += len(cell) + 1
        at = end + 1
