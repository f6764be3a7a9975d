"""Insights of a journal past their threshold: night by night, undone, and what of a journal its view shows."""

import json
from importlib.resources import files

import pytest

from kept.app.history import undo
from kept.app.person import add
from kept.app.running import Options, run
from kept.model.memory import Status
from kept.model.operation import CONDENSED

LEARNT = (
    "`upload.py` sends no file that is larger than ten megabytes.",
    "`upload.py` sends a file in one piece when it is small.",
    "`registry.go` must be read before any worker starts.",
    "`registry.go` must list a worker before its first job.",
    "`PRAGMA synchronous` has no effect inside of a transaction.",
)


@pytest.fixture
def journal(home):
    """A workspace whose notes the journal profile reads, which keeps three insights."""
    settings = home / ".config" / "kept"
    (settings / "profiles").mkdir(parents=True)
    (settings / "config.toml").write_text('profile = "journal"\n')
    text = (files("kept.profiles") / "journal.toml").read_text(encoding="utf-8").replace("condense = 60", "condense = 3")
    (settings / "profiles" / "journal.toml").write_text(text.replace("budget = 12", "budget = 2"))
    folder = home / ".openclaw" / "workspace" / "memory"
    folder.mkdir(parents=True)
    return folder


def night(journal, desk, *days):
    for day in days:
        (journal / f"2026-02-{10 + day}.md").write_text(f"# 2026-02-{10 + day}\n\n### Lessons\n- {LEARNT[day]}\n")
    run(desk, [], Options())


def insights(desk, status=Status.ACTIVE):
    return [each for each in desk.store.log.memories() if each.category == "insights" and each.status is status]


def told(desk):
    return {(each.content, each.first_seen, each.last_seen, len(each.evidence)) for each in insights(desk)}


def test_nights_one_by_one_and_backwards_end_with_the_insights_of_one_run_over_all(journal, desk_at, home):
    outcomes = []
    for number, nights in enumerate(([range(5)], [[day] for day in range(5)], [[day] for day in range(4, -1, -1)])):
        with desk_at(home) as desk:
            for each in nights:
                night(journal, desk, *each)
            outcomes.append(told(desk))
        (home / ".local").rename(home / f"before-{number}")
        for note in journal.iterdir():
            note.unlink()
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert len(outcomes[0]) == 3
    assert sum(count for *_, count in outcomes[0]) == 5


def test_undoing_a_night_that_condensed_brings_the_insights_back_and_the_next_run_leaves_them(journal, desk_at, home):
    with desk_at(home) as desk:
        night(journal, desk, 0, 1, 2)
        before = told(desk)
        night(journal, desk, 4)
        assert [each.reason for each in insights(desk, Status.SUPERSEDED)] == [CONDENSED]
        undo(desk)
        assert told(desk) == before
        run(desk, [], Options())
        assert told(desk) == before


def test_a_view_shows_as_many_themes_of_a_project_as_their_budget_and_all_that_are_a_persons_own(journal, desk_at, home):
    titles = (
        "Reading `registry.go` before workers start",
        "Sending files in `upload.py` in pieces",
        "Counting tokens in `ask.py` once",
    )
    with desk_at(home) as desk:
        for day, title in enumerate(titles):
            (journal / f"2026-02-1{day}.md").write_text(f"# 2026-02-1{day}\n\n## {title}\n\nDone.\n")
        run(desk, [], Options())
        view = home / "kept" / "journal.json"
        assert len([each for each in desk.store.log.memories() if each.category == "themes" and each.status is Status.ACTIVE]) == 3
        assert {each["text"] for each in json.loads(view.read_text())["themes"]} == set(titles[1:])
        add(desk, "Moving the store of `archive.py` to a server", "themes")
        run(desk, [], Options())
        shown = {each["text"] for each in json.loads(view.read_text())["themes"]}
        assert "Moving the store of `archive.py` to a server" in shown
        run(desk, [], Options())
        assert len([each for each in desk.store.log.memories() if each.category == "themes" and each.status is Status.ACTIVE]) == 4
