"""Checks that are run after a change."""

from talk import LEXICON, PROFILE, agent, found, talk, user

from kept.model.event import Author, Kind, Tool
from kept.model.memory import REPETITION, Held, Judged
from kept.stages.curate import curate
from kept.stages.extract import extract
from kept.stages.gate import judge


def used(name, target, call, text="", **ended):
    return (
        (Kind.TOOL_CALL, Author.ASSISTANT, "", Tool(name=name, target=target, call=call)),
        (Kind.TOOL_OUTPUT, Author.TOOL, text, Tool(name=name, target=target, call=call, **ended)),
    )


EDIT = used("Edit", "src/a.go", "c1", ok=True)
CHECKS = (*used("Bash", "go test ./... 2>&1 | tail -5", "c2", ok=True), *used("Bash", "golangci-lint run", "c3", ok=True))


def habits(*turns):
    return [each.content for each in found(user("please split the parser"), *turns) if each.trigger == REPETITION]


def test_the_checks_that_passed_after_a_change_are_seen_in_the_order_in_which_people_run_them():
    assert habits(*EDIT, *CHECKS) == ["Checks run after a change: `golangci-lint run`, `go test ./...`."]


def test_a_check_without_a_change_or_of_one_place_is_no_habit():
    assert habits(*CHECKS) == []
    assert habits(*EDIT, *used("Bash", "go test -run TestOne ./pkg/one", "c2", ok=True)) == []
    assert habits(*EDIT, *used("Bash", "go test ./...", "c2", ok=False)) == []


def test_a_habit_makes_no_memory_until_three_sessions_show_it():
    seen = []
    for number in range(3):
        session = f"s{number}"
        events = talk(user("please split the parser"), *EDIT, *CHECKS, agent("Done."), session=session)
        made = extract(events, 0, len(events), profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
        seen += [Judged(candidate=each, verdict=judge(each, PROFILE, lexicon=LEXICON)) for each in made]
        assert all(isinstance(each.verdict, Held) for each in seen)
        assert len(curate(seen, ())) == (1 if number == 2 else 0)
