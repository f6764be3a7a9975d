"""What journals and daily notes tell."""

from dataclasses import replace

import pytest
from talk import LEXICON, agent, talk

from kept.model.memory import Accepted
from kept.profiles import profile
from kept.stages.extract import extract
from kept.stages.gate import judge

WORKSPACE, JOURNAL, CODING = (profile(each) for each in ("workspace", "journal", "coding"))


def noted(*sections, way=WORKSPACE):
    events = [replace(each, label_reason="memory-folder") for each in talk(*map(agent, sections))]
    found = extract(events, 0, len(events), profile=way, lexicon=LEXICON, scope=lambda _: "project:x")
    return {(each.category, each.content) for each in found if isinstance(judge(each, way, lexicon=LEXICON), Accepted)}


def test_a_labelled_line_is_what_its_label_says():
    note = (
        "## 14:00\n- **Lesson:** Never send files over 10 MB to the upload API.\n- Rule: never post the same text on two platforms."
    )
    assert noted(note) == {
        ("lessons", "Never send files over 10 MB to the upload API."),
        ("rules", "Never post the same text on two platforms."),
    }


def test_a_line_under_a_telling_heading_is_what_the_heading_says():
    note = "### What I learned\n- `PRAGMA synchronous` has no effect inside of a transaction.\n- N/A"
    assert noted(note, way=JOURNAL) == {("insights", "`PRAGMA synchronous` has no effect inside of a transaction.")}


def test_what_an_editor_wrapped_is_read_as_one_line():
    item = (
        "- `PRAGMA synchronous` has no effect inside of a transaction, because the pager\n  reads it when the transaction begins.\n"
    )
    prose = "`registry.go` must be read before any worker starts, because otherwise the first\njob finds no handler.\n- Other."
    assert noted(f"### What I learned\n{item}\n{prose}", way=JOURNAL) == {
        (
            "insights",
            "`PRAGMA synchronous` has no effect inside of a transaction, because the pager reads it when the transaction begins.",
        ),
        ("insights", "`registry.go` must be read before any worker starts, because otherwise the first job finds no handler."),
    }


def test_a_sentence_that_ends_in_a_quotation_gets_no_second_full_stop():
    note = '### What I learned\n- The error of `upload.py` means what it says: "The file is too large."'
    assert noted(note, way=JOURNAL) == {("insights", 'The error of `upload.py` means what it says: "The file is too large."')}


def test_an_abbreviation_ends_no_sentence():
    note = "### What I learned\n- The pager reads pragmas early (e.g. `PRAGMA synchronous`) and keeps them."
    assert noted(note, way=JOURNAL) == {("insights", "The pager reads pragmas early (e.g. `PRAGMA synchronous`) and keeps them.")}


def test_an_item_or_a_code_block_after_a_line_is_no_part_of_it():
    note = (
        "### What I learned\n- `PRAGMA synchronous` has no effect inside of a transaction\n"
        "  - `VACUUM` must run outside of any transaction\n```\n  must not be read\n```\n  `build.go` must be read before any worker starts."
    )
    assert noted(note, way=JOURNAL) == {
        ("insights", "`PRAGMA synchronous` has no effect inside of a transaction."),
        ("insights", "`VACUUM` must run outside of any transaction."),
        ("insights", "`build.go` must be read before any worker starts."),
    }


def test_a_list_of_things_done_teaches_nothing():
    note = "### Writing actions (4)\n1. Reply to the thread about `registry.go` (5cf48009)\n- [x] Mail answered\n- 11 matches, 0 unread, 180 new"
    assert noted(note) == set()


def test_a_decision_in_a_sentence_counts_where_it_names_something():
    note = "## Work\nSwitched to dynamic discovery in `registry.go` instead of a list of paths. We decided to rest."
    assert ("decisions", "Switched to dynamic discovery in `registry.go` instead of a list of paths.") in noted(note, way=JOURNAL)


def test_a_heading_that_says_what_work_is_about_is_a_theme_and_a_usual_one_or_a_step_that_is_over_is_not():
    theme = "## Moving worker registration out of `registry.go`\nIt goes well."
    step = "## Step 3: Write the migration for `registry.go`\nIt went well."
    assert noted(theme, step, "## Daily log\nNothing.", way=JOURNAL) == {
        ("themes", "Moving worker registration out of `registry.go`")
    }


def test_an_open_question_stays_a_question():
    note = "### Open questions\n- Does discovery in `registry.go` hold when four workflows run at once?"
    assert noted(note, way=JOURNAL) == {("open_questions", "Does discovery in `registry.go` hold when four workflows run at once?")}


