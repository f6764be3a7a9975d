"""Encodes the events of a block as compressed columns, and decodes them. Knows nothing of SQL."""

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

from kept.core.codec import to_canonical_json
from kept.core.digest import digest
from kept.core.event import FORGOTTEN_MARK, Author, Event, EventKind, Pointer, Precision, ToolUse, leave_twin_open, make_twin
from kept.core.times import from_milliseconds, parse_optional_instant, to_milliseconds
from kept.core.value import make_builder
from kept.store.columns import compress, decompress, follow_up, join_keys, refer_up

# Tables of enum members by value, because calling the enum class takes longer than decoding the rest of a row.
_KINDS = {each.value: each for each in EventKind}
_AUTHORS = {each.value: each for each in Author}
_TURN = 8  # longest turn that is stored as it is, which is the length of a hash
_PRECISIONS = {each.value: each for each in Precision}


class Places(NamedTuple):
    """The fields that identify a block's events and place them in their conversation, as lists of equal length."""

    keys: list[str]
    records: list[str]
    parents: list[str]
    turns: list[str]
    kinds: list[EventKind]
    authors: list[Author]


def pack(events: Sequence[Event]) -> tuple[bytes, str]:
    """Encode events as a block. Returns its bytes and their hash.

    The columns of :class:`Places` come first and are compressed separately. Values that follow from other columns or earlier rows
    are left out. A long turn becomes a hash, because turns are only compared with each other.
    """
    records = [event.record for event in events]
    keys = [[e.key.removeprefix(e.record)] if e.record and e.key.startswith(e.record) else e.key for e in events]
    turns, kinds, authors = (refer_up([getattr(event, name) for event in events]) for name in ("turn", "kind", "author"))
    turns = [digest("turn", turn, size=4) if type(turn) is str and len(turn) > _TURN else turn for turn in turns]
    parents = refer_up([event.parent for event in events], records)
    parts = [keys, refer_up(records), parents, turns, kinds, authors], _pack_words(events)
    body = compress(to_canonical_json(columns).encode() for columns in parts)
    return body, block_hash(body)


def unpack_text(body: bytes) -> str:
    """The decompressed columns of a block as one text, which contains every word of its events.

    Raises zlib.error for damaged bytes.
    """
    return b"\n".join(decompress(body)).decode("utf-8", "replace")


def unpack_places(body: bytes) -> Places:
    """The places of a block's events. Raises ValueError or zlib.error for damaged bytes."""
    try:
        keys, records, parents, turns, kinds, authors = json.loads(next(decompress(body)))
        records = follow_up(records)
        return Places(
            join_keys(keys, records),
            records,
            follow_up(parents, records),
            follow_up(turns),
            [_KINDS[kind] for kind in follow_up(kinds)],
            [_AUTHORS[author] for author in follow_up(authors)],
        )
    except (LookupError, TypeError, StopIteration) as error:  # columns are missing, or a kind or author is unknown
        raise ValueError(str(error)) from error


def unpack(body: bytes, places: Places | None = None) -> tuple[Event, ...]:
    """The events of a block. ``places`` are its places, if known. Raises ValueError or zlib.error for damaged bytes."""
    places = places or unpack_places(body)
    try:
        _, words = decompress(body, skip=1)
        return tuple(_unpack_words(places, json.loads(words)))
    except (LookupError, TypeError) as error:
        raise ValueError(str(error)) from error


