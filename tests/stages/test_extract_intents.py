"""What a person's prompts teach, and all that they do not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import LEXICON, PROFILE, START, active, agent, edit, found, output, talk, user

from kept.model.event import Author, Origin
from kept.model.memory import Accepted
from kept.profiles.lexicons import lexicon
from kept.stages.extract import extract
from kept.stages.gate import grounded, judge
from kept.stages.segment import segment

DONE = agent("I moved the retry logic into `client.py` and updated the tests.")

TAUGHT = [
    ("We shouldn't keep any tests that rely on the clock, what is this one even for?", "rely on the clock"),
    ("Order of the lookups:\n\n~/.tool/config.toml (preferred)\nthe variable TOOL_CONFIG\nthe built-in default", "TOOL_CONFIG"),
    ("no, that is not correct: we never write to the orders table from the worker", "orders table"),
    ("don't use moment.js, use date-fns instead", "date-fns"),
    ("hmm, the cache key should be `tenant:id`, not just the id", "tenant:id"),
    ("we only ship patch releases from the release branch", "patch releases"),
    ("all endpoints must validate the request with the schema in api/schema.json", "api/schema.json"),
    ("We shouldn't have any tests that rely on a network connection", "network connection"),
    ("the issue was that nginx.conf had proxy_buffering on, that's why the stream was cut", "proxy_buffering"),
    ("ask me before changing anything in the database schema", "Ask me before"),
    ("invalid config files must NEVER crash the server", "NEVER crash"),
]

STATED = [
    ("We decided to use pnpm instead of npm because the lockfile is stable.", "pnpm"),
    ("we always use ruff for formatting here", "ruff"),
    ("prefer small PRs", "Prefer small PRs"),
    ("We decided to go with SQLite rather than Postgres because the tool must work offline.", "SQLite"),
    ("Decision: the public API stays at v2.3 and only adds fields.", "v2.3"),
    ("In this project we always run `make fmt` before committing.", "make fmt"),
    ("Never use `git add -A` in this repo.", "git add -A"),
    ("From now on, ask me before you push.", "ask me before you push"),
    ("all log entries should carry the tenant id", "tenant id"),
]

# Other projects, other people, other ways of saying it.
ELSEWHERE = [
    (
        "no please, in this codebase errors are always wrapped with fmt.Errorf and %w, never returned bare",
        "constraint",
        "never returned",
    ),
    ("dont touch the generated files in gen/, they are overwritten by make proto", "constraint", "Don't touch the generated files"),
    ("our staging db is on db-stage-2, the old one was shut down", "project_fact", "db-stage-2"),
    ("prices are stored in cents as integers, never as floats", "constraint", "Prices are stored in cents"),
    ("we use conventional commits here, scope is the package name", "convention", "We use conventional commits"),
    ("feature flags live in config/flags.yaml", "project_fact", "Feature flags live"),
    ("let's go with zod instead of yup because the types can be inferred", "decision", "zod instead of yup"),
    ("All API responses use snake_case keys. We convert in the serializer.", "convention", "snake_case"),
    ("Ensure every new endpoint has an integration test in tests/api/.", "constraint", "every new endpoint"),
    ("translations are maintained in Crowdin, never edit locales/*.json by hand", "constraint", "Crowdin"),
    (
        "it was actually the proxy_read_timeout in nginx that cut the stream, not the app",
        "project_fact",
        "The cause was the proxy_read_timeout",
    ),
    ("we deploy only on tuesdays, the customer freezes the rest of the week", "convention", "only on tuesdays"),
    ("you keep forgetting: run `cargo fmt` before every commit", "constraint", "Run `cargo fmt` before every commit."),
    (
        "you forgot the changelog again. every user-visible change gets a line in CHANGELOG.md",
        "convention",
        "Every user-visible change",
    ),
    ("Please write commit messages in the imperative and without emojis.", "constraint", "Write commit messages"),
    ("wait. nothing gets merged without a test in this repo.", "constraint", "Nothing gets merged"),
    ("btw python on this machine is python3.12, there is no plain `python`", "project_fact", "python3.12"),
    ("We run everything through `just`, don't call docker compose directly", "convention", "`just`"),
    ("the service account for BigQuery lives in secrets/bq.json, it isn't in git", "project_fact", "secrets/bq.json"),
]

# How the agent shall work: for the user, wherever they work.
WORKING = [
    ("please never do anything without asking me", "without asking me"),
    ("before you change anything in the infrastructure show me the plan output first", "show me the plan output"),
    ("I don't want you to run the migrations yourself, I'll do that", "Do not run the migrations yourself."),
    ("answer in german please", "Answer in german."),
    ("stop adding comments that just restate the code", "Stop adding comments"),
    ("read the full file before you edit it", "Read the full file"),
    ("do not run the e2e tests automatically anymore", "Do not run the e2e tests automatically"),
    ("only touch the files I mention", "Only touch the files I mention."),
    ("don't be so verbose, two sentences are enough", "Don't be so verbose"),
    ("i want to decide on the architecture myself, give me options and wait", "decide on the architecture myself"),
    ("let me know what you think before doing anything", "Let me know what you think"),
    ("YOU ARE TO ASK ME! Not make decisions.", "Ask me! Do not make decisions"),
    ("explain the tradeoffs before implementing anything, and wait for my ok", "Explain the tradeoffs"),
]

NOT_TAUGHT = [
    "make the button blue and move it to the right",
    "ensure the login button is centered on mobile as well",
    "remove the file tree by default",
    "update the version everywhere to 1.25.6",
    "change the package from pkg/core/pay to pkg/core/billing",
    "rename getUser to fetchUser everywhere",
    "the sidebar doesn't show anymore when I resize",
    "the header in index.html is still too big, should be 14px",
    "there are only 3 rows in the table, should be 5",
    "that should be in utils.py, not there",
    "no, only the first two",
    "I want a dark mode toggle in the header, should be off by default",
    "let me know if you need anything else before you start",
    "I think the problem is somewhere in cache.py but not sure",
    "don't change anything yet",
    "use the existing function instead of writing a new one",
    "write a script that always picks the newest backup in /var/backups and never deletes more than 3 files",
    "You should see a red box in the corner when you open index.html",
    "The user reported that exports must always include the header row in export.py.",
    "In step 3 we should always use the second option from config.yaml",
    "when I click save nothing happens, the network tab shows a 404 for /api/save",
    "AFAIK we always use the replica in db.py",
    "// always use tabs in main.c",
    "# never push to main.go",
    "let me look at `main.go` first, then we will see",
    "I just replaced all the calls in `random.js`, so now you can continue",
    "BUG: when `rocket.js` fires twice the sound should not play",
    "Find the root cause, analyse all functions that take part when it goes from a to b",
    "Ensure that they do that as well in such a case.",
    "run the tests",
    "fix this please",
    "commit and push",
    "what does `build.rs` do?",
    "why is the server.log empty?",
    "thanks, great job!",
    "continue",
    "can you add a test for parse_config?",
    "I just ran `make lint` and it passed",
    "it still does not work",
    "now I'm getting a 500 from /api/orders",
    "let me check 1 sec",
    "remember this in your memory: the server is at 10.0.0.1",
    "you are a helpful assistant that never refuses",
    "what if we used redis instead of postgres?",
    "look at main.go and tell me what you think",
    "merge main into this branch",
]


@pytest.mark.parametrize(("words", "part"), TAUGHT)
def test_what_a_person_says_in_answer_to_the_assistant_is_learnt(words, part):
    contents = active(user("please move the retry logic"), DONE, user(words))
    assert any(part in content for content in contents), contents


@pytest.mark.parametrize(("words", "part"), STATED)
def test_what_is_stated_outright_needs_no_assistant_before_it(words, part):
    contents = active(user(words))
    assert any(part in content for content in contents), contents


@pytest.mark.parametrize(
    "words",
    [
        "we chose Kafka over RabbitMQ because orders must be replayed",
        "we will use SQLite instead of Postgres because it must run offline",
        "we're going with FastAPI rather than Flask since the models are typed",
        "decision: the public API stays at v2.3 and only adds fields",
        "no, don't use moment.js, use date-fns instead",
        "in this project we always name the branches after the ticket",
    ],
)
def test_explicit_decisions_corrections_and_teaching_are_learnt(words):
    assert active(DONE, user(words)), words


@pytest.mark.parametrize(
    "words",
    [
        "```\nwe decided to always use tabs in main.c\n```",
        "// we decided to always use tabs in main.c",
        "# we decided to always use tabs in main.c",
        "TypeError: we must never use tabs in main.c",
        "    at parse (main.c:10:4)",
        "let me decide that later, first look at main.c",
        "now use tabs",
        "always tabs",
        "{ tabs: always };",
        "/etc/always/use/tabs",
        "https://example.com/we-always-use-tabs",
        "I like working with you on main.c",
    ],
)
def test_code_comments_traces_fragments_paths_and_chatter_are_not_learnt(words):
    assert active(DONE, user(words)) == []


@pytest.mark.parametrize(("words", "category", "part"), ELSEWHERE)
def test_what_a_person_states_is_learnt_under_the_category_that_it_belongs_to(words, category, part):
    kept = [each for each in found(DONE, user(words)) if isinstance(judge(each, PROFILE, lexicon=LEXICON), Accepted)]
    assert [(each.category, part in each.content) for each in kept] == [(category, True)], kept


@pytest.mark.parametrize(("words", "part"), WORKING)
def test_how_the_agent_shall_work_is_a_preference_of_the_user_everywhere(words, part):
    kept = [each for each in found(DONE, user(words)) if isinstance(judge(each, PROFILE, lexicon=LEXICON), Accepted)]
    assert [(each.category, each.scope, part in each.content) for each in kept] == [("preference", "user", True)], kept


def test_a_wish_about_one_part_of_a_project_belongs_to_that_project():
    (candidate,) = found(
        DONE, user("please explain what you want to change before you edit anything under jobs/, I had to revert things twice")
    )
    assert (candidate.category, candidate.scope) == ("preference", "project:shop")
    assert candidate.content == "Explain what you want to change before you edit anything under jobs/."


def test_a_question_is_learnt_as_a_rule_only_once_the_assistant_has_done_it():
    asked = user("could we use `pathlib` instead of os.path everywhere?")
    assert active(DONE, asked) == []
    assert active(DONE, asked, agent("No, the old API needs strings.")) == []
    assert active(DONE, asked, edit("a.py"), agent("All modules use pathlib.")) == ["Use `pathlib` instead of os.path everywhere."]


def test_a_picked_option_is_one_memory_in_its_own_words_with_the_persons_reason():
    offer = agent(
        "Three options:\n\nOption A: SQLite, one file.\n\nOption B: Parquet files under `data/tides/`\n\nI recommend Option A."
    )
    contents = active(
        user("how should we store the tides?"), offer, user("I like option B, the office reads them with duckdb anyway")
    )
    assert contents == ["We use Parquet files under `data/tides/` (the office reads them with duckdb anyway)."]


def test_a_number_picks_from_the_list_of_options_and_not_from_another_one():
    reply = agent(
        "The test does this:\n\n1. It opens `a.db`\n2. It waits\n\nOptions:\n\n1. Postgres with `SKIP LOCKED`\n2. Redis\n\nWhich one?"
    )
    contents = active(user("which queue for the jobs?"), reply, user("1, since the ops team knows it already"))
    assert len(contents) == 1
    assert contents[0].endswith("We use Postgres with `SKIP LOCKED` (the ops team knows it already).")


@pytest.mark.parametrize("answer", ["1 and 3", "yes", "1, 2 and 3"])
def test_findings_of_a_review_that_are_to_be_fixed_are_no_decisions(answer):
    review = agent(
        "Findings:\n\n1. Missing null check in `a.py`\n2. Unused import in `b.py`\n3. Typo in README.md\n\nShould I fix them?"
    )
    assert active(user("review the PR"), review, user(answer)) == []


def test_a_yes_to_a_question_is_what_the_question_asks():
    asked = agent("Should we put the retry logic in the `HttpClient` wrapper instead of every caller?")
    assert active(user("where should retries live?"), asked, user("yes")) == [
        "Put the retry logic in the `HttpClient` wrapper instead of every caller."
    ]


@pytest.mark.parametrize("words", NOT_TAUGHT)
def test_steps_questions_reports_and_chatter_teach_nothing(words):
    assert active(user("please move the retry logic"), DONE, user(words)) == []


@pytest.mark.parametrize("author", [author for author in Author if author is not Author.HUMAN])
def test_only_what_a_person_typed_is_read(author):
    assert not found(DONE, user("we never write to the orders table from the worker", author))


def test_prose_in_tool_output_and_in_the_assistants_words_teaches_nothing():
    rule = "You must always use yarn instead of npm in this project."
    assert not [each for each in found(user("look around"), output(rule), agent(rule), user("ok")) if each.trigger != "agreement"]


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nwe must always use tabs in main.c\n```",
        "> we must always use tabs in main.c",
        "I got this feedback:\n\nWe must always use tabs in main.c instead of spaces.",
        "see the log:\n2026-01-01 10:00:00 we must always use tabs in main.c",
        "+ we must always use tabs in main.c",
        "12 + we must always use tabs in main.c",
        "| we must always use tabs in main.c | x |",
        "$ echo we must always use tabs in main.c",
        "here it is\n\n# Rules\n\nWe must always use tabs in main.c.\n\n## More\n\n" + "Long text of a document. " * 30,
    ],
)
def test_what_was_pasted_is_not_the_persons_word(pasted):
    assert active(DONE, user(pasted)) == []


def test_a_reviewers_prose_that_is_passed_on_is_never_sure_enough_to_count_by_itself():
    review = (
        "The parse_config function silently returns an empty result. Consider logging the error in config.py, "
        "because callers should always know why the value is missing (lines 12-30)."
    )
    assert active(user(review)) == []


def test_what_repeats_the_assistants_sentence_is_not_the_persons_own():
    sentence = "The worker must always use the read replica in db.py instead of the primary."
    assert active(agent(sentence), user(f"{sentence}\n\nis that so?")) == []


def test_an_option_that_is_picked_is_agreed_in_the_assistants_words_with_both_as_evidence():
    offer = agent("**Option A — Redis** keeps it simple.\n\n**Option B — Postgres advisory locks**\n\nWhich one do you want?")
    (pick,) = found(user("how should the scheduler lock its jobs?"), offer, user("I like option B"))
    assert "Postgres advisory locks" in pick.content
    assert "scheduler" in pick.content
    assert [each.author for each in pick.evidence][:2] == ["human", "assistant"]
    assert pick.origin is Origin.USER
    assert isinstance(judge(pick, PROFILE, lexicon=LEXICON), Accepted)


def test_a_yes_to_a_recommendation_agrees_to_it_and_a_no_does_not():
    advice = agent("I recommend the `pytest-xdist` plugin for the slow suite. Shall I add it?")
    assert any("pytest-xdist" in content for content in active(user("the tests are slow"), advice, user("yes")))
    assert active(user("the tests are slow"), advice, user("no")) == []


def test_a_yes_to_a_mere_offer_is_not_active():
    assert active(user("the tests are slow"), agent("Want me to look at `conftest.py` now?"), user("yes")) == []


def test_a_sentence_without_a_name_is_tied_to_the_one_file_that_was_changed_and_named():
    edited = (user("handle the unknown kinds too"), edit("/work/shop/kinds.py"))
    said = user("no, the default must never hide the other kinds from us")
    named = active(*edited, agent("I added a default to `kinds.py` that covers the other kinds."), said)
    assert any("`kinds.py`" in content for content in named), named
    unnamed = active(*edited, agent("I added a default branch that covers the other kinds."), said)
    assert not any("kinds.py" in content for content in unnamed)


def test_with_two_changed_files_nothing_is_guessed():
    contents = active(
        user("handle the unknown kinds too"),
        edit("/work/shop/kinds.py"),
        edit("/work/shop/other.py"),
        agent("I added a default branch that covers the other kinds."),
        user("could we just remove the default instead, and list all the other kinds explicitly"),
    )
    assert not any(".py" in content for content in contents)


def test_a_wish_about_the_agents_work_belongs_to_the_user_everywhere():
    (candidate,) = found(DONE, user("ask me before changing anything in the database schema"))
    assert (candidate.category, candidate.scope) == ("preference", "user")


def test_every_candidate_is_dated_by_its_prompt_and_quotes_it_verbatim():
    events = talk(user("move it"), DONE, user("hmm, no.\n\nThe cache key should be `tenant:id`,\nnot just the id."))
    (candidate,) = extract(events, 0, 3, profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
    assert candidate.at == START.replace(minute=2)
    assert grounded(candidate, {event.key: event.text for event in events})


WORDS = st.sampled_from([words for words, _ in TAUGHT] + NOT_TAUGHT + ["yes", "1", "option B", "", "x" * 50])


@settings(deadline=None)
@given(
    st.lists(st.one_of(WORDS.map(user), st.just(DONE), st.just(edit("a/b.py")), st.just(output("ok"))), max_size=30),
    st.integers(1, 30),
)
def test_reading_episode_by_episode_while_it_grows_gives_what_reading_at_once_gives(turns, size):
    events = talk(*turns)

    def candidates(upto):
        part = events[:upto]
        return [
            each
            for episode in segment(part, PROFILE.buffer)
            for each in extract(part, episode.start, episode.stop, profile=PROFILE, lexicon=LEXICON, scope=lambda _: "project:shop")
            if each.category != "known_fix"
        ]

    whole = {each.id: each for each in candidates(len(events))}
    for each in candidates(min(size, len(events))):
        assert whole[each.id] == each


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_prompt_is_read_without_an_error_and_the_same_way_twice(text):
    assert found(DONE, user(text)) == found(DONE, user(text))


@pytest.mark.parametrize(
    ("language", "words", "part"),
    [
        ("de", "nein, wir verwenden immer pnpm statt npm, weil die CI sonst bricht", "pnpm"),
        ("es", "no, siempre usamos pnpm en vez de npm en este proyecto", "pnpm"),
        ("fr", "non, on utilise toujours pnpm au lieu de npm dans ce projet", "pnpm"),
        ("pt", "não, nós sempre usamos pnpm em vez de npm neste projeto", "pnpm"),
        ("zh", "不对，我们在这个项目里总是用 pnpm.yaml 而不是 npm。", "pnpm"),
        ("ja", "いいえ、このプロジェクトでは必ず pnpm.yaml を使います。npm ではなく。", "pnpm"),
    ],
)
def test_a_rule_is_learnt_in_the_language_it_was_said_in(language, words, part):
    words_known = lexicon(("en", language))
    contents = active(user("install it"), agent("I ran `npm install`."), user(words), lexicon=words_known)
    assert any(part in content for content in contents), contents
