"""``kept journal``: entries from the command line."""

import pytest

from cli_world import kept, told, transcript


@pytest.fixture
def harbour(home):
    """Three days of sessions where Claude Code keeps its own."""
    for number in range(3):
        transcript(
            home / ".claude" / "projects" / "p" / f"s{number}.jsonl",
            f"Please rewrite harbour page {number} in `tides.py`.",
            day=f"2026-01-0{5 + number}",
        )
    return home


def test_an_entry_of_a_day_is_written_out_of_what_was_not_read_yet(capsys, harbour):
    code, out, err = kept(capsys, "journal", "write", "--date", "2026-01-05")
    assert (code, err) == (0, "")
    assert out.startswith("2026-01-05  written\n")
    assert "harbour page 0" in (harbour / "journal" / "2026-01-05.md").read_text()
    assert kept(capsys, "journal", "write", "--date", "2026-01-05")[1].startswith("2026-01-05  unchanged\n")


def test_an_entry_of_kept_is_no_session_of_the_day_and_no_words_of_the_assistant(capsys, harbour):
    kept(capsys, "journal", "write", "--date", "2026-01-05")
    assert kept(capsys, "run")[0] == 0
    assert kept(capsys, "day", "2026-01-05")[1].splitlines()[1] == "1 session"
    assert "kept's journal: " in kept(capsys, "search", "Put together by kept", "--in", "turns", "--all")[1]


def test_a_backfill_tells_what_it_will_do_and_does_it(capsys, harbour):
    estimate = told(capsys, "run") and told(
        capsys, "journal", "backfill", "--from", "2026-01-01", "--to", "2026-01-31", "--estimate"
    )
    assert estimate["days"] == ["2026-01-05", "2026-01-06", "2026-01-07"]
    assert not (harbour / "journal").exists()
    body = told(capsys, "journal", "backfill", "--from", "2026-01-01", "--to", "2026-01-31")
    assert [each["state"] for each in body["entries"]] == ["written"] * 3
    stats = told(capsys, "journal", "stats")
    assert [each["date"] for each in stats["entries"]] == estimate["days"]
    code, out, _ = kept(capsys, "journal", "stats")
    assert code == 0
    assert out.startswith("3 entries, 0.0% of their sentences about memory itself\n")


def test_a_backfill_of_several_days_at_a_time_writes_the_same_and_a_number_that_is_none_is_refused(capsys, harbour):
    assert kept(capsys, "journal", "backfill", "--from", "2026-01-01", "--to", "2026-01-31", "--concurrency", "0")[0] == 2
    assert not (harbour / "journal").exists()
    body = told(capsys, "journal", "backfill", "--from", "2026-01-01", "--to", "2026-01-31", "--concurrency", "3")
    assert [(each["state"], each["asked_anew"]) for each in body["entries"]] == [("written", False)] * 3


def test_a_week_is_one_entry_of_its_template(capsys, harbour):
    kept(capsys, "journal", "write", "--date", "2026-01-07", "--template", "weekly")
    text = (harbour / "journal" / "weekly" / "2026-01-05.md").read_text()
    assert "# Week of 2026-01-05 to 2026-01-11" in text
    assert all(f"harbour page {number}" in text for number in range(3))


def test_a_span_can_be_given(capsys, harbour):
    kept(capsys, "journal", "write", "--from", "2026-01-05", "--to", "2026-01-06", "--template", "project-update")
    text = (harbour / "journal" / "project-update" / "2026-01-05.md").read_text()
    assert "harbour page 1" in text
    assert "harbour page 2" not in text


@pytest.mark.parametrize(
    "words",
    [
        ("erase",),
        ("backfill",),
        ("write", "--from", "2026-02-01", "--to", "2026-01-01"),
        ("write", "--template", "../x"),
        ("write", "--date", "soon"),
    ],
)
def test_a_call_that_makes_no_sense_is_told_and_does_nothing(capsys, home, words):
    code, _, err = kept(capsys, "journal", *words)
    assert code == 2
    assert err.startswith("kept: ")
    assert not (home / "journal").exists()


def test_somebody_elses_file_in_the_way_is_left_alone_and_told(capsys, harbour):
    own = harbour / "journal" / "2026-01-05.md"
    own.parent.mkdir()
    own.write_text("mine\n")
    code, out, _ = kept(capsys, "journal", "write", "--date", "2026-01-05")
    assert code == 2
    assert "left alone" in out
    assert own.read_text() == "mine\n"


def test_the_templates_are_listed(capsys, home):
    assert "Your own templates are in" in kept(capsys, "journal", "templates")[1]
    assert told(capsys, "journal", "templates") == ["journal", "project-update", "release-notes", "weekly"]


def test_the_entries_are_listed_among_the_sources_by_their_folder(capsys, harbour):
    kept(capsys, "journal", "write", "--date", "2026-01-05")
    _, out, _ = kept(capsys, "sources")
    assert "entry  1 file" in out
    assert f"  {harbour / 'journal'}\n" in out or "  ~/journal\n" in out
