"""Indexing by meaning: after a run, resumed, dropped with what it was made of, and never between models."""

import pytest

from kept.adapters.index import Kind
from kept.adapters.index.head import model_of
from kept.adapters.index.vectors import Vectors
from kept.app import indexing, person
from kept.app.indexing import bring_up_to_date, standing
from kept.app.recalling import facts, search
from kept.app.running import Options, run, settle
from kept.app.safety import rebuild


@pytest.fixture
def desk(desk_at, home, transcripts):
    with desk_at(home) as desk:
        run(desk, [], Options())
        yield desk


def vectors(desk):
    return Vectors(desk.home.vectors, "hashing/1")


def test_a_run_makes_the_vectors_of_memories_and_of_what_the_user_said(desk):
    state = standing(desk)
    assert (state.model, state.waiting) == ("hashing/1", 0)
    assert state.embedded > len(desk.store.log.memories())
    hits = search(desk, "storing predictions in parquet")
    assert any(each.similarity for each in hits)


def test_a_dry_run_makes_none(desk_at, home, transcripts):
    with desk_at(home) as desk:
        run(desk, [], Options(dry=True))
        assert not desk.home.vectors.exists()


def test_what_was_not_reached_in_time_is_made_by_the_next_run(desk, monkeypatch):
    whole = standing(desk).embedded
    monkeypatch.setattr(indexing, "_AT_ONCE", 2)
    rebuild_with_no_time(desk)
    assert standing(desk).waiting > 0
    before = standing(desk)
    assert bring_up_to_date(desk, 60) == before.waiting
    assert (standing(desk).embedded, standing(desk).waiting) == (whole, 0)


def rebuild_with_no_time(desk):
    desk.home.vectors.unlink()
    bring_up_to_date(desk, -1)


def test_an_unreachable_model_leaves_a_run_done_but_for_one_line(desk_at, home, transcripts):
    with desk_at(home) as desk:
        desk.env["KEPT_EMBEDDINGS"] = "nonsense"
        report = run(desk, [], Options())
        assert report.active
        assert [each for each in report.written.problems if "meaning" in each]


def test_another_model_begins_anew_and_compares_nothing_of_the_old_one(desk):
    desk.env["KEPT_EMBEDDINGS"] = "off"
    assert all(each.similarity is None for each in search(desk, "parquet predictions"))
    assert search(desk, "parquet predictions")
    desk.env["KEPT_EMBEDDINGS"] = "hashing"
    desk.home.vectors.write_bytes(desk.home.vectors.read_bytes().replace(b"hashing/1", b"hashing/0"))
    assert all(each.similarity is None for each in search(desk, "parquet predictions"))
    bring_up_to_date(desk, 60)
    assert model_of(desk.home.vectors) == "hashing/1"
    assert any(each.similarity for each in search(desk, "parquet predictions"))


def test_what_is_forgotten_leaves_no_vector(desk):
    memory = next(each for each in desk.store.log.memories() if "Parquet" in each.content)
    row = next(each for each in vectors(desk).rows if each["kind"] == 1 and each["mark"] == indexing.mark_of(memory.content))
    stored = row["body"].tobytes()
    assert stored in desk.home.vectors.read_bytes()
    person.forget(desk, [memory.id])
    assert stored not in desk.home.vectors.read_bytes()
    assert not any(each.id == memory.id for each in search(desk, "parquet predictions"))


def test_what_a_person_adds_is_found_by_its_meaning_at_once(desk):
    settle(desk, lambda: person.add(desk, "Deploy the zeppelin only on Mondays.", category="decision"))
    found = facts(desk, "when do we deploy zeppelins?")
    assert found[0].text.startswith("Deploy the zeppelin")
    assert found[0].similarity > 0.3


def test_a_message_unlike_everything_has_no_relevant_facts(desk):
    assert facts(desk, "marmalade recipe with oranges") == ()
    assert facts(desk, "") == ()


def test_facts_are_found_by_words_alone_where_there_is_no_model(desk):
    desk.env["KEPT_EMBEDDINGS"] = "off"
    found = facts(desk, "store predictions as parquet")
    assert found
    assert found[0].similarity is None
    assert facts(desk, "marmalade recipe with oranges") == ()


def test_a_rebuild_makes_all_vectors_anew(desk):
    before = standing(desk).embedded
    rebuild(desk)
    assert standing(desk).embedded == before
    assert search(desk, "parquet predictions", where=(Kind.MEMORY,))[0].similarity


def test_noted_uses_raise_a_fact_and_outlive_a_rebuild(desk):
    memory = next(each for each in desk.store.log.memories() if "Parquet" in each.content)
    before = next(each for each in facts(desk, memory.content) if each.id == memory.id)
    desk.home.used.write_text(f"{memory.id}\n" * 30 + "nonsense; DROP TABLE\n")
    bring_up_to_date(desk, 1)
    rebuild(desk)
    after = next(each for each in facts(desk, memory.content) if each.id == memory.id)
    assert after.score > before.score
    assert not desk.home.used.exists()
