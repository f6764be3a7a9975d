"""The score that ranks what waits."""

from kept.core.memory import WISH
from kept.core.value import replace
from kept.extraction.score import ScoreModel, compute_features, load_trained_model, score

MODEL = ScoreModel(bias=-2.0, floor=0.0, weights=dict.fromkeys(compute_features("", trigger=WISH), 0.5))


def values(words, trigger=WISH):
    return compute_features(words, trigger=trigger)


def test_a_score_is_the_bias_and_the_sum_of_its_terms():
    found = score(values("our amounts are always in cents"), MODEL)
    assert found.value == MODEL.bias + sum(value for _, value in found.terms)


def test_only_features_that_hold_are_terms_and_the_largest_stands_first():
    found = score(values("our amounts are always in cents"), MODEL)
    assert [name for name, _ in found.terms] == ["length", "says we"]


def test_the_trained_weights_are_those_of_the_features():
    assert set(load_trained_model().weights) == set(values("x"))


def test_an_explicit_telling_ranks_above_the_same_words_as_a_wish():
    words = "our amounts are always in cents"
    assert score(values(words, "standing")).value > score(values(words)).value


def test_a_question_tells_nothing_explicitly():
    assert not values("can you add a test so that this stays so in the future?", "from_now_on")["explicit telling"]


def test_a_score_is_likely_from_the_floor_on():
    found = score(values("our amounts are always in cents"), MODEL).value
    models = [replace(MODEL, floor=floor) for floor in (found, found + 0.1)]
    assert [score(values("our amounts are always in cents"), model).likely for model in models] == [True, False]


def test_a_group_is_spoken_for_in_any_language():
    assert all(
        values(words)["says we"]
        for words in ("we use cents", "Unsere Beträge sind in Cent", "我们用分", "nous utilisons les centimes")
    )
    assert not values("use cents")["says we"]
