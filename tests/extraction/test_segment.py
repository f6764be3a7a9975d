"""Episodes: whole exchanges, stable while the session grows."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import Author, Event, EventKind, Pointer, Precision
from kept.extraction.segment import GRACE, TEAR, segment
from kept.profiles.profile import Buffer

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
BUFFER = Buffer(least=3, most=6, seconds=60)


def event(number: int, kind: EventKind, second: float | None, author: Author = Author.HUMAN) -> Event:
    return Event(
        key=f"e{number}",
        twin="",
        session="s",
        record="",
        parent="",
        turn="",
        kind=kind,
        author=author if kind is EventKind.PROMPT else Author.ASSISTANT,
        label_reason="",
        text="x",
        at=None if second is None else START + timedelta(seconds=second),
        precision=Precision.MESSAGE,
        project="/p",
        branch="",
        tool=None,
        pointer=Pointer(path="t.jsonl", line=number, start=0, end=0),
    )


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    kinds = draw(st.lists(st.sampled_from(list(EventKind)), max_size=80))
    gaps = draw(st.lists(st.floats(0, 200), min_size=len(kinds), max_size=len(kinds)))
    return [event(number, kind, sum(gaps[: number + 1])) for number, kind in enumerate(kinds)]


@given(sessions())
def test_the_episodes_cover_the_session_without_gaps_and_only_the_last_is_open(events):
    episodes = segment(events, BUFFER)
    assert [index for each in episodes for index in range(each.start, each.stop)] == list(range(len(events)))
    assert [each.closed for each in episodes] == [True] * (len(episodes) - 1) + [False] * bool(episodes)


@given(sessions(), st.integers(0, 80))
def test_a_session_that_grows_keeps_its_closed_episodes(events, size):
    before = [each for each in segment(events[:size], BUFFER) if each.closed]
    assert list(segment(events, BUFFER))[: len(before)] == before


@given(sessions())
def test_an_episode_begins_with_a_prompt_unless_an_exchange_was_beyond_the_hard_maximum(events):
    for each in segment(events, BUFFER)[1:]:
        assert events[each.start].kind is EventKind.PROMPT or each.start >= BUFFER.most * TEAR


def test_prompts_in_quick_succession_stay_together_until_the_buffer_is_full():
    quick = [event(number, EventKind.PROMPT, number * 5) for number in range(8)]
    assert [each.stop - each.start for each in segment(quick, BUFFER)] == [6, 2]


def test_a_pause_closes_an_episode_that_has_the_least_number_of_events():
    events = [event(number, EventKind.PROMPT, number * 100) for number in range(7)]
    assert [each.stop - each.start for each in segment(events, BUFFER)] == [3, 3, 1]


def test_an_unknown_time_counts_as_a_pause():
    events = [event(number, EventKind.PROMPT, None) for number in range(4)]
    assert [each.stop - each.start for each in segment(events, BUFFER)] == [3, 1]


def test_an_endless_exchange_is_torn_but_not_between_a_call_and_its_output():
    kinds = [EventKind.PROMPT, *[EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT] * 80]
    events = [event(number, kind, number) for number, kind in enumerate(kinds)]
    first = segment(events, BUFFER)[0]
    assert BUFFER.most * TEAR <= first.stop <= BUFFER.most * TEAR + GRACE
    assert events[first.stop].kind is not EventKind.TOOL_OUTPUT


def test_text_of_others_in_the_place_of_a_prompt_opens_nothing():
    events = [event(number, EventKind.PROMPT, number * 100, Author.INJECTED) for number in range(12)]
    assert len(segment(events, BUFFER)) == 1
