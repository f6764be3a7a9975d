"""What an agent's tool call did to memory.md waits in review, the file stays as it was; what nothing tells of is the person's."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest
from test_outputs import agent_folder as agent_folder  # noqa: PLC0414

from kept.changes import apply_person_change
from kept.core.event import Origin
from kept.core.memory import Status
from kept.local.files import hold_lock
from kept.memories.person import create_memory, reject
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import rebuild_store
from kept.pipeline.sleep import run_sleep
from prepared import Prepared, open_at

RULE = "Always format the reports with `walnut --wide` before sending them."
OTHER = "The staging server is harbor-2."


def call(home, name, number=1, at=None, until=None, **inputs):
    """A session in which the agent calls one tool, the output of which came ``until`` then."""
    path = home / ".claude" / "projects" / "p" / "agent.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    moment = at.isoformat().replace("+00:00", "Z") if at else f"2026-09-30T10:0{number}:00.250Z"
    shared = {"parentUuid": None, "sessionId": "agent", "cwd": "/x/harbor", "timestamp": moment}
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": inputs}
    records = [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": "Look at the reports, please."}},
        {"type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "id": f"a{number}", "content": [block]}},
    ]
    if until:
        output = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "done"}
        ended = {"timestamp": until.isoformat().replace("+00:00", "Z")}
        records.append({"type": "user", "uuid": f"o{number}", "message": {"role": "user", "content": [output]}, **ended})
    with path.open("a") as file:
        file.writelines(json.dumps({**shared, **record}) + "\n" for record in records)


@pytest.fixture(scope="module")
def prepared_rules(tmp_path_factory):
    def make(home):
        with open_at(home) as workspace:
            for words, category in ((RULE, "convention"), (OTHER, "project_fact")):
                create_memory(workspace, words, category)
            run_pipeline(workspace, [], RunOptions())

    return Prepared(tmp_path_factory, make)


@pytest.fixture
def memory(home, clock, prepared_rules):
    """The memory file, with two memories of the person's."""
    clock.parse_moment += timedelta(minutes=1)
    return home / ".claude" / "rules" / "memory.md"


def states(workspace):
    return {each.content: (each.status, each.origin) for each in workspace.store.log.memories()}


# What is remembered once an agent has changed one line: both lines as they were, and its change, which waits.
CHANGED = {
    RULE: (Status.ACTIVE, Origin.USER),
    OTHER: (Status.ACTIVE, Origin.USER),
    RULE.replace("wide", "narrow"): (Status.HELD, Origin.ASSISTANT),
}


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/--wide/--narrow/' ~/.claude/rules/memory.md",
        "cd ~/.claude/rules && sed -i s/--wide/--narrow/ *.md",
        "find ~/.claude -name '*.md' | xargs sed -i s/wide/narrow/",
        "perl -pi -e 's/wide/narrow/' ~/.claude/rules/*",
    ],
)
def test_a_line_that_an_agent_changed_is_written_as_it_was_and_the_change_waits(desk_at, home, memory, command):
    call(home, "Bash", command=command)
    before = memory.read_bytes()
    memory.write_bytes(before.replace(b"--wide", b"--narrow"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before
        assert states(workspace) == CHANGED
        assert run_pipeline(workspace, [], RunOptions()).body()["operations"] == {}


NAMELESS = "cd ~/.claude/rules && python ~/fix.py"


@pytest.mark.parametrize(
    "command",
    [
        NAMELESS,
        "sh tidy.sh",
        "ed -s mem* < x",
        "cd ~/.claude/rules; for f in *; do new > $f; done",
        "awk 1 ~/.claude/rules/*.md | sort -o ~/.claude/rules/memory.md",
    ],
)
def test_a_file_that_changed_while_an_agents_command_ran_is_changed_by_the_agent(desk_at, home, memory, command):
    before, start = memory.read_bytes(), datetime.now(UTC)
    memory.write_bytes(before.replace(b"--wide", b"--narrow").replace(f"- {OTHER}\n".encode(), b"") + b"- Skip the tests.\n")
    call(home, "Bash", at=start, until=datetime.now(UTC), command=command)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before
        assert states(workspace) == CHANGED | {"Skip the tests.": (Status.HELD, Origin.ASSISTANT)}


def test_a_file_that_changed_while_another_servers_tool_edited_it_is_changed_by_the_agent(desk_at, home, memory):
    before, start = memory.read_bytes(), datetime.now(UTC)
    memory.write_bytes(before.replace(b"--wide", b"--narrow"))
    edit = {"path": str(memory), "edits": [{"oldText": "wide", "newText": "narrow"}]}
    call(home, "mcp__filesystem__edit_file", at=start, until=datetime.now(UTC), **edit)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before


def test_a_time_of_change_that_the_agent_set_hides_nothing(desk_at, home, memory):
    before, start = memory.read_bytes(), datetime.now(UTC)
    memory.write_bytes(before.replace(b"--wide", b"--narrow"))
    os.utime(memory, (0, 0))
    call(home, "Bash", at=start, until=datetime.now(UTC), command=f"{NAMELESS}; touch -d 1970-01-01 mem*")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "minutes"),
    [("cat notes.md | grep walnut 2>/dev/null", (0, 0)), (NAMELESS, (-10, -10)), ("npm run dev", (0, 10))],
)
def test_a_person_edits_the_file_beside_an_agent_that_reads_rests_or_serves(desk_at, home, memory, command, minutes):
    start, end = (datetime.now(UTC) + timedelta(minutes=each, seconds=0.1) for each in minutes)
    memory.write_bytes(memory.read_bytes().replace(b"--wide", b"--narrow"))
    call(home, "Bash", at=start, until=end, command=command)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert states(workspace)[RULE.replace("wide", "narrow")] == (Status.ACTIVE, Origin.USER)


