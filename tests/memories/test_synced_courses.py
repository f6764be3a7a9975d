"""Whatever a person does on three machines whose files reach each other in any order: once all are there, all remember the same."""

import shutil
from contextlib import suppress
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kept.core.errors import KeptError
from kept.core.memory import Status
from kept.memories import person
from kept.memories.history import undo
from machines import Machine
from talking import OTHER, RULE, forget_ids, say

pytestmark = pytest.mark.timeout(7_200)
FEWER = settings(max_examples=max(2, settings.default.max_examples // 50))  # a course opens some hundred stores
SENTENCES = [f"The harbor {thing} is read twice." for thing in ("anchor", "barrel", "cable", "derrick")]
CHANGES = {change.__name__: change for change in (person.retire, person.pin, person.approve, person.reject)}
ACTIONS = ["add", "edit", "edit", "undo", *CHANGES, "sync", "sync", "carry", "carry"]


def invent(chance):
    """A sentence of words that nobody said before."""
    words = ("".join(chance.choice("bcdfgklmnprst") + chance.choice("aeiou") for _ in range(3)) for _ in range(6))
    return f"{' '.join(words).capitalize()}."


class Course:
    """What is done on three machines, each with a folder of its own, between which files are carried. Their clocks differ."""

    def __init__(self, root, desk_at, clock, *, repeats) -> None:
        self.clock, self.repeats, self.chance, self.forgotten = clock, repeats, Random(0), set()
        self.machines = []
        for name in ("desk", "laptop", "shed"):
            (root / f"{name}-synced").mkdir()
            self.machines.append(Machine(root / name, root / f"{name}-synced", desk_at))

    def carry(self, one, other):
        """Bring the file that a machine writes to another, as it is now."""
        for path in one.folder.iterdir():
            if path.name.startswith(f"{one.name}."):
                shutil.copyfile(path, other.folder / path.name)

    def invent(self, choice):
        return SENTENCES[choice % len(SENTENCES)] if self.repeats else invent(self.chance)

    def do(self, at, action, choice):
        """One change of a person's, where it can be made, an exchange, or a file that arrives."""
        self.clock.parse_moment += timedelta(minutes=1) if choice else -timedelta(minutes=7)
        machine = self.machines[at]
        known = sorted((memory.id, memory.content) for memory in machine.memories(check=False).values() if memory.content)
        number, content = known[choice % len(known)] if known else ("", "")
        with suppress(KeptError):
            match action:
                case "add":
                    machine.add(self.invent(choice))
                case "edit":
                    machine.change(person.edit, number, self.invent(choice))
                case "undo":
                    machine.change(undo)
                case "forget" if number:
                    with machine.desk() as workspace:
                        forget_ids(workspace, [number])
                    self.forgotten.add(content)
                case "sync":
                    machine.sync()
                case "carry":
                    self.carry(machine, self.machines[(at + 1 + choice % 2) % 3])
                case _ if action in CHANGES:
                    machine.change(CHANGES[action], number)

    def end(self):
        """Have all hear all; what each machine shows then."""
        for _ in range(6):
            for one, other in permutations(self.machines, 2):
                self.carry(one, other)
            reports = [machine.sync() for machine in self.machines]
            if not any(report.received or report.sent or report.clashes for report in reports):
                break
        else:
            pytest.fail("the machines still tell each other something")
        return [
            {
                (memory.id, memory.content, memory.status, memory.pinned)
                for memory in machine.memories().values()
                if memory.status in (Status.ACTIVE, Status.HELD)
            }
            for machine in self.machines
        ]


def steps(*actions):
    return st.lists(st.tuples(st.integers(0, 2), st.sampled_from(actions), st.integers(0, 5)), min_size=5, max_size=40)


def follow(steps, course):
    for at, action, choice in steps:
        course.do(at, action, choice)
    first, *others = course.end()
    for other in others:
        assert other == first
    return first


@FEWER
@given(steps=steps(*ACTIONS))
def test_three_machines_that_say_the_same_and_change_it_apart_end_alike(steps, desk_at, clock, tmp_path):
    with TemporaryDirectory(dir=tmp_path) as root:
        follow(steps, Course(Path(root), desk_at, clock, repeats=True))


@FEWER
@given(steps=steps(*ACTIONS, "sync", "carry", "forget"))
def test_what_one_of_three_machines_forgot_is_in_no_file_and_no_memory_of_any(steps, desk_at, clock, tmp_path):
    with TemporaryDirectory(dir=tmp_path) as root:
        course = Course(Path(root), desk_at, clock, repeats=False)
        shown = follow(steps, course)
        texts = "".join(path.read_text() for machine in course.machines for path in machine.folder.iterdir())
        assert not [words for words in course.forgotten if words in texts]
        assert course.forgotten.isdisjoint(content for _, content, _, _ in shown)


TOLD = [
    "Remember that the harbor staging server runs on port 8443.",
    "Remember that the harbor staging server runs on port 9443.",
    "From now on the harbor docs are written in British English.",
    "Forget what I said about British English.",
    OTHER,
    RULE,
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_three_machines_whose_sessions_tell_the_same_and_its_opposite_hold_the_same_active(seed, desk_at, tmp_path):
    chance = Random(seed)
    (tmp_path / "synced").mkdir()
    machines = [Machine(tmp_path / name, tmp_path / "synced", desk_at) for name in ("desk", "laptop", "shed")]
    for number in range(1, 15):
        machine = chance.choice(machines)
        active = sorted(memory.id for memory in machine.memories().values() if memory.status is Status.ACTIVE)
        with suppress(KeptError):
            match chance.choice(("say", "say", "say", "run", "run", "edit", "retire")):
                case "say":
                    say(machine.home, f"{machine.name}-{number}", chance.choice(TOLD), day=f"2026-02-{number:02}")
                case "run":
                    machine.run()
                case "edit" if active:
                    machine.change(person.edit, chance.choice(active), invent(chance))
                case "retire" if active:
                    machine.change(person.retire, chance.choice(active))
    for machine in machines * 4:
        machine.run()
    first, *others = (machine.active() for machine in machines)
    for other in others:
        assert other == first
