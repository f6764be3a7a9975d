"""JSON Lines under every kind of damage."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.errors import SourceError
from kept.sources.records import (
    DEPTH_LIMIT,
    LINE_LIMIT,
    ReadStop,
    Record,
    RecordFault,
    Reject,
    SourceLine,
    open_regular,
    parse_line,
    read_records,
)


def parse(data: bytes, *, start=0):
    return list(parse_line(SourceLine(number=1, start=start, end=start + len(data), data=data)))


def only(data: bytes):
    (piece,) = parse(data)
    return piece


def test_an_object_ends_with_its_last_brace():
    assert only(b' {"a": 1} \r\n') == Record(value={"a": 1}, line=1, start=0, end=9)


@pytest.mark.parametrize("data", [b"\n", b"  \t\r\n", b"\0\0\0\n", b"\xef\xbb\xbf\n"])
def test_a_line_of_nothing_is_blank(data):
    assert parse(data) == [None]


@each_case(
    ("data", "fault"),
    [
        (b"not json at all\n", RecordFault.NOT_JSON),
        (b'{"type":\n', RecordFault.NOT_JSON),
        (b"null", RecordFault.NOT_AN_OBJECT),
        (b"[]", RecordFault.NOT_AN_OBJECT),
        (b"42", RecordFault.NOT_AN_OBJECT),
        (b'"text"', RecordFault.NOT_AN_OBJECT),
        (b"1." + b"0" * 1_100_000, RecordFault.NOT_AN_OBJECT),
        (b'{"a": "' + b"x" * 1_100_000 + b'", "b": ' + b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT + b"}", RecordFault.NESTED_TOO_DEEP),
        (b'{"a": "\xff\xfe"}\n', RecordFault.NOT_UTF8),
        (b'{"a": {"b": 1, "b": 2}}\n', RecordFault.DUPLICATE_KEY),
        (b'{"a": ' + b"9" * 5000 + b"}\n", RecordFault.NUMBER_TOO_LONG),
        (b'{"a": ' + b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1) + b"}", RecordFault.NESTED_TOO_DEEP),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n", RecordFault.NESTED_TOO_DEEP),
        (b'{"a": [' + b"[]," * 1_100_000 + b"[]]}\n", RecordFault.TOO_MANY_VALUES),
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
    assert pieces[-1].end == 100 + len(data) - 1
    for piece in pieces:
        assert json.loads(data[piece.start - 100 : piece.end - 100]) == piece.value


def test_a_fault_after_a_good_object_costs_only_the_rest_of_the_line():
    first, second = parse(b'{"a": 1}{"b": \n')
    assert first.value == {"a": 1}
    assert (second.fault, second.start, second.end) == (RecordFault.NOT_JSON, 8, 15)


def test_a_value_that_is_no_object_does_not_hide_the_object_after_it():
    first, second = parse(b'null {"a": 1}\n')
    assert first.fault is RecordFault.NOT_AN_OBJECT
    assert second.value == {"a": 1}


def test_many_objects_on_one_line_are_all_found():
    pieces = parse(b"{}" * 20_000)
    assert len(pieces) == 20_000


@given(st.binary(max_size=400))
def test_no_bytes_make_the_parser_fail(data):
    for piece in parse(data):
        assert piece is None or 0 <= piece.start < piece.end <= len(data)


START = ReadStop(end=0, lines=0)


def read(path, stop=START):
    """Everything after a stop, and the last stop."""
    pieces = []
    with open_regular(path) as file:
        for piece in read_records(file, offset=stop.end, lines=stop.lines):
            if isinstance(piece, ReadStop):
                stop = piece
                pieces += ["blank"] * piece.blank
            else:
                pieces.append(piece)
    return pieces, stop


def grown(path, data, ends):
    """What is read of a file that is looked at each time it has grown to the next of ``ends``."""
    pieces, stop = [], START
    for end in [*ends, len(data)]:
        path.write_bytes(data[:end])
        more, stop = read(path, stop)
        pieces += more
    return pieces, stop


OBJECTS = (b"{}", b'{"a":[1,2]}', '{"é":"😀\\ud83d"}'.encode(), b'{"a":{"a":{}}}', b'{"k":1,"k":2}', b'{"a":NaN}')
LONG = (b'{"b":"' + b"x" * 60 + b'"}', b'{"a":[' + b"1," * 30 + b"1]}")
OTHERS = (b"null", b"[]", b"4", b"1.5", b'"s"', b"rubbish", b"{", b'{"a":', b"\xff", "é".encode(), b"[[]]", b",", b"}")
BLANKS = (b"\n", b"\r\n", b" ", b"\t", b"\0", b"\xef\xbb\xbf")
FRAGMENTS = st.sampled_from((*OBJECTS, *OBJECTS, *LONG, *OTHERS, *BLANKS, *[b"\n"] * 6))
FILES = st.lists(FRAGMENTS, max_size=14).map(b"".join)
CUTS = st.lists(st.floats(0, 1), max_size=6)


@pytest.fixture
def narrow(monkeypatch):
    """Limits that small files reach."""
    monkeypatch.setattr("kept.sources.records.LINE_LIMIT", 40)
    monkeypatch.setattr("kept.sources.records.VALUES_LIMIT", 6)
    monkeypatch.setattr("kept.sources.records.STRIDE", 7)


@given(FILES, CUTS)
def test_a_file_read_as_it_grows_gives_what_it_gives_at_once(tmp_path, data, cuts):
    path = tmp_path / "f"
    ends = sorted(int(share * len(data)) for share in cuts)
    path.write_bytes(data)
    assert grown(path, data, ends) == read(path)


@given(FILES, CUTS)
def test_a_file_with_lines_over_the_limits_gives_the_same_however_it_grows(tmp_path, narrow, data, cuts):
    path = tmp_path / "f"
    ends = sorted(int(share * len(data)) for share in cuts)
    path.write_bytes(data)
    assert grown(path, data, ends) == read(path)


@given(FILES)
def test_a_file_read_byte_by_byte_gives_what_it_gives_at_once(tmp_path, narrow, data):
    path = tmp_path / "f"
    path.write_bytes(data)
    assert grown(path, data, range(len(data))) == read(path)


@given(FILES)
def test_pieces_follow_each_other_and_hold_every_byte_but_blanks(tmp_path, data):
    path = tmp_path / "f"
    path.write_bytes(data)
    pieces, stop = read(path)
    covered = bytearray(data)
    for piece in pieces:
        if piece != "blank":
            assert piece.line == data.count(b"\n", 0, piece.start) + 1
            covered[piece.start : piece.end] = b" " * (piece.end - piece.start)
    assert not bytes(covered[: len(data) - stop.pending]).strip(b" \t\r\n\0\xef\xbb\xbf")
    assert stop.lines == data.count(b"\n", 0, stop.end)


@pytest.mark.parametrize("tail", [b"", b" ", b"\0\0", b"\r"])
def test_an_object_that_stands_whole_at_the_end_is_read_without_its_newline(tmp_path, tail):
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}\n{"b": 2}' + tail)
    pieces, stop = read(path)
    assert [piece.value for piece in pieces] == [{"a": 1}, {"b": 2}]
    assert stop == ReadStop(end=17, lines=1)


@pytest.mark.parametrize("cut", [b"{", b'{"b": 2', b"nul", b"null", b"12", b'"text"', b"rubbish", b'{"b": 1, "b": 2}', b"\xc3"])
def test_anything_else_at_the_end_waits_for_its_newline(tmp_path, cut):
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}\n' + cut)
    pieces, stop = read(path)
    assert [piece.value for piece in pieces] == [{"a": 1}]
    assert stop == ReadStop(end=9, lines=1, pending=len(cut))


def test_the_newline_after_an_object_already_read_is_no_blank_line_and_more_may_stand_before_it(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}')
    _, stop = read(path)
    path.write_bytes(b'{"a": 1} {"b": 2}\n\n{"c": 3}')
    pieces, stop = read(path, stop)
    assert [piece if piece == "blank" else (piece.value, piece.line) for piece in pieces] == [({"b": 2}, 1), "blank", ({"c": 3}, 3)]
    path.write_bytes(b'{"a": 1} {"b": 2}\n\n{"c": 3}\n')
    assert read(path, stop) == ([], ReadStop(end=28, lines=3))


def test_a_line_over_the_limit_is_skipped_in_bounded_memory_and_its_neighbours_are_kept(tmp_path):
    path = tmp_path / "f.jsonl"
    hole = 12 * LINE_LIMIT
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n')
        file.seek(hole)
        file.write(b'\n{"b": 2}\n')
    tracemalloc.start()
    pieces, _ = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first, long, last = pieces
    assert (first.value, last.value, last.line) == ({"a": 1}, {"b": 2}, 3)
    assert (long.fault, long.line, long.start, long.end) == (RecordFault.LINE_TOO_LONG, 2, 9, hole + 1)
    assert peak < 4 * LINE_LIMIT


def test_many_objects_in_a_line_over_the_limits_are_all_read(tmp_path, narrow):
    path = tmp_path / "f"
    path.write_bytes(b'{"a":1}' * 50 + b"\n")
    pieces, stop = read(path)
    assert [piece.start for piece in pieces] == list(range(0, 350, 7))
    assert (stop.end, stop.lines) == (351, 1)


def test_a_folder_is_not_opened_as_a_file(tmp_path):
    with pytest.raises(SourceError, match="regular file"):
        open_regular(tmp_path)
