"""A Claude Code session in which a command failed and another one worked."""

import json

FAILURE = "Error: Failed to parse remote port from server output: bind [127.0.0.1]:8081: Address already in use"


def failed_before(path, directory):
    """Write the session of 2026-01-05 in which a script failed in a directory until it got an option."""
    _write_session(
        path,
        directory,
        ("user", "Review pull request 41 with the review script."),
        ("./scripts/review.sh 41", f"Exit code 1\n{FAILURE}", 1),
        ("agent", "The port is still held. I look at what the script takes as options."),
        ("./scripts/review.sh 41 --port 0", "Reviewed 12 files.\nNo problems.", 0),
        ("user", "That works, thanks."),
        day="2026-01-05",
    )


def _write_session(path, directory, *turns, day):
    """Write a session. Each turn is a user's text, an agent's text, or a command with its output and exit status."""
    records, parent = [], None
    for number, turn in enumerate(turns):
        match turn:
            case ("user", words):
                parts = [("user", words)]
            case ("agent", words):
                parts = [("assistant", [{"type": "text", "text": words}])]
            case (command, output, status):
                call = f"call{number}"
                result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": status != 0}
                use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
                parts = [("assistant", [use]), ("user", [result])]
        for place, (role, content) in enumerate(parts):
            uuid = f"{path.stem}-{number}-{place}"
            message = {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})}
            records.append(
                {
                    "type": role,
                    "uuid": uuid,
                    "parentUuid": parent,
                    "sessionId": path.stem,
                    "cwd": directory,
                    "isSidechain": False,
                    "userType": "external",
                    "timestamp": f"{day}T10:{number:02}:{place:02}.000Z",
                    "message": message,
                }
            )
            parent = uuid
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
