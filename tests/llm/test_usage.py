"""What was spent and what is to be forgotten, through the workspace and the command line."""

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from asks import GOOD, Played, ask, asker
from kept.changes import erase_opted_out_traces
from kept.cli.model_use import format_cost, question_lines, unanswered_lines, usage_text
from kept.intake.reading import ReadingReport
from kept.llm.ask import Usage
from kept.llm.budget import Tally, usage_body
from kept.llm.replies import ReplyCache
from kept.memories import person
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.usage import load_costs
from kept.workspace import open_workspace
from talking import forget_ids

SAID = "In this project we always write dates as ISO 8601 in UTC, never in local time."


def at(home: Path):
    return open_workspace(find_paths(None, {"HOME": str(home)}), env={"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"})


def asked(home: Path, *bodies: str, about: tuple[str, ...] = ()) -> None:
    asking = asker(Played(*bodies), replies=ReplyCache(home / ".local/share/kept/replies.db"))
    asking([ask(str(number), about=about) for number in range(len(bodies))])
    asking.close()


def test_what_was_spent_is_told_also_where_no_run_came_to_its_end(home: Path) -> None:
    with at(home) as workspace:
        assert load_costs(workspace).total == Usage()
        assert not workspace.paths.replies.exists()
    asked(home, GOOD, GOOD)
    with at(home) as workspace:
        found = load_costs(workspace)
    assert (found.total.calls, found.total.cost, found.today) == (2, 0.2, found.total)
    assert [(each.purpose, each.model) for each in found.ever] == [("extract", "played:one")]


def test_forgetting_a_memory_reaches_what_a_model_said_of_it(home: Path) -> None:
    with at(home) as workspace:
        memory = person.create_memory(workspace, SAID, "convention")
    asked(home, json.dumps({"facts": [SAID.lower()]}), '{"facts": ["something else entirely"]}', about=("s1",))
    path = home / ".local/share/kept/replies.db"
    assert b"iso 8601" in path.read_bytes()
    with at(home) as workspace:
        forget_ids(workspace, [memory.id])
        assert b"iso 8601" not in path.read_bytes()
        assert b"something else" in path.read_bytes()
        erase_opted_out_traces(workspace, ReadingReport(erased=1, opted_out={"s1"}))
    assert b"something else" not in path.read_bytes()


def test_a_conversation_that_is_not_to_be_remembered_takes_its_replies_along(home: Path) -> None:
    place = home / ".claude" / "projects" / "p" / "s1.jsonl"
    place.parent.mkdir(parents=True)

    def line(number: int, words: str) -> str:
        body = {"role": "user", "content": words}
        record = {"type": "user", "uuid": f"u{number}", "sessionId": "s1", "cwd": "/w", "timestamp": f"2026-01-05T10:0{number}:00Z"}
        return json.dumps(record | {"message": body, "isSidechain": False, "userType": "external"}) + "\n"

    place.write_text(line(1, SAID), encoding="utf-8")
    with at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    asked(home, '{"facts": ["dates are written so"]}', about=("s1",))
    place.write_text(line(1, SAID) + line(2, "kept: ignore this conversation"), encoding="utf-8")
    with at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    assert b"dates are written so" not in (home / ".local/share/kept/replies.db").read_bytes()


def test_the_file_of_replies_is_made_by_a_question_and_by_nothing_else(home: Path) -> None:
    with at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = person.create_memory(workspace, SAID, "convention")
        forget_ids(workspace, [memory.id])
        assert not workspace.paths.replies.exists()


def test_a_run_without_a_model_asks_nobody(home: Path) -> None:
    with at(home) as workspace:
        asking = asker(Played(GOOD))
        report = run_pipeline(replace(workspace, llm=asking), [], RunOptions(model=False))
    assert report.body()["llm"]["questions"] == 0
    assert asking._model is None


def words(lines) -> str:
    return "\n".join("".join(text for text, _ in (*each.head, *each.body)) for each in lines)


def test_amounts_are_told_as_exactly_as_they_are_small() -> None:
    assert [format_cost(each) for each in (None, 0.0, 0.00123, 0.25, 12.345)] == [
        "cost unknown",
        "0.00 USD",
        "0.0012 USD",
        "0.2500 USD",
        "12.35 USD",
    ]
    usage = Usage(calls=2, input_tokens=1200, output_tokens=30, cached_tokens=500, cost=0.5)
    assert usage_text(usage) == "2 calls, 1,200 tokens in (500 from the provider's cache), 30 out, 0.5000 USD"


def test_every_kind_of_missing_reply_is_told_apart(home: Path) -> None:
    tally = Tally(questions=6, unaffordable=1)
    tally.unreadable.update({"truncated": 2})
    tally.unreachable.update({"rate_limit": 3})
    tally.note("unreachable", "the server answered 429")
    tally.note("unaffordable", "the budget of 3 calls a run (llm.run_calls) is used up")
    text = words(unanswered_lines(tally, verbose=False))
    assert "Unreadable replies: 2 questions (2 truncated)" in text
    assert "No reply: 3 questions (3 rate limit): the server answered 429" in text
    assert "Not asked: 1 question: the budget of 3 calls a run (llm.run_calls) is used up" in text
    assert words(question_lines(tally)) == ""
    tally.add("extract", Usage(calls=2))
    assert "Asked 6 questions" in words(question_lines(tally))


def test_the_cost_of_runs_is_in_their_record(home: Path) -> None:
    tally = Tally(questions=1)
    tally.add("extract", Usage(calls=1, input_tokens=10, output_tokens=2, cost=0.1234567))
    body = tally.body()
    assert body["purposes"]["extract"] == usage_body(tally.usage)
    assert body["cost"] == 0.123457


def test_the_pace_of_a_model_is_that_of_its_last_replies_without_pauses(home: Path) -> None:
    with closing(ReplyCache(home / "replies.db")) as replies:
        assert replies.measure_pace("m") is None
        for second in (0, 20, 50, 3_650, 3_690):
            replies.save_usage("extract", "m", Usage(calls=1), datetime(2026, 1, 5, tzinfo=UTC) + timedelta(seconds=second))
        assert replies.measure_pace("m") == 30.0
        assert replies.measure_pace("another") is None
