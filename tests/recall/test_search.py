"""Recalling over the bundled sample: what is found, within which limits, and why."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kept.evaluation.retrieval import archive_items
from kept.paths import Paths
from kept.recall.index import UnitKind
from kept.recall.search import Filters, search
from kept.workspace import open_workspace

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
def workspace(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        yield workspace


def test_memories_summaries_and_turns_are_found_with_reasons(workspace):
    hits = search(workspace, "how do we store predictions in parquet?", limit=20)
    assert {each.kind for each in hits} == {UnitKind.MEMORY, UnitKind.SUMMARY, UnitKind.TURN}
    assert all(each.reasons and each.text and each.last_at for each in hits)
    assert any(each.project == "harbor" for each in hits)


def test_no_text_is_an_operator_and_none_breaks_a_search(workspace):
    for query in HOSTILE:
        search(workspace, query)
    assert search(workspace, '"; -- ( * ^ : {') == ()


def test_filters_bound_what_is_found(workspace):
    hits = search(workspace, "parquet predictions dates")
    scope = next(each.scope for each in hits if each.scope.startswith("project:"))
    assert {each.scope for each in search(workspace, "parquet predictions dates", filters=Filters(scopes=(scope,)))} == {scope}
    assert search(workspace, "parquet", filters=Filters(project="nowhere")) == ()
    last = max(each.last_at for each in hits if each.kind is UnitKind.TURN)
    later = search(workspace, "parquet predictions dates", where=(UnitKind.TURN,), filters=Filters(since=last))
    assert later
    assert all(each.last_at >= last for each in later)
    assert all(
        each.category == "decision"
        for each in search(workspace, "parquet", where=(UnitKind.MEMORY,), filters=Filters(category="decision"))
    )


def test_what_was_worked_on_is_found_as_a_summary(workspace):
    (hit, *_) = search(workspace, "parquet predictions rejected csv", where=(UnitKind.SUMMARY,))
    assert hit.kind is UnitKind.SUMMARY
    assert workspace.store.archive.event(hit.id) is not None
    assert hit.text
    assert hit.last_at
    assert (
        search(
            workspace,
            "parquet predictions rejected csv",
            where=(UnitKind.SUMMARY,),
            filters=Filters(until=hit.last_at, scopes=("user",)),
        )
        == ()
    )


def test_of_two_turns_that_say_the_same_the_one_whose_conversation_is_about_the_question_comes_first(tmp_path):
    def said(session, *texts):
        return [{"id": f"{session}{n}", "session": session, "role": "user", "text": text} for n, text in enumerate(texts)]

    filler = [said(f"f{n}", "We painted the fence.", "It rained all day.", "Lunch was late.") for n in range(4)]
    about = said("about", "The crane needs new cables.", "Then the weather turned.", "Which supplier do we take?")
    other = said("other", "The choir sings tonight.", "Then the evening came.", "Which supplier do we take?")
    with open_workspace(Paths(root=tmp_path, user=tmp_path), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as workspace:
        names = archive_items(workspace, [each for group in (other, about, *filler) for each in group])
        hits = search(workspace, "supplier of the crane cables", where=(UnitKind.TURN,))
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
    with open_workspace(Paths(root=tmp_path, user=tmp_path), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as workspace:
        names = archive_items(workspace, items)
        asked = replace(workspace, clock=lambda: datetime(2026, 6, 4, tzinfo=UTC))
        hits = search(asked, "what did I work on in February?", where=(UnitKind.TURN,))
    assert [names[each.id] for each in hits] == ["2026-02-10"]


@pytest.fixture
def asked(tmp_path):
    """Asks turns, archived in this order, for something at noon of a day; told are their ids."""

    def ask(items, query, day="2026-06-04"):
        with open_workspace(Paths(root=tmp_path, user=tmp_path), zone="UTC", env={"KEPT_EMBEDDINGS": "off"}) as workspace:
            names = archive_items(workspace, items)
            then = replace(workspace, clock=lambda: datetime.fromisoformat(f"{day}T12:00:00+00:00"))
            return [(names[each.id], each.reasons) for each in search(then, query, where=(UnitKind.TURN,))]

    return ask


def said_on(day, text, role="user"):
    return {"id": f"{day} {role}", "session": day, "role": role, "date": f"{day} 10:00:00", "text": text}


DIARY = (
    said_on("2026-05-20", "We decided to ship the parser without colours."),
    said_on("2026-03-05", "The pump was painted."),
    said_on("2026-06-02", "Version two is out: the release went well."),
    said_on("2026-03-20", "Invoices are stored as Parquet."),
    said_on("2026-06-03", "Lunch with the painters of the pump."),
)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did we decide last Tuesday?", ["2026-06-02"]),
        ("in March", ["2026-03-20", "2026-03-05"]),
        ("what happened in March", ["2026-03-20", "2026-03-05"]),
        ("yesterday", ["2026-06-03"]),
        ("two weeks ago", ["2026-05-20"]),
        ("in August", []),
    ],
)
def test_a_question_for_a_time_is_answered_with_what_is_of_it(asked, question, days):
    assert [name.split()[0] for name, _ in asked(DIARY, question)] == days


def test_of_what_fits_a_question_what_is_of_the_time_it_names_comes_first_and_says_so(asked):
    (first, why), (second, _) = asked(DIARY, "the pump in March")
    assert (first, second) == ("2026-03-05 user", "2026-06-03 user")
    assert "its time: in march" in why


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ("Write the changelog entry.", "the change log of today"),
        ("Write the change log entry.", "changelog"),
        ("Write the change-log entry.", "changelog"),
        ("Where is the login form?", "log in form"),
        ("Log in before you push.", "how does login work"),
        ("The startup script hangs.", "why does it hang on start up"),
    ],
)
def test_a_word_is_found_whether_it_is_written_as_one_or_as_two(asked, written, question):
    others = [said_on(f"2026-04-{day:02}", "Lunch was late, and nobody minded.") for day in range(1, 6)]
    ((name, why), *_) = asked([*others, said_on("2026-04-20", written)], question)
    assert name == "2026-04-20 user"
    assert why[0].startswith("its words: ")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_words_that_stand_beside_each_other_count_more_than_the_same_words_apart(asked, order):
    near = said_on("2026-04-01", "The rubber duck sat on the shelf beside the green lamp.")
    far = said_on("2026-04-02", "The duck sat on the rubber shelf beside the green lamp.")
    other = said_on("2026-04-03", "Nothing of this kind was seen in the other rooms.")
    items = [(near, far, other)[place] for place in order]
    assert asked(items, "rubber duck")[0][0] == "2026-04-01 user"


def test_how_rare_a_word_of_the_person_is_does_not_depend_on_what_assistants_said(asked):
    people = [said_on("2026-04-01", "The valve leaks again."), said_on("2026-04-02", "The boiler leaks again.")]
    replies = [said_on(f"2026-04-{day:02}", "The valve, the valve and once more the valve.", "assistant") for day in range(10, 20)]
    found = [name for name, _ in asked([*people, *replies], "does the valve leak")]
    assert found[0] == "2026-04-01 user"
    assert any(name.endswith("assistant") for name in found)
