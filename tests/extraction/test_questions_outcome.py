"""What a session or a day came to, put together from the points of its parts."""

import pytest

from kept.core.summary import SummaryPoint
from kept.extraction.questions.claims import build_condense_ask, merge_points, read_condensed_points
from kept.profiles.prompts import question_text

DECIDED = "The importer keeps amounts as integers in cents because floats lose money."
POINTS = (
    SummaryPoint(kind="problems", text="The importer failed on rows without a currency code.", events=("a",)),
    SummaryPoint(kind="questions", text="Should the importer keep amounts as integers in cents?", events=("b",)),
    SummaryPoint(kind="problems", text="Importer failed on rows without a currency code again.", events=("c",)),
    SummaryPoint(kind="decisions", text=DECIDED, events=("d",)),
    SummaryPoint(kind="questions", text="Who owns the staging database?", events=("e",)),
)


def test_said_twice_is_said_once_and_a_settled_question_is_none_any_more():
    kept = merge_points(POINTS)
    assert [(each.kind, each.events) for each in kept] == [("problems", ("a", "c")), ("decisions", ("d",)), ("questions", ("e",))]
    assert merge_points(kept) == kept


def test_a_question_asked_after_the_decision_stays_open():
    assert len(merge_points((POINTS[3], POINTS[1]))) == 2


def test_points_that_differ_in_a_number_or_a_denial_stay_apart():
    left = SummaryPoint(kind="problems", text="The build failed on worker 3 with a timeout.", events=("a",))
    right = SummaryPoint(kind="problems", text="The build failed on worker 4 with a timeout.", events=("b",))
    assert len(merge_points((left, right))) == 2


def sums(**kinds):
    return {"problems": [], "solutions": [], "decisions": [], "questions": []} | kinds


def test_a_reply_may_only_use_points_it_was_given():
    text = "The importer keeps amounts as integers in cents."
    body = sums(
        decisions=[{"text": text, "points": ["p4"]}, {"text": text, "points": ["p4", "p9"]}, {"text": text, "points": []}],
        problems=[
            {"text": "The office moved to Lisbon in spring.", "points": ["p1"]},
            {"text": "The `ledger.py` importer failed on rows.", "points": ["p1"]},
        ],
    )
    assert read_condensed_points(body, POINTS) == ((SummaryPoint(kind="decisions", text=text, events=("d",)),), 4)


def test_a_reply_of_another_form_is_no_reply():
    with pytest.raises(ValueError, match="reply"):
        read_condensed_points({"text": "All went well."}, POINTS)


def test_the_question_holds_every_point_and_nothing_of_the_conversation():
    _, version = question_text("outcome")
    ask = build_condense_ask(POINTS, about=("s",))
    assert (ask.purpose, ask.version, ask.about) == ("summary", version, ("s",))
    assert ask.prompt.splitlines()[3] == f"p4 (decisions): {DECIDED}"
    assert len(ask.prompt.splitlines()) == len(POINTS)
