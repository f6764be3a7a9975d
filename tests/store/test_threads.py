"""Which branches of a conversation were given up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.store.threads import Tree, find_abandoned, pack_runs, unpack_runs


@given(st.lists(st.tuples(st.integers(505, 520), st.integers(0, 1))), st.integers(0, 3))
def test_runs_hold_the_events_of_a_thread_in_order_and_none_goes_past_a_multiple_of_512(members, ordinal):
    runs = pack_runs(1, ordinal, members)
    assert list(unpack_runs(runs)) == members
    assert [run["ordinal"] for run in runs] == [ordinal + sum(each["events"] for each in runs[:n]) for n in range(len(runs))]
    assert all(run["event"] // 512 == (run["event"] + run["events"] - 1) // 512 for run in runs)


def test_consecutive_events_of_a_thread_are_one_row():
    assert len(pack_runs(1, 0, [(event, 0) for event in range(1, 500)])) == 1


def tree(*rows):
    """A tree in file order out of (record, parent, kind, turn); kind: h human, a assistant, t tool output."""
    made = Tree()
    for record, parent, kind, *turn in rows:
        made.append(record, parent, "".join(turn), human=kind == "h", output=kind == "t")
    return made


def given_up(*rows):
    """The records given up of such rows."""
    return {row[0] for row, gone in zip(rows, find_abandoned(tree(*rows)), strict=True) if gone}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param((("p1", "", "h"), ("a1", "p1", "a", "m1"), ("p2", "a1", "h")), "", id="a straight thread"),
        pytest.param(
            (
                ("p1", "", "h"),
                ("a1", "p1", "a", "m1"),
                ("p2", "a1", "h"),
                ("a2", "p2", "a", "m2"),
                ("p3", "a1", "h"),
            ),
            "p2 a2",
            id="an edited prompt gives up the older one with its answer",
        ),
        pytest.param(
            (
                ("p1", "", "h"),
                ("t1", "p1", "t"),
                ("a1", "t1", "a", "m1"),
                ("p2", "t1", "h"),
                ("a2", "p2", "a", "m2"),
            ),
            "a1",
            id="a rewind behind an answer gives the answer up",
        ),
        pytest.param(
            (
                ("a1", "", "a", "m1"),
                ("a2", "a1", "a", "m1"),
                ("t1", "a1", "t"),
                ("t2", "a2", "t"),
                ("p1", "a1", "h"),
            ),
            "",
            id="parallel calls and their outputs are no fork",
        ),
        pytest.param(
            (
                ("p1", "", "h"),
                ("p2", "p1", "h"),
                ("p3", "p1", "h"),
                ("a2", "p2", "a", "m1"),
            ),
            "",
            id="a branch that went on later is not given up",
        ),
        pytest.param((("p1", "gone", "h"), ("p2", "gone", "h")), "p1", id="a parent that was cut off is still a fork"),
        pytest.param((("p1", "", "h"), ("p2", "", "h")), "", id="two roots are no fork"),
        pytest.param((("x", "y", "h"), ("y", "x", "h"), ("self", "self", "h")), "", id="cycles end"),
        pytest.param(
            (
                ("p1", "", "h"),
                ("a1", "p1", "a", "m"),
                ("p2", "a1", "h"),
                ("p3", "a1", "h"),
                ("p4", "a1", "h"),
            ),
            "p2 p3",
            id="only the newest of several attempts stays",
        ),
    ],
)
def test_a_branch_is_abandoned_where_the_user_went_back_behind_it(rows, expected):
    assert given_up(*rows) == set(expected.split())


def test_all_events_of_a_record_share_its_fate():
    rows = (("p1", "", "h"), ("a1", "p1", "a", "m1"), ("a1", "p1", "a", "m1"), ("p2", "p1", "h"))
    assert list(find_abandoned(tree(*rows))) == [0, 1, 1, 0]


def test_an_event_without_a_record_is_never_abandoned():
    assert list(find_abandoned(tree(("p1", "", "h"), ("", "p1", "h"), ("a1", "p1", "a", "m1"), ("p2", "p1", "h")))) == [0, 0, 1, 0]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", *"abcdefg"]), st.sampled_from("hat")), max_size=12))
def test_any_links_end_and_the_last_event_is_never_abandoned(rows):
    marked = find_abandoned(tree(*rows))
    assert len(marked) == len(rows)
    assert not rows or not marked[-1]


def test_a_long_thread_with_many_forks_takes_linear_time():
    rows = [("r0", "", "h")]
    for i in range(1, 30_000):
        rows += [(f"x{i}", f"r{i - 1}", "h"), (f"r{i}", f"r{i - 1}", "h")]
    assert sum(find_abandoned(tree(*rows))) == 29_999
