"""The README's table of features: every requirement once, each with a command that there is and a test that there is."""

import re
from pathlib import Path

import pytest
from cli_world import kept

from kept.cli.registry import COMMANDS

ROOT = Path(__file__).parents[2]
IDS = [
    f"{letter}{n}" for letter, most in (("J", 12), ("X", 12), ("L", 14), ("K", 11), ("A", 7), ("B", 11)) for n in range(1, most + 1)
]
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \| (.*) \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_requirement_stands_in_the_table_once(rows):
    assert [each[0] for each in rows] == IDS


def test_every_test_that_the_table_names_is_there(rows):
    named = [place for each in rows for place in re.findall(r"`([^`]+)`", each[3])]
    assert named
    assert [place for place in named if not (ROOT / "tests" / place).exists()] == []


def test_every_command_and_option_that_the_table_names_is_there(rows, capsys, home):
    for call in sorted({text for each in rows for text in re.findall(r"`kept ([^`]+)`", each[2])}):
        words = call.split()
        options = [each for each in words if each.startswith("--")]
        assert words[0] in COMMANDS, call
        sub = words[1:2] if len(words) > 1 and words[0] in {"journal", "profiles", "schedule"} else []
        code, out, _ = kept(capsys, words[0], *sub, "--help")
        assert code == 0, call
        assert [each for each in options if each not in out] == [], call
