"""Curation without a model."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.event import Origin
from kept.core.fence import CAUSE
from kept.core.memory import (
    APPROVED,
    CLIENT_MEMORY,
    LASTING,
    NOTE,
    SAID_ONCE,
    TAKES_BACK,
    UNSURE,
    UNTRIED,
    WITHDRAWAL,
    Accepted,
    Actor,
    Candidate,
    CandidateVerdict,
    Evidence,
    Held,
    Memory,
    Refused,
    Status,
)
from kept.core.operation import (
    MAY_CONTRADICT,
    REREAD,
    TAKEN_BACK,
    Add,
    Approve,
    Merge,
    Promote,
    Reaffirm,
    Retire,
    Revise,
    Supersede,
    apply_operation,
)
from kept.core.statement import parse_statement
from kept.curation.curate import curate as plainly_curate
from kept.curation.curate.plans import OFTEN
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement
from kept.curation.guard import find_protected_changes
from kept.curation.lifecycle import CurationRules, rules_of
from kept.profiles import load_profile

RULES = rules_of(load_profile("coding"))
DAWN = datetime(2026, 1, 1, tzinfo=UTC)
ACCEPTED = Accepted()
BUN = "Use bun instead of npm for every script in the web folder."
BUN_AGAIN = "use **bun** instead of npm for every script in the web folder"
BUN_NEAR = "Use bun instead of npm for every single script in the web folder."


def curate(judged, memories, *, rules=RULES, **more):
    return plainly_curate(judged, memories, rules=rules, **more)


def proposal(
    text: str,
    day: int = 0,
    *,
    session: str = "",
    confidence: float = 0.8,
    verdict=ACCEPTED,
    category: str = "constraint",
    origin: Origin = Origin.USER,
    fingerprint: str = "",
    subject: str = "",
):
    at = DAWN + timedelta(days=day)
    session = session or f"s{day}"
    quote = Evidence(quote=text, event=f"e-{session}-{text}", session=session, path="f", at=at, author="human", origin=origin)
    return CandidateVerdict(
        candidate=Candidate(
            id=f"{session}-{day}-{text}",
            profile="coding",
            category=category,
            scope="user",
            content=text,
            confidence=confidence,
            trigger="correction",
            at=at,
            origin=origin,
            artifacts=(),
            evidence=(quote,),
            reasoning="said",
            fingerprint=fingerprint,
            subject=subject,
        ),
        verdict=verdict,
    )


def after(judged, memories: dict[str, Memory] | None = None, actor: Actor = Actor.MACHINE, **more) -> dict[str, Memory]:
    state = dict(memories or {})
    for operation in curate(judged, tuple(state.values()), **more):
        state.update(apply_operation(state, operation, actor))
    return state


def only(memories: dict[str, Memory]) -> Memory:
    (found,) = memories.values()
    return found


def active(memories: dict[str, Memory]) -> set:
    """What holds, and what it took the place of and when."""
    return {
        (memories[each.superseded_by].content, each.content, each.first_seen, each.last_seen, each.reason)
        for each in memories.values()
        if each.status is Status.SUPERSEDED and each.reason.startswith("it was so until")
    } | {
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
    assert [type(each) for each in operations] == [Merge, Reaffirm]
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
    assert operation.reason == REREAD


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


# --- Over sessions

DECIDED = "Decide on squash merges for the release branch."


def test_a_decision_made_in_three_sessions_becomes_a_convention_with_the_reason_said() -> None:
    judged = [proposal(DECIDED, day, category="decision") for day in range(OFTEN)]
    first = after(judged[:2])
    assert only(first).category == "decision"
    operations = curate(judged, tuple(first.values()))
    assert [type(each) for each in operations] == [Reaffirm, Promote]
    assert operations[-1].reason == "decided in 3 sessions"
    assert only(after(judged, first)).category == only(after(judged)).category == "convention"
    assert curate(judged, tuple(after(judged, first).values())) == ()


def test_a_profile_without_conventions_keeps_its_decisions() -> None:
    judged = [proposal(DECIDED, day, category="decision") for day in range(4)]
    assert not [each for each in curate(judged, (), rules=CurationRules()) if isinstance(each, Promote)]


def test_a_convention_whose_evidence_shrinks_is_a_decision_again() -> None:
    judged = [proposal(DECIDED, day, category="decision") for day in range(OFTEN)]
    assert only(after(judged[:2], after(judged))).category == "decision"


@each_case("reason", sorted({*LASTING, UNTRIED}))
def test_what_an_agent_can_repeat_waits_however_many_sessions_have_it(reason: str) -> None:
    judged = [proposal(BUN, day, verdict=Held(reason=reason), confidence=0.5) for day in range(OFTEN)]
    assert only(after(judged)).status is Status.HELD


def test_what_was_held_becomes_active_once_three_sessions_said_it() -> None:
    judged = [proposal(BUN, day, verdict=Held(reason="unsure"), confidence=0.5) for day in range(OFTEN)]
    assert only(after(judged[:2])).status is Status.HELD
    assert only(after(judged)).status is Status.ACTIVE
    assert only(after(judged, after(judged[:2]))).status is Status.ACTIVE


def test_repetition_within_a_session_or_by_an_assistant_counts_once() -> None:
    held = Held(reason="unsure")
    one = [proposal(f"{BUN} {'Please. ' * day}", day, session="s", verdict=held) for day in range(4)]
    assert only(after(one)).status is Status.HELD
    other = [proposal(BUN, day, verdict=held, origin=Origin.ASSISTANT) for day in range(4)]
    assert (only(after(other)).status, only(after(other)).observations) == (Status.HELD, 1)


def test_an_event_that_two_sessions_tell_counts_once() -> None:
    def copied(day: int) -> CandidateVerdict:
        made = proposal(BUN, 0, session=f"copy{day}", verdict=Held(reason="unsure"))
        evidence = replace(made.candidate.evidence[0], event="one event")
        return replace(made, candidate=replace(made.candidate, evidence=(evidence,)))

    assert only(after([copied(day) for day in range(4)])).observations == 1


FIX = "`grep: invalid option -- P` when running `grep -oP '{0}'`: use `grep -oE '{0}'` instead."


def test_a_fix_applied_again_counts_by_sessions_and_grows_surer() -> None:
    judged = [
        proposal(FIX.format(word), day, category="known_fix", origin=Origin.TOOL, fingerprint="f", confidence=0.75)
        for day, word in enumerate(("a", "bb 7", "c"))
    ]
    memory = only(after(judged))
    assert (memory.observations, memory.confidence) == (3, 0.85)


def test_another_remedy_for_the_same_error_is_another_fix() -> None:
    other = FIX.format("a").replace("use `grep -oE", "use `rg -o")
    judged = [proposal(text, category="known_fix", origin=Origin.TOOL, fingerprint="f") for text in (FIX.format("a"), other)]
    assert len(after(judged)) == 2


# --- Contradictions

NPM = "Use npm for the scripts of the web folder."
NOT_NPM = "Use bun instead of npm for the scripts of the web folder."


def contents(memories: dict[str, Memory], status: Status = Status.ACTIVE) -> list[str]:
    return sorted(each.content for each in memories.values() if each.status is status)


def test_the_later_of_two_that_contradict_each_other_wins_whatever_is_read_first() -> None:
    old, new = proposal(NPM, 1), proposal(NOT_NPM, 4)
    for state in (after([old, new]), after([old, new], after([old])), after([old, new], after([new]))):
        assert contents(state) == [NOT_NPM]
        (gone,) = (each for each in state.values() if each.status is Status.SUPERSEDED)
        assert (gone.content, gone.first_seen, state[gone.superseded_by].content) == (NPM, DAWN + timedelta(days=1), NOT_NPM)
        assert gone.reason == "it was so until 2026-01-05; said otherwise since"
        assert curate([old, new], tuple(state.values())) == ()


def test_a_supersession_is_an_operation_dated_by_the_later_evidence() -> None:
    operations = curate([proposal(NPM, 1), proposal(NOT_NPM, 4)], ())
    assert [(type(each), each.at) for each in operations][-1] == (Supersede, DAWN + timedelta(days=4))


def test_what_is_said_again_after_its_contradiction_holds_again() -> None:
    old, new, again = proposal(NPM, 1), proposal(NOT_NPM, 4), proposal(NPM, 9)
    assert contents(after([old, new, again], after([old, new]))) == [NPM]


def test_without_its_contradiction_a_memory_holds_again() -> None:
    old, new = proposal(NPM, 1), proposal(NOT_NPM, 4)
    assert contents(after([old], after([old, new]))) == [NPM]


@pytest.mark.parametrize(
    "newer",
    [
        proposal(NOT_NPM, 4, verdict=Held(reason="unsure")),
        proposal(NOT_NPM, 4, origin=Origin.ASSISTANT),
        proposal(NOT_NPM, 1),
    ],
    ids=["held", "less-trusted", "same-time"],
)
def test_what_is_unsure_less_trusted_or_not_later_takes_nothings_place(newer: CandidateVerdict) -> None:
    assert not contents(after([proposal(NPM, 1), newer]), Status.SUPERSEDED)


def test_what_contradicts_a_persons_own_memory_waits_for_the_person() -> None:
    mine = replace(only(after([proposal(NPM, 1)])), owned=True)
    denied = "Do not use npm for the scripts of the web folder."
    state = after([proposal(NPM, 1), proposal(denied, 4)], {mine.id: mine})
    assert (contents(state), contents(state, Status.HELD)) == ([NPM], [denied])
    assert next(each for each in state.values() if each.status is Status.HELD).reason == "held: it contradicts what you keep"


def test_a_persons_own_memory_gives_way_to_their_typed_words_that_say_it_changed_and_comes_back_when_said_again() -> None:
    mine = replace(only(after([proposal(NPM, 1)])), owned=True)
    judged = [proposal(NPM, 1), proposal(NOT_NPM, 4)]
    state = after(judged, {mine.id: mine})
    assert (contents(state), contents(state, Status.SUPERSEDED)) == ([NOT_NPM], [NPM])
    assert find_protected_changes([mine], curate(judged, [mine])) == ()
    again = "We switched from bun back to npm for the scripts of the web folder."
    judged.append(proposal(NPM, 8))
    judged.append(proposal(again, 9))
    assert not contents(after(judged, state), Status.HELD)
    assert NOT_NPM not in contents(after(judged, state))


def test_what_a_person_wrote_themselves_holds_again_once_what_it_gave_way_to_is_withdrawn() -> None:
    mine = replace(only(after([proposal(NPM, 1)])), owned=True, candidates=(), evidence=())
    state = after([proposal(NOT_NPM, 4)], {mine.id: mine})
    assert (contents(state), contents(state, Status.SUPERSEDED)) == ([NOT_NPM], [NPM])
    assert find_protected_changes(state.values(), curate([], list(state.values()))) == ()
    state = after([], state)
    assert contents(state) == [NPM]
    assert curate([], list(state.values())) == ()


def test_a_persons_own_memory_gives_way_once() -> None:
    mine = replace(only(after([proposal(NPM, 1)])), owned=True, candidates=(), evidence=())
    judged = [proposal(NOT_NPM, 4)]
    assert curate(judged, list(after(judged, {mine.id: mine}).values())) == ()


@pytest.mark.parametrize(
    ("part", "left"),
    [("the main branch", 1), ("production only from the main branch after the tests passed", 0)],
)
def test_an_agents_note_is_part_of_the_one_sentence_that_it_says_most_of(part: str, left: int) -> None:
    rules = (
        "Deploy to production only from the main branch after the tests passed.",
        "Nobody may force-push the main branch without asking Anna first.",
    )
    made = [proposal(text, day) for day, text in enumerate(rules)]
    judged = [replace(each, candidate=replace(each.candidate, trigger=CAUSE)) for each in made]
    note = replace(
        only(after(made[:1])), id="n", content=part, trigger=CLIENT_MEMORY, candidates=(), evidence=(), status=Status.HELD
    )
    state = after(judged, {note.id: note})
    assert contents(state) == sorted(rules)
    assert len(contents(state, Status.HELD)) == left


@pytest.mark.parametrize(("pinned", "origin"), [(True, Origin.USER), (False, Origin.ASSISTANT)], ids=["pinned", "agent"])
def test_a_pinned_memory_or_words_that_nobody_typed_change_nothing_of_a_persons(pinned, origin):
    mine = replace(only(after([proposal(NPM, 1)])), owned=True, pinned=pinned)
    state = after([proposal(NPM, 1), proposal(NOT_NPM, 4, origin=origin)], {mine.id: mine})
    assert contents(state) == [NPM]


PAIR = ("We use Postgres for the orders table.", "We use MySQL for the orders table.")


def test_of_two_that_may_contradict_the_earlier_waits_beside_the_later_in_any_order() -> None:
    old, new = (proposal(text, day) for day, text in enumerate(PAIR))
    for state in (after([old, new]), after([old, new], after([old])), after([old, new], after([new]))):
        (held,) = [each for each in state.values() if each.status is Status.HELD]
        assert (held.content, held.reason, state[held.superseded_by].content) == (PAIR[0], MAY_CONTRADICT, PAIR[1])
        assert contents(state) == [PAIR[1]]
        assert curate([old, new], list(state.values())) == ()


def test_of_two_that_may_contradict_both_hold_once_a_person_says_so() -> None:
    judged = [proposal(text, day) for day, text in enumerate(PAIR)]
    state = after(judged)
    (held,) = [each for each in state.values() if each.status is Status.HELD]
    state = state | apply_operation(state, Approve(memory=held.id, at=held.last_seen, reason=APPROVED), Actor.PERSON)
    assert contents(after(judged, state)) == sorted(PAIR)


def test_the_earlier_of_two_that_may_contradict_holds_again_when_the_later_is_retired() -> None:
    judged = [proposal(text, day) for day, text in enumerate(PAIR)]
    state = after(judged)
    (new,) = [each for each in state.values() if each.status is Status.ACTIVE]
    state = state | apply_operation(state, Retire(memory=new.id, at=new.last_seen, reason="by hand"), Actor.PERSON)
    assert contents(after(judged, state)) == [PAIR[0]]


def test_words_that_nobody_typed_wait_beside_typed_ones_that_they_may_contradict() -> None:
    state = after([proposal(PAIR[0], 0), proposal(PAIR[1], 1, origin=Origin.ASSISTANT)])
    assert (contents(state), contents(state, Status.HELD)) == ([PAIR[0]], [PAIR[1]])


def test_what_a_person_turned_down_takes_nothings_place() -> None:
    refused = replace(only(after([proposal(NOT_NPM, 4)])), status=Status.REJECTED, owned=True)
    assert contents(after([proposal(NPM, 1), proposal(NOT_NPM, 4)], {refused.id: refused})) == [NPM]


def test_fixes_never_take_each_others_place() -> None:
    judged = [proposal(text, day, category="known_fix") for day, text in enumerate((NPM, NOT_NPM))]
    assert len(contents(after(judged))) == 2


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
RULES = (
    NPM,
    NOT_NPM,
    "Use npm instead of bun for the scripts of the web folder.",
    "Do not use npm for the scripts of the web folder.",
    "The default branch is main.",
    "The default branch is develop.",
    "The project uses Go version 1.24.",
    "The project uses Go version 1.25.",
    "We use Postgres for the orders table.",
    "We use MySQL for the orders table.",
    "I live in Bergen and work as a translator.",
    "I moved to Oslo, I no longer live in Bergen.",
    "I live in Lisbon now.",
    "The weekly report goes out on Friday.",
    "Send the weekly report on Monday, Friday was too late.",
    "We first sent the weekly report of all open orders by hand.",
    "The weekly report of all open orders is sent by a job.",
)
texts = st.lists(st.sampled_from(WORDS), min_size=5, max_size=9).map(lambda words: " ".join(words) + " uses pytest 8 always")
proposals = st.lists(
    st.builds(
        proposal,
        st.one_of(texts, st.sampled_from(RULES)),
        st.integers(0, 5),
        confidence=st.sampled_from((0.71, 0.8, 0.9)),
        verdict=st.sampled_from((Accepted(), Held(reason="unsure"), Held(reason=UNSURE))),
        category=st.sampled_from(("constraint", "decision")),
        origin=st.sampled_from((Origin.USER, Origin.USER, Origin.ASSISTANT)),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each.candidate.id,
)


@given(proposals, st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order_or_the_number_of_runs(judged, random):
    whole = active(after(judged))
    shuffled = list(judged)
    random.shuffle(shuffled)
    state: dict[str, Memory] = {}
    for cut in sorted(random.randint(0, len(shuffled)) for _ in range(3)):
        state = after(shuffled[:cut], state)
    state = after(shuffled, state)
    assert active(state) == whole
    assert curate(judged, tuple(state.values())) == ()


@given(proposals, st.randoms(use_true_random=False))
def test_nothing_active_contradicts_what_is_active_and_later(judged, random):
    state = after(judged)
    left = sorted(
        (each for each in state.values() if each.status is Status.ACTIVE and each.origin is Origin.USER),
        key=lambda each: each.last_seen,
    )
    says = [parse_value_statement(each.content, parse_statement(each.content)) for each in left]
    pairs = [pair for pair in find_value_pairs(says) if left[pair[0]].last_seen < left[pair[1]].last_seen]
    assert not [pair for pair in pairs if pair[2]]


def test_a_clearer_wording_revises_the_memory():
    first = after([proposal(BUN, confidence=0.75)])
    operations = curate([proposal(BUN, confidence=0.75), proposal(BUN_NEAR, 1, confidence=0.9)], tuple(first.values()))
    assert [type(each) for each in operations] == [Revise]


def test_the_first_memory_of_a_group_is_an_add_dated_by_its_evidence():
    (operation,) = curate([proposal(BUN, 2)], ())
    assert isinstance(operation, Add)
    assert operation.at == DAWN + timedelta(days=2)


def wish(text, day, *, session=""):
    return proposal(text, day, session=session, verdict=Refused(reason=SAID_ONCE), confidence=0.5)


def active_of(judged, **options):
    state = {}
    for operation in curate(judged, (), **options):
        state.update(apply_operation(state, operation, Actor.MACHINE))
    return [each.content for each in state.values() if each.status is Status.ACTIVE]


SAME_WISH = [
    "Tests should not depend on the network.",
    "please write tests that do not depend on the network",
    "the tests shouldn't depend on the network at all",
]


def test_the_same_wish_of_three_sessions_is_one_active_memory_in_the_words_of_one_of_them():
    assert [each in SAME_WISH for each in active_of([wish(text, day) for day, text in enumerate(SAME_WISH)])] == [True]


def test_a_request_that_is_tried_again_in_three_sessions_is_no_standing_wish():
    def around(_):
        return frozenset({"tutorial", "window", "button"})

    assert active_of([wish(text, day) for day, text in enumerate(SAME_WISH)], surroundings=around) == []


def test_a_wish_that_is_all_that_three_sessions_ask_for_is_no_standing_wish():
    assert active_of([wish(text, day) for day, text in enumerate(SAME_WISH)], surroundings=lambda _: frozenset()) == []


def test_a_wish_about_what_its_prompts_are_about_is_no_standing_wish():
    def around(candidate):
        return frozenset({"depend", "network", candidate.evidence[0].session})

    assert active_of([wish(text, day) for day, text in enumerate(SAME_WISH)], surroundings=around) == []


def test_a_wish_of_two_sessions_is_no_memory():
    assert curate([wish(text, day) for day, text in enumerate(SAME_WISH[:2])], ()) == ()


def test_a_wish_said_three_times_in_one_session_is_no_memory():
    assert curate([wish(text, day, session="s") for day, text in enumerate(SAME_WISH)], ()) == ()


def test_wishes_that_say_the_opposite_are_not_the_same():
    texts = [
        "Tests should depend on the network.",
        "Tests should not depend on the network.",
        "tests must not depend on the network",
    ]
    assert active_of([wish(text, day) for day, text in enumerate(texts)]) == []


IN_OTHER_WORDS = (
    ("keep the prices in the flyer in dollars", "dollar prices on the flyer, never euros", "the flyer prices should be in dollars"),
    ("don't put comments into the code", "no comments in the code, never", "you should write the code without comments"),
    ("you must run the linter before each push", "always lint before pushing", "don't push without running the linter"),
    ("kein Punkt im Preis, immer mit Komma", "Preise mit Komma schreiben, nicht mit Punkt", "schreib die Preise nie mit Punkt"),
    ("nunca borres los registros", "los registros no se deben borrar", "hay que conservar los registros, no los borres"),
)
NOT_THE_SAME = (
    ("never edit the generated files", "never edit the migration files", "never edit the vendored files"),
    ("ensure the tank stops when the target dies", "ensure the tank turns when the target moves", "the tank fires at the target"),
    (
        "use the new parser in tests, not the old one",
        "use the old parser in tests, not the new one",
        "only the old parser in tests",
    ),
    ("tests come before code", "the code should be written before the tests", "first the code, only then any tests"),
    ("the price should be shown to the user", "never show the price to the user", "the user must not see the price shown"),
    ("answers should be short and in German", "answers in English should be short", "short answers in French should be the rule"),
    ("indent code with 2 spaces, never tabs", "code is indented with 4 spaces, no tabs", "no tabs, indent the code with 8 spaces"),
)


@each_case("texts", IN_OTHER_WORDS)
def test_a_wish_of_three_sessions_in_other_words_is_one_active_memory_with_all_three_as_evidence(texts):
    state = {}
    for operation in curate([wish(text, day) for day, text in enumerate(texts)], ()):
        state.update(apply_operation(state, operation, Actor.MACHINE))
    (memory,) = state.values()
    assert (memory.status, memory.content in texts) == (Status.ACTIVE, True)
    assert {item.quote for item in memory.evidence} == set(texts)


@pytest.mark.parametrize("texts", IN_OTHER_WORDS[1:])
def test_rules_that_one_session_lists_are_not_joined(texts):
    rules = [proposal(text, day, session="s") for day, text in enumerate(texts)]
    rules = [replace(rule, candidate=replace(rule.candidate, trigger=NOTE)) for rule in rules]
    assert sum(isinstance(operation, Add) for operation in curate(rules, ())) == len(texts)


@each_case("texts", IN_OTHER_WORDS)
def test_what_may_not_be_meant_as_a_rule_counts_with_wishes_in_other_words(texts):
    unsure = proposal(texts[2], 2, verdict=Held(reason=UNSURE), confidence=0.5)
    unsure = replace(unsure, candidate=replace(unsure.candidate, trigger=NOTE))
    assert [each in texts for each in active_of([wish(texts[0], 0), wish(texts[1], 1), unsure])] == [True]


@each_case("texts", NOT_THE_SAME)
def test_wishes_for_another_thing_value_or_order_are_not_the_same(texts):
    assert active_of([wish(text, day) for day, text in enumerate(texts)]) == []


def test_two_wishes_that_agree_with_a_third_but_not_with_each_other_are_not_the_same():
    texts = ("never store the password in the log file", "no password in the log", "don't print a customer's password in the log")
    assert active_of([wish(text, day) for day, text in enumerate(texts)]) == []


ENDED = (
    ("We decided to use Postgres because we need transactions.", "We decided against Postgres, SQLite it is."),
    ("We decided to use Postgres because it is safe.", "We decided against Postgres because nobody can run it in production."),
    ("We decided to send letters with Mailchimp because sales has it.", "We no longer use Mailchimp, letters go out with Brevo."),
    ("We decided to set the flyer with LaTeX because it looks best.", "We scrap the plan with LaTeX and go with Typst."),
    ("We chose to host the shop on Heroku because it is cheap.", "We've switched from Heroku to Fly."),
    ("We decided to write the importer in Go because it is fast.", "We decided to drop Go for the importer, it stays in Python."),
    ("Wir haben entschieden, Postgres zu nehmen, weil es da ist.", "Wir haben uns gegen Postgres entschieden, es wird SQLite."),
    ("Nous avons choisi Kafka parce que l'équipe le connaît.", "Nous n'utilisons plus Kafka, les messages passent par NATS."),
    ("Hemos decidido usar Trello porque el cliente lo tiene.", "Ya no usamos Trello, las tareas están en Linear."),
)
BOTH_HOLD = (
    ("We decided to use Postgres for the orders because it is safe.", "We decided against Postgres for the search index."),
    ("We decided to use Stripe because it is quick.", "We decided to stop using Stripe Radar."),
    ("We decided to replace Jest with Vitest because it is faster.", "We decided against Jest because it is slow."),
    ("We decided to test with Playwright because it is fast.", "We decided not to test the admin pages with Playwright."),
    ("We decided to use Postgres 16 because of its slots.", "We no longer use Postgres 12."),
    ("We decided against MongoDB because it loses data.", "We decided to use Postgres because it is safe."),
    ("We decided to use Postgres because it is safe.", "In the tests always use SQLite, never Postgres."),
)


@each_case(("earlier", "later"), ENDED)
def test_a_decision_that_a_later_one_ends_waits_beside_it(earlier, later):
    state = {}
    for operation in curate([proposal(earlier, 0), proposal(later, 5)], ()):
        state.update(apply_operation(state, operation, Actor.MACHINE))
    status = {memory.content: memory.status for memory in state.values()}
    assert (status[earlier] in (Status.HELD, Status.SUPERSEDED), status[later]) == (True, Status.ACTIVE)


@each_case(("earlier", "later"), BOTH_HOLD)
def test_a_decision_about_another_thing_of_the_same_name_ends_nothing(earlier, later):
    assert sorted(active_of([proposal(earlier, 0), proposal(later, 5)])) == sorted((earlier, later))


SAME_DECISION = (
    "We decided to cache results in Redis for an hour.",
    "Results shall be cached in Redis with a TTL of one hour.",
    "Cache all results in Redis for one hour.",
)


def test_three_sessions_with_one_decision_in_other_words_make_a_convention_where_meaning_is_known():
    judged = [proposal(text, day, category="decision") for day, text in enumerate(SAME_DECISION)]
    memory = only(after(judged, meaning=lambda pairs: [0.9] * len(pairs)))
    (added, *_) = curate(judged, (), meaning=lambda pairs: [0.9] * len(pairs))
    assert added.reason == "decided in 3 sessions; alike in meaning (0.90)"
    assert (memory.category, memory.observations) == ("convention", 3)
    assert memory.content in SAME_DECISION
    assert "decided in 3 sessions" in memory.reason
    assert len(after(judged)) > 1


def test_what_is_said_of_another_language_or_day_is_no_other_wording_of_it():
    for left, right in (
        ("Always write the news in german in the tern repo, customers read them.", "tern repo: the news have to be in English."),
        ("The nightly report has to be sent on Monday.", "The nightly report is sent by Friday noon."),
    ):
        state = after([proposal(left), proposal(right, 1)], meaning=lambda pairs: [0.9] * len(pairs))
        assert (contents(state), contents(state, Status.HELD)) == ([right], [left])


def test_what_means_the_same_stays_one_when_no_model_can_tell_any_more():
    judged = [proposal(text, day, category="decision") for day, text in enumerate(SAME_DECISION)]
    state = after(judged, meaning=lambda pairs: [0.9] * len(pairs))
    assert curate(judged, tuple(state.values()), meaning=lambda _pairs: None) == ()


def test_what_means_the_same_stays_one_where_the_model_does_not_know_the_language():
    judged = [proposal(text, day, category="decision") for day, text in enumerate(SAME_DECISION)]
    state = after(judged, meaning=lambda pairs: [0.9] * len(pairs))
    assert curate(judged, tuple(state.values()), meaning=lambda pairs: [None] * len(pairs)) == ()
    assert len(after(judged, meaning=lambda pairs: [None] * len(pairs))) > 1


def test_memories_that_say_the_same_are_one_also_where_that_one_waits_beside_a_later_one() -> None:
    old, again, new = proposal(PAIR[0]), proposal(PAIR[0], 1), proposal(PAIR[1], 2)
    double = replace(only(after([again])), id="double")
    state = after([old, again, new], {**after([old]), "double": double})
    assert (contents(state), contents(state, Status.HELD)) == ([PAIR[1]], [PAIR[0]])
    assert curate([old, again, new], list(state.values())) == ()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Use the test repo skill with the manual commit strategy.", "Use the test repo skill with the auto commit strategy."),
        ("Results are cached in Redis for 1 hour.", "All results are cached in Redis for 2 hours then."),
        ("Errors are logged as JSON lines.", "Errors are never logged as JSON lines there."),
        ("The importer runs before the nightly export.", "The importer runs right after the nightly export ends."),
    ],
)
def test_however_near_a_model_finds_them_other_values_numbers_denials_and_opposites_stay_apart(left, right):
    asked = []
    after([proposal(left), proposal(right, 1)], meaning=lambda pairs: asked.extend(pairs) or [1.0] * len(pairs))
    assert asked == []


EMOJI = (
    "I prefer short answers without emojis.",
    "As you know I prefer short answers without emojis!",
    "I dislike emojis, keep answers short.",
    "I like short answers, without any emojis.",
)


@each_case("order", list(permutations(range(len(EMOJI)))))
def test_one_preference_in_several_wordings_is_one_whole_sentence_that_was_said(order):
    memory = only(after([proposal(EMOJI[place], day, category="preference") for day, place in enumerate(order)]))
    assert memory.content in EMOJI
    assert {each.quote for each in memory.evidence} == set(EMOJI)


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("the api listens on port 8080.", "the api listens on port 8080 and the worker on port 8081."),
        ("Use feature flags for risky changes.", "Use feature flags for risky changes, because rollbacks take 60 minutes."),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_sentence_that_another_one_goes_on_from_is_said_again_by_it_whatever_numbers_follow(shorter, longer, turned):
    memory = only(after([proposal(shorter, 3 * turned), proposal(longer, 1)]))
    assert (memory.content, memory.status, memory.observations) == (longer, Status.ACTIVE, 2)


def test_forms_of_one_word_keep_no_wordings_of_one_meaning_apart():
    told = [proposal("Write docs in British English."), proposal("Docs are written in British English.", 1)]
    assert len(after(told, meaning=lambda pairs: [0.97] * len(pairs))) == 1
    assert len(after(told, meaning=lambda pairs: [0.5] * len(pairs))) == 2


def test_a_decision_that_two_more_sessions_state_in_other_words_is_a_convention():
    told = [
        proposal("We decided to store all timestamps in UTC.", category="decision"),
        proposal("timestamps are always stored in UTC.", 1, category="project_fact"),
        proposal("From now on every timestamp is stored as UTC.", 2, category="project_fact"),
    ]
    assert only(after(told)).category == "convention"
    assert (
        only(after([replace(each, candidate=replace(each.candidate, category="project_fact")) for each in told])).category
        != "convention"
    )


@each_case("order", list(permutations(range(3))))
def test_of_equally_sure_wordings_the_one_that_begins_with_its_matter_stays(order):
    told = ("From now on keep answers short, no emojis.", "keep answers short, no emojis", "Keep answers short, without emojis.")
    assert only(after([proposal(told[place], day) for day, place in enumerate(order)])).content == told[2]


def test_the_earlier_value_does_not_come_back_when_a_person_retires_the_later_one():
    judged = [proposal(NPM, 1), proposal(NOT_NPM, 4)]
    state = after(judged)
    (new,) = [each for each in state.values() if each.status is Status.ACTIVE]
    state |= apply_operation(state, Retire(memory=new.id, at=new.last_seen, reason="its line was deleted by hand"), Actor.PERSON)
    assert contents(after(judged, state)) == []
    assert contents(after([*judged, proposal(NPM, 9)], state)) == [NPM]


TABS = "From now on indent with tabs in this repository."


def withdrawal(text: str, names: str, day: int, *, doubt: str = TAKES_BACK):
    judged = proposal(text, day, verdict=Held(reason=doubt))
    return replace(judged, candidate=replace(judged.candidate, trigger=WITHDRAWAL, replaces=names, doubt=doubt))


def test_what_a_person_takes_back_later_is_retired_and_comes_back_when_it_is_told_again():
    judged = [proposal(TABS), proposal(BUN), withdrawal("Forget what I said about tabs.", "tabs", 5)]
    for order in permutations(judged):
        state: dict[str, Memory] = {}
        for number in range(1, 4):
            state = after(order[:number], state)
        gone = next(each for each in state.values() if each.content == TABS)
        assert (gone.status, gone.reason) == (Status.RETIRED, f"{TAKEN_BACK} 2026-01-06")
        assert [each.content for each in state.values() if each.status in (Status.ACTIVE, Status.HELD)] == [BUN]
        assert curate(judged, tuple(state.values())) == ()
    again = after([*judged, proposal(TABS, 9)], state)
    assert {each.content for each in again.values() if each.status is Status.ACTIVE} == {BUN, TABS}
    assert {each.content for each in after(judged[:2], state).values() if each.status is Status.ACTIVE} == {BUN, TABS}


@pytest.mark.parametrize(
    ("others", "doubt"),
    [
        (("Tabs in Makefiles are two columns wide.",), TAKES_BACK),  # several may be meant
        ((), "it may be the words of another author"),
    ],
)
def test_a_withdrawal_waits_where_it_is_not_clear_and_nothing_is_retired(others, doubt):
    judged = [proposal(TABS), *map(proposal, others), withdrawal("Forget what I said about tabs.", "tabs", 5, doubt=doubt)]
    state = after(judged)
    assert {each.content for each in state.values() if each.status is Status.ACTIVE} == {TABS, *others}
    assert [each.content for each in state.values() if each.status is Status.HELD] == ["Forget what I said about tabs."]
    assert curate(judged, tuple(state.values())) == ()


def test_a_withdrawal_takes_nothing_from_what_a_person_wrote_and_says_nothing_where_nothing_is_meant():
    state = after([proposal(TABS)])
    own = {number: replace(memory, owned=True) for number, memory in state.items()}
    taken = withdrawal("Forget what I said about tabs.", "tabs", 5)
    assert sorted(each.status for each in after([proposal(TABS), taken], own).values()) == [Status.ACTIVE, Status.HELD]
    assert [each.content for each in after([proposal(BUN), taken]).values()] == [BUN]
    assert only(after([proposal(TABS, 7), taken])).status is Status.ACTIVE
    assert only(after([proposal(TABS), withdrawal("Forget my noisy tabs.", "noisy tabs", 5)])).content == TABS


def test_a_withdrawal_names_a_memory_by_words_of_the_same_root():
    judged = [proposal("I am allergic to walnuts."), withdrawal("Forget my walnut allergy.", "walnut allergy", 5)]
    assert only(after(judged)).status is Status.RETIRED


LIVES, MOVED = "I live in Bergen and work as a translator.", "I moved to Oslo, I no longer live in Bergen."
PORT, NEW_PORT = "The local api listens on port 8080.", "The local api listens on port 9000."


def standing(memories):
    return {each.content for each in memories.values() if each.status is Status.ACTIVE}


def test_what_may_be_no_rule_stands_where_it_gives_what_was_told_before_another_value_and_the_older_waits():
    note = proposal(NEW_PORT, 5, verdict=Held(reason=UNSURE))
    state = after([proposal(PORT), note])
    assert standing(state) == {NEW_PORT}
    (older,) = [each for each in state.values() if each.content == PORT]
    assert (older.status, older.reason) == (Status.HELD, MAY_CONTRADICT)
    assert only(after([note])).status is Status.HELD
    assert standing(after([proposal(BUN), note])) == {BUN}


def test_what_may_be_no_rule_waits_again_when_what_it_gave_a_newer_value_is_gone():
    note = proposal(NEW_PORT, 5, verdict=Held(reason=UNSURE))
    state = after([proposal(PORT), note])
    assert standing(after([note], state)) == set()


def test_a_newer_value_that_may_be_no_rule_stays_beside_the_older_one_that_a_person_approves():
    judged = [proposal(PORT), proposal(NEW_PORT, 5, verdict=Held(reason=UNSURE))]
    state = after(judged)
    (older,) = [each for each in state.values() if each.status is Status.HELD]
    state |= apply_operation(state, Approve(memory=older.id, at=older.last_seen, reason=APPROVED), Actor.PERSON)
    assert standing(after(judged, state)) == {PORT, NEW_PORT}


def test_what_an_agent_said_waits_whether_it_was_read_before_or_after_what_the_person_typed():
    home, moved = proposal(LIVES), proposal(MOVED, 1, origin=Origin.ASSISTANT)
    assert standing(after([home, moved], after([moved]))) == standing(after([home, moved])) == {LIVES}


def test_what_may_be_quoted_takes_no_place_of_what_was_told():
    note = proposal(NEW_PORT, 5, verdict=Held(reason="may be quoted, taken back or meant for another use"))
    assert standing(after([proposal(PORT), note])) == {PORT}


def test_what_comes_back_in_a_template_waits_however_often_and_what_is_told_among_other_words_does_not():
    held = [proposal(TABS, day, verdict=Held(reason="may not be meant as a rule")) for day in range(4)]
    values = iter(range(100))
    template = after(held, surroundings=lambda _: frozenset({"opened", "renovate", "update", "conflicts", str(next(values))}))
    assert only(template).status is Status.HELD
    assert only(after(held)).status is Status.ACTIVE
    assert only(after(held, surroundings=lambda _: frozenset())).status is Status.ACTIVE
