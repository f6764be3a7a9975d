"""The daybook: what a model put together of a day that is over, and a person's words in its place."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from kept.changes import apply_person_change
from kept.core.memory import Actor
from kept.core.summary import PassageForm, SummaryPart
from kept.days.day_notes import reword_line
from kept.days.llm_summaries import load_day_summaries, write_day_summaries
from kept.memories.day_view import load_day_view
from kept.memories.history import redo, undo
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home, rebuild_store
from kept.recall.context import assemble_context
from kept.recall.nearby import ContextRequest, RecallEnvironment
from kept.recall.search import UnitKind, search
from kept.store.sqlite import SqliteStore
from scripted_client import NOTHING, Obedient, with_model
from talking import RULE, forget_ids, say

DAY = date(2026, 1, 5)
FOUR = (
    "The parser fails on empty rows in rates.csv.",
    "Skipping empty rows in rates.csv made the parser pass.",
    "We decided to keep rates.csv in git because the site needs it offline.",
    "Who refreshes rates.csv every month is open.",
)
SUM = "rates.csv stays in git because the site needs it offline."


def answers(ask):
    """Notes the four sentences as points where it reads them, and puts them together in one sentence a kind."""
    if ask.purpose == "extract":
        shown = {
            words: line.split("]")[0].strip("[")
            for line in ask.prompt.splitlines()
            for words in FOUR
            if line.startswith("[e") and words in line
        }
        kinds = ("problems", "solutions", "decisions", "questions")
        notes = {
            kind: [{"text": words, "events": [shown[words]]}] if words in shown else []
            for kind, words in zip(kinds, FOUR, strict=True)
        }
        return json.dumps(NOTHING | {"notes": notes})
    if ask.purpose in ("curate", "outdated"):
        return json.dumps({"operations": []})
    number = {line.split(" ")[1].strip("():"): line.split(" ")[0] for line in ask.prompt.splitlines() if line.startswith("p")}
    made = {"problems": [], "solutions": [], "questions": [], "decisions": [{"text": SUM, "points": [number["decisions"]]}]}
    return json.dumps(made)


def of(workspace, form):
    return [each.text for each in workspace.store.days.passages() if each.form is form]


def test_a_day_that_is_over_is_put_together_once_and_says_what_it_rests_on(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        model = Obedient(answers)
        report = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert (report.day_summaries.written, [each.purpose for each in model.asked]) == (1, ["extract", "summary"])
        (line,) = (each for each in workspace.store.days.passages() if each.form is PassageForm.LINE)
        assert (line.text, line.kind, line.day, line.sessions) == (SUM, "decisions", DAY, ("one",))
        assert line.events
        assert sorted(of(workspace, PassageForm.POINT)) == sorted(each.rstrip() for each in FOUR)
        again = run_pipeline(with_model(workspace, model), [], RunOptions())
        assert (again.day_summaries.written, len(model.asked), again.run) == (0, 2, 0)


def test_forty_six_prompts_become_ten_to_fifteen_outcomes_decisions_and_questions(desk_at, home):
    parts = ["parser", "gauge", "ferry", "tide", "harbour", "pier", "quay"]
    works = ["import", "export", "report", "archive", "index", "chart", "upload"]
    prompts = [f"Mend {part} {work} of {part}{work}.csv." for part in parts for work in works][:46]

    def puts_together(ask):
        shown = [line for line in ask.prompt.splitlines() if "Mend " in line]
        if ask.purpose in ("curate", "outdated"):
            return json.dumps({"operations": []})
        if ask.purpose == "extract":
            named = [(line[line.index("Mend") :], line.split("]")[0].strip("[")) for line in shown if line.startswith("[e")]
            notes = [{"text": words, "events": [event]} for words, event in named]
            kinds = {"problems": [], "solutions": notes[:34], "decisions": notes[34:40], "questions": notes[40:]}
            return json.dumps(NOTHING | {"notes": kinds})
        told = {
            kind: [{"text": line[line.index("Mend") :], "points": [line.split(" ")[0]]} for line in shown if kind in line]
            for kind in ("problems", "solutions", "decisions", "questions")
        }
        return json.dumps({kind: some[:: max(1, len(some) // 5)] for kind, some in told.items()})

    say(home, "one", *prompts)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(puts_together)), [], RunOptions())
        condensed = load_day_view(workspace, DAY).summary.condensed
    counted = Counter(each.part for each in condensed if each.by)
    assert 10 <= counted.total() <= len(condensed) <= 15
    assert min(counted[part] for part in (SummaryPart.WORKED, SummaryPart.DECIDED, SummaryPart.OPEN)) >= 2


def test_today_is_not_put_together_before_it_is_over(desk_at, home):
    say(home, "one", *FOUR, day="2026-10-01")
    with desk_at(home) as workspace:
        model = Obedient(answers)
        assert run_pipeline(with_model(workspace, model), [], RunOptions()).day_summaries.written == 0
        later = replace(with_model(workspace, model), clock=lambda: datetime(2026, 10, 2, 3, tzinfo=UTC))
        assert run_pipeline(later, [], RunOptions()).day_summaries.written == 1


def test_what_grew_since_is_put_together_again(desk_at, home):
    say(home, "one", *FOUR[:2], FOUR[2])
    with desk_at(home) as workspace:
        model = Obedient(answers)
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert of(workspace, PassageForm.LINE) == list(FOUR[:3])  # so few need no question
        say(home, "one", FOUR[3], start=3)
        run_pipeline(with_model(workspace, model), [], RunOptions())
        assert of(workspace, PassageForm.LINE) == [SUM]


def test_what_no_point_carries_is_not_taken(desk_at, home):
    say(home, "one", *FOUR)

    def invents(ask):
        if ask.purpose == "extract":
            return answers(ask)
        lie = {"text": "The team moved everything to PostgreSQL 17.", "points": ["p1"]}
        return json.dumps({"problems": [lie], "solutions": [], "decisions": [], "questions": []})

    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(invents)), [], RunOptions())
        assert sorted(of(workspace, PassageForm.LINE)) == sorted(FOUR)


def test_a_model_that_cannot_be_reached_leaves_the_points_and_is_asked_again(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        first = run_pipeline(
            with_model(workspace, Obedient(lambda ask: answers(ask) if ask.purpose == "extract" else "")), [], RunOptions()
        )
        assert (first.day_summaries.left, first.partly, of(workspace, PassageForm.LINE)) == (1, True, [])
        assert sorted(each.text for each in load_day_summaries(workspace, DAY, DAY)[DAY].lines[scope_of(workspace)]) == sorted(FOUR)
        with_model_now = with_model(workspace, Obedient(answers))
        assert write_day_summaries(with_model_now, with_model_now.llm, by="m").written == 1


def scope_of(workspace):
    return workspace.scope("/x/harbor")


def test_without_a_model_a_day_is_told_in_the_words_used_then_and_says_so(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = load_day_view(workspace, DAY)
        assert {each.by for each in found.summary.condensed} == {""}
        assert of(workspace, PassageForm.LINE) == []


def test_a_day_is_told_by_what_was_put_together_and_in_detail_by_both(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        found = load_day_view(workspace, DAY).summary
        assert [each.text for each in found.detailed if each.by] == [SUM]
        assert [each.text for each in found.condensed] == [FOUR[2]], "a memory that says the same tells it"
        assert [each for each in found.detailed if each.part is SummaryPart.WORKED and not each.by]


def test_where_a_model_tells_only_problems_the_words_used_then_still_tell_what_was_done(desk_at, home):
    say(home, "one", "Rename the harbour module to port.", "Rename the harbour module in its tests too.", FOUR[0], FOUR[3])
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        told = [
            (each.text, bool(each.by))
            for each in load_day_view(workspace, DAY).summary.condensed
            if each.part is SummaryPart.WORKED
        ]
        assert (f"Problem: {FOUR[0]}", True) in told
        assert any(not by for _, by in told)


def test_search_and_the_last_two_days_of_a_context_have_what_was_put_together(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        hits = search(workspace, "rates.csv offline", where=[UnitKind.SUMMARY])
        assert SUM in [each.text for each in hits]
        assert {each.scope for each in hits} == {scope_of(workspace)}
        place = RecallEnvironment(str(workspace.paths.store), str(home), zone=workspace.zone)
        found = assemble_context(
            place, ContextRequest(directory="/x/harbor", session="two"), now=datetime(2026, 1, 6, 9, tzinfo=UTC)
        )
        assert SUM in [each.text for each in found.pieces]
        assert not any("decided to keep" in each.text for each in found.pieces)
        late = assemble_context(
            place, ContextRequest(directory="/x/harbor", session="two"), now=datetime(2026, 1, 8, 9, tzinfo=UTC)
        )
        assert SUM not in [each.text for each in late.pieces]


def test_a_line_put_otherwise_in_the_note_of_the_day_stays_so(desk_at, home):
    """Also where the day is put together again, the store rebuilt, or the line deleted."""
    say(home, "one", *FOUR)
    with desk_at(home, profile="workspace") as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        note = next(path for path in home.rglob(f"{DAY}.md"))
        assert f"- {SUM}" in note.read_text()
        note.write_text(note.read_text().replace(SUM, "rates.csv stays in git; Ana said so."))
        run_pipeline(workspace, [], RunOptions())
        assert of(workspace, PassageForm.OWN) == ["rates.csv stays in git; Ana said so."]
        say(home, "one", "And what about rates.csv in the archive, who knows that?", start=4)
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        rebuild_store(workspace)
        text = note.read_text()
        assert "Ana said so" in text
        assert SUM not in text
        note.write_text(text.replace("- rates.csv stays in git; Ana said so.\n", ""))
        run_pipeline(workspace, [], RunOptions())
        assert "Ana said so" not in note.read_text()
        assert SUM not in note.read_text()
        assert check_home(workspace).damage == ()


def test_a_line_in_the_words_used_then_can_be_put_otherwise_too(desk_at, home):
    say(home, "one", "Fix the parser for empty rows please.", "Now write the report about harbour dues.")
    with desk_at(home, profile="workspace") as workspace:
        run_pipeline(workspace, [], RunOptions())
        note = next(path for path in home.rglob(f"{DAY}.md"))
        line = next(each for each in note.read_text().splitlines() if each.startswith("- ") and "parser" in each)
        note.write_text(note.read_text().replace(line, "- The parser takes empty rows since today."))
        run_pipeline(workspace, [], RunOptions())
        say(home, "two", "Rename the harbour module to port and update all imports.", start=7)
        run_pipeline(workspace, [], RunOptions())
        text = note.read_text()
        assert "- The parser takes empty rows since today." in text
        assert line not in text
        assert "harbour dues" in text


def test_putting_a_line_otherwise_is_an_operation_that_can_be_undone_and_redone(desk_at, home):
    say(home, "one", "Fix the parser for empty rows please.", "Now write the report about harbour dues.")
    with desk_at(home, profile="workspace") as workspace:
        run_pipeline(workspace, [], RunOptions())
        note = next(path for path in home.rglob(f"{DAY}.md"))
        line = next(each for each in note.read_text().splitlines() if each.startswith("- ") and "parser" in each)
        for words in ("The parser takes empty rows.", "The parser takes empty rows since today."):
            earlier = line if words.endswith("rows.") else "- The parser takes empty rows."
            note.write_text(note.read_text().replace(earlier, f"- {words}"))
            run_pipeline(workspace, [], RunOptions())
        made = [(each.actor, each.operations) for each in workspace.store.log.passes() if each.stage == "absorb"]
        assert [(actor, [type(one).__name__ for one in operations]) for actor, operations in made] == [
            (Actor.PERSON, ["Reword"])
        ] * 2
        assert of(workspace, PassageForm.OWN) == ["The parser takes empty rows since today."]
        apply_person_change(workspace, lambda: undo(workspace))
        assert "- The parser takes empty rows.\n" in note.read_text()
        apply_person_change(workspace, lambda: undo(workspace))
        assert line in note.read_text().splitlines()
        assert of(workspace, PassageForm.OWN) == []
        apply_person_change(workspace, lambda: redo(workspace))
        assert "- The parser takes empty rows.\n" in note.read_text()
        assert check_home(workspace).damage == ()
        forget_words = make_erasure_request(workspace, said=["The parser takes empty rows."])
        forget(workspace, forget_words)
        assert "takes empty rows" not in str([*workspace.store.log.passes(), *workspace.store.days.passages()])


def test_undo_brings_back_a_persons_words_that_are_older_than_the_operations_of_lines(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home, profile="workspace") as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        note = next(path for path in home.rglob(f"{DAY}.md"))
        (line,) = (each for each in workspace.store.days.passages() if each.form is PassageForm.LINE and each.text == SUM)
        older = reword_line(line, "Ana keeps rates.csv.", workspace.clock())
        apply_person_change(workspace, lambda: workspace.store.days.save_passage(replace(older.line, text=older.content)))
        for earlier, words in (("Ana keeps rates.csv.", "Ben keeps rates.csv."), ("Ben keeps rates.csv.", "Cleo keeps rates.csv.")):
            note.write_text(note.read_text().replace(f"- {earlier}", f"- {words}"))
            run_pipeline(workspace, [], RunOptions())
        assert of(workspace, PassageForm.OWN) == ["Cleo keeps rates.csv."]
        for _ in range(2):
            apply_person_change(workspace, lambda: undo(workspace))
        assert of(workspace, PassageForm.OWN) == ["Ana keeps rates.csv."]
        assert SUM not in note.read_text()
        apply_person_change(workspace, lambda: redo(workspace))
        assert of(workspace, PassageForm.OWN) == ["Ben keeps rates.csv."]
        forget(workspace, make_erasure_request(workspace, said=["Ana keeps rates.csv."]))
        assert "Ana keeps" not in str([*workspace.store.log.passes(), *workspace.store.days.passages()])
        assert check_home(workspace).damage == ()


def test_what_is_forgotten_is_forgotten_in_the_daybook_as_well(desk_at, home):
    say(home, "one", RULE, *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        (memory,) = (each for each in workspace.store.log.memories() if each.content == FOUR[2])
        forget_ids(workspace, [memory.id])
        assert not [each for each in workspace.store.days.passages() if "because the site needs it" in each.text]
        assert of(workspace, PassageForm.POINT)
        forget(workspace, make_erasure_request(workspace, source=str(home / ".claude" / "projects" / "p" / "one.jsonl")))
        assert workspace.store.days.passages() == ()


def test_another_value_in_any_column_of_a_summary_is_named(desk_at, home):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        with closing(sqlite3.connect(workspace.paths.store, isolation_level=None)) as store:
            for column in ("id", "form", "day", "scope", "thread", "ordinal", "at", "body"):
                ((before, row),) = store.execute(f"SELECT {column}, max(row) FROM summaries")
                store.execute(f"UPDATE summaries SET {column} = {column} || '1' WHERE row = ?", (row,))
                assert any("summar" in each for each in check_home(workspace).damage), column
                store.execute(f"UPDATE summaries SET {column} = ? WHERE row = ?", (before, row))
        assert check_home(workspace).damage == ()


def test_a_rebuilt_a_copied_and_a_written_out_store_have_the_daybook(desk_at, home, tmp_path):
    say(home, "one", *FOUR)
    with desk_at(home) as workspace:
        run_pipeline(with_model(workspace, Obedient(answers)), [], RunOptions())
        before = workspace.store.days.passages()
        rebuild_store(workspace)
        assert workspace.store.days.passages() == before
        assert SUM in [each.text for each in search(workspace, "rates.csv offline", where=[UnitKind.SUMMARY])]
        with SqliteStore(tmp_path / "other.db") as other:
            other.load_rows(workspace.store.export_rows())
            assert other.days.passages() == before
            assert other.find_damage() == ()
            assert other.days.points_between(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC) + timedelta(days=1))
