"""What an agent does with kept's commands in its shell is the agent's voice: it waits, and brings nothing back."""

import json
from datetime import timedelta

import pytest

from kept.changes import apply_person_change
from kept.core.event import Origin
from kept.core.memory import Status
from kept.memories.history import undo
from kept.memories.person import approve, create_memory, edit, retire
from kept.pipeline.run import RunOptions, run_pipeline

RULE = "Always format the reports with `walnut --wide` before sending them."
OTHER = "Format the reports with `walnut --narrow`."


def ran(home, command, start, end, printed="done"):
    """A session in which the agent runs a command."""
    path = home / ".claude" / "projects" / "p" / "agent.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    output = {"type": "tool_result", "tool_use_id": "t1", "content": printed}
    talk = [("user", "Look at the reports, please.", start), ("assistant", [call], start), ("user", [output], end)]
    with path.open("a") as file:
        for number, (role, content, moment) in enumerate(talk):
            at = moment.isoformat().replace("+00:00", "Z")
            record = {"type": role, "uuid": f"{at}{number}", "message": {"role": role, "id": f"m{at}", "content": content}}
            file.write(json.dumps({**record, "parentUuid": None, "sessionId": "agent", "cwd": "/x/harbor", "timestamp": at}) + "\n")


def told(workspace):
    return {each.content: each.status for each in workspace.store.log.memories()}


COMMANDS = (
    f"kept add '{RULE}' --type convention",
    f'env -u CLAUDECODE setsid kept --home ~ add "{RULE}" --type convention',
    f"python -m kept add '{RULE}' --type convention",
    'cd /tmp && bash x.sh; kept --quiet add "$(cat rule.txt)" --type convention',
    f"~/.local/bin/kept \\\n  add '{RULE}'",
    f"python3 -c \"from kept.cli import main; main(['add', '{RULE}'])\"",
    f"out=$(kept add '{RULE}')",
    f"bash <<X\nkept add '{RULE}'\nX",
    f"ln -s $(which kept) k && ./k add '{RULE}'",
    f"K=kept; $K add '{RULE}'",
    f"echo \"kept add '{RULE}'\" | sh",
    f"k\\ept add '{RULE}'",
    f"$(dirname $(command -v kept))/k?pt add '{RULE}'",
    f"./run-it '{RULE}' --type convention",
    f"python - <<'E'\nimport kept\nwith kept.Memory.open(None) as m: m.add('{RULE}', 'convention')\nE",
    "python - <<'E'\nimport kept\nwith kept.Memory.open(None) as m: m.add(open('rule.txt').read())\nE",
    "find . -name rule.txt -exec kept add --file {} \\;",
    "git -c alias.note='!kept add --file rule.txt' note",
    "kept review --approve $(kept list --held --json | jq -r '.[0].id')",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_an_agent_added_in_its_shell_waits_in_the_agents_voice(desk_at, home, clock, command):
    with desk_at(home) as workspace:
        start = clock.parse_moment
        apply_person_change(workspace, lambda: create_memory(workspace, RULE, "convention"))
        ran(home, command, start, clock.parse_moment, printed=f"Remembered:\n{RULE}")
        run_pipeline(workspace, [], RunOptions())
        (memory,) = workspace.store.log.memories()
        assert (memory.status, memory.origin, memory.owned) == (Status.HELD, Origin.ASSISTANT, False)
        assert not (home / ".claude" / "rules" / "memory.md").exists()
        apply_person_change(workspace, lambda: approve(workspace, memory.id))
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.ACTIVE}


def test_what_an_agent_approved_or_brought_back_is_as_it_was_before(desk_at, home, clock):
    with desk_at(home) as workspace:
        held = create_memory(workspace, RULE, "convention", agent=True)
        start = clock.parse_moment + timedelta(seconds=3)
        clock.parse_moment = start
        approve(workspace, held.id)
        ran(home, f"script -qc 'kept review --approve {held.id}' /dev/null", start, clock.parse_moment)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.HELD}


def test_a_persons_deletion_that_an_agent_undid_is_a_deletion_again(desk_at, home, clock):
    with desk_at(home) as workspace:
        number = create_memory(workspace, RULE, "convention").id
        retire(workspace, number)
        clock.parse_moment += timedelta(seconds=5)
        start = clock.parse_moment
        undo(workspace)
        ran(home, "kept undo", start, clock.parse_moment)
        clock.parse_moment += timedelta(seconds=5)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.RETIRED}
        undo(workspace)
        assert told(workspace) == {RULE: Status.ACTIVE}


@pytest.mark.parametrize(
    ("command", "before"),
    [
        ("kept search walnut", timedelta(0)),
        ("cat kept.txt; git add -A", timedelta(0)),
        (f"kept add '{RULE}'", timedelta(hours=1)),
        ("pytest tests/*; make add; rm k*; git add .", timedelta(0)),
        (f"grep -rn 'kept add {RULE}' docs/", timedelta(0)),
        ("python -m pytest; python -c 'from kept import Memory'", timedelta(0)),
        ("kept add 'The staging server is harbor-2.' --type convention", timedelta(0)),
    ],
)
def test_what_a_person_does_at_another_time_or_beside_another_command_stays(desk_at, home, clock, command, before):
    with desk_at(home) as workspace:
        start = clock.parse_moment - before
        apply_person_change(workspace, lambda: create_memory(workspace, RULE, "convention"))
        ran(home, command, start, clock.parse_moment - before)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.ACTIVE}


def test_what_the_person_changed_since_stays_as_they_left_it(desk_at, home, clock):
    with desk_at(home) as workspace:
        start = clock.parse_moment
        number = create_memory(workspace, RULE, "convention").id
        ran(home, COMMANDS[0], start, clock.parse_moment)
        clock.parse_moment += timedelta(seconds=5)
        edit(workspace, number, OTHER)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {OTHER: Status.ACTIVE}


def test_what_an_agent_undid_is_brought_back_once_and_then_the_person_decides(desk_at, home, clock):
    with desk_at(home) as workspace:
        create_memory(workspace, RULE, "convention")
        clock.parse_moment += timedelta(seconds=5)
        start = clock.parse_moment
        undo(workspace)
        ran(home, "kept undo", start, clock.parse_moment)
        clock.parse_moment += timedelta(seconds=5)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.ACTIVE}
        undo(workspace, "1")
        run_pipeline(workspace, [], RunOptions(force=True))
        assert told(workspace) == {}


def test_where_the_settings_trust_agents_nothing_is_taken_back(desk_at, home, clock):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text("trust_agents = true\n")
    with desk_at(home) as workspace:
        start = clock.parse_moment
        apply_person_change(workspace, lambda: create_memory(workspace, RULE, "convention"))
        ran(home, COMMANDS[0], start, clock.parse_moment)
        run_pipeline(workspace, [], RunOptions())
        assert told(workspace) == {RULE: Status.ACTIVE}
