"""Small Claude Code sessions in a home."""

import json

RULE = "In this project we always write dates as ISO 8601 in UTC, never in local time."
OTHER = "Never use pip in this repo, always use `uv sync` instead."


def say(home, session, *prompts, cwd="/x/harbor", day="2026-01-05", start=0, name=""):
    """A session in which a person says each prompt and is answered; added to where the file is there already."""
    path = home / ".claude" / "projects" / "p" / f"{name or session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, words in enumerate(prompts, start):
            for role, content in (("user", words), ("assistant", [{"type": "text", "text": "Done."}])):
                uuid = f"{session}-{number}-{role}"
                file.write(
                    json.dumps(
                        {
                            "type": role, "uuid": uuid, "parentUuid": None, "sessionId": session, "cwd": str(cwd),
                            "timestamp": f"{day}T10:{number:02}:0{int(role == 'assistant')}.250Z",
                            "message": {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})},
                        }
                    )
                    + "\n"
                )  # fmt: skip
    return path
