"""Rules of the texts that kept was built from that no other test holds."""

import json
import os
from datetime import date

from test_memory_loop import chat

from kept.core.memory import Status
from kept.core.summary import SummaryPart
from kept.memories.day_view import load_day_view
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.sleep import run_sleep
from scripted_client import NOTHING, Obedient, with_model
from talking import say


def active(workspace):
    return {each.content: each.category for each in workspace.store.log.memories() if each.status is Status.ACTIVE}


def test_what_is_said_of_the_agent_and_its_memory_is_not_remembered(desk_at, home):
    say(
        home,
        "one",
        "I have a search_memory tool that finds facts, remember that.",
        "Your memory file is read at every start.",
        "Remember: I live in Lisbon and work as a translator.",
    )
    with desk_at(home, profile="companion") as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert not [each for each in active(workspace) if "memory" in each]
        assert any("Lisbon" in each for each in active(workspace))


def test_a_persons_prompt_with_a_category_of_its_own_is_used_on_the_chats_of_a_vault(desk_at, home):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profiles = ["vault"]\n')
    (home / ".config" / "memory-loop").mkdir()
    (home / ".config" / "memory-loop" / "extraction-prompt.md").write_text(
        "---\ncategories:\n  health:\n    belongs: What concerns the person's health.\n    specific: false\n    user_wide: "
        "true\n---\nKeep what I say of my health.\n"
    )
    vault = home / "vaults" / "notes"
    vault.mkdir(parents=True)
    (vault / ".memory-loop.json").write_text("{}")
    words = "My doctor says I must not eat nuts, the reaction last June was bad."
    chat(vault, "1001", words)

    def follows(ask):
        if ask.purpose != "extract":
            return json.dumps({"operations": []})
        event = next(line.split("]")[0].strip("[") for line in ask.prompt.splitlines() if words in line)
        made = [{"category": "health", "event": event, "passage": words}] if "Keep what I say" in ask.system else []
        return json.dumps(NOTHING | {"memories": made})

    with desk_at(home) as workspace:
        report = run_pipeline(with_model(workspace, Obedient(follows)), [], RunOptions())
        assert active(workspace)[words] == "health"
        assert report.llm_extraction.prompts["vault"][0].endswith("memory-loop/extraction-prompt.md")
        memory_file = (home / ".claude" / "rules" / "memory.md").read_text()
        assert f"### Health\n- {words}" in memory_file


def test_decisions_stay_where_themes_fade(desk_at, home):
    folder = home / "notes"
    folder.mkdir()

    def note(on, *lines):
        (folder / f"{on}.md").write_text(f"# {on}\n\n" + "\n".join(lines) + "\n")

    note(
        "2026-01-05",
        "## Themes",
        "- Decoupling worker registration in `registry.go`",
        "",
        "Decision: we use `flock` in `registry.go` because two workers raced.",
    )
    for number in range(8):
        note(
            f"2026-0{3 + number // 4}-1{number % 4}",
            "## Themes",
            f"- Drawing the harbour map number {number} in `map_{number}.py`",
        )
    with desk_at(home, profile="journal") as workspace:
        run_pipeline(workspace, [folder], RunOptions())
        before = active(workspace)
        decision = next(each for each, kind in before.items() if kind == "decisions" and "flock" in each)
        theme = next(each for each, kind in before.items() if kind == "themes" and "registry.go" in each)
        run_sleep(workspace)
        assert decision in active(workspace)
        assert theme not in active(workspace)


def test_the_same_said_as_two_kinds_is_one_memory(desk_at, home):
    say(home, "one", "We decided to run `make lint` before every push because CI is slow.")
    say(home, "two", "In this project we always run `make lint` before every push because CI is slow.", day="2026-01-07")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = [each for each in active(workspace) if "make lint" in each]
        assert len(found) == 1


def test_a_message_belongs_to_its_own_day_whatever_the_file_says(desk_at, home):
    path = say(home, "one", "Fix the tide parser in `tide.py` please.", day="2026-01-05")
    say(home, "one", "Now rename the harbour module to port.", day="2026-01-09", start=1)
    os.utime(path, (1_790_000_000, 1_790_000_000))  # in September
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        told = {
            on: [each.text for each in load_day_view(workspace, on).summary.detailed if each.part is SummaryPart.WORKED]
            for on in (date(2026, 1, 5), date(2026, 1, 9), date(2026, 9, 21))
        }
        assert ["tide" in text for text in told[date(2026, 1, 5)]] == [True]
        assert ["harbour" in text for text in told[date(2026, 1, 9)]] == [True]
        assert told[date(2026, 9, 21)] == []
