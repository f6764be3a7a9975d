"""Search and filters of Memories, as the server answers them: what a filter says is what it does, and memories stand first."""

import re

import pytest

from kept.core.value import replace
from kept.pipeline.run import RunOptions, run_pipeline
from kept.web.pages import memories
from talking import say

DATES = "In this project we always write dates as ISO 8601 in UTC, never in local time."
TIMES = "In this project we always write times as ISO 8601 with seconds, never without."


@pytest.fixture
def twins(served, home):
    """Two projects of one name, so that each is called by its folder as well, and a fact of each."""
    say(home, "one", DATES, cwd="/a/cli", day="2026-01-05")
    say(home, "two", TIMES, cwd="/b/cli", day="2026-02-10")
    with served.workspace() as workspace:
        run_pipeline(workspace, [], RunOptions(model=False))
    return served


def projects(text):
    """The projects that can be chosen: value, name and count."""
    select = text.split('id="f-project"')[1].split("</select>")[0]
    return re.findall(r'<option value="([^"]+)"[^>]*>(.+?) \((\d+)\)</option>', select)


def found(text):
    return re.findall(r'<li class="row" id="m-', text)


def test_words_are_found_in_every_project_that_can_be_chosen(twins):
    choices = projects(twins.ask("GET", "/")[2])
    assert sorted(name for _, name, _ in choices) == ["cli (a)", "cli (b)"]
    for value, _, count in choices:
        assert len(found(twins.ask("GET", f"/?project={value}")[2])) == int(count) == 1
        assert len(found(twins.ask("GET", f"/?q=ISO+8601&project={value}&within=memories")[2])) == 1


def test_nothing_found_says_how_much_there_is_without_the_filters(twins):
    text = twins.ask("GET", "/?q=seconds&category=coding.workflow")[2]
    assert "Nothing found with these filters" in text
    assert re.search(r"Without the filters there are <a [^>]+>\d+ hits?</a>", text)
    assert "No memory, day or conversation answers that" in twins.ask("GET", "/?q=qqqqzzzz&exact=true")[2]


def test_what_only_resembles_the_question_a_little_is_left_out_as_by_the_command(twins, monkeypatch):
    def far(*asked, **given):
        return tuple(replace(hit, reasons=("its meaning (0.34)",), similarity=0.34) for hit in real(*asked, **given))

    real = memories.search
    assert len(found(twins.ask("GET", "/?q=ISO+8601")[2])) == 2
    monkeypatch.setattr(memories, "search", far)
    text = twins.ask("GET", "/?q=ISO+8601")[2]
    assert found(text) == []
    assert "No memory, day or conversation answers that" in text


def test_memories_stand_before_days_and_conversations_and_the_order_is_the_one_that_is_chosen(twins):
    text = twins.ask("GET", "/?q=ISO+8601")[2]
    assert text.index("<h2>Memories") < text.index("<h2>Conversations")
    assert "<title>“ISO 8601”, search · kept</title>" in text
    assert ">best first</option>" in text
    assert ">active or held</option>" in text
    for order, days in (("newest", ["2026-02-10", "2026-01-05"]), ("oldest", ["2026-01-05", "2026-02-10"])):
        text = twins.ask("GET", f"/?q=ISO+8601&within=memories&sort={order}")[2]
        assert re.findall(r'<span class="num">(\d{4}-\d\d-\d\d)</span>', text) == days
        assert f"{order} first" in text


def test_what_was_said_between_two_days_has_a_place_to_ask(twins):
    assert "8601 in UTC" in twins.ask("GET", "/?since=2026-01-01&until=2026-01-31")[2]
    assert "with seconds" not in twins.ask("GET", "/?since=2026-01-01&until=2026-01-31")[2]
    assert len(found(twins.ask("GET", "/?q=ISO+8601&since=2026-02-01&until=2026-02-28&within=memories")[2])) == 1
    assert twins.ask("GET", "/?since=2026-13-45")[0] == 200


def test_what_is_held_stands_below_what_is_remembered_and_each_hit_shows_why_it_was_found(served):
    served.hold("Bake the walnut notes twice.")
    served.add("Each walnut note has a date. The GoWalnut is unnoted.")
    text = served.ask("GET", "/?q=walnut+notes")[2]
    remembered, held = text.split("Held for your decision", 1)
    assert "has a date" in remembered
    assert "Bake the" in held
    assert "<mark>walnut</mark> <mark>note</mark> has" in remembered
    assert "Go<mark>Walnut</mark> is unnoted" in remembered
