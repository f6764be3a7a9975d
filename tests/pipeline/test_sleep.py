"""The night: fading, coming back, the guard, and nothing where there is nothing to do."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from kept.core.memory import Status
from kept.memories import person
from kept.memories.history import undo
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.sleep import list_lingering, run_sleep, why_lingering
from kept.store.archive import blocks
from kept.store.packing import unpack
from talking import OTHER, say

FIRST = date(2026, 1, 5)


@pytest.fixture
def fading_desk(desk_at, home):
    """A workspace whose constraints fade after 30 days."""

    def opened():
        return desk_at(home)

    def quick(workspace):
        categories = tuple(replace(each, fades=30) for each in workspace.profile.categories)
        return replace(workspace, profiles=(replace(workspace.profile, categories=categories),))

    return opened, quick


def day(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat()


def months(home, *, naming: str = "") -> None:
    for number in range(1, 9):
        say(home, f"later{number}", f"Have a look at the ferry timetable page{naming}.", day=day(8 * number))


def rule(workspace):
    (found,) = (each for each in workspace.store.log.memories() if "uv sync" in each.content)
    return found


def test_what_its_project_stopped_naming_retires_as_a_pass_that_can_be_undone(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        assert [each.memory.id for each in list_lingering(workspace)] == [rule(workspace).id]
        assert [each.id for each in run_sleep(workspace).retired] == [rule(workspace).id]
        assert rule(workspace).status is Status.RETIRED
        assert "none of its names" in rule(workspace).reason
        undo(workspace)
        assert rule(workspace).status is Status.ACTIVE
        assert workspace.store.find_damage() == ()


def test_what_is_still_named_stays(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home, naming=" and run `uv sync` before")
    with opened() as raw:
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        assert run_sleep(workspace).retired == []


def test_what_faded_comes_back_when_it_is_said_again(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        run_sleep(workspace)
        say(home, "again", OTHER, day=day(90))
        run_pipeline(workspace, [], RunOptions())
        assert rule(workspace).status is Status.ACTIVE


def test_a_night_with_nothing_to_do_writes_nothing(desk_at, home):
    say(home, "a", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = workspace.store.path.read_bytes()
        for _ in range(10):
            assert not run_sleep(workspace).retired
        assert workspace.store.path.read_bytes() == before


def test_ten_nights_with_nothing_new_write_nothing_but_what_a_date_made_due(desk_at, home, clock):
    say(home, "a", OTHER)
    with desk_at(home) as workspace:
        person.create_memory(
            workspace, "The staging host is `blue.example`.", "project_fact", until=clock.parse_moment + timedelta(days=4, hours=12)
        )
        for _ in range(2):
            run_pipeline(workspace, [], RunOptions())
            run_sleep(workspace)
        file = home / ".claude" / "rules" / "memory.md"
        passes, before = [each.id for each in workspace.store.log.pass_heads()], file.read_text()
        runs, written = len(workspace.store.log.runs(100)), []
        for night in range(10):
            clock.parse_moment += timedelta(days=1)
            state = workspace.store.path.read_bytes()
            run_pipeline(workspace, [], RunOptions())
            run_sleep(workspace)
            written += [night] if workspace.store.path.read_bytes() != state else []
        assert written == [4]
        assert [each.id for each in workspace.store.log.pass_heads()] == passes
        assert len(workspace.store.log.runs(100)) == runs
        assert "blue.example" in before
        assert "blue.example" not in file.read_text()
        assert "uv sync" in file.read_text()
        assert workspace.store.find_damage() == ()


def test_a_person_who_keeps_a_lingering_memory_owns_it(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        person.keep(workspace, rule(workspace).id)
        assert list_lingering(workspace) == ()
        assert run_sleep(workspace).retired == []


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
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        active = sum(each.status is Status.ACTIVE for each in workspace.store.log.memories())
        assert active >= 4
        assert run_sleep(workspace).stopped
        assert sum(each.status is Status.ACTIVE for each in workspace.store.log.memories()) == active
        assert len(run_sleep(workspace, allow=True).retired) == active


def test_what_lingers_is_found_without_unpacking_the_archive(fading_desk, home, monkeypatch):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home, naming=" and run `uv sync` before")
    with opened() as raw:
        run_pipeline(quick(raw), [], RunOptions())
    unpacked = []
    monkeypatch.setattr(blocks, "unpack", lambda *given: unpacked.append(given[0]) or unpack(*given))
    with opened() as raw:
        workspace = quick(raw)
        assert list_lingering(workspace) == ()
        assert why_lingering(workspace, rule(workspace)) == ""
        run_sleep(workspace)
    assert unpacked == []


def test_why_one_memory_lingers_is_what_the_list_says_of_it(fading_desk, home):
    opened, quick = fading_desk
    say(home, "a", OTHER)
    months(home)
    with opened() as raw:
        workspace = quick(raw)
        run_pipeline(workspace, [], RunOptions())
        (found,) = list_lingering(workspace)
        assert why_lingering(workspace, found.memory) == found.reason != ""
        assert why_lingering(workspace, person.retire(workspace, found.memory.id)) == ""
