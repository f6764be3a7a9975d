"""The verdict on a candidate, beyond what the gate knows."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from kept.core.fingerprint import fingerprint_statement
from kept.core.memory import Accepted, Held, Refused
from kept.extraction.rules.assertion import WITHDRAWN
from kept.extraction.verdicts import Rules, judge_candidate
from talk import LEXICON, PROFILE, agent, found, talk, user

RULES = Rules(profile=PROFILE, scope="project:shop", forgotten=frozenset(), key=b"key", zone=ZoneInfo("UTC"))
SAID = "We always use pnpm in this project, never npm."


def tried(**changes):
    (candidate,) = found(user(SAID))
    events = talk(user(SAID))
    return judge_candidate(RULES, replace(candidate, **changes), events, LEXICON)


def test_a_candidate_whose_words_are_there_is_accepted():
    assert isinstance(tried().verdict, Accepted)


def test_what_looks_like_a_secret_once_its_words_stand_together_is_refused_and_not_listed_in_the_clear():
    secret = "AKIA" + "Z7Q2M4X8K1P5R9T3"
    outcome = tried(content=f"We always use {secret} in this project, never npm.")
    assert outcome.verdict == Refused(reason="secret")
    assert secret not in outcome.candidate.content


def test_what_rests_on_words_that_are_not_there_is_refused():
    outcome = tried(content="We always use `yarn.lock` in this project, never npm.")
    assert outcome.verdict == Refused(reason="ungrounded")


def test_a_held_candidate_without_its_words_is_held_for_its_own_reason():
    outcome = tried(content="We always use `yarn.lock` in this project, never npm.", doubt="hypothetical")
    assert outcome.verdict == Held(reason="hypothetical")


def test_a_candidate_that_is_taken_back_keeps_the_doubt_it_had():
    (candidate,) = found(user(SAID))
    events = talk(user(SAID), agent("Fine."), user("Nope, we go on as before."))
    outcome = judge_candidate(RULES, replace(candidate, doubt="hypothetical"), events, LEXICON)
    assert outcome.candidate.doubt == "hypothetical"


def test_what_was_taken_back_before_a_telling_does_not_take_the_telling_back():
    (candidate,) = found(user(SAID))
    events = talk(user("btw i was joking about pnpm"), agent("Fine."), user(SAID))
    told = replace(candidate, evidence=tuple(replace(item, event=events[-1].key) for item in candidate.evidence))
    assert judge_candidate(RULES, told, events, LEXICON).candidate.doubt == ""


def test_requests_stay_where_something_else_was_forgotten_and_those_with_the_forgotten_words_go():
    forgotten = frozenset({fingerprint_statement("which vault holds the harbour key of the night crew", RULES.key)})
    (candidate,) = found(user(SAID))
    asked = ("which package manager do we use", "which vault holds the harbour key of the night crew", "<b>which manager</b>")
    outcome = judge_candidate(replace(RULES, forgotten=forgotten), replace(candidate, needed_for=asked), talk(user(SAID)), LEXICON)
    assert outcome.candidate.needed_for == asked[:1]


def test_of_a_forgotten_statement_no_word_is_kept_and_where_it_was_said_is():
    forgotten = frozenset({fingerprint_statement(SAID, RULES.key)})
    (candidate,) = found(user(SAID))
    told = replace(candidate, about="the shop", subject="pnpm", needed_for=("which package manager do we use",))
    outcome = judge_candidate(replace(RULES, forgotten=forgotten), told, talk(user(SAID)), LEXICON)
    assert outcome.verdict == Refused(reason="forgotten")
    assert [item.event for item in outcome.candidate.evidence] == ["k0"]
    left = outcome.candidate
    quotes = [item.quote for item in left.evidence]
    assert not any((left.content, left.subject, left.about, *left.needed_for, *left.artifacts, *quotes))


def doubt_after(*later):
    """Why a telling waits once these turns follow it."""
    events = talk(user(SAID), *later)
    (candidate,) = found(user(SAID))
    return judge_candidate(RULES, candidate, events, LEXICON).candidate.doubt


@pytest.mark.parametrize(
    "later",
    [
        [agent("Fine."), user("Nope, we go on as before.")],
        [user("oops, wrong terminal. run the build")],
        [agent("Fine."), user("fat chance, by the way")],
        [agent("Fine."), user("run the build"), agent("Done."), user("btw i was joking about pnpm")],
        [agent("Fine."), user("run the build"), agent("Done."), user("correction: npm is fine in the example folder")],
        [agent("Gut."), user("Auf keinen Fall.")],
        [agent("Bien."), user("Non, laisse comme avant.")],
        [agent("Bien."), user("Ni hablar.")],
        [agent("好的。"), user("不，保持原样。")],
    ],
)
def test_a_telling_waits_that_one_of_the_next_prompts_takes_back(later):
    assert doubt_after(*later) == WITHDRAWN


@pytest.mark.parametrize(
    "later",
    [
        [agent("Shall I change the pipeline too?"), user("No.")],
        [agent("Shall I change the pipeline too?"), agent(" "), user("No.")],
        [agent("Fine."), user("run the build"), agent("Done."), user("nope, the header is still blue")],
        [agent("Fine."), user("sorry, one more thing: the header is blue")],
        [agent("Fine."), user("wait for the build, then push")],
        [agent("Fine."), user("no need to run the build")],
        [agent("Fine."), user("actually, can you also fix the header")],
    ],
)
def test_a_telling_stands_where_the_next_prompts_are_about_something_else(later):
    assert doubt_after(*later) == ""
