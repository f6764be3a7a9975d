"""Indexing by meaning: after a run, resumed, dropped with what it was made of, and never between models."""

import json
from base64 import b64encode
from dataclasses import replace

import pytest

from kept.changes import apply_person_change
from kept.core.memory import Actor, Status
from kept.core.operation import Reaffirm, to_facts
from kept.memories import person
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import rebuild_store
from kept.recall import indexing
from kept.recall.embed import create_embedder
from kept.recall.index import UnitKind, open_index
from kept.recall.index.head import vector_model
from kept.recall.index.vectors import Vectors
from kept.recall.indexing import update_index, vector_status
from kept.recall.relevance import ACROSS, DOUBT
from kept.recall.search import find_near_memories, find_said_turns, search
from kept.store.values import Draft
from talking import forget_ids


@pytest.fixture
def workspace(desk_at, home, remembered_sample):
    with desk_at(home) as workspace:
        yield workspace


def scopes(workspace):
    return sorted({each.scope for each in workspace.store.log.memories()})


def vectors(workspace):
    return Vectors(workspace.paths.vectors, "hashing/1")


def test_a_run_makes_the_vectors_of_memories_and_of_what_the_user_said(workspace):
    state = vector_status(workspace)
    assert (state.model, state.waiting) == ("hashing/1", 0)
    assert state.embedded > len(workspace.store.log.memories())
    hits = search(workspace, "storing predictions in parquet")
    assert any(each.similarity for each in hits)


def test_a_dry_run_makes_none(desk_at, home, transcripts):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions(dry=True))
        assert not workspace.paths.vectors.exists()


def test_what_was_not_reached_in_time_is_made_by_the_next_run(workspace, monkeypatch):
    whole = vector_status(workspace).embedded
    monkeypatch.setattr(indexing, "_AT_ONCE", 2)
    rebuild_with_no_time(workspace)
    assert vector_status(workspace).waiting > 0
    before = vector_status(workspace)
    assert update_index(workspace, 60) == before.waiting
    assert (vector_status(workspace).embedded, vector_status(workspace).waiting) == (whole, 0)


def test_nobody_who_has_nothing_new_read_waits_for_vectors(workspace):
    rebuild_with_no_time(workspace)
    waiting = vector_status(workspace).waiting
    run_pipeline(workspace, [], RunOptions())
    assert vector_status(workspace).waiting == waiting > 0


