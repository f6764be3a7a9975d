"""JSON Lines under every kind of damage."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.adapters.sources.records import (
    DEPTH_LIMIT,
    LINE_LIMIT,
    Fault,
    Line,
    Record,
    Reject,
    open_regular,
    parse_line,
    read_lines,
)
from kept.model.errors import SourceError


def parse(data: bytes, *, start=0):
    return list(parse_line(Line(number=1, start=start, end=start + len(data), data=data)))


def only(data: bytes):
    (piece,) = parse(data)
    return piece


def test_one_object_takes_the_whole_line():
    assert only(b'{"a": 1}\n') == Record(value={"a": 1}, line=1, start=0, end=9)


@pytest.mark.parametrize("data", [b"\n", b"  \t\r\n", b"\0\0\0\n", b"\xef\xbb\xbf\n"])
def test_a_line_of_nothing_is_blank(data):
    assert parse(data) == [None]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"not json at all\n", Fault.NOT_JSON),
        (b'{"type":\n', Fault.NOT_JSON),
        (b"null\n", Fault.NOT_AN_OBJECT),
        (b"[]\n", Fault.NOT_AN_OBJECT),
        (b"42\n", Fault.NOT_AN_OBJECT),
        (b'"text"\n', Fault.NOT_AN_OBJECT),
        (b'{"a": "\xff\xfe"}\n', Fault.NOT_UTF8),
        (b'{"a": {"b": 1, "b": 2}}\n', Fault.DUPLICATE_KEY),
        (b'{"a": ' + b"9" * 5000 + b"}\n", Fault.NUMBER_TOO_LONG),
        (b'{"a": ' + b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1) + b"}\n", Fault.NESTED_TOO_DEEP),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n", Fault.NESTED_TOO_DEEP),
        (b'{"a": [' + b"[]," * 1_100_000 + b"[]]}\n", Fault.TOO_MANY_VALUES),
    ],
)
def test_what_is_no_record_is_set_aside_by_its_fault(data, fault):
    piece = only(data)
    assert isinstance(piece, Reject)
    assert (piece.fault, piece.line, piece.start, piece.end) == (fault, 1, 0, len(data))


def test_numbers_that_are_not_finite_leave_their_field_without_a_value():
    assert only(b'{"a": NaN, "b": -Infinity, "c": 1e999, "d": 1.5}\n').value == {"a": None, "b": None, "c": None, "d": 1.5}


def test_a_lone_surrogate_becomes_a_replacement_character_and_a_pair_stays_one():
    value = only(rb'{"a\ud83d": ["cut \ud83d", "\ud83d\ude00", {"b": "\uDE00"}], "n": 1}' + b"\n").value
    assert value == {"a\ufffd": ["cut \ufffd", "😀", {"b": "\ufffd"}], "n": 1}
    json.dumps(value, ensure_ascii=False).encode()


def test_several_objects_on_one_line_are_several_records_with_their_own_bytes():
    data = '{"a": "é"}  {"b": "😀"}{"c": 3}\n'.encode()
    pieces = parse(data, start=100)
    assert [piece.value for piece in pieces] == [{"a": "é"}, {"b": "😀"}, {"c": 3}]
    assert pieces[0].start == 100
    assert pieces[-1].end == 100 + len(data)
    for piece in pieces:
        assert json.loads(data[piece.start - 100 : piece.end - 100]) == piece.value


def test_a_fault_after_a_good_object_costs_only_the_rest_of_the_line():
    first, second = parse(b'{"a": 1}{"b": \n')
    assert first.value == {"a": 1}
    assert (second.fault, second.start, second.end) == (Fault.NOT_JSON, 8, 15)


def test_a_value_that_is_no_object_does_not_hide_the_object_after_it():
    first, second = parse(b'null {"a": 1}\n')
    assert first.fault is Fault.NOT_AN_OBJECT
    assert second.value == {"a": 1}


def test_a_million_objects_on_one_line_take_linear_time():
    pieces = parse(b"{}" * 500_000)
    assert len(pieces) == 500_000


@given(st.binary(max_size=400))
def test_no_bytes_make_the_parser_fail(data):
    for piece in parse(data):
        assert piece is None or 0 <= piece.start < piece.end <= len(data)


@given(st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=8), st.booleans())
def test_lines_cover_the_file_without_gap_and_only_the_last_may_be_unfinished(tmp_path_factory, lines, ended):
    path = tmp_path_factory.mktemp("lines") / "f"
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    path.write_bytes(data)
    with open_regular(path) as file:
        found = list(read_lines(file, offset=0, number=0))
    assert b"".join(line.data or b"" for line in found) == data
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(line.ended for line in found[:-1])
    assert not found or found[-1].ended == data.endswith(b"\n")


def test_a_line_over_the_limit_is_skipped_in_bounded_memory_and_its_neighbours_are_kept(tmp_path):
    path = tmp_path / "f.jsonl"
    hole = 12 * LINE_LIMIT
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n')
        file.seek(hole)
        file.write(b'\n{"b": 2}\n')
    tracemalloc.start()
    with open_regular(path) as file:
        pieces = [piece for line in read_lines(file, offset=0, number=0) for piece in parse_line(line)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first, long, last = pieces
    assert (first.value, last.value, last.line) == ({"a": 1}, {"b": 2}, 3)
    assert (long.fault, long.line, long.start, long.end) == (Fault.LINE_TOO_LONG, 2, 9, hole + 1)
    assert peak < 4 * LINE_LIMIT


def test_a_folder_is_not_opened_as_a_file(tmp_path):
    with pytest.raises(SourceError, match="regular file"):
        open_regular(tmp_path)
