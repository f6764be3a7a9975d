"""Nearness: which rows share most with a message."""

from hypothesis import given
from hypothesis import strategies as st

from kept.recall.nearby import MessageTerms, _rank_rows
from kept.recall.relevance import stem

WORDS = ("deploy", "deployed", "harbor", "ferry", "walnut")
ROWS = st.lists(st.integers(1, 30), unique=True)


@given(
    st.fixed_dictionaries(dict.fromkeys(WORDS, ROWS)),
    st.fixed_dictionaries({word: st.sampled_from((0.4, 0.5, 0.75, 1.0)) for word in WORDS}),
    st.sets(st.integers(1, 30)),
    st.integers(1, 2),
    st.integers(1, 8),
)
def test_the_best_rows_are_those_that_are_selected_and_share_the_greatest_weight(rows_of, worth, dropped, least, most):
    names = (("deploy", "harbor"), ("deployed",), ("ferry",), ("walnut",))
    message = MessageTerms(names, worth, names, rows_of, {})
    ranked = _rank_rows(rows_of, message, least, most, lambda rows: [row for row in rows if row not in dropped])
    shared = {}
    seen = set()
    for name in names:
        best = {}
        for word in sorted(name, key=lambda each: -worth[each]):
            if stem(word) not in seen:
                seen.add(stem(word))
                for row in rows_of[word]:
                    best.setdefault(row, word)
        for row, word in best.items():
            shared.setdefault(row, {})[word] = worth[word]
    several = [(-sum(words.values()), row) for row, words in shared.items() if len(words) >= least and row not in dropped]
    assert list(ranked.items()) == [(row, shared[row]) for _, row in sorted(several)[:most]]