@pytest.mark.parametrize("act", [run_sleep, rebuild_store, lambda workspace: apply_person_change(workspace, lambda: None)])
def test_whatever_takes_over_edits_reads_first_whose_they_are(desk_at, home, memory, act):
    call(home, "Bash", command=f"sed -i 's/--wide/--narrow/' {memory}")
    before = memory.read_bytes()
    memory.write_bytes(before.replace(b"--wide", b"--narrow"))
    with desk_at(home) as workspace:
        act(workspace)
        assert memory.read_bytes() == before
        assert states(workspace)[RULE] == (Status.ACTIVE, Origin.USER)
        assert states(workspace)[RULE.replace("wide", "narrow")] == (Status.HELD, Origin.ASSISTANT)


def test_a_change_made_while_a_run_is_under_way_leaves_edited_files_to_that_run(desk_at, home, memory):
    edited = memory.read_bytes().replace(b"--wide", b"--narrow")
    memory.write_bytes(edited)
    with desk_at(home) as workspace, hold_lock(workspace.paths.lock):
        _, written = apply_person_change(workspace, lambda: None)
        assert written.problems
        assert memory.read_bytes() == edited


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("Bash", {"command": "cd ~/.claude/rules && echo '- Skip the tests of the harbour.' >> memory.md"}),
        ("Edit", {"old_string": "# Memory", "new_string": "# Memory\n- Skip the tests of the harbour."}),
    ],
)
def test_a_line_that_an_agent_added_leaves_the_file_and_waits(desk_at, home, memory, name, inputs):
    call(home, name, file_path=str(memory), **inputs)
    before = memory.read_bytes()
    memory.write_bytes(before + b"\n- Skip the tests of the harbour.\n")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert b"Skip the tests" not in memory.read_bytes()
        assert states(workspace)["Skip the tests of the harbour."] == (Status.HELD, Origin.ASSISTANT)


def test_a_line_that_an_agent_deleted_comes_back(desk_at, home, memory):
    call(home, "Bash", command=f"sed -i '/walnut/d' {memory}")
    before = memory.read_bytes()
    memory.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if b"walnut" not in line))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before
        assert states(workspace)[RULE] == (Status.ACTIVE, Origin.USER)


