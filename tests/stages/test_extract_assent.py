"""What a person agrees to: recommendations of options laid out before, options they quote, and steps to be taken first."""

import pytest
from talk import active, agent, edit, found, user

ASKED = user("the importer is too slow for the big customers, what can we do?")
OPTIONS = agent(
    "**Option 1 — Batched reads (of 500 rows).**\nSmall change.\n\n**Option 2 — Option 1 plus a worker for each file.**\n"
    "More moving parts.\n\nWhich one?"
)


def test_a_recommended_option_is_told_by_its_title_and_with_the_file_that_was_changed_for_it():
    advice = agent(
        "Good question.\n\nSo, updated recommendation: **Option 2 with a cap of four workers**. Want me to do it that way?"
    )
    said = user("yep... do it that way... then we'll look at the exporter")
    (made,) = active(ASKED, OPTIONS, user("how many workers would that be?"), advice, said, edit("/work/shop/app/importer.py"))
    assert made == "We use Batched reads plus a worker for each file with a cap of four workers (in `app/importer.py`)."


def test_a_kind_of_file_or_a_call_does_not_say_where_a_decision_holds():
    advice = agent("I recommend a `queue.Add` for each `.csv` instead of one for the folder. Shall I do that?")
    (made,) = active(ASKED, advice, user("yes"), edit("/work/shop/app/importer.py"))
    assert made.endswith("instead of one for the folder (in `app/importer.py`).")


def test_each_option_that_a_decision_names_is_evidence_of_it():
    advice = agent("I recommend Option 2 with a cap of four workers. Want me to do it that way?")
    (made,) = found(ASKED, OPTIONS, user("how many workers would that be?"), advice, user("yes"))
    assert [each.quote[:11] for each in made.evidence[2:]] == ["**Option 2 ", "**Option 1 "]


def test_a_recommended_option_that_nobody_laid_out_is_no_decision():
    assert active(ASKED, agent("I recommend Option 3 with `tokio`. Want me to do it?"), user("yes")) == []


def test_what_shall_come_after_the_yes_does_not_make_it_long_and_a_but_takes_it_back():
    advice = agent("I recommend the `orjson` parser for the importer. Shall I add it?")
    after = user("yes, do that, and then we go through the list of open tickets for the release of next week together")
    assert any("orjson" in content for content in active(ASKED, advice, after))
    assert active(ASKED, advice, user("yes, but not now")) == []


def test_an_option_is_told_with_the_line_below_its_title():
    offer = agent(
        "**Option A — Badge**\n\nA small mark beside the name of each reviewer.\n\n**Option B — Footer**\n\nA line of thanks at the end of each page.\n"
    )
    (made,) = active(user("how could we thank the reviewers in the handbook?"), offer, user("I like Option B"))
    assert made.endswith("We use Footer: a line of thanks at the end of each page.")


QUOTE = "Exports stay in the tenant's bucket, the reporting job reads them at night"
LAID_OUT = agent(
    f"Two ways:\n\n1. **Push on save** — every save writes to `reports`.\n2. **{QUOTE}** — nothing is written twice to `reports`.\n"
)


@pytest.mark.parametrize("order", ["can you build that?", "Could you help me implement this one:", "ok, go with"])
def test_an_option_that_is_quoted_and_ordered_is_decided(order):
    (made,) = active(ASKED, LAID_OUT, user(f"{order} 2. {QUOTE} — nothing is written twice to reports."))
    assert made == f"{QUOTE} — nothing is written twice to `reports`."


@pytest.mark.parametrize(
    "order", ["what does this mean:", "this is not fully true:", "can you explain that?", "review this please:"]
)
def test_an_option_that_is_quoted_for_another_reason_is_not(order):
    assert active(ASKED, LAID_OUT, user(f"{order} {QUOTE} — nothing is written twice to reports.")) == []


def test_a_chain_of_commands_that_is_agreed_to_come_first_is_a_rule_for_the_step_after():
    offer = agent("The merge is done. Want me to run `make fmt && make lint && make check` first?")
    assert active(user("merge main"), offer, user("yes, then commit")) == [
        "Before you commit: run `make fmt && make lint && make check`."
    ]


@pytest.mark.parametrize("answer", ["yes", "yes, then we see", "no, just commit"])
def test_a_chain_of_commands_without_a_step_after_it_is_only_run(answer):
    offer = agent("The merge is done. Want me to run `make fmt && make lint && make check` first?")
    assert active(user("merge main"), offer, user(answer)) == []


@pytest.mark.parametrize("answer", ["works for me", "lgtm", "makes sense, do that", "ship it", "I agree", "good idea"])
@pytest.mark.parametrize(
    "advice",
    ["I'd opt for the `orjson` parser.", "My advice is to use the `orjson` parser.", "I think we should use the `orjson` parser."],
)
def test_people_agree_and_recommend_in_many_words(answer, advice):
    assert any("orjson" in content for content in active(ASKED, agent(f"{advice} Shall I add it?"), user(answer)))


@pytest.mark.parametrize("answer", ["that makes no sense", "I disagree", "why should that work?"])
def test_what_sounds_like_a_yes_is_none(answer):
    assert active(ASKED, agent("I'd opt for the `orjson` parser. Shall I add it?"), user(answer)) == []
