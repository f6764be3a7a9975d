"""Two people and one project over two weeks on a real server: Anna with two machines, of which one is away for a week, and Ben."""

from datetime import timedelta

import pytest

from kept.changes import apply_person_change
from kept.core.memory import Status
from kept.memories import person
from kept.memories.browse import to_export
from kept.memories.configure import change_setting
from kept.memories.team import accept_fact, list_team_facts, share_project
from kept.memories.waiting import list_pending_proposals
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from postgres_server import owner_of
from talking import say

psycopg = pytest.importorskip("psycopg")
AWAY = range(5, 12)
NOWHERE = "postgresql://anna@127.0.0.1:1/gone"
THEIRS = "The harbor crane is served from five to one."
OURS = "The harbor crane is served from seven to three."
ALONE = "The harbor scale is read twice."
ROUTE, SHIFT = "Release notes go through the harbor office.", "The harbor crane is served from six to two."


class Machine:
    """A home on a server, whose person works in the project."""

    def __init__(self, home, url, desk_at) -> None:
        self.home, self.url, self._desk_at = home, url, desk_at
        home.mkdir()
        self.at(url)

    def at(self, url):
        change_setting(find_paths(str(self.home), {"HOME": str(self.home)}), "store.url", url)

    def desk(self):
        return self._desk_at(self.home)

    def run(self):
        with self.desk() as workspace:
            return run_pipeline(workspace, [], RunOptions())

    def work(self, day):
        say(self.home, f"{self.home.name}-{day}", rule(self.home.name, day), day=f"2026-03-{day:02}")

    def add(self, text):
        with self.desk() as workspace:
            apply_person_change(workspace, lambda: person.create_memory(workspace, text, "constraint", project="/x/harbor"))
            return next(memory.id for memory in workspace.store.log.memories() if memory.content == text)

    def memories(self):
        with self.desk() as workspace:
            assert workspace.store.find_damage() == ()
            return [to_export(workspace, memory) for memory in workspace.store.log.memories()]


THINGS = [
    "anchor",
    "barrel",
    "cable",
    "derrick",
    "engine",
    "ferry",
    "gangway",
    "hatch",
    "island",
    "jetty",
    "keel",
    "ladder",
    "mast",
]


def rule(name, day):
    return f"Never paint the {THINGS[day - 1]} of the {name} without asking the owner."


def contents(memories):
    return sorted(memory["content"] for memory in memories)


@pytest.mark.slow
def test_two_people_and_three_machines_remember_two_weeks_of_one_project(desk_at, postgres, tmp_path):
    anna, ben, team = postgres(), postgres(), owner_of(postgres())
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        connection.execute(f'GRANT "{team}" TO "{owner_of(anna)}", "{owner_of(ben)}"')
    desk, laptop, other = (
        Machine(tmp_path / name, url, desk_at) for name, url in (("desk", anna), ("laptop", anna), ("other", ben))
    )
    for day in range(1, 14):
        for machine in (desk, laptop, other):
            machine.work(day)
        desk.run()
        other.run()
        if day in AWAY:
            laptop.at(NOWHERE)
            assert "wait for the server" in laptop.run().written.problems[0]
            if day == AWAY.start:
                laptop.add(ALONE)
        else:
            laptop.at(anna)
            laptop.run()
        if day == 2:
            for machine in (desk, other):
                with machine.desk() as workspace:
                    share_project(workspace, "harbor", team, what="approved", quotes=False)
            other.add(ROUTE)
            desk.add(SHIFT)
            other.run()
    with desk.desk() as workspace:
        (number,) = (fact.id for fact in list_team_facts(workspace) if fact.content == ROUTE)
        accept_fact(workspace, number)
    desk.run()
    laptop.run()
    assert desk.memories() == laptop.memories()
    assert contents(desk.memories()) == sorted(
        [ROUTE, SHIFT, ALONE, *(rule(name, day) for name in ("desk", "laptop") for day in range(1, 14))]
    )
    assert contents(other.memories()) == sorted([ROUTE, *(rule("other", day) for day in range(1, 14))])
    with other.desk() as workspace:
        facts = {fact.content: len(fact.witnesses) for fact in list_team_facts(workspace)}
    assert facts == {ROUTE: 2, SHIFT: 1, ALONE: 1}


def test_a_line_that_was_changed_elsewhere_meanwhile_waits_beside_what_it_says_now(desk_at, postgres, tmp_path):
    url = postgres()
    desk, laptop = (Machine(tmp_path / name, url, desk_at) for name in ("desk", "laptop"))
    number = desk.add(SHIFT)
    laptop.run()
    file = laptop.home / ".claude" / "rules" / "memory.md"
    file.write_text(file.read_text().replace("from six to two", "from seven to three"))
    with desk.desk() as workspace:
        apply_person_change(workspace, lambda: person.edit(workspace, number, THEIRS))
    laptop.run()
    desk.run()
    for machine in (desk, laptop):
        with machine.desk() as workspace:
            current, mine = sorted(workspace.store.log.memories(), key=lambda memory: memory.status)
            assert (current.id, current.content, current.status) == (number, THEIRS, Status.ACTIVE)
            assert (mine.content, mine.status, mine.superseded_by) == (OURS, Status.HELD, number)
            assert [pending.memory.id for pending in list_pending_proposals(workspace)] == [mine.id]
    assert f"{THEIRS} (was: {OURS})" in file.read_text()


def test_a_laptop_whose_clock_is_a_day_slow_loses_no_words_that_it_was_told_without_the_server(desk_at, postgres, tmp_path, clock):
    url = postgres()
    desk, laptop = (Machine(tmp_path / name, url, desk_at) for name in ("desk", "laptop"))
    number = desk.add(SHIFT)
    laptop.run()
    laptop.at(NOWHERE)
    clock.parse_moment -= timedelta(days=1)
    with laptop.desk() as workspace:
        apply_person_change(workspace, lambda: person.edit(workspace, number, OURS))
    clock.parse_moment += timedelta(days=1)
    with desk.desk() as workspace:
        apply_person_change(workspace, lambda: person.edit(workspace, number, THEIRS))
    laptop.at(url)
    laptop.run()
    desk.run()
    for machine in (desk, laptop):
        said = {memory["content"]: memory["status"] for memory in machine.memories()}
        assert said == {THEIRS: "active", OURS: "held"}
