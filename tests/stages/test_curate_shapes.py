"""What becomes of memories by the shape of their category: dossiers, collections, themes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

from kept.model.event import Origin
from kept.model.fold import apply
from kept.model.lifecycle import rules_of
from kept.model.memory import Accepted, Actor, Candidate, Evidence, Judged, Status
from kept.model.operation import Merge, Retire, Supersede
from kept.profiles import profile
from kept.stages.curate import curate
from kept.stages.guard import overreach

COMPANION, JOURNAL = rules_of(profile("companion")), rules_of(profile("journal"))
DAWN = datetime(2026, 1, 1, tzinfo=UTC)


def said(text, day, category, subject="", *, artifacts=(), way="companion"):
    at = DAWN + timedelta(days=day)
    quote = Evidence(quote=text, event=f"e{day}", session=f"s{day}", path="f", at=at, author="human", origin=Origin.USER)
    return Judged(
        candidate=Candidate(
            id=f"{day}-{text}", profile=way, category=category, scope="user", content=text, confidence=0.8, trigger="person", at=at,
            origin=Origin.USER, artifacts=artifacts, evidence=(quote,), reasoning="said", subject=subject,
        ),
        verdict=Accepted(),
    )  # fmt: skip


def after(judged, rules):
    state = {}
    for operation in curate(judged, (), rules=rules):
        state.update(apply(state, operation, Actor.MACHINE))
    return state


def active(state):
    return sorted(each.content for each in state.values() if each.status is Status.ACTIVE)


def test_what_is_said_of_one_person_is_one_dossier():
    state = after(
        [
            said("My sister Ana is a vet in Porto.", 0, "people", "Ana"),
            said("My brother Rui plays the cello.", 1, "people", "Rui"),
            said("My sister Ana has two dogs.", 5, "people", "ana"),
        ],
        COMPANION,
    )
    assert active(state) == ["My brother Rui plays the cello.", "My sister Ana is a vet in Porto; has two dogs."]
    (ana,) = (each for each in state.values() if each.subject.casefold() == "ana")
    assert ana.observations == 2


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


def test_a_dossier_stays_short_by_leaving_out_what_was_said_first():
    parts = [said(f"My sister Ana number {day} {'went and came ' * 8}.", day, "people", "Ana") for day in range(14)]
    (text,) = active(after(parts, COMPANION))
    assert len(text) <= 1_000
    assert "number 13" in text
    assert "number 0" not in text


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


def test_preferences_on_one_theme_are_one_entry():
    judged = [
        said("Keep your answers short.", 0, "preferences", "answers"),
        said("Answer in German when I write German.", 3, "preferences", "answers"),
        said("I love window seats.", 4, "preferences", "travel"),
    ]
    assert active(after(judged, COMPANION)) == [
        "I love window seats.", "Keep your answers short; Answer in German when I write German.",
    ]  # fmt: skip


def test_a_changed_thing_in_a_dossier_is_told_with_what_it_was_and_until_when():
    judged = [
        said("The office printer limit is 20 pages.", 0, "preferences", "printer"),
        said("The office printer limit is 50 pages.", 9, "preferences", "printer"),
    ]
    assert active(after(judged, COMPANION)) == [
        "The office printer limit is 50 pages (until 2026-01-10: The office printer limit is 20 pages)."
    ]


def lessons(count=8):
    """Lessons about two matters, alike in pairs, and one about nothing else."""
    told = [
        "`remarquee upload` takes no name flag for the uploaded document",
        "The uploaded document of `remarquee upload` is named after its source",
        "The lint hook runs the whole suite before each commit",
        "The lint hook runs no race detector before a commit",
        "Timeline snapshots are ordered by their creation time",
        "Timeline updates are ordered by version instead of creation time",
        "Closing a ticket warns about open tasks and proceeds",
        "Workers read the registry before their first job",
    ]
    return [
        said(text, 3 * day, "insights", artifacts=("remarquee upload",) if "remarquee" in text else (), way="journal")
        for day, text in enumerate(told[:count])
    ]


def few(most):
    return replace(JOURNAL, condensed={"insights": most})


def test_insights_past_the_threshold_become_fewer_that_say_each_and_keep_all_evidence():
    state = after(lessons(), few(7))
    assert active(state)[-2:] == sorted(active(state))[-2:]
    assert len(active(state)) == 7
    (entry,) = (each for each in state.values() if len(each.evidence) == 2)
    assert entry.content in {
        f"{one.candidate.content} {two.candidate.content}" for one, two in zip(lessons(), lessons()[1:], strict=False)
    }
    assert sum(len(each.evidence) for each in state.values()) == 8


def test_up_to_the_threshold_no_insight_is_condensed():
    assert active(after(lessons(), few(8))) == sorted(each.candidate.content for each in lessons())


def test_what_is_like_nothing_else_is_not_condensed_whatever_the_threshold():
    texts = active(after(lessons(), few(1)))
    assert {"Closing a ticket warns about open tasks and proceeds", "Workers read the registry before their first job"} <= set(
        texts
    )
    assert len(texts) == 5


def test_an_entry_holds_no_more_than_it_can_say():
    kinds = ["lint", "race", "shell", "docs", "spelling", "links", "build", "types", "size", "licence", "schema", "config"]
    many = [
        said(f"Before each commit the hook runs the {kind} check over {kind}.go and {kind}.md. {f'It is {kind} ' * 12}", day, "insights",
             way="journal")
        for day, kind in enumerate(kinds)
    ]  # fmt: skip
    texts = active(after(many, few(1)))
    assert len(texts) == 3
    assert all(len(each) <= 480 for each in texts)
    assert all(any(f"the {kind} check" in each for each in texts) for kind in kinds)


def test_condensing_night_by_night_and_in_any_order_ends_as_doing_it_once():
    whole = active(after(lessons(), few(3)))
    for shuffled in (lessons(), lessons()[::-1], lessons()[1::2] + lessons()[::2]):
        state = {}
        for count in range(1, 9):
            for operation in curate(shuffled[:count], tuple(state.values()), rules=few(3)):
                state.update(apply(state, operation, Actor.MACHINE))
        assert active(state) == whole
        assert not curate(shuffled, tuple(state.values()), rules=few(3))


def test_an_insight_that_a_person_pinned_stays_alone():
    state = after(lessons(2), few(2))
    first = next(each for each in state.values() if "takes no name flag" in each.content)
    state[first.id] = replace(first, pinned=True)
    for operation in curate(lessons(), tuple(state.values()), rules=few(3)):
        state.update(apply(state, operation, Actor.MACHINE))
    assert first.content in active(state)
    assert len(state[first.id].evidence) == 1


def test_the_guard_counts_no_insight_as_lost_that_went_whole_into_an_entry():
    state = {number: each for number, each in after(lessons(), few(8)).items() if "ticket" not in each.content}
    merged = [each for each in curate(lessons(), tuple(state.values()), rules=few(1)) if isinstance(each, Merge)]
    gone = next(Retire(memory=each.id, at=DAWN, reason="") for each in state.values() if "registry" in each.content)
    assert len(merged) == 3
    assert overreach(state.values(), [*merged, gone]) == ()
    for lacking in ({"added": ()}, {"content": "Lessons about this and that."}):
        silent = [replace(each, facts=replace(each.facts, **lacking)) for each in merged]
        assert overreach(state.values(), [*silent, gone]), lacking


def test_an_entry_that_ends_is_as_many_losses_as_it_tells():
    state = after(lessons(), few(8))
    for operation in curate(lessons(), tuple(state.values()), rules=few(5)):
        state.update(apply(state, operation, Actor.MACHINE))
    assert len(active(state)) == 5
    entries = sorted((each for each in state.values() if each.status is Status.ACTIVE), key=lambda each: -len(each.evidence))
    (stop,) = overreach(state.values(), [Retire(memory=each.id, at=DAWN, reason="") for each in entries[:3]])
    assert (stop.active, stop.lost) == (8, sum(len(each.evidence) for each in entries[:3]))
    assert stop.lost > 3


def test_what_went_into_an_entry_and_ended_with_it_spends_the_budget():
    state = after(lessons(), few(8))
    for operation in curate(lessons(), tuple(state.values()), rules=few(5)):
        state.update(apply(state, operation, Actor.MACHINE))
    largest = max((each for each in state.values() if each.status is Status.ACTIVE), key=lambda each: len(each.evidence))
    at = DAWN + timedelta(days=30)
    first = Retire(memory=largest.id, at=at, reason="")
    assert not overreach(state.values(), [first])
    state.update(apply(state, first, Actor.MACHINE))
    others = [each.id for each in state.values() if each.status is Status.ACTIVE]
    assert overreach(state.values(), [Retire(memory=each, at=at, reason="") for each in others[:2]])


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
                again.update(apply(again, operation, Actor.MACHINE))
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


def test_a_dossier_has_the_punctuation_a_person_would_give_it():
    state = after(
        [
            said('Ana says "measure twice."', 0, "people", "Ana"),
            said("Keep Ana's tests working!", 1, "people", "Ana"),
            said("Ana likes short mails", 2, "people", "Ana"),
        ],
        COMPANION,
    )
    assert active(state) == ['Ana says "measure twice." Keep Ana\'s tests working! Ana likes short mails.']


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
