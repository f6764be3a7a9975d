"""What a day amounted to: notes of what was worked on, and the lines of it that matter later."""

from datetime import date

from talk import START, agent, edit, talk, user

from kept.core.event import FORGOTTEN_MARK, Author, Kind, Tool
from kept.core.summary import Bullet, Part
from kept.days.summaries import committed, condense, notes, ordered, part_of, worked


def note_of(*turns):
    events = talk(*turns)
    (found,) = notes(events, [(0, len(events))], lambda at: at.date())
    return found


def command(line: str):
    return Kind.TOOL_CALL, Author.ASSISTANT, "", Tool(name="Bash", target=line)


def test_a_note_tells_what_was_asked_and_what_came_of_it():
    note = note_of(
        user("ok great. The tide import drops rows without a station, mend that."),
        agent("Let me look."),
        edit("/w/jobs/tides.py"),
        agent("Done. Rows without a station now go to rejected.csv."),
    )
    assert note.asked == "The tide import drops rows without a station, mend that"
    assert note.outcome == "Rows without a station now go to rejected.csv"
    assert worked(note, "project:x").text == f"{note.asked} → {note.outcome} (tides.py)"


def test_an_outcome_is_prose_before_list_items_and_never_a_plan_a_question_or_a_green_test_run():
    reply = "All 12 tests pass.\n\n- Rows are kept in order\n\nThe parser reads both date formats.\n\nWant me to go on?"
    assert note_of(user("make the parser read both formats"), agent(reply)).outcome == "The parser reads both date formats"


def test_a_note_never_tells_what_a_harness_or_a_paste_says():
    note = note_of(
        user(
            "<system_instruction>\nYou are working inside Conductor, rename the branch first.\n</system_instruction>\n\nmend "
            "the tide import please"
        ),
        agent("Done. Rows without a station now go to rejected.csv."),
    )
    assert note.asked == "Mend the tide import please"


def test_code_tables_and_headings_are_no_prose():
    reply = "## Summary\n| a | b |\n```\nthe code is quite long here\n```\nThe cache is keyed by content now."
    assert note_of(user("why is the cache stale so often"), agent(reply)).outcome == "The cache is keyed by content now"


def test_commits_are_what_came_of_it():
    note = note_of(
        user("mend the parser please"), command('git add -A && git commit -m "Read both date formats"'), agent("Committed it all.")
    )
    assert note.commits == ("Read both date formats",)
    assert worked(note, "").text.endswith("→ Read both date formats")


def test_a_commit_written_as_a_here_document_gives_its_subject_and_a_scratch_repository_none():
    here = "git commit -m \"$(cat <<'EOF'\nName the tide station\n\nbody\nEOF\n)\""
    assert committed(talk(command(here))[0]) == "Name the tide station"
    assert committed(talk(command('git init && git commit -m "init"'))[0]) == ""


def test_a_run_over_midnight_is_a_note_a_day():
    events = talk(user("write the tide parser now"), agent("It reads both formats now."), user("and now the tests for it"))
    days = {START: date(2026, 3, 1)}
    found = list(notes(events, [(0, 3)], lambda at: days.get(at, date(2026, 3, 2))))
    assert [(each.ordinal, each.asked) for each in found] == [(0, "Write the tide parser now"), (2, "The tests for it")]


def test_what_nobody_asked_for_and_undated_prompts_give_no_note():
    assert not list(notes(talk(agent("I looked around.")), [(0, 1)], lambda at: at.date()))


def test_what_was_forgotten_takes_with_it_what_was_answered_to_it():
    note = note_of(user(f"{FORGOTTEN_MARK}. Mend the import job now."), agent("Dates are written as quux now."))
    assert "quux" not in worked(note, "").text
    assert note.outcome == ""


def test_text_in_scripts_without_spaces_is_told_too():
    assert note_of(user("请把潮汐数据保存为文件。"), agent("数据现在保存为文件。")).asked == "请把潮汐数据保存为文件。"


def bullet(number: int, part: Part = Part.WORKED, weight: int = 1) -> Bullet:
    return Bullet(
        part=part, text=f"thing{number} word{number} other{number}", at=START, source=f"e{number:02}", scope="p", weight=weight
    )


def test_forty_bullets_become_fifteen_at_most_and_none_is_reworded():
    many = [*(bullet(each, weight=each) for each in range(40)), *(bullet(each, Part.DECIDED, 30) for each in range(50, 70))]
    short = condense(ordered(many))
    assert len(short) == 15
    assert set(short) <= set(many)
    assert sum(each.part is Part.WORKED for each in short) == 8
    assert bullet(39, weight=39) in short


def test_a_short_day_is_told_whole():
    few = ordered([bullet(1), bullet(2, Part.DECIDED)])
    assert condense(few) == few


def test_the_same_thing_said_in_two_sessions_is_one_line():
    assert len(ordered([bullet(1), Bullet(part=Part.WORKED, text="Thing1, word1 other1", at=START, source="z", scope="p")])) == 1


def test_questions_are_open_rules_are_decided_and_the_rest_is_learnt():
    assert [part_of(each) for each in ("open_question", "open_questions", "decisions", "known_fix")] == [
        Part.OPEN,
        Part.OPEN,
        Part.DECIDED,
        Part.LEARNT,
    ]


def test_what_was_only_asked_is_left_to_the_detailed_form_unless_nothing_else_was_done():
    asked, done = bullet(1), Bullet(part=Part.WORKED, text="mend it → it is mended now", at=START, source="x", scope="p")
    assert condense(ordered([asked, done])) == (done,)
    assert condense((asked,)) == (asked,)
