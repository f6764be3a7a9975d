"""What a day was, as it is kept and told."""

from datetime import date

from kept.core.summary import SummaryPart
from kept.days.day_notes import build_summary, day_note_lines, summarize_threads, week_bounds
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import rebuild_store
from talking import OTHER, RULE, forget_ids, say

DAY = date(2026, 1, 5)


def told(workspace, day=DAY, last=None):
    return [each.text for each in build_summary(workspace, day, last).detailed if each.part is SummaryPart.WORKED]


def test_a_run_tells_each_day_what_was_worked_on_and_what_was_decided(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.", RULE)
    say(home, "b", "Plan the release of the harbor site.", day="2026-01-06")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert "Write the tide parser for the harbor office" in told(workspace)[0]
        assert told(workspace, date(2026, 1, 6)) == ["Plan the release of the harbor site"]
        assert any(
            each.part is not SummaryPart.WORKED and "ISO 8601" in each.text for each in build_summary(workspace, DAY).condensed
        )


def test_a_growing_session_and_parts_tell_what_the_whole_tells(desk_at, home, tmp_path):
    prompts = [
        "Write the tide parser for the harbor office.",
        "Now describe the ferry timetable module.",
        "Plan the release notes.",
    ]
    with desk_at(home) as workspace:
        for number, prompt in enumerate(prompts):
            say(home, "a", prompt, start=number)
            run_pipeline(workspace, [], RunOptions())
        grown = told(workspace)
    other = tmp_path / "other"
    say(other, "a", *prompts)
    with desk_at(other) as workspace:
        run_pipeline(workspace, [other / ".claude"], RunOptions())
        assert told(workspace) == grown


def test_nothing_new_notes_nothing(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = workspace.store.path.read_bytes()
        assert summarize_threads(workspace) == 0
        run_pipeline(workspace, [], RunOptions())
        assert workspace.store.path.read_bytes() == before


def test_a_copy_of_a_session_is_told_once(desk_at, home):
    for name in ("one", "two"):
        say(home, "a", "Write the tide parser for the harbor office.", name=name)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(told(workspace)) == 1


def test_what_is_forgotten_is_told_by_no_day(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        ids = [each.id for each in workspace.store.log.memories() if "uv sync" in each.content]
        assert ids
        forget_ids(workspace, ids)
        assert "uv sync" not in str(build_summary(workspace, DAY))
        assert told(workspace)


def test_rebuilding_gives_the_same_notes(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = build_summary(workspace, DAY)
        rebuild_store(workspace)
        assert build_summary(workspace, DAY) == before


def test_a_week_is_from_monday_to_sunday_and_tells_all_its_days(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.")
    say(home, "b", "Plan the release of the harbor site.", day="2026-01-11")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert week_bounds(date(2026, 1, 7)) == (DAY, date(2026, 1, 11))
        assert len(told(workspace, *week_bounds(DAY))) == 2


def test_a_project_can_be_asked_for_alone(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.", cwd="/x/harbor")
    say(home, "b", "Plan the release of the market site.", cwd="/x/market")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = build_summary(workspace, DAY, scopes=frozenset({workspace.scope("/x/market")}))
        assert [each.text for each in found.detailed] == ["Plan the release of the market site"]


def test_the_note_of_a_day_begins_with_what_was_worked_on(desk_at, home):
    say(home, "a", "Write the tide parser for the harbor office.", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        lines = [each.text for each in day_note_lines(workspace)[DAY]]
        assert lines[0] == "Worked on (in the words used then, without a model):"
        assert lines[1].startswith("- Write the tide parser for the harbor office")