def _pack_words(events: Sequence[Event]) -> list[list[Any]]:
    """The columns of a block that are not in :class:`Places`."""
    no_tool, rows = ToolUse(name=""), []
    at, line, end = 0, 0, 0
    targets: dict[str, tuple[int, str]] = {}  # the last row with a call's id, and its target, which the call's output shares
    for row, event in enumerate(events):
        tool, pointer = event.tool or no_tool, event.pointer
        now = to_milliseconds(event.at) if event.at else None
        above, same = targets.get(tool.call, (0, None))
        targets[tool.call] = row, tool.target
        rows.append(
            (
                None if event.twin == make_twin(event) else event.twin,
                event.likeness,
                event.text,
                None if now is None else now - at,
                *(None if tool.target == event.text else row - above if tool.target == same else tool.target, tool.detail),
                *(tool.ok, tool.exit_code),
                *(pointer.line - line, pointer.start - end, pointer.end - pointer.start),
                *(event.session, event.label_reason, event.precision, event.project, event.branch),
                *(event.tool and tool.name, tool.call, pointer.path),
            )
        )
        at, line, end = at if now is None else now, pointer.line, pointer.end
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns[:11] + [refer_up(column) for column in columns[11:]]


def _unpack_words(places: Places, columns: list[list[Any]]) -> Iterator[Event]:
    build_event, build_tool, build_pointer = make_builder(Event), make_builder(ToolUse), make_builder(Pointer)
    at, line, end = 0, 0, 0
    targets: list[str] = []
    places_and_words = zip(*places, *columns[:11], *map(follow_up, columns[11:]), strict=True)
    for (
        key,
        record,
        parent,
        turn,
        kind,
        author,
        twin,
        likeness,
        text,
        later,
        target,
        detail,
        ok,
        code,
        lines,
        gap,
        length,
        *rest,
    ) in places_and_words:
        session, reason, precise, project, branch, name, call, path = rest
        at, line, end = at + (later or 0), line + lines, end + gap + length
        when = None if later is None else from_milliseconds(at)
        aim = text if target is None else targets[-target] if type(target) is int else target
        targets.append(aim)
        tool = None if name is None else build_tool(name, call, aim, detail, ok, code)
        told = kind, author, reason, text, when, _PRECISIONS[precise], project, branch
        pointer = build_pointer(path, line, end - length, end)
        event = build_event(key, twin or "", session, record, parent, turn, *told, tool, pointer, likeness, ())
        yield leave_twin_open(event) if twin is None else event


_ROW = (
    *("key", "twin", "session", "record", "parent", "turn", "kind"),
    *("author", "label_reason", "text", "at", "precision", "project"),
)


def repack(body: bytes, known: str) -> bytes | None:
    """Convert a block of store format 4 to the format of :func:`pack`. Returns None for damaged bytes.

    ``known`` is a JSON list with the twin and likeness of each event, which format 4 stored in the event's row.
    """
    with suppress(ValueError, LookupError, TypeError, zlib.error):
        return pack(list(_unpack_rows(json.loads(zlib.decompress(body)), json.loads(known))))[0]
    return None


def shorten_ids(body: bytes) -> bytes:
    """Convert a block of store format 7 to the format of :func:`pack`. Damaged bytes stay as they are."""
    with suppress(zlib.error):
        return compress(decompress(body))
    return body


def _unpack_rows(rows: Sequence[Any], known: Sequence[Any]) -> Iterator[Event]:
    for row, (twin, mark) in zip(rows, known, strict=True):
        *_, branch, tool, pointer = row
        told = dict(zip(_ROW, row, strict=False))
        made = Event(
            **told
            | {"kind": _KINDS[told["kind"]], "author": _AUTHORS[told["author"]], "precision": _PRECISIONS[told["precision"]]}
            | {"at": parse_optional_instant(told["at"]), "twin": twin or told["twin"], "branch": branch},
            tool=ToolUse(**dict(zip(_TOOL, tool, strict=True))) if tool else None,
            pointer=Pointer(**dict(zip(_POINTER, pointer, strict=True))),
        )
        yield replace(made, likeness=mark) if mark and FORGOTTEN_MARK in made.text else made


_TOOL = ("name", "call", "target", "detail", "ok", "exit_code")
_POINTER = ("path", "line", "start", "end")


def block_hash(body: bytes) -> str:
    """The hash that is stored with a block."""
    return blake2b(body, digest_size=16).hexdigest()
