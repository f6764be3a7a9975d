"""Topics: what a prompt of few words asks for, and which memories belong to it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.recall.relevance import Likeness, topic_nearness
from kept.recall.topics import LONGEST, _split_clauses, count_topic_phrases, detect_intent, topic_phrases


@each_case(
    ("message", "topic"),
    [
        ("create a PR", "pull request"),
        ("I want to do a new release, what do I need to do?", "release"),
        ("please run the tests", "tests"),
        ("fix CI", "ci"),
        ("deploy", "deploy"),
        ("lass die Tests laufen", "tests"),
        ("crée une pull request", "pull request"),
        ("ejecuta las pruebas", "tests"),
        ("vamos fazer um novo lançamento", "release"),
        ("发布新版本", "release"),
        ("创建一个合并请求", "pull request"),
        ("テストを実行して", "tests"),
    ],
)
def test_a_prompt_of_few_words_asks_for_its_topic_in_every_language(message, topic):
    intent = detect_intent(message)
    assert [each.name for each in intent.topics] == [topic]
    assert intent.bare


@each_case("message", ["thanks, that works", "好的谢谢", "write a haiku about autumn", "continue", "ja, mach weiter", ""])
def test_a_prompt_that_names_no_topic_asks_for_none(message):
    assert not detect_intent(message).topics
    assert not detect_intent(message).recent


def test_a_prompt_that_asks_for_more_than_its_topic_is_not_bare():
    assert not detect_intent("write a Playwright test that fills the basket and pays with an expired card").bare
    assert detect_intent("release " * LONGEST).topics == ()


@each_case(
    "message",
    [
        "what did we do yesterday",
        "continue where we left off",
        "was haben wir gestern gemacht?",
        "昨天我们做了什么?",
        "昨日は何をしましたか?",
    ],
)
def test_a_question_for_the_last_days_is_recognised(message):
    assert detect_intent(message).recent


def test_what_a_fix_of_yesterday_needs_is_no_question_for_the_last_days():
    assert not detect_intent("the parser we wrote yesterday drops the last line of a file without a newline").recent


def test_a_memory_belongs_to_a_topic_by_its_own_words_in_any_language():
    release = detect_intent("release").topics
    assert count_topic_phrases("Bump the version and move the changelog before tagging.", release) > 1
    assert count_topic_phrases("发布之前先打标签", release)
    assert not count_topic_phrases("The oldest supported version of Rust is 1.74.", release)
    assert "new version" in topic_phrases(release)


def test_a_memory_is_nearer_that_has_more_words_of_a_topic():
    assert topic_nearness(3, bare=True) > topic_nearness(1, bare=True) > topic_nearness(0, bare=True) == 0


def test_a_topic_counts_less_in_a_message_that_asks_for_more():
    assert topic_nearness(3, bare=True) > topic_nearness(3, bare=False) > 0


def test_what_a_session_starts_with_and_what_a_message_does_not_ask_for_are_not_shown():
    near = Likeness(words=0.0, telling=0.5, topic=0.0, meaning=3.5)
    assert near.relevance() > 0.3 > near._replace(always=True).relevance()
    assert near._replace(doubt=3.0).relevance() < 0.3


def test_few_shared_words_tell_less_where_meanings_were_compared():
    few = Likeness(words=0.48, telling=0.5, topic=0.0, meaning=None)
    assert few.relevance() == 0.48
    assert few._replace(meaning=0.0).relevance() < 0.02
    assert few._replace(meaning=3.5).relevance() > few._replace(meaning=3.5, telling=0.0).relevance() > 0.2
    assert few._replace(meaning=0.6, topic=0.66).relevance() > 0.3 > few._replace(meaning=0.6).relevance()
    assert few._replace(meaning=0.0, words=0.6).relevance() < 0.02
    assert few._replace(meaning=0.0, words=0.6).relevance(words_alone=True) == 0.6


@each_case(
    ("message", "topics"),
    [
        ("Raise the read timeout in nginx to 60s and commit it.", ["commit"]),
        ("The parser drops the last line. Fix that, write a test for it, then open a pull request.", ["tests", "pull request"]),
        ("Ändere die Farbe der Leiste auf Blau und committe das", ["commit"]),
        ("word " * LONGEST + "and run the tests", ["tests"]),
        ("the tests of the importer fail since the upload takes longer, what do they have in common?", []),
    ],
)
def test_a_clause_that_asks_for_a_topic_alone_counts_in_a_prompt_that_asks_for_more(message, topics):
    assert [each.name for each in detect_intent(message).topics if detect_intent(message).bare] == topics


SEPARATOR = r"[.,;:!?](?=\s|$)|[\n、。，！？；：]|\b(?:and|then|und|dann|danach|et|puis|y|luego|e|depois)\b|然后|并且|再"
PARTS = ["and", "und", "et", "ab", "然后", "\n", "\t", *"yeAé_1 再并且然、。.,;:!?-'"]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_clauses_end_where_the_pattern_of_their_separators_matches(text):
    assert _split_clauses(text) == re.split(SEPARATOR, text)
