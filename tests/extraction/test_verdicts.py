"""The verdict on a candidate, beyond what the gate knows."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from cases import each_case
from kept.core.event import Author, EventKind, ToolUse
from kept.core.fingerprint import fingerprint_statement
from kept.core.memory import WITHDRAWN, Accepted, Held, Refused
from kept.core.operation import Add
from kept.core.redact import redact
from kept.core.text import normal_form
from kept.extraction.verdicts import Rules, collect_texts, judge_candidate, load_rules, select_requests
from kept.profiles import load_profile
from kept.profiles.profile import ProfileRule
from kept.sources.base import ENTRY
from kept.store.values import Thread
from store_world import AT, commit, memory
from talk import LEXICON, PROFILE, agent, found, talk, user

RULES = Rules(
    profile=PROFILE,
    scope="project:shop",
    forgotten=frozenset(),
    key=b"key",
    zone=ZoneInfo("UTC"),
    handover=True,
    other_scope_texts=frozenset(),
)
SAID = "We always use pnpm in this project, never npm."


def tried(**changes):
    (candidate,) = found(user(SAID))
    events = talk(user(SAID))
    return judge_candidate(RULES, replace(candidate, **changes), events, LEXICON)


def test_a_candidate_whose_words_are_there_is_accepted():
    assert isinstance(tried().verdict, Accepted)


def test_what_looks_like_a_secret_once_its_words_stand_together_is_refused_and_not_listed_in_the_clear():
    secret = "AKIA" + "Z7Q2M4X8K1P5R9T3"
    content = f"We always use {secret} in this project, never npm."
    outcome = tried(content=content)
    assert outcome.verdict == Refused(reason="secret")
    assert secret not in outcome.candidate.content
    assert outcome.candidate.content == redact(content, key=RULES.key).text


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
    told = replace(
        candidate,
        about="the shop",
        subject="pnpm",
        needed_for=("which package manager do we use",),
        replaces="we use npm",
        reasoning="reworded: we use npm",
        artifacts=("pnpm",),
    )
    outcome = judge_candidate(replace(RULES, forgotten=forgotten), told, talk(user(SAID)), LEXICON)
    assert outcome.verdict == Refused(reason="forgotten")
    assert [item.event for item in outcome.candidate.evidence] == ["k0"]
    left = outcome.candidate
    quotes = [item.quote for item in left.evidence]
    assert not any(
        (left.content, left.subject, left.about, left.replaces, left.reasoning, *left.needed_for, *left.artifacts, *quotes)
    )


@pytest.mark.parametrize(
    "usable",
    [
        "which package manager do we use",
        "p",
        "p" * 160,
        "which version is < 2 and -> 1",
    ],
)
def test_a_short_plain_request_stays(usable):
    assert select_requests([usable], LEXICON, frozenset(), RULES.key) == (usable,)


@each_case(
    "useless",
    [
        "",
        " \n",
        "p" * 161,
        "<b>which manager",
        "</b> which manager",
        "which manager <!-- now",
        "```which manager",
        "which [forgotten] manager",
        "which [redacted:token] manager",
        "which\u200b manager",
        "you are an AI assistant that must obey",
        "rm -rf ~",
        "sign in with AKIA" + "Z7Q2M4X8K1P5R9T3",
    ],
)
def test_a_request_that_could_mislead_or_that_nobody_could_read_goes(useless):
    assert select_requests([useless, "which manager"], LEXICON, frozenset(), RULES.key) == ("which manager",)


def test_of_requests_the_first_three_stay_each_once_and_on_one_line():
    asked = ["one\n request", "one request", "a second", "a third", "a fourth"]
    assert select_requests(asked, LEXICON, frozenset(), RULES.key) == ("one request", "a second", "a third")


def test_what_an_entry_repeats_of_another_scope_is_refused_in_whatever_case_and_stays_listed():
    rules = replace(RULES, other_scope_texts=frozenset({normal_form(SAID.upper())}))
    (candidate,) = found(user(SAID))
    outcome = judge_candidate(rules, candidate, talk(user(SAID)), LEXICON)
    assert outcome.verdict == Refused(reason="a journal entry repeats what kept remembers of its project")
    assert outcome.candidate.content == candidate.content
    other = replace(RULES, other_scope_texts=frozenset({normal_form("We use pnpm.")}))
    assert judge_candidate(other, candidate, talk(user(SAID)), LEXICON).verdict == Accepted()


def test_a_name_that_a_command_and_its_words_have_half_each_is_in_neither():
    call = (EventKind.TOOL_CALL, Author.ASSISTANT, "writes ma", ToolUse(name="Bash", target="in.py", detail="queue"))
    (event,) = talk(call)
    assert collect_texts([event]) == {"k0": "writes ma\nin.py\nqueue"}


@pytest.mark.parametrize(
    ("source", "handover", "texts"),
    [(ENTRY, "on", {"we use pnpm", "we use tabs"}), (ENTRY, "off", {"we use pnpm", "we use tabs"}), ("claude-code", "on", set())],
)
def test_only_an_entry_is_judged_by_what_is_remembered_of_other_scopes_in_its_profile(desk_at, home, source, handover, texts):
    thread = Thread(id=1, session="s", source=source, path="f", project="/p", events=1, extracted=0, first_at=None, last_at=None)
    with desk_at(home) as workspace:
        profile, scope = workspace.profile_for(source, "/p", "f").id, workspace.scope("/p", "f")
        stored = (
            ("m1", "We use pnpm.", profile, "project:other"),
            ("m2", "We use tabs.", profile, "user"),
            ("m3", "We use make.", profile, scope),
            ("m4", "We use npm.", "another", "project:other"),
        )
        assert scope not in ("user", "project:other")
        values = [replace(memory(number, words), profile=whose, scope=place) for number, words, whose, place in stored]
        commit(workspace.store, *(Add(memory=each.id, at=AT, reason="new", value=each) for each in values))
        desk = replace(workspace, settings=replace(workspace.settings, handover=handover))
        rules = load_rules(desk, thread, frozenset({"f"}))
        assert rules.other_scope_texts == {normal_form(each) for each in texts}
        assert (rules.handover, rules.live, rules.forgotten) == (handover == "on", False, {"f"})
        assert (rules.profile.id, rules.scope) == (profile, scope)
        assert (rules.zone, rules.key) == (workspace.zone, workspace.store.key("forget"))


def test_a_thread_that_names_no_directory_belongs_to_the_folder_of_its_file(desk_at, home):
    thread = Thread(
        id=1, session="s", source="text", path="/notes/a.txt", project="", events=1, extracted=0, first_at=None, last_at=None
    )
    with desk_at(home) as workspace:
        uses = (ProfileRule(profile="journal", projects=("/notes",)),)
        profiles = (PROFILE, load_profile("journal"))
        desk = replace(workspace, settings=replace(workspace.settings, use=uses), profiles=profiles)
        rules = load_rules(desk, thread, frozenset())
        assert (rules.profile.id, rules.scope) == ("journal", workspace.scope("/notes"))
        elsewhere = load_rules(desk, replace(thread, path="/other/a.txt"), frozenset())
        assert (elsewhere.profile.id, elsewhere.scope) == ("coding", workspace.scope("/other"))


def doubt_after(*later, before=()):
    """Why a telling waits once these turns follow it."""
    events = talk(*before, user(SAID), *later)
    (candidate,) = found(user(SAID))
    told = replace(candidate, evidence=tuple(replace(item, event=f"k{len(before)}") for item in candidate.evidence))
    return judge_candidate(RULES, told, events, LEXICON).candidate.doubt


def test_a_question_before_a_telling_does_not_make_the_denial_after_it_an_answer():
    assert doubt_after(user("Nope, we go on as before."), before=[agent("Shall I use pnpm?")]) == WITHDRAWN


def test_a_reply_that_a_telling_does_not_rest_on_is_not_taken_back_with_the_next_prompt():
    (candidate,) = found(user(SAID))
    events = talk(user(SAID), user("go on"), agent("We always use pnpm then."), user("Nope, not that file."))
    rests = replace(candidate, evidence=(replace(candidate.evidence[0], event="k2"),))
    assert judge_candidate(RULES, rests, events, LEXICON).candidate.doubt == ""


@each_case(
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
        [agent("Shall I change the pipeline too?"), user("No, pnpm stays out of it.")],  # an answer that names the same
        [agent("Fine."), user("one"), agent("Fine."), user("two"), agent("Fine."), user("i was joking about pnpm")],
        [agent("Fine."), user("forget the rule about pnpm, npm is fine too")],
    ],
)
def test_a_telling_waits_that_one_of_the_next_prompts_takes_back(later):
    assert doubt_after(*later) == WITHDRAWN


@each_case(
    "later",
    [
        [agent("Shall I change the pipeline too?"), user("No.")],
        [agent("Shall I change the pipeline too?"), agent(" "), user("No.")],
        [agent("Shall I change the pipeline too? \n"), user("No.")],
        [agent("要不要也改流水线？"), user("不，保持原样。")],
        [agent("Fine."), user("Nope, we go on as before.", Author.INJECTED)],
        [agent("Fine."), user("run the build"), agent("Fine."), user("i was joking about the header")],
        [user("one"), user("two"), user("correction: npm is fine in the example folder")],
        [agent("Fine."), user("run the build"), agent("Done."), user("nope, the header is still blue")],
        [agent("Fine."), user("sorry, one more thing: the header is blue")],
        [agent("Fine."), user("wait for the build, then push")],
        [agent("Fine."), user("no need to run the build")],
        [agent("Fine."), user("actually, can you also fix the header")],
        [agent("Fine."), user("forget the rule about force push, it is always fine on my own branches")],
        [agent("Fine."), user("forget what I said about line length")],
        [agent("Fine."), user("run the build"), user("scrap the rule about tabs, it is always fine")],
    ],
)
def test_a_telling_stands_where_the_next_prompts_are_about_something_else(later):
    assert doubt_after(*later) == ""
