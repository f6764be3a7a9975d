"""Recalling over the bundled sample: what is found, within which limits, and why."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kept.adapters.index import Kind
from kept.app.desk import Home, opened
from kept.app.evaluating import archive
from kept.app.recalling import Filters, search
from kept.app.running import Options, run

HOSTILE = (
    '"; -- ( * ^ : {',
    "NEAR(a b, 2)",
    'a" OR "b',
    "words:x",
    "\x00\x07\x1b[31m",
    "\ud800",
    "' OR 1=1 --",
    "NOT AND OR",
    "a*",
    "x" * 1_000_000,
)


@pytest.fixture
def desk(desk_at, home, transcripts):
    with desk_at(home) as desk:
        run(desk, [], Options())
        yield desk


def test_memories_summaries_and_turns_are_found_with_reasons(desk):
    hits = search(desk, "how do we store predictions in parquet?", limit=20)
    assert {each.kind for each in hits} == {Kind.MEMORY, Kind.SUMMARY, Kind.TURN}
    assert all(each.reasons and each.text and each.last_at for each in hits)
    assert any(each.project == "harbor" for each in hits)


def test_no_text_is_an_operator_and_none_breaks_a_search(desk):
    for query in HOSTILE:
        search(desk, query)
    assert search(desk, '"; -- ( * ^ : {') == ()


def test_filters_bound_what_is_found(desk):
    hits = search(desk, "parquet predictions dates")
    scope = next(each.scope for each in hits if each.scope.startswith("project:"))
    assert {each.scope for each in search(desk, "parquet predictions dates", filters=Filters(scopes=(scope,)))} == {scope}
    assert search(desk, "parquet", filters=Filters(project="nowhere")) == ()
    last = max(each.last_at for each in hits if each.kind is Kind.TURN)
    later = search(desk, "parquet predictions dates", where=(Kind.TURN,), filters=Filters(since=last))
    assert later
    assert all(each.last_at >= last for each in later)
    assert all(
        each.category == "decision" for each in search(desk, "parquet", where=(Kind.MEMORY,), filters=Filters(category="decision"))
    )


def test_what_was_worked_on_is_found_as_a_summary(desk):
    (hit, *_) = search(desk, "parquet predictions rejected csv", where=(Kind.SUMMARY,))
    assert hit.kind is Kind.SUMMARY
    assert desk.store.archive.event(hit.id) is not None
    assert hit.text
    assert hit.last_at
    assert (
        search(
            desk, "parquet predictions rejected csv", where=(Kind.SUMMARY,), filters=Filters(until=hit.last_at, scopes=("user",))
        )
        == ()
    )


def test_of_two_turns_that_say_the_same_the_one_whose_conversation_is_about_the_question_comes_first(tmp_path):
    def said(session, *texts):
        return [{"id": f"{session}{n}", "session": session, "role": "user", "text": text} for n, text in enumerate(texts)]

    filler = [said(f"f{n}", "We painted the fence.", "It rained all day.", "Lunch was late.") for n in range(4)]
    about = said("about", "The crane needs new cables.", "Then the weather turned.", "Which supplier do we take?")
    other = said("other", "The choir sings tonight.", "Then the evening came.", "Which supplier do we take?")
    with opened(Home(root=tmp_path, user=tmp_path), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as desk:
        names = archive(desk, [each for group in (other, about, *filler) for each in group])
        hits = search(desk, "supplier of the crane cables", where=(Kind.TURN,))
    order = [names[each.id] for each in hits]
    assert order.index("about2") < order.index("other2")


def test_where_nothing_but_a_time_is_asked_for_nothing_of_another_time_answers(tmp_path):
    def said(day, text):
        return {"id": day, "session": day, "role": "user", "date": f"{day} 10:00:00", "text": text}

    items = [
        said("2026-02-10", "The pump was painted."),
        said("2026-06-02", "Keep a diary of what you work on."),
        said("2026-06-03", "Lunch."),
    ]
    with opened(Home(root=tmp_path, user=tmp_path), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as desk:
        names = archive(desk, items)
        asked = replace(desk, clock=lambda: datetime(2026, 6, 4, tzinfo=UTC))
        hits = search(asked, "what did I work on in February?", where=(Kind.TURN,))
    assert [names[each.id] for each in hits] == ["2026-02-10"]