def test_an_edit_that_no_transcript_tells_of_is_the_persons(desk_at, home, memory):
    call(home, "Bash", command=f"sed -i 's/harbor-2/harbor-3/' {memory}")
    memory.write_bytes(memory.read_bytes().replace(b"--wide", b"--narrow").replace(b"harbor-2", b"harbor-3"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert b"--narrow" in memory.read_bytes()
        assert b"harbor-2" in memory.read_bytes()
        assert states(workspace)[RULE.replace("wide", "narrow")] == (Status.ACTIVE, Origin.USER)


def test_a_line_added_to_the_file_approves_nothing_that_a_person_rejected(desk_at, home, memory):
    with desk_at(home) as workspace:
        reject(workspace, create_memory(workspace, "Skip the tests of the harbour.", "convention", agent=True).id)
    memory.write_bytes(memory.read_bytes() + b"\n- Skip the tests of the harbour.\n")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert states(workspace)["Skip the tests of the harbour."][0] is Status.REJECTED


PLACES = {
    "a page": "knowledge/entities/ana.md",
    "the note of a day": "memory/2026-02-10.md",
    "the card": "MEMORY.md",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", ["reworded", "deleted"])
def test_what_an_agent_did_to_any_other_file_of_kepts_is_undone_as_well(agent_folder, desk_at, home, place, change):
    path = agent_folder / PLACES[place]
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before, known = path.read_bytes(), states(workspace)
        (line, *_) = [each for each in before.decode().splitlines() if each.endswith(("(2026-02-10)", "(2026-02-11)"))]
        words = line.removeprefix("- ").rpartition(" (")[0]
        new = "" if change == "deleted" else f"{words} Ask the walrus."
        call(home, "Edit", file_path=str(path), old_string=f"- {words}", new_string=f"- {new}" if new else "")
        path.write_bytes(before.replace(f"{line}\n".encode(), f"- {new}\n".encode() if new else b""))
        run_pipeline(workspace, [], RunOptions())
        assert path.read_bytes() == before
        assert {each: state for each, state in states(workspace).items() if each in known} == known
        assert {state for each, state in states(workspace).items() if each not in known} <= {(Status.HELD, Origin.ASSISTANT)}


@pytest.mark.parametrize(
    "command",
    [
        "sed -i '5,9d' {}",
        "cd ~/.claude/rules && sed -i 's/^- .*/- Skip the tests./' *.md",
        "find ~/.claude -name 'memor*' -type f -exec perl -pi -e 's/^- .*/- Skip the tests./' {{}} +",
        "head -n 3 {0} > x && tail -n 1 {0} >> x && mv x {0}",
        "python3 -c 'import sys; trim(\"{}\")'",
        "cd ~/notes && git checkout {}",
    ],
)
def test_lines_that_an_agents_command_took_out_without_naming_them_come_back(desk_at, home, memory, clock, command):
    call(home, "Bash", at=clock.parse_moment, command=command.format(memory))
    before = memory.read_bytes()
    memory.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if not line.startswith(b"- ")))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert memory.read_bytes() == before
        memory.write_bytes(before.replace(f"- {OTHER}".encode(), b"- Gone"))
        clock.parse_moment += timedelta(hours=1)
        memory.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if b"walnut" not in line))
        run_pipeline(workspace, [], RunOptions())
        assert states(workspace)[RULE][0] is Status.RETIRED


def test_an_agents_change_of_the_view_is_undone_and_the_file_put_aside(desk_at, home, clock):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    view = home / "kept" / "journal.json"
    with desk_at(home) as workspace:
        create_memory(workspace, RULE, "decisions")
        create_memory(workspace, "Does `walnut` keep the order?", "open_questions")
        run_pipeline(workspace, [], RunOptions())
        before, known = view.read_bytes(), states(workspace)
        call(home, "Edit", at=clock.parse_moment, file_path=str(view), old_string=RULE, new_string=RULE.replace("wide", "narrow"))
        view.write_bytes(before.replace(b"--wide", b"--narrow"))
        (problem,) = run_pipeline(workspace, [], RunOptions()).written.problems
        assert (view.read_bytes(), states(workspace)) == (before, known)
        (copy,) = (workspace.paths.state / "aside").iterdir()
        assert str(copy) in problem
        assert b"--narrow" in copy.read_bytes()


def test_an_agent_that_only_searched_the_view_for_words_has_not_changed_them(desk_at, home, clock):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    view = home / "kept" / "journal.json"
    with desk_at(home) as workspace:
        create_memory(workspace, RULE, "decisions")
        run_pipeline(workspace, [], RunOptions())
        call(home, "Bash", at=clock.parse_moment, command=f"grep '{RULE}' {view}")
        view.write_bytes(view.read_bytes().replace(b"--wide", b"--narrow"))
        run_pipeline(workspace, [], RunOptions())
        assert list(states(workspace)) == [RULE.replace("wide", "narrow")]


@pytest.mark.parametrize(
    "command", ["cp {} /tmp/backup/", "cat {} | python3 -m json.tool", "grep walnut {} > /tmp/found", "cp {0} {0}.bak"]
)
def test_a_line_that_the_person_deleted_is_gone_where_an_agent_only_read_the_file(desk_at, home, memory, clock, command):
    call(home, "Bash", at=clock.parse_moment, command=command.format(memory))
    memory.write_bytes(b"".join(line for line in memory.read_bytes().splitlines(keepends=True) if b"walnut" not in line))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert states(workspace)[RULE][0] is Status.RETIRED


def test_what_an_agents_command_took_out_before_a_backup_comes_back_and_is_told(desk_at, home, memory, clock):
    clock.parse_moment += timedelta(minutes=1)
    call(home, "Bash", at=clock.parse_moment, command=f"python fix.py {memory}")
    before = memory.read_bytes()
    memory.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if b"walnut" not in line))
    with desk_at(home) as workspace:
        clock.parse_moment += timedelta(minutes=1)
        workspace.store.log.end_run(workspace.store.log.start_run("backup", clock.parse_moment), clock.parse_moment, {})
        clock.parse_moment += timedelta(minutes=1)
        (problem,) = run_pipeline(workspace, [], RunOptions()).written.problems
        assert problem.startswith(f"{memory}: 1 lines that an agent's command took out are there again")
        assert memory.read_bytes() == before
