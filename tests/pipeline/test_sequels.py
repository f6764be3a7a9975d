"""What failed in one session and passed in a later one of the same project."""

import random

import pytest

from kept.core.error_fingerprint import fingerprint_error
from kept.core.memory import Status
from kept.memories import person
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.profile import Occasion
from talking import converse

ERROR = "Error: Cannot find module 'sharp'"
BROKE = [
    ("user", "the thumbnails are broken, please look"),
    ("run", "npm run thumbs"),
    ("failed", f"> thumbs\n{ERROR}\n    at node:internal"),
    ("agent", "A module is missing. I stop here for today."),
]
WENT_ON = [
    ("user", "go on with the thumbnails"),
    ("run", "npm install sharp"),
    ("out", "added 1 package"),
    ("run", "npm run thumbs"),
    ("out", "12 thumbnails"),
    ("agent", "They work."),
]
RETRIED = [
    ("user", "go on with the thumbnails"),
    ("run", "npm run thumbs -- --engine=jimp"),
    ("out", "12 thumbnails"),
    ("agent", "They work."),
]
OTHER = [("user", "what is in the docs folder?"), ("run", "ls docs"), ("out", "a.md"), ("agent", "One file.")]
FIX = "`Error: Cannot find module 'sharp'` when running `npm run thumbs`: run `npm install sharp` first."


def fixes(desk_at, home, *, order=None, **options):
    """The known fixes that are remembered after runs over what is there, file by file in an order or all at once."""
    with desk_at(home) as workspace:
        for each in [[path] for path in order] if order else [[]]:
            run_pipeline(workspace, each, RunOptions(model=False, **options))
        found = workspace.store.log.memories()
    return [each for each in found if each.category == "known_fix" and each.status is Status.ACTIVE]


def test_a_failure_that_a_later_session_mended_is_a_fix_that_rests_on_both(desk_at, home):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-04")
    (fix,) = fixes(desk_at, home)
    assert fix.content == FIX
    assert fix.fingerprint == fingerprint_error(ERROR)
    assert {(each.session, each.quote) for each in fix.evidence} >= {
        ("a", ERROR),
        ("b", "npm install sharp"),
        ("a", "npm run thumbs"),
    }
    assert fix.last_seen.date().isoformat() == "2026-03-04"


def test_another_way_of_running_it_next_time_is_a_fix_too(desk_at, home):
    crashed = [
        ("user", "make the thumbnails"),
        ("run", "npm run thumbs"),
        ("failed", "> thumbs\nError: Worker exited unexpectedly"),
    ]
    converse(home, "a", *crashed, day="2026-03-02")
    converse(home, "b", *RETRIED, day="2026-03-03")
    (fix,) = fixes(desk_at, home)
    assert fix.content.endswith("use `npm run thumbs -- --engine=jimp` instead.")


@pytest.mark.parametrize("between", [0, 1, 2])
def test_other_sessions_may_lie_between(desk_at, home, between):
    converse(home, "a", *BROKE, day="2026-03-02")
    for number in range(between):
        converse(home, f"o{number}", *OTHER, day=f"2026-03-0{3 + number}")
    converse(home, "z", *WENT_ON, day="2026-03-07")
    assert [each.content for each in fixes(desk_at, home)] == [FIX]


@pytest.mark.parametrize(
    ("later", "cwd", "day"),
    [
        (WENT_ON, "/x/elsewhere", "2026-03-03"),
        (WENT_ON, "/x/harbor", "2026-03-30"),
        ([("user", "go on"), ("run", "npm run lint"), ("out", "0 problems")], "/x/harbor", "2026-03-03"),
        (
            [("user", "go on"), ("run", "git pull"), ("out", "ok"), ("run", "npm run thumbs"), ("out", "12 thumbnails")],
            "/x/harbor",
            "2026-03-03",
        ),
    ],
    ids=["another project", "weeks later", "another check", "nothing that names what was missing"],
)
def test_what_passes_later_is_not_the_fix_of_whatever_failed_before(desk_at, home, later, cwd, day):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *later, cwd=cwd, day=day)
    assert fixes(desk_at, home) == []


def test_what_was_mended_in_its_own_session_is_one_fix_and_not_two(desk_at, home):
    converse(home, "a", *BROKE, *WENT_ON, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-03")
    (fix,) = fixes(desk_at, home)
    assert {each.session for each in fix.evidence} == {"a"}


def test_whatever_the_order_of_reading_the_same_is_remembered(desk_at, tmp_path):
    ends = []
    for number in range(2):
        home = tmp_path / str(number)
        paths = [
            converse(home, "a", *BROKE, day="2026-03-02"),
            converse(home, "b", *OTHER, day="2026-03-03"),
            converse(home, "c", *WENT_ON, day="2026-03-04"),
            converse(home, "d", *BROKE, day="2026-03-05"),
            converse(home, "e", *WENT_ON, day="2026-03-06"),
        ]
        random.Random(number).shuffle(paths)
        found = fixes(desk_at, home, order=paths if number else None)
        ends.append([(each.content, each.first_seen, each.last_seen, len(each.evidence)) for each in found])
    assert len(ends[0]) == 1
    assert ends[0] == ends[1]


def test_a_session_that_went_on_after_all_takes_its_failure_back(desk_at, home):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-04")
    assert len(fixes(desk_at, home)) == 1
    converse(home, "a", *BROKE, ("run", "npm run thumbs"), ("out", "12 thumbnails"), day="2026-03-02")
    assert fixes(desk_at, home) == []


def test_a_run_with_nothing_new_writes_nothing_and_a_forced_one_ends_the_same(desk_at, home):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-04")
    before = fixes(desk_at, home)
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert fixes(desk_at, home) == before
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == files
    assert fixes(desk_at, home, force=True) == before


def test_in_real_time_sessions_wait_to_be_paired(desk_at, home):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-04")
    assert fixes(desk_at, home, occasion=Occasion.REAL_TIME) == []
    assert len(fixes(desk_at, home)) == 1


def test_what_a_person_retired_does_not_come_back_by_pairing(desk_at, home):
    converse(home, "a", *BROKE, day="2026-03-02")
    converse(home, "b", *WENT_ON, day="2026-03-04")
    (fix,) = fixes(desk_at, home)
    with desk_at(home) as workspace:
        person.retire(workspace, fix.id, "we no longer make thumbnails")
    assert fixes(desk_at, home, force=True) == []
