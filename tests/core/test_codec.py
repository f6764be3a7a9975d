"""Frozen values as canonical JSON."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.codec import dump, dump_member, load, to_canonical_json
from kept.core.digest import digest
from kept.core.event import Author, Event, EventKind, Origin, Pointer, Precision, ToolUse
from kept.core.memory import Accepted, Candidate, CandidateVerdict, Evidence, Held, Memory, Refused, Status
from kept.core.operation import Operation, Retire

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
times = st.none() | st.datetimes(
    datetime.fromisoformat("2001-01-01"), datetime.fromisoformat("2090-01-01"), timezones=st.just(UTC)
).map(lambda each: each.replace(microsecond=each.microsecond // 1000 * 1000))
evidence = st.builds(
    Evidence, quote=texts, event=texts, session=texts, path=texts, at=times, author=texts, origin=st.sampled_from(list(Origin))
)
candidates = st.builds(
    Candidate,
    id=texts,
    profile=texts,
    category=texts,
    scope=texts,
    content=texts,
    confidence=st.floats(0, 1),
    trigger=texts,
    at=times,
    origin=st.sampled_from(list(Origin)),
    artifacts=st.lists(texts, max_size=3).map(tuple),
    evidence=st.lists(evidence, max_size=2).map(tuple),
    reasoning=texts,
    fingerprint=texts,
    valid_until=times,
)
judged = st.builds(
    CandidateVerdict,
    candidate=candidates,
    verdict=st.just(Accepted()) | st.builds(Held, reason=texts) | st.builds(Refused, reason=texts, detail=texts),
)


@given(judged)
def test_a_judged_candidate_survives_the_way_through_json(value):
    assert load(CandidateVerdict, json.loads(to_canonical_json(dump_judged(value)))) == value


def dump_judged(value: CandidateVerdict) -> dict:
    return {"candidate": dump(value.candidate), "verdict": dump_member(value.verdict)}


def test_an_event_with_a_tool_survives_the_way_through_json():
    event = Event(
        key="k",
        twin="",
        session="s",
        record="r",
        parent="",
        turn="",
        kind=EventKind.TOOL_CALL,
        author=Author.ASSISTANT,
        label_reason="",
        text="",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        precision=Precision.MESSAGE,
        project="/p",
        branch="",
        tool=ToolUse(name="Bash", ok=False),
        pointer=Pointer(path="f", line=1, start=0, end=9),
    )
    assert load(Event, json.loads(to_canonical_json(dump(event)))) == event


def test_a_member_of_a_union_is_found_by_its_name():
    retire = Retire(memory="m", at=None, reason="why")
    assert load(Operation, dump_member(retire)) == retire


def test_a_number_that_json_has_no_form_for_is_refused():
    with pytest.raises(ValueError, match="no JSON form"):
        dump(float("nan"))


def test_a_body_of_the_wrong_kind_is_refused():
    with pytest.raises(TypeError):
        load(Memory, {"id": 5})
    with pytest.raises(ValueError, match="lost"):
        load(Status, "lost")


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_different_lists_of_texts_never_share_a_digest(left, right):
    assert (digest(*left) == digest(*right)) == (left == right)