def test_somebody_listed_by_name_is_a_dossier():
    assert noted("### People\n- **Ana** - runs the allotment society, answers mail on Sundays") == {
        ("people", "Ana: runs the allotment society, answers mail on Sundays.")
    }


def test_a_coding_agent_takes_from_a_diary_what_it_calls_learnt_of_something_with_a_name():
    assert noted("- **Lesson:** The upload API drops files over 10 MB in `upload.go`.", way=CODING) == {
        ("insight", "The upload API drops files over 10 MB in `upload.go`.")
    }
    assert noted("- **Decision:** We keep `upload.go` as it is.\n### People\n- **Ana** - owns `upload.go`", way=CODING) == set()


def test_a_participle_after_a_determiner_tells_no_past():
    note = "### What we learned\n- `cbor2` takes a class with no annotated fields for empty unless `Len` is given."
    learnt = {("insight", "`cbor2` takes a class with no annotated fields for empty unless `Len` is given.")}
    assert noted(note, way=CODING) == learnt


def test_the_name_of_something_is_no_lesson():
    note = "### What I learned\n- Downstream composition code of `registry.go` (the three services).\n- `registry.go` + the loop that builds handlers.\n- A card for `registry.go` rendering.\n- `registry.go` takes the lock before any handler is read."
    assert noted(note, way=CODING) == {("insight", "`registry.go` takes the lock before any handler is read.")}


def test_what_a_diary_learnt_of_its_day_or_of_nothing_with_a_name_is_not_remembered_while_coding():
    note = "### What I learned\n- The design becomes clearer when written in two layers.\n- The old `Hub` was still creating two sinks."
    assert noted(note, way=CODING) == set()


def test_a_line_that_was_wrapped_is_read_to_its_end():
    note = "### What I learned\n- The closure forces `WatermillSink`, which makes it\n  harder to add a second sink to `router.go`."
    assert noted(note, way=JOURNAL) == {
        ("insights", "The closure forces `WatermillSink`, which makes it harder to add a second sink to `router.go`.")
    }


def test_wrapping_joins_neither_items_nor_code_nor_a_heading():
    note = "### What I learned\n- Never retry `POST /pay` after a timeout\n- Always send `Idempotency-Key` with it\n\n```\nnever run `make x`\n```"
    assert {content for _, content in noted(note, way=JOURNAL)} == {
        "Never retry `POST /pay` after a timeout.",
        "Always send `Idempotency-Key` with it.",
    }


def test_work_that_was_done_is_neither_insight_nor_decision_unless_it_says_why():
    note = (
        "### What I learned\n- Removed the unused import from `router.go`.\n- Switched the handler from `OldEvent` to `NewEvent`.\n"
        "- Switched `router.go` to chi instead of mux."
    )
    assert {content for _, content in noted(note, way=JOURNAL)} == {"Switched `router.go` to chi instead of mux."}


def test_the_bookkeeping_of_a_ticket_is_no_theme():
    notes = (
        "## Upload the `tide` report to the tablet",
        "## Step 1: Ticket setup and plan",
        "## Step 2: Create the new ticket and relate files",
        "## Session totals - 18 hours",
    )
    assert noted(*notes, way=JOURNAL) == set()


def test_a_heading_that_ends_in_a_picture_gets_no_full_stop_of_another_script():
    assert all("。" not in content for _, content in noted("## Worker registration in `registry.go` moved 🎉", way=JOURNAL))


def test_a_short_list_is_told_with_the_sentence_that_announces_it():
    note = (
        "### What I learned\n- If `make proto` fails, the generator is one of two things:\n  - `protoc` 3 from the system packages, or\n"
        "  - a `buf` that cannot read `buf.yaml`.\n- Never retry `POST /pay` after a timeout."
    )
    assert noted(note, way=JOURNAL) == {
        (
            "insights",
            "If `make proto` fails, the generator is one of two things: `protoc` 3 from the system packages; a `buf` that cannot read `buf.yaml`.",
        ),
        ("insights", "Never retry `POST /pay` after a timeout."),
    }


def test_the_possible_causes_that_a_diary_lists_are_told_as_nothing_else():
    note = (
        "### What I learned\n- If `/orders` returns 502, the most likely causes are:\n  - The proxy is running in the wrong folder of `deploy/`.\n"
        "  - `ORDERS_HOST` is pointing to a host that is not running the shop."
    )
    assert noted(note, way=JOURNAL) == set()


