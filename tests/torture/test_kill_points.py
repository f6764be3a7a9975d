"""A command killed at any of its writing system calls leaves the old state or the new one, and the next run goes on from there."""

import pytest
from commands import CASE, World
from faults import Point, copy, injected, kept, leftovers, ran, state, store_of, written

PARTS = 6
SHORT = {"first run": (0.1, 0.5, 0.95), "add": (0.6, 0.9), "forget": (0.5, 0.9), "undo": (0.7,)}  # at which parts of the way


def kill_at(made: World, point: Point) -> None:
    """Kill the command as it makes a writing call, and see that nothing is lost, torn or left lying about."""
    case, home = made.case, copy(made.before, made.home)
    killed = kept(home, *made.arguments, prefix=injected("signal=KILL", point))
    assert killed.code in (-9, 0), killed
    assert "Traceback" not in killed.err
    assert written(home) in (made.old_file, made.new_file)
    if case.output:
        there = home / case.output
        assert (there.read_bytes() if there.exists() else None) in made.output
    left = state(home) if store_of(home).exists() else []
    if "run" not in case.name:  # a run commits file by file; every other command is one transaction
        assert left in (made.old, made.new)
        if killed.out:
            assert left == made.new, "it told of a success that is not there"
    if left != made.new:
        assert kept(home, *made.arguments).code == 0
    assert state(home) == made.new
    ran(home)
    assert written(home) == made.new_file
    if case.name == "forget":
        gone = {content for _, content, _, _ in made.old} - {content for _, content, _, _ in made.new}
        assert not [each for each in gone if each.encode() in store_of(home).read_bytes()], "forgotten words are still in the file"
    assert not leftovers(home)


@pytest.mark.parametrize("name", SHORT)
def test_a_command_killed_here_and_there_is_all_or_nothing(worlds, name):
    made = worlds(name)
    for place in SHORT[name]:
        kill_at(made, made.points[int(place * len(made.points))])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", CASE)
def test_a_command_killed_at_each_writing_call_is_all_or_nothing(worlds, name, part):
    made = worlds(name)
    for point in made.points[part::PARTS]:
        kill_at(made, point)
