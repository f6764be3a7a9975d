"""The whole story in the browser: transcripts become memories, only new ones are read, what is said again is one, an edit stays,
and the next session gets it.
"""

import json

RULES = (
    "In this project we always write dates as ISO 8601 in UTC, never in local time.",
    "Never use pip in this repo, always use `uv sync` instead.",
    "Remember that I prefer small commits with the reason in the body.",
    "Remember that we keep the tide predictions in one Parquet file per month.",
    "Remember that the staging server is harbor-2, and it is rebuilt every Sunday night.",
)


def say(home, session, words, day):
    """A session of Claude Code in which a person says this, where Claude Code keeps it."""
    path = home / ".claude" / "projects" / "-home-u-harbor" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "type": role,
            "uuid": f"{session}-{role}",
            "parentUuid": None if role == "user" else f"{session}-user",
            "sessionId": session,
            "cwd": "/home/u/harbor",
            "isSidechain": False,
            "userType": "external",
            "timestamp": f"{day}T10:0{number}:00.000Z",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate((("user", words), ("assistant", [{"type": "text", "text": "Done."}])))
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def test_from_five_transcripts_to_the_next_session(served, browse):
    for number, words in enumerate(RULES):
        say(served.home, f"s{number}", words, f"2026-01-0{number + 1}")
    page = browse()
    page.get_by_text("Found here: 5 of claude").wait_for()
    page.get_by_role("button", name="Read my transcripts").click()  # five transcripts → a memory by categories
    page.wait_for_url("**/history")
    page.get_by_text("5 sessions, 10 new events").wait_for()
    memories = served.ask("GET", "/api/memories")[2]["memories"]
    assert len({each["category"] for each in memories}) >= 3
    assert len(memories) >= 4
    memory_file = served.home / ".claude" / "rules" / "memory.md"
    assert "ISO 8601" in memory_file.read_text()

    rule = served.memory("uv sync")  # an edit here stays
    page.goto(f"{served.url}/memories/{rule.id}")
    page.keyboard.press("e")
    page.get_by_label("What it says").fill("Packages come from `uv sync`, never from pip.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Changed.").wait_for()
    assert served.file_writer.wait(60)
    assert "Packages come from `uv sync`, never from pip." in memory_file.read_text()

    say(served.home, "s8", RULES[0], "2026-02-08")  # two more: one says again what is known, one what was edited
    say(served.home, "s9", RULES[1], "2026-02-09")
    assert served.ask("POST", "/api/runs", {})[0] == 202
    assert served.background_run.wait(600).report["sessions"] == 2
    assert "Open the conversation" in served.ask("GET", "/?q=ISO+8601&within=turns")[2]  # where the same words were said
    story = served.ask("GET", f"/memories/{served.memory('ISO 8601').id}")[2]
    assert "2 conversations, first seen 2026-01-01, last seen 2026-02-08" in story
    assert served.memory("uv sync").content == "Packages come from `uv sync`, never from pip."
    assert sum("uv sync" in line for line in memory_file.read_text().splitlines()) == 1
    assert len(memory_file.read_bytes()) < 50_000

    page.goto(f"{served.url}/context")  # and the next session gets it
    page.get_by_label("Project").select_option("/home/u/harbor")
    page.get_by_label("Agent").select_option("none")
    page.get_by_label("Message").fill("install the packages with uv sync")
    page.locator("#shown", has_text="never from pip").wait_for()