def test_a_point_of_a_long_list_is_no_lesson_without_what_announces_it():
    points = "\n".join(
        f"- `step_{letter}.py` writes the rows of one region into its own table of the warehouse" for letter in "abcdef"
    )
    assert noted(f"### What I learned\n\nThe nightly export is one feature with many parts:\n\n{points}", way=JOURNAL) == set()


def test_a_list_inside_of_code_says_nothing():
    code = "```yaml\nservices that must never run here:\n  - `orders.db` of the shop\n  - `tide.db` of the harbour\n```"
    assert noted(f"### What I learned\n\n{code}\n- Never retry `POST /pay` after a timeout.", way=JOURNAL) == {
        ("insights", "Never retry `POST /pay` after a timeout.")
    }


def test_a_sentence_in_bold_announces_a_list_as_any_other():
    note = "### What I learned\n\n**If `make proto` fails, the most likely causes are:**\n\n- `protoc` 3 is not the one of the system.\n- `buf.yaml` is not read."
    assert noted(note, way=JOURNAL) == set()


def test_points_under_the_name_of_a_list_stand_for_themselves():
    note = "### What I learned\n\nKey points:\n\n- Never retry `POST /pay` after a timeout.\n- Always send `Idempotency-Key` with `POST /pay`."
    assert len(noted(note, way=JOURNAL)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "Renamed `keys.py` to `names.py` to match the naming of the package.",
        "After the removal, the `job-ended` event serves the same purpose.",
        "A `TokenSource` belongs there, while `Settings.Keys` and the page's own objects do not.",
        "`fetch()` and `load()` both answer with an empty `Map`, which suggests the wrapper is the right place to mend it.",
        "The best `README.md` is not a `HANDBOOK.md`.",
        "The load path of `orders.db` is robust and catches both broken rows and broken files.",
        "`ParserPool` is likely the right place to keep what `Reader` needs.",
        "The importer turns `tides.csv` into objects of these kinds:",
    ],
)
def test_a_step_a_guess_and_a_bare_judgement_are_no_lessons(line):
    assert noted(f"### What I learned\n- {line}", way=CODING) == set()


@pytest.mark.parametrize(
    "line",
    [
        "Moved the parser out of `loop.py` because the watcher calls `loop.run()` again while it reads.",
        "The safest place for the lock is `store.py`, because only one writer may hold `orders.db`.",
        "The load path of `orders.db` is robust but drops rows without a date.",
        "The right boundary is `reader.py` as a part of its own, not more methods on `Store`.",
        "In `ops/` there is no rollback, so `deploy.sh` must be run again with the tag before.",
    ],
)
def test_a_step_or_a_judgement_that_says_why_is_a_lesson(line):
    assert {content for _, content in noted(f"### What I learned\n- {line}", way=CODING)} == {line}


def test_a_plain_word_in_code_marks_is_a_name():
    note = "### What I learned\n- `cargocheck` reports findings of the active toolchain, not only those of dependencies."
    assert noted(note, way=CODING) == {
        ("insight", "`cargocheck` reports findings of the active toolchain, not only those of dependencies.")
    }


def test_how_something_was_waits_longer_than_how_it_is():
    def sure(line):
        events = [replace(each, label_reason="memory-folder") for each in talk(agent(f"### What I learned\n- {line}"))]
        made = extract(events, 0, 1, profile=CODING, lexicon=LEXICON, scope=lambda _: "project:x")
        return max((each.confidence for each in made), default=0.0)

    holds = sure("`Cart.clone()` copies every pointer of the order.")
    assert holds > sure("`Cart.clone()` already copies every pointer of the order.")
    assert holds > sure("`Cart.clone()` was called by each test of the order.")


def test_a_rule_or_lesson_without_a_verb_of_its_own_is_none():
    note = "### Log\n- Rust replacement for the shell script post.sh (per Ana's Rust preference).\n- Lesson: Ben's \"chained claims\" = proof without a ledger."
    assert noted(note) == set()
    (made,) = noted("### Log\n- Rule: no more night shifts, all watches self-run from noon on.")
    assert made[0] == "rules"


def test_a_heading_is_told_without_what_it_shouts_and_without_its_stamp():
    sections = (
        "## 🎉 MAJOR: Two papers about Tide Gauges and `gauge.py`!",
        "## Ana's plan of the `harbour-archive` tool (mail 14:05 UTC)",
    )
    assert {content for kind, content in noted(*sections) if kind == "topics"} == {
        "Two papers about Tide Gauges and `gauge.py`",
        "Ana's plan of the `harbour-archive` tool",
    }
