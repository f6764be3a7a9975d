"""The night: fading, coming back, the guard, and nothing where there is nothing to do."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from kept.core.memory import Status
from kept.memories import person
from kept.memories.history import undo
from kept.pipeline.run import Options, run
from kept.pipeline.sleep import lingering, sleep, why_lingering
from kept.store.archive import blocks
from kept.store.records import unpack
from talking import OTHER, say

FIRST = date(2026, 1, 5)


@pytest.fixture
def fading_desk(desk_at, home):
    """A desk whose constraints fade after 30 days."""

    def opened():
        return desk_at(home)

    def quick(desk):
        categories = tuple(replace(each, fades=30) for each in desk.profile.categories)
        return replace(desk, profiles=(replace(desk.profile, categories=categories),))

    return opened, quick


def day(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat()


def months(home, *, naming: str = "") -> None:
    for number in range(1, 9):
        say(home, f"later{number}", f"Have a look at the ferry timetable page{naming}.", day=day(8 * number))


def rule(desk):
    (found,) = (each for each in desk.store.log.memories() if "uv sync" in each.content)
    return found


def test_what_its_project_stopped_naming_retires_as_a_pass_that_can_be_undone(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        assert [each.memory.id for each in lingering(desk)] == [rule(desk).id]
        assert [each.id for each in sleep(desk).retired] == [rule(desk).id]
        assert rule(desk).status is Status.RETIRED
        assert "none of its names" in rule(desk).reason
        undo(desk)
        assert rule(desk).status is Status.ACTIVE
        assert desk.store.damage() == ()


def test_what_is_still_named_stays(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home, naming=" and run `uv sync` before")
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        assert sleep(desk).retired == []


def test_what_faded_comes_back_when_it_is_said_again(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        sleep(desk)
        say(home, "again", OTHER, day=day(90))
        run(desk, [], Options())
        assert rule(desk).status is Status.ACTIVE


def test_a_night_with_nothing_to_do_writes_nothing(desk_at, home):
    say(home, "a", OTHER)
    with desk_at(home) as desk:
        run(desk, [], Options())
        before = desk.store.path.read_bytes()
        for _ in range(10):
            assert not sleep(desk).retired
        assert desk.store.path.read_bytes() == before


def test_ten_nights_with_nothing_new_write_nothing_but_what_a_date_made_due(desk_at, home, clock):
    say(home, "a", OTHER)
    with desk_at(home) as desk:
        person.add(desk, "The staging host is `blue.example`.", "project_fact", until=clock.moment + timedelta(days=4, hours=12))
        for _ in range(2):
            run(desk, [], Options())
            sleep(desk)
        file = home / ".claude" / "rules" / "memory.md"
        passes, before = [each.id for each in desk.store.log.heads()], file.read_text()
        runs, written = len(desk.store.log.runs(100)), []
        for night in range(10):
            clock.moment += timedelta(days=1)
            state = desk.store.path.read_bytes()
            run(desk, [], Options())
            sleep(desk)
            written += [night] if desk.store.path.read_bytes() != state else []
        assert written == [4]
        assert [each.id for each in desk.store.log.heads()] == passes
        assert len(desk.store.log.runs(100)) == runs
        assert "blue.example" in before
        assert "blue.example" not in file.read_text()
        assert "uv sync" in file.read_text()
        assert desk.store.damage() == ()


def test_a_person_who_keeps_a_lingering_memory_owns_it(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        person.keep(desk, rule(desk).id)
        assert lingering(desk) == ()
        assert sleep(desk).retired == []


def test_the_guard_stops_a_night_that_would_retire_too_much(fading_desk, home):
    opened, quick = fading_desk
    say(
        home,
        "a",
        OTHER,
        *(f"Never edit {name}.py by hand, always run make {name} instead." for name in ("tides", "ports", "maps", "buoys")),
    )
    months(home)
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        active = sum(each.status is Status.ACTIVE for each in desk.store.log.memories())
        assert active >= 4
        assert sleep(desk).stopped
        assert sum(each.status is Status.ACTIVE for each in desk.store.log.memories()) == active
        assert len(sleep(desk, allow=True).retired) == active


def test_what_lingers_is_found_without_unpacking_the_archive(fading_desk, home, monkeypatch):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home, naming=" and run `uv sync` before")
    with opened() as raw:
        run(quick(raw), [], Options())
    unpacked = []
    monkeypatch.setattr(blocks, "unpack", lambda body: unpacked.append(body) or unpack(body))
    with opened() as raw:
        desk = quick(raw)
        assert lingering(desk) == ()
        assert why_lingering(desk, rule(desk)) == ""
        sleep(desk)
    assert unpacked == []


def test_why_one_memory_lingers_is_what_the_list_says_of_it(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        desk = quick(raw)
        run(desk, [], Options())
        (found,) = lingering(desk)
        assert why_lingering(desk, found.memory) == found.reason != ""
        assert why_lingering(desk, person.retire(desk, found.memory.id)) == ""
