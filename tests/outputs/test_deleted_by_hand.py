"""What a person deletes in a file of kept's is deleted; what looks like damage waits for their word, and undo brings all back."""

import re
from datetime import timedelta

import pytest

from kept.changes import apply_person_change
from kept.core.memory import Actor, Status
from kept.core.operation import REREAD, Retire
from kept.memories.history import undo
from kept.memories.person import approve, create_memory, retire
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.values import Draft
from prepared import Prepared, open_at

RULES = {
    "preference": ("Answer in German.", "Explain before you change anything."),
    "convention": ("Dates are written in ISO form.", "Use uv, never pip.", "One concern a commit."),
    "constraint": ("Never push to `main`.",),
}
ALL = {each for several in RULES.values() for each in several}


@pytest.fixture(scope="module")
def prepared_rules(tmp_path_factory):
    def make(home):
        with open_at(home) as workspace:
            for category, several in RULES.items():
                for each in several:
                    create_memory(workspace, each, category)
            run_pipeline(workspace, [], RunOptions())

    return Prepared(tmp_path_factory, make)


@pytest.fixture
def workspace(desk_at, home, clock, prepared_rules):
    clock.parse_moment += timedelta(minutes=1)
    with desk_at(home) as workspace:
        yield workspace


@pytest.fixture
def memory(workspace, home):
    return home / ".claude" / "rules" / "memory.md"


def told(workspace, status=Status.ACTIVE):
    return {each.content for each in workspace.store.log.memories() if each.status is status}


def shown(path):
    return {each for each in ALL if each in path.read_text()}


def without(text, *gone):
    return "".join(line for line in text.splitlines(keepends=True) if not any(each in line for each in gone))


DELETIONS = {
    "all lines but one": lambda text: without(text, *(ALL - {"Use uv, never pip."})),
    "all lines": lambda text: without(text, *ALL),
    "a whole section with its comment": lambda text: re.sub(r"### Conventions\n.*?-->\n", "", text, flags=re.DOTALL),
    "everything between the first lines and the end": lambda text: "".join(
        line for line in text.splitlines(keepends=True) if line.startswith(("# ", "Facts", "<!-- kept: end"))
    ),
}


@pytest.mark.parametrize("deletion", DELETIONS)
def test_whatever_is_deleted_in_a_whole_file_retires_and_undo_brings_it_back(workspace, memory, deletion):
    memory.write_text(DELETIONS[deletion](memory.read_text()))
    left = shown(memory)
    assert left != ALL
    report = run_pipeline(workspace, [], RunOptions())
    assert (report.written.problems, told(workspace), told(workspace, Status.RETIRED)) == ([], left, ALL - left)
    assert shown(memory) == left if left else not memory.exists() or not shown(memory)
    run_pipeline(workspace, [], RunOptions())
    assert told(workspace) == left
    apply_person_change(workspace, lambda: undo(workspace))
    assert (told(workspace), shown(memory)) == (ALL, ALL)


