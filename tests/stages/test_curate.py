"""Curation without a model."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kept.model.event import Origin
from kept.model.fold import apply
from kept.model.memory import Accepted, Actor, Candidate, Evidence, Held, Judged, Memory, Refused, Status
from kept.model.operation import Add, Merge, Reaffirm, Retire, Revise
from kept.stages.curate import GONE, curate

DAWN = datetime(2026, 1, 1, tzinfo=UTC)
BUN = "Use bun instead of npm for every script in the web folder."
BUN_AGAIN = "use **bun** instead of npm for every script in the web folder"
BUN_NEAR = "Use bun instead of npm for every single script in the web folder."


def proposal(
    text: str, day: int = 0, *, session: str = "", confidence: float = 0.8, verdict=Accepted(), category: str = "constraint"
):
    at = DAWN + timedelta(days=day)
    session = session or f"s{day}"
    quote = Evidence(quote=text, event=f"e-{session}-{text}", session=session, path="f", at=at, author="human", origin=Origin.USER)
    return Judged(
        candidate=Candidate(
            id=f"{session}-{day}-{text}",
            profile="coding",
            category=category,
            scope="user",
            content=text,
            confidence=confidence,
            trigger="correction",
            at=at,
            origin=Origin.USER,
            artifacts=(),
            evidence=(quote,),
            reasoning="said",
        ),
        verdict=verdict,
    )


def after(judged, memories: dict[str, Memory] | None = None, actor: Actor = Actor.MACHINE) -> dict[str, Memory]:
    state = dict(memories or {})
    for operation in curate(judged, tuple(state.values())):
        state.update(apply(state, operation, actor))
    return state


def only(memories: dict[str, Memory]) -> Memory:
    (found,) = memories.values()
    return found


def active(memories: dict[str, Memory]) -> set:
    return {
        (each.content, each.category, each.status, each.first_seen, each.last_seen, each.observations, each.confidence)
        for each in memories.values()
        if each.status in (Status.ACTIVE, Status.HELD)
    }


def test_what_is_said_again_in_other_markup_reaffirms_and_does_not_append():
    first = after([proposal(BUN)])
    operations = curate([proposal(BUN), proposal(BUN_AGAIN, 3, confidence=0.7)], tuple(first.values()))
    assert [type(each) for each in operations] == [Reaffirm]
    memory = only(after([proposal(BUN), proposal(BUN_AGAIN, 3, confidence=0.7)], first))
    assert (memory.observations, memory.first_seen, memory.last_seen) == (2, DAWN, DAWN + timedelta(days=3))


def test_near_duplicates_become_one_memory_with_the_evidence_of_both():
    memory = only(after([proposal(BUN), proposal(BUN_NEAR, 1)]))
    assert {each.quote for each in memory.evidence} == {BUN, BUN_NEAR}


def test_statements_that_differ_in_a_number_or_a_negation_stay_apart():
    words = "every release of the command line tool must be tagged with version 1.2 before the build starts"
    assert len(after([proposal(words), proposal(words.replace("1.2", "1.3"), 1)])) == 2
    assert len(after([proposal(words), proposal(words.replace("must be", "must not be"), 1)])) == 2


def test_two_memories_that_turn_out_to_say_the_same_are_merged_into_the_older():
    left, right = (
        proposal("alpha beta gamma delta epsilon zeta eta theta iota kappa"),
        proposal("alpha beta gamma delta epsilon zeta eta theta kappa", 1),
    )
    apart = {**after([left]), **after([right])}
    assert len(apart) == 2
    operations = curate([left, right], tuple(apart.values()))
    assert [type(each) for each in operations] == [Merge]
    assert operations[0].memory == next(each.id for each in apart.values() if each.first_seen == DAWN)


def test_a_second_look_at_the_same_candidates_does_nothing():
    judged = [proposal(BUN), proposal(BUN_NEAR, 1), proposal("The changelog has one sentence for each entry.", 2)]
    assert curate(judged, tuple(after(judged).values())) == ()


def test_refused_and_blocked_candidates_are_not_remembered():
    assert curate([proposal(BUN, verdict=Refused(reason="chatter"))], ()) == ()
    assert curate([proposal(BUN)], (), blocked=frozenset({proposal(BUN).candidate.id})) == ()


def test_a_held_candidate_makes_a_held_memory_and_an_accepted_one_activates_it():
    held = after([proposal(BUN, verdict=Held(reason="unsure"), confidence=0.5)])
    assert only(held).status is Status.HELD
    assert (
        only(after([proposal(BUN, verdict=Held(reason="unsure"), confidence=0.5), proposal(BUN, 1)], held)).status is Status.ACTIVE
    )


def test_a_memory_whose_evidence_is_no_longer_proposed_is_retired():
    before = after([proposal(BUN)])
    (operation,) = curate([], tuple(before.values()))
    assert isinstance(operation, Retire)
    assert operation.reason == GONE


def test_evidence_that_comes_back_brings_the_memory_back():
    before = after([], after([proposal(BUN)]))
    assert only(before).status is Status.RETIRED
    assert only(after([proposal(BUN)], before)).status is Status.ACTIVE


def test_what_a_person_edited_keeps_their_words_and_still_gathers_evidence():
    memory = replace(only(after([proposal(BUN)])), content="Bun, never npm, in the web folder.", owned=True)
    result = only(after([proposal(BUN), proposal(BUN_AGAIN, 4)], {memory.id: memory}))
    assert result.content == "Bun, never npm, in the web folder."
    assert result.last_seen == DAWN + timedelta(days=4)


def test_what_a_person_retired_or_rejected_does_not_come_back():
    for status in (Status.RETIRED, Status.REJECTED):
        memory = replace(only(after([proposal(BUN)])), status=status, owned=True)
        result = after([proposal(BUN), proposal(BUN_AGAIN, 4), proposal(BUN_NEAR, 5)], {memory.id: memory})
        assert only(result).status is status


def test_a_sentence_a_person_told_is_confirmed_by_evidence_and_not_doubled():
    told = replace(only(after([proposal(BUN)])), candidates=(), owned=True)
    result = only(after([proposal(BUN_AGAIN, 2)], {told.id: told}))
    assert result.content == BUN
    assert result.last_seen == DAWN + timedelta(days=2)


def test_a_pinned_memory_is_never_retired_by_a_machine():
    memory = replace(only(after([proposal(BUN)])), pinned=True)
    assert curate([], (memory,)) == ()


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
texts = st.lists(st.sampled_from(WORDS), min_size=5, max_size=9).map(lambda words: " ".join(words) + " uses pytest 8 always")
proposals = st.lists(
    st.builds(
        proposal,
        texts,
        st.integers(0, 5),
        confidence=st.sampled_from((0.71, 0.8, 0.9)),
        verdict=st.sampled_from((Accepted(), Held(reason="unsure"))),
        category=st.sampled_from(("constraint", "decision")),
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda each: each.candidate.id,
)


@settings(max_examples=150)
@given(proposals, st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order_or_the_number_of_runs(judged, random):
    whole = active(after(judged))
    shuffled = list(judged)
    random.shuffle(shuffled)
    cut = random.randint(0, len(shuffled))
    state = after(shuffled[:cut])
    state = after(shuffled, state)
    assert active(state) == whole


def test_a_clearer_wording_revises_the_memory():
    first = after([proposal(BUN, confidence=0.75)])
    operations = curate([proposal(BUN, confidence=0.75), proposal(BUN_NEAR, 1, confidence=0.9)], tuple(first.values()))
    assert [type(each) for each in operations] == [Revise]


def test_the_first_memory_of_a_group_is_an_add_dated_by_its_evidence():
    (operation,) = curate([proposal(BUN, 2)], ())
    assert isinstance(operation, Add)
    assert operation.at == DAWN + timedelta(days=2)
