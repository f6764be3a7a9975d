"""Topics of a session, and what memory has of them."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import Author, Event, EventKind, Origin, Pointer, Precision
from kept.core.memory import Evidence, Memory, Status
from kept.extraction.coverage import Coverage, collect_coverage, find_topics, mark_topics
from kept.profiles.lexicons import load_lexicon

ENGLISH = load_lexicon(("en",))
DAWN = datetime(2026, 5, 1, tzinfo=UTC)
CACHE = "The image cache in `cache.py` never drops old pictures, look at the eviction of entries"
CACHED = "The eviction in `cache.py` keeps every picture; the image cache grows without bound."
LOGIN = "Now the login form: users with umlauts in passwords cannot sign in at all"
RULE = "Always hash passwords on the server, never in the login form, because the browser cannot be trusted."


def said(*texts: str) -> tuple[Event, ...]:
    """Prompts and answers in turn."""
    return tuple(
        Event(
            key=f"e{number}",
            twin="",
            session="s",
            record="",
            parent="",
            turn="",
            kind=EventKind.RESPONSE if number % 2 else EventKind.PROMPT,
            author=Author.ASSISTANT if number % 2 else Author.HUMAN,
            label_reason="",
            text=text,
            at=DAWN,
            precision=Precision.MESSAGE,
            project="/w",
            branch="",
            tool=None,
            pointer=Pointer(path="f", line=number, start=0, end=0),
        )
        for number, text in enumerate(texts)
    )


def memory(event: str, *names: str, status: Status = Status.ACTIVE) -> Memory:
    quote = Evidence(quote="q", event=event, session="s", path="f", at=DAWN, author="human", origin=Origin.USER)
    return Memory(
        id="m",
        profile="coding",
        category="constraint",
        scope="user",
        status=status,
        content="c",
        confidence=0.9,
        origin=Origin.USER,
        first_seen=DAWN,
        last_seen=DAWN,
        artifacts=names,
        evidence=(quote,),
    )


TALK = said(CACHE, CACHED, "ok, fix that", "Done, the image cache drops pictures.", LOGIN, "The form trims them.", RULE, "Done.")


def test_a_prompt_about_something_else_begins_a_topic_and_a_short_one_goes_on() -> None:
    first, *rest = mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage(()))
    assert (first.start, first.stop) == (0, 4)
    assert "cache.py" in first.names
    assert rest[-1].stop == len(TALK)


def test_a_topic_with_the_evidence_of_a_memory_is_covered() -> None:
    first, *_ = mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage((memory("e2"),)))
    assert first.state is Coverage.COVERED
    first, *_ = mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage((memory("elsewhere", "cache.py"),)))
    assert first.state is Coverage.COVERED


def test_a_rule_that_left_nothing_is_missed_with_the_users_sentence() -> None:
    missed = [
        each for each in mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage(())) if each.state is Coverage.MISSED
    ]
    assert [each.telling for each in missed] == [RULE]
    assert not [
        each
        for each in mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage((memory("e6"),)))
        if each.state is Coverage.MISSED
    ]


def test_what_was_retired_covers_nothing() -> None:
    assert (
        mark_topics(find_topics(TALK, lexicon=ENGLISH), collect_coverage((memory("e2", status=Status.RETIRED),)))[0].state
        is Coverage.NOTHING
    )


def test_words_that_are_not_a_persons_open_no_topic() -> None:
    injected = tuple(replace(each, author=Author.INJECTED) for each in TALK)
    assert mark_topics(find_topics(injected, lexicon=ENGLISH), collect_coverage(())) == ()


@given(st.lists(st.sampled_from((CACHE, CACHED, LOGIN, RULE, "yes", "", "好的，请修改缓存的大小限制")), max_size=12))
def test_topics_follow_each_other_without_gaps_and_cover_the_session(texts: list[str]) -> None:
    events = said(*texts)
    found = mark_topics(find_topics(events, lexicon=ENGLISH), collect_coverage(()))
    assert [each.start for each in found[1:]] == [each.stop for each in found[:-1]]
    assert not events or (found[0].start, found[-1].stop) == (0, len(events))


def test_a_rule_that_a_harness_or_a_review_says_raises_no_alarm():
    envelope = f"<system_instruction>{RULE}</system_instruction>\n\nlook at the login form"
    reported = f"{CACHE}\n\n> {RULE}"
    for prompt in (envelope, reported):
        (topic,) = find_topics(said(prompt, LOGIN), lexicon=ENGLISH)
        assert topic.telling == ""
    (topic,) = find_topics(said(f"{RULE} Look at the login form.", LOGIN), lexicon=ENGLISH)
    assert topic.telling == RULE
