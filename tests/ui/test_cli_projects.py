"""``kept projects``: seeing which directories are one project, joining two, taking that back."""

import pytest
from cli_world import OTHER, RULE, kept, told, transcript


@pytest.fixture
def two(capsys, home):
    place = home / ".claude/projects/p"
    place.mkdir(parents=True)
    transcript(place / "a.jsonl", RULE, cwd="/old/harbor")
    transcript(place / "b.jsonl", OTHER, cwd="/new/harbor")
    kept(capsys, "run", "--no-llm")


def groups(capsys):
    return sorted(each["directories"] for each in told(capsys, "projects")["projects"])


def test_projects_are_joined_with_their_memories_and_separated_again(capsys, two):
    assert groups(capsys) == [["/new/harbor"], ["/old/harbor"]]
    (pair,) = told(capsys, "projects")["suggestions"]
    assert pair == {"project": "/new/harbor", "other": "/old/harbor", "evidence": "both are called harbor"}
    assert "may be one: both are called harbor" in kept(capsys, "projects")[1]
    assert kept(capsys, "projects", "join", "/old/harbor", "/new/harbor")[0] == 0
    kept(capsys, "run", "--no-llm")
    assert groups(capsys) == [["/new/harbor", "/old/harbor"]]
    assert len({each["scope"] for each in told(capsys, "list")}) == 1
    assert kept(capsys, "projects", "undo")[0] == 0
    kept(capsys, "run", "--no-llm")
    assert groups(capsys) == [["/new/harbor"], ["/old/harbor"]]
    assert len({each["scope"] for each in told(capsys, "list")}) == 2


@pytest.mark.parametrize(
    "arguments",
    [("join",), ("join", "/old/harbor"), ("join", "/old/harbor", "/nowhere"), ("join", "harbor", "/new/harbor"), ("undo",)],
)
def test_what_cannot_be_joined_or_undone_is_refused(capsys, two, arguments):
    assert kept(capsys, "projects", *arguments)[0] == 2
    assert told(capsys, "projects")["joined"] == {}
