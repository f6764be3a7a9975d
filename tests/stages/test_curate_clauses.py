"""Sentences that say one thing and each add to it become one; those that only begin alike do not."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from kept.model.artifact import artifacts
from kept.model.event import Origin
from kept.model.fold import apply
from kept.model.lifecycle import rules_of
from kept.model.memory import Accepted, Actor, Candidate, Evidence, Judged, Memory, Status
from kept.profiles import profile
from kept.stages.curate import curate
from kept.stages.curate.clauses import LONGEST

RULES = rules_of(profile("coding"))
START = datetime(2026, 5, 1, tzinfo=UTC)


def said(text: str, day: int, category: str = "convention") -> Judged:
    at = START + timedelta(days=day)
    quote = Evidence(quote=text, event=f"e{day}", session=f"s{day}", path="f", at=at, author="human", origin=Origin.USER)
    return Judged(
        candidate=Candidate(
            id=f"{day}-{text}", profile="coding", category=category, scope="project:x", content=text, confidence=0.8, trigger="teaching",
            at=at, origin=Origin.USER, artifacts=artifacts(text), evidence=(quote,), reasoning="said",
        ),
        verdict=Accepted(),
    )  # fmt: skip


def remembered(*judged: Judged) -> list[str]:
    state: dict[str, Memory] = {}
    for operation in curate(judged, (), rules=RULES):
        state.update(apply(state, operation, Actor.MACHINE))
    return sorted(each.content for each in state.values() if each.status is Status.ACTIVE)


def test_one_rule_said_twice_with_other_additions_is_one_rule_with_both():
    rules = (
        said("In this repo we always round prices to whole cents in the cart, in `invoice.csv` too.", 0),
        said("In this project we always round prices to whole cents in the cart, never to tenths.", 3),
    )
    whole = "In this repo we always round prices to whole cents in the cart, in `invoice.csv` too, never to tenths."
    assert [remembered(*each) for each in permutations(rules)] == [[whole], [whole]]


def test_orders_of_which_one_contains_the_other_are_one_with_all_that_each_adds():
    habits = [
        said("Keep a diary as you work.", 0, "preference"),
        said("Keep a detailed diary, and commit at sensible points.", 1, "preference"),
        said("Check off tasks, keep a frequent diary.", 2, "preference"),
    ]
    assert remembered(*habits) == ["Check off tasks, keep a frequent diary, and commit at sensible points."]


def test_what_something_with_a_name_is_is_told_once_with_all_that_is_said_of_it():
    facts = said("`--shadow` is a hidden, internal flag.", 0), said("`--shadow` is an internal flag, no help text wanted.", 2)
    whole = "`--shadow` is a hidden, internal flag, no help text wanted."
    assert [remembered(*each) for each in permutations(facts)] == [[whole], [whole]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "We deploy the shop to staging every morning, never by hand.",
            "We deploy the shop to production every morning, never by hand.",
        ),
        (
            "If the nightly build of the shop fails twice, run it again.",
            "If the nightly build of the shop fails twice, ask the release team.",
        ),
        (
            "We keep the totals of every order in cents, except in `tax.csv`.",
            "We keep the totals of every order in cents, also in `tax.csv`.",
        ),
        ("Every upload of a picture is cut at once, to 4 MB.", "Every upload of a picture is cut at once, to 9 MB."),
        ("Indent with tabs.", "Indent with tabs in Makefiles."),
        ("`orders.db` is slow.", "`orders.db` is slow on Fridays."),
        ("`orders.db` is an old file.", "`orders.sql` is an old, large file."),
        ("`--shadow` is not an internal flag.", "`--shadow` is an internal flag of the shop."),
        ("Never merge.", "Never merge on Fridays."),
        ("Sort imports.", "Don't sort imports of tests."),
    ],
)
def test_sentences_that_hold_for_other_cases_or_contradict_each_other_are_not_joined(one, other):
    assert not any(one.rstrip(".") in text and text != one for text in remembered(said(one, 0), said(other, 1)) if text != other)
    assert all(text in (one, other) for text in remembered(said(one, 0), said(other, 1)))


def test_what_goes_on_from_another_word_for_word_is_told_as_it_stands():
    longer = "Never send an order to the printer twice that returned a number. The printer keeps it."
    assert remembered(said("Never send an order to the printer twice that returned a number.", 0), said(longer, 1)) == [longer]


def test_what_is_joined_stays_short_enough_for_a_memory():
    head = "We always write the name of the station and the time of the reading in the first row"
    rules = [
        said(f"{head}, {' '.join(f'{name}{each}' for each in 'abcdefgh')} too.", day)
        for day, name in enumerate(("wind", "rain", "tide", "swell"))
    ]
    (content,) = remembered(*rules)
    assert len(content) <= LONGEST
