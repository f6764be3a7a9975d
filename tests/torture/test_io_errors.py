"""A command whose N-th call to the system fails does its work all the same or says in one line that it did not; nothing is torn."""

import errno
from datetime import UTC, datetime
from random import Random

import pytest
from commands import World
from faults import (
    SAMPLE,
    Doing,
    Point,
    Tree,
    copy,
    desk_at,
    injected,
    injected_from,
    kept,
    leftovers,
    memory_file,
    ran,
    remembered,
    state,
    store_of,
    tree,
    written,
)

from kept.core.errors import KeptError
from kept.pipeline.safety import check_home

ERRORS = ("EIO", "ENOSPC", "EDQUOT")
FIFTIETH = 50
FLUSHES = ("fsync", "fdatasync")


def honest(made: World, by: Doing, known: dict[Tree, list], **fault: object) -> int:
    """Let the command run into a fault (what ``by`` takes for one), and see that what it says agrees with what is there. Returns
    its exit code.

    What is in a home and how the command goes on from there is looked into once for each state of its files: ``known`` are those
    that were, and what was remembered in each (mostly they are as before the command, because SQLite took back what it had
    written).
    """
    case, home = made.case, copy(made.before, made.home)
    done = by(home, *made.arguments, **fault)
    assert done.code in (0, 1, 2), done
    assert "Traceback" not in done.err, done.err
    assert "unexpected" not in done.err, done.err
    if case.output:
        there = home / case.output
        assert (there.read_bytes() if there.exists() else None) in made.output
        assert done.code or there.exists()
    assert written(home) in made.files
    files = tree(home)
    left = known[files] if files in known else state(home) if store_of(home).exists() else []
    if done.code == 0:
        assert left == made.new, "it told of a success that is not there"
        assert written(home) == made.new_file, "it told of a success that is not there"
    elif "run" not in case.name:
        assert left in (made.old, made.new)
    if files in known:
        return done.code
    known[files] = left
    if left != made.new or case.output:
        assert by(home, *made.arguments).code == 0
    assert by(home, "run", SAMPLE).code == 0
    assert state(home) == made.new
    assert written(home) == made.new_file
    assert not leftovers(home)
    return done.code


@pytest.mark.parametrize(("error", "at"), [("EIO", 0.2), ("ENOSPC", 0.5), ("EDQUOT", 0.8)])
def test_a_failing_call_here_and_there_is_told_and_tears_nothing(worlds, error, at):
    made = worlds("add")
    honest(made, kept, {}, prefix=injected(f"error={error}", made.points[int(len(made.points) * at)]))


def test_what_a_failed_write_could_not_delete_is_gone_after_the_next_run_though_the_file_is_right(tmp_path):
    ran(tmp_path)
    with desk_at(tmp_path) as workspace:
        (now,) = workspace.store.output_states(str(memory_file(tmp_path)))
        workspace.store.save_pending_output(str(memory_file(tmp_path)), now)
    memory_file(tmp_path).with_name(".kept-0123456789abcdef.tmp").write_bytes(b"")
    ran(tmp_path)
    assert not leftovers(tmp_path)


def by_chance(name: str) -> Random:
    """What draws the faults of a command: the same on one day, so that a failure can be repeated, and others on the next."""
    return Random(f"{name} {datetime.now(UTC).date()}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "forget", "undo", "export", "next run"])
def test_any_call_that_fails_once_is_told_and_tears_nothing(worlds, failing, proven, name):
    """An eighth of them, in the process itself with one of the errors, every fiftieth by strace as well."""
    made, known, chance = worlds(name), {}, by_chance(name)
    assert failing.calls(copy(made.before, made.home), *made.arguments) == [each.call for each in made.points]
    drawn = sorted(chance.sample(range(len(made.points)), -(-len(made.points) // 8)))
    for number, place in enumerate(drawn):
        error = chance.choice(ERRORS)
        honest(made, failing, known, fault=(place + 1, getattr(errno, error), False))
        if number % FIFTIETH == 0:
            honest(made, failing, known, prefix=injected(f"error={error}", made.points[place]))
    proven("calls that failed once", len(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "export"])
def test_a_disk_that_fails_from_some_call_on_is_told_and_tears_nothing(worlds, failing, proven, name):
    made, known, chance = worlds(name), {}, by_chance(name)
    every_third = range(chance.randrange(3), len(made.points), 3)
    for number, place in enumerate(every_third):
        error = chance.choice(ERRORS)
        honest(made, failing, known, fault=(place + 1, getattr(errno, error), True))
        if number % FIFTIETH == 0:
            honest(made, failing, known, prefix=injected_from(f"error={error}", made.points, place))
    proven("disks that failed from a call on", len(every_third))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "export"])
def test_a_failed_read_of_the_store_is_told_and_tears_nothing(worlds, proven, name):
    made, known, number, codes = worlds(name), {}, 0, [1]
    while any(codes[-3:]):  # three clean ends in a row are past the last read
        number += 1
        fault = injected("error=EIO", Point(call="pread64", number=number), store_of(made.home))
        codes.append(honest(made, kept, known, prefix=fault))
    assert number > 5
    proven("reads that failed", number)


def test_a_flush_that_fails_once_is_a_write_that_failed(worlds):
    made = worlds("export")
    for point in [each for each in made.points if each.call in FLUSHES][::6]:
        honest(made, kept, {}, prefix=injected("error=EIO", point))


@pytest.mark.slow
def test_each_flush_that_fails_once_is_a_write_that_failed(worlds):
    made = worlds("add")
    for point in made.points:
        if point.call in FLUSHES:
            honest(made, kept, {}, prefix=injected("error=EIO", point))


def test_a_write_that_does_nothing_and_calls_itself_done_is_caught_by_reading_back(worlds):
    """The first ``write`` of an export is that of its new file; what was told to be written is not there."""
    made = worlds("export")
    assert honest(made, kept, {}, prefix=injected("retval=100", Point(call="write", number=1))) in (0, 2)


def lied_to(made: World, number: int) -> bool:
    """Let the disk drop a whole page of the store that it calls written: told, named by ``check``, or without consequence.

    Returns whether the command made that many such calls.
    """
    home = copy(made.before, made.home)
    done = kept(home, *made.arguments, prefix=injected("retval=4096", Point(call="pwrite64", number=number), store_of(home)))
    assert "Traceback" not in done.err, done.err
    try:
        with desk_at(home) as workspace:
            named, there = check_home(workspace).damage, remembered(workspace)
    except KeptError as error:
        named, there = (str(error),), []
    assert done.code or named or there == made.new, "it told of a success that is not there, and nothing names the damage"
    return bool(done.code or named)


@pytest.mark.parametrize("number", [2, 6])
def test_a_page_that_the_disk_did_not_write_is_told_or_named(worlds, number):
    lied_to(worlds("add"), number)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "retire", "forget", "next run"])
def test_a_twelfth_of_the_pages_that_the_disk_did_not_write_is_told_or_named(worlds, proven, name):
    made = worlds(name)
    pages = sum(each.call == "pwrite64" for each in made.points)
    lost = by_chance(name).sample(range(1, pages + 1), -(-pages // 12))
    assert sum(lied_to(made, number) for number in lost)
    proven("pages not written", len(lost))