def test_memories_get_their_vectors_before_anything_else_and_some_times_the_seconds(workspace, monkeypatch):
    workspace.paths.vectors.unlink()
    clock = iter(range(1_000))  # every look at it is a second later
    monkeypatch.setattr(indexing, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(indexing, "_AT_ONCE", 1)
    update_index(workspace, 2.0)
    assert UnitKind.MEMORY not in workspace.store.queue.count_pending()
    assert UnitKind.TURN in workspace.store.queue.count_pending()


def test_turns_have_seconds_of_their_own_where_notes_have_used_theirs(workspace, monkeypatch):
    def count_pending():
        return workspace.store.queue.count_pending()

    rebuild_with_no_time(workspace)
    before = count_pending()
    clock = iter(range(1_000))
    monkeypatch.setattr(indexing, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(indexing, "_AT_ONCE", 1)
    update_index(workspace, 2.0)
    left = count_pending()
    assert {kind: before[kind] - left[kind] for kind in (UnitKind.SUMMARY, UnitKind.TURN)} == {
        UnitKind.SUMMARY: 2,
        UnitKind.TURN: 2,
    }


def rebuild_with_no_time(workspace):
    workspace.paths.vectors.unlink()
    update_index(workspace, -1)


def test_an_unreachable_model_leaves_a_run_done_but_for_one_line(desk_at, home, transcripts):
    with desk_at(home) as workspace:
        workspace.env["KEPT_EMBEDDINGS"] = "nonsense"
        report = run_pipeline(workspace, [], RunOptions())
        assert report.active
        assert [each for each in report.written.problems if "meaning" in each]


def test_another_model_begins_anew_and_compares_nothing_of_the_old_one(workspace):
    workspace.env["KEPT_EMBEDDINGS"] = "off"
    assert all(each.similarity is None for each in search(workspace, "parquet predictions"))
    assert search(workspace, "parquet predictions")
    workspace.env["KEPT_EMBEDDINGS"] = "hashing"
    workspace.paths.vectors.write_bytes(workspace.paths.vectors.read_bytes().replace(b"hashing/1", b"hashing/0"))
    assert all(each.similarity is None for each in search(workspace, "parquet predictions"))
    update_index(workspace, 60)
    assert vector_model(workspace.paths.vectors) == "hashing/1"
    assert any(each.similarity for each in search(workspace, "parquet predictions"))


def test_a_request_that_needs_a_memory_finds_it_by_meaning_and_what_is_forgotten_leaves_no_vector(workspace):
    memory = next(each for each in workspace.store.log.memories() if "Parquet" in each.content)
    request = "bake marmalade with oranges"
    assert next(iter(find_near_memories(workspace, request, scopes(workspace))), "") != memory.id
    now = workspace.clock()
    needed = Reaffirm(memory=memory.id, at=now, reason="said", facts=replace(to_facts(memory), needed_for=(request,)))
    run = workspace.store.log.start_run("test", now)
    workspace.store.log.commit(
        Draft(run=run, stage="curate", subject="test", actor=Actor.MACHINE, recorded_at=now, operations=(needed,))
    )
    update_index(workspace, 60)
    assert next(iter(find_near_memories(workspace, request, scopes(workspace)))) == memory.id
    mark = indexing.text_hash(memory.content)
    stored = [each["body"].tobytes() for each in vectors(workspace).rows if each["kind"] == 1 and each["mark"] == mark]
    assert len(stored) == 2
    assert all(each in workspace.paths.vectors.read_bytes() for each in stored)
    forget_ids(workspace, [memory.id])
    assert not any(each in workspace.paths.vectors.read_bytes() for each in stored)
    assert not any(each.id == memory.id for each in search(workspace, "parquet predictions"))


def converse(workspace, *texts, session="55555555-5555-4555-8555-555555555555"):
    """Run kept over a session in which the person and the assistant say these texts in turn; the session's scope."""
    path = workspace.paths.user / ".claude" / "projects" / "-work-harbor" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    common = {"sessionId": session, "cwd": "/work/harbor", "version": "2.1.0", "userType": "external", "isSidechain": False}
    records = [
        {"type": role, "uuid": f"{session[0]}{number}", "parentUuid": f"{session[0]}{number - 1}" if number else None}
        | {"timestamp": f"2026-02-17T10:{number:02}:00.000Z", "message": {"role": role, "content": text}}
        for number, text in enumerate(texts)
        for role in (("user", "assistant")[number % 2],)
    ]
    path.write_text("".join(json.dumps(common | record) + "\n" for record in records), encoding="utf-8")
    run_pipeline(workspace, [], RunOptions())
    update_index(workspace, 60)
    return workspace.scope("/work/harbor")


TALK = (
    "Paint the harbour office.",
    "Shall the marmalade of the canteen be made from oranges or from lemons?",
    "the second one, please",
    "Done.",
)


def meanings(workspace, message, scope):
    return {each.text: each.meant for each in find_said_turns(workspace, message, scope)[1]}


def test_a_turn_that_names_no_subject_is_near_a_question_about_the_subject_of_the_turn_before_it(workspace):
    near = meanings(workspace, "marmalade from oranges or lemons", converse(workspace, *TALK))
    assert near["the second one, please"] > 0.2


def test_no_vector_of_a_turn_holds_forgotten_words_of_the_turn_beside_it(workspace):
    scope = converse(workspace, *TALK)
    before = {each["body"].tobytes() for each in vectors(workspace).rows if each["kind"] == 3 and each["need"]}
    forget(workspace, make_erasure_request(workspace, said=[TALK[1]]))
    gone = {each["body"].tobytes() for each in vectors(workspace).rows if each["kind"] == 3 and each["need"]}
    assert len(before - gone) == 2
    update_index(workspace, 60)
    assert meanings(workspace, "marmalade from oranges or lemons", scope).get("the second one, please", 0.0) < 0.1


def test_what_a_person_adds_is_found_by_its_meaning_at_once(workspace):
    apply_person_change(
        workspace, lambda: person.create_memory(workspace, "Deploy the zeppelin only on Mondays.", category="decision")
    )
    near = find_near_memories(workspace, "when do we deploy zeppelins?", scopes(workspace))
    nearest = next(iter(near))
    assert workspace.store.log.memory(nearest).content.startswith("Deploy the zeppelin")
    assert near[nearest] == max(near.values()) > 0.3


def test_a_message_unlike_everything_is_near_to_nothing(workspace):
    assert max(find_near_memories(workspace, "marmalade recipe with oranges", scopes(workspace)).values()) < 2
    assert find_near_memories(workspace, "", scopes(workspace)) == {}


def test_a_memory_in_another_language_counts_more_for_it_shares_no_words(workspace, monkeypatch):
    before = find_near_memories(workspace, "store predictions as parquet", scopes(workspace))
    spoken = {"store predictions as parquet": "han"}
    monkeypatch.setattr("kept.recall.search.detect_language", lambda text: spoken.get(text, "english"))
    after = find_near_memories(workspace, "store predictions as parquet", scopes(workspace))
    assert all(after[each] == pytest.approx(before[each] + ACROSS) for each in before if each != DOUBT)


def test_a_message_that_asks_for_nothing_remembered_is_told_as_a_doubt(workspace, monkeypatch):
    model = {"hashing/1": {"bias": -1.0, "scale": 0.0, "weights": [0, 0], "need": 0.0, "needs": b64encode(bytes(4))}}
    monkeypatch.setattr("kept.recall.embed.levels._load_table", lambda name: model if name == "asking" else {})
    assert find_near_memories(workspace, "store predictions as parquet", scopes(workspace))[DOUBT] == pytest.approx(1.5)


def test_a_memory_counts_more_where_messages_of_that_kind_need_such_ones(workspace, monkeypatch):
    near = find_near_memories(workspace, "store predictions as parquet", scopes(workspace))
    last = [each for each in near if each != DOUBT][-1]
    row = workspace.store.log.memory(last)
    (wanted,) = create_embedder("hashing").embed([row.content])
    before = near[last]
    monkeypatch.setattr("kept.recall.search.find_asked", lambda _model, _question: (0.0, 9 * wanted))
    after = find_near_memories(workspace, "store predictions as parquet", scopes(workspace))
    assert next(iter(after)) == last
    assert after[last] == pytest.approx(before + 9, abs=0.1)


def test_nothing_is_near_that_is_retired_of_another_scope_or_told_otherwise_since(workspace):
    nearest = next(each for each in workspace.store.log.memories() if each.status is Status.ACTIVE and each.scope != "user")
    words = nearest.content
    assert next(iter(find_near_memories(workspace, words, scopes(workspace)))) == nearest.id
    assert nearest.id not in find_near_memories(workspace, words, [each for each in scopes(workspace) if each != nearest.scope])
    person.edit(workspace, nearest.id, "Otherwise now.")
    assert nearest.id not in find_near_memories(workspace, words, scopes(workspace))
    apply_person_change(workspace, lambda: None)
    assert next(iter(find_near_memories(workspace, "Otherwise now.", scopes(workspace)))) == nearest.id
    person.retire(workspace, nearest.id)
    assert nearest.id not in find_near_memories(workspace, "Otherwise now.", scopes(workspace))


def test_where_there_is_no_model_nothing_is_near_by_meaning_and_words_find_it(workspace):
    workspace.env["KEPT_EMBEDDINGS"] = "off"
    assert find_near_memories(workspace, "store predictions as parquet", scopes(workspace)) == {}
    assert search(workspace, "store predictions as parquet", where=(UnitKind.MEMORY,))[0].similarity is None


def test_a_rebuild_makes_all_vectors_anew(workspace):
    before = vector_status(workspace).embedded
    rebuild_store(workspace)
    assert vector_status(workspace).embedded == before
    assert search(workspace, "parquet predictions", where=(UnitKind.MEMORY,))[0].similarity


def test_noted_uses_are_counted_and_outlive_a_rebuild(workspace):
    memory = next(each for each in workspace.store.log.memories() if "Parquet" in each.content)
    workspace.paths.used.write_text(f"{memory.id}\n" * 30 + "nonsense; DROP TABLE\n")
    update_index(workspace, 1)
    rebuild_store(workspace)
    with open_index(workspace.paths.store) as index:
        rows = index.load_units(UnitKind.MEMORY, range(1, 1_000)).values()
    assert {each.id: each.uses for each in rows if each.uses} == {memory.id: 30}
    assert not workspace.paths.used.exists()
