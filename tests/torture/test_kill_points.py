"""A command killed at any of its writing system calls leaves the old state or the new one, and the next run goes on from there.

What a kill leaves behind is what the files are at that call. So a command is run once and stands still after each of its writing
calls: what its home is then is what a kill at the next one leaves. Every sixth of these homes is looked into, others on the next
day. Every fortieth kill is one in earnest, and must leave the same.
"""

import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from commands import CASE, World
from faults import (
    OPENS,
    SAMPLE,
    WRITES,
    Tree,
    cold,
    copy,
    desk_at,
    fill,
    injected,
    kept,
    leftovers,
    need,
    points_of,
    state,
    store_of,
    tree,
    written,
)

SHORT = {"add": (0.8,), "forget": (0.7,)}  # at which parts of the way
SIXTH, FORTIETH = 6, 40


def survived(made: World, said: str, known: set[tuple[Tree, bool]]) -> None:
    """See that in the home that a kill left behind nothing is lost, torn or left lying about, and that the next command goes on.

    What the store is like once SQLite has taken back what was not committed is looked into once: ``known`` are such homes.
    """
    case, home = made.case, made.home
    assert written(home) in made.files
    if case.output:
        there = home / case.output
        assert (there.read_bytes() if there.exists() else None) in made.output
    if store_of(home).exists():
        with desk_at(home):
            pass
    if (now := (tree(home), bool(said))) in known:
        return
    known.add(now)
    left = state(home) if store_of(home).exists() else []
    if "run" not in case.name:  # a run commits file by file; every other command is one transaction
        assert left in (made.old, made.new)
        if said:
            assert left == made.new, "it told of a success that is not there"
    if left != made.new or case.output:
        assert kept(home, *made.arguments).code == 0
    assert state(home) == made.new
    assert kept(home, "run", SAMPLE).code == 0
    assert written(home) == made.new_file
    if case.name == "forget":
        gone = {content for _, content, _, _ in made.old} - {content for _, content, _, _ in made.new}
        assert not [each for each in gone if each.encode() in store_of(home).read_bytes()], "forgotten words are still in the file"
    assert not leftovers(home)


@pytest.mark.parametrize("name", SHORT)
def test_a_command_killed_here_and_there_is_all_or_nothing(worlds, name):
    made = worlds(name)
    for place in SHORT[name]:
        copy(made.before, made.home)
        point = made.points[int(place * len(made.points))]
        killed = kept(made.home, *made.arguments, prefix=injected("signal=KILL", point))
        assert killed.code in (-9, 0), killed
        assert "Traceback" not in killed.err
        survived(made, killed.out, set())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASE)
def test_a_command_killed_at_any_writing_call_is_all_or_nothing(worlds, warm, proven, name):
    made, shared = worlds(name), {}
    assert points_of(copy(made.before, made.home), *made.arguments, by=cold) == made.points, "warm, it does other things"
    stops = [("", tree(copy(made.before, made.home), shared), "")]

    def look(call, said):
        stops.append((call, tree(made.home, shared), said))

    assert warm.step(made.home, made.arguments, need("strace"), f"{WRITES},{OPENS}", look).code == 0
    known: set[tuple[Tree, bool]] = set()
    left_homes = [*dict.fromkeys((files, said) for _, files, said in stops)]
    looked_into = left_homes[datetime.now(UTC).toordinal() % SIXTH :: SIXTH]
    for files, said in looked_into:
        fill(made.home, files)
        survived(made, said, known)
    left = [before[1:] for before, (call, *_) in pairwise(stops) if call not in OPENS.split(",")]
    assert len(left) == len(made.points), "it did not stand still after each call"
    proven("homes that a kill at a writing call leaves", len(looked_into))
    proven("different states of the store in them", len(known))
    for point, (files, said) in list(zip(made.points, left, strict=True))[::FORTIETH]:
        killed = kept(copy(made.before, made.home), *made.arguments, prefix=injected("signal=KILL", point))
        assert (killed.code, bool(killed.out)) == (-9, bool(said))
        assert shape(tree(made.home)) == shape(files), f"a kill at {point} leaves something else"
        survived(made, killed.out, set())
        proven("of the kills in earnest", 1)


def shape(files: Tree) -> list[tuple[str, int]]:
    """The names and sizes of files: their bytes hold keys, salts and times of their run, and some names are random."""
    return sorted((re.sub(r"[0-9a-f]{16}", "…", name), len(data)) for name, data in files)
