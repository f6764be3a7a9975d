"""The verdict on a candidate, beyond what the gate knows."""

from dataclasses import replace
from zoneinfo import ZoneInfo

from kept.core.memory import Accepted, Refused
from kept.extraction.verdicts import Rules, judge_candidate, texts_by_key
from talk import LEXICON, PROFILE, found, talk, user

RULES = Rules(profile=PROFILE, scope="project:shop", forgotten=frozenset(), key=b"key", zone=ZoneInfo("UTC"))
SAID = "We always use pnpm in this project, never npm."


def tried(**changes):
    (candidate,) = found(user(SAID))
    events = talk(user(SAID))
    return judge_candidate(RULES, replace(candidate, **changes), {each.key: each for each in events}, texts_by_key(events), LEXICON)


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
