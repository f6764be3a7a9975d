"""The context sandwich: layers, floors, budgets, nothing twice; and what is near by words."""

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.fence import CORE, FACTS, FIXES, LAYERS, PAST, SAID, TAG, ContextPiece, estimate_token_count, render_block
from kept.core.text import tokenize
from kept.recall import context_budget
from kept.recall.context_budget import fit_to_budget
from kept.recall.relevance import (
    FLOOR,
    is_already_said,
    is_related_recent_work,
    is_related_work,
    is_similar_request,
    is_telling_word,
    nearness_score,
    stem,
    word_weight,
)


def piece(layer, key, text, near=1.0, value=1.0):
    return ContextPiece(layer, key, text, "2026-01-05", near, value, "because")


def test_nothing_offered_gives_nothing_not_even_a_frame():
    found = fit_to_budget({}, budget=1_000)
    assert (found.pieces, found.tokens, render_block(found.pieces)) == ((), 0, "")


def test_what_a_layer_has_no_place_for_is_compared_with_nothing(monkeypatch):
    compared = []
    monkeypatch.setattr(context_budget, "jaccard_similarity", lambda first, second: compared.append((first, second)) or 0.0)
    found = fit_to_budget({CORE: [piece(CORE, str(number), f"rule {number}") for number in range(400)]}, budget=100_000)
    assert len(compared) < len(found.pieces) ** 2


def test_layers_come_in_their_order_and_each_best_first():
    offered = {
        FACTS: [
            piece(FACTS, "b", "Dates are ISO 8601.", value=0.5),
            piece(FACTS, "c", "Ports come from the environment.", value=0.9),
        ],
        FIXES: [piece(FIXES, "a", "Use --port 0 instead.")],
        CORE: [piece(CORE, "d", "Ask before changing anything.")],
    }
    assert [each.key for each in fit_to_budget(offered, budget=1_000).pieces] == ["a", "d", "c", "b"]


def test_what_is_below_the_floor_of_its_layer_is_left_out_and_counted():
    found = fit_to_budget({SAID: [piece(SAID, "a", "Dates are ISO 8601.", near=0.29)]}, budget=1_000)
    assert (found.pieces, found.left_out) == ((), {"not relevant enough": 1})


def test_what_says_the_same_is_shown_once_and_a_different_number_is_not_the_same():
    offered = {
        CORE: [piece(CORE, "a", "Tests run with Node 20 in CI.")],
        FACTS: [piece(FACTS, "b", "Tests run with Node 20 in CI!"), piece(FACTS, "c", "Tests run with Node 22 in CI.")],
    }
    found = fit_to_budget(offered, budget=1_000)
    assert [each.key for each in found.pieces] == ["a", "c"]
    assert found.left_out == {"in the session already": 1}


def test_what_the_session_has_already_is_not_shown():
    offered = {FACTS: [piece(FACTS, "a", "Dates are ISO 8601."), piece(FACTS, "b", "Ports come from the environment.")]}
    found = fit_to_budget(offered, budget=1_000, present=["dates are ISO 8601"], already_shown={"b"})
    assert found.pieces == ()
    assert found.left_out == {"in the session already": 1, "shown earlier in this session": 1}


@given(
    st.lists(st.tuples(st.sampled_from([each.name for each in LAYERS]), st.text(max_size=60), st.floats(0, 1)), max_size=30),
    st.integers(0, 2_000),
)
def test_the_block_never_takes_more_tokens_than_its_budget(offers, budget):
    offered = {each.name: [] for each in LAYERS}
    for number, (layer, text, near) in enumerate(offers):
        offered[layer].append(piece(layer, str(number), text * 6, near))
    found = fit_to_budget(offered, budget=budget)
    assert estimate_token_count(render_block(found.pieces)) <= budget or not found.pieces
    counts = {each.name: each.most for each in LAYERS}
    assert all(sum(one.layer == name for one in found.pieces) <= most for name, most in counts.items())


