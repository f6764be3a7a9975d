"""Failures as text: error lines and fingerprints."""

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.error_fingerprint import (
    LINE_CHARS,
    LINES_KEPT,
    error_location,
    error_message,
    find_error_lines,
    fingerprint_error,
    fingerprint_errors,
    linter_rule,
    score_error_line,
)

TRACEBACK = """Collecting pages
Traceback (most recent call last):
  File "/srv/app/build.py", line 12, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'
"""


@each_case(
    ("output", "line"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named 'yaml'"),
        ("usage: tar [-x]\ntar: unrecognized option '--zstd'\n", "tar: unrecognized option '--zstd'"),
        ("zsh: command not found: pnpm", "zsh: command not found: pnpm"),
        ("Pushing…\nfatal: unable to access 'https://x/': The requested URL returned error: 403\n", None),
        ("src/a.rs:3:9: error[E0382]: borrow of moved value: `x`\nerror: aborting due to 1 previous error", None),
        (
            "ok\n  12:5  error  Unexpected console statement  no-console\n✖ 1 problem",
            "12:5  error  Unexpected console statement  no-console",
        ),
        ("\x1b[31mError:\x1b[0m listen EADDRINUSE: address already in use :::3000", None),
        ("[api:test] app.py:4:1: B008 Do not perform function calls in argument defaults", None),
    ],
)
def test_the_most_telling_line_of_an_output_comes_first(output: str, line: str | None) -> None:
    assert find_error_lines(output)[0] == (
        line or next(each for each in output.splitlines() if score_error_line(each) >= 5).strip()
    )


@each_case(
    "text",
    [
        "",
        "All checks passed!\n12 tests ran in 0.4 s",
        "Exit code 1",
        "make: *** [Makefile:3: test] Error 1",
        "npm error command failed",
        '    return fmt.Errorf("failed to open: %w", err)',
        "+ raise ValueError('not found')",
        "   at Object.run (node:internal/x:12:3)",
        "=== RUN   TestParse/invalid_input",
        "--- FAIL: TestParse (0.00s)",
    ],
)
def test_source_code_frames_and_bare_announcements_tell_nothing(text: str) -> None:
    assert find_error_lines(text) == ()


def test_an_error_is_the_same_in_other_directories_at_other_lines_and_times() -> None:
    one = "2026-01-05T10:00:01Z /home/ann/shop/cart.ts:14:3: error TS2345: Argument of type 'A' is not assignable to parameter 'B'."
    two = "2027-11-09T23:59:59Z C:\\work\\cart.ts:210:11: error TS2345: Argument of type 'A' is not assignable to parameter 'B'."
    assert fingerprint_error(one) == fingerprint_error(two) != ""


def test_an_error_is_the_same_with_other_ids_and_among_other_lines() -> None:
    one = "started\nError: container 3f9ac01b22e1 not found\nbye"
    two = "hello\n\nwaiting\nError: container a77be4419c02 not found"
    assert fingerprint_error(one) == fingerprint_error(two) == fingerprint_error("Error: container 0123456789ab not found")


def test_errors_about_other_things_differ() -> None:
    assert fingerprint_error("bash: jq: command not found") != fingerprint_error("bash: yq: command not found")
    assert fingerprint_error("cp: a/key.pem: No such file or directory") != fingerprint_error(
        "cp: a/cert.pem: No such file or directory"
    )


def test_a_text_of_several_lines_that_tell_nothing_has_no_fingerprint_but_a_single_line_has() -> None:
    assert fingerprint_error("one\ntwo") == ""
    assert fingerprint_error("") == ""
    assert fingerprint_error("you have uncommitted changes") != ""


def test_every_telling_line_has_a_fingerprint_of_its_own() -> None:
    output = "tar: unrecognized option '--zstd'\nunrelated\nModuleNotFoundError: No module named 'yaml'"
    assert fingerprint_errors(output) == tuple(fingerprint_error(line) for line in find_error_lines(output))
    assert len(set(fingerprint_errors(output))) == 2


@each_case(
    ("line", "rule"),
    [
        ("a/b_test.go:3:21: os/exec.Command must not be called. use os/exec.CommandContext (noctx)", "noctx"),
        ("app.py:4:1: B008 Do not perform function calls in argument defaults", "B008"),
        ("[lint:go] a/b.go:11:2: missing cases in switch of type x.Kind (exhaustive)", "exhaustive"),
        ("  12:5  error  Unexpected console statement  no-console", "no-console"),
        ("src/a.ts(1,2): error TS2305: Module has no exported member", ""),
        ("src/a.rs:3:9: error[E0382]: borrow of moved value", ""),
        ("tar: unrecognized option", ""),
    ],
)
def test_a_linter_names_its_rule_and_a_compiler_has_none(line: str, rule: str) -> None:
    assert linter_rule(line) == rule


def test_the_readable_message_has_neither_place_nor_prefix() -> None:
    assert error_message("[lint:go] pkg/a.go:11:2: missing cases (exhaustive)") == "missing cases (exhaustive)"
    assert error_message("(eval):1: no matches found: *.go") == "no matches found: *.go"
    assert error_location("[lint:go] pkg/a.go:11:2: missing cases (exhaustive)") == "pkg/a.go"
    assert error_location("grep: invalid option -- P") == ""


@given(st.text(max_size=400))
def test_any_text_gives_few_bounded_lines_and_stable_fingerprints(text: str) -> None:
    lines = find_error_lines(text)
    assert len(lines) <= LINES_KEPT
    assert all(0 < len(line) <= LINE_CHARS and line in text for line in lines)
    assert fingerprint_error(text) == fingerprint_error(text)


@each_case("piece", ["A.", "[a] ", "x/", "a:", "(", "Error: ", "12:5 error  ", "\n", "A_", "1e7 ", "error:error:\n"])
def test_an_error_at_the_end_of_a_huge_text_is_found(piece: str) -> None:
    huge = piece * (2_000_000 // len(piece))
    assert "fatal: not a git repository" in find_error_lines(f"{huge}\nfatal: not a git repository")


def test_the_middle_of_a_huge_text_is_not_read() -> None:
    padding = "waiting\n" * 20_000
    assert find_error_lines(f"{padding}fatal: not a git repository\n{padding}") == ()


def test_a_long_first_line_does_not_make_a_text_of_several_lines_the_error():
    assert fingerprint_error("a" * 400) != ""
    assert fingerprint_error(f"{'a' * 400}\nsecond line") == ""
