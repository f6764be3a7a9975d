"""What is remembered while a session goes on, and what of it only the batch takes in."""

from importlib.resources import files
from pathlib import Path

from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.profile import Occasion
from talking import OTHER, RULE, say

UNSURE = "Always show the total in the footer."


def eager(home):
    """A profile like the one for coding that is extracted in real time as well."""
    place = home / ".config" / "kept" / "profiles"
    place.mkdir(parents=True)
    text = (files("kept.profiles") / "coding.toml").read_text(encoding="utf-8")
    text = text.replace('id = "coding"', 'id = "eager"', 1).replace("real_time = false", "real_time = true")
    (place / "eager.toml").write_text(text, encoding="utf-8")


def at(desk_at, home, occasion, **options):
    with desk_at(home, profile="eager") as workspace:
        report = run_pipeline(workspace, [], RunOptions(occasion=occasion, **options))
        found = workspace.store.log.memories()
    return report, {each.content for each in found if each.status in (Status.ACTIVE, Status.HELD)}


def snapshot(home: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.rglob("*") if path.is_file()}


def test_in_real_time_only_what_is_sure_is_remembered_and_the_batch_takes_in_the_rest(desk_at, home):
    eager(home)
    say(home, "s1", RULE, UNSURE)
    report, found = at(desk_at, home, Occasion.REAL_TIME)
    assert found == {RULE}
    assert (report.extracted.accepted, report.extracted.held, report.extracted.refused) == (1, 0, {})
    report, found = at(desk_at, home, Occasion.NIGHTLY)
    assert found == {RULE, UNSURE}
    assert report.extracted.threads == 1


def test_looking_again_in_real_time_at_what_did_not_change_writes_nothing(desk_at, home):
    eager(home)
    say(home, "s1", RULE, UNSURE)
    at(desk_at, home, Occasion.REAL_TIME)
    before = snapshot(home)
    at(desk_at, home, Occasion.REAL_TIME)
    assert snapshot(home) == before


def test_what_a_batch_found_in_an_open_episode_stays_when_the_session_goes_on_in_real_time(desk_at, home):
    eager(home)
    say(home, "s1", UNSURE)
    assert at(desk_at, home, Occasion.NIGHTLY)[1] == {UNSURE}
    say(home, "s1", OTHER, start=1)
    assert at(desk_at, home, Occasion.REAL_TIME)[1] == {UNSURE, OTHER}


def test_real_time_first_or_not_the_night_ends_with_the_same_memories(desk_at, tmp_path):
    ends = []
    for name, occasions in (("a", (Occasion.REAL_TIME, Occasion.SESSION_END, Occasion.NIGHTLY)), ("b", (Occasion.NIGHTLY,))):
        home = tmp_path / name
        eager(home)
        for number, words in enumerate((RULE, UNSURE, "no, undo that, the API has its own backoff", OTHER, "run the tests")):
            say(home, "s1", words, start=number)
            if name == "a":
                at(desk_at, home, occasions[number % 2])
        ends.append(at(desk_at, home, occasions[-1])[1])
    assert ends[0] == ends[1]


def test_a_profile_that_is_not_extracted_in_real_time_waits(desk_at, home):
    say(home, "s1", RULE)
    with desk_at(home, profile="coding") as workspace:
        assert run_pipeline(workspace, [], RunOptions(occasion=Occasion.REAL_TIME)).extracted.threads == 0
        assert workspace.store.log.memories() == ()
