"""What becomes of memories by the shape of their category: dossiers, collections, themes."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

from kept.core.event import Origin
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence, Status
from kept.core.operation import Supersede, apply_operation
from kept.curation.curate import curate
from kept.curation.lifecycle import rules_of
from kept.profiles import load_profile

COMPANION, JOURNAL = rules_of(load_profile("companion")), rules_of(load_profile("journal"))
DAWN = datetime(2026, 1, 1, tzinfo=UTC)


def said(text, day, category, subject="", *, artifacts=(), way="companion"):
    at = DAWN + timedelta(days=day)
    quote = Evidence(quote=text, event=f"e{day}", session=f"s{day}", path="f", at=at, author="human", origin=Origin.USER)
    return CandidateVerdict(
        candidate=Candidate(
            id=f"{day}-{text}",
            profile=way,
            category=category,
            scope="user",
            content=text,
            confidence=0.8,
            trigger="person",
            at=at,
            origin=Origin.USER,
            artifacts=artifacts,
            evidence=(quote,),
            reasoning="said",
            subject=subject,
        ),
        verdict=Accepted(),
    )


def after(judged, rules):
    state = {}
    for operation in curate(judged, (), rules=rules):
        state.update(apply_operation(state, operation, Actor.MACHINE))
    return state


def active(state):
    return sorted(each.content for each in state.values() if each.status is Status.ACTIVE)


def test_what_is_said_of_one_person_stays_as_it_was_said_sentence_by_sentence():
    state = after(
        [
            said("My sister Ana is a vet in Porto.", 0, "people", "Ana"),
            said("My brother Rui plays the cello.", 1, "people", "Rui"),
            said("My sister Ana has two dogs.", 5, "people", "ana"),
        ],
        COMPANION,
    )
    assert active(state) == ["My brother Rui plays the cello.", "My sister Ana has two dogs.", "My sister Ana is a vet in Porto."]


def test_a_changed_value_takes_the_place_of_the_earlier_one():
    judged = [
        said("The office printer limit is 20 pages.", 0, "preferences", "printer"),
        said("The office printer limit is 50 pages.", 9, "preferences", "printer"),
    ]
    assert active(after(judged, COMPANION)) == ["The office printer limit is 50 pages."]


def test_a_dossier_says_a_repeated_thing_once():
    state = after([said("My sister Ana is a vet in Porto.", day, "people", "Ana") for day in (0, 3)], COMPANION)
    assert active(state) == ["My sister Ana is a vet in Porto."]


def test_a_dossier_is_the_same_whatever_was_read_first():
    parts = [
        said("My sister Ana is a vet in Porto.", 0, "people", "Ana"),
        said("My sister Ana has two dogs.", 5, "people", "Ana"),
        said("My sister Ana moved to Braga in May.", 9, "people", "Ana"),
    ]
    assert len({tuple(active(after(list(each), COMPANION))) for each in permutations(parts)}) == 1


def test_a_new_theme_on_the_same_ground_takes_the_place_of_the_older_one():
    old = said(
        "Decoupling worker registration from project directories in `registry.go`",
        0,
        "themes",
        artifacts=("registry.go",),
        way="journal",
    )
    new = said(
        "Moving worker registration out of `registry.go` into plugins", 9, "themes", artifacts=("registry.go",), way="journal"
    )
    other = said("Retrying uploads that fail on slow lines in `upload.go`", 4, "themes", artifacts=("upload.go",), way="journal")
    state = after([new, other, old], JOURNAL)
    assert active(state) == sorted([new.candidate.content, other.candidate.content])
    (gone,) = (each for each in state.values() if each.status is Status.SUPERSEDED)
    assert gone.ended_at == DAWN + timedelta(days=9)
    assert "until 2026-01-10" in gone.reason


def test_decisions_on_like_ground_stand_beside_each_other():
    judged = [
        said("Workers register through `registry.go` at start.", 0, "decisions", artifacts=("registry.go",), way="journal"),
        said("Workers in `registry.go` are listed by name.", 5, "decisions", artifacts=("registry.go",), way="journal"),
    ]
    assert not [each for each in curate(judged, (), rules=JOURNAL) if isinstance(each, Supersede)]


def test_a_later_home_takes_the_place_of_the_earlier_one_whatever_was_read_first():
    old, new = said("I live in Lisbon.", 0, "person", "home"), said("I moved to Braga.", 90, "person", "home")
    for judged in ([old, new], [new, old]):
        state = after(judged, COMPANION)
        assert active(state) == ["I moved to Braga."]
        (gone,) = (each for each in state.values() if each.status is Status.SUPERSEDED)
        assert gone.reason == "it was so until 2026-04-01; said otherwise since"


QUESTION = "Does discovery in `registry.go` hold when four workflows run at once?"
ANSWER = "Discovery in `registry.go` does hold when four workflows run at once, since it locks."


def asked(day):
    return said(QUESTION, day, "open_questions", artifacts=("registry.go",), way="journal")


def learnt(day, text=ANSWER):
    return said(text, day, "insights", artifacts=("registry.go",), way="journal")


def test_a_question_is_closed_by_what_is_said_later_whatever_was_read_first():
    for judged in permutations([asked(0), learnt(3), learnt(5, "`registry.go` is read once at the start.")]):
        state = after(judged, JOURNAL)
        (question,) = (each for each in state.values() if each.content == QUESTION)
        (answer,) = (each for each in state.values() if each.content == ANSWER)
        assert (question.status, question.resolved_by) == (Status.RESOLVED, answer.id)
        assert curate(judged, tuple(state.values()), rules=JOURNAL) == ()


def test_a_question_asked_after_what_would_answer_it_stays_open():
    assert QUESTION in active(after([learnt(0), asked(3)], JOURNAL))


def test_a_question_opens_again_when_it_is_asked_again_or_its_answer_is_gone():
    state = after([asked(0), learnt(3)], JOURNAL)
    for judged in ([asked(0), learnt(3), asked(9)], [asked(0)]):
        again = dict(state)
        for _ in range(2):  # what goes and what comes back for it are two nights
            for operation in curate(judged, tuple(again.values()), rules=JOURNAL):
                again.update(apply_operation(again, operation, Actor.MACHINE))
        assert QUESTION in active(again)


def test_what_only_shares_words_with_a_question_closes_none():
    other = said("Discovery runs in four workflows.", 3, "insights", way="journal")
    assert QUESTION in active(after([asked(0), other], JOURNAL))


def test_like_themes_of_one_day_stand_beside_each_other():
    web, cli = (
        "Migrate the web chat of the harbour to conversation state.",
        "Migrate the command line chat of the harbour to conversation state.",
    )
    assert active(after([said(web, 0, "themes", way="journal"), said(cli, 0.2, "themes", way="journal")], JOURNAL)) == sorted(
        [web, cli]
    )
    assert active(after([said(web, 0, "themes", way="journal"), said(cli, 2, "themes", way="journal")], JOURNAL)) == [cli]


def test_a_theme_told_more_fully_on_the_same_day_takes_the_place_of_the_short_one():
    short, full = "The history of zero in arithmetic", "The history of zero in arithmetic: Brahmagupta to Fibonacci"
    assert active(after([said(short, 0, "themes", way="journal"), said(full, 0.2, "themes", way="journal")], JOURNAL)) == [full]


def test_a_rule_and_the_rule_with_its_reason_are_one_in_any_order():
    rule = "Never retry a post that returned an id"
    reasoned = f"{rule}, even if it seems gone: it is stored."
    for judged in permutations(
        [
            said(f"{rule}.", 0, "insights", way="journal"),
            said(reasoned, 3, "insights", way="journal"),
            said("Never retry a login.", 4, "insights", way="journal"),
        ]
    ):
        state = after(judged, JOURNAL)
        assert active(state) == sorted([reasoned, "Never retry a login."])
    later = after([said(reasoned, 0, "insights", way="journal"), said(f"{rule}.", 3, "insights", way="journal")], JOURNAL)
    assert active(later) == [reasoned], "the reason is not lost because the rule was said again without it"
