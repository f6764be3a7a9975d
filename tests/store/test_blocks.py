"""The bytes of blocks."""

import zlib
from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import ToolUse
from kept.store.columns import compress, decompress
from kept.store.packing import pack, unpack
from store_world import event

DIGEST = "b42d8ccedd81ca6e95b955cf9c72ffa6"
IDS = st.uuids().flatmap(lambda made: st.sampled_from([f'"{made}"', f'"{made.hex}"', f'"{made}', f'\\"{made}"', str(made).upper()]))
PARTS = st.lists(st.lists(IDS | st.text(max_size=5), max_size=8).map(lambda pieces: "".join(pieces).encode("utf-8", "ignore")))


@given(PARTS.filter(bool))
def test_the_parts_of_a_block_come_back_whatever_they_hold(parts):
    assert list(decompress(compress(parts))) == parts


@given(PARTS.filter(bool))
def test_a_part_that_is_skipped_leaves_the_ids_of_the_others_in_place(parts):
    assert list(decompress(compress(parts), skip=1)) == [b"", *parts[1:]]


def test_an_id_of_32_hexadecimal_digits_takes_sixteen_bytes():
    parts = [f'["{UUID(DIGEST)}","{DIGEST}"]'.encode()]
    assert compress(parts).count(bytes.fromhex(DIGEST)) == 2


def test_a_block_without_short_ids_as_older_programs_wrote_it_is_read():
    assert list(decompress(zlib.compress(b"one") + zlib.compress(b"two"))) == [b"one", b"two"]


def test_a_block_that_is_cut_off_anywhere_is_damaged():
    whole = compress([f'["{DIGEST}"]'.encode(), b"words"])
    for length in range(1, len(whole)):
        try:
            assert len(list(decompress(whole[:length]))) == 1, "the first part alone"
        except zlib.error:
            continue


@pytest.mark.parametrize("body", [b"ids", b"ids\n", b"ids\n\x00\x00\x00\x00"])
def test_bytes_that_only_begin_like_a_block_are_no_block(body):
    with pytest.raises(zlib.error):
        list(decompress(body))


def test_calls_and_outputs_come_back_with_their_targets_whether_these_are_the_same_or_not():
    tools = [ToolUse(name="Bash", call=call, target=target) for call, target in product(("", "c1", "c2"), ("", "ls", "pwd"))]
    events = tuple(replace(event(str(number)), tool=tool) for number, tool in enumerate([None, *tools, *tools, None, *tools[::-1]]))
    assert unpack(pack(events)[0]) == events


def test_a_long_turn_becomes_a_short_one_that_still_groups_the_same_events_and_no_others():
    turns = ["", "m1", "msg_01BXac3p7HNkdgqWkeZAHsLg", "msg_01G2dVcWxXZASKdYdiTQjG9T", "m1", "msg_01BXac3p7HNkdgqWkeZAHsLg", ""]
    events = unpack(pack([replace(event(str(number)), turn=turn) for number, turn in enumerate(turns)])[0])
    assert [turns.index(turn) for turn in turns] == [[each.turn for each in events].index(each.turn) for each in events]
    assert {len(each.turn) for each in events} == {0, 2, 8}
    assert unpack(pack(events)[0]) == events
