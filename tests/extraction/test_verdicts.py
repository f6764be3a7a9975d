"""The verdict on a candidate, beyond what the gate knows."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from kept.core.memory import Accepted, Refused
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
        [agent("Fine."), user("run the build"), agent("Done."), user("nope, the header is still blue")],
        [agent("Fine."), user("sorry, one more thing: the header is blue")],
        [agent("Fine."), user("wait for the build, then push")],
        [agent("Fine."), user("no need to run the build")],
        [agent("Fine."), user("actually, can you also fix the header")],
    ],
)
def test_a_telling_stands_where_the_next_prompts_are_about_something_else(later):
    assert doubt_after(*later) == ""
