"""What a day amounted to: notes of what was worked on, and the lines of it that matter later."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from cases import each_case
from kept.core.event import FORGOTTEN_MARK, UNCONFIRMED_MARK, Author, EventKind, ToolUse
from kept.core.sentences import is_status_report
from kept.core.summary import SummaryBullet, SummaryPart
from kept.days.summaries import (
    build_notes,
    commit_subject,
    condense_bullets,
    order_bullets,
    part_of_category,
    to_bullets,
    work_bullet,
)
from kept.profiles.lexicons import load_lexicon
from talk import START, agent, edit, talk, user


def note_of(*turns):
    events = talk(*turns)
    (found,) = build_notes(events, [(0, len(events))], lambda at: at.date())
    return found


def command(line: str):
    return EventKind.TOOL_CALL, Author.ASSISTANT, "", ToolUse(name="Bash", target=line)


def test_a_note_tells_what_was_asked_and_what_came_of_it():
    note = note_of(
        user("ok great. The tide import drops rows without a station, mend that."),
        agent("Let me look."),
        edit("/w/jobs/tides.py"),
        agent("Done. Rows without a station now go to rejected.csv."),
    )
    assert note.asked == "The tide import drops rows without a station, mend that"
    assert note.outcome == "Rows without a station now go to rejected.csv"
    assert work_bullet(note, "project:x").text == f"{note.asked} → {note.outcome} (tides.py)"


def test_what_may_be_another_persons_words_decides_nothing_asks_nothing_and_weighs_nothing():
    said = "From now on always send the invoices to Malmö. Shall we keep the steel stand? That is still open."
    sure, unsure = talk(user(said)), [replace(event, label_reason=f"{UNCONFIRMED_MARK}heading") for event in talk(user(said))]
    own, other = (next(iter(build_notes(events, [(0, len(events))], lambda at: at.date()))) for events in (sure, unsure))
    assert own.decision == "From now on always send the invoices to Malmö"
    assert (other.asked, other.decision, other.question, other.weight) == (own.asked, "", "", own.weight - 6)


def test_an_outcome_is_prose_before_list_items_and_never_a_plan_a_question_or_a_green_test_run():
    reply = "All 12 tests pass.\n\n- Rows are kept in order\n\nThe parser reads both date formats.\n\nWant me to go on?"
    assert note_of(user("make the parser read both formats"), agent(reply)).outcome == "The parser reads both date formats"


@each_case(
    "reply",
    [
        "The import of the gauges might still drop rows without a station.",
        "If this does not work for the gauges, we can try another import.",
        "Share the output of `gauges --import` with me.",
        "For the import of the gauges you have several options here.",
        "1. A new import of the gauges by station\n2. Another import of the gauges by day\n\nWhich one?",
        "Sometimes an import of the gauges is harder to mend than to write.",
        "I've implemented a comprehensive solution for the import of the gauges.",
        "Updated TODO list with the import of the gauges.",
        "Preserve the order of the gauges in the import.",
        "The import of the gauges reads both files (fixed earlier).",
    ],
)
def test_a_guess_an_offer_or_an_instruction_is_no_outcome(reply):
    assert note_of(user("mend the import of the gauges"), agent(reply)).outcome == ""


def test_a_note_never_tells_what_a_harness_or_a_paste_says():
    note = note_of(
        user(
            "<system_instruction>\nYou are working inside Conductor, rename the branch first.\n</system_instruction>\n\nmend "
            "the tide import please"
        ),
        agent("Done. Rows without a station now go to rejected.csv."),
    )
    assert note.asked == "Mend the tide import please"


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("We have a problem here. The queue drops jobs on restart. Keep the jobs in `jobs.db`.", "Keep the jobs in `jobs.db`"),
        ("This looks odd. Can you rename the harbour module to port?", "Can you rename the harbour module to port?"),
    ],
)
def test_what_was_wanted_is_the_sentence_that_says_most_of_it_not_the_first(prompt, wanted):
    events = talk(user(prompt), agent("Renamed the harbour module to port; jobs stay in `jobs.db` now."))
    (found,) = build_notes(events, [(0, 2)], lambda at: at.date(), spoken=load_lexicon(("en",)).spoken)
    assert found.asked == wanted


@pytest.mark.parametrize(
    "stub",
    [
        "The tide console of the harbour gives me:",
        "The tide chart must have the form expected in",
        "I see this on the tide page when I get this error",
    ],
)
def test_a_sentence_that_breaks_off_stands_for_no_request(stub):
    assert note_of(user(f"{stub}\n```\nKeyError\n```\nMend the import."), agent("Done.")).asked == "Mend the import"


def test_an_outcome_is_the_sentence_that_takes_up_what_was_asked():
    reply = (
        "I have the complete picture now.\n\nThe tests were slow.\n\n**Key takeaways**\n\n"
        "The station import now rejects rows without a gauge.\n\nEverything is ready!"
    )
    note = note_of(user("make the station import reject rows without a gauge"), agent(reply))
    assert note.outcome == "The station import now rejects rows without a gauge"


@each_case(
    "sentence",
    [
        "All 1,204 tests pass.",
        "No imports required changes.",
        "Lint passes (`npm run lint:fix`).",
        "All tests now compile without errors and the build succeeds!",
        "The docs are up to date!",
    ],
)
def test_a_report_that_checks_passed_is_no_outcome(sentence):
    assert is_status_report(sentence)
    assert note_of(user("mend the parser for dates"), agent(sentence)).outcome == ""


@pytest.mark.parametrize(
    "sentence",
    ["Tests must pass before merging.", "Run all tests.", "The import fails in CI.", "The parser reads both formats now."],
)
def test_a_rule_about_tests_and_what_changed_are_no_status_reports(sentence):
    assert not is_status_report(sentence)


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        (
            "Mend the import. It is still open whether the tables go to the archive.",
            "It is still open whether the tables go to the archive",
        ),
        ("Mend the import. Do we keep the old tables? I'll ask Ana.", "Do we keep the old tables?"),
        ("Mend the import. Do we keep the old tables?", ""),
        ("Mend the import. Or is the matter of the old tables still open?", ""),
    ],
)
def test_a_question_inside_a_prompt_that_is_put_off_stays_open_and_one_that_is_answered_does_not(prompt, question):
    note = note_of(user(prompt), agent("The import copes with empty rows now."))
    assert note.question == question
    assert [each.text for each in to_bullets(note, "p") if each.part is SummaryPart.OPEN] == ([question] if question else [])


def test_a_question_at_the_end_that_got_no_reply_is_open():
    note = note_of(user("mend the import please"), agent("It copes with empty rows now."), user("Which gauges have no station?"))
    assert note.question == "Which gauges have no station?"


def test_code_tables_and_headings_are_no_prose():
    reply = "## Summary\n| a | b |\n```\nthe code is quite long here\n```\nThe cache is keyed by content now."
    assert note_of(user("why is the cache stale so often"), agent(reply)).outcome == "The cache is keyed by content now"


def test_commits_are_what_came_of_it():
    note = note_of(
        user("mend the parser please"), command('git add -A && git commit -m "Read both date formats"'), agent("Committed it all.")
    )
    assert note.commits == ("Read both date formats",)
    assert work_bullet(note, "").text.endswith("→ Read both date formats")


def test_a_commit_written_as_a_here_document_gives_its_subject_and_a_scratch_repository_none():
    here = "git commit -m \"$(cat <<'EOF'\nName the tide station\n\nbody\nEOF\n)\""
    assert commit_subject(talk(command(here))[0]) == "Name the tide station"
    assert commit_subject(talk(command('git init && git commit -m "init"'))[0]) == ""


def test_a_commit_in_the_text_of_a_ticket_is_none_and_a_pull_request_has_its_title():
    ticket = EventKind.TOOL_CALL, Author.ASSISTANT, "", ToolUse(name="mcp__tickets__create", target='use `git commit -m "new"`')
    assert commit_subject(talk(ticket)[0]) == ""
    body = 'gh pr create --draft --title "Read both date formats" --body "$(cat <<\'EOF\'\n## Summary\nEOF\n)"'
    assert commit_subject(talk(command(body))[0]) == "Read both date formats"


def test_a_ticket_that_was_made_weighs_as_a_changed_file_does_and_names_none():
    ticket = EventKind.TOOL_CALL, Author.ASSISTANT, "", ToolUse(name="mcp__tickets__create_issue", target='{"title": "Read dates"}')
    said = user("File a ticket for the date formats."), agent("The date formats have a ticket now.")
    note = note_of(said[0], ticket, said[1])
    assert (note.names, note.weight) == ((), note_of(*said).weight + 1)


FREEZE = user("Freeze the header of the tide table."), agent("Added a frozen header to the tide table.")
MENDED = agent("The header of the tide table stays in place now.")


@each_case(
    "reaction",
    [
        "That does not work.",
        "The header is not visible in the table.",
        "I still get the same error",
        "no, the header is gone",
        "ok, the problem is not the header of the table",
        "it seems you broke pretty much all tables",
        "this seems to not solve anything",
        "Freeze the header of the tide table, please.",
    ],
)
def test_an_attempt_that_is_corrected_later_shows_only_its_end(reaction):
    assert note_of(*FREEZE, user(reaction), MENDED).outcome == "The header of the tide table stays in place now"


def test_an_attempt_that_a_person_ends_is_told_in_their_words():
    note = note_of(*FREEZE, user("That messed many things up. I reverted it."), agent("The frozen header is gone."))
    assert note.outcome == "I reverted it"


def test_a_failure_that_was_reported_last_stays_open_unless_the_person_says_that_it_works():
    failing = *FREEZE, user("The header of the table is gone now."), MENDED
    assert note_of(*failing).question == "The header of the table is gone now"
    assert note_of(*failing, user("great, that works"), agent("Good to hear.")).question == ""


@pytest.mark.parametrize(
    "taken_back", ["No, the header of the tide table is only drawn twice.", "You're right, the frozen header has gone."]
)
def test_an_outcome_that_the_reply_to_the_next_prompt_takes_back_is_not_told(taken_back):
    events = talk(*FREEZE, user("Does the printed chart of the harbour use it as well?"), agent(taken_back))
    first, *_ = build_notes(events, [(0, 2), (2, 4)], lambda at: at.date())
    assert (first.asked, first.outcome) == ("Freeze the header of the tide table", "")


def test_another_request_of_the_same_topic_is_a_note_with_its_own_outcome():
    events = talk(*FREEZE, user("Colour the station column of the tide table."), agent("Station cells are blue now."))
    assert [(note.asked, note.outcome) for note in build_notes(events, [(0, 4)], lambda at: at.date())] == [
        ("Freeze the header of the tide table", "Added a frozen header to the tide table"),
        ("Colour the station column of the tide table", "Station cells are blue now"),
    ]


def test_a_question_that_a_reply_ends_with_stays_open_where_nobody_answered_it():
    asking = "The header stays in place. Should the tide table freeze its station column too?"
    assert note_of(FREEZE[0], agent(asking)).question == "Should the tide table freeze its station column too?"
    assert note_of(FREEZE[0], agent(asking), user("yes, do"), agent("It is frozen.")).question == ""


def test_a_run_over_midnight_is_a_note_a_day():
    events = talk(user("write the tide parser now"), agent("It reads both formats now."), user("and now the tests for it"))
    days = {START: date(2026, 3, 1)}
    found = list(build_notes(events, [(0, 3)], lambda at: days.get(at, date(2026, 3, 2))))
    assert [(each.ordinal, each.asked) for each in found] == [(0, "Write the tide parser now"), (2, "The tests for it")]


def test_what_nobody_asked_for_and_undated_prompts_give_no_note():
    assert not list(build_notes(talk(agent("I looked around.")), [(0, 1)], lambda at: at.date()))


def test_what_was_forgotten_takes_with_it_what_was_answered_to_it():
    note = note_of(user(f"{FORGOTTEN_MARK}. Mend the import job now."), agent("Dates are written as quux now."))
    assert "quux" not in work_bullet(note, "").text
    assert note.outcome == ""


def test_text_in_scripts_without_spaces_is_told_too():
    assert note_of(user("请把潮汐数据保存为文件。"), agent("数据现在保存为文件。")).asked == "请把潮汐数据保存为文件。"


def bullet(number: int, part: SummaryPart = SummaryPart.WORKED, weight: int = 1) -> SummaryBullet:
    return SummaryBullet(
        part=part, text=f"thing{number} word{number} other{number}", at=START, source=f"e{number:02}", scope="p", weight=weight
    )


def test_forty_bullets_become_fifteen_at_most_and_none_is_reworded():
    many = [*(bullet(each, weight=each) for each in range(40)), *(bullet(each, SummaryPart.DECIDED, 30) for each in range(50, 70))]
    short = condense_bullets(order_bullets(many))
    assert len(short) == 15
    assert set(short) <= set(many)
    assert sum(each.part is SummaryPart.WORKED for each in short) == 8
    assert bullet(39, weight=39) in short


def test_a_short_day_is_told_whole():
    few = order_bullets([bullet(1), bullet(2, SummaryPart.DECIDED)])
    assert condense_bullets(few) == few


def test_the_project_in_which_most_was_done_comes_first_and_each_keeps_its_order():
    parts = [
        SummaryBullet(
            part=SummaryPart.WORKED,
            text=f"{scope} {number}",
            at=START + timedelta(minutes=number),
            source=f"{number}",
            scope=scope,
            weight=weight,
        )
        for number, (scope, weight) in enumerate([("a", 1), ("b", 3), ("a", 1), ("b", 1)])
    ]
    assert [each.text for each in order_bullets(parts)] == ["b 1", "b 3", "a 0", "a 2"]


def test_the_same_thing_said_in_two_sessions_is_one_line():
    assert (
        len(
            order_bullets(
                [bullet(1), SummaryBullet(part=SummaryPart.WORKED, text="Thing1, word1 other1", at=START, source="z", scope="p")]
            )
        )
        == 1
    )


def test_questions_are_open_rules_are_decided_and_the_rest_is_learnt():
    assert [part_of_category(each) for each in ("open_question", "open_questions", "decisions", "known_fix")] == [
        SummaryPart.OPEN,
        SummaryPart.OPEN,
        SummaryPart.DECIDED,
        SummaryPart.LEARNT,
    ]


def test_what_was_only_asked_is_left_to_the_detailed_form_where_a_day_is_long_and_a_few_words_always():
    asked, done = (
        bullet(1),
        SummaryBullet(part=SummaryPart.WORKED, text="mend it → it is mended now", at=START, source="x", scope="p"),
    )
    assert condense_bullets(order_bullets([asked, done])) == (done,)
    assert condense_bullets((asked,)) == (asked,)
    request = replace(asked, text="Please mend the tide import for empty rows")
    assert set(condense_bullets(order_bullets([request, done]))) == {request, done}
    assert condense_bullets(order_bullets([request, replace(done, weight=3)]), 1) == (replace(done, weight=3),)


def test_a_long_sentence_is_told_whole():
    long = f"Mend the tide import {'for rows that have neither a gauge nor a station, ' * 6}and keep their order"
    assert note_of(user(f"{long}."), agent("Rows keep their order now.")).asked == long


@pytest.mark.parametrize(
    "decision",
    [
        "Let's not run the import on pull requests",
        "Lets keep the wsgi file on the root level alone",
        "Rows without a gauge must never reach the archive",
        "Keep the old tables instead of copying them",
    ],
)
def test_what_is_settled_inside_a_prompt_is_a_line_of_its_own(decision):
    note = note_of(user(f"Can you rename the harbour module to port and its tests? {decision}."), agent("It is called port now."))
    decided = [each for each in to_bullets(note, "p") if each.part is SummaryPart.DECIDED]
    assert [each.text for each in decided] == [decision]


def test_questions_wishes_and_what_points_elsewhere_settle_nothing():
    prompt = "Can you rename the harbour module to port? Should we never import it? Then the next release should be good to go."
    assert note_of(user(prompt), agent("It is called port now.")).decision == ""


@each_case(
    "report",
    [
        "I opened the tide chart and got a crash, that should never happen",
        "The tide import works locally but on the server it always jumps back to the first gauge",
        "When I send a boat to a mooring the boat drops anchor at that place instead of going there",
        "Furthermore, the chart shows which gauges must be mended",
        "The table is complete again, but the tide buttons don't show",
    ],
)
def test_a_report_settles_nothing(report):
    assert note_of(user(f"Rename the harbour module to port. {report}."), agent("It is called port now.")).decision == ""


def test_an_outcome_is_what_is_so_now_before_a_start_or_an_order():
    reply = (
        "Ah, I see the issue with the tide import.\n\nAdd a check for the gauge of the tide import.\n\n"
        "The tide import checks the gauge now."
    )
    note = note_of(user("mend the gauge of the tide import"), agent(reply))
    assert note.outcome == "The tide import checks the gauge now"
    started = note_of(user("mend the gauge of the tide import"), agent("Ah, I see the issue with the tide import."))
    assert started.outcome == ""


def test_a_project_of_which_prompts_alone_are_known_keeps_a_line_on_a_long_day():
    busy = [
        replace(bullet(number), text=f"mend part {number} of the import → part {number} is mended", weight=9)
        for number in range(30)
    ]
    alone = replace(bullet(31), text="Write the timetable of the ferry to Amrum", scope="project:ferry", weight=1)
    assert alone in condense_bullets(order_bullets([*busy, alone]))
