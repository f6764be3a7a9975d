"""The night's job and its entry with the scheduler."""

from dataclasses import replace
from datetime import timedelta

import pytest
from talking import RULE, say

from kept.adapters.files import locked
from kept.adapters.schedulers import Kind, Ran
from kept.app import nightly as job
from kept.app.desk import find_home
from kept.app.nightly import last_night, nightly
from kept.app.scheduling import install, standing, uninstall
from kept.model.errors import StoreError, UsageError
from kept.model.memory import Status
from kept.ui.cli.door import main


def quiet(_words, _given):
    return Ran(code=0, out="NEXT LEFT")


def tree(home):
    return {path.relative_to(home): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def test_a_night_reads_tidies_checks_and_backs_up_each_with_its_result(desk_at, home):
    say(home, "a", RULE)
    with desk_at(home) as desk:
        night = nightly(desk)
        assert [(each.name, each.done) for each in night.steps] == [
            ("run", True),
            ("sleep", True),
            ("index", True),
            ("check", True),
            ("backup", True),
        ]
        assert any(each.status is Status.ACTIVE for each in desk.store.log.memories())
        assert last_night(desk.home) == night
        assert "run: done" in (desk.home.state / "night.log").read_text()


def test_a_step_that_fails_is_told_and_the_rest_is_done(desk_at, home, monkeypatch):
    say(home, "a", RULE)

    def broken(_desk):
        raise StoreError("the disk is full", hint="make room")

    monkeypatch.setattr(job, "sleep", broken)
    with desk_at(home) as desk:
        night = nightly(desk)
        assert [each.name for each in night.failed] == ["sleep"]
        assert "make room" in night.failed[0].detail
        assert night.steps[-1].done


def test_where_a_run_is_under_way_that_run_does_the_work(desk_at, home):
    with desk_at(home) as desk, locked(desk.home.lock):
        assert nightly(desk).busy
        assert last_night(desk.home) is None


def test_a_missed_night_is_made_up_for_by_the_next_whatever_the_clock_says(desk_at, home):
    say(home, "a", RULE)
    with desk_at(home) as desk:
        nightly(desk)
        say(home, "b", "Never use pip in this repo, always use `uv sync` instead.", day="2026-01-09")
        nightly(replace(desk, clock=lambda: desk.clock() + timedelta(days=40)))
        found = [each for each in desk.store.log.memories() if "uv sync" in each.content]
        assert [each.first_seen.date().isoformat() for each in found] == ["2026-01-09"]


def test_what_cannot_be_read_of_a_night_is_no_night(home):
    place = find_home(str(home), {})
    place.state.mkdir(parents=True)
    for text in ("", "null", "[]", "{", '{"at": 1}'):
        (place.state / "night.json").write_text(text)
        assert last_night(place) is None


@pytest.mark.parametrize("kind", [Kind.SYSTEMD, Kind.LAUNCHD, Kind.WINDOWS])
def test_an_entry_comes_and_goes_without_a_trace(home, kind):
    place = find_home(None, {"HOME": str(home)})
    (home / "mine").write_text("x")
    before = tree(home)
    done = install(place, {}, at="03:15", kind=kind, run=quiet)
    assert done.enabled
    assert done.places
    assert install(place, {}, at="03:15", kind=kind, run=quiet) == done
    assert [each.kind for each in standing(place, {}, run=quiet)] == [kind]
    assert set(uninstall(place, {}, run=quiet)) == set(done.places)
    assert tree(home) == before
    assert standing(place, {}, run=lambda *_: Ran(code=1, out="")) == ()


def test_a_trial_home_writes_below_itself_and_tells_the_system_nothing(home, tmp_path):
    place = find_home(str(tmp_path / "trial"), {"HOME": str(home)})

    def never(*_):
        pytest.fail("the system was told")

    done = install(place, {}, kind="systemd", run=never)
    assert not done.enabled
    assert all(each.startswith(str(tmp_path / "trial")) for each in done.places)
    assert uninstall(place, {}, run=never)


def test_a_time_or_scheduler_that_is_none_is_refused(home):
    place = find_home(None, {"HOME": str(home)})
    for wrong in ({"at": "25:00"}, {"kind": "sundial"}, {"kind": "cron", "zone": "Europe/Berlin"}):
        with pytest.raises(UsageError):
            install(place, {}, run=quiet, **wrong)
    assert tree(home) == {}


def test_what_failed_at_night_is_told_by_status_until_a_night_goes_well(desk_at, home, monkeypatch, capsys):
    def broken(_desk):
        raise StoreError("the disk is full", hint="make room")

    say(home, "a", RULE)
    with desk_at(home) as desk:
        monkeypatch.setattr(job, "sleep", broken)
        nightly(desk)
    with pytest.raises(SystemExit):
        main(["status"])
    assert "Last night, sleep: the disk is full" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KEPT_HOME", str(home))
    with desk_at(home) as desk:
        nightly(desk)
    with pytest.raises(SystemExit):
        main(["status"])
    assert "Last night" not in capsys.readouterr().out
