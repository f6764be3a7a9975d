"""A memory's words: those of the person, without what belonged to the conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talk import LEXICON

from kept.stages.extract.prose import LONGEST as PROMPT
from kept.stages.extract.prose import Voice, passages
from kept.stages.extract.sentences import sentences
from kept.stages.extract.writing import LONGEST, fit, plain, write

WRITTEN = [
    ("hmm, no, we only release from main", "We only release from main."),
    ("can we import the uuid package as ids in trace.go?", "Import the uuid package as ids in trace.go."),
    ("could we also just remove the default then?", "Remove the default then."),
    ("let's not run the CI for docs", "Do not run the CI for docs."),
    ("use the **read replica**, right?", "Use the read replica."),
    ("omg use fucking tabs in main.c!!", "Use tabs in main.c!"),
    ("see [the guide](https://example.com/x) for names", "See the guide for names."),
    ("setTheme should return an error", "setTheme should return an error."),
    ("read @docs/RULES.md for that", "Read docs/RULES.md for that."),
    (
        "can you write a short release note for all the changes since 1.2, at most one line per change and never a link",
        "Short release note: at most one line per change and never a link.",
    ),
    (
        "review the fixtures that they don't repeat each other and are small",
        "Make sure that fixtures don't repeat each other and are small.",
    ),
    ("this is a public repo and this will mean nobody can see our keys", "This is a public repo so nobody can see our keys."),
    ("address 3 and never import utils from the api layer", "Never import utils from the api layer."),
]


@pytest.mark.parametrize(("said", "written"), WRITTEN)
def test_a_sentence_is_written_as_a_statement_that_stands_alone(said, written):
    assert write(said, LEXICON).casefold() == written.casefold()


@given(st.text(max_size=900))
def test_what_is_written_is_one_line_and_what_fits_is_never_longer_than_allowed(text):
    assert "\n" not in write(text, LEXICON)
    assert len(fit(text)) <= LONGEST


def test_a_text_that_is_too_long_is_cut_at_the_end_of_a_sentence_or_not_used():
    assert fit("First sentence that says it all and more than forty signs. " + "word " * 80) == (
        "First sentence that says it all and more than forty signs."
    )
    assert fit("word " * 100) == ""


def test_sentences_end_at_full_stops_of_any_script_and_not_in_names():
    text = "Use main.go, e.g. for 1.2.3 tests. i think so! 好的。行"
    assert [text[each.start : each.end] for each in sentences(text, 0, len(text))] == [
        "Use main.go, e.g. for 1.2.3 tests.",
        "i think so!",
        "好的。",
        "行",
    ]


@given(st.text(max_size=600))
def test_sentences_and_passages_lie_inside_the_text_in_order(text):
    spans = [each for passage in passages(text, LEXICON) for each in [passage]]
    assert all(0 <= each.start < each.end <= len(text) for each in spans)
    assert [each.start for each in spans] == sorted(each.start for each in spans)
    for span in sentences(text, 0, len(text)):
        assert text[span.start : span.end].strip()


def test_only_the_beginning_of_an_endless_prompt_is_read():
    assert all(each.end <= PROMPT for each in passages("word " * 100_000, LEXICON) if each.voice is Voice.OWN)


def test_a_person_who_speaks_again_after_something_pasted_is_heard():
    text = "this is the output:\n\nerror: no such file\n\nwe don't want that file at all in the build folder"
    assert [each.voice for each in passages(text, LEXICON)][-1] is Voice.OWN


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Keep `__init__.py` empty", "Keep `__init__.py` empty"),
        ("Leave __init__.py and `**/*.py` alone", "Leave __init__.py and `**/*.py` alone"),
        ("Never **ever** do __that again__", "Never ever do that again"),
    ],
)
def test_emphasis_goes_and_names_that_look_like_it_stay(text, says):
    assert plain(text) == says
