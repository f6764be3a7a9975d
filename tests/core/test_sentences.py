"""Prose is cut into sentences by its shape alone."""

from textwrap import fill

from cases import each_case
from kept.core.sentences import sentence_texts


@each_case(
    ("text", "expected"),
    [
        ("Fix it. Then push!", ["Fix it.", "Then push!"]),
        ("fix the test\nrun the linter", ["fix the test", "run the linter"]),
        ("fix the test,\nthen push", ["fix the test,\nthen push"]),
        ("Use tabs, e.g. in Makefiles. Not spaces.", ["Use tabs, e.g. in Makefiles.", "Not spaces."]),
        ("Ask Mrs. Jones or St. Gallen. Then push.", ["Ask Mrs. Jones or St. Gallen.", "Then push."]),
        ("Zeiten, z. B. Fristen, d. h. alle. Immer UTC.", ["Zeiten, z. B. Fristen, d. h. alle.", "Immer UTC."]),
        ("Pump No. 3 is off. The answer is no. Never ask.", ["Pump No. 3 is off.", "The answer is no.", "Never ask."]),
        ("Remember the smell in ch. 2? It is in vol. 3 too.", ["Remember the smell in ch. 2?", "It is in vol. 3 too."]),
        ("We take option B. Never go back to a. Push.", ["We take option B.", "Never go back to a.", "Push."]),
        ("Rules:\n- be kind\n- be brief", ["Rules:", "be kind", "be brief"]),
        ("I like tea; As you know I like tea!", ["I like tea", "As you know I like tea!"]),
        ("use `a; b`; then push", ["use `a; b`; then push"]),
        ("先跑测试。再推送。", ["先跑测试。", "再推送。"]),
        ("It ends ... or not. Yes.", ["It ends ... or not.", "Yes."]),
    ],
)
def test_a_sentence_ends_at_a_full_stop_or_where_a_line_was_ended(text, expected):
    assert list(sentence_texts(text)) == expected


def test_a_quotation_that_goes_on_in_the_next_line_is_one_sentence_with_it():
    text = 'without a trailer it should say "No associated \nEntire checkpoint"\n3. and it is a filter'
    assert next(iter(sentence_texts(text))) == 'without a trailer it should say "No associated \nEntire checkpoint"'


def test_a_line_that_an_editor_wrapped_goes_on_in_the_next_one():
    words = "The exporter writes one file for each month and leaves those of the months before as they are until somebody asks."
    assert list(sentence_texts(fill(words, 72))) == [fill(words, 72)]
