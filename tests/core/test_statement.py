"""When two sentences say the same."""

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.artifact import find_artifacts
from kept.core.statement import Statement, is_same_statement, parse_statement


def says(text: str) -> Statement:
    return parse_statement(text, find_artifacts(text))


def fix(text: str) -> Statement:
    return parse_statement(text, find_artifacts(text), "one error")


ALIKE = [
    ("Never retry a post that returned an id.", "Never retry a post that returned an id, even if it seems gone: it is stored."),
    ("Each unit test must be useful.", "Ensure that every unit test is useful."),
    ("Always run `make lint` before a commit.", "Make sure to run `make lint` before each commit."),
    ("Use bun instead of npm for every script in the web folder.", "use **bun** instead of npm for every script in the web folder"),
    ("The changelog has at most one sentence per entry.", "Changelog entries: the changelog has at most one sentence per entry."),
    ("Never edit files in `vendor/lib` by hand.", "Please never edit files in `vendor/lib` by hand, ever."),
    ("Pull requests should be small.", "Please keep pull requests small."),
    ("Log lines in `worker.py` carry the request id.", "Every log line in `worker.py` should carry a request id."),
    ("提交之前必须运行全部测试用例", "提交之前必须运行全部测试用例。"),
    ("Die Tests sollen immer ohne Netz laufen können.", "Bitte: die Tests sollen ohne Netz laufen können."),
]
APART = [
    ("Run the tests of the parser first.", "Run the tests of the parser first, but not on the 3 slow machines."),
    ("Ask before.", "Ask before deleting the old files of the harbour."),
    ("Does discovery hold when four workflows run at once?", "Discovery does hold when four workflows run at once."),
    ("Use bun instead of npm.", "Use npm instead of bun."),
    ("Run the linter before the commit.", "Run the linter after the commit."),
    ("Tests may use the network.", "Tests may not use the network."),
    ("The timeout of the worker is 30s.", "The timeout of the worker is 60s."),
    ("Errors go to `stderr` with a code.", "Errors go to `stdout` with a code."),
    (
        "Enable the cache for the preview build of the documentation site.",
        "Disable the cache for the preview build of the documentation site.",
    ),
    ("Move the parser from core to web.", "Move the parser from web to core."),
    ("Clients can pause the game.", "The host can pause the game."),
    ("Use tabs in Makefiles.", "Use spaces in Python."),
    ("Ask before deleting.", "Ask before pushing."),
    ("Write the docs in English.", "Write the docs in German."),
    ("提交之前必须运行全部测试用例和格式检查工具并且更新文档", "提交之前不必须运行全部测试用例和格式检查工具并且更新文档"),
]


@each_case(("left", "right"), ALIKE)
def test_reworded_sentences_say_the_same(left: str, right: str) -> None:
    assert is_same_statement(says(left), says(right))


@each_case(("left", "right"), APART)
def test_sentences_that_differ_in_matter_stay_apart(left: str, right: str) -> None:
    assert not is_same_statement(says(left), says(right))


def test_a_fix_is_the_same_where_error_and_remedy_are_whatever_it_was_run_on() -> None:
    one = "`grep: invalid option -- P` when running `grep -oP 'a' f`: use `grep -oE 'a' f` instead."
    other = "`grep: invalid option -- P` when running `grep -oP '[0-9]' g.txt`: use `grep -oE '[0-9]' g.txt` instead."
    third = "`grep: invalid option -- P` when running `grep -oP 'a' f`: use `rg -o 'a' f` instead."
    assert is_same_statement(fix(one), fix(other))
    assert not is_same_statement(fix(one), fix(third))


SENTENCES = st.sampled_from([text for pair in ALIKE + APART for text in pair])


@given(SENTENCES, SENTENCES)
def test_saying_the_same_is_symmetric(left: str, right: str) -> None:
    assert is_same_statement(says(left), says(right)) == is_same_statement(says(right), says(left))


@given(st.text(max_size=300))
def test_any_text_is_the_same_as_itself(text: str) -> None:
    assert is_same_statement(says(text), says(text))
