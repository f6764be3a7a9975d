"""A command whose N-th call to the system fails does its work all the same or says in one line that it did not; nothing is torn."""

import pytest
from commands import World
from faults import copy, injected, kept, leftovers, ran, state, store_of, written

ERRORS = ("EIO", "ENOSPC", "EDQUOT")
PARTS = 3
FLUSHES = "fsync,fdatasync"


def honest(made: World, *fault: object) -> int:
    """Let the command run into a fault, and see that what it says agrees with what is there. Returns its exit code."""
    case, home = made.case, copy(made.before, made.home)
    done = kept(home, *made.arguments, prefix=injected(*fault))
    assert done.code in (0, 1, 2), done
    assert "Traceback" not in done.err, done.err
    assert "unexpected" not in done.err, done.err
    if done.code:
        assert len(done.err.strip().splitlines()) >= 1, done
    if case.output:
        there = home / case.output
        assert (there.read_bytes() if there.exists() else None) in made.output
        assert done.code or there.exists()
    assert written(home) in (made.old_file, made.new_file)
    left = state(home) if store_of(home).exists() else []
    if done.code == 0:
        assert left == made.new, "it told of a success that is not there"
        assert written(home) == made.new_file, "it told of a success that is not there"
    elif "run" not in case.name:
        assert left in (made.old, made.new)
    if left != made.new:
        assert kept(home, *made.arguments).code == 0
    ran(home)
    assert state(home) == made.new
    assert written(home) == made.new_file
    assert not leftovers(home)
    return done.code


@pytest.mark.parametrize(("error", "at"), [("EIO", 0.2), ("ENOSPC", 0.5), ("EDQUOT", 0.8)])
def test_a_failing_call_here_and_there_is_told_and_tears_nothing(worlds, error, at):
    made = worlds("add")
    honest(made, f"error={error}", int(made.calls * at))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["add", "forget", "undo", "export", "next run"])
def test_each_call_that_fails_once_is_told_and_tears_nothing(worlds, name, error, part):
    made = worlds(name)
    for number in range(1 + part, made.calls + 2, PARTS):
        honest(made, f"error={error}", number)


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["add", "export"])
def test_a_disk_that_fails_from_some_call_on_is_told_and_tears_nothing(worlds, name, error):
    made = worlds(name)
    for number in range(1, made.calls + 2):
        honest(made, f"error={error}", f"{number}+")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "export"])
def test_a_failed_read_of_the_store_is_told_and_tears_nothing(worlds, name):
    made, number, codes = worlds(name), 0, [1]
    while any(codes[-3:]):  # the last reads may be answered by another try; three clean ends in a row are past the last
        number += 1
        codes.append(honest(made, "error=EIO", number, "pread64", store_of(made.home)))
    assert number > 5


@pytest.mark.parametrize("number", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_a_flush_that_fails_once_is_a_write_that_failed(worlds, number):
    made = worlds("add")
    for each in [number] if number else range(1, 30):
        honest(made, "error=EIO", each, FLUSHES)


def test_a_write_that_does_nothing_and_calls_itself_done_is_caught_by_reading_back(worlds):
    """The one ``write`` of an export is that of its new file; what was told to be written is not there."""
    made = worlds("export")
    code = honest(made, "retval=100", 1, "write")
    assert code in (0, 2)
