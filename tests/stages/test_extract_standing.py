"""What a memory must be to be read months later: it stands alone, it was said and not asked, and it is in its category."""

import pytest
from talk import active, agent, edit, found, user

DONE = agent("I moved the retry logic into `client.py` and updated the tests.")


@pytest.mark.parametrize(
    "words",
    [
        "On tablets by default the toolbar should be collapsed like it is already.",
        "If the path to the depot is blocked they will not deliver (should hold for drones and trucks)!",
        "Ensure every row is clickable and opens the invoice page.",
        "The visitor can still browse the catalogue though but cannot order anything.",
        "Button to close the wizard is hidden until the wizard gets restarted from the settings.",
        "The new export feature writes to `.cache/export`, we should list that in .dockerignore.",
        "I don't see the basket on phones anymore at all (only on desktop).",
        "hmm, I just checked for example: ~/.tool/cache and none of the files has a header",
        "Ensure all drawers take at most half of the screen on phones.",
        "On tablets ensure that the default toolbar stays hidden until it is needed.",
        "Keep the fixtures as they were but make sure each one has its own file.",
        "Don't poke around in my cluster anymore with scripts.",
        "Do not edit `spec/plan.md`, it was given to you as a reference.",
        "The new module is the parent, and there are Makefiles in `ops/`.",
        "so the issue was /home/mia/.config/tool/ignore had `.env` ignored, that was not seen by `go-tool`",
    ],
)
def test_a_sentence_that_leans_on_what_was_on_the_screen_that_day_is_not_active(words):
    assert active(DONE, user(words)) == []


@pytest.mark.parametrize(
    "words",
    [
        "Ensure every row of the export carries the tenant id in `rows.csv`.",
        "Generated clients must never be edited by hand, they are overwritten by `make proto`.",
        "we decided that every worker writes to its own queue because they must not block each other",
    ],
)
def test_a_rule_that_names_what_its_pronouns_stand_for_is_active(words):
    assert active(DONE, user(words))


@pytest.mark.parametrize(
    "words",
    [
        "using the mail cli for this should be fine, since it's always against the local spool, right?",
        "Seems like we should just follow the normal import flow with an arg for `stdin`, no?",
    ],
)
def test_a_statement_put_to_the_assistant_for_approval_is_no_rule(words):
    assert active(DONE, user(words), edit("src/spool.py"), agent("Right, done.")) == []


def test_what_is_only_being_considered_is_no_goal():
    assert active(DONE, user("we're considering a MUCH longer retention in the audit database")) == []


def test_an_order_that_opens_with_ensure_is_no_fact():
    (made,) = found(DONE, user("ensure all font files are only loaded on demand, not on the first page load!"))
    assert made.category != "project_fact"


def test_a_cause_that_holds_now_is_told_without_its_announcement():
    said = "the issue is that `push_backup` only works if the user has access to the vault repo, right?"
    assert active(DONE, user(said), agent("Right.")) == ["`push_backup` only works if the user has access to the vault repo."]


@pytest.mark.parametrize(
    ("slip", "right"),
    [("commited", "committed"), ("lenght", "length"), ("seperate", "separate")],
)
def test_common_slips_of_spelling_are_mended(slip, right):
    (content,) = active(DONE, user(f"We never keep a {slip} copy of `orders.sql` in the worker."))
    assert f" {right} " in content


CLAIM = "afaik the exporter only works with `utf-8` files"


def test_a_claim_that_the_assistant_confirms_is_surer_than_one_it_does_not():
    before = agent("Exporting takes a list of files.")
    assert active(before, user(CLAIM), agent("Let me look at the exporter first.")) == []
    assert active(before, user(CLAIM), agent("You're right, that name was misspelt.")) == []
    assert active(before, user(CLAIM), agent("You're right, the exporter only works with `utf-8` files.")) == [
        "The exporter only works with `utf-8` files."
    ]


def test_what_is_asked_for_is_not_made_surer_by_a_yes():
    asked = user("could we maybe have a cache in `pool.py` for all lookups?")
    assert active(DONE, asked, agent("Yes! A cache in `pool.py` for all lookups is easy.")) == []


def test_an_answer_that_only_points_at_the_question_is_no_decision():
    picked = user("I like option B")
    offer = agent("**Option A: Redis** keeps it simple.\n\n**Option B: Thank you note** in small print\n\nWhich one do you want?")
    assert active(user("can you write a page about the people who helped us with patches last year?"), offer, picked) == []


@pytest.mark.parametrize(
    "words",
    [
        "ensure the delivery vans do not meet at all and do not lose any parcels.",
        "on tablets ensure that the spare tiles that are not free are actually not clickable until they are free.",
        "ensure all map tiles are only fetched on scroll not on first page load!",
        "The dimmer is on by default.",
        "Discuss with me any difference you find before touching the config.",
        "The goal is to get cartSync.js below 300 lines without a change of its interface.",
        (
            "boats like the ferry should never cross inland on the chart; apply the harbour rules to ferries only; keep clear of piers; "
            "slow down by relative speed near other boats; add efficient avoidance of buoys and of everything else that floats in the harbour, "
            "so that crews are safe, and measure the time that each of these takes on the slowest tablet that we have"
        ),
    ],
)
def test_a_wish_for_the_thing_being_built_is_not_active(words):
    assert active(DONE, user(words)) == []


@pytest.mark.parametrize(
    "words",
    [
        "The cache is disabled in `ci.yml` because stale builds hid a broken migration.",
        "Discuss with me any change of the database schema before doing anything.",
        "Ensure that tests run against Postgres, because a mock accepts everything.",
    ],
)
def test_a_standing_rule_in_the_words_of_a_wish_is_active(words):
    assert active(DONE, user(words))


def test_an_order_of_the_moment_behind_a_fact_is_left_out():
    said = "the `spool/` folder is created when the mailer starts and each job is stored in jobs/ below it, so ensure there is error handling"
    (content,) = active(DONE, user(said))
    assert content == "The `spool/` folder is created when the mailer starts and each job is stored in jobs/ below it."