DAMAGE = {
    "emptied": lambda _: "",
    "cut off in its middle": lambda text: text[: len(text) // 2],
    "only its last lines": lambda text: text[len(text) // 2 :],
    "overwritten": lambda _: "- Another rule.\n",
    "without its end": lambda text: without(text, "kept: end", "Use uv"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_looks_like_damage_is_set_aside_and_taken_once_a_person_says_so(workspace, memory, home, damage):
    broken = DAMAGE[damage](memory.read_text())
    memory.write_text(broken)
    left = {each for each in ALL if each in broken}
    assert (
        run_pipeline(workspace, [], RunOptions())
        .written.problems[0]
        .endswith("`kept run --accept-loss` takes it as your edit instead")
    )
    assert (told(workspace), shown(memory)) == (ALL, ALL)
    create_memory(workspace, "What came later stays.", "convention")
    assert not run_pipeline(workspace, [], RunOptions()).partly
    taken = run_pipeline(workspace, [], RunOptions(allow=True))
    assert taken.written.operations["retire"] == len(ALL - left) > 0
    assert told(workspace) == left | {"What came later stays."}
    assert shown(memory) == left
    assert run_pipeline(workspace, [], RunOptions(allow=True)).written.operations == {}


def test_a_dry_run_says_in_whole_sentences_what_looks_like_damage(workspace, memory):
    memory.write_text("")
    (problem,) = run_pipeline(workspace, [], RunOptions(dry=True)).written.problems
    assert problem.endswith("was not taken as an edit: it is empty. `kept run --accept-loss` takes it as your edit instead")


def test_what_was_set_aside_waits_no_longer_once_the_file_was_edited_again(workspace, memory):
    memory.write_text("")
    run_pipeline(workspace, [], RunOptions())
    memory.write_text(without(memory.read_text(), "Use uv"))
    run_pipeline(workspace, [], RunOptions())
    run_pipeline(workspace, [], RunOptions(allow=True))
    assert told(workspace) == ALL - {"Use uv, never pip."}


@pytest.mark.parametrize("gone", ["deleted by hand", "retired by the person", "withdrawn by a machine"])
def test_a_line_that_was_retired_waits_when_any_program_writes_it_again(workspace, memory, gone):
    text = memory.read_text()
    number = next(each.id for each in workspace.store.log.memories() if each.content == "Use uv, never pip.")
    match gone:
        case "deleted by hand":
            memory.write_text(without(text, "Use uv"))
            run_pipeline(workspace, [], RunOptions())
        case "retired by the person":
            apply_person_change(workspace, lambda: retire(workspace, number))
        case _:
            withdraw(workspace, number)
            run_pipeline(workspace, [], RunOptions())
    assert "Use uv" not in memory.read_text()
    for _ in range(2):
        memory.write_text(memory.read_text().replace("### Conventions\n", "### Conventions\n- Use uv, never pip.\n"))
        run_pipeline(workspace, [], RunOptions())
        assert "Use uv, never pip." not in told(workspace)
        (held,) = [each for each in workspace.store.log.memories() if each.status is Status.HELD]
        assert (held.content, workspace.store.log.memory(number).status) == ("Use uv, never pip.", Status.RETIRED)
    apply_person_change(workspace, lambda: approve(workspace, held.id))
    assert told(workspace) == ALL
    assert memory.read_text().count("Use uv") == 1


def withdraw(workspace, number):
    now = workspace.clock()
    run_number = workspace.store.log.start_run("run", now)
    gone = Retire(memory=number, at=now, reason=REREAD)
    draft = Draft(run=run_number, stage="curate", subject="x", actor=Actor.MACHINE, recorded_at=now, operations=(gone,))
    workspace.store.log.commit(draft)
    workspace.store.log.end_run(run_number, now, {})


def move_line(text, words, heading):
    """The text with the line of some words below the first such heading."""
    line = next(each for each in text.splitlines(keepends=True) if words in each)
    return text.replace(line, "").replace(heading, f"{heading}\n{line.rstrip()}", 1)


@pytest.mark.parametrize("heading", ["### Preferences", "## Of mine"])
def test_a_line_moved_below_another_heading_is_put_back_and_the_run_says_so(workspace, memory, heading):
    before = memory.read_text()
    text = before.replace("## Everywhere", "## Of mine\n\n## Everywhere", 1)
    memory.write_text(move_line(text, "uv, never pip", heading))
    (problem,) = run_pipeline(workspace, [], RunOptions()).written.problems
    assert "a moved line is back where it was; a heading alone moves no memory → kept edit " in problem
    assert memory.read_text().replace("## Of mine\n\n", "") == before
    assert run_pipeline(workspace, [], RunOptions()).written.problems == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### Conventions\n", ""),
        ("### Conventions\n", "### How we work\n"),
        ("- Use uv, never pip.", "#### Tools\n- Use uv, never pip."),
        ("- Use uv, never pip.", "- Use uv, not pip."),
        ("- Use uv, never pip.", "- Commits are small.\n- Use uv, never pip."),
    ],
)
def test_no_other_edit_is_called_a_move(workspace, memory, old, new):
    assert old in memory.read_text()
    memory.write_text(memory.read_text().replace(old, new))
    assert run_pipeline(workspace, [], RunOptions()).written.problems == []
