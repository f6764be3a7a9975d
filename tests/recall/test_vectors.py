"""The file of vectors: what is near is found, what is gone is gone, and models are never mixed."""

import numpy as np
import pytest

from kept.recall.index import UnitKind, vectors
from kept.recall.index.head import count_units, vector_model
from kept.recall.index.vectors import VectorEntry, Vectors, update_vectors

RANDOM = np.random.default_rng(7)


def unit(count, dimensions=96):
    made = RANDOM.normal(size=(count, dimensions)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def entries(made, kind=UnitKind.TURN, start=1):
    return [VectorEntry(kind=kind, item=start + n, mark=n, vector=each) for n, each in enumerate(made)]


@pytest.mark.parametrize("exact", [50_000, 100])
def test_the_nearest_units_are_found_whether_all_are_compared_or_signs_choose_first(tmp_path, monkeypatch, exact):
    monkeypatch.setattr(vectors, "_EXACT", exact)
    monkeypatch.setattr(vectors, "_CHOSEN", 200)
    path, made = tmp_path / "v", unit(400)
    update_vectors(path, "m", {}, entries(made))
    question = made[17] + 0.6 * made[200]
    question /= np.linalg.norm(question)
    found = Vectors(path, "m").find_nearest(UnitKind.TURN, question, 5)
    assert list(found)[:2] == [18, 201]
    assert found[18].similarity == pytest.approx(float(question @ made[17]), abs=0.01)
    assert list(Vectors(path, "m").find_nearest(UnitKind.TURN, question, 5, among=[201, 3])) == [201, 3]
    assert Vectors(path, "m").find_nearest(UnitKind.MEMORY, question, 5) == {}


def test_a_text_that_the_first_of_two_models_does_not_know_is_compared_by_the_second_alone(tmp_path):
    first, second = unit(2, 16), unit(1, 16)[0]
    known, unknown = np.concatenate([first[0], second]), np.concatenate([np.zeros(16, np.float32), second])
    update_vectors(tmp_path / "v", "m", {}, entries(np.stack([known, unknown])))
    question = np.concatenate([0.7 * first[1], 0.3 * second])
    found = Vectors(tmp_path / "v", "m", 16).find_nearest(UnitKind.TURN, question, 5)
    assert found[2].similarity == pytest.approx(1, abs=0.01)
    assert found[1].similarity == pytest.approx(float(question @ known), abs=0.01)


def test_a_unit_in_pieces_counts_by_its_best_piece(tmp_path):
    made = unit(3)
    update_vectors(tmp_path / "v", "m", {}, [VectorEntry(kind=UnitKind.TURN, item=1, mark=0, vector=each) for each in made])
    found = Vectors(tmp_path / "v", "m")
    assert found.find_nearest(UnitKind.TURN, made[2], 5)[1].similarity == pytest.approx(1, abs=0.01)
    assert (len(found), count_units(tmp_path / "v", "m")) == (3, 1)


def test_dropped_vectors_leave_no_byte_behind(tmp_path):
    path, made = tmp_path / "v", unit(3)
    update_vectors(path, "m", {}, entries(made))
    stored = Vectors(path, "m").rows["body"][1].tobytes()
    assert stored in path.read_bytes()
    update_vectors(path, "m", {UnitKind.TURN: [2]}, ())
    assert stored not in path.read_bytes()
    assert 2 not in Vectors(path, "m").find_nearest(UnitKind.TURN, made[1], 5)
    assert len(Vectors(path, "m")) == 2


def test_vectors_of_another_model_are_never_compared(tmp_path):
    path, made = tmp_path / "v", unit(3)
    update_vectors(path, "old", {}, entries(made))
    assert Vectors(path, "new").find_nearest(UnitKind.TURN, made[0], 5) == {}
    update_vectors(path, "new", {}, entries(made[:1]))
    assert vector_model(path) == "new"
    assert len(Vectors(path, "new")) == 1


def test_a_file_that_is_missing_cut_short_or_damaged_holds_nothing_and_is_begun_anew(tmp_path):
    path, made = tmp_path / "v", unit(3)
    assert len(Vectors(path, "m")) == 0
    update_vectors(path, "m", {}, entries(made))
    whole = path.read_bytes()
    for broken in (b"", b"noise" * 2000, whole[:4200]):
        path.write_bytes(broken)
        assert len(Vectors(path, "m")) == 0
        assert Vectors(path, "m").find_nearest(UnitKind.TURN, made[0], 5) == {}
    path.write_bytes(b"noise" * 2000)
    update_vectors(path, "m", {}, entries(made))
    assert len(Vectors(path, "m")) == 3


def test_rows_after_the_counted_ones_are_of_a_write_that_was_cut_short(tmp_path):
    path, made = tmp_path / "v", unit(3)
    update_vectors(path, "m", {}, entries(made))
    with path.open("ab") as file:
        file.write(b"half a row")
    assert len(Vectors(path, "m")) == 3
    update_vectors(path, "m", {}, entries(made[:1], start=9))
    assert count_units(path, "m") == 4
