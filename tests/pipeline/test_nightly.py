"""The night's job and its entry with the scheduler."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kept.cli.dispatch import main
from kept.core.errors import StoreError, UsageError
from kept.core.memory import Status
from kept.extraction import stretches
from kept.install.schedule import CommandResult, SchedulerKind, install_job, list_installed_jobs, uninstall_job
from kept.intake import discovery
from kept.local.files import hold_lock
from kept.local.queue import claim_unreported_failures, load_failures
from kept.memories.backups import find_backups
from kept.paths import find_paths
from kept.pipeline import nightly as job
from kept.pipeline import run
from kept.pipeline.nightly import load_last_night, run_nightly
from talking import RULE, say


def quiet(_words, _given):
    return CommandResult(code=0, out="NEXT LEFT")


def tree(home):
    return {path.relative_to(home): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def test_a_night_reads_tidies_checks_and_backs_up_each_with_its_result(desk_at, home):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        names = ["discover", "read", "extract", "curate", "sleep", "render", "index", "check", "backup"]
        assert [(each.name, each.done) for each in night.steps] == [(each, True) for each in names]
        assert {each.name: each.detail for each in night.steps}["read"] == "1 file with something new"
        assert any(each.status is Status.ACTIVE for each in workspace.store.log.memories())
        assert load_last_night(workspace.paths) == night
        assert "check: the store is whole" in (workspace.paths.state / "night.log").read_text()
        assert (workspace.paths.state / "night.log").stat().st_mode & 0o077 == 0


def test_a_night_puts_a_copy_into_the_folder_of_the_settings_and_says_where_that_is_not_there(desk_at, home):
    say(home, "a", RULE)
    settings = home / ".config/kept/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[backup]\nfolder = "{home}/stick"\n')
    with desk_at(home) as workspace:
        (failed,) = run_nightly(workspace).failed
        assert (failed.name, "the folder for backups is not there" in failed.detail) == ("backup", True)
        (home / "stick").mkdir()
        assert f"also in {home}/stick" in run_nightly(workspace).steps[-1].detail
        (copy,) = (home / "stick").iterdir()
        assert copy in find_backups(workspace)


def test_a_step_that_fails_is_told_and_the_rest_is_done(desk_at, home, monkeypatch):
    say(home, "a", RULE)

    def broken(_desk):
        raise StoreError("the disk is full", hint="make room")

    monkeypatch.setattr(job, "run_sleep", broken)
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        assert [each.name for each in night.failed] == ["sleep"]
        assert "make room" in night.failed[0].detail
        assert night.steps[-1].done


def test_a_run_that_breaks_off_says_at_which_step_and_the_night_goes_on(desk_at, home, monkeypatch):
    say(home, "a", RULE)

    def broken(*_args, **_options):
        raise LookupError("a rule of kept's has a mistake")

    monkeypatch.setattr(run, "curate_changed_groups", broken)
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        found = {each.name: (each.done, each.detail) for each in night.steps}
        assert found["extract"] == (True, "")
        assert found["curate"] == (False, "something unexpected went wrong (LookupError) → please report it; the rest continues")
        assert found["render"] == (False, "not reached")
        assert found["backup"][0]
        assert [each.what for each in load_failures(str(workspace.paths.state))] == ["night curate"]


@pytest.mark.parametrize("fault", [ValueError("x"), OSError(5, "input/output error"), KeyError("y"), RecursionError()])
def test_one_reader_that_fails_never_stops_the_others(desk_at, home, monkeypatch, fault):
    class Broken:
        name = "broken"

        def places(self, root, _env):
            return (root / "broken",)

        def claims(self, path, _head):
            return path.suffix == ".broken"

        def read(self, _path, _cursor):
            raise fault
            yield

    (home / "broken").mkdir()
    (home / "broken" / "a.broken").write_text("x")
    everything = (Broken(), *discovery.SOURCES)
    monkeypatch.setattr(discovery, "SOURCES", everything)
    monkeypatch.setattr(discovery, "with_zone", lambda _zone: everything)
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        assert [each.name for each in night.failed] == ["read"]
        assert type(fault).__name__ in night.failed[0].detail
        assert any(each.status is Status.ACTIVE for each in workspace.store.log.memories())


def test_one_session_that_cannot_be_analysed_waits_and_the_others_are(desk_at, home, monkeypatch):
    say(home, "a", "Never use pip in this repo, always use `uv sync` instead.")
    say(home, "b", RULE)
    usual = stretches.segment

    def broken(events, buffer):
        if any("uv sync" in each.text for each in events):
            raise IndexError
        return usual(events, buffer)

    monkeypatch.setattr(stretches, "segment", broken)
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        assert [each.name for each in night.failed] == ["extract"]
        assert not any("uv sync" in each.content for each in workspace.store.log.memories())
        assert any(each.status is Status.ACTIVE for each in workspace.store.log.memories())
        monkeypatch.undo()
        monkeypatch.setenv("KEPT_EMBEDDINGS", "hashing")
        assert run_nightly(workspace).failed == ()
        assert any("uv sync" in each.content for each in workspace.store.log.memories())


def test_when_the_time_of_a_night_is_up_the_rest_waits_for_the_next_and_nothing_is_lost(desk_at, home, monkeypatch):
    say(home, "a", RULE)
    times = iter([0.0, 0.0, *[1e9] * 1_000])
    monkeypatch.setattr(run, "monotonic", lambda: next(times))
    with desk_at(home) as workspace:
        night = run_nightly(workspace)
        assert night.failed == ()
        assert "the time limit was reached" in {each.name: each.detail for each in night.steps}["read"]
        assert workspace.store.log.memories() == ()
        monkeypatch.undo()
        monkeypatch.setenv("KEPT_EMBEDDINGS", "hashing")
        run_nightly(workspace)
        assert any(each.status is Status.ACTIVE for each in workspace.store.log.memories())


def test_a_night_whose_store_cannot_be_opened_is_noted_as_well(home, capsys):
    place = find_paths(str(home), {})
    place.store.parent.mkdir(parents=True)
    place.store.write_bytes(b"not a database at all" * 300)
    with pytest.raises(SystemExit) as ended:
        main(["schedule", "run", "--quiet"])
    assert ended.value.code == 2
    assert [each.name for each in load_last_night(place).failed] == ["open"]
    assert [each.what for each in load_failures(str(place.state))] == ["night open"]


def test_a_run_at_a_sessions_end_that_fails_is_noted_until_one_goes_well(desk_at, home, capsys):
    path = say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_nightly(workspace)
    place = find_paths(str(home), {})
    whole = place.store.read_bytes()
    place.store.write_bytes(b"not a database at all" * 300)
    for code, expected in ((2, ["session end"]), (0, [])):
        with pytest.raises(SystemExit) as ended:
            main(["run", "--quiet", "--occasion", "session-end", "--", str(path)])
        assert ended.value.code == code
        assert [each.what for each in load_failures(str(place.state))] == expected
        place.store.write_bytes(whole)


def test_what_fails_night_after_night_is_one_failure_since_the_first(desk_at, home, monkeypatch):
    def broken(_desk):
        raise StoreError("the disk is full", hint="make room")

    say(home, "a", RULE)
    monkeypatch.setattr(job, "run_sleep", broken)
    with desk_at(home) as workspace:
        state, first = str(workspace.paths.state), workspace.clock()
        for days in range(3):
            run_nightly(replace(workspace, clock=lambda days=days: first + timedelta(days=days)))
        (found,) = load_failures(state)
        assert found.since.startswith(first.date().isoformat())
        assert claim_unreported_failures(state) == [found]
        assert claim_unreported_failures(state) == []
        monkeypatch.undo()
        monkeypatch.setenv("KEPT_EMBEDDINGS", "hashing")
        run_nightly(workspace)
        assert load_failures(state) == []
        assert not list(workspace.paths.state.glob("hooks/failure.*"))


def test_what_is_no_note_of_failures_tells_of_none(home):
    for text in ("", "null", "[[1]]", "{", '{"a": 1}', "[1]"):
        (home / "failures.json").write_text(text)
        assert load_failures(str(home)) == []


def test_where_a_run_is_under_way_that_run_does_the_work(desk_at, home):
    with desk_at(home) as workspace, hold_lock(workspace.paths.lock):
        assert run_nightly(workspace).busy
        assert load_last_night(workspace.paths) is None


def test_a_missed_night_is_made_up_for_by_the_next_whatever_the_clock_says(desk_at, home):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_nightly(workspace)
        say(home, "b", "Never use pip in this repo, always use `uv sync` instead.", day="2026-01-09")
        run_nightly(replace(workspace, clock=lambda: workspace.clock() + timedelta(days=40)))
        found = [each for each in workspace.store.log.memories() if "uv sync" in each.content]
        assert [each.first_seen.date().isoformat() for each in found] == ["2026-01-09"]


def test_what_cannot_be_read_of_a_night_is_no_night(home):
    place = find_paths(str(home), {})
    place.state.mkdir(parents=True)
    for text in ("", "null", "[]", "{", '{"at": 1}'):
        (place.state / "night.json").write_text(text)
        assert load_last_night(place) is None


@pytest.mark.parametrize("kind", [SchedulerKind.SYSTEMD, SchedulerKind.LAUNCHD])
def test_an_entry_comes_and_goes_without_a_trace(home, kind):
    place = find_paths(None, {"HOME": str(home)})
    (home / "mine").write_text("x")
    before = tree(home)
    done = install_job(place, {}, at="03:15", kind=kind, run=quiet)
    assert done.enabled
    assert done.places
    assert install_job(place, {}, at="03:15", kind=kind, run=quiet) == done
    assert [each.kind for each in list_installed_jobs(place, {}, run=quiet)] == [kind]
    assert set(uninstall_job(place, {}, run=quiet)) == set(done.places)
    assert tree(home) == before
    assert list_installed_jobs(place, {}, run=lambda *_: CommandResult(code=1, out="")) == ()


def test_a_trial_home_writes_below_itself_and_tells_the_system_nothing(home, tmp_path):
    place = find_paths(str(tmp_path / "trial"), {"HOME": str(home)})

    def never(*_):
        pytest.fail("the system was told")

    done = install_job(place, {}, kind="systemd", run=never)
    assert not done.enabled
    assert all(each.startswith(str(tmp_path / "trial")) for each in done.places)
    assert uninstall_job(place, {}, run=never)


def test_a_time_or_scheduler_that_is_none_is_refused(home):
    place = find_paths(None, {"HOME": str(home)})
    for wrong in ({"at": "25:00"}, {"kind": "sundial"}, {"kind": "cron", "zone": "Europe/Berlin"}):
        with pytest.raises(UsageError):
            install_job(place, {}, run=quiet, **wrong)
    assert tree(home) == {}


def test_what_failed_at_night_is_told_by_status_until_a_night_goes_well(desk_at, home, monkeypatch, capsys):
    def broken(_desk):
        raise StoreError("the disk is full", hint="make room")

    say(home, "a", RULE)
    with desk_at(home) as workspace:
        monkeypatch.setattr(job, "run_sleep", broken)
        run_nightly(workspace)
    with pytest.raises(SystemExit):
        main(["status"])
    assert "Failed last night, sleep: the disk is full" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KEPT_HOME", str(home))
    with desk_at(home) as workspace:
        run_nightly(workspace)
    with pytest.raises(SystemExit):
        main(["status"])
    assert "Failed last night" not in capsys.readouterr().out
