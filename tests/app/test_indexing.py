"""Indexing by meaning: after a run, resumed, dropped with what it was made of, and never between models."""

import pytest

from kept.changes import settle
from kept.core.memory import Status
from kept.memories import person
from kept.pipeline.run import Options, run
from kept.pipeline.safety import rebuild
from kept.recall import indexing
from kept.recall.index import Kind, opened
from kept.recall.index.head import model_of
from kept.recall.index.vectors import Vectors
from kept.recall.indexing import bring_up_to_date, standing
from kept.recall.search import cosines, search
from talking import forget_ids


@pytest.fixture
def desk(desk_at, home, transcripts):
    with desk_at(home) as desk:
        run(desk, [], Options())
        yield desk


def scopes(desk):
    return sorted({each.scope for each in desk.store.log.memories()})


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
    forget_ids(desk, [memory.id])
    assert stored not in desk.home.vectors.read_bytes()
    assert not any(each.id == memory.id for each in search(desk, "parquet predictions"))


def test_what_a_person_adds_is_found_by_its_meaning_at_once(desk):
    settle(desk, lambda: person.add(desk, "Deploy the zeppelin only on Mondays.", category="decision"))
    near = cosines(desk, "when do we deploy zeppelins?", scopes(desk))
    nearest = next(iter(near))
    assert desk.store.log.memory(nearest).content.startswith("Deploy the zeppelin")
    assert near[nearest] == max(near.values()) > 0.3


def test_a_message_unlike_everything_is_near_to_nothing(desk):
    assert cosines(desk, "marmalade recipe with oranges", scopes(desk)) == {}
    assert cosines(desk, "", scopes(desk)) == {}


def test_nothing_is_near_that_is_retired_of_another_scope_or_told_otherwise_since(desk):
    nearest = next(each for each in desk.store.log.memories() if each.status is Status.ACTIVE and each.scope != "user")
    words = nearest.content
    assert next(iter(cosines(desk, words, scopes(desk)))) == nearest.id
    assert nearest.id not in cosines(desk, words, [each for each in scopes(desk) if each != nearest.scope])
    person.edit(desk, nearest.id, "Otherwise now.")
    assert nearest.id not in cosines(desk, words, scopes(desk))
    settle(desk, lambda: None)
    assert next(iter(cosines(desk, "Otherwise now.", scopes(desk)))) == nearest.id
    person.retire(desk, nearest.id)
    assert nearest.id not in cosines(desk, "Otherwise now.", scopes(desk))


def test_where_there_is_no_model_nothing_is_near_by_meaning_and_words_find_it(desk):
    desk.env["KEPT_EMBEDDINGS"] = "off"
    assert cosines(desk, "store predictions as parquet", scopes(desk)) == {}
    assert search(desk, "store predictions as parquet", where=(Kind.MEMORY,))[0].similarity is None


def test_a_rebuild_makes_all_vectors_anew(desk):
    before = standing(desk).embedded
    rebuild(desk)
    assert standing(desk).embedded == before
    assert search(desk, "parquet predictions", where=(Kind.MEMORY,))[0].similarity


def test_noted_uses_are_counted_and_outlive_a_rebuild(desk):
    memory = next(each for each in desk.store.log.memories() if "Parquet" in each.content)
    desk.home.used.write_text(f"{memory.id}\n" * 30 + "nonsense; DROP TABLE\n")
    bring_up_to_date(desk, 1)
    rebuild(desk)
    with opened(desk.home.store) as index:
        rows = index.units(Kind.MEMORY, range(1, 1_000)).values()
    assert {each.id: each.uses for each in rows if each.uses} == {memory.id: 30}
    assert not desk.home.used.exists()
