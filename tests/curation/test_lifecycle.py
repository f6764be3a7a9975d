"""What fades, when it is due, and what lingers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kept.core.event import Origin
from kept.core.memory import APPROVED, Memory, Status
from kept.curation.lifecycle import NameActivity, fading_share, is_lingering, retire_faded
from kept.profiles.profile import Category

AT = datetime(2026, 1, 5, 10, tzinfo=UTC)
THEME = Category(id="themes", title="Themes", belongs="x", excludes="y", fades=30)
MEMORY = Memory(
    id="m1",
    profile="journal",
    category="themes",
    scope="project:x",
    status=Status.ACTIVE,
    content="Splitting `intake.py`.",
    confidence=0.8,
    origin=Origin.USER,
    first_seen=AT,
    last_seen=AT,
    artifacts=("intake.py",),
)


def presence(days: int, *, named: datetime | None = None, sessions: int = 9) -> NameActivity:
    return NameActivity(named=named, sessions=sessions, newest=AT + timedelta(days=days))


def test_a_theme_whose_names_stopped_occurring_fades_and_then_is_due():
    assert fading_share(MEMORY, THEME, presence(15)) == 0.5
    assert fading_share(MEMORY, THEME, presence(31)) == 1.0
    (retire,) = retire_faded([(MEMORY, THEME, presence(45))])
    assert retire.at == AT + timedelta(days=30)


def test_a_name_that_occurs_again_starts_the_count_anew():
    assert fading_share(MEMORY, THEME, presence(40, named=AT + timedelta(days=38))) < 0.1


def test_where_hardly_anything_happened_nothing_fades():
    assert fading_share(MEMORY, THEME, presence(400, sessions=4)) == 0.0


def test_what_a_person_decided_on_what_names_nothing_and_what_never_fades_stays():
    long = presence(400)
    decided = (replace(MEMORY, owned=True), replace(MEMORY, pinned=True), replace(MEMORY, reason=APPROVED))
    for each in (*decided, replace(MEMORY, artifacts=())):
        assert fading_share(each, THEME, long) == 0.0
    assert fading_share(MEMORY, replace(THEME, fades=0), long) == 0.0
    assert retire_faded([(MEMORY, None, long)]) == ()


def test_what_is_old_unconfirmed_and_never_of_use_lingers():
    late = AT + timedelta(days=200)
    assert is_lingering(MEMORY, late, 0)
    assert not is_lingering(MEMORY, late, 3)
    assert not is_lingering(replace(MEMORY, reason=APPROVED), late, 0)
    assert not is_lingering(MEMORY, AT + timedelta(days=20), 0)
    assert not is_lingering(replace(MEMORY, observations=2), late, 0)
    assert not is_lingering(replace(MEMORY, owned=True), late, 0)
