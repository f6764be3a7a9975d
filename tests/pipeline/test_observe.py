"""Observing a conversation event by event."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kept.api.session import LIVE, ExtractionContext, ObservedConversation, observe_event
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.segment import segment
from talk import LEXICON, PROFILE, agent, edit, output, talk, user

ENGINE = ExtractionContext(profile=PROFILE, scope="project:shop")
TURNS = st.lists(
    st.sampled_from(
        [
            user("We always use pnpm in this project, never npm"),
            user("the staging server is db2.internal, not db1"),
            user("Remember that the API has its own backoff"),
            user("run the tests"),
            user("From now on answer in German"),
            agent("I switched the retry loop to exponential backoff in client.py."),
            agent("Done."),
            edit("src/client.py"),
            output("ok"),
        ]
    ),
    max_size=40,
)


def watched(events):
    state, live, closed = ObservedConversation(), [], []
    for event in events:
        state, noticed = observe_event(state, event, ENGINE)
        live += noticed.live
        closed += noticed.closed
    open_episode = extract_candidates(
        state.events, state.start, len(state.events), profile=PROFILE, lexicon=LEXICON, scope=ENGINE.scope
    )
    return live, closed + list(open_episode)


@settings(max_examples=40)
@given(TURNS)
def test_event_by_event_a_conversation_gives_what_reading_it_at_once_gives(turns):
    events = talk(*turns)
    batch = [
        each
        for episode in segment(events, PROFILE.buffer)
        for each in extract_candidates(events, episode.start, episode.stop, profile=PROFILE, lexicon=LEXICON, scope=ENGINE.scope)
    ]
    assert watched(events)[1] == batch


def test_what_is_sure_is_said_at_once_and_only_once():
    events = talk(
        user("In this project we always use pnpm, never npm"), agent("Noted."), user("run the tests"), agent("They pass.")
    )
    live, _ = watched(events)
    assert [each.content for each in live] == ["In this project we always use pnpm, never npm"]
    assert all(each.confidence >= LIVE for each in live)


def test_what_is_less_sure_waits_for_the_end_of_its_episode():
    events = talk(user("Always show the total in the footer."), agent("Gern."))
    live, whole = watched(events)
    assert live == []
    assert [each.doubt for each in whole] == ["may not be meant as a rule"]
