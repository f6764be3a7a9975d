"""Notes give what they list under headings that the profile names, in their writer's words, and nothing else."""

from dataclasses import replace

import pytest

from cases import each_case
from kept.core.event import Author
from kept.core.memory import UNCONFIRMED, Accepted, Frame, Held
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.patterns import CERTAIN, WAITING
from kept.profiles import load_profile
from kept.profiles.lexicons import load_lexicon
from talk import LEXICON, talk, user

JOURNAL = load_profile("journal")


def listed(text, name="journal", author=Author.HUMAN):
    events = [replace(talk(user(text, author))[0], label_reason="daily-note")]
    rules = load_profile(name)
    candidates = extract_candidates(events, 0, 1, profile=rules, lexicon=load_lexicon(("en",)), scope="project:log")
    return [(each.category, each.content) for each in candidates if each.trigger == "heading"]


def test_items_below_named_headings_are_kept_with_their_marks():
    note = (
        "# Tuesday\n\nA long day.\n\n## Decisions\n\n- We keep **SQLite** for `state.db`.\n- Ship on Fridays,\n  never on "
        "Mondays.\n\n## Lunch\n\n- Soup in the canteen\n"
    )
    assert listed(note) == [
        ("decisions", "We keep **SQLite** for `state.db`."),
        ("decisions", "Ship on Fridays,\n  never on Mondays."),
    ]


@pytest.mark.parametrize(
    "heading", ["## 2. Open questions (today)", "**Open questions**", "Open questions:", "### ❓ Open Questions"]
)
def test_a_heading_is_known_by_its_words(heading):
    assert listed(f"{heading}\n- Who renews the certificate of `ci.example`?\n") == [
        ("open_questions", "Who renews the certificate of `ci.example`?")
    ]


@each_case(
    ("author", "item", "doubt"),
    [
        (Author.HUMAN, "Measure the tide twice a day.", ""),
        (Author.HUMAN, "“Measure the tide twice a day.” (Ida Berg)", Frame.QUOTED),
        (Author.HUMAN, '"Measure the tide twice a day."', Frame.QUOTED),
        (Author.HUMAN, "> Measure the tide twice a day.", Frame.QUOTED),
        (Author.HUMAN, ">90% branch coverage is required before we merge.", ""),
        (Author.HUMAN, ">=3.11 is what the tide module needs.", ""),
        (Author.HUMAN, "Do we need it? Measure the tide twice a day.", Frame.QUOTED),
        (Author.HUMAN, '"Twice" is the word: measure the tide "often".', ""),
        (Author.ASSISTANT, "Measure the tide twice a day.", UNCONFIRMED),
    ],
)
def test_in_a_persons_profile_an_item_that_is_quoted_asked_or_an_agents_is_held(author, item, doubt):
    event = replace(talk(user(f"## Lessons\n\n- {item}\n", author))[0], label_reason="daily-note")
    rules = load_profile("vault")
    (found,) = extract_candidates([event], 0, 1, profile=rules, lexicon=load_lexicon(("en",)), scope="project:log")
    assert (found.content, found.doubt) == (item, doubt)
    assert isinstance(judge(found, rules, lexicon=LEXICON), Held if doubt else Accepted)


def test_a_paragraph_below_a_list_is_no_item():
    note = "## Decisions\n\n- We keep **SQLite** for `state.db`.\n\nRang the roofer again about the gutter.\n"
    assert listed(note) == [("decisions", "We keep **SQLite** for `state.db`.")]
    assert listed("## Decisions\n\nWe keep SQLite for the state.\n") == [("decisions", "We keep SQLite for the state.")]


def test_a_labelled_line_is_an_item_of_its_label():
    assert listed("Worked on the export.\n**Decision:** all exports use `utf-8-sig`.\n") == [
        ("decisions", "all exports use `utf-8-sig`.")
    ]


def test_code_tables_quotes_tasks_and_empty_lists_are_no_items():
    note = (
        "## Decisions\n\n```\n- not this one at all\n```\n| a | table row here |\n> a quoted line of text\n- [ ] a task to "
        "be done\n- none\n- ~~We chose Kafka over RabbitMQ.~~\n- <what we chose, and why we did>\n"
    )
    assert listed(note) == []


def test_an_item_of_what_may_be_somebody_elses_waits():
    (note,) = talk(user("## Decisions\n- We keep SQLite for `state.db`.\n"))
    found = {
        reason: extract_candidates(
            [replace(note, label_reason=reason)], 0, 1, profile=JOURNAL, lexicon=LEXICON, scope="project:log"
        )
        for reason in ("daily-note", "unconfirmed:daily-note")
    }
    (sure,), (unsure,) = found.values()
    assert (sure.doubt, sure.confidence) == ("", CERTAIN)
    assert (unsure.doubt, unsure.confidence) == (UNCONFIRMED, WAITING)


def test_a_profile_names_its_own_headings():
    rules = load_profile("journal")
    category = replace(rules.categories[0], headings=("Surprises",))
    events = [replace(talk(user("## Surprises\n- `make -j` was slower than `make`\n"))[0], label_reason="daily-note")]
    mine = replace(rules, categories=(category, *rules.categories[1:]))
    candidates = extract_candidates(events, 0, 1, profile=mine, lexicon=load_lexicon(("en",)), scope="project:log")
    assert [each.content for each in candidates if each.trigger == "heading"] == ["`make -j` was slower than `make`"]


def test_an_item_that_also_reads_like_a_rule_is_proposed_once():
    event = replace(talk(user("## Lessons\n\n- Never feed the hamsters before the scan\n"))[0], label_reason="daily-note")
    made = extract_candidates([event], 0, 1, profile=load_profile("vault"), lexicon=load_lexicon(("en",)), scope="project:log")
    assert [each.trigger for each in made] == ["heading"]
