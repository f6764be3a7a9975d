"""When two sentences say the same, and when the later one replaces the earlier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.artifact import find_artifacts
from kept.core.statement import Statement, is_replacement, is_same_statement, parse_statement, statement_keys


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
REPLACED = [
    ("Use npm for the scripts.", "Use bun instead of npm for the scripts."),
    ("Use npm for the scripts in the web folder.", "Use bun, not npm."),
    ("Use gorm for the orders service.", "Do not use gorm for the orders service."),
    ("We use gorm for the orders service.", "We no longer use gorm for the orders service."),
    ("Use yarn for packages.", "Switch from yarn to pnpm for packages."),
    ("Use bun instead of npm.", "Use npm instead of bun."),
    ("The project uses Go version 1.24.", "The project uses Go version 1.25."),
    ("The border of the panel is at most 3px wide.", "The border of the panel is at most 4px wide."),
    ("The default branch is main.", "The default branch is develop."),
    (
        "The upsell message of the resume view should say `Upgrade to resume sessions`.",
        "The upsell message of the resume view should say `Upgrade to search and resume`.",
    ),
    ("The link text in the dark theme is b5bd68.", "The link text in the dark theme is 81a2be."),
    ("Run the E2E tests automatically.", "Do not run the E2E tests automatically anymore."),
]
BOTH_STAND = [
    ("Use npm for the scripts.", "In the api folder use bun instead of npm for the scripts."),
    ("Use `a.py` for the export.", "Do not use `b.py` for the export."),
    ("Migration 41 must run before the deploy.", "Migration 42 must run before the deploy."),
    ("See issue 12 for the plan of the parser.", "See issue 13 for the plan of the parser."),
    ("The cli is fast.", "The cli is written in Go."),
    ("The port of the api is 8080.", "The port of the web is 8081."),
    ("Tests use the network.", "Tests use the clock."),
    ("Use pytest for unit tests.", "Use playwright for browser tests."),
    ("Python 3.11 is supported by the cli.", "Python 3.12 is supported by the cli."),
    ("The build fails with Go 1.24 on the runner.", "The build fails with Go 1.25 on the runner."),
    ("Never log tokens.", "Never log passwords."),
    ("Port 8080 must be open.", "Port 8081 must be open."),
    ("Use bun, not npm.", "Use bun for scripts."),
    ("The title of the start page should say Welcome.", "The title of the settings page should say Settings."),
    ("The tests should be short.", "The tests should be fast."),
    ("The default branch is main.", "The default branch is main."),
    ("Do not use npm.", "Do not use yarn."),
]


@pytest.mark.parametrize(("left", "right"), ALIKE)
def test_reworded_sentences_say_the_same(left: str, right: str) -> None:
    assert is_same_statement(says(left), says(right))


@pytest.mark.parametrize(("left", "right"), APART + REPLACED + [pair for pair in BOTH_STAND if pair[0] != pair[1]])
def test_sentences_that_differ_in_matter_stay_apart(left: str, right: str) -> None:
    assert not is_same_statement(says(left), says(right))


@pytest.mark.parametrize(("earlier", "later"), REPLACED)
def test_another_value_or_the_reverse_replaces_what_was_said_earlier(earlier: str, later: str) -> None:
    assert is_replacement(says(later), says(earlier))


@pytest.mark.parametrize(("earlier", "later"), BOTH_STAND + ALIKE)
def test_what_leaves_room_for_both_replaces_nothing(earlier: str, later: str) -> None:
    assert not is_replacement(says(later), says(earlier))


def test_a_fix_is_the_same_where_error_and_remedy_are_whatever_it_was_run_on() -> None:
    one = "`grep: invalid option -- P` when running `grep -oP 'a' f`: use `grep -oE 'a' f` instead."
    other = "`grep: invalid option -- P` when running `grep -oP '[0-9]' g.txt`: use `grep -oE '[0-9]' g.txt` instead."
    third = "`grep: invalid option -- P` when running `grep -oP 'a' f`: use `rg -o 'a' f` instead."
    assert is_same_statement(fix(one), fix(other))
    assert not is_same_statement(fix(one), fix(third))


SENTENCES = st.sampled_from([text for pair in ALIKE + APART + REPLACED + BOTH_STAND for text in pair])


@given(SENTENCES, SENTENCES)
def test_saying_the_same_is_symmetric_and_excludes_replacing(left: str, right: str) -> None:
    assert is_same_statement(says(left), says(right)) == is_same_statement(says(right), says(left))
    assert not (is_same_statement(says(left), says(right)) and is_replacement(says(left), says(right)))


@given(SENTENCES, SENTENCES)
def test_what_replaces_shares_a_handle_with_what_it_replaces(left: str, right: str) -> None:
    if is_replacement(says(left), says(right)):
        assert set(statement_keys(says(left))) & set(statement_keys(says(right)))


@given(st.text(max_size=300))
def test_any_text_is_the_same_as_itself_and_replaces_nothing_of_its_own(text: str) -> None:
    assert is_same_statement(says(text), says(text))
    assert not is_replacement(says(text), says(text))
