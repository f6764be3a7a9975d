"""Small Claude Code sessions in a home."""

import json

from kept.memories.person import find_memory
from kept.pipeline.erase.forget import forget, make_erasure_request

RULE = "In this project we always write dates as ISO 8601 in UTC, never in local time."
OTHER = "Never use pip in this repo, always use `uv sync` instead."


def say(home, session, *prompts, cwd="/x/harbor", day="2026-01-05", start=0, name="", branch=""):
    """Write a session in which a person types each prompt and gets an answer; append if the file exists."""
    path = home / ".claude" / "projects" / "p" / f"{name or session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, words in enumerate(prompts, start):
            for role, content in (("user", words), ("assistant", [{"type": "text", "text": "Done."}])):
                uuid = f"{session}-{number}-{role}"
                file.write(
                    json.dumps(
                        {
                            "type": role,
                            "uuid": uuid,
                            "parentUuid": None,
                            "sessionId": session,
                            "cwd": str(cwd),
                            "gitBranch": branch,
                            "timestamp": f"{day}T10:{number:02}:0{int(role == 'assistant')}.250Z",
                            "message": {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})},
                        }
                    )
                    + "\n"
                )
    return path


def converse(home, session, *turns, cwd="/x/harbor", day="2026-01-05"):
    """Write a session of turns in the order of the screen: ``("user", words)``, ``("agent", words)``, ``("run", command)``,
    ``("edit", path, old, new)``, ``("out", text)`` or ``("failed", text)``, 70 seconds apart.
    """
    records = []
    for number, turn in enumerate(turns):
        uuid = f"{session}-{number}"
        role, content = _record(session, number, *turn)
        minute, second = divmod(70 * number, 60)
        records.append(
            {
                "type": role,
                "uuid": uuid,
                "parentUuid": f"{session}-{number - 1}" if number else None,
                "sessionId": session,
                "cwd": str(cwd),
                "timestamp": f"{day}T{9 + minute // 60:02}:{minute % 60:02}:{second:02}.000Z",
                "message": {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})},
            }
        )
    path = home / ".claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def _record(session, number, kind, *words):
    call = f"{session}-c{number}"
    match kind:
        case "user":
            return "user", words[0]
        case "agent":
            return "assistant", [{"type": "text", "text": words[0]}]
        case "run":
            return "assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": words[0]}}]
        case "edit":
            changed = dict(zip(("file_path", "old_string", "new_string"), words, strict=True))
            return "assistant", [{"type": "tool_use", "id": call, "name": "Edit", "input": changed}]
        case "out" | "failed":
            ended = {"tool_use_id": f"{session}-c{number - 1}", "content": words[0], "is_error": kind == "failed"}
            return "user", [{"type": "tool_result", **ended}]
    raise ValueError(kind)


def forget_ids(workspace, ids):
    """Forget memories by id; returns the report."""
    return forget(workspace, make_erasure_request(workspace, [find_memory(workspace, number) for number in ids]))
