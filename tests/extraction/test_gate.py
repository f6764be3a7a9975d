"""The gate: what becomes a memory, what waits, what is refused, each for one stated reason."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.event import Origin
from kept.core.memory import ACCOUNT, REDACTED, REMEMBER, SAID_ONCE, UNSAID, UNSURE, Accepted, Candidate, Evidence, Held, Refused
from kept.extraction.gate import LONGEST, is_grounded, judge
from kept.extraction.rules.passages import LONGEST_PASSAGE
from kept.extraction.rules.tellings import ERRAND
from kept.profiles import load_profile
from kept.profiles.profile import Writer
from talk import LEXICON, PROFILE, START

QUOTE = Evidence(
    quote="we never write to `orders.sql` from the worker",
    event="k1",
    session="s",
    path="s.jsonl",
    at=START,
    author="human",
    origin=Origin.USER,
)
GOOD = Candidate(
    id="c",
    profile="coding",
    category="constraint",
    scope="project:shop",
    content="We never write to `orders.sql` from the worker.",
    confidence=0.9,
    trigger="correction",
    at=START,
    origin=Origin.USER,
    artifacts=("orders.sql",),
    evidence=(QUOTE,),
    reasoning="",
)


def verdict(**changes):
    return judge(replace(GOOD, **changes), PROFILE, lexicon=LEXICON)


def test_a_rule_in_the_users_words_is_accepted():
    assert verdict() == Accepted()


@pytest.mark.parametrize(
    "changes", [{"content": "From now on [forgotten]`."}, {"evidence": (replace(QUOTE, quote="we never [forgotten]"),)}]
)
def test_what_is_left_around_forgotten_words_is_refused(changes):
    assert verdict(**changes) == Refused(reason="forgotten words")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Never write to `orders.sql`\u200b from the worker.", "invisible text"),
        ("Never write to `orders.sql`\u202e from the worker.", "invisible text"),
        ("Never write to `orders.sql` " + "again " * 90, "too long"),
    ],
)
def test_a_content_that_is_not_fit_is_refused_with_its_reason(content, reason):
    assert verdict(content=content, artifacts=()) == Refused(reason=reason)


@each_case(
    "content",
    [
        "never write to `orders.sql` <!-- kept -->",
        "# is the comment sign here, never //",
        "Read `@docs/RULES.md` before you write it, never after.",
        "Publish it as @acme/orders, never as orders.",
        "never again this shit in `orders.sql`",
        "<system-reminder> never stands in our prompts",
    ],
)
def test_marks_and_imports_are_for_rendering_to_escape_and_no_reason_to_refuse_a_persons_words(content):
    assert verdict(content=content) == Accepted()


def test_what_speaks_of_the_assistant_is_refused_only_where_a_category_asks():
    content = "You are an AI assistant that writes `orders.sql`."
    assert verdict(content=content) == Accepted()
    own = tuple(replace(each, self_reference=False) for each in PROFILE.categories)
    assert judge(replace(GOOD, content=content), replace(PROFILE, categories=own), lexicon=LEXICON) == Refused(
        reason="self-reference"
    )


def test_a_persons_decision_about_software_that_remembers_is_kept_in_every_profile():
    own = replace(PROFILE, categories=tuple(replace(each, self_reference=False) for each in PROFILE.categories))
    content = "We decided that the memory store is written by the worker alone."
    assert judge(replace(GOOD, content=content, trigger="decided"), own, lexicon=LEXICON) == Accepted()
    assert judge(replace(GOOD, content=content, trigger="remember"), own, lexicon=LEXICON) == Refused(reason="self-reference")


def test_a_journals_category_takes_only_what_names_something():
    journal = load_profile("journal")
    vague = replace(GOOD, profile="journal", category="insights", content="Be careful and always do good work.", artifacts=())
    assert judge(vague, journal, lexicon=LEXICON) == Refused(reason="unspecific")
    assert judge(replace(vague, content="Be careful with `orders.sql`."), journal, lexicon=LEXICON) == Accepted()
    status = replace(vague, content="All checks pass (`npm run lint`).")
    assert judge(status, journal, lexicon=LEXICON) == Refused(reason="status report")


def test_a_candidate_with_a_doubt_waits_and_says_why():
    assert verdict(doubt="may hold for one occasion only") == Held(reason="may hold for one occasion only")


@each_case("author", ["injected", "subagent", "compaction", "abandoned", "tool"])
def test_words_that_are_not_to_be_trusted_support_no_rule(author):
    assert verdict(evidence=(QUOTE, replace(QUOTE, author=author))) == Refused(reason="untrusted author")


def test_a_rule_in_the_assistants_words_alone_waits_for_a_person():
    spoken = replace(QUOTE, author="assistant", origin=Origin.ASSISTANT)
    assert isinstance(verdict(evidence=(spoken,), origin=Origin.ASSISTANT), Held)


def test_a_rule_that_rests_on_words_of_several_waits_unless_the_user_said_it():
    spoken = replace(QUOTE, author="assistant", origin=Origin.ASSISTANT, event="k2")
    assert verdict(evidence=(QUOTE, spoken)) == Accepted()
    for evidence, origin in (
        ((QUOTE, spoken), Origin.ASSISTANT),
        ((spoken,), Origin.USER),
        ((replace(QUOTE, quote=" "), spoken), Origin.USER),
    ):
        found = verdict(evidence=evidence, origin=origin)
        assert isinstance(found, Held)
        assert found.reason == "not the user's words"


def test_a_fix_may_rest_on_what_a_tool_printed():
    printed = replace(QUOTE, author="tool", origin=Origin.TOOL)
    assert verdict(category="known_fix", evidence=(printed,), origin=Origin.TOOL) == Accepted()


def test_a_category_that_takes_no_tools_words_takes_the_assistants():
    printed, spoken = (replace(QUOTE, author=origin.value, origin=origin) for origin in (Origin.TOOL, Origin.ASSISTANT))
    (fix,) = (each for each in PROFILE.categories if each.id == "known_fix")
    profile = replace(PROFILE, categories=(replace(fix, tool_words=False),))
    for quote, expected in ((printed, Held), (spoken, Accepted)):
        said = replace(GOOD, category="known_fix", evidence=(quote,), origin=quote.origin)
        assert isinstance(judge(said, profile, lexicon=LEXICON), expected)


def test_what_is_not_sure_enough_waits_and_says_how_sure_it_is():
    result = verdict(confidence=0.5)
    assert isinstance(result, Held)
    assert (result.reason, "0.50" in result.detail) == ("unsure", True)


@pytest.mark.parametrize(("size", "reason"), [(LONGEST, None), (LONGEST + 1, "too long")])
def test_a_line_of_the_memory_file_fits_to_the_last_character(size, reason):
    found = verdict(content="Never write to the worker. ".ljust(size, "x"), artifacts=())
    assert (found.reason if isinstance(found, Refused) else None) == reason
    assert LONGEST == 480


def test_what_only_a_person_writes_into_a_category_waits_where_it_is_extracted():
    own = tuple(replace(each, writers=(Writer.PERSON,)) if each.id == GOOD.category else each for each in PROFILE.categories)
    found = judge(GOOD, replace(PROFILE, categories=own), lexicon=LEXICON)
    assert isinstance(found, Held)
    assert found.reason == "not extracted"


def test_a_category_that_nobody_declared_is_refused():
    assert verdict(category="horoscope") == Refused(reason="unknown category", detail="horoscope")


@pytest.mark.parametrize("evidence", [(), (replace(QUOTE, quote=" \n"),)])
def test_a_candidate_without_a_quote_is_refused(evidence):
    assert verdict(evidence=evidence) == Refused(reason="no evidence")


def test_a_preference_needs_no_artifact():
    assert verdict(category="preference", content="Explain the options before you change anything.", artifacts=()) == Accepted()


def test_a_quote_must_stand_in_its_event_white_space_apart():
    assert is_grounded(GOOD, {"k1": "well, we never\n  write to `orders.sql` from the worker"})
    assert not is_grounded(GOOD, {"k1": "we never write to `items.sql` from the worker"})
    assert not is_grounded(GOOD, {"k2": QUOTE.quote})


def test_every_artifact_of_the_content_must_occur_in_a_cited_or_neighbouring_text():
    named = replace(GOOD, content="We never write to `orders.sql` from the worker (about `queue.py`).")
    assert not is_grounded(named, {"k1": QUOTE.quote})
    assert is_grounded(named, {"k1": QUOTE.quote, "k0": "edit src/queue.py"})


@given(st.text(max_size=400))
def test_any_content_gets_a_verdict_and_an_accepted_one_fits_a_line(content):
    if verdict(content=content) == Accepted():
        assert len(content) <= 480


def asked_from(review: float):
    categories = tuple(replace(each, review=review) if each.id == "constraint" else each for each in PROFILE.categories)
    return replace(PROFILE, categories=categories)


def test_what_is_below_the_confidence_to_ask_about_is_refused_with_its_reason():
    unsure, way = replace(GOOD, confidence=0.6), asked_from(0.65)
    found = judge(unsure, way, lexicon=LEXICON)
    assert isinstance(found, Refused)
    assert (found.reason, found.detail) == ("not sure enough to ask", "confidence 0.60 is below 0.65")
    assert isinstance(judge(replace(unsure, confidence=0.65), way, lexicon=LEXICON), Held)
    assert judge(GOOD, way, lexicon=LEXICON) == Accepted()


def test_an_insight_out_of_a_diary_waits_only_where_it_is_nearly_sure():
    insight = replace(GOOD, category="insight", trigger="lesson", confidence=0.75)
    assert isinstance(judge(insight, PROFILE, lexicon=LEXICON), Held)
    assert isinstance(judge(replace(insight, confidence=0.7), PROFILE, lexicon=LEXICON), Refused)


def in_category(**changes):
    """The profile with another constraint."""
    return replace(
        PROFILE, categories=tuple(replace(each, **changes) if each.id == "constraint" else each for each in PROFILE.categories)
    )


LONG = "Never write to the worker, for it loses what it holds. ".ljust(700, "x")


@pytest.mark.parametrize(
    ("shown", "origin", "expected"),
    [
        (LONG[:390], Origin.USER, Accepted()),
        (LONG[:389], Origin.USER, Refused(reason="too long")),
        (LONG[:390], Origin.ASSISTANT, Refused(reason="too long")),
        (LONG[5:395], Origin.USER, Refused(reason="too long")),
    ],
)
def test_a_long_passage_is_fit_only_where_one_of_the_persons_own_long_quotes_begins_it(shown, origin, expected):
    evidence = (replace(QUOTE, quote=shown, origin=origin, author=origin.value), QUOTE, replace(QUOTE, quote="y" * 390))
    assert verdict(content=LONG, evidence=evidence, artifacts=()) == expected


def test_a_passage_has_a_longest_length_too():
    shown = "Never write. ".ljust(390, "x")
    evidence = (replace(QUOTE, quote=shown),)
    for size, expected in ((LONGEST_PASSAGE, Accepted()), (LONGEST_PASSAGE + 1, Refused(reason="too long"))):
        assert verdict(content=shown.ljust(size, "x"), evidence=evidence, artifacts=()) == expected


def test_what_is_exactly_as_sure_as_its_category_asks_is_accepted():
    assert judge(replace(GOOD, confidence=0.7), in_category(floor=0.7), lexicon=LEXICON) == Accepted()
    assert isinstance(judge(replace(GOOD, confidence=0.69), in_category(floor=0.7), lexicon=LEXICON), Held)


@pytest.mark.parametrize(
    ("content", "reason"), [("be careful and do good work", "unspecific"), ("All checks pass (`npm run lint`).", "status report")]
)
def test_only_a_specific_category_asks_for_something_concrete_and_never_of_a_persons_rule_or_a_fix(content, reason):
    vague, machine = replace(GOOD, content=content, artifacts=()), {"users_words": False}
    refused = Refused(reason=reason)
    assert judge(vague, in_category(specific=True, **machine), lexicon=LEXICON) == refused
    assert judge(vague, in_category(specific=False, **machine), lexicon=LEXICON) == Accepted()
    assert judge(vague, in_category(specific=True), lexicon=LEXICON) == Accepted()
    assert judge(replace(vague, fingerprint="E1"), in_category(specific=True, **machine), lexicon=LEXICON) == Accepted()
    spoken = replace(vague, origin=Origin.ASSISTANT)
    assert judge(spoken, in_category(specific=True), lexicon=LEXICON) == refused


def test_a_name_that_two_texts_have_half_each_is_in_neither():
    halves = (replace(QUOTE, quote="never write to ma", event="k1"), replace(QUOTE, quote="in.py", event="k2"))
    named = replace(GOOD, content="Never write to `main.py`.", evidence=halves)
    assert not is_grounded(named, {"k1": "never write to ma", "k2": "in.py"})


def test_a_quote_of_nothing_grounds_nothing():
    assert not is_grounded(replace(GOOD, evidence=(QUOTE, replace(QUOTE, quote=" "))), {"k1": QUOTE.quote})


def test_a_category_that_nobody_declared_is_named_in_sixty_characters():
    assert verdict(category="h" * 70) == Refused(reason="unknown category", detail="h" * 60)


@pytest.mark.parametrize("word", ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f4bb"])
def test_a_joiner_that_a_script_or_an_emoji_needs_is_not_invisible_text(word):
    assert verdict(content=f"Never write {word} into `orders.sql` from the worker.") == Accepted()


@each_case("char", ["\u2060", "\ue000", "\ufff0", "\u2028", "\u2029", "\u3164", "\u115f", "\u1160", "\uffa0"])
def test_each_kind_of_invisible_character_is_refused(char):
    assert verdict(content=f"Never write to `orders.sql`{char} from the worker.") == Refused(reason="invisible text")


SPOKEN = replace(QUOTE, author="assistant", origin=Origin.ASSISTANT)


@each_case(
    ("changes", "category", "expected"),
    [
        ({"doubt": SAID_ONCE}, {}, Refused(reason=SAID_ONCE)),
        ({"doubt": ERRAND}, {}, Refused(reason=ERRAND)),
        (
            {"evidence": (SPOKEN,)},
            {},
            Held(reason="not the user's words", detail="nothing the user said themselves supports it"),
        ),
        (
            {"evidence": (QUOTE, SPOKEN), "origin": Origin.ASSISTANT},
            {},
            Held(reason="not the user's words", detail="it rests on words that are not the user's"),
        ),
        (
            {"origin": Origin.TOOL},
            {"users_words": False, "tool_words": False, "specific": False},
            Held(reason="a tool's words", detail="nobody said it: it rests on what a tool printed"),
        ),
        (
            {},
            {"writers": (Writer.AGENT, Writer.PERSON)},
            Held(reason="not extracted", detail="only a person, or an agent that asks, writes into this category"),
        ),
        ({"confidence": 0.5}, {}, Held(reason="unsure", detail="confidence 0.50 is below 0.70")),
        # of several reasons the first counts, from what is refused to what is only unsure
        ({"doubt": SAID_ONCE, "evidence": ()}, {}, Refused(reason="no evidence")),
        ({"content": "never [forgotten]\u200b"}, {}, Refused(reason="forgotten words")),
        ({"content": "never\u200b", "evidence": (replace(QUOTE, author="injected"),)}, {}, Refused(reason="untrusted author")),
        ({"content": "never\u200b " * 99}, {}, Refused(reason="invisible text")),
        ({"content": "never " * 99, "doubt": SAID_ONCE}, {}, Refused(reason="too long")),
        ({"doubt": "hypothetical", "confidence": 0.5}, {}, Held(reason="hypothetical")),
        (
            {"evidence": (SPOKEN,), "origin": Origin.ASSISTANT, "doubt": "hypothetical"},
            {},
            Held(reason="not the user's words", detail="nothing the user said themselves supports it"),
        ),
        ({"evidence": (), "confidence": 0.1}, {"review": 0.65}, Refused(reason="no evidence")),
        ({"confidence": 0.6}, {"floor": 0.5, "review": 0.65}, Accepted()),
    ],
)
def test_a_verdict_gives_the_first_reason_and_what_it_means(changes, category, expected):
    assert judge(replace(GOOD, **changes), in_category(**category), lexicon=LEXICON) == expected


def test_what_the_assistant_decided_about_software_that_remembers_is_about_itself():
    said = {"content": "We decided that the memory store is written by the worker alone.", "trigger": "decided"}
    spoken = replace(GOOD, **said, origin=Origin.ASSISTANT, evidence=(SPOKEN,))
    assert judge(spoken, in_category(self_reference=False), lexicon=LEXICON) == Refused(reason="self-reference")


@pytest.mark.parametrize(("content", "is_specific"), [("ask Maria first", True), ("Ask before you do it", False)])
def test_a_name_within_a_sentence_is_something_concrete_and_its_first_word_is_not(content, is_specific):
    found = judge(replace(GOOD, content=content), in_category(specific=True, users_words=False), lexicon=LEXICON)
    assert found == (Accepted() if is_specific else Refused(reason="unspecific"))


def test_a_name_is_found_in_any_case_and_where_the_content_abbreviates_it():
    said = {"k1": f"{QUOTE.quote}, run npm run lint:fix", "k0": "edit src/QUEUE.py"}
    assert is_grounded(replace(GOOD, content="Never write to `Orders.SQL` with `npm run lint …` in `queue.py`."), said)
    assert not is_grounded(replace(GOOD, content="Never write to `orders.sql` with `npm run build …`."), said)


MARK = "[redacted:token:0123abcd]"


@each_case("content", [f"the token is {MARK}", f"remember the slack token {MARK}", f"never commit {MARK} to git"])
def test_what_is_left_of_a_secret_waits(content):
    assert verdict(content=content) == Held(reason=REDACTED)


def test_what_is_left_of_a_secret_waits_for_that_reason_whatever_else_is_in_doubt():
    assert verdict(content=f"the token is {MARK}", doubt=UNSURE) == Held(reason=REDACTED)


def test_a_fix_helps_without_the_secret_in_its_command():
    assert verdict(content=f"run `login {MARK}` again", fingerprint="abc") == Accepted()


@each_case(
    "content",
    [
        "remember my openai key",
        "the password for the router",
        "merk dir meinen api-schlüssel",
        "recuerda mi contraseña",
        "记住我的密码",
    ],
)
def test_a_secret_that_is_named_and_not_said_is_refused(content):
    assert verdict(content=content, trigger=REMEMBER) == Refused(reason=UNSAID)


@each_case(
    "content",
    [
        "remember never print the key",
        "remember to always rotate the token",
        "remember the key is the user id",
        "remember the db password lives in 1password",
        "remember that tokens expire after an hour",
    ],
)
def test_a_rule_about_a_secret_is_accepted(content):
    assert verdict(content=content, trigger=REMEMBER) == Accepted()


@each_case(
    "content",
    [
        "our iban is DE89 3704 0044 0532 0130 00",
        "pay to gb29nwbk60161331926819",
        "test with 4539 5787 6362 1486",
        "371449635398431",
    ],
)
def test_the_number_of_an_account_or_a_card_waits(content):
    assert verdict(content=content) == Held(reason=ACCOUNT)


@each_case(
    "content",
    [
        "our iban is DE88 3704 0044 0532 0130 00",
        "order 4539 5787 6362 1487",
        "commit de89370400440532013001ab",
        "build 2026112912345678",
    ],
)
def test_a_number_whose_check_digits_are_wrong_is_no_account(content):
    assert verdict(content=content) == Accepted()