@given(st.text())
def test_no_words_end_the_block_or_open_a_tag(text):
    made = render_block((piece(PAST, "a", f"x {text} </{TAG}> </{TAG.upper()}> <b> y"),))
    assert made.lower().count(TAG) == 2
    assert (
        len(made.splitlines()) == 5
        or any(char in text for char in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        or len(made.splitlines()) == 5
    )
    assert "\\<b>" in made


def test_a_word_that_every_text_has_weighs_nothing_and_a_rare_one_nearly_one():
    assert word_weight(5_000, 5_000) == 0.0
    assert word_weight(0, 5_000) == 1.0
    assert word_weight(3, 10) > 0.7  # in a small store every word is rare, so it is weighed as if it were larger


def test_words_that_say_how_a_rule_is_put_do_not_tell_what_it_is_about():
    assert not any(map(is_telling_word, ("always", "never", "ask", "prefer", "please")))
    assert is_telling_word("paragraphs")


def test_one_shared_word_is_near_only_where_it_is_very_rare_and_two_everyday_ones_are_not():
    assert nearness_score([0.9], 0, 3, [0.9, 0.9]) > FLOOR
    assert nearness_score([0.8], 1, 3, [0.8, 0.9]) == 0.0
    assert nearness_score([0.9], 0, 12, [0.9] * 6) == 0.0  # it is little of both
    assert nearness_score([0.5, 0.5], 0, 3, [0.5, 0.5]) == 0.0
    assert nearness_score([0.6, 0.6], 0, 3, [0.6, 0.6]) == 0.0
    assert nearness_score([0.6, 0.6], 1, 3, [0.6, 0.6]) > FLOOR
    assert nearness_score([0.5, 0.5, 0.5], 0, 3, [0.5, 0.5, 0.5]) > FLOOR


def test_two_names_suffice_where_they_are_much_of_the_message():
    assert nearness_score([0.6, 0.6], 2, 3, [0.6] * 3) > FLOOR
    assert nearness_score([0.6, 0.6], 2, 12, [0.6] * 12) == 0.0


def test_what_was_worked_on_must_share_rare_words_of_the_project_and_not_only_the_area():
    assert is_related_work([0.55, 0.6, 0.75])
    assert not is_related_work([0.41, 0.44, 0.47, 0.48])
    assert not is_related_work([0.7, 0.4])


@each_case(
    ("message", "request_", "other"),
    [
        ("implement task 4.10 of the plan and test it well", "Implement task 4.9 of the plan", True),
        ("implement task 4.10 of the plan and test it well", "Implement task 4.10 with its tests, first the parser", False),
        ("continue with the plan and keep it up to date", "Continue with the plan and keep it up to date", True),
        ("the export of invoices fails since 3 days", "Fix 2 bugs of the export", False),
        ("why does the export of invoices fail again?", "Write the invoices of a month into one file", False),
    ],
)
def test_the_same_request_with_another_number_or_in_the_same_words_tells_nothing_new(message, request_, other):
    assert is_similar_request(message, request_) is other


def test_work_of_the_last_days_must_share_a_rare_word_of_the_project_and_something_more():
    assert is_related_recent_work([0.55, 0.3])
    assert not is_related_recent_work([0.45, 0.45])  # words of the area
    assert not is_related_recent_work([0.7])
    assert not is_related_recent_work([])


def test_a_message_says_what_nearly_all_words_of_stand_in_it():
    assert is_already_said("do it, but never change the plan in this branch!", "Never change the plan in this branch.")
    assert not is_already_said("never change the plan", "Never change the plan in this branch.")


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(left, right):
    assert isinstance(is_similar_request(left, right), bool)
    assert is_already_said(left, left) or not tokenize(left)


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 12), st.integers(0, 40))
def test_nearness_is_nothing_or_between_the_floor_and_one(shared, named, own):
    value = nearness_score(shared, named, max(own, len(shared)), shared)
    assert value == 0.0 or FLOOR <= value <= 1.0


def test_ids_numbers_and_single_letters_tell_nothing_but_words_of_any_script_do():
    assert not any(map(is_telling_word, ("a", "42", "8081", "9ae2d71ae8a2", "v1", "ab")))
    assert all(map(is_telling_word, ("port", "invoicewriter", "端口", "added")))
    assert stem("watching") == stem("watch")
    assert stem("deployed") == stem("deploy")
